"""Stores on disks that fail or hang: a library that is preloaded into real processes changes what the system answers."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

INCLUDE = Path(__file__).resolve().parents[2] / "include"

# A program called in a new process: prints its result, what the compiler did, and the warnings.
PROGRAM = """
import json, sys, warnings
import numpy as np
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    import ferrule as fr

    @fr.program
    def shifted(a):
        return a * 3.0 + {number}

    value = shifted(np.arange(5.0)).tolist()
print(json.dumps({{"value": value, "compiles": shifted.stats()["compiles"], "captures": shifted.stats()["captures"],
                  "warnings": [str(w.message) for w in seen]}}))
"""
EXPECTED = [0.0, 3.0, 6.0, 9.0, 12.0]


@pytest.fixture(scope="session")
def shim(tmp_path_factory):
    """The preloaded library."""
    library = tmp_path_factory.mktemp("shim") / "faults.so"
    source = Path(__file__).with_name("faults.c")
    flags = ["-shared", "-fPIC", "-O1", "-Wall", "-Wno-nonnull-compare", "-Werror"]
    subprocess.run(["cc", *flags, str(source), "-o", str(library), "-ldl"], check=True)
    return library


def call(root, shim=None, fault=None, number=0, log=None, **env):
    """Call the program with its store at `root`."""
    settings = {**os.environ, "FERRULE_CACHE_DIR": str(root), **env}
    if fault:
        settings |= {"LD_PRELOAD": str(shim), "FAULT": fault, "FAULT_BELOW": str(root)}
    if log:
        settings["FAULT_LOG"] = str(log)
    script = Path(root).parent / f"program_{number}.py"
    script.write_text(PROGRAM.format(number=number))
    done = subprocess.run(
        [sys.executable, str(script)],
        env=settings,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, (fault, done.returncode, done.stderr)
    result = json.loads(done.stdout)
    assert result["value"] == [x + number for x in EXPECTED], fault
    return result


def staging(root):
    return [path.name for path in (Path(root) / "v1" / "tmp").glob("*")]


@pytest.mark.parametrize("fault", ["lock_enosys", "lock_blocks", "estale", "ebusy", "hidden", "slow_rename"])
def test_what_passes_costs_no_warning_and_no_result(shim, tmp_path, fault):
    root = tmp_path / "cache"
    cold = call(root, shim, fault)
    assert cold["warnings"] == [] and cold["compiles"] == 1
    assert call(root, shim, fault)["warnings"] == []
    after = call(root)
    assert (after["compiles"], after["captures"], after["warnings"]) == (0, 0, [])
    assert staging(root) == []


def test_a_disk_that_is_full(shim, tmp_path):
    root = tmp_path / "cache"
    result = call(root, shim, "enospc")
    (warning,) = result["warnings"]
    assert str(root) in warning and "No space left on device" in warning
    assert call(root)["warnings"] == []


def test_a_warm_process_changes_nothing_in_the_store(shim, tmp_path):
    root, log = tmp_path / "cache", tmp_path / "log"
    call(root, shim, "count", log=log)
    assert "rename" in log.read_text(), "the counter counts"
    log.unlink()
    warm = call(root, shim, "count", log=log)
    assert (warm["compiles"], warm["captures"]) == (0, 0)
    assert not log.exists(), log.read_text()


def test_no_space_for_anything_at_all(shim, tmp_path):
    """Neither in the root nor where temporary files go."""
    root = tmp_path / "cache"
    call(root)
    warm = call(root, shim, "enospc", TMPDIR=str(root / "v1" / "tmp"))
    assert (warm["compiles"], warm["warnings"]) == (0, [])

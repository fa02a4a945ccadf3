"""Target 'multi': one artifact with a module for each level of CPUs, of which each host loads its best."""

import ctypes
import importlib
import json
import os
import pickle
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ferrule as fr
from ferrule import Arg, Signature, _rt
from ferrule.artifact import Artifact
from ferrule.kernel import Kernel

if platform.machine() != "x86_64":
    pytest.skip("this architecture has one level", allow_module_level=True)

LEVELS = ["x86-64-v2", "x86-64-v3", "x86-64-v4"]
SOURCE = "void twice(double* x, long n) { for (long i = 0; i < n; ++i) x[i] *= 2; }\n"
TWICE = Signature("twice", [Arg("x", shape="N", intent="inout")])

USER = """
import sys, pickle
import numpy as np
import ferrule as fr

@fr.program(target="multi")
def f(x):
    return x * 5

assert f(np.ones(2)).tolist() == [5, 5]
stats = f.stats()
sys.stdout.buffer.write(pickle.dumps((stats["captures"], stats["compiles"], stats["hits"],
    pickle.dumps(f.specialisations[0].artifact), pickle.dumps(f.specialisations[0].artifact.by_reference()))))
"""

READS = """
import pickle, sys
import numpy as np
kernel = pickle.load(sys.stdin.buffer).load(rebuild=False)
print(kernel(np.ones(2)).tolist())
"""


@pytest.fixture(autouse=True)
def own_store(tmp_path, monkeypatch):
    monkeypatch.setenv("FERRULE_CACHE_DIR", str(tmp_path / "store"))


def run(*program, stdin=b"", **env):
    done = subprocess.run(
        [sys.executable, *program], input=stdin, env={**os.environ, **env}, capture_output=True, timeout=120
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def made(tmp_path, **env):
    (tmp_path / "user.py").write_text(USER)
    return pickle.loads(run(tmp_path / "user.py", **env))


def levels(artifact):
    return [level["name"] for level in json.loads(artifact.manifest)["needs"]["levels"]]


def files(root):
    return sorted(path.name for path in root.glob("v1/??/*/module*"))


def best_here(artifact):
    needs = json.loads(artifact.manifest)["needs"]["levels"]
    return [each["name"] for each in needs if set(each["features"]) <= set(_rt.host_features())][-1]


def elsewhere(artifact, *needs):
    """The artifact as a host sees it that has, or lacks, what its levels need."""
    head, rest = artifact.to_pickle().split(b"\n", 1)
    size, rest = rest.split(b"\n", 1)
    manifest, rest = json.loads(rest[: int(size)]), rest[int(size) :]
    for level, features in zip(manifest["needs"]["levels"], needs, strict=True):
        level["features"] = features
    text = json.dumps(manifest, separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode()
    return Artifact.from_pickle(b"\n".join((head, str(len(text)).encode(), text + rest)))


def test_all_ways_to_ask_give_one_artifact(tmp_path, monkeypatch):
    def f(x):
        return x * 5

    x = np.ones(2)
    asked = [fr.program(f, target="multi").compile(x)]
    with fr.config(target="multi"):
        asked.append(fr.program(f).compile(x))
    monkeypatch.setenv("FERRULE_TARGET", "multi")
    asked.append(fr.program(f).compile(x))
    assert len(set(asked)) == 1 and levels(asked[0]) == LEVELS
    assert files(tmp_path / "store") == [f"module-{level}.so" for level in LEVELS]
    monkeypatch.delenv("FERRULE_TARGET")
    asked.append(fr.program(f).compile(x, target="multi"))
    assert levels(asked[-1]) == LEVELS
    for artifact in asked:
        assert artifact.load()(x).tolist() == [5, 5]


def test_source_kernels():
    artifact = fr.compile_source(SOURCE, TWICE, target="multi")
    assert levels(artifact) == LEVELS
    x = np.ones(3)
    artifact.load()(x)
    assert x.tolist() == [2, 2, 2]


def test_the_command(tmp_path):
    (tmp_path / "prog.py").write_text(
        'import ferrule as fr\n\n@fr.program\ndef f(x: fr.float64["N"]):\n    return x * 5\n'
    )
    command = [
        sys.executable,
        "-m",
        "ferrule",
        "compile",
        "prog.py",
        "--target",
        "multi",
        "-o",
        "f.fra",
        "--json",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    (row,) = json.loads(done.stdout)
    artifact = Artifact.open(tmp_path / "f.fra")
    sizes = json.loads(artifact.manifest)["files"]
    assert row["target"] == "multi" and row["key"] == artifact.key
    assert row["bytes"] == sum(sizes[f"module-{level}.so"]["size"] for level in LEVELS)
    assert artifact.load()(np.ones(2)).tolist() == [5, 5]


def test_a_second_process_neither_traces_nor_compiles(tmp_path):
    assert made(tmp_path)[:3] == (1, 3, 0)
    assert made(tmp_path)[:3] == (0, 0, 1)
    assert made(tmp_path, CXX="/nonexistent")[:3] == (0, 0, 1)


def test_pickles_are_byte_equal_and_load_in_bare_processes(tmp_path):
    first = made(tmp_path, PYTHONHASHSEED="1")
    second = made(tmp_path, PYTHONHASHSEED="2", FERRULE_CACHE_DIR=str(tmp_path / "other"))
    assert first == second
    value, reference = first[3:]
    modules = b"".join(path.read_bytes() for path in sorted((tmp_path / "store").glob("v1/??/*/module*")))
    assert modules in value and modules not in reference
    empty = {"FERRULE_CACHE_DIR": str(tmp_path / "empty"), "CXX": "/nonexistent"}
    assert (
        run("-c", READS, stdin=value, **empty)
        == run("-c", READS, stdin=reference, CXX="/nonexistent")
        == b"[5.0, 5.0]\n"
    )


def test_a_store_travels(tmp_path):
    artifact = fr.compile_source(SOURCE, TWICE, target="multi")
    assert fr.Store().export(tmp_path / "archive").entries == 1
    with fr.config(cache_dir=str(tmp_path / "other")):
        assert fr.Store().import_(tmp_path / "archive").entries == 1
        assert not fr.Store().verify().findings
        assert Artifact(_rt.Artifact.from_bytes(artifact.by_reference().to_pickle())).load(rebuild=False)
    assert files(tmp_path / "other") == files(tmp_path / "store")


def test_each_host_gets_its_best(tmp_path, monkeypatch):
    artifact = fr.compile_source(SOURCE, TWICE, target="multi").by_value()
    built = {path.name: path.read_bytes() for path in (tmp_path / "store").glob("v1/??/*/module*")}
    assert len(set(built.values())) == len(LEVELS)
    monkeypatch.setenv("FERRULE_CACHE_DIR", str(tmp_path / "empty"))
    for best, level in enumerate(LEVELS):
        seen = elsewhere(artifact, *([] if i <= best else ["avx9000"] for i in range(len(LEVELS))))
        assert seen.key == artifact.key
        assert seen.module_bytes() == built[f"module-{level}.so"]
    assert artifact.module_bytes() == built[f"module-{best_here(artifact)}.so"]


def test_the_file_in_the_store_is_that_of_the_level():
    artifact = fr.compile_source(SOURCE, TWICE, target="multi")
    assert Path(artifact.path).read_bytes() == artifact.module_bytes()
    assert Path(artifact.path).name == f"module-{best_here(artifact)}.so"
    module = importlib.import_module(artifact.module_name)
    assert module.artifact == artifact and module.__file__ == artifact.path
    x = np.ones(1)
    module.kernel(x)
    assert x.tolist() == [2]


def test_a_file_in_a_folder_has_all_levels(tmp_path, monkeypatch):
    artifact = fr.compile_source(SOURCE, TWICE, target="multi", folder=tmp_path / "build")
    file = tmp_path / "build" / "twice.so"
    assert file.read_bytes() == b"".join(
        path.read_bytes() for path in sorted((tmp_path / "store").glob("v1/??/*/module*"))
    )
    assert ctypes.CDLL(str(file)).ferrule_module_v1  # of the lowest level
    monkeypatch.setenv("FERRULE_CACHE_DIR", str(tmp_path / "empty"))
    opened = Artifact.open(file)
    assert opened == artifact and opened.module_bytes() == artifact.module_bytes()
    cut = file.read_bytes()[:-1]
    file.unlink()  # what is mapped keeps its file
    file.write_bytes(cut)
    with pytest.raises(fr.UserError, match="does not match its manifest"):
        Artifact.open(file)


LACKING = """
import json, os, pickle, sys
import numpy as np
import ferrule as fr
artifact = pickle.load(sys.stdin.buffer)
try:
    artifact.load(rebuild=False)
except fr.IncompatibleArtifact as error:
    print(error)
x = np.ones(2)
artifact.load()(x)
print(x.tolist())
os.environ["CXX"] = "/nonexistent"
os.environ["FERRULE_CACHE_DIR"] = os.environ["FERRULE_CACHE_DIR"] + "2"
try:
    pickle.loads(pickle.dumps(artifact)).load()
except fr.IncompatibleArtifact as error:
    print(error)
"""


def test_where_no_level_runs_it_is_built_for_the_cpu_or_refused(tmp_path):
    artifact = fr.compile_source(SOURCE, TWICE, target="multi").by_value()
    poor = pickle.dumps(elsewhere(artifact, ["avx9000"], ["avx9000"], ["avx9000", "avx9001"]))
    store = tmp_path / "empty"
    refused, result, last = run("-c", LACKING, stdin=poor, FERRULE_CACHE_DIR=str(store)).decode().splitlines()
    for text in (refused, last):
        assert "it needs CPU features that this host lacks: avx9000;" in text
    assert "was not allowed" in refused and "'/nonexistent' was not found" in last
    assert result == "[2.0, 2.0]"
    assert files(store) == ["module.so"]


def arithmetic(x, y, k):
    z = x * y + x / y - np.sqrt(np.abs(x)) - (x - y) * 0.1
    w = z.reshape(7, -1)
    q = k * 3 + k // 7
    return z, z.sum(), w.sum(axis=0), w.mean(axis=1), (x * y).sum(), z.max(), z.min(), q.sum(), (x > y).sum()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_levels_give_equal_bits(dtype):
    random = np.random.default_rng(1)
    n = 7 * 1009  # in no relation to the width of a vector
    x, y = random.standard_normal((2, n)).astype(dtype)
    k = random.integers(-(1 << 40), 1 << 40, n)
    artifact = fr.program(arithmetic).compile(x, y, k, target="multi").by_value()
    needs = [level["features"] for level in json.loads(artifact.manifest)["needs"]["levels"]]
    results = {}
    with fr.config(cache_dir=str(Path(fr.Store().root) / "none")):
        for best, level in enumerate(LEVELS):
            if not set(needs[best]) <= set(_rt.host_features()):
                continue
            seen = elsewhere(artifact, *(need if i <= best else ["avx9000"] for i, need in enumerate(needs)))
            kernel = Kernel(seen.module_bytes(), f"{level} {dtype.__name__}")
            results[level] = [np.asarray(part).tobytes() for part in kernel(x, y, k)]
    assert len(results) >= 2
    assert all(result == results[LEVELS[0]] for result in results.values())


def test_one_compilation_ends_with_ctrl_c_and_leaves_nothing(tmp_path):
    (tmp_path / "c++").write_text(
        f'#!/bin/sh\ncase "$*" in *module.so*) echo $$ >> {tmp_path}/started; exec sleep 100;; esac\nexec g++ "$@"\n'
    )
    (tmp_path / "c++").chmod(0o755)
    interrupts = f"""
import os, signal, threading, time
import ferrule as fr
from ferrule import Arg, Signature
def interrupt():
    while not os.path.exists({str(tmp_path / "started")!r}):
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell runs the tests in the background
threading.Thread(target=interrupt).start()
try:
    fr.compile_source({SOURCE!r}, Signature("twice", [Arg("x", shape="N", intent="inout")]), target="multi")
except KeyboardInterrupt:
    print("interrupted")
"""
    assert run("-c", interrupts, CXX=str(tmp_path / "c++")) == b"interrupted\n"
    assert list((tmp_path / "store" / "v1" / "tmp").iterdir()) == []
    for pid in (tmp_path / "started").read_text().split():
        assert not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text()

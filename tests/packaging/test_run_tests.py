"""The runner of the shards ends one that hangs, with all that it has started."""

import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

HANGS = """
import os, subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
time.sleep(1000)
"""


def runner():
    spec = importlib.util.spec_from_file_location("run_tests_of_ferrule", ROOT / "tools" / "run_tests.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_a_shard_that_hangs_is_ended_and_failed(tmp_path, capfd):
    module = runner()
    shard = module.Shard("sleeper", "none", 0.2, [sys.executable, "-X", "faulthandler", "-c", HANGS])
    _, code = module.run(shard, str(tmp_path))
    shown = capfd.readouterr()
    assert code < 0
    assert f"[sleeper] hangs: ended after {module.HANGS} times its budget" in shown.out
    assert "Fatal Python error: Aborted" in shown.err  # where it was


def test_a_shard_that_ends_keeps_its_status(tmp_path):
    module = runner()
    for status in (0, 3):
        shard = module.Shard("ends", "none", 60, [sys.executable, "-c", f"raise SystemExit({status})"])
        assert module.run(shard, str(tmp_path))[1] == status

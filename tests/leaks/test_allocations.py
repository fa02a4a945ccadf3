"""Successful calls with arrays and scalars allocate nothing: neither Python objects nor native memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    library = tmp_path_factory.mktemp("allocations") / "allocations.so"
    subprocess.run(
        ["cc", "-O1", "-fPIC", "-shared", str(HERE / "allocations.c"), "-o", str(library)], check=True
    )
    folders = os.pathsep.join(path for path in sys.path if path)
    env = {**os.environ, "LD_PRELOAD": str(library), "PYTHONMALLOC": "malloc", "PYTHONPATH": folders}
    done = subprocess.run(
        [sys.executable, str(HERE / "allocations.py")], env=env, check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout)


def test_calls_allocate_nothing(counted):
    assert len(counted) > 10
    assert {name: count for name, count in counted.items() if count != 0 and name[0] != "("} == {}


def test_the_counter_sees_objects_and_native_memory(counted):
    assert counted["(a number as a result)"] >= 1
    assert counted["(a tuple)"] >= 1
    assert counted["(native memory)"] >= 10_000

"""Many kernels, several versions of one name, and forks: what one process may do with what it has mapped."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KERNELS = 500 if os.environ.get("FERRULE_FUZZ") == "long" else 25


def python(tmp_path: Path, script: str, *arguments: str, seconds: float = 120) -> str:
    """What a script printed, in a process of its own with an empty store."""
    (tmp_path / "script.py").write_text(script)
    environment = {
        **os.environ, "FERRULE_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT / "python"), "FERRULE_NUM_THREADS": "3",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, str(tmp_path / "script.py"), *arguments],
        env=environment, capture_output=True, text=True, timeout=seconds,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


MANY = """
import gc, importlib, os, sys
import numpy as np
import ferrule as fr

count, folder = int(sys.argv[1]), os.path.dirname(__file__)
with open(os.path.join(folder, "many.py"), "w") as file:
    file.write("import ferrule as fr\\n")
    for i in range(count):
        file.write(f"\\n@fr.program\\ndef f{i}(a, b):\\n    c = a * {i}.0 + b\\n    return c.sum(), c[::2] - {i}.5\\n")
many = importlib.import_module("many")

def status(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name))

def mapped():
    with open("/proc/self/maps") as file:
        return sum("ferrule-module" in line for line in file)

def children():
    tasks = os.listdir("/proc/self/task")
    return [child for task in tasks for child in open(f"/proc/self/task/{task}/children").read().split()]

a, b = np.arange(6.0), np.ones(6)
begin = 10
for i in range(count):
    if i == begin:
        gc.collect()
        before, files = status("VmRSS:"), len(os.listdir("/proc/self/fd"))
    total, rest = getattr(many, f"f{i}")(a, b)
    assert total == 15 * i + 6, (i, total)
    assert rest.tolist() == [0 * i + 1 - i - 0.5, 2 * i + 1 - i - 0.5, 4 * i + 1 - i - 0.5], (i, rest)
gc.collect()
growth = (status("VmRSS:") - before) / (count - begin)
assert len(os.listdir("/proc/self/fd")) == files
assert children() == [], children()
assert mapped() >= count
lines = mapped()
print(f"{growth:.0f} KiB and {lines / count:.1f} mappings a kernel")
assert growth < 300, growth
assert lines <= 6 * count, lines
assert all(getattr(many, f"f{i}").specialisations[0].unload() for i in range(count))
assert mapped() == 0
assert many.f3(a, b)[0] == 51
"""


def test_many_kernels_take_bounded_memory_and_leave_no_child(tmp_path: Path) -> None:
    assert "a kernel" in python(tmp_path, MANY, str(KERNELS), seconds=10 + 2 * KERNELS)


VERSIONS = """
import threading
import numpy as np
import ferrule as fr

def version(k):
    source = f"double scaled(const double* x, long n) {{ double r = 0; for (long i = 0; i < n; ++i) r += x[i]; return {k} * r; }}"
    signature = fr.Signature("scaled", [fr.Arg("x", shape="N")], returns=[fr.Return("r", kind="scalar")], result="r")
    return fr.compile_source(source, signature)

x = np.ones(30_000)
old = version(1).load()
done, wrong, calls = threading.Event(), [], [0]

def run():
    while not done.is_set():
        calls[0] += 1
        if old(x) != 30_000:
            wrong.append(1)

running = threading.Thread(target=run)
running.start()
for k in range(2, 7):
    new = version(k).load()
    assert new(x) == 30_000 * k
    with open("/proc/self/maps") as file:
        assert "(deleted)" in file.read()  # of memory, not of a file that the next compilation would write
    assert new.unload() if k % 2 else new(x) == 30_000 * k
seen = calls[0]
while calls[0] == seen:
    pass
done.set()
running.join()
assert wrong == []
assert old(x) == 30_000
print("right")
"""


def test_a_new_version_of_a_name_leaves_the_running_one_alone(tmp_path: Path) -> None:
    assert python(tmp_path, VERSIONS).strip() == "right"


FORKS = """
import os, sys, threading
import numpy as np
import ferrule as fr

SOURCE = '''
#include "ferrule/rt/author.h"
using fr_author::Callback;
struct Closure { const double* x; double* out; };
int32_t body(void* closure, int64_t lo, int64_t hi, int32_t) {
  auto* own = static_cast<Closure*>(closure);
  for (int64_t i = lo; i < hi; ++i) own->out[i] = 4 * own->x[i];
  return FR_OK;
}
void scaled(Callback<void(int64_t)> f, const double* x, long n, double* out) {
  Closure closure{x, out};
  f.parallel_for(n, 1000, body, &closure);
  f(n);
}
'''
number = fr.Arg("n", kind="scalar", dtype="int64")
signature = fr.Signature(
    "scaled", [fr.Arg("f", kind="callback", params=[number]), fr.Arg("x", shape="N")], returns=[fr.Return("out", shape="N")],
    parameters=["f", "x", "N", "out"],
)
artifact = fr.compile_source(SOURCE, signature)
scaled = artifact.load()
a = np.ones(1 << 19)

def child(work):
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            status = 0 if work() else 2
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

def right():
    seen = []
    return scaled(seen.append, a).sum() == 4 << 19 and seen == [1 << 19] and len(os.listdir("/proc/self/task")) >= 3

def grandchild():
    return right() and child(right) == 0 and right()

def unloaded():
    global scaled
    good = right() and scaled.unload()
    scaled = artifact.load()
    return good and right()

def threads():
    found = []
    many = [threading.Thread(target=lambda: found.append(right())) for _ in range(4)]
    for thread in many: thread.start()
    for thread in many: thread.join()
    return found == [True] * 4

assert right()
if sys.argv[1] == "meanwhile":
    over = threading.Event()
    def run():
        while not over.is_set():
            assert right()
    running = threading.Thread(target=run)
    running.start()
    ends = [child(right) for _ in range(10)]
    over.set()
    running.join()
else:
    ends = [child(globals()[sys.argv[1]])]
assert right()
print(ends)
"""


@pytest.mark.parametrize("what", ["right", "grandchild", "unloaded", "threads", "meanwhile"])
def test_a_parallel_kernel_runs_after_a_fork(tmp_path: Path, what: str) -> None:
    ends = python(tmp_path, FORKS, what).strip()
    assert ends == str([0] * (10 if what == "meanwhile" else 1))

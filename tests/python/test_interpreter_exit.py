"""Python ends with status 0 and says nothing, whatever callables live on, also within calls."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

START = """
import gc, sys, threading
import numpy as np
import ferrule as fr

entered = threading.Event()
source = '''
#include "ferrule/rt/author.h"
double total(const double* a, fr_author::Callback<void()> cb, long n) {
  double sum = 0;
  for (long i = 0; i < n; ++i) sum += a[i];
  if (cb.given()) cb();
  return sum;
}'''
args = [fr.Arg("a", shape="N"), fr.Arg("cb", kind="callback", optional=True)]
kernel = fr.compile_source(source, fr.Signature("total", args, returns=[fr.Return("r", kind="scalar")], result="r")).load()
function = fr.program(lambda a: a + 1.0)
a = np.ones(1000)
assert kernel(a) == 1000 and function(a)[0] == 2
"""

STATE = """
text = '''
static int alive; void* open() { ++alive; return &alive; } void shut(void*) { --alive; }
void step(void*, double* x, long n, char* scratch) { scratch[0] = 1; x[0] += 1; }'''
signature = fr.Signature("step", [fr.Arg("x", shape="N", intent="inout")], parameters=["state", "x", "N", "scratch"],
                         init=fr.AuthorFunction("open", [], "state"), exit=fr.AuthorFunction("shut", ["state"]),
                         workspaces=[fr.Workspace("scratch", "8", 1)])
step = fr.compile_source(text, signature).load()
step.set_workspace("scratch", bytearray(8))
step(a)
"""

KEPT = [
    "import json; json.kernel, json.function = kernel, function",
    "import builtins; builtins.kernel, builtins.function = kernel, function",
    "sys.kept = (kernel.__call__, function.__call__, function.specialisations[0].__call__)",
    "class Model:\n    apply = function\nmodel = Model(); model.me = model",
    "sys.results = [function(np.ones(1 << 17))[1:], fr.asarray(a), memoryview(fr.asarray(a))]",
    "try:\n    kernel([1.0])\nexcept TypeError as error:\n    sys.error = error",
]
HOOK = """
import atexit, contextlib
from ferrule import hooks
@contextlib.contextmanager
def hook(callee, args, kwargs):
    yield
hooks.around_calls(hook)
atexit.register(lambda: (kernel(a), function(a)))
"""
ENDS = {
    "callables that are kept everywhere": "\n".join(KEPT),
    "callables in cycles": STATE + "step.me = [step]; kernel.me = [kernel, function]; function.me = {0: function}\ndel step, kernel, function",
    "a state, a workspace, a hook and calls at exit": STATE + "sys.step = step" + HOOK,
    "calls in finalisers": "class Late:\n    def __del__(self):\n        kernel(a); function(a)\nlate = Late(); sys.late = Late()",
    "SystemExit in a callback": "def leave():\n    raise SystemExit(0)\nkernel(a, leave)",
    "a daemon thread within calls": "big = np.ones(1 << 22)\ndef work():\n    while True:\n        entered.set(); kernel(big); function(big)\n"
                                    "threading.Thread(target=work, daemon=True).start(); entered.wait()",
    "a daemon thread within a callback": "held = threading.Event()\ndef stay():\n    entered.set(); held.wait()\n"
                                         "threading.Thread(target=kernel, args=(a, stay), daemon=True).start(); entered.wait()",
    "daemon threads with callbacks": "def work():\n    while True:\n        kernel(a, entered.set)\n"
                                     "for _ in range(4):\n    threading.Thread(target=work, daemon=True).start()\nentered.wait()",
    "a thread that is waited for": "def work():\n    for _ in range(200):\n        kernel(a, entered.set); function(a)\n"
                                   "threading.Thread(target=work).start(); entered.wait()",
}  # fmt: skip


@pytest.mark.parametrize("end", ENDS)
def test_python_ends_quietly(end: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(START + ENDS[end] + "\n")
    environment = os.environ | {"PYTHONDEVMODE": "0"}
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", script],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

"""What a handle does besides the plain call: state, workspaces, nested arguments, those who watch, other processes."""

from __future__ import annotations

import contextlib
import os
import threading
import warnings

import functions as f
import numpy as np
import subjects as s
from arguments import complain, x
from cases import COSTLY, MIDDLE, bad, good
from meter import call

import ferrule as fr
from ferrule import hooks

FORKS = 200  # calls in a process of their own


def scratch(count=80, past=0):
    memory = np.zeros(count + 64, np.uint8)
    start = -memory.ctypes.data % 64 + past
    return memory[start : start + count]


def stateful(*, n=4):
    kernel = s.counting().load()
    kernel.initialize(N=n)
    return kernel


def cycle(kernel, values):
    kernel.initialize(N=4)
    kernel(values)
    kernel.finalize()
    kernel(values)
    kernel.finalize()


def failing_exit(kernel):
    kernel.initialize(N=5)
    kernel.finalize()


def given(memory):
    kernel = s.backwards().load()
    kernel.set_workspace("scratch", memory)
    return kernel


def change(kernel, one, other):
    kernel.set_workspace("scratch", one)
    kernel.set_workspace("scratch", other)
    kernel.finalize()


def loaded(artifact, values):
    kernel = artifact.load()
    kernel(values)


def nothing(callee, args, kwargs):
    return contextlib.nullcontext()


def refusing(callee, args, kwargs):
    raise KeyError("hook")


@contextlib.contextmanager
def complaining(callee, args, kwargs):
    yield
    raise KeyError("after")


def hooked(hook, function, *args, **kwargs):
    with hooks.around_calls(hook):
        return function(*args, **kwargs)


def hooked_kernel(hook, kernel, *args):
    with hooks.around_calls_of(kernel, hook):
        return kernel(*args)


def configured(setting, function, *args):
    with fr.config(**setting):
        return function(*args)


def compiling(hook):
    with hooks.around_compiles(hook):
        fr.compile_source("double id(double x) { return x; }", IDENTITY)


IDENTITY = fr.Signature("id", [s.number("x")], returns=s.SCALAR, result="r")


def without_check(kernel, *args):
    kernel.error_check = False
    try:
        return kernel(*args)
    finally:
        kernel.error_check = True


def released(how, kernel, *args):
    kernel.release_gil = how
    try:
        return kernel(*args)
    finally:
        kernel.release_gil = "auto"


def threads(function, *args):
    running = [threading.Thread(target=function, args=args) for _ in range(2)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


def in_fork(*args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads
        return s.risky().safe_call(*args, **kwargs)


def refused_fork():
    raise BlockingIOError("no process")


def without_fork(*args):
    fork, os.fork = os.fork, refused_fork
    try:
        return s.risky().safe_call(*args)
    finally:
        os.fork = fork


STATE = [
    good("calls with state", lambda: call(stateful(), x()), MIDDLE),
    good("initialize and finalize", lambda: call(cycle, stateful(), x()), MIDDLE),
    good("initialize by the arguments", lambda: call(stateful().initialize, x())),
    good("a handle with state that is dropped", lambda: call(loaded, s.counting(), x()), COSTLY),
    bad("another persistent size", lambda: call(stateful(), x(5)), ValueError, "initialised with N = 4", MIDDLE),
    bad("another persistent size, large", lambda: call(stateful(), x(1 << 15)), ValueError, "initialised", COSTLY),
    bad("initialize with another size", lambda: call(stateful().initialize, N=5), ValueError, "initialised", MIDDLE),
    bad("initialize without a size", lambda: call(stateful().initialize), TypeError, "missing", MIDDLE),
    bad("an init that fails", lambda: call(s.counting().load().initialize, N=13), RuntimeError, "step", MIDDLE),
    bad("a first call whose init fails", lambda: call(s.counting().load(), x(13)), RuntimeError, "step", MIDDLE),
    bad("an exit that fails", lambda: call(failing_exit, s.counting().load()), RuntimeError, "too many", MIDDLE),
    bad("initialize with another dtype", lambda: call(stateful().initialize, x().astype("f4")), TypeError, "float32", MIDDLE),
]  # fmt: skip

WORKSPACES = [
    good("calls with a workspace", lambda: call(given(scratch()), x()), MIDDLE),
    good("workspaces that change", lambda: call(change, s.backwards().load(), scratch(), bytearray(80)), MIDDLE),
    good("sizes of workspaces", lambda: call(s.backwards().load().workspace_sizes, x()), MIDDLE),
    good("a handle with a workspace that is dropped", lambda: call(given, scratch()), COSTLY),
    bad("a workspace that is missing", lambda: call(s.backwards().load(), x()), RuntimeError, "missing", MIDDLE),
    bad("a large result without its workspace", lambda: call(
        s.backwards().load(), x(1 << 15)), RuntimeError, "missing", COSTLY),
    bad("a workspace that is too small", lambda: call(given(scratch()), x(11)), ValueError, "80 bytes", MIDDLE),
    bad("a workspace that is misaligned", lambda: call(given(scratch(past=8)), x()), ValueError, "past a multiple", MIDDLE),
    bad("a workspace that is read-only", lambda: call(
        s.backwards().load().set_workspace, "scratch", b"80"), ValueError, "writable", MIDDLE),
    bad("an unknown workspace", lambda: call(
        s.backwards().load().set_workspace, "other", scratch()), ValueError, "no workspace", MIDDLE),
    bad("sizes of workspaces without a size", lambda: call(
        s.backwards().load().workspace_sizes), TypeError, "missing", MIDDLE),
    bad("sizes of workspaces beyond 64 bits", lambda: call(
        s.backwards().load().workspace_sizes, N=2**62), OverflowError, "64 bits", MIDDLE),
]  # fmt: skip

USER_CALLS = [
    good("user_call", lambda: call(s.shift().user_call, (np.zeros((3, 4)), (1, 2)), 2.0)),
    bad("user_call with too few", lambda: call(s.shift().user_call, (np.zeros((3, 4)), (1, 2))), TypeError, "1 value,"),
    bad("user_call without a tuple", lambda: call(s.shift().user_call, np.zeros((3, 4)), 2.0), TypeError, "tuple"),
    bad("user_call with another dtype", lambda: call(
        s.shift().user_call, (np.zeros((3, 4), "f4"), (1, 2)), 2.0), TypeError, "float32"),
    bad("user_call without a layout", lambda: call(s.axpy().user_call, x()), TypeError, "user_args"),
]  # fmt: skip

WATCHED = [
    good("a hook around a call", lambda: call(hooked, nothing, s.axpy(), x(), y=x()), COSTLY),
    good("a hook around calls of one kernel", lambda: call(hooked_kernel, nothing, s.axpy(), x(), x()), COSTLY),
    good("a hook around a decorated function", lambda: call(hooked, nothing, f.plus, x(), x()), COSTLY),
    good("a hook around compilations", lambda: call(compiling, lambda name: contextlib.nullcontext()), 200),
    good("profile", lambda: call(configured, {"profile": True}, s.axpy(), x(), x()), COSTLY),
    good("do_not_execute", lambda: call(configured, {"do_not_execute": True}, s.axpy(), x(), x()), COSTLY),
    good("do_not_execute of a function", lambda: call(configured, {"do_not_execute": True}, f.plus, x(), x()), COSTLY),
    good("a status that is ignored", lambda: call(without_check, s.scaled(), x(), 2.0, 3), MIDDLE),
    good("a recorded error that is ignored", lambda: call(without_check, s.halved(), x(), 1), MIDDLE),
    good("a run without the interpreter's lock", lambda: call(released, True, s.scaled(), x()), MIDDLE),
    good("a callback under the lock", lambda: call(released, False, s.integrate(), float), MIDDLE),
    bad("a callback that raises under the lock", lambda: call(released, False, s.integrate(), complain), KeyError, "0.0", MIDDLE),
    good("calls from threads that end", lambda: call(threads, s.scaled(), x()), 500),
    bad("a hook that refuses", lambda: call(hooked, refusing, s.axpy(), x(), x()), KeyError, "hook", COSTLY),
    bad("a hook that raises afterwards", lambda: call(hooked, complaining, f.plus, x(), x()), KeyError, "after", COSTLY),
    bad("a failing call in a hook", lambda: call(hooked, nothing, s.axpy(), x(), x(5)), ValueError, "shape", COSTLY),
    bad("a failing call with do_not_execute", lambda: call(
        configured, {"do_not_execute": True}, s.axpy(), x(), x(5)), ValueError, "shape", COSTLY),
    bad("a failing call with profile", lambda: call(
        configured, {"profile": True}, s.axpy(), x(), x(5)), ValueError, "shape", COSTLY),
    bad("a hook that is none", lambda: call(hooks.around_calls, 3), TypeError, "context manager", COSTLY),
    bad("a setting that is none", lambda: call(configured, {"profiles": True}, s.axpy()), TypeError, "profile", COSTLY),
]  # fmt: skip

SAFE_CALLS = [
    good("safe_call", lambda: call(in_fork, x()), FORKS),
    bad("safe_call of what crashes", lambda: call(in_fork, x(), 1), RuntimeError, "SIGKILL", FORKS),
    bad("safe_call of what is refused", lambda: call(in_fork, x(), how="1"), TypeError, "integer", FORKS),
    bad("safe_call without a process", lambda: call(without_fork, x()), OSError, "no process", COSTLY),
]

CASES = [*STATE, *WORKSPACES, *USER_CALLS, *WATCHED, *SAFE_CALLS]

"""Hooks, profiling, calls that only check, ignored statuses, and calls in a process of their own."""

from __future__ import annotations

import contextlib
import subprocess
import sys

import numpy as np
import pytest

import ferrule as fr
from ferrule import hooks

FILL = "void fill(double* out, double v, long n) { for (long i = 0; i < n; ++i) out[i] = v; }"


@pytest.fixture(scope="module")
def fill():
    args = [fr.Arg("out", shape="N", intent="out"), fr.Arg("v", kind="scalar")]
    return fr.compile_source(FILL, fr.Signature("fill", args)).load()


@fr.program
def twice(a):
    return a * 2.0


def recorder(seen, *, block=None):
    @contextlib.contextmanager
    def hook(callee, args, kwargs):
        seen.append(("enter", callee, args, kwargs))
        if block is not None:
            raise block
        try:
            yield
        finally:
            seen.append(("leave",))

    return hook


def test_around_all_calls(fill):
    seen, out, a = [], np.zeros(3), np.ones(2)
    with hooks.around_calls(recorder(seen)):
        fill(out, v=1.0)
        np.testing.assert_array_equal(twice(a), 2.0)
    assert [entry[0] for entry in seen] == ["enter", "leave"] * 2
    assert seen[0][1] is fill
    assert seen[0][2][0] is out
    assert seen[0][3] == {"v": 1.0}
    assert seen[2][1] is twice
    fill(out, 2.0)
    assert len(seen) == 4
    np.testing.assert_array_equal(out, 2.0)


def test_around_the_calls_of_one_kernel(fill):
    other = fill.artifact.load()
    seen, out = [], np.zeros(3)
    registration = hooks.around_calls_of(other, recorder(seen))
    fill(out, 1.0)
    assert seen == []
    other(out, 2.0)
    assert len(seen) == 2
    registration.remove()
    registration.remove()
    other(out, 3.0)
    assert len(seen) == 2


def test_hooks_nest_and_may_refuse(fill):
    first, second, out = [], [], np.zeros(2)
    refusing = recorder(second, block=KeyError("no"))
    with (
        hooks.around_calls(recorder(first)),
        hooks.around_calls(refusing),
        pytest.raises(KeyError, match="no"),
    ):
        fill(out, 1.0)
    assert [entry[0] for entry in first] == ["enter", "leave"]
    np.testing.assert_array_equal(out, 0.0)
    with pytest.raises(TypeError, match="gives a context manager"):
        hooks.around_calls(3)
    with pytest.raises(TypeError, match="A Kernel is expected"):
        hooks.around_calls_of(twice, recorder([]))


def test_around_compilations(tmp_path, monkeypatch):
    monkeypatch.setenv("FERRULE_CACHE_DIR", str(tmp_path))  # where nothing is there yet
    names = []

    @contextlib.contextmanager
    def hook(name):
        names.append(name)
        yield

    @fr.program
    def fresh(a):
        return a + 17.25

    with hooks.around_compiles(hook):
        fresh(np.ones(2))
        fresh(np.ones(2))
        fr.compile_source(FILL + "// watched", fr.Signature("fill", [
            fr.Arg("out", shape="N", intent="out"), fr.Arg("v", kind="scalar")]))  # fmt: skip
    assert names == ["fresh", "fill"]


def test_calls_that_only_check(fill):
    out = np.zeros(3)
    with fr.config(do_not_execute=True):
        assert fill(out, 1.0) is None
        with pytest.raises(TypeError, match="'v' is missing"):
            fill(out)
        with pytest.raises(TypeError, match="float32"):
            fill(out.astype(np.float32), 1.0)
        assert twice(np.ones(5)) is None
        with pytest.raises(TypeError, match="argument"):
            twice()
    np.testing.assert_array_equal(out, 0.0)
    np.testing.assert_array_equal(twice(np.ones(5)), 2.0)


def test_profile(fill):
    hooks.reset_timings()
    out = np.zeros(3)
    with fr.config(profile=True):
        for _ in range(3):
            fill(out, 1.0)
        twice(np.ones(3))
    fill(out, 1.0)
    timings = hooks.timings()
    assert set(timings) == {"fill", "twice"}
    assert timings["fill"].calls == 3
    assert 0 < timings["fill"].least <= timings["fill"].most <= timings["fill"].total
    hooks.reset_timings()
    assert hooks.timings() == {}


def test_the_environment_sets_them_for_the_process(fill, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, numpy as np, ferrule as fr\n"
        "kernel = fr.Artifact.open(sys.argv[1]).load()\n"
        "out = np.zeros(2)\n"
        "print(kernel(out, 1.0), out.sum())\n"
    )
    fill.artifact.save(tmp_path / "fill.fr")
    import os

    for value, expected in (("1", "None 0.0"), ("0", "None 2.0")):
        environment = {**os.environ, "FERRULE_DO_NOT_EXECUTE": value}
        done = subprocess.run(
            [sys.executable, script, tmp_path / "fill.fr"],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == expected


def test_statuses_may_be_ignored():
    signature = fr.Signature("fails", [fr.Arg("n", kind="scalar", dtype="int64")], result="status")
    kernel = fr.compile_source("int fails(long n) { return n; }", signature).load()
    for status in (1, -1, 300):
        with pytest.raises(RuntimeError, match=f"status {status}"):
            kernel(status)
    kernel.error_check = False
    assert kernel(3) is None
    kernel.error_check = True
    with pytest.raises(RuntimeError, match="status 3"):
        kernel(3)
    with pytest.raises(TypeError, match="True or False"):
        kernel.error_check = 1


CRASH = """
#include <signal.h>
double risky(const double* x, double* y, long n, long how) {
  for (long i = 0; i < n; ++i) y[i] += x[i];
  if (how == 1) *(volatile int*)8 = 1;
  if (how == 2) raise(SIGABRT);
  return y[0];
}
"""


@pytest.fixture(scope="module")
def risky():
    args = [
        fr.Arg("x", shape="N"),
        fr.Arg("y", shape="N", intent="inout"),
        fr.Arg("how", kind="scalar", dtype="int64"),
    ]
    signature = fr.Signature(
        "risky", args, returns=[fr.Return("r", kind="scalar")], result="r", parameters=["x", "y", "N", "how"]
    )
    return fr.compile_source(CRASH, signature).load()


def test_safe_call_is_a_call(risky):
    x, y = np.arange(4.0), np.ones(4)
    assert risky.safe_call(x, y, 0) == 1.0
    np.testing.assert_array_equal(y, 1 + x)
    both = np.arange(8.0)
    both.flags.writeable = True
    assert risky.safe_call(both[:4], y=both[4:], how=0) == 4.0
    np.testing.assert_array_equal(both, [0, 1, 2, 3, 4, 6, 8, 10])


@pytest.mark.parametrize(("how", "name"), [(1, "SIGSEGV"), (2, "SIGABRT")])
def test_a_crash_is_an_exception(risky, how, name):
    x, y = np.arange(4.0), np.ones(4)
    with pytest.raises(RuntimeError, match=name):
        risky.safe_call(x, y, how)
    np.testing.assert_array_equal(y, 1.0)
    assert risky(x, y, 0) == 1.0


def test_safe_call_refuses_like_a_call(risky):
    x, y = np.arange(4.0), np.ones(4)
    with pytest.raises(ValueError, match=r"x\.shape\[0\] = 4, but y\.shape\[0\] = 3"):
        risky.safe_call(x, y[:3], 0)
    with pytest.raises(ValueError, match="shares memory"):
        risky.safe_call(x, x, 0)
    np.testing.assert_array_equal(y, 1.0)


def python_calls(call):
    """How many Python functions are entered during a call."""
    entered = []
    sys.setprofile(lambda frame, event, _: entered.append(frame.f_code.co_name) if event == "call" else None)
    try:
        call()
    finally:
        sys.setprofile(None)
    return len(entered)


def watching():
    """Ways to watch calls, each as a context."""

    @contextlib.contextmanager
    def of_one(kernel):
        registration = hooks.around_calls_of(kernel, recorder([]))
        try:
            yield
        finally:
            registration.remove()

    return {
        "hook": lambda kernel: hooks.around_calls(recorder([])),
        "hook of one": of_one,
        "profile": lambda kernel: fr.config(profile=True),
        "do_not_execute": lambda kernel: fr.config(do_not_execute=True),
        "hook that raises": lambda kernel: hooks.around_calls(recorder([], block=KeyError("no"))),
    }


@pytest.mark.parametrize("way", watching())
def test_watching_costs_nothing_once_it_is_over(fill, way):
    """A call that nobody watches enters no Python function, also after one was watched."""
    out, a = np.zeros(3), np.ones(3)
    twice(a)
    calls = [lambda: fill(out, 1.0), lambda: fill(out, v=1.0)] + [lambda: twice(a)] * (way != "hook of one")

    def unwatched():
        return [python_calls(call) for call in calls]

    assert unwatched() == [1] * len(calls)  # the lambda itself
    for _ in range(3):
        with watching()[way](fill):
            for call in calls:
                with contextlib.suppress(KeyError):
                    assert python_calls(call) > 1
        assert unwatched() == [1] * len(calls)
    hooks.reset_timings()

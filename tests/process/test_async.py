"""compile="async": the Python function runs until the native code is there."""

import gc
import os
import subprocess
import weakref
from typing import Annotated

import numpy as np
import pytest
from gated_compiler import GatedCompiler, python

import ferrule as fr
from ferrule import _rt


@pytest.fixture
def compiler(tmp_path, monkeypatch):
    made = GatedCompiler(tmp_path / "compiler")
    monkeypatch.setenv("CXX", made.path)
    monkeypatch.setenv("FERRULE_CACHE_DIR", str(tmp_path / "store"))
    return made


def settled(function):
    """Wait until nothing of it is compiled any more."""
    while any(pending.error is None for pending in list(function._pending.values())):
        with function._lock():
            pass


def test_calls_run_the_function_until_the_native_code_is_there(compiler):
    compiler.close()

    @fr.program(compile="async")
    def triple(a):
        a[0] += 1.0
        return a * 3.0

    a = np.zeros(2)
    assert triple(a).tolist() == [3.0, 0.0]
    compiler.wait_for_start()
    assert triple(a).tolist() == [6.0, 0.0]
    assert triple.specialisations == []
    compiler.open()
    settled(triple)
    assert len(triple.specialisations) == 1
    assert triple(a).tolist() == [9.0, 0.0]
    stats = triple.stats()
    assert (stats["captures"], stats["compiles"], stats["specialisations"]) == (1, 1, 1)


def test_the_arguments_are_neither_kept_nor_changed_by_the_compilation(compiler):
    compiler.close()

    @fr.program(compile="async")
    def note(a):
        a[0] += 1.0
        return a * 2.0

    a = np.ones((2, 2))
    view, reference = np.ones(2), weakref.ref(a)
    note(view)
    note(a)
    compiler.wait_for_start()
    del a
    assert reference() is None
    compiler.open()
    settled(note)
    assert view.tolist() == [2.0, 1.0]


def test_the_specialisation_is_for_the_arguments_at_the_call(compiler):
    compiler.close()

    @fr.program(compile="async")
    def total(a, factor):
        return a.sum() * factor

    a = np.ones((2, 3))
    assert total(a, 2) == 12.0
    a.shape = (6,)
    compiler.wait_for_start()
    compiler.open()
    settled(total)
    assert total.why_recompiled() == ["the first one, for <f8[2]C, int"]


def test_an_error_surfaces_at_the_next_call_and_then_again(compiler):
    @fr.program(compile="async")
    def text(a):
        return a.tobytes()

    for _ in range(2):
        assert text(np.zeros(1)) == bytes(8)
        settled(text)
        with pytest.raises(fr.Unsupported, match="tobytes"):
            text(np.zeros(1))
    assert text(np.zeros((1, 1))) == bytes(8)  # of other kinds: another compilation


def test_a_failing_compiler_surfaces(compiler, tmp_path):
    @fr.program(compile="async")
    def once(a):
        return a + 1.0

    with fr.config(compiler="/nonexistent"):
        assert once(np.ones(1)).tolist() == [2.0]
        settled(once)
        with pytest.raises(fr.BuildError, match="'/nonexistent' was not found"):
            once(np.ones(1))


def test_a_fallback_warns_at_the_next_call(compiler):
    @fr.program(compile="async", fallback="python")
    def text(a):
        return a.tobytes()

    assert text(np.zeros(1)) == bytes(8)
    settled(text)
    with pytest.warns(RuntimeWarning, match="'text' runs as Python: .*tobytes") as caught:
        assert text(np.zeros(1)) == bytes(8)
    assert caught[0].filename == __file__
    assert text(np.zeros(1)) == bytes(8)
    assert "runs as Python" in text.explain()


def test_what_may_change_is_compiled_at_once(compiler):
    @fr.program(compile="async", static="axis")
    def total(a, axis):
        return a.sum(axis=axis)

    assert total(np.ones((2, 3)), (0, 1)) == 6.0
    assert len(total.specialisations) == 1
    assert total(np.ones((2, 3)), 0).tolist() == [2.0, 2.0, 2.0]
    settled(total)
    assert len(total.specialisations) == 2


def test_a_checked_function_compares_from_the_first_call(compiler):
    @fr.program(compile="async", check=True)
    def twice(a):
        return a * 2.0

    assert twice(np.ones(1)).tolist() == [2.0]
    assert len(twice.specialisations) == 1


def test_a_function_that_is_gone_is_not_compiled(compiler, monkeypatch):
    compiler.close()

    def plain(a):
        return a + 1.0

    monkeypatch.setattr(_rt, "usable_cores", lambda: 1)
    blocker = fr.program(plain, compile="async")
    blocker(np.ones(1))
    compiler.wait_for_start()
    gone = fr.program(lambda a: a * 5.0, compile="async")
    gone(np.ones(1))
    reference = weakref.ref(gone)
    del gone
    gc.collect()
    assert reference() is None
    compiler.open()
    settled(blocker)
    assert blocker(np.ones(1)).tolist() == [2.0]


def test_an_annotated_function_refuses_once_it_is_compiled(compiler):
    @fr.program(compile="async")
    def declared(a: Annotated[np.ndarray, fr.float64["N"]]):
        return a + 1.0

    assert declared(np.ones(2)).tolist() == [2.0, 2.0]
    settled(declared)
    assert declared(np.ones(2)).tolist() == [2.0, 2.0]
    assert len(declared.specialisations) == 1
    with pytest.raises(TypeError):
        declared(np.ones(2, "float32"))


SCRIPT = """
import os, sys
import numpy as np
import ferrule as fr

@fr.program(compile="async")
def twice(a):
    return a + a

print(twice(np.ones(2)).tolist(), flush=True)
input()
"""
FORK = """
child = os.fork()
if child == 0:
    os.environ["CXX"] = sys.argv[1]
    print(twice(np.ones(2)).tolist(), flush=True)
    twice.compile(np.ones(2))
    print(twice(np.ones(2)).tolist(), len(twice.specialisations), flush=True)
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def started(tmp_path, compiler, more):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT + more)
    env = compiler.environment(tmp_path / "store")
    child = subprocess.Popen(
        python(script, "g++"), env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    compiler.wait_for_start()
    return child


@pytest.mark.parametrize(
    "more", ["", "sys.exit(3)", "raise SystemExit(3)", "twice.compile_async(np.ones((2, 2)))"]
)
def test_a_process_that_ends_stops_the_compiler(tmp_path, compiler, more):
    compiler.hold()
    child = started(tmp_path, compiler, more)
    out, _ = child.communicate("\n", timeout=60)
    assert (out, child.returncode) == ("[2.0, 2.0]\n", 3 if "3" in more else 0)
    compiler.wait_for_end()
    assert os.listdir(tmp_path / "store" / "v1" / "tmp") == []


def test_a_fork_meanwhile_compiles_anew(tmp_path, compiler):
    compiler.hold()
    child = started(tmp_path, compiler, FORK)
    out, _ = child.communicate("\n", timeout=120)
    assert (out, child.returncode) == ("[2.0, 2.0]\n[2.0, 2.0]\n[2.0, 2.0] 1\n0\n", 0)

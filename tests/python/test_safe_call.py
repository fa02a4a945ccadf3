"""`Kernel.safe_call`: what it writes and raises is what a plain call writes and raises, whatever offers the memory."""

from __future__ import annotations

import array
import os
import signal

import numpy as np
import pytest

import ferrule as fr

DOUBLE = """
#include <unistd.h>
#include <signal.h>
void twice(double* x, long n, long how) {
  for (long i = 0; i < n; ++i) x[i] *= 2;
  if (how == 1) raise(SIGKILL);
  if (how == 2) throw 1;
  while (how == 3) {
    kill(getppid(), SIGINT);
    usleep(1000);
  }
}
"""

POINTERS = "void fill(double* const* p, long n) { for (long i = 0; i < n; ++i) p[i][0] = i + 1; }"

ASK = """
#include "ferrule/rt/author.h"
double ask(fr_author::Callback<double(double)> f) { return f(1.0).value; }
"""


@pytest.fixture(scope="module")
def twice():
    args = [fr.Arg("x", shape="N", intent="inout"), fr.Arg("how", kind="scalar", dtype="int64", default=0)]
    return fr.compile_source(DOUBLE, fr.Signature("twice", args, parameters=["x", "N", "how"])).load()


@pytest.fixture(scope="module")
def ask():
    f = fr.Arg("f", kind="callback", params=[fr.Arg("x", kind="scalar")], returns="float64")
    signature = fr.Signature("ask", [f], returns=[fr.Return("r", kind="scalar")], result="r")
    return fr.compile_source(ASK, signature).load()


class Interface:
    def __init__(self, owner):
        self.owner = owner
        self.__array_interface__ = owner.__array_interface__


class Exporter:
    def __init__(self, owner):
        self.owner = owner

    def __dlpack__(self, **options):
        return self.owner.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.owner.__dlpack_device__()


class Derived(np.ndarray):
    pass


def owners(values):
    """The same numbers as every kind of object that a call writes, each with a way to read them."""
    base = np.array(values)
    yield "ndarray", base.copy(), np.asarray
    yield "subclass", base.copy().view(Derived), np.asarray
    yield "fr.Array", fr.asarray(base.copy()), np.asarray
    yield "array.array", array.array("d", values), np.asarray
    yield "memoryview", memoryview(bytearray(base.tobytes())).cast("d"), np.asarray
    yield "interface", Interface(base.copy()), lambda own: own.owner
    yield "dlpack", Exporter(base.copy()), lambda own: own.owner


@pytest.mark.parametrize("kind", [kind for kind, _, _ in owners([1.0])])
def test_what_is_written_arrives(twice, kind):
    own, read = next((own, read) for name, own, read in owners([1.0, 2.0]) if name == kind)
    twice.safe_call(own)
    np.testing.assert_array_equal(read(own), [2.0, 4.0])
    with pytest.raises(RuntimeError, match="SIGKILL"):
        twice.safe_call(own, 1)
    np.testing.assert_array_equal(read(own), [2.0, 4.0])


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_tensors_are_written(twice, dtype):
    torch = pytest.importorskip("torch")
    if dtype == "float64":
        kernel = twice
    else:
        signature = fr.Signature("clear", [fr.Arg("x", dtype=dtype, shape="N", intent="inout")])
        kernel = fr.compile_source("void clear(void* x, long n) { *(short*)x = 0; }", signature).load()
    tensor = torch.ones(2, dtype=getattr(torch, dtype))
    kernel.safe_call(tensor)
    assert tensor.tolist() == ([2.0, 2.0] if dtype == "float64" else [0.0, 1.0])


def test_lists_of_arrays_are_written():
    signature = fr.Signature("fill", [fr.Arg("p", kind="pointers", intent="out")])
    fill = fr.compile_source(POINTERS, signature).load()
    own = [np.zeros(2), np.zeros(1)]
    fill.safe_call(own)
    assert [a.tolist() for a in own] == [[1.0, 0.0], [2.0]]


@pytest.mark.parametrize("how", [1, 2])
def test_a_mapped_file_is_as_before_where_the_call_fails(twice, how, tmp_path):
    own = np.memmap(tmp_path / "file", "float64", "w+", shape=(3,))
    own[:] = 1
    with pytest.raises(RuntimeError):
        twice.safe_call(own, how)
    np.testing.assert_array_equal(own, 1.0)
    twice.safe_call(own)
    np.testing.assert_array_equal(np.fromfile(tmp_path / "file"), 2.0)


def test_what_a_call_refuses(twice):
    with pytest.raises(TypeError, match="masked array"):
        twice.safe_call(np.ma.ones(3))


@pytest.fixture
def interrupted_once():
    """Ctrl-C, once a child is there: one that comes earlier, Python may lose among the hooks of os.fork."""

    def interrupt(number, frame):
        if frame.f_code.co_name == "_ask_child" and frame.f_locals["child"] > 0:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupted_once")
def test_an_interrupted_call_ends(twice):
    own = np.ones(3)
    with pytest.raises(KeyboardInterrupt):
        twice.safe_call(own, 3)
    np.testing.assert_array_equal(own, 1.0)
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, GeneratorExit, ValueError])
def test_any_exception_arrives(ask, kind):
    def raises(x):
        raise kind("why")

    with pytest.raises(kind, match="why"):
        ask.safe_call(raises)


class TwoParts(Exception):
    def __init__(self, a, b):
        super().__init__(f"{a} and {b}.")


@pytest.mark.parametrize("local", [False, True])
def test_an_exception_that_no_pickle_carries_is_told(ask, local):
    class Local(Exception):
        pass

    def raises(x):
        raise Local("this and that") if local else TwoParts("this", "that")

    with pytest.raises(RuntimeError, match=r"^ask\(\): the call raised .*: this and that\.$"):
        ask.safe_call(raises)


def test_a_result_that_no_pickle_carries_is_told():
    signature = fr.Signature(
        "pick",
        [fr.Arg("f", kind="callback", returns="pyobject")],
        returns=[fr.Return("r", kind="pyobject")],
        result="r",
    )
    source = (
        '#include "ferrule/rt/author.h"\nvoid* pick(fr_author::Callback<void*()> f) { return f().value; }'
    )
    pick = fr.compile_source(source, signature).load()
    assert pick.safe_call(lambda: [1]) == [1]
    with pytest.raises(
        TypeError, match=r"^pick\(\): the result cannot come back from the process of safe_call\(\)"
    ):
        pick.safe_call(lambda: lambda: 1)

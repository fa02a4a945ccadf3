"""What calls give back: fresh memory, views that keep their array alive, and the caller's own memory."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrule as fr

SIZES = [0, 1, 3, 8, 17, 1000, 1 << 17]  # the last one is taken from memory that is kept
DTYPES = ["float64", "float32", "int64", "uint8"]


@fr.program
def plus(a: Any, b: Any) -> Any:
    return a + b


@pytest.fixture(scope="module")
def plus_kernel() -> Any:
    source = "void plus(const double* a, const double* b, double* out, long n) { for (long i = 0; i < n; ++i) out[i] = a[i] + b[i]; }"
    signature = fr.Signature(
        "plus", [fr.Arg("a", shape="N"), fr.Arg("b", shape="N")], returns=[fr.Return("out", shape="N")],
        allow_return_override=True,
    )  # fmt: skip
    return fr.compile_source(source, signature).load()


@pytest.fixture(params=["function", "kernel"])
def add(request: pytest.FixtureRequest, plus_kernel: Any) -> Any:
    return plus if request.param == "function" else plus_kernel


@pytest.mark.parametrize("n", SIZES)
def test_results_are_independent(add: Any, n: int) -> None:
    one, two = np.ones(n), np.full(n, 2.0)
    c = add(one, two)
    d = add(one, c)
    results = [c, d, add(d, d), add(one, d)]
    for result, value in zip(results, (3, 4, 8, 5), strict=True):
        np.testing.assert_array_equal(result, np.full(n, float(value)), strict=True)
        assert result.flags.owndata
        assert result.flags.writeable
        assert result.base is None
    for i, result in enumerate(results):
        assert not any(np.shares_memory(result, other) for other in [*results[:i], one, two])
    d[:] = 0
    np.testing.assert_array_equal(c, np.full(n, 3.0))


@pytest.mark.parametrize("n", SIZES)
def test_a_result_outlives_everything(n: int) -> None:
    source = "void copy(const double* a, double* out, long n) { for (long i = 0; i < n; ++i) out[i] = a[i]; }"
    signature = fr.Signature("copy", [fr.Arg("a", shape="N")], returns=[fr.Return("out", shape="N")])
    kernel, function = fr.compile_source(source, signature).load(), fr.program(lambda a: a + 0.0)
    a = np.arange(float(n))
    views = [kernel(a)[1:], function(a)[1:]]
    del kernel, function, a
    gc.collect()
    for _ in range(12):
        block = np.full(1 << 20, 7.0)
        del block
    for view in views:
        np.testing.assert_array_equal(view, np.arange(float(n))[1:])


VIEWS: list[Callable[[Any], Any]] = [
    lambda a: a[1:3], lambda a: a[::2], lambda a: a[::-1], lambda a: a[1:], lambda a: a[-3:], lambda a: a[2:2],
    lambda a: a[1:][::2], lambda a: a[:, None], lambda a: a[None], lambda a: a.reshape(2, 3),
]  # fmt: skip


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_slice_is_a_view_and_an_expression_is_not(view: Any, dtype: str) -> None:
    shown, owned = fr.program(view), fr.program(lambda a: view(a) + 0)
    for _ in range(2):
        a = np.arange(6).astype(dtype)
        expected = view(a)
        result, copy = shown(a), owned(a)
        np.testing.assert_array_equal(result, expected, strict=True)
        np.testing.assert_array_equal(copy, expected + 0, strict=True)
        assert result.strides == expected.strides
        assert np.shares_memory(result, a) == (expected.size > 0)
        assert not np.shares_memory(copy, a)
        assert copy.flags.owndata
        before = copy.copy()
        a[:] = 0
        assert not result.any()
        np.testing.assert_array_equal(copy, before)
        alive = weakref.ref(a)
        del a, expected
        gc.collect()
        assert alive() is not None
        del result
        gc.collect()
        assert alive() is None


def test_a_view_is_as_writable_as_its_array() -> None:
    shown = fr.program(lambda a: a[1:])
    for writable in (True, False, True):
        a = np.arange(4.0)
        a.flags.writeable = writable
        assert shown(a).flags.writeable == writable
    wide = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(shown(wide[:, 1]), wide[1:, 1])
    assert np.shares_memory(shown(wide[:, 1]), wide)


def test_an_argument_comes_back_itself() -> None:
    class Mine(np.ndarray):
        pass

    same = fr.program(lambda a: a)
    for a in (np.ones(3), np.ones((2, 2)), np.ones(3).view(Mine), np.ones(0), np.ones(4)[::2]):
        before = sys.getrefcount(a)
        for _ in range(3):
            assert same(a) is a
        assert sys.getrefcount(a) == before


# -- the caller's own memory


@pytest.mark.parametrize("n", SIZES)
def test_memory_of_the_right_kind_comes_back_itself(plus_kernel: Any, n: int) -> None:
    a, b = np.arange(float(n)), np.ones(n)
    for y in (
        np.zeros(n),
        np.zeros(n + 3)[3:],
        np.zeros(2 * n)[:n],
        np.zeros(n).view(np.recarray)[:].view(np.ndarray),
    ):
        before = sys.getrefcount(y)
        assert plus_kernel(a, b, out=y) is y
        assert plus_kernel(out=y, b=b, a=a) is y
        np.testing.assert_array_equal(y, a + 1)
        assert sys.getrefcount(y) == before


@pytest.mark.parametrize("n", [0, 1, 3, 17])
def test_memory_of_another_kind_is_refused(plus_kernel: Any, n: int) -> None:
    a, b = np.arange(float(n)), np.ones(n)

    def refused(y: Any, kind: type[Exception], text: str) -> None:
        before = y.copy()
        with pytest.raises(fr.UserError, match=text) as caught:
            plus_kernel(a, b, out=y)
        assert isinstance(caught.value, kind)
        np.testing.assert_array_equal(y, before)

    for other in {0, n - 1, n + 1, 2 * n, 1000} - {n, -1}:
        refused(np.full(other, 7.0), ValueError, rf"'out' has shape \({other},\), but \({n},\) is expected")
    for shape in ((), (n, 1), (1, n), (1, 1, n)):
        refused(np.full(shape, 7.0), ValueError, r"'out' has shape .*, but \(.*,\) is expected")
    for dtype in ("f4", "i8", "u8", "c16", ">f8", "O", "?", "S8", [("x", "f8")]):
        refused(np.zeros(n, dtype), TypeError, "'out' has dtype .*, but float64 is expected")
    if n == 0:
        return
    frozen = np.full(n, 7.0)
    frozen.flags.writeable = False
    refused(frozen, ValueError, "'out' is read-only, but the result is written to it")
    refused(np.zeros(8 * n + 1, "u1")[1:].view("f8"), ValueError, "'out' is not aligned")
    if n > 1:
        refused(np.full(2 * n, 7.0)[::2], ValueError, "'out' must be contiguous in C order")
        refused(np.full(n, 7.0)[::-1], ValueError, "'out' must be contiguous in C order")
        refused(
            np.lib.stride_tricks.as_strided(np.zeros(1), (n,), (0,)), ValueError, "'out' must be contiguous"
        )
    for shared in (a, b):
        refused(shared, ValueError, "'out' takes a result and shares memory with '[ab]'")
    memory = np.arange(3.0 * n)
    for past in range(-n + 1, n):
        with pytest.raises(ValueError, match="'out' takes a result and shares memory with 'a'"):
            plus_kernel(memory[n : 2 * n], b, out=memory[n + past : 2 * n + past])
    np.testing.assert_array_equal(memory, np.arange(3.0 * n))
    assert plus_kernel(memory[n : 2 * n], b, out=memory[:n]).base is memory


def test_functions_with_a_parameter_for_the_result() -> None:
    """In a program `out` is an argument like any other: NumPy's answer also where it overlaps."""

    @fr.program
    def double(a: Any, out: Any) -> Any:
        np.multiply(a, 2.0, out=out)
        return out

    a, y = np.arange(4.0), np.zeros(4)
    assert double(a, y) is y
    assert double(a, out=y) is y
    np.testing.assert_array_equal(y, 2 * a)
    for wrong in (np.zeros(3), np.zeros(5), np.zeros((4, 1))):
        with pytest.raises(ValueError):
            double(a, wrong)
        assert not wrong.any()
    for shift in (0, 1, 3):
        memory, numpys = np.arange(8.0), np.arange(8.0)
        double(memory[:4], memory[shift : shift + 4])
        np.multiply(numpys[:4], 2.0, out=numpys[shift : shift + 4])
        np.testing.assert_array_equal(memory, numpys)

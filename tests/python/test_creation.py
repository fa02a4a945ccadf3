"""np.arange, np.linspace and fresh arrays over kinds of arguments, against NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from evaluated import evaluated

from ferrule import errors

DTYPES = ["bool", "int8", "uint8", "int64", "uint64", "float32", "float64"]
NAN, INF = float("nan"), float("inf")


def agree(fn, *args):
    """Whether a program gives arrays equal to NumPy's in dtype, shape and elements, or an error of the same kind."""
    with np.errstate(all="ignore"):
        try:
            expected = fn(*args)
        except (TypeError, ValueError, ZeroDivisionError, MemoryError) as error:
            kinds = (TypeError, ValueError, ZeroDivisionError, MemoryError)
            kind = next(kind for kind in kinds if isinstance(error, kind))
            with pytest.raises(kind):
                evaluated(fn)(*args)
            return
    ours = evaluated(fn)(*args)
    np.testing.assert_equal(ours, expected)
    for one, other in zip(*(v if isinstance(v, tuple) else (v,) for v in (ours, expected)), strict=True):
        assert np.asarray(one).dtype == np.asarray(other).dtype


@pytest.mark.parametrize(("first", "last"), itertools.product(DTYPES, DTYPES))
def test_linspace_over_pairs_of_dtypes(first, last):
    start, stop = np.dtype(first).type(0), np.dtype(last).type(1)
    agree(lambda a, b: np.linspace(a, b, 7), start, stop)
    agree(lambda a, b: np.linspace(a, b, 4, endpoint=False, retstep=True), start, stop)


@pytest.mark.parametrize("dtype", DTYPES)
def test_linspace_beside_python_numbers(dtype):
    number = np.dtype(dtype).type(1)
    for other in (0, 0.25):
        agree(lambda a, b: (np.linspace(a, b, 5), np.linspace(b, a, 5)), number, other)
    agree(lambda a: np.linspace(a, np.float32(3), 5), np.array(1, dtype))


def test_linspace_of_literals_and_counts():
    agree(lambda: np.linspace(np.float32(0), np.float32(1), 3))
    agree(lambda n: (np.linspace(0, n, 5, dtype=np.int32), np.linspace(np.float32(0.1), 1, n)), 4)
    agree(lambda n: np.linspace(0, 1, n), np.int8(4))
    agree(lambda n: np.linspace(0, 1, n), -1)
    agree(lambda n: np.linspace(0, 1, n), 2.0)
    with pytest.raises(errors.Unsupported, match="number of samples"):
        evaluated(lambda n: np.linspace(0, 1, n))(np.array(4))


STOPS = [
    True, np.int8(4), np.uint8(3), np.bool_(1), np.array(3), np.array(3, "i2"), np.array(True), np.float32(3), -2,
    np.array(2.5), np.uint64(3), np.int64(-2), "x", None, (1,), NAN, INF, 1e30, 0.0, -1.0, 2**62, 2**60,
]  # fmt: skip


@pytest.mark.parametrize("stop", STOPS, ids=repr)
def test_arange_of_one_argument(stop):
    agree(lambda n: np.arange(n), stop)


RANGES = [
    (0, 5, 1), (5, 0, -2), (0, 5, 0), (0, 0, 0), (0.0, 5.0, 0.0), (0.0, 0.0, 0.0), (0.0, NAN, 1.0), (0.0, INF, 1.0),
    (0.0, -INF, 1.0), (0.0, 5.0, INF), (0.0, -5.0, INF), (0.0, 5.0, NAN), (INF, 0.0, 1.0), (1, 0.5, -0.25),
    (np.float32(1), np.float32(2), np.float32(0)), (np.int8(1), np.int8(9), np.int8(3)),
    (np.int8(9), np.int16(1), np.int64(-3)), (0, 5, np.int64(0)), (np.array(1), np.array(7), np.array(2)),
    (np.array(7), np.array(1), np.array(-2)), (np.array(7), np.array(1), np.array(2)),
    (np.array(7), np.array(1), np.array(0)), (0, np.uint64(5), 1), (np.bool_(0), np.bool_(1), 1),
    (0, np.bool_(1), 1), (1.5, np.array(4), np.array(0.5)), (np.float32(0.1), np.float32(1), np.float32(0.1)),
    (0, 2**62, 1), (0, 2**62, 2**61),
]  # fmt: skip


@pytest.mark.parametrize("bounds", RANGES, ids=repr)
def test_arange_of_three_arguments(bounds):
    agree(lambda a, b, c: np.arange(a, b, c), *bounds)


def test_literal_bounds():
    x = np.ones(5)
    agree(lambda a: np.arange(0.0, 5.0, 0.0) + a, x)
    agree(lambda a: np.arange(0.0, INF) + a, x)
    agree(lambda a: np.arange(0, 5, 0) + a, x)
    agree(lambda a: np.arange(0.0, 5.0, INF) + a, x)


def test_arrays_beyond_all_memory_are_refused_where_they_are_made():
    x = np.ones(2)
    agree(lambda a: np.arange(2**62).sum() + a, x)
    agree(lambda a: np.zeros((2**40, 2**40)).sum() + a, x)
    agree(lambda a: np.ones(2**59).sum() + a, x)
    agree(lambda n: np.arange(n).sum(), 2**59)


def fresh(n):
    return np.zeros(n), np.ones(n, int), np.full(n, 3), np.empty(n, bool).size


SHAPES = [
    np.int64(4), np.array(3), (2, 3), np.array([2, 3]), (2, np.int64(3)), np.True_, True, 2.0, np.float64(2), -1,
    np.array([2.0]), (2, np.True_), np.array(True), np.int64(-1), np.array(-1), np.uint64(2), (), (2, 1.5), 0,
]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_shapes(shape):
    agree(fresh, shape)


@pytest.mark.parametrize("a", [[3, 1, 2], [0, -1], [-3, -1]])
@pytest.mark.parametrize("dtype", ["int64", "int8"])
def test_sizes_from_data(a, dtype):
    def compute(a):
        return np.zeros(a.max() + 1), np.arange(a.max()), np.arange(int(a.max())), np.ones((a[0] + 1, 2))

    agree(compute, np.array(a, dtype))


def test_numpy_ints_that_are_literals():
    def compute(a):
        return np.zeros(np.int64(4)) + np.arange(np.int64(4)) + a.sum(axis=np.int64(0)), np.eye(np.int8(3))

    agree(compute, np.ones((3, 4)))


def reduced(a, axis):
    return a.sum(axis=axis), np.max(a, axis), np.flip(a, axis), np.expand_dims(a, axis)


AXES = [0, -1, 5, True, 1.0, np.int64(0), np.int8(-1), np.uint64(1), np.True_, np.float64(0), np.int64(5)]


@pytest.mark.parametrize("axis", AXES, ids=repr)
def test_axes(axis):
    agree(reduced, np.arange(6.0).reshape(2, 3), axis)


def test_a_numpy_int_as_axis_makes_one_specialisation_for_each():
    program = evaluated(lambda a, axis: a.sum(axis=axis))
    a = np.arange(6.0).reshape(2, 3)
    for axis in (np.int64(0), np.int64(1), np.int64(0)):
        assert np.array_equal(program(a, axis), a.sum(axis=axis))
    assert program.captures == 2


def test_an_axis_from_data_is_named():
    with pytest.raises(errors.Unsupported, match="axis that is known only at run time"):
        evaluated(lambda a, i: a.sum(axis=i[0]))(np.ones((2, 3)), np.array([1]))


@pytest.mark.parametrize("n", [np.int64(2), np.int8(3), np.uint8(1), np.uint64(2)])
def test_numpy_ints_as_sizes_indices_and_bounds(n):
    def compute(a, n):
        for i in range(n):
            a = a + i
        return (
            a.reshape(n, -1),
            a[n],
            a[:n],
            a[n:],
            a[::n],
            np.broadcast_to(a[0], (n,)),
            np.tri(n),
            np.diag(a, n),
        )

    agree(compute, np.arange(6.0), n)


def test_results_that_are_one_object():
    def compute(a):
        b = a + 1
        c = np.array(a[0])
        return b, b, [b[1:], c], c

    first, second, (view, zero_rank), last = evaluated(compute)(np.arange(3.0))
    assert first is second
    assert zero_rank is last
    assert np.array_equal(view, [2.0, 3.0])

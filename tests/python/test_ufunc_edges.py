"""Powers of nothing, and bounds of np.clip that limit nothing or are zeros."""

from __future__ import annotations

import numpy as np
import pytest
from evaluated import evaluated


def check(fn, *args):
    """A program gives what NumPy gives, to the sign of zero, or an error of the same kind."""
    try:
        expected = fn(*args)
    except (ValueError, OverflowError) as error:
        with pytest.raises(OverflowError if isinstance(error, OverflowError) else ValueError):
            evaluated(fn)(*args)
        return
    ours = evaluated(fn)(*args)
    assert ours.dtype == expected.dtype
    np.testing.assert_array_equal(ours, expected)
    if expected.dtype.kind == "f":
        known = ~np.isnan(expected)
        assert np.array_equal(np.signbit(ours)[known], np.signbit(expected)[known])


ARRAYS = [
    np.zeros(0, int),
    np.zeros((0, 3), "i1"),
    np.zeros(0, "u1"),
    np.array([2, 3]),
    np.array([2, 3], "u1"),
]


@pytest.mark.parametrize("a", ARRAYS, ids=repr)
def test_negative_powers(a):
    for exponent in (-1, 2, np.int64(-1), np.array([], int)[: a.size], np.array(-1), -1.0):
        check(lambda a, n: a**n, a, exponent)
    check(lambda a: a**-1, a)
    check(lambda a: np.power(a, np.int64(-2)), a)


BOUNDS = [
    (-3, 100), (0, 300), (-3, 300), (300, 400), (-5, -3), (None, 300), (-3, None), (2, -3), (np.int8(-3), 5), (5, 3),
]  # fmt: skip


@pytest.mark.parametrize("bounds", BOUNDS, ids=repr)
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int64", "float32"])
def test_bounds_beyond_the_dtype(bounds, dtype):
    check(lambda a, low, high: np.clip(a, low, high), np.array([1, 100], dtype), *bounds)


def test_literal_bounds_beyond_the_dtype():
    a = np.array([1, 200], "u1")
    check(lambda a: np.clip(a, -3, 100), a)
    check(lambda a: np.clip(a, 0, 300), a)
    check(lambda a: np.clip(a, 300, 400), a)
    check(lambda a: np.clip(a[0], -3, 100), a)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("low", [0.0, -0.0, np.nan, 1.0, None])
@pytest.mark.parametrize("high", [0.0, -0.0, np.nan, -1.0, None])
def test_zeros_as_bounds(dtype, low, high):
    a = np.array([0.0, -0.0, -1.0, 1.0, np.nan] * 5, dtype)
    if low is not None or high is not None:
        check(lambda a, low, high: np.clip(a, low, high), a, low, high)
        if low is not None and high is not None:
            check(lambda a, low, high: np.clip(a[1], low, high), a, low, high)

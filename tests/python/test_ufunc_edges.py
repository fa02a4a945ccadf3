"""What NumPy does with powers, with bounds of np.clip, and with Python ints that the dtype does not hold."""

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
    agree(evaluated(fn)(*args), expected)


def agree(ours, expected):
    """Equal dtypes and values, to the sign of zero."""
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


def divided(a, n):
    return (
        a / n,
        n / a,
        np.arctan2(n, a),
        np.hypot(a, n),
        np.float_power(a, n),
        np.copysign(a, n),
        np.logaddexp(n, a),
    )


def joined(a, n):
    return np.logical_and(a, n), np.logical_xor(n, a)


@pytest.mark.parametrize("dtype", ["int16", "int32", "uint16", "uint32", "uint64"])
def test_python_ints_need_not_fit_where_floats_are_computed(dtype):
    a = np.array([3, 0, 100], dtype)
    for fn in (divided, joined):
        program = evaluated(fn)
        for n in (2, -1, 300, 70000, 2**40, 2**63 - 1):
            with np.errstate(all="ignore"):
                expected = fn(a, n)
            for ours, theirs in zip(program(a, n), expected, strict=True):
                assert ours.dtype == theirs.dtype
                np.testing.assert_allclose(ours, theirs, rtol=1e-6 if ours.dtype == np.float32 else 1e-14)


@pytest.mark.parametrize("dtype", ["int8", "uint32", "int64", "uint64", "float32"])
def test_python_ints_beyond_64_bits(dtype):
    a = np.array([3, 0, 100], dtype)
    check(lambda a: np.divide(a, 2**63), a[:1])
    check(lambda a: a / 2**70, a)
    check(lambda a: np.where(a > 1, a, 2**63), a)
    for fn in (
        lambda a: a < 2**64, lambda a: a > 2**64, lambda a: a == 2**64, lambda a: a != -(2**63) - 1,
        lambda a: np.less_equal(-(2**70), a), lambda a: np.greater(2**63, a), lambda a: a <= 2**64 - 1, lambda a: np.less(2**80, a),
        lambda a: a[0] < 2**64, lambda a: a + 2**64, lambda a: a * (2**63), lambda a: np.maximum(a, -(2**63) - 1),
    ):  # fmt: skip
        check(fn, a)


def test_powers_of_signed_and_64_bit_unsigned_integers_are_floats():
    for kind in ("int8", "int16", "int32", "int64"):
        signed = np.array([-3, 2, 0, -1], kind)
        unsigned = np.array([3, 2, 5, 0], "uint64")
        with np.errstate(all="ignore"):
            for exponent in (signed, signed[0], np.int8(-2)):
                check(lambda a, n: a**n, unsigned, exponent)
            check(lambda a, n: np.power(a, n), signed, unsigned)


def test_squares_of_booleans():
    a = np.array([True, False])
    for n in (0, 1, 2, 3):
        check(lambda a, n: a**n, a, n)
        check(lambda a, n: np.power(a, n), a, n)
        check(lambda a, n: a[0] ** n, a, n)
    check(lambda a: a**2, a)
    check(lambda a: a**3, a)


def by_one_exponent(a, n):
    return a**n, np.power(a, n), np.power(a[0], n), np.power(a[1], n)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_power_of_a_half_is_a_root_but_for_scalars(dtype):
    a = np.array([-0.0, -np.inf, 4.0, np.inf, 0.0, np.nan], dtype)

    def literal(a):
        return a**0.5, np.power(a, 0.5), a ** np.float64(0.5), np.power(a[1], 0.5), a[0] ** 0.5, a[1] ** 0.5

    def roots(a, n):
        return np.float_power(a, n), a[0] ** n, a[1] ** n

    with np.errstate(all="ignore"):
        for fn, args in [
            (literal, (a,)),
            *((by_one_exponent, (a, n)) for n in (0.5, 2.0, np.float32(0.5), np.float64(0.5), np.array(0.5), -1.0)),
            *((roots, (a, n)) for n in (0.5, np.float64(0.5))),
        ]:  # fmt: skip
            for ours, expected in zip(evaluated(fn)(*args), fn(*args), strict=True):
                agree(ours, expected)


def test_exponents_of_ldexp_have_32_bits_as_python_ints():
    a = np.array([1.5, 0.0], np.float32)
    for n in (3, -200, -(2**31), 2**31, -(2**31) - 1, True, np.int64(-(2**40))):
        check(lambda a, n: np.ldexp(a, n), a, n)
    check(lambda a: np.ldexp(a, 5), a)
    check(lambda a: np.ldexp(a, 2**31), a)


def test_a_mask_over_a_result_that_is_cast():
    def fn(x, mask, out):
        np.subtract(x, x // 3, out=out, where=mask)
        return out

    x, mask = np.array([9, 6, 200], "uint64"), np.array([True, False, True])
    for kind in ("int8", "int64", "float32", "uint8", "bool"):
        out = np.array([1, 0, 1]).astype(kind)
        if np.can_cast("uint64", kind, "same_kind"):
            check(fn, x, mask, out.copy())
        else:
            with pytest.raises(TypeError):
                evaluated(fn)(x, mask, out)


FLOATS = [
    2.7,
    -1.5,
    300.5,
    -0.9,
    255.9,
    2.0**31,
    -(2.0**63),
    2.0**63,
    2.0**64,
    1e300,
    np.inf,
    -np.inf,
    np.nan,
]


def stored(a, value):
    a[1] = value
    a[2:] = value
    return a


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64", "bool", "float32"])
def test_python_floats_in_arrays_of_integers(dtype):
    a = np.zeros(4, dtype)
    program = evaluated(stored)
    for value in FLOATS:
        try:
            with np.errstate(all="ignore"):
                expected = stored(a.copy(), value)
        except (ValueError, OverflowError) as error:
            with pytest.raises(type(error)):
                program(a.copy(), value)
        else:
            agree(program(a.copy(), value), expected)
    if dtype == "uint8":
        check(lambda a: stored(a, -1.5), a)
        check(lambda a: stored(a, float("nan")), a)
        check(lambda a: stored(a, 255.9), a)


def test_what_replaces_a_nan_is_not_replaced_itself():
    x = np.array([np.nan, np.inf, -np.inf, 1.0])
    check(lambda x: np.nan_to_num(x, nan=np.inf), x)
    check(lambda x: np.nan_to_num(x, posinf=-np.inf), x)
    check(lambda x: np.nan_to_num(x, nan=-np.inf, neginf=np.nan), x)
    check(lambda x: np.nan_to_num(x, False, np.inf, 1.0, 2.0), x.astype(np.float32))


def test_numbers_are_cast_under_a_rule():
    x = np.array([1.5, -2.0])
    check(
        lambda x: np.asarray(
            [x[0].astype(np.float32, casting="same_kind"), x[1].astype(np.int8, copy=False)]
        ),
        x,
    )
    with pytest.raises(TypeError, match="according to the rule 'safe'"):
        evaluated(lambda x: x[0].astype(np.int8, casting="safe"))(x)

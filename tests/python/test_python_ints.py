"""Arithmetic of Python ints: exact, or an OverflowError where 64 bits do not hold the result."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from evaluated import evaluated
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ferrule import errors
from ferrule.capture import capture

LARGEST = 2**63 - 1
SMALLEST = -(2**63)


def add(n, m):
    return n + m


def subtract(n, m):
    return n - m


def multiply(n, m):
    return n * m


def floor_divide(n, m):
    return n // m


def remainder(n, m):
    return n % m


def augmented(n, m):
    n += 1
    n *= m
    n -= 1
    return n


def extremes(n, m):
    return min(n, m) + max(n, m)


def difference(n, m):
    return abs(n - m)


OPERATIONS = [add, subtract, multiply, floor_divide, remainder, augmented, extremes, difference]

_programs = {fn: evaluated(fn) for fn in OPERATIONS}


def outcome(fn, *args):
    """What a call gives, with an OverflowError where Python's int is too large for 64 bits."""
    try:
        result = fn(*args)
    except ZeroDivisionError:
        return ZeroDivisionError
    except OverflowError:
        return OverflowError
    return result if SMALLEST <= result <= LARGEST else OverflowError


INTS = st.one_of(
    st.integers(-10, 10),
    st.integers(SMALLEST, LARGEST),
    st.builds(
        lambda sign, bits, off: max(min(sign * 2**bits + off, LARGEST), SMALLEST),
        st.sampled_from([-1, 1]),
        st.integers(28, 63),
        st.integers(-2, 2),
    ),
)


@pytest.mark.parametrize(
    "fn", [add, subtract, multiply, floor_divide, remainder, extremes], ids=lambda f: f.__name__
)
@given(n=INTS, m=INTS)
@example(n=LARGEST, m=1)
@example(n=SMALLEST, m=-1)
@example(n=2**32, m=2**31)
@example(n=2**32, m=-(2**31))
@example(n=5, m=0)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_arguments(fn, n, m):
    assert outcome(_programs[fn], n, m) == outcome(fn, n, m)


@pytest.mark.xfail(strict=True, reason="a guard on the smallest int overflows: refused although the sum fits")
def test_a_guard_on_the_smallest_int():
    assert outcome(evaluated(extremes), SMALLEST, 2**28) == SMALLEST + 2**28


@given(n=INTS, m=INTS)
@settings(max_examples=60, deadline=None)
def test_steps_that_overflow_are_errors_although_the_result_would_fit(n, m):
    steps = [n + 1, (n + 1) * m, (n + 1) * m - 1]
    fits = all(SMALLEST <= step <= LARGEST for step in steps)
    assert outcome(_programs[augmented], n, m) == (steps[-1] if fits else OverflowError)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "floordiv", "mod", "lshift"])
def test_ints_from_data(name):
    operation = getattr(operator, name)

    def compute(a):
        n, m = a[0].item(), a[1].item()
        return operation(n, m)

    ours = evaluated(compute)
    values = [
        0,
        1,
        -1,
        2,
        3,
        -7,
        62,
        63,
        64,
        2**31,
        -(2**31),
        2**32,
        2**62,
        LARGEST,
        SMALLEST,
        3037000499,
        3037000500,
    ]
    for n in values:
        for m in values:
            if name == "lshift" and not 0 <= m <= 100:
                continue
            a = np.array([n, m])
            assert outcome(ours, a) == outcome(operation, n, m), (n, m)
    assert ours.captures == 1


@pytest.mark.parametrize("operation", [operator.neg, abs])
def test_signs_of_ints_from_data(operation):
    ours = evaluated(lambda a: operation(a[0].item()))
    for n in (0, 5, -5, LARGEST, SMALLEST + 1, SMALLEST):
        assert outcome(ours, np.array([n])) == outcome(operation, n)


@pytest.mark.parametrize(
    ("base", "exponent"), [(3, 39), (3, 40), (-2, 63), (2, 63), (2, 62), (10, 18), (10, 19), (1, 500)]
)
def test_powers(base, exponent):
    def power(n, m):
        return n**m

    assert outcome(evaluated(power), base, exponent) == outcome(power, base, exponent)


def test_a_negative_shift_is_a_value_error():
    def shift(a):
        return a[0].item() << a[1].item()

    with pytest.raises(ValueError):
        evaluated(shift)(np.array([1, -1]))


def test_a_division_by_an_int_of_the_data_is_a_zero_division_error():
    def quotient(a):
        return a[0].item() // a[1].item()

    ours = evaluated(quotient)
    assert ours(np.array([7, 2])) == 3
    with pytest.raises(errors.UserZeroDivisionError, match="division or modulo by zero"):
        ours(np.array([7, 0]))


def test_a_product_in_a_loop():
    def factorial(a):
        p, k = 1, a[0].item()
        while k > 1:
            p *= k
            k -= 1
        return p

    ours = evaluated(factorial)
    assert ours(np.array([20])) == 2432902008176640000
    with pytest.raises(OverflowError, match="a Python int does not fit into 64 bits"):
        ours(np.array([21]))


def test_a_count_begins_near_the_limit():
    def count(x, n):
        for i in range(len(x)):
            if x[i] > 0:
                n += 1
        return n

    ours = evaluated(count)
    x = np.array([1.0, -1.0, 1.0])
    assert ours(x, LARGEST - 2) == LARGEST
    with pytest.raises(OverflowError):
        ours(x, LARGEST - 1)
    assert ours(-x, LARGEST - 1) == LARGEST


def test_numpy_ints_wrap_as_before():
    def wrapped(a):
        return a[0] + a[1]

    with np.errstate(over="ignore"):
        assert evaluated(wrapped)(np.array([LARGEST, 1])) == SMALLEST


def stencil(x, n):
    for i in range(1, n - 1):
        x[i] = x[i - 1] + 2 * x[i + 1]
    return x


def flat(x, n, m):
    for i in range(n):
        for j in range(m):
            x[i * m + j] += 1
    return x


def triangle(x):
    n = len(x)
    for i in range(n):
        for j in range(i + 1, n):
            x[j - i] += x[(i + j) // 2]
    return x


def counted(x, n):
    k = 0
    while k < n:
        x[k] *= 2
        k += 1
    return x


def downwards(x):
    k = len(x) - 1
    while k >= 0:
        x[k] *= 2
        k -= 1
    return x


def strided(x, step):
    for i in range(0, len(x), step):
        x[len(x) - 1 - i] = i
    return x


@pytest.mark.parametrize(
    ("fn", "args"),
    [(stencil, (8,)), (flat, (2, 4)), (triangle, ()), (counted, (5,)), (downwards, ()), (strided, (2,))],
)
def test_indices_are_not_checked(fn, args):
    program = capture(fn, (np.ones(8), *args), {}).program
    assert "check %" not in str(program)
    expected = fn(np.ones(8), *args)
    np.testing.assert_array_equal(evaluated(fn)(np.ones(8), *args), expected)

"""Python's min and max, and comparisons with Python ints: exact whatever the dtypes."""

from __future__ import annotations

import numpy as np
import pytest
from evaluated import evaluated

from ferrule.capture import capture

NUMBERS = [-1, 0, 5, 100, 127, 128, 255, 256, 300, -300, 2**40, -(2**40), 2.5, -1.5, 0.1, float("inf")]
ELEMENTS = [
    ("uint8", 5),
    ("uint8", 200),
    ("int8", -100),
    ("uint32", 2**32 - 1),
    ("uint64", 2**63 + 5),
    ("int64", 7),
]


def larger(a, k):
    return max(a[0], k)


def smaller(a, k):
    return min(k, a[0])


def compared(a, k):
    return a[0] < k, a[0] > k, a[0] == k, k <= a[0], a < k, a == k, k != a


def same(ours, expected):
    """Equal values; a result between two types may be a Python number or NumPy's."""
    return float(ours) == expected if isinstance(expected, float) else ours == expected


@pytest.mark.parametrize("fn", [larger, smaller])
@pytest.mark.parametrize(("dtype", "element"), [*ELEMENTS, ("float64", 2.5), ("float32", 2.5)])
def test_an_element_and_a_python_number(fn, dtype, element):
    a = np.array([element], dtype)
    program = evaluated(fn)
    for k in NUMBERS:
        if isinstance(k, float) and element > 2**53:
            continue  # the result is a float then, which rounds
        assert same(program(a, k), fn(a, k)), k


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int64", "uint64", "float32", "float64"])
def test_an_element_and_literals(dtype):
    def compute(a):
        return [
            max(a[0], -1), min(-1, a[0]), max(a[0], 300), min(300, a[0], 7), max(0.1, a[0]), max(a[0], 2.5),
            max(-1.5, a[0]), min(a[0], 0.1), max(300, a[0], 4.5), min(a[0], 2**40),
        ]  # fmt: skip

    a = np.array([5], dtype)
    for ours, expected in zip(evaluated(compute)(a), compute(a), strict=True):
        assert ours == expected


@pytest.mark.parametrize(("dtype", "element"), ELEMENTS)
def test_comparisons_with_a_python_int(dtype, element):
    a = np.array([element], dtype)
    program = evaluated(compared)
    for k in NUMBERS:
        if isinstance(k, int):
            for ours, expected in zip(program(a, k), compared(a, k), strict=True):
                assert np.array_equal(ours, expected), k


def test_comparisons_with_the_ints_of_a_loop():
    def count(a, n):
        below, above = 0, 0
        for i in range(n):
            if a[0] < i - 3:
                below += i
            if i - 3 < a[0]:
                above += 1
        return below, above

    for dtype, element in (("uint8", 5), ("int8", -100), ("uint64", 2**63 + 5), ("uint64", 3)):
        a = np.array([element], dtype)
        assert evaluated(count)(a, 300) == count(a, 300)


def test_int64_and_uint64():
    def both(a, b):
        return max(a[0], b[0]), min(a[0], b[0])

    for x in (-1, 2**62 + 1, 3):
        for y in (2**63 + 3, 3, 2**62 + 2):
            a, b = np.array([x]), np.array([y], np.uint64)
            assert [int(v) for v in evaluated(both)(a, b)] == [max(x, y), min(x, y)]
            assert [int(v) for v in evaluated(both)(b, a)] == [max(x, y), min(x, y)]


@pytest.mark.parametrize("n", [-2, 1, 2, 3])
def test_an_int_and_literal_floats_give_one_of_them(n):
    def compute(n):
        return [
            max(n, 2.5), max(2.5, n), max(3, 2.5), min(n, 1e30), max(n, float("inf")), max(n, float("nan")),
            max(float("nan"), n), max(n, 2.0), max(2.0, n), min(2.0, n), min(-float("inf"), n),
        ]  # fmt: skip

    for ours, expected in zip(evaluated(compute)(n), compute(n), strict=True):
        assert repr(ours) == repr(expected)


def test_a_loop_with_the_ints_that_it_counts():
    def compute(a, n):
        m = a[0]
        for i in range(n):
            m = max(m, i)
        return m

    for dtype in ("uint8", "int64", "float32"):
        assert evaluated(compute)(np.array([3], dtype), 7) == 6
    # The number that the loop carries is an element, which cannot become another.
    with pytest.raises(OverflowError, match="out of bounds for uint8"):
        evaluated(compute)(np.array([3], "uint8"), 300)


def test_a_branch_that_gives_an_element_or_an_int_does_not_wrap_the_int():
    def choose(a):
        if a[0] > 3:
            m = a[0]
        else:
            m = 300
        return m

    program = evaluated(choose)
    assert program(np.array([5], "uint8")) == 5
    with pytest.raises(OverflowError, match="out of bounds for uint8"):
        program(np.array([2], "uint8"))


def test_where_wraps_ints_as_numpy_does():
    def choose(a, n):
        return np.where(a > 2, a, 300), np.where(a > 2, -1, a), np.where(a > 2, a, n)

    a = np.array([1, 5], "uint8")
    for ours, expected in zip(evaluated(choose)(a, 300), choose(a, 300), strict=True):
        assert ours.dtype == expected.dtype
        assert np.array_equal(ours, expected)


def test_more_axes_than_one_element():
    with pytest.raises(ValueError, match=r"Use np\.minimum or np\.maximum"):
        capture(lambda a: max(a, 1), (np.ones((2, 2)),), {})

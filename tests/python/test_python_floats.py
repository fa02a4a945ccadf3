"""Python's floats where they differ from NumPy's: divisions by zero, and what int() and round() refuse."""

from __future__ import annotations

import math
import operator
import os
import subprocess
import sys

import numpy as np
import pytest
from evaluated import evaluated

from ferrule import errors


def outcome(fn, *args):
    """What a call gives, or the kind of its exception."""
    try:
        with np.errstate(all="ignore"):
            return fn(*args)
    except (ZeroDivisionError, OverflowError, ValueError, TypeError) as error:
        kinds = (ZeroDivisionError, OverflowError, ValueError, TypeError)
        return next(kind for kind in kinds if isinstance(error, kind))


def agree(fn, *args):
    ours, expected = outcome(evaluated(fn), *args), outcome(fn, *args)
    return repr(ours) == repr(expected)


DIVISIONS = [operator.truediv, operator.floordiv, operator.mod, divmod]
PAIRS = [
    (1.0, 0.0), (0.0, 0.0), (1.0, -0.0), (1, 0.0), (1.0, 0), (1, 0), (1.5, 2.0), (-7.0, 2), (np.float64(1), 0.0),
    (1.0, np.float64(0)), (1.0, np.float32(0)), (True, 0.0),
]  # fmt: skip
POWERS = [
    (0.0, -1.0), (0.0, -1), (0, -1), (0, -1.0), (2, -1), (0.0, 0.0), (0, 0), (-0.0, -3.0), (np.float64(0), -1.0),
    (0.0, np.float64(-1)), (2.0, -1.0),
]  # fmt: skip


@pytest.mark.parametrize("operation", DIVISIONS)
@pytest.mark.parametrize("pair", PAIRS, ids=repr)
def test_divisions(operation, pair):
    assert agree(lambda x, y: operation(x, y), *pair)


@pytest.mark.parametrize("pair", POWERS, ids=repr)
def test_powers_of_zero(pair):
    assert agree(lambda x, y: x**y, *pair)


@pytest.mark.parametrize("x", [0.0, 2.0])
def test_literals(x):
    assert agree(lambda x: 1.0 / x, x)
    assert agree(lambda x: x / 0.0, x)
    assert agree(lambda x: x // 0, x)
    assert agree(lambda x: 0.0 ** (x - 1), x)
    assert agree(lambda x: 0.0**-x, x)


def test_the_run_tells_what_was_divided():
    def quotient(x, y):
        return x / y

    program = evaluated(quotient)
    assert program(1.0, 2.0) == 0.5
    with pytest.raises(errors.UserZeroDivisionError, match="float division by zero"):
        program(1.0, 0.0)
    assert program.captures == 1


def test_a_division_by_zero_on_a_side_that_is_not_taken():
    def choose(a, x):
        if a[0] > 0:
            return x / 0.0
        return x

    def choose_int(a, n):
        if a[0] > 0:
            return n // 0
        return n

    for fn, value in ((choose, 1.5), (choose_int, 3)):
        program = evaluated(fn)
        assert program(np.array([-1.0]), value) == value
        with pytest.raises(ZeroDivisionError):
            program(np.array([1.0]), value)


def test_numpy_numbers_and_arrays_give_infinities():
    def compute(a, x):
        return a / x, a[0] / x, a[0] // 0.0, x / a[0]

    with np.errstate(all="ignore"):
        a = np.array([1.0, 0.0])
        for ours, expected in zip(evaluated(compute)(a, 0.0), compute(a, 0.0), strict=True):
            assert np.array_equal(ours, expected, equal_nan=True)


FLOATS = [
    1.5, -2.5, 3.0, float("nan"), float("inf"), float("-inf"), -(2.0**63), 9.2e18, np.float32(2.5), np.float32("nan"),
    np.float64("inf"), np.int8(-3), np.uint64(3), True, 3,
]  # fmt: skip
WHOLE = [lambda x: int(x), lambda x: round(x), lambda x: (math.floor(x), math.ceil(x))]


@pytest.mark.parametrize("fn", WHOLE)
@pytest.mark.parametrize("value", FLOATS, ids=repr)
def test_whole_numbers(fn, value):
    assert agree(fn, value)


@pytest.mark.parametrize("fn", WHOLE)
@pytest.mark.parametrize("value", [1e30, 2.0**63, -1e19, np.uint64(2**63 + 3)], ids=repr)
def test_whole_numbers_beyond_64_bits_are_overflow_errors(fn, value):
    with pytest.raises(OverflowError, match="does not fit into 64 bits"):
        evaluated(fn)(value)


@pytest.mark.parametrize("value", [np.int8(3), np.uint64(7), np.float32(2.5), 2.5, 3, np.True_], ids=repr)
def test_round_gives_the_type_that_python_gives(value):
    for fn in (lambda x: round(x), lambda x: round(x, 0)):
        assert agree(fn, value)


def test_round_of_arrays_is_a_type_error():
    for a in (np.ones(3), np.array(1.5)):
        with pytest.raises(TypeError, match="__round__"):
            evaluated(lambda a: round(a))(a)


def test_tens_of_a_python_int_are_named():
    with pytest.raises(errors.Unsupported, match="tens"):
        evaluated(lambda x: round(x, -1))(33)


PROGRAM = """
import numpy as np
from evaluated import evaluated

def f(a):
    assert a[0] > 100, "too small"
    if __debug__:
        a = a + 1
    return a * 2

try:
    print(evaluated(f)(np.ones(1)))
except RuntimeError as error:
    print("too small" in str(error))
"""


@pytest.mark.parametrize(("flags", "printed"), [([], "True"), (["-O"], "[2.]")])
def test_assertions_are_those_of_the_interpreter(flags, printed, tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    paths = [path for path in sys.path if path]
    result = subprocess.run(
        [sys.executable, *flags, str(file)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.strip() == printed

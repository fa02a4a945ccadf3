"""Numbers stored into arrays of integers: NumPy refuses what the dtype does not hold, unless it casts without a look."""

from __future__ import annotations

import numpy as np
import pytest
from evaluated import evaluated

from ferrule import capture

NUMBERS = [0.0, -0.9, 127.9, 128.0, -128.9, -129.0, 300.0, 2.0**31, -(2.0**31) - 0.5, -(2.0**31) - 1.0, 2.0**63, -(2.0**63), 1e30, np.nan, np.inf, -np.inf]  # fmt: skip
SIGNED = [np.int8, np.int32, np.int64]


def one(x, v):
    x[0] = v


def all_of_them(x, v):
    x[1:] = v
    x.fill(v)


def elements(x, y):
    x[0] = y[0]
    x[1] += y[1]
    for i in range(2, len(x)):
        x[i] = y[i]


def agree(compiled, dtype, value):
    """The same elements or the same exception; what is written before one is not compared."""
    ours, numpys = np.zeros(3, dtype), np.zeros(3, dtype)
    with np.errstate(all="ignore"):
        try:
            compiled.fn(numpys, value)
        except (OverflowError, ValueError) as error:
            with pytest.raises(type(error)):
                compiled(ours, value)
        else:
            compiled(ours, value)
            np.testing.assert_array_equal(ours, numpys)


@pytest.mark.parametrize("fn", [one, all_of_them])
def test_floats(fn):
    compiled = evaluated(fn)
    for dtype in (*SIGNED, np.uint8, np.uint64, np.bool_):
        for number in NUMBERS:
            agree(compiled, dtype, number)
            if np.dtype(dtype).kind != "u":  # out of range C leaves the cast open
                agree(compiled, dtype, np.float64(number))
                agree(compiled, dtype, np.float32(number))
    assert compiled.captures == 6 + 2 * 4


def test_integers_of_numpy():
    compiled = evaluated(one)
    for dtype in (*SIGNED, np.uint8, np.uint64):
        for source in (np.int8, np.int64, np.uint8, np.uint64):
            for number in (0, 1, 100, np.iinfo(source).max, np.iinfo(source).min):
                agree(compiled, dtype, source(number))


def test_elements_of_arrays():
    compiled = evaluated(elements)
    for dtype in SIGNED:
        for number in NUMBERS:
            for place in range(3):
                agree(compiled, dtype, np.where(np.arange(3) == place, number, 1.0))
        for number in (2**40, -129, 127):
            agree(compiled, dtype, np.array([1, 2, number]))


def test_arrays_are_cast():
    def compute(x, y):
        x[0] = np.array(y[0])
        x[1:] = y[1:]
        np.add(y[0], 1, out=x[2:], casting="unsafe")

    for dtype in SIGNED:
        agree(evaluated(compute), dtype, np.array([300, 2**40, -(2**50)]))


def test_constants():
    def compute(x, n):
        if n == 0:
            x[0] = 300.0
        elif n == 1:
            x[0] = np.int64(-129)
        else:
            x[0] = 7.9

    compiled = evaluated(compute)
    for n in range(3):
        for dtype in (np.int8, np.int32, np.float32):
            agree(compiled, dtype, n)


def test_a_number_is_checked_once():
    programs = []
    for value in (3.5, np.float64(3.5), np.int64(3)):
        captured = capture.capture(one, (np.zeros(3, np.int8), value), {}, capture.Options())
        programs.append(str(captured.program))
    assert [text.count("check ") for text in programs] == [2, 2, 1]

"""Compiled loops at lengths around the width of vectors, over every layout, and over more elements than 32 bits count."""

from __future__ import annotations

import numpy as np
import pytest

import ferrule as fr

LENGTHS = [0, 1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 65, 1001]
GUARD = 5


def of_floats(x, y):
    return (
        np.sin(x) * 2 + y, np.exp(-x), np.log1p(x * x), np.tanh(y - x), np.power(x * x + 0.5, y), np.cbrt(x),
        np.arctan2(y, x) // 0.7, np.sqrt(x * x + y) % 0.3, np.where(x > y, np.floor(x * 9), np.rint(y / 3)), np.hypot(x, y),
    )  # fmt: skip


def of_integers(x, y):
    return (
        x // (y | 1), x % (y | 1), (x << 3) ^ (y >> 1), np.maximum(x, y) - x * y, np.where(x > y, ~x, abs(y)), x == y,
        np.bitwise_count(x) + np.sign(y), np.gcd(x, y), x / (y | 1), (x + y).astype(np.float32),
    )  # fmt: skip


float_program, integer_program = fr.program(of_floats), fr.program(of_integers)


def laid_out(values, layout):
    """The values as a view that lies so in memory."""
    n = len(values)
    if layout == "transposed":
        wide = np.zeros((3, n + 2), values.dtype)
        wide[1, 1 : n + 1] = values
        return wide.T[1 : n + 1, 1]
    memory = np.zeros(2 * n + 3, values.dtype)
    place = {"dense": slice(0, n), "offset": slice(3, n + 3), "strided": slice(1, 2 * n + 1, 2)}
    if layout == "reversed":
        memory[:n] = values[::-1]
        return memory[:n][::-1]
    memory[place[layout]] = values
    return memory[place[layout]]


LAYOUTS = ["dense", "offset", "strided", "reversed", "transposed"]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_value_does_not_depend_on_its_place(dtype):
    for pair in ((0.3, 0.7), (1.1, 2.9)):
        first = [value[0] for value in float_program(*(np.full(1, v, dtype) for v in pair))]
        for layout in LAYOUTS:
            for start in range(9):
                x, y = (laid_out(np.full(33, v, dtype), layout)[start:] for v in pair)
                for value, result in zip(first, float_program(x, y), strict=True):
                    assert (result == value).all(), (layout, start)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint64"])
def test_integers_at_every_length_and_layout(dtype):
    info = np.iinfo(dtype)
    rng = np.random.default_rng(3)
    for n in LENGTHS:
        x, y = (rng.integers(info.min, info.max, n, dtype, endpoint=True) for _ in "xy")
        for layout in LAYOUTS:
            with np.errstate(all="ignore"):
                expected = of_integers(x, y)
            for ours, theirs in zip(
                integer_program(laid_out(x, layout), laid_out(y, layout)), expected, strict=True
            ):
                assert ours.dtype == theirs.dtype
                np.testing.assert_array_equal(ours, theirs)


def into(x, y, out):
    np.add(np.logical_and(x, y), y, out=out)


def spread(memory, n, step):
    """n elements of the memory, `step` apart, with others before and after."""
    part = memory[GUARD : GUARD + n * abs(step)][:: abs(step)]
    return part if step > 0 else part[::-1]


into_program = fr.program(into)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "float32", "float64"])
def test_what_lies_around_an_output_is_untouched(dtype):
    for n in LENGTHS:
        values = (np.arange(n) % 5).astype(dtype)
        for step in (1, 2, -1, -3):
            ours, theirs = (np.ones(3 * n + 2 * GUARD, dtype) for _ in range(2))
            into(values, values, spread(theirs, n, step))
            into_program(values, values, spread(ours, n, step))
            np.testing.assert_array_equal(ours, theirs)


def total(x):
    return x.sum()


def raised(x):
    x += 1


def test_more_elements_than_31_bits_count():
    x = np.broadcast_to(np.ones(1, np.uint8), 2**31 + 16)
    assert fr.program(total)(x) == 2**31 + 16


def test_strides_beyond_32_bits():
    memory = np.zeros((2, 3 << 30), np.uint8)  # pages that nothing touches take no memory
    fr.program(raised)(memory[:, 5])
    assert memory[:, 4:7].tolist() == [[0, 1, 0], [0, 1, 0]]

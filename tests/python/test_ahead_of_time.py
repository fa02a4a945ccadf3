"""Annotated programs branch on ints and sizes when they run: one compilation gives NumPy's answer for all of them."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
import pytest

import ferrule as fr

Vector = Annotated[np.ndarray, fr.float64["N"]]
Matrix = Annotated[np.ndarray, fr.float64["N", "M"]]


def halvings(x: Vector, n: int):
    count = 0
    while n > 1:
        n //= 2
        count += 1
    return count


def conditional(x: Vector, n: int):
    y = n if n > 3 else 3
    return x * y


def either_statement(x: Vector, n: int):
    if n > 3:
        y = x * 2
    else:
        y = x[1:] + 1
    return y, len(y)


def leaves_a_loop(x: Vector, n: int):
    s = 0.0
    for i in range(len(x)):
        if i >= n:
            break
        s += x[i]
    return s


def between(x: Vector, n: int):
    if n > 3 and n < 7:
        return x + 1
    return x * 1.0


def chained(x: Vector, n: int):
    return x + 1 if 2 < n <= 5 or not n else x - 1


def validates(x: Vector, n: int):
    assert n > 0, "n must be positive"
    if n > 10:
        raise ValueError("n is too large")
    return x * n


def writes_for_even(x: Vector, n: int):
    if n % 2 == 0:
        x[...] = 1
    return x.sum()


def extremes(x: Vector, n: int):
    return x[: max(n, 2)].sum(), x[: min(n, 3)] * 1.0


def slices(x: Vector, n: int):
    return x[n:].sum(), x[-n:].sum(), x[:n] * 1.0, x[1:n].sum()


def element(x: Vector, n: int):
    return x[n]


def stepped(x: Vector, n: int):
    return x[:: abs(n) + 1] * 2


def moves(x: Vector, n: int):
    x[1:n] = x[: n - 1]
    return x * 1.0


def made(x: Vector, n: int):
    y = np.zeros(n)
    for i in range(n):
        y[i] = i * 0.5
    return y, y.sum()


def powers(x: Vector, n: int):
    return x ** abs(n), math.sqrt(abs(n))


def counts_down(x: Vector, n: int):
    s = 0.0
    for i in range(n - 1, -1, -1):
        s = 2 * s + i
    return s


def signs(x: Vector, n: int):
    if n > 0:
        s = 1
    elif n < 0:
        s = -1
    else:
        s = 0
    return s, x * s


def short_ones_first(x: Vector):
    if len(x) < 2:
        return 0.0
    return x[1]


def last_or_nothing(x: Vector):
    s = 0.0 if len(x) == 0 else x[-1]
    return s * 2


def median_of_sorted(x: Vector):
    h = len(x) // 2
    if len(x) % 2 == 1:
        return x[h]
    if len(x) == 0:
        return 0.0
    return 0.5 * (x[h - 1] + x[h])


def in_a_short_branch(x: Vector):
    if len(x) < 4:
        y = x[2:] * 2
    else:
        y = x[:4] - 1
    return y


def truth_of_a_size(x: Vector):
    return 1.0 if len(x) else 2.0


def reduces_if_any(x: Vector):
    if x.size:
        return x.max()
    return -1.0


def scaled(x, factor):
    return x * factor if factor > 1 else x + factor


def in_a_helper(x: Vector, n: int):
    return scaled(x, n) + scaled(x, len(x))


WITH_INT = [
    halvings,
    conditional,
    either_statement,
    leaves_a_loop,
    between,
    chained,
    validates,
    writes_for_even,
    extremes,
    slices,
    element,
    stepped,
    moves,
    made,
    powers,
    counts_down,
    signs,
    in_a_helper,
]
SIZES_ALONE = [
    short_ones_first,
    last_or_nothing,
    median_of_sorted,
    in_a_short_branch,
    truth_of_a_size,
    reduces_if_any,
]


def outcome(fn, *arguments):
    try:
        return fn(*arguments)
    except Exception as error:
        return error


def check(fn, compiled, *arguments):
    given = [np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments]
    expected, result = outcome(fn, *arguments), outcome(compiled, *given)
    where = f"{fn.__name__}{arguments}: {expected!r}, got {result!r}"
    if isinstance(expected, Exception):
        assert isinstance(result, type(expected)), where
        return
    if len(arguments[0]) < 2 and isinstance(result, ValueError):
        # What x[1:] makes of a short array is no general case: a precondition, or no broadcast.
        assert "the program needs 1 <= N" in str(result) or "could not broadcast" in str(result), where
        return
    assert not isinstance(result, Exception), where
    pairs = zip(expected, result, strict=True) if isinstance(expected, tuple) else [(expected, result)]
    for left, right in [*pairs, *zip(arguments, given, strict=True)]:
        assert np.shape(left) == np.shape(right), where
        np.testing.assert_allclose(right, left, 1e-12, err_msg=where)


@pytest.mark.parametrize("fn", WITH_INT, ids=lambda fn: fn.__name__)
def test_of_an_int(fn):
    compiled = fr.program(fn)
    for size in (8, 1, 5, 0):
        for n in (5, 2, 3, 9, 1, 0, 12, -1, -3):
            check(fn, compiled, np.arange(size) * 0.5, n)
    assert len(compiled.specialisations) == 1


@pytest.mark.parametrize("fn", SIZES_ALONE, ids=lambda fn: fn.__name__)
def test_of_a_size(fn):
    compiled = fr.program(fn)
    for size in (8, 1, 5, 0, 2, 3, 4):
        check(fn, compiled, np.arange(size) * 0.5)
    assert len(compiled.specialisations) == 1


def same_length(x: Vector, y: Annotated[np.ndarray, fr.float64["M"]]):
    if x.shape[0] != y.shape[0]:
        raise ValueError("x and y differ in length")
    return x + y


def test_a_check_of_sizes_is_the_programs():
    compiled = fr.program(same_length)
    np.testing.assert_array_equal(compiled(np.ones(3), np.ones(3)), np.full(3, 2.0))
    with pytest.raises(ValueError, match="x and y differ in length"):
        compiled(np.ones(3), np.ones(4))


def shapes_apart(x: Vector, y: Annotated[np.ndarray, fr.float64["M"]]):
    return x[1:] + x


def test_a_refusal_shows_sizes_by_their_names():
    with pytest.raises(ValueError, match=r"with shapes \(N - 1,\) \(N,\)"):
        fr.program(shapes_apart).compile()


def other_rank(x: Matrix, n: int):
    if x.shape[0] > 3:
        y = x.sum(axis=0)
    else:
        y = x
    return y * 1.0


def test_where_the_sides_do_not_join_the_general_one_is_a_precondition():
    compiled = fr.program(other_rank)
    x = np.arange(12.0).reshape(4, 3)
    np.testing.assert_array_equal(compiled(x, 1), x.sum(axis=0))
    with pytest.raises(ValueError, match="the program needs 4 <= N, but N = 2"):
        compiled(x[:2].copy(), 1)


def general(x: Vector, n: int):
    grid = np.linspace(0.0, 1.0, n)
    total = 0.0
    for i in range(0, len(x), n):
        total += x[i]
    return grid, x[::n] * 2, x**n, total


def test_what_the_program_has_to_know_of_an_int_is_a_precondition():
    compiled = fr.program(general)
    for n in (2, 3, 5):
        check(general, compiled, np.arange(9.0), n)
    with pytest.raises(ValueError, match="the program needs 2 <= n, but n = -1"):
        compiled(np.arange(9.0), -1)
    assert len(compiled.specialisations) == 1


def checked_in_a_loop(x: Matrix, n: int):
    y = x * 1.0
    for _ in range(n):
        assert x.shape[1] == 3
        y = y[1:] + np.ones(3)
    return y


def test_what_a_loop_checks_is_known_in_it_alone():
    compiled = fr.program(checked_in_a_loop)
    for n in (0, 1, 3):
        check(checked_in_a_loop, compiled, np.arange(12.0).reshape(4, 3), n)


def unknown_step(x: Vector, k: Annotated[np.ndarray, fr.int64["K"]]):
    return x[:: k[0]]


def test_a_step_of_data_is_refused_by_name():
    with pytest.raises(fr.Unsupported, match="slice whose step has a sign"):
        fr.program(unknown_step).compile()


def xorshift(seed: Annotated[np.uint32, fr.uint32], n: int):
    out = np.empty(n, np.uint32)
    for i in range(n):
        seed ^= seed << np.uint32(13)
        seed ^= seed >> np.uint32(17)
        seed ^= seed << np.uint32(5)
        out[i] = seed
    return out, seed


def test_an_annotated_number_is_enough():
    kernel = fr.program(xorshift).compile().load()
    for n in (0, 1, 7):
        expected, result = xorshift(np.uint32(42), n), kernel(np.uint32(42), n)
        np.testing.assert_array_equal(result[0], expected[0])
        assert result[1] == expected[1] and result[1].dtype == np.uint32
    with pytest.raises(TypeError, match="'seed'"):
        kernel(0.5, 3)

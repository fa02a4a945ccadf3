"""Annotated programs of several sizes: which of them is the larger one is no precondition, and checks of shapes are the
program's."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pytest

import ferrule as fr

Vector = Annotated[np.ndarray, fr.float64["N"]]
Other = Annotated[np.ndarray, fr.float64["M"]]
Matrix = Annotated[np.ndarray, fr.float64["N", "M"]]
OtherMatrix = Annotated[np.ndarray, fr.float64["K", "L"]]
SIZES = [(3, 3), (5, 3), (3, 5), (1, 1), (1, 3), (3, 2), (2, 1), (4, 1)]


def meeting(x: Vector, y: Other):
    least, most = min(len(x), len(y)), max(len(x), len(y))
    products = 0.0
    for a, b in zip(x, y):
        products += a * b
    table = np.zeros((len(x), len(y)))
    for i in range(len(x)):
        for j in range(min(i + 1, len(y))):
            table[i, j] = x[i] - y[j]
    both = np.zeros(len(x) + len(y))
    both[: len(x)] = x
    both[len(x) :] = y
    folded = np.zeros(most)
    for i in range(len(x)):
        folded[i : i + len(y)] += x[i]
    x[:least] += y[:least]
    parts = x[: len(y)] * 2, x[len(y) :].sum(), x[: -len(y)].sum(), x[::-1][: len(y)].sum()
    return (
        products,
        table,
        both,
        folded,
        *parts,
        np.arange(most - least),
        abs(len(x) - len(y)),
        (least + most) // 2,
    )


def merged(x: Vector, y: Other):
    i = j = k = 0
    out = np.zeros(len(x) + len(y))
    while i < len(x) and j < len(y):
        if x[i] <= y[j]:
            out[k] = x[i]
            i += 1
        else:
            out[k] = y[j]
            j += 1
        k += 1
    while i < len(x):
        out[k] = x[i]
        i, k = i + 1, k + 1
    while j < len(y):
        out[k] = y[j]
        j, k = j + 1, k + 1
    return out


def truths(x: Vector, y: Other, n: int):
    s = 0
    if len(x) > len(y):
        s = 1
    both, either = len(x) > 2 and len(y) > 2, len(x) > 2 or len(y) > n
    y[-1:] = len(x) == len(y)
    return (
        s, len(x) > len(y), int(len(x) > len(y)), (len(x) > len(y)) + 1, float(len(x) == len(y)), -(len(x) > 1),
        x * (len(x) < len(y)), bool(len(x) - 1), not x.size - 1, both, either, not both, (len(x) > 2) & (len(y) > 2),
        (len(x) > 2) | (n > 2), (len(x) > 2) ^ (len(y) > 2), sum(len(a) > 2 for a in (x, y)), (n > 2) & 3, n > 2,
        all([len(x) > 1, len(y) > n]), any([len(x) > 2, n == 3]), np.full(2, len(x) > len(y)),
        np.array([len(x) > 2, len(y) > n]), np.where(len(x) > len(y), x[:1], y[:1]), (n > 2) * 3 - (n == 2),
    )  # fmt: skip


def sequences(x: Vector, y: Other, n: int):
    found = x * 2 if n in (1, 3) else x
    return (
        found, x.shape == y.shape, (len(x), 0) < (len(y), 1), (len(x), n) >= (len(y), 2), [n, x.ndim] == [3, 1],
        n not in range(2, 9, 3), n in {3, 5}, (x[0], n) == (0.0, 3), x[0] in (1.0, n - 3), (n,) != (3, n), n in (2,),
        x.sum() - y.sum() if x.shape != y.shape else (x[0] + y).sum(), x.shape in ((3,), (5,), y.shape[::-1]),
    )  # fmt: skip


def oblong(x: Matrix):
    rows, columns = x.shape
    least = min(rows, columns)
    s = np.float64(0)
    for i in range(least):
        s += x[i, i]
    return (
        s, x[:least, :least] * 1.0, np.eye(rows, columns), np.trace(x), np.diag(x), np.tri(rows, columns) * x,
        x[: columns // 2] * 2, x[rows // 2 :, : rows // 2].sum(),
    )  # fmt: skip


def compare(expected, result):
    assert len(expected) == len(result)
    for place, (left, right) in enumerate(zip(expected, result, strict=True)):
        assert type(left) is type(right), (place, left, right)
        assert np.shape(left) == np.shape(right), (place, left, right)
        np.testing.assert_allclose(right, left, 1e-12, err_msg=str(place))


@pytest.mark.parametrize("fn", [meeting, merged, truths, sequences, oblong], ids=lambda fn: fn.__name__)
def test_one_compilation_is_for_all_sizes(fn):
    kernel = fr.program(fn).compile().load()
    rng = np.random.default_rng(0)
    for sizes in SIZES:
        shapes = [sizes] if fn is oblong else [(size,) for size in sizes]
        arrays = [np.sort(rng.integers(0, 9, shape) * 0.5) for shape in shapes]
        for n in (3, 1, 2) if fn in (truths, sequences) else (None,):
            given, copies = ([np.copy(a) for a in arrays] + [n] * (n is not None) for _ in range(2))
            expected, result = fn(*copies), kernel(*given)
            several = isinstance(expected, tuple)
            compare(expected if several else (expected,), result if several else (result,))
            compare(copies, given)


def refuses_unequal(x: Matrix, y: OtherMatrix):
    if x.shape != y.shape:
        raise ValueError("the shapes differ")
    return x + y


def refuses_unequal_in_words(x: Matrix, y: OtherMatrix):
    if x.shape[0] != y.shape[0] or x.shape[1] != y.shape[1]:
        raise ValueError("the shapes differ")
    return x + y


def asserts_equal(x: Matrix, y: OtherMatrix):
    assert x.shape == y.shape, "the shapes differ"
    return x + y


def refuses_any_unequal(x: Matrix, y: OtherMatrix):
    if not all(a.shape == x.shape for a in (x, y)):
        raise ValueError("the shapes differ")
    return x + y


def adds_equal(x: Matrix, y: OtherMatrix):
    if x.shape == y.shape:
        return x + y
    raise ValueError("the shapes differ")


CHECKS = [refuses_unequal, refuses_unequal_in_words, asserts_equal, refuses_any_unequal, adds_equal]


@pytest.mark.parametrize("fn", CHECKS, ids=lambda fn: fn.__name__)
def test_a_check_of_shapes_is_the_programs(fn):
    kernel = fr.program(fn).compile().load()
    for shape in ((2, 3), (3, 2), (1, 1), (0, 4)):
        np.testing.assert_array_equal(kernel(np.ones(shape), np.ones(shape)), np.full(shape, 2.0))
    for shape in ((2, 3), (3, 3), (1, 2), (2, 0)):
        with pytest.raises((ValueError, AssertionError), match="the shapes differ"):
            kernel(np.ones((2, 2)), np.ones(shape))


def nothing_to_do(x: Matrix):
    rows, columns = x.shape
    last = 0
    for i in reversed(range(rows)):
        for j in range(columns):
            if i > 0:
                x[i, j] = min(x[i, j], x[i - 1, j] + 1)
    for i in range(1, rows):
        last = i
    padded = 0
    for _ in range(columns, 3):
        padded += 1
    few = min(rows, 2)
    for i in range(few):
        x[i] += max(columns, 2)
    return (
        last,
        padded,
        few,
        max(rows - 2, 0),
        min(rows, 2) == rows,
        x.min(axis=0, initial=9.0),
        x.max(axis=1, initial=-9.0),
    )


def test_loops_and_extremes_over_nothing():
    kernel = fr.program(nothing_to_do).compile().load()
    for shape in ((3, 4), (0, 0), (1, 2), (2, 1), (0, 3), (3, 0)):
        x = np.arange(float(np.prod(shape))).reshape(shape)[::-1]
        given, copied = x.copy(), x.copy()
        compare(nothing_to_do(copied), kernel(given))
        np.testing.assert_array_equal(given, copied)

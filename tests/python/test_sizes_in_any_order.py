"""Annotated programs of several sizes: which of them is the larger one is no precondition."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pytest

import ferrule as fr

Vector = Annotated[np.ndarray, fr.float64["N"]]
Other = Annotated[np.ndarray, fr.float64["M"]]
Matrix = Annotated[np.ndarray, fr.float64["N", "M"]]
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


@pytest.mark.parametrize("fn", [meeting, oblong], ids=lambda fn: fn.__name__)
def test_one_compilation_is_for_all_sizes(fn):
    kernel = fr.program(fn).compile().load()
    rng = np.random.default_rng(0)
    for sizes in SIZES:
        shapes = [sizes] if fn is oblong else [(size,) for size in sizes]
        arrays = [np.sort(rng.integers(0, 9, shape) * 0.5) for shape in shapes]
        given, copies = ([np.copy(a) for a in arrays] for _ in range(2))
        compare(fn(*copies), kernel(*given))
        compare(copies, given)

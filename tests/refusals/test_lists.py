"""Lists and tuples for arrays, where the signature takes them as copies (coerce="asarray")."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from rows import TYPE, VALUE, Row, Taken, check_refused, snapshot, table

import ferrule as fr

pytestmark = pytest.mark.filterwarnings("ignore:.*which is copied to an array:RuntimeWarning")

POINT = np.dtype([("x", "f8"), ("y", "i8")])
SOURCE = """
#include <stdint.h>
static int64_t runs = 0;
int64_t lists(const int64_t* ints, const double* grid, double* out, const void* points, int64_t n, int64_t m,
              double* total) {
  *total = 0;
  for (int64_t i = 0; i < n; ++i) *total += ints[i];
  for (int64_t i = 0; i < n * m; ++i) *total += 10 * grid[i];
  for (int64_t i = 0; i < n; ++i) out[i] = *total;
  return ++runs;
}"""


@pytest.fixture(scope="module")
def kernel() -> Any:
    args = [
        fr.Arg("ints", dtype="int64", shape="N"),
        fr.Arg("grid", shape=("N", "M")),
        fr.Arg("out", shape="N", intent="out"),
        fr.Arg("points", dtype=POINT, shape="K", optional=True, default=None),
    ]
    returns = [fr.Return("runs", "int64", kind="scalar"), fr.Return("total", kind="scalar")]
    signature = fr.Signature(
        "lists", args, returns=returns, result="runs", parameters=["ints", "grid", "out", "points", "N", "M", "total"],
        coerce="asarray",
    )  # fmt: skip
    return fr.compile_source(SOURCE, signature).load()


def good() -> dict[str, Any]:
    return {"ints": [1, 2], "grid": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "out": np.zeros(2), "points": None}


INHOMOGENEOUS = "setting an array element with a sequence. The requested array has an inhomogeneous shape after 1 dimensions. "
WRITTEN = "but the program writes to it and a copy would not show what was written; pass an array."
RANK = "but rank 2 and shape (N, M) are expected."
ROWS = [
    Row("ints", "floats", lambda: [1.5, 2.5], TYPE, "'ints' is a list of float64 values, which cannot become int64."),
    Row("ints", "texts", lambda: ["1", "2"], TYPE, "'ints' is a list of <U1 values, which cannot become int64."),
    Row("ints", "Nones", lambda: (None, 1), TYPE, "'ints' is a tuple of object values, which cannot become int64."),
    Row("ints", "large", lambda: [2**70, 1], TYPE, "'ints' is a list of object values, which cannot become int64."),
    Row("grid", "complex", lambda: [[1j] * 3] * 2, TYPE, "'grid' is a list of complex128 values, which cannot become float64."),
    Row("grid", "inhomogeneous", lambda: [[1.0], [1.0, 2.0]], VALUE,
        f"'grid' is a list that cannot become an array: {INHOMOGENEOUS}"
        "The detected shape was (2,) + inhomogeneous part."),
    Row("grid", "rank_1", lambda: [1.0, 2.0], VALUE, f"'grid' has rank 1 and shape (2,), {RANK}"),
    Row("grid", "extent", lambda: [[1.0], [2.0], [3.0]], VALUE, "'N': ints.shape[0] = 2, but grid.shape[0] = 3."),
    Row("out", "list", lambda: [0.0, 0.0], TYPE, f"'out' is a list, {WRITTEN}"),
    Row("out", "tuple", lambda: (0.0, 0.0), TYPE, f"'out' is a tuple, {WRITTEN}"),
    Row("points", "list", lambda: [(1.0, 2)], TYPE,
        "'points' is a list, but an array of structs with the fields 'x', 'y' is expected; pass "
        "numpy.asarray(points, dtype) with a dtype of these fields."),
    Row("ints", "range", lambda: range(2), TYPE,
        "'ints' is a range, but an array of dtype int64 is expected; pass numpy.asarray(ints, 'int64')."),
    Row("ints", "dict", lambda: {1: 2}, TYPE, "'ints' is a dict, but an array of dtype int64 is expected."),
    Row("ints", "float32_array", lambda: np.ones(2, "f4"), TYPE,
        "'ints' has dtype float32, but int64 is expected; pass ints.astype('int64')."),
]  # fmt: skip


@table(ROWS)
def test_refused(kernel: Any, row: Row) -> None:
    check_refused(kernel, good, row, name="lists")


TAKEN = [
    Taken("ints", "tuple", lambda: (1, 2), 213),
    Taken("ints", "bools", lambda: [True, False], 211),
    Taken("ints", "numpy_scalars", lambda: [np.int8(1), np.uint8(2)], 213),
    Taken("ints", "array", lambda: np.array([1, 2]), 213),
    Taken("grid", "ints", lambda: [[1, 2, 3], [4, 5, 6]], 213),
    Taken("grid", "arrays", lambda: [np.arange(1.0, 4.0), np.arange(4.0, 7.0)], 213),
    Taken("grid", "no_elements", lambda: [[], []], 3),
]


@table(TAKEN)
def test_taken(kernel: Any, row: Taken) -> None:
    given = {**good(), row.argument: row.make()}
    out = given.pop("out")
    before = snapshot(given)
    assert kernel(**given, out=out)[1] == row.value
    assert snapshot(given) == before
    assert out.tolist() == [row.value] * 2

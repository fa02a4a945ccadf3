"""Sizes: read and solved from shapes and strides, given by name or by position, of int32, of what None leaves unknown."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from exporters import Exporter
from rows import (
    OVERFLOW,
    TYPE,
    VALUE,
    Index,
    Row,
    Taken,
    check_refused,
    error_of,
    snapshot,
    table,
)

import ferrule as fr

SOURCE = """
#include <stdint.h>
static int64_t runs = 0;
int64_t sizes(const double* a, const double* b, const double* two, const double* v, const double* maybe, const double* w,
              int64_t n, int64_t m, int64_t d, int64_t l, int64_t s, int64_t q, int32_t k, int64_t by, int64_t* r) {
  const int64_t all[] = {n, m, d, l, s, q, k, by};
  for (int i = 0; i < 8; ++i) r[i] = all[i];
  return ++runs;
}"""
SIGNATURE = ("sizes(a: float64[N + D], b: float64[N - D], two: float64[2*M], v: float64[L, 2], maybe: float64[Q] = None, "
             "w: float64[Q] = None, *, K: int, BY: int) -> (int64, int64[8])")  # fmt: skip
NAMES = ["N", "M", "D", "L", "S", "Q", "K", "BY"]


@pytest.fixture(scope="module")
def kernel() -> Any:
    args = [
        fr.Arg("a", shape="N + D"), fr.Arg("b", shape="N - D"), fr.Arg("two", shape="2*M"),
        fr.Arg("v", shape=("L", 2), order="any", strides=("S", 1)), fr.Arg("maybe", shape="Q", optional=True, default=None),
        fr.Arg("w", shape="Q", optional=True, default=None),
    ]  # fmt: skip
    signature = fr.Signature(
        "sizes", args, symbols=[fr.Symbol("K", "int32"), fr.Symbol("BY", nonnegative=False)], result="runs",
        returns=[fr.Return("runs", "int64", kind="scalar"), fr.Return("r", "int64", shape=8)],
        parameters=["a", "b", "two", "v", "maybe", "w", *NAMES, "r"],
    )  # fmt: skip
    return fr.compile_source(SOURCE, signature).load()


def good() -> dict[str, Any]:
    arrays = {"a": np.ones(7), "b": np.ones(3), "two": np.ones(4), "v": np.ones((5, 6))[:, :2]}
    return {**arrays, "maybe": None, "w": None, "K": 1, "BY": -1}


EXPECTED = "but an integer of type int64 is expected"


def no_size(what: str, make: Any, kind: str, advice: str = "") -> list[Row]:
    """In place of a size that must be given, one that may be negative, and one that arrays tell."""
    return [
        Row(n, what, make, TYPE, f"'{n}' is {kind}, {EXPECTED}{advice.format(n=n)}.")
        for n in ("K", "BY", "N")
    ]


CONVERT = "; pass int({n})"
GIVEN = [
    *no_size("None", lambda: None, "None"),
    *no_size("str", lambda: "5", "a str"),
    *no_size("bytes", lambda: b"5", "a bytes"),
    *no_size("list", lambda: [5], "a list"),
    *no_size("type", lambda: int, "a type"),
    *no_size("float", lambda: 5.0, "a float", CONVERT),
    *no_size("numpy_float", lambda: np.float64(5), "a float64", CONVERT),
    *no_size("complex", lambda: 5j, "a complex"),
    *no_size("bool", lambda: True, "a bool", CONVERT),
    *no_size("numpy_bool", lambda: np.True_, "a bool", CONVERT),
    *no_size("float_rank_0", lambda: np.array(5.0), "an ndarray of dtype float64 and shape ()", CONVERT),
    *no_size("array_of_one", lambda: np.array([5]), "an ndarray of dtype int64 and shape (1,)", "; pass {n}.item()"),
    *no_size("exporter", lambda: Exporter(np.array(5)), "an Exporter"),
    *[
        Row(n, what, make, error, f"'{n}' {text}.")
        for n in ("K", "BY", "N")
        for what, make, error, text in [
            ("masked", lambda: np.ma.masked, TYPE, "is a masked array, whose mask would be ignored"),
            ("above", lambda: 2**63, OVERFLOW, "= 9223372036854775808 is out of range for int64"),
            ("below", lambda: -(2**63) - 1, OVERFLOW, "= -9223372036854775809 is out of range for int64"),
            ("far_above", lambda: 2**70, OVERFLOW, "= 1180591620717411303424 is out of range for int64"),
            ("large_index", lambda: Index(2**70), OVERFLOW, "= 1180591620717411303424 is out of range for int64"),
            ("large_unsigned", lambda: np.uint64(2**63), OVERFLOW, "= np.uint64(9223372036854775808) is out of range for int64"),
            ("index_raises", lambda: Index(ZeroDivisionError), TYPE, "cannot be read as an integer of type int64: no integer"),
            ("index_gives_a_text", lambda: Index("5"), TYPE,
             "cannot be read as an integer of type int64: __index__ returned non-int (type str)"),
        ]
    ],
    Row("K", "negative", lambda: -1, VALUE, "'K' is -1, but it must not be negative."),
    Row("K", "beyond_int32", lambda: 2**31, VALUE,
        "the program needs K <= 2147483647, since 'K' is an int32, but K = 2147483648."),
    Row("N", "differs", lambda: 4, VALUE, "'N': (a.shape[0] + b.shape[0])//2 = 5, but N = 4 was given."),
    Row("N", "negative", lambda: -5, VALUE, "'N': (a.shape[0] + b.shape[0])//2 = 5, but N = -5 was given."),
    Row("D", "differs", lambda: 3, VALUE, "'D': -b.shape[0] + (a.shape[0] + b.shape[0])//2 = 2, but D = 3 was given."),
    Row("M", "differs", lambda: 4, VALUE, "'M': two.shape[0] = 4 (2*M), but M = 4 was given."),
    Row("S", "differs", lambda: 2, VALUE, "'S': v.strides[0] = 6, but S = 2 was given."),
    Row("k", "unknown_name", lambda: 1, TYPE, f"there is no argument 'k'; the signature is {SIGNATURE}."),
    Row("it's", "unknown_name", lambda: 1, TYPE, f'there is no argument "it\'s"; the signature is {SIGNATURE}.'),
]  # fmt: skip

SHAPES = [
    Row("a", "not_solvable", lambda: np.ones(8), VALUE,
        "'a' has shape (8,), but (N + D,) is expected: a.shape[0] = 8, not N + D = 7 with N = 5, D = 2, solved from "
        "a.shape[0] = 8, b.shape[0] = 3."),
    Row("b", "negative_solution", lambda: np.ones(9), VALUE,
        "'D' from -b.shape[0] + (a.shape[0] + b.shape[0])//2 is -1, but it must not be negative."),
    Row("two", "not_divisible", lambda: np.ones(5), VALUE,
        "'two' has shape (5,), but (2*M,) is expected: no 'M' makes 2*M = 5."),
    Row("v", "fixed_extent", lambda: np.ones((5, 3)), VALUE, "'v' has shape (5, 3), but (L, 2) is expected."),
    Row("v", "rank", lambda: np.ones(5), VALUE, "'v' has rank 1 and shape (5,), but rank 2 and shape (L, 2) are expected."),
    Row("v", "fixed_stride", lambda: np.ones((5, 4))[:, ::2], VALUE,
        "'v' has stride 2 elements along axis 1, but 1 is expected."),
]  # fmt: skip


@table([*GIVEN, *SHAPES])
def test_refused(kernel: Any, row: Row) -> None:
    check_refused(kernel, good, row, name="sizes", by_position=False)


@pytest.mark.parametrize("name", ["K", "BY"])
def test_a_size_that_nothing_tells_is_missing(kernel: Any, name: str) -> None:
    given = good()
    del given[name]
    assert error_of(lambda: kernel(**given)) == (
        TYPE,
        f"sizes(): '{name}' must be given by keyword: no argument tells it.",
    )


@pytest.mark.parametrize("order", [("maybe", "w"), ("w", "maybe")])
def test_optional_arrays_must_agree(kernel: Any, order: tuple[str, str]) -> None:
    given = {**good(), order[0]: np.ones(3), order[1]: np.ones(4)}
    sizes = {order[0]: 3, order[1]: 4}
    text = f"sizes(): 'Q': maybe.shape[0] = {sizes['maybe']}, but w.shape[0] = {sizes['w']}."
    assert error_of(lambda: kernel(**given)) == (VALUE, text)


TAKEN = [
    Taken("K", "int", lambda: 5, 5),
    Taken("K", "numpy_int", lambda: np.int8(5), 5),
    Taken("K", "rank_0", lambda: np.array(5), 5),
    Taken("K", "index", lambda: Index(5), 5),
    Taken("K", "int_subclass", lambda: type("Sub", (int,), {})(5), 5),
    Taken("K", "highest", lambda: 2**31 - 1, 2**31 - 1),
    Taken("BY", "lowest", lambda: -(2**63), -(2**63)),
    Taken("BY", "highest", lambda: 2**63 - 1, 2**63 - 1),
    Taken("N", "what_arrays_tell", lambda: 5, 5),
    Taken("S", "what_strides_tell", lambda: np.int64(6), 6),
    Taken("v", "negative_stride", lambda: np.ones((5, 2))[::-1], -2),
    Taken("maybe", "array", lambda: np.ones(3), 3),
    Taken("w", "where_the_first_is_None", lambda: np.ones(3), 3),
    Taken("Q", "where_all_are_None", lambda: 3, 3),
]


@table(TAKEN)
def test_taken(kernel: Any, row: Taken) -> None:
    given = {**good(), row.argument: row.make()}
    before = snapshot(given)
    size = {"v": "S", "maybe": "Q", "w": "Q"}.get(row.argument, row.argument)
    assert kernel(**given)[1][NAMES.index(size)] == row.value
    assert snapshot(given) == before

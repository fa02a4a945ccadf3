"""Memory that callers give for results (out=): each kind of wrong thing about it."""

from __future__ import annotations

import array
from typing import Any

import numpy as np
import pytest
from exporters import Exporter, WithInterface
from rows import (
    TYPE,
    VALUE,
    Raising,
    Row,
    Subclass,
    check_refused,
    error_of,
    misaligned,
    read_only,
    snapshot,
    table,
)

import ferrule as fr

POINT = np.dtype([("x", "f8"), ("y", "i4"), ("z", "u4")])
SOURCE = """
#include <stdint.h>
static int64_t runs = 0;
struct P { double x; int32_t y; uint32_t z; };
int64_t results(const double* a, double* out, P* points, uint16_t* narrow, void** objects, P* one, double* number, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    out[2 * i] = out[2 * i + 1] = 2 * a[i];
    points[i] = {a[i], 1, 2};
    narrow[i] = 7;
    objects[i] = 0;
  }
  *one = {1.5, 2, 3};
  *number = 4.5;
  return ++runs;
}"""
RETURNS = [
    fr.Return("runs", "int64", kind="scalar"), fr.Return("out", shape=("N", 2)), fr.Return("points", POINT, shape="N"),
    fr.Return("narrow", "bfloat16", shape="N"), fr.Return("objects", "object", shape="N"),
    fr.Return("one", POINT, kind="struct"), fr.Return("number", kind="scalar"),
]  # fmt: skip


def signature(**options: Any) -> fr.Signature:
    names = [r.name for r in RETURNS[1:]]
    return fr.Signature(
        "results",
        [fr.Arg("a", shape="N")],
        returns=RETURNS,
        result="runs",
        parameters=["a", *names, "N"],
        **options,
    )


@pytest.fixture(scope="module")
def kernel() -> Any:
    pytest.importorskip("ml_dtypes")
    return fr.compile_source(SOURCE, signature(allow_return_override=True)).load()


def good() -> dict[str, Any]:
    return {"a": np.arange(1.0, 4.0)}


class Text:
    """No array."""


def no_array(what: str, make: Any, kind: str) -> list[Row]:
    return [Row(name, what, make, TYPE, f"'{name}' is {kind}, but a numpy.ndarray is expected to take the result.")
            for name in ("out", "points")]  # fmt: skip


OBJECTS = [
    *no_array("list", lambda: [[0.0] * 2] * 3, "a list"),
    *no_array("tuple", lambda: (0.0,), "a tuple"),
    *no_array("float", lambda: 0.0, "a float"),
    *no_array("numpy_scalar", lambda: np.float64(0), "a float64"),
    *no_array("str", lambda: "out", "a str"),
    *no_array("type", lambda: np.ndarray, "a type"),
    *no_array("object", Text, "a Text"),
    *no_array("bytearray", lambda: bytearray(48), "a bytearray"),
    *no_array("array_array", lambda: array.array("d", [0.0] * 6), "an array"),
    *no_array("memoryview", lambda: memoryview(bytearray(48)), "a memoryview"),
    *no_array("ferrule_array", lambda: fr.asarray(np.zeros((3, 2))), "an Array"),
    *no_array("exporter", lambda: Exporter(np.zeros((3, 2))), "an Exporter"),
    *no_array("raising_exporter", Raising, "a Raising"),
    *no_array("interface", lambda: WithInterface(np.zeros((3, 2))), "a WithInterface"),
]


def dtype(name: str, what: str, dtype: Any, shown: str, expected: str) -> Row:
    shape = (3, 2) if name == "out" else (3,)
    return Row(name, what, lambda: np.zeros(shape, dtype), TYPE,
               f"'{name}' has dtype {shown}, but {expected} is expected; give an array of that dtype.")  # fmt: skip


POINT_TEXT = "[('x', '<f8'), ('y', '<i4'), ('z', '<u4')]"
OF_RESULT = "is a result whose memory cannot be given: only arrays of numbers are."
CONTENT = [
    dtype("out", "float32", "f4", "float32", "float64"),
    dtype("out", "int64", "i8", "int64", "float64"),
    dtype("out", "complex64", "c8", "complex64", "float64"),
    dtype("out", "object_elements", "O", "object", "float64"),
    dtype("out", "void8", "V8", "|V8", "float64"),
    dtype("out", "structs", POINT, POINT_TEXT, "float64"),
    dtype("out", "byte_order", ">f8", ">f8 in foreign byte order", "float64"),
    dtype("narrow", "uint16", "u2", "uint16", "bfloat16"),
    dtype("narrow", "float16", "f2", "float16", "bfloat16"),
    dtype("points", "void16", "V16", "|V16", POINT_TEXT),
    dtype("points", "complex128", "c16", "complex128", POINT_TEXT),
    dtype("points", "field", [("x", "f8"), ("y", "i4"), ("z", "i4")], "[('x', '<f8'), ('y', '<i4'), ('z', '<i4')]", POINT_TEXT),
    Row("out", "masked", lambda: np.ma.zeros((3, 2)), TYPE,
        "'out' is a masked array, but a result has no mask; give a plain numpy.ndarray."),
    Row("out", "rank_0", lambda: np.array(0.0), VALUE, "'out' has shape (), but (3, 2) is expected."),
    Row("out", "rank_1", lambda: np.zeros(6), VALUE, "'out' has shape (6,), but (3, 2) is expected."),
    Row("out", "rank_3", lambda: np.zeros((3, 2, 1)), VALUE, "'out' has shape (3, 2, 1), but (3, 2) is expected."),
    Row("out", "too_small", lambda: np.zeros((2, 2)), VALUE, "'out' has shape (2, 2), but (3, 2) is expected."),
    Row("out", "too_large", lambda: np.zeros((4, 2)), VALUE, "'out' has shape (4, 2), but (3, 2) is expected."),
    Row("out", "no_elements", lambda: np.zeros((0, 2)), VALUE, "'out' has shape (0, 2), but (3, 2) is expected."),
    Row("out", "transposed", lambda: np.zeros((2, 3)), VALUE, "'out' has shape (2, 3), but (3, 2) is expected."),
    Row("out", "read_only", lambda: read_only(np.zeros((3, 2))), VALUE, "'out' is read-only, but the result is written to it."),
    Row("out", "F_order", lambda: np.zeros((3, 2), order="F"), VALUE,
        "'out' must be contiguous in C order to take a result, but its strides are (8, 24) bytes."),
    Row("out", "column_slice", lambda: np.zeros((3, 4))[:, :2], VALUE,
        "'out' must be contiguous in C order to take a result, but its strides are (32, 8) bytes."),
    Row("out", "reversed", lambda: np.zeros((3, 2))[::-1], VALUE,
        "'out' must be contiguous in C order to take a result, but its strides are (-16, 8) bytes."),
    Row("out", "repeated", lambda: np.lib.stride_tricks.as_strided(np.zeros(1), (3, 2), (0, 0)), VALUE,
        "'out' must be contiguous in C order to take a result, but its strides are (0, 0) bytes."),
    Row("out", "alignment", lambda: misaligned((3, 2)), VALUE,
        "'out' is not aligned to its elements, as memory for a result must be."),
    Row("objects", "objects", lambda: np.zeros(3, object), TYPE, f"'objects' {OF_RESULT}"),
    Row("one", "struct", lambda: np.zeros((), POINT), TYPE, f"'one' {OF_RESULT}"),
    Row("number", "rank_0", lambda: np.zeros(()), TYPE, f"'number' {OF_RESULT}"),
    Row("runs", "rank_0", lambda: np.zeros((), "i8"), TYPE, f"'runs' {OF_RESULT}"),
]  # fmt: skip


@table([*OBJECTS, *CONTENT])
def test_refused(kernel: Any, row: Row) -> None:
    check_refused(kernel, good, row, name="results", by_position=False)


@pytest.mark.parametrize("name", ["out", "points", "narrow"])
def test_memory_of_an_argument(kernel: Any, name: str) -> None:
    block = np.zeros(100)
    make = {"out": lambda: block[1:7].reshape(3, 2), "points": lambda: block[1:7].view(POINT),
            "narrow": lambda: block[:1].view("u2")[:3].view("bfloat16")}[name]  # fmt: skip
    given = {"a": block[:3], name: make()}
    text = f"results(): '{name}' takes a result and shares memory with 'a'; give memory of its own."
    assert error_of(lambda: kernel(**given)) == (VALUE, text)
    assert not block.any()


def test_memory_of_another_result(kernel: Any) -> None:
    block = np.zeros(8)
    given = {**good(), "out": block[:6].reshape(3, 2), "points": block[2:].view(POINT)}
    text = "results(): 'points' takes a result and shares memory with 'out'; give memory of its own."
    assert error_of(lambda: kernel(**given)) == (VALUE, text)
    assert not block.any()


@pytest.mark.parametrize("name", ["out", "number", "objects", "one"])
def test_functions_that_do_not_allow_it(name: str) -> None:
    pytest.importorskip("ml_dtypes")
    plain = fr.compile_source(SOURCE, signature()).load()
    text = (
        f"results(): '{name}' is a result; declare allow_return_override=True to let callers give its memory."
    )
    for value in (np.zeros((3, 2)), None, 3):
        assert error_of(lambda value=value: plain(**good(), **{name: value})) == (TYPE, text)


TAKEN = {
    "array": lambda: np.zeros((3, 2)),
    "subclass": lambda: np.zeros((3, 2)).view(Subclass),
    "part_of_an_array": lambda: np.zeros((5, 2))[1:4],
    "aligned_to_8": lambda: misaligned((3, 2), past=8),
}


@pytest.mark.parametrize("what", TAKEN)
def test_taken(kernel: Any, what: str) -> None:
    given = {**good(), "out": TAKEN[what]()}
    references = {name: state[1] for name, state in snapshot(given).items()}
    assert kernel(**given)[1] is given["out"]
    assert np.asarray(given["out"]).tolist() == [[2, 2], [4, 4], [6, 6]]
    assert {name: state[1] for name, state in snapshot(given).items()} == references


def test_none_is_as_if_nothing_was_given(kernel: Any) -> None:
    result = kernel(**good(), out=None, points=None, number=None, one=None, objects=None)
    assert result[1].tolist() == [[2, 2], [4, 4], [6, 6]]
    assert result[-1] == 4.5


def test_no_elements_need_no_layout(kernel: Any) -> None:
    given = read_only(np.lib.stride_tricks.as_strided(np.zeros(1), (0, 2), (3, -5)))
    assert kernel(np.zeros(0), out=given)[1] is given

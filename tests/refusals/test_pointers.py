"""Several arrays behind one argument: sequences of arrays, arrays of addresses, ctypes arrays of pointers."""

from __future__ import annotations

import array
import ctypes
from typing import Any

import numpy as np
import pytest
from exporters import Exporter, WithInterface
from rows import (
    BUFFER,
    TYPE,
    VALUE,
    Row,
    Subclass,
    Taken,
    check_refused,
    misaligned,
    read_only,
    released,
    snapshot,
    table,
)

import ferrule as fr

SOURCE = """
#include <stdint.h>
static int64_t runs = 0;
int64_t sums(const double* const* p, int64_t p_length, double* const* w, int64_t w_length, const double* const* maybe,
             double* first) {
  *first = maybe ? 100 : 0;
  for (int64_t i = 0; i < p_length; ++i) *first += p[i] ? p[i][0] : 1000;
  for (int64_t i = 0; i < w_length; ++i) w[i][0] += 1;
  return ++runs;
}"""


@pytest.fixture(scope="module")
def kernel() -> Any:
    """The sum of the first elements of p; those of w grow by one."""
    args = [
        fr.Arg("p", kind="pointers"),
        fr.Arg("w", kind="pointers", intent="inout"),
        fr.Arg("maybe", kind="pointers", optional=True, default=None),
    ]
    returns = [fr.Return("runs", "int64", kind="scalar"), fr.Return("first", kind="scalar")]
    parameters = ["p", "p.length", "w", "w.length", "maybe", "first"]
    signature = fr.Signature("sums", args, returns=returns, result="runs", parameters=parameters)
    return fr.compile_source(SOURCE, signature).load()


def good() -> dict[str, Any]:
    return {"p": [np.ones(2), np.full((2, 2), 2.0)], "w": [np.ones(1)], "maybe": None}


NAMES = ("p", "w", "maybe")
KEPT = np.arange(1.0, 4.0)


def addresses(dtype: Any = "u8", count: int = 1) -> Any:
    return np.full(count, KEPT.ctypes.data, dtype)


def pointers(to: Any, *values: Any) -> Any:
    return (ctypes.POINTER(to) * len(values))(*values)


def each(what: str, make: Any, error: Any, text: str) -> list[Row]:
    return [Row(name, what, make, error, f"'{name}' {text.format(n=name)}.") for name in NAMES]


SEQUENCE = "but a sequence of float64 arrays is expected"
OBJECTS = [
    *[Row(name, "None", lambda: None, TYPE, f"'{name}' is None, {SEQUENCE}.") for name in ("p", "w")],
    *each("int", lambda: 3, TYPE, f"is an int, {SEQUENCE}"),
    *each("float", lambda: 3.5, TYPE, f"is a float, {SEQUENCE}"),
    *each("str", lambda: "text", TYPE, f"is a str, {SEQUENCE}"),
    *each("bytes", lambda: bytes(8), TYPE, f"is a bytes, {SEQUENCE}"),
    *each("bytearray", lambda: bytearray(8), TYPE, f"is a bytearray, {SEQUENCE}"),
    *each("dict", lambda: {0: KEPT}, TYPE, f"is a dict, {SEQUENCE}"),
    *each("set", lambda: {1}, TYPE, f"is a set, {SEQUENCE}"),
    *each("iterator", lambda: iter([KEPT]), TYPE, f"is a list_iterator, {SEQUENCE}"),
    *each("numpy_scalar", lambda: np.uint64(8), TYPE, f"is a uint64, {SEQUENCE}"),
    *each("exporter", lambda: Exporter(addresses()), TYPE, f"is an Exporter, {SEQUENCE}"),
    *each("interface", lambda: WithInterface(addresses()), TYPE, f"is a WithInterface, {SEQUENCE}"),
    *each("array_array", lambda: array.array("Q", [8]), TYPE, "has the buffer format 'Q', but pointers to float64 are expected"),
    *each("memoryview", lambda: memoryview(bytearray(8)), TYPE, "has the buffer format 'B', but pointers to float64 are expected"),
    *each("ferrule_array", lambda: fr.asarray(addresses()), TYPE, "has the buffer format 'L', but pointers to float64 are expected"),
    *each("released_memoryview", released, BUFFER,
          "cannot be read through the buffer protocol: operation forbidden on released memoryview object"),
    *each("pointers_to_float32", lambda: pointers(ctypes.c_float, None), TYPE,
          "has the buffer format '&<f', but pointers to float64 are expected"),
    *each("pointers_to_int64", lambda: pointers(ctypes.c_int64, None), TYPE,
          "has the buffer format '&<q', but pointers to float64 are expected"),
    *each("pointers_of_rank_2", lambda: ((ctypes.POINTER(ctypes.c_double) * 1) * 1)(), TYPE,
          "has the buffer format '&<d', but pointers to float64 are expected"),
    *each("ctypes_of_float64", lambda: (ctypes.c_double * 1)(), TYPE,
          "has the buffer format '<d', but pointers to float64 are expected"),
    *each("ctypes_misaligned_pointer", lambda: (ctypes.c_void_p * 2)(None, 4099), VALUE,
          "holds the address 0x1003 at 1, which is no multiple of 8, the alignment of float64"),
]  # fmt: skip

ADDRESSES = (
    "but a sequence of float64 arrays or a uint64 array of their addresses is expected; pass a list of arrays"
)
ARRAYS = [
    *each("float64_array", lambda: np.ones(2), TYPE, f"is an array of dtype float64, {ADDRESSES}"),
    *each("rank_2_float64", lambda: np.ones((2, 2)), TYPE, f"is an array of dtype float64, {ADDRESSES}"),
    *each("int64_addresses", lambda: addresses("i8"), TYPE, f"is an array of dtype int64, {ADDRESSES}"),
    *each("object_array", lambda: np.array([None]), TYPE, f"is an array of dtype object, {ADDRESSES}"),
    *each("byte_order", lambda: addresses(">u8"), TYPE, f"is an array of dtype >u8 in foreign byte order, {ADDRESSES}"),
    *each("masked_addresses", lambda: np.ma.array(addresses(), mask=True), TYPE, "is a masked array, whose mask would be ignored"),
    *each("rank_0", lambda: addresses()[0:].reshape(()), VALUE,
          "is an array of addresses of rank 0 and shape (), but rank 1 is expected"),
    *each("rank_2", lambda: addresses(count=2).reshape(1, 2), VALUE,
          "is an array of addresses of rank 2 and shape (1, 2), but rank 1 is expected"),
    *each("stride", lambda: addresses(count=4)[::2], VALUE,
          "is an array of addresses with a stride of 16 bytes, but 8 is expected; pass numpy.ascontiguousarray({n})"),
    *each("reversed", lambda: addresses(count=2)[::-1], VALUE,
          "is an array of addresses with a stride of -8 bytes, but 8 is expected; pass numpy.ascontiguousarray({n})"),
    *each("misaligned_array", lambda: misaligned((1,), "u8"), VALUE,
          "is an array of addresses that is not aligned to 8 bytes; pass {n}.copy()"),
    *each("misaligned_address", lambda: np.array([0, 4097], "u8"), VALUE,
          "holds the address 0x1001 at 1, which is no multiple of 8, the alignment of float64"),
]  # fmt: skip


def item(what: str, make: Any, error: Any, text: str) -> list[Row]:
    """A bad item after a good one, in a list and in a tuple."""
    return [
        Row(
            name,
            f"{kind.__name__}_of_{what}",
            lambda k=kind: k([np.ones(1), make()]),
            error,
            f"'{name}' has at [1] {text}.",
        )
        for name in NAMES
        for kind in (list, tuple)
    ]


NDARRAY = "but a numpy.ndarray of dtype float64 is expected"
ITEMS = [
    *item("None", lambda: None, TYPE, f"None, {NDARRAY}"),
    *item("float", lambda: 1.5, TYPE, f"a float, {NDARRAY}"),
    *item("list", lambda: [1.5], TYPE, f"a list, {NDARRAY}"),
    *item("numpy_scalar", lambda: np.float64(1), TYPE, f"a float64, {NDARRAY}"),
    *item("exporter", lambda: Exporter(np.ones(2)), TYPE, f"an Exporter, {NDARRAY}"),
    *item("ferrule_array", lambda: fr.asarray(np.ones(2)), TYPE, f"an Array, {NDARRAY}"),
    *item("memoryview", lambda: memoryview(np.ones(2)), TYPE, f"a memoryview, {NDARRAY}"),
    *item("float32", lambda: np.ones(2, "f4"), TYPE, "an array of dtype float32, but float64 is expected"),
    *item("int64", lambda: np.ones(2, "i8"), TYPE, "an array of dtype int64, but float64 is expected"),
    *item("structs", lambda: np.ones(2, [("x", "f8")]), TYPE, "an array of dtype [('x', '<f8')], but float64 is expected"),
    *item("byte_order", lambda: np.ones(2, ">f8"), TYPE, "an array of dtype >f8 in foreign byte order, but float64 is expected"),
    *item("masked", lambda: np.ma.ones(2), TYPE, "a masked array, whose mask would be ignored"),
    *item("step", lambda: np.ones(4)[::2], VALUE, "an array that is not contiguous in C order: shape (2,), strides (16,) bytes"),
    *item("F_order", lambda: np.ones((2, 2), order="F"), VALUE,
          "an array that is not contiguous in C order: shape (2, 2), strides (8, 16) bytes"),
    *item("broadcast", lambda: np.broadcast_to(1.0, (2,)), VALUE,
          "an array that is not contiguous in C order: shape (2,), strides (0,) bytes"),
    *item("misaligned", lambda: misaligned((2,)), VALUE, "an array that is not aligned to 8 bytes, as float64 must be"),
    *[row for row in item("read_only", lambda: read_only(np.ones(2)), VALUE, "a read-only array, but the program writes to it")
      if row.argument == "w"],
]  # fmt: skip


@table([*OBJECTS, *ARRAYS, *ITEMS])
def test_refused(kernel: Any, row: Row) -> None:
    check_refused(kernel, good, row, name="sums")


TAKEN = [
    Taken("p", "empty_list", list, 0),
    Taken("p", "tuple", lambda: (np.full(2, 4.0), np.full(3, 5.0)), 9),
    Taken("p", "list_subclass", lambda: type("Sub", (list,), {})([np.full(2, 4.0)]), 4),
    Taken("p", "array_subclass", lambda: [np.full(2, 4.0).view(Subclass)], 4),
    Taken("p", "read_only", lambda: [read_only(np.full(2, 4.0))], 4),
    Taken("p", "rank_0", lambda: [np.array(4.0)], 4),
    Taken("p", "stride_of_one_element", lambda: [np.full(4, 4.0)[::4]], 4),
    Taken("p", "addresses", addresses, 1),
    Taken("p", "no_addresses_of_any_stride", lambda: addresses(count=4)[4::2], 0),
    Taken("p", "read_only_addresses", lambda: read_only(addresses()), 1),
    Taken("p", "null_address", lambda: np.zeros(1, "u8"), 1000),
    Taken("p", "ctypes_pointers", lambda: pointers(ctypes.c_double, ctypes.pointer(ctypes.c_double(4))), 4),
    Taken("p", "null_pointer", lambda: pointers(ctypes.c_double, None), 1000),
    Taken("p", "void_pointers", lambda: (ctypes.c_void_p * 1)(KEPT.ctypes.data), 1),
    Taken("maybe", "None", lambda: None, 3),
    Taken("maybe", "list_of_an_empty_array", lambda: [np.ones((0, 3))[:, ::2]], 103),
    Taken("w", "array_given_twice", lambda: [np.ones(1)] * 2, 3),
]


@table(TAKEN)
def test_taken(kernel: Any, row: Taken) -> None:
    given = {**good(), row.argument: row.make()}
    if row.argument == "w":
        assert kernel(**given)[1] == row.value
        assert given["w"][0].tolist() == [3]
        return
    written = given.pop("w")
    before = snapshot(given)
    assert kernel(**given, w=written)[1] == row.value
    assert snapshot(given) == before
    assert written[0].tolist() == [2]

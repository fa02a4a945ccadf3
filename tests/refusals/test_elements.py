"""Arrays of every element type: those of other types of the same width, byte order, narrow floats, structs, objects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from exporters import Exporter, WithInterface
from rows import TYPE, VALUE, Row, Taken, check_refused, misaligned, read_only, snapshot, table

import ferrule as fr

ml_dtypes = pytest.importorskip("ml_dtypes")

PLAIN = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
         "complex64", "complex128"]  # fmt: skip
NARROW = ["bfloat16", "float8_e4m3fn", "float8_e5m2"]
NUMBERS = [*PLAIN, *NARROW]
POINT = np.dtype([("x", "f8"), ("y", "i4"), ("z", "u4")])
ITEMS = {
    **{name: np.dtype(getattr(ml_dtypes, name, name)).itemsize for name in NUMBERS},
    "points": POINT.itemsize,
}


def argument(name: str) -> str:
    return f"of_{name}"


@pytest.fixture(scope="module")
def kernel() -> Any:
    """Copies each array that is given to the result of its name, and gives the first of the objects."""
    sizes = {name: f"N{k}" for k, name in enumerate(ITEMS)}
    dtypes = {name: POINT if name == "points" else name for name in ITEMS}
    args = [fr.Arg(argument(n), dtype=dtypes[n], shape=sizes[n], optional=True, default=None) for n in ITEMS]
    objects = fr.Arg("of_objects", dtype="object", shape="K", optional=True, default=None)
    returns = [fr.Return(n, dtypes[n], shape=sizes[n]) for n in ITEMS]
    given = ", ".join(f"const void* of_{name}" for name in ITEMS)
    made = ", ".join(f"void* made_{name}" for name in ITEMS)
    copies = "".join(
        f"  if (of_{name}) memcpy(made_{name}, of_{name}, {item} * {sizes[name]});\n"
        for name, item in ITEMS.items()
    )
    extents = ", ".join(f"int64_t {size}" for size in sizes.values())
    source = f"""
#include <stdint.h>
#include <string.h>
static int64_t runs = 0;
int64_t elements({given}, void* const* of_objects, {made}, void** first, {extents}, int64_t k) {{
{copies}  *first = of_objects && k > 0 ? of_objects[0] : 0;
  return ++runs;
}}"""
    signature = fr.Signature(
        "elements", [*args, objects], result="runs",
        returns=[fr.Return("runs", "int64", kind="scalar"), *returns, fr.Return("first", kind="pyobject")],
        parameters=[*map(argument, ITEMS), "of_objects", *ITEMS, "first", *sizes.values(), "K"],
    )  # fmt: skip
    return fr.compile_source(source, signature).load()


def good() -> dict[str, Any]:
    return {**{argument(name): None for name in ITEMS}, "of_objects": None}


def dtype_of(name: str) -> Any:
    return np.dtype(getattr(ml_dtypes, name, name))


def castable(got: str, name: str) -> bool:
    return not got.startswith("complex") or name.startswith("complex")


SAME_WIDTH = [
    Row(argument(name), f"as_{got}", lambda got=got: np.ones(2, dtype_of(got)), TYPE,
        f"'of_{name}' has dtype {got}, but {name} is expected" +
        (f"; pass of_{name}.astype('{name}')." if castable(got, name) else "."))
    for name in NUMBERS
    for got in NUMBERS
    if got != name and ITEMS[got] == ITEMS[name]
]  # fmt: skip

BITS = [
    Row(argument(name), f"as_V{ITEMS[name]}", lambda name=name: np.zeros(2, f"V{ITEMS[name]}"), TYPE,
        f"'of_{name}' has dtype |V{ITEMS[name]}, but {name} is expected.")
    for name in NUMBERS
]  # fmt: skip

BYTE_ORDER = [
    Row(argument(name), "byte_order", lambda name=name: np.ones(2, np.dtype(name).newbyteorder(">")), TYPE,
        f"'of_{name}' has dtype {np.dtype(name).newbyteorder('>')} in foreign byte order, but native {name} is expected; "
        f"pass of_{name}.astype('{name}').")
    for name in PLAIN
    if ITEMS[name] > 1
]  # fmt: skip

PLACE = [
    row
    for k, (name, item) in enumerate(ITEMS.items())
    for row in [
        Row(argument(name), "rank_0", lambda name=name: np.zeros((), POINT if name == "points" else dtype_of(name)), VALUE,
            f"'of_{name}' has rank 0 and shape (), but rank 1 and shape (N{k},) are expected."),
        Row(argument(name), "step", lambda name=name: np.zeros(4, POINT if name == "points" else dtype_of(name))[::2], VALUE,
            f"'of_{name}' must be contiguous in C order with strides ({item},) bytes, but its strides are ({2 * item},) "
            f"bytes; pass numpy.ascontiguousarray(of_{name}), or declare order='any'."),
    ]
]  # fmt: skip

ALIGNMENT = {
    **{name: item for name, item in ITEMS.items() if item > 1},
    "complex64": 4,
    "complex128": 8,
    "points": 8,
}
MISALIGNED = [
    Row(argument(name), "alignment", lambda name=name: misaligned((2,), POINT if name == "points" else dtype_of(name)), VALUE,
        f"'of_{name}' is not aligned: it begins 1 byte past a multiple of {alignment}, the alignment of its elements; pass of_{name}.copy().")
    for name, alignment in ALIGNMENT.items()
]  # fmt: skip

NARROW_ROWS = [
    Row("of_bfloat16", "list", lambda: [1.0, 2.0], TYPE,
        "'of_bfloat16' is a list, but an array of dtype bfloat16 is expected; pass numpy.asarray(of_bfloat16, 'bfloat16')."),
    Row("of_bfloat16", "numpy_scalar", lambda: ml_dtypes.bfloat16(1), TYPE,
        "'of_bfloat16' is a bfloat16, but an array of dtype bfloat16 is expected."),
    Row("of_bfloat16", "float16_through_dlpack", lambda: Exporter(np.ones(2, "f2")), TYPE,
        "'of_bfloat16' has dtype float16, but bfloat16 is expected; convert it to bfloat16 first."),
    Row("of_float16", "bfloat16_through_dlpack", lambda: Exporter(np.ones(2, "u2"), dtype=(4, 16, 1)), TYPE,
        "'of_float16' has dtype bfloat16, but float16 is expected; convert it to float16 first."),
    Row("of_float8_e5m2", "float8_e4m3fn_through_dlpack", lambda: Exporter(np.ones(2, "u1"), dtype=(10, 8, 1)), TYPE,
        "'of_float8_e5m2' has dtype float8_e4m3fn, but float8_e5m2 is expected; convert it to float8_e5m2 first."),
    Row("of_bfloat16", "interface_of_void", lambda: WithInterface(np.ones(2, ml_dtypes.bfloat16)), TYPE,
        "'of_bfloat16' has an __array_interface__ that has the typestr '<V2', which is no element type."),
    Row("of_uint8", "bool_through_dlpack", lambda: Exporter(np.ones(2, "?")), TYPE,
        "'of_uint8' has dtype bool, but uint8 is expected; convert it to uint8 first."),
    Row("of_bool", "uint8_through_dlpack", lambda: Exporter(np.ones(2, "u1")), TYPE,
        "'of_bool' has dtype uint8, but bool is expected; convert it to bool first."),
]  # fmt: skip

FIELDS = "a struct with the fields 'x', 'y', 'z'"
LISTED = "an array of structs with the fields 'x', 'y', 'z'"


def points(**changes: Any) -> Any:
    """Two structs with fields replaced; None leaves one out."""
    fields = {"x": ("x", "f8"), "y": ("y", "i4"), "z": ("z", "u4"), **changes}
    return np.zeros(2, np.dtype([field for field in fields.values() if field is not None]))


def shifted() -> Any:
    return np.zeros(2, np.dtype({"names": list("xyz"), "formats": ["f8", "i4", "u4"], "offsets": [0, 12, 8]}))


STRUCTS = [
    Row("of_points", what, make, TYPE, text)
    for what, make, text in [
        ("None_is_no_default", lambda: 1.0, f"'of_points' is a float, but {LISTED} is expected."),
        ("list", lambda: [(1.0, 2, 3)],
         f"'of_points' is a list, but {LISTED} is expected; pass numpy.asarray(of_points, dtype) with a dtype of these fields."),
        ("one_struct", lambda: points()[0], f"'of_points' is a void, but {LISTED} is expected."),
        ("float64", lambda: np.zeros(2), f"'of_points' has dtype float64, but {FIELDS} is expected."),
        ("complex128_of_the_same_width", lambda: np.zeros(2, "c16"), f"'of_points' has dtype complex128, but {FIELDS} is expected."),
        ("bytes_of_the_same_width", lambda: np.zeros(2, "V16"), f"'of_points' has dtype |V16, but {FIELDS} is expected."),
        ("field_of_the_same_width", lambda: points(x=("x", "i8")), "'of_points': the field 'x' has dtype int64, but float64 is expected."),
        ("field_of_another_sign", lambda: points(y=("y", "u4")), "'of_points': the field 'y' has dtype uint32, but int32 is expected."),
        ("byte_order", lambda: points(x=("x", ">f8")),
         "'of_points': the field 'x' has dtype >f8 in foreign byte order, but float64 is expected."),
        ("name", lambda: points(y=("v", "i4")), "'of_points' has the field 'v' where the field 'y' is expected."),
        ("missing_field", lambda: points(z=None), "'of_points' has no field 'z'."),
        ("another_field", lambda: points(w=("w", "f8")), "'of_points' has the field 'w', which the struct does not have."),
        ("field_of_an_array", lambda: points(y=("y", "i4", (2,))), "'of_points': the field 'y' has 2 elements, but 1 are expected."),
        ("places", shifted, "'of_points': the field 'y' lies at byte 12, but byte 8 is expected."),
        ("masked", lambda: np.ma.zeros(2, POINT), "'of_points' is a masked array, whose mask would be ignored; pass of_points.filled(value)."),
        ("memoryview", lambda: memoryview(points()),
         "'of_points' has the buffer format 'T{d:x:i:y:I:z:}' with items of 16 bytes, which is no element type."),
        ("interface", lambda: WithInterface(points()),
         "'of_points' has an __array_interface__ that has the typestr '|V16', which is no element type."),
        ("float64_through_dlpack", lambda: Exporter(np.zeros(2)), f"'of_points' has dtype float64, but {FIELDS} is expected."),
    ]
]  # fmt: skip

CAST = "; pass of_objects.astype('object')."
OBJECTS = [
    Row("of_objects", what, make, error, text)
    for what, make, error, text in [
        ("list", lambda: [1, 2], TYPE,
         "'of_objects' is a list, but an array of dtype object is expected; pass numpy.asarray(of_objects, 'object')."),
        ("int64", lambda: np.ones(2, "i8"), TYPE, f"'of_objects' has dtype int64, but object is expected{CAST}"),
        ("uint64", lambda: np.ones(2, "u8"), TYPE, f"'of_objects' has dtype uint64, but object is expected{CAST}"),
        ("void8", lambda: np.ones(2, "V8"), TYPE, "'of_objects' has dtype |V8, but object is expected."),
        ("memoryview", lambda: memoryview(np.array([1, 2], object)), TYPE,
         "'of_objects' has the buffer format 'O' with items of 8 bytes, which is no element type."),
        ("masked", lambda: np.ma.array([1, 2], dtype=object), TYPE,
         "'of_objects' is a masked array, whose mask would be ignored; pass of_objects.filled(value)."),
        ("rank_2", lambda: np.array([[1]], object), VALUE,
         "'of_objects' has rank 2 and shape (1, 1), but rank 1 and shape (K,) are expected."),
        ("step", lambda: np.array([1, 2, 3, 4], object)[::2], VALUE,
         "'of_objects' must be contiguous in C order with strides (8,) bytes, but its strides are (16,) bytes; pass "
         "numpy.ascontiguousarray(of_objects), or declare order='any'."),
    ]
]  # fmt: skip


@table([*SAME_WIDTH, *BITS, *BYTE_ORDER, *PLACE, *MISALIGNED, *NARROW_ROWS, *STRUCTS, *OBJECTS])
def test_refused(kernel: Any, row: Row) -> None:
    check_refused(kernel, good, row, name="elements")


def bits(name: str) -> Any:
    return np.arange(1, 2 * ITEMS[name] + 1, dtype="u1").view(dtype_of(name))


TAKEN = [
    *[Taken(argument(name), "same", lambda name=name: bits(name)) for name in NUMBERS if name != "bool"],
    *[Taken(argument(name), "read_only", lambda name=name: read_only(bits(name))) for name in NUMBERS if name != "bool"],
    Taken("of_bool", "bool", lambda: np.array([True, False])),
    Taken("of_bool", "written_as_big_endian", lambda: np.array([True, False], ">b1")),
    Taken("of_int8", "written_as_big_endian", lambda: np.array([-1, 5], ">i1")),
    Taken("of_uint8", "written_as_big_endian", lambda: np.array([255, 5], ">u1")),
    Taken("of_int64", "longlong", lambda: np.array([-1, 5], np.longlong)),
    Taken("of_uint64", "ulonglong", lambda: np.array([2**64 - 1, 5], np.ulonglong)),
    Taken("of_bfloat16", "dlpack", lambda: Exporter(np.array([1, 2], "u2"), dtype=(4, 16, 1))),
    Taken("of_float8_e4m3fn", "dlpack", lambda: Exporter(np.array([1, 2], "u1"), dtype=(10, 8, 1))),
    Taken("of_points", "structs", lambda: np.array([(1.5, -2, 3), (4.5, 5, 6)], POINT)),
    Taken("of_points", "recarray", lambda: np.array([(1.5, -2, 3), (4.5, 5, 6)], POINT).view(np.recarray)),
    Taken("of_points", "aligned_dtype", lambda: np.array([(1.5, -2, 3), (4.5, 5, 6)], np.dtype(POINT.descr, align=True))),
]  # fmt: skip


@table(TAKEN)
def test_taken(kernel: Any, row: Taken) -> None:
    name = row.argument.removeprefix("of_")
    given = {**good(), row.argument: row.make()}
    before = snapshot(given)
    results = kernel(**given)
    made = results[1 + list(ITEMS).index(name)]
    expected = getattr(given[row.argument], "array", given[row.argument]).tobytes()
    assert made.dtype == (POINT if name == "points" else dtype_of(name))
    assert made.tobytes() == expected
    assert snapshot(given) == before


@pytest.mark.parametrize("given", [read_only(np.array([[], 1], object)), np.array([{}], object)])
def test_objects_come_as_they_are(kernel: Any, given: Any) -> None:
    before = snapshot({"given": given})
    assert kernel(**{**good(), "of_objects": given})[-1] is given[0]
    assert snapshot({"given": given}) == before

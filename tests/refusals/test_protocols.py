"""Array arguments through DLPack, buffers and the array interface: protocols that raise, protocols that lie, and each kind
of wrong thing about what they tell."""

from __future__ import annotations

import array
import ctypes
from typing import Any

import numpy as np
import pytest
from array_kernel import NAMES, READ, SOURCE, WRITTEN, good, order_of, partner, signature
from exporters import CUDA, CUDA_HOST, IS_COPIED, METAL, READ_ONLY, Exporter, WithInterface, Wrapped
from rows import (
    BUFFER,
    TYPE,
    VALUE,
    Raising,
    RaisingInterface,
    Row,
    Taken,
    check_refused,
    misaligned,
    read_only,
    released,
    snapshot,
    table,
    used,
)

import ferrule as fr

SHAPE = (2, 3)
# One argument of each direction and layout; all of them take the same way.
SOME = ["in_c", "out_f", "io_inner", "in_any", "out_any", "maybe"]
DTYPE = "the program writes it, so make an array of that dtype"


@pytest.fixture(scope="module")
def kernel() -> Any:
    return fr.compile_source(SOURCE, signature()).load()


def ones(order: Any = "C", dtype: Any = "f8") -> Any:
    return np.ones(SHAPE, dtype, order=order)


def each(what: str, make: Any, error: Any, text: str, names: list[str] = SOME) -> list[Row]:
    """A row for each of some arguments, whose order `make` is told."""
    return [Row(n, what, lambda n=n: make(order_of(n)), error, f"'{n}' {text}") for n in names]


def exported(what: str, error: Any, text: str, names: list[str] = SOME, **fields: Any) -> list[Row]:
    return each(what, lambda o: Exporter(ones(o), **fields), error, text, names)


def interface(what: str, error: Any, text: str, **entries: Any) -> list[Row]:
    text = f"has an __array_interface__ that {text}."
    return each(f"interface_{what}", lambda o: WithInterface(ones(o), **entries), error, text)


def by_intent(what: str, make: Any, text: str) -> list[Row]:
    """A row of another dtype, which is to be converted where the argument is only read."""
    read = [n for n in SOME if n not in WRITTEN]
    return [
        *each(what, make, TYPE, f"{text}; convert it to float64 first.", read),
        *each(what, make, TYPE, f"{text}; {DTYPE}.", [n for n in SOME if n in WRITTEN]),
    ]


HOST = "but memory of the host is expected."
DLPACK = "cannot be read through DLPack:"
GAVE = "but a tuple of two ints is expected."
NO_TYPE = "has a DLPack element type that no kernel takes:"

RAISES = [
    *each("dlpack_raises", lambda _: Raising(RuntimeError), BUFFER, f"{DLPACK} no tensor."),
    *each("dlpack_refuses", lambda _: Raising(BufferError), BUFFER, f"{DLPACK} no tensor."),
    *each("dlpack_raises_TypeError", lambda _: Raising(TypeError), BUFFER, f"{DLPACK} no tensor."),
    *each("device_raises", lambda _: Raising(None, RuntimeError), BUFFER, f"{DLPACK} no tensor."),
    *each("byte_order_through_dlpack", lambda o: Wrapped(ones(o, ">f8")), BUFFER,
          f"{DLPACK} DLPack only supports native byte order."),
    *each("longdouble_through_dlpack", lambda o: Wrapped(ones(o, "g")), BUFFER,
          f"{DLPACK} DLPack only supports IEEE floating point types without padding (longdouble typically is not IEEE)."),
    *each("object_through_dlpack", lambda o: Wrapped(ones(o, "O")), BUFFER,
          f"{DLPACK} DLPack only supports signed/unsigned integers, float and complex dtypes."),
    *each("interface_raises", lambda _: RaisingInterface(ValueError), BUFFER,
          "cannot be read through the array interface: no array."),
    *each("released_memoryview", lambda _: released(), BUFFER,
          "cannot be read through the buffer protocol: operation forbidden on released memoryview object."),
]  # fmt: skip

LIES = [
    *each("device_None", lambda _: Raising(None, None), BUFFER, f"{DLPACK} __dlpack_device__() gave None, {GAVE}"),
    *each("device_int", lambda _: Raising(None, 1), BUFFER, f"{DLPACK} __dlpack_device__() gave 1, {GAVE}"),
    *each("device_long", lambda _: Raising(None, (1, 0, 0)), BUFFER,
          f"{DLPACK} __dlpack_device__() gave (1, 0, 0), {GAVE}"),
    *each("device_text", lambda _: Raising(None, ("cpu", 0)), BUFFER,
          f"{DLPACK} __dlpack_device__() gave ('cpu', 0), {GAVE}"),
    *each("device_huge", lambda _: Raising(None, (2**40, 0)), BUFFER,
          f"{DLPACK} __dlpack_device__() gave (1099511627776, 0), {GAVE}"),
    *each("capsule_None", lambda _: Raising(None), BUFFER, "gave None, but a capsule of DLPack is expected."),
    *each("capsule_int", lambda _: Raising(3), BUFFER, "gave an int, but a capsule of DLPack is expected."),
    *each("capsule_array", lambda _: Raising(ones()), BUFFER, "gave an ndarray, but a capsule of DLPack is expected."),
    *each("used_capsule", lambda o: used(ones(o)), BUFFER,
          "gave a capsule that was used already ('used_dltensor_versioned')."),
    *exported("capsule_of_another_name", BUFFER,
              "gave a capsule named 'tensor', but 'dltensor' or 'dltensor_versioned' is expected.", name=b"tensor"),
    *exported("version_2", BUFFER, "has DLPack version 2.0, but version 1 is expected.", version=(2, 0)),
    *exported("version_0", BUFFER, "has DLPack version 0.8, but version 1 is expected.", version=(0, 8)),
    *exported("null_pointer", BUFFER, "has elements, but no data.", data=None),
    *exported("null_shape", BUFFER, "has axes, but no shape.", shape=None),
    *exported("negative_rank", BUFFER, "has the negative rank -1.", ndim=-1),
    *exported("rank_65", BUFFER, "has rank 65, but at most 64 axes can be exchanged.", ndim=65),
    *exported("negative_extent", BUFFER, "has the negative extent -3 of axis 1.", shape=(2, -3)),
    *exported("huge_extents", BUFFER, "has extents or strides whose bytes do not fit into 64 bits.", shape=(2**40, 2**40)),
    *exported("huge_stride", BUFFER, "has extents or strides whose bytes do not fit into 64 bits.", strides=(2**62, 1)),
    *exported("cuda", BUFFER, f"is on CUDA device 1 (DLPack device type 2), {HOST}", device=(CUDA, 1)),
    *exported("tensor_on_another_device", BUFFER, f"is on Metal device 0 (DLPack device type 8), {HOST}",
              tensor_device=(METAL, 0)),
    *exported("unknown_device", BUFFER, f"is on device 0 of the unknown DLPack device type 99, {HOST}", device=(99, 0)),
    *exported("lanes", BUFFER, f"{NO_TYPE} code 2, bits 64, lanes 2.", dtype=(2, 64, 2)),
    *exported("four_bits", BUFFER, f"{NO_TYPE} code 0, bits 4, lanes 1.", dtype=(0, 4, 1)),
    *exported("unknown_code", BUFFER, f"{NO_TYPE} code 200, bits 64, lanes 1.", dtype=(200, 64, 1)),
    *exported("opaque_handle", BUFFER, f"{NO_TYPE} code 3, bits 64, lanes 1.", dtype=(3, 64, 1)),
    *exported("copied", BUFFER, "was copied by its exporter, so what the program writes would be lost.",
              [n for n in SOME if n in WRITTEN], flags=IS_COPIED),
]  # fmt: skip

INTERFACES = [
    *each("interface_int", lambda _: RaisingInterface(3), TYPE,
          "has an __array_interface__ that is an int, but a dict is expected."),
    *interface("without_shape", TYPE, "lacks the entry 'shape'", shape=...),
    *interface("list_shape", TYPE, "has a list for 'shape', but a tuple of ints is expected", shape=[2, 3]),
    *interface("float_shape", TYPE, "has a float in 'shape', but an int is expected", shape=(2, 3.0)),
    *interface("negative_shape", BUFFER, "has the negative extent -2", shape=(-2, 3)),
    *interface("shape_beyond_64_bits", BUFFER, "has a 'shape' beyond 64 bits", shape=(2**70, 3)),
    *interface("huge_shape", BUFFER, "has a shape whose bytes do not fit into 64 bits", shape=(2**40, 2**40)),
    *interface("rank_65", BUFFER, "has rank 65, but at most 64 axes can be exchanged", shape=(1,) * 65),
    *interface("without_typestr", TYPE, "lacks the entry 'typestr'", typestr=...),
    *interface("bytes_typestr", TYPE, "has a bytes for 'typestr', but a str is expected", typestr=b"<f8"),
    *interface("byte_order", TYPE, "has the typestr '>f8' in foreign byte order, but native order is expected",
               typestr=">f8"),
    *interface("unknown_typestr", TYPE, "has the typestr '<x8', which is no element type", typestr="<x8"),
    *interface("void_typestr", TYPE, "has the typestr '|V8', which is no element type", typestr="|V8"),
    *interface("list_strides", TYPE, "has a list for 'strides', but a tuple of ints is expected", strides=[24, 8]),
    *interface("too_few_strides", TYPE, "has 1 strides for 2 axes", strides=(8,)),
    *interface("data_None", TYPE, "lacks the entry 'data'", data=None),
    *interface("data_int", TYPE, "has an int for 'data', but a tuple of an address and whether it is read-only is expected",
               data=4096),
    *interface("data_text", TYPE,
               "has ('4096', False) for 'data', but a tuple of an address and whether it is read-only is expected",
               data=("4096", False)),
    *interface("null_pointer", BUFFER, "has elements, but no address", data=(0, False)),
    *interface("mask", TYPE, "has a mask, which would be ignored", mask=ones()),
]  # fmt: skip

RANKS = "but rank 2 and shape (N, M) are expected."
PAST = "is not aligned: it begins 1 byte past a multiple of 8, the alignment of its elements; pass {}.copy()."
CONTENT = [
    *by_intent("float32_through_dlpack", lambda o: Exporter(ones(o, "f4")), "has dtype float32, but float64 is expected"),
    *by_intent("int64_through_dlpack", lambda o: Exporter(ones(o, "i8")), "has dtype int64, but float64 is expected"),
    *by_intent("float32_array", lambda _: array.array("f", [1.0] * 6), "has dtype float32, but float64 is expected"),
    *by_intent("bytearray", lambda _: bytearray(48), "has dtype uint8, but float64 is expected"),
    *by_intent("bytes", lambda _: bytes(48), "has dtype uint8, but float64 is expected"),
    *by_intent("memoryview_of_int64", lambda o: memoryview(ones(o, "i8")), "has dtype int64, but float64 is expected"),
    *by_intent("interface_of_uint64", lambda o: WithInterface(ones(o, "u8")), "has dtype uint64, but float64 is expected"),
    *by_intent("ferrule_array_of_int64", lambda o: fr.asarray(ones(o, "i8")), "has dtype int64, but float64 is expected"),
    *each("byte_order_of_a_memoryview", lambda o: memoryview(ones(o, ">f8")), TYPE,
          "has the buffer format '>d' in foreign byte order, but native order is expected."),
    *each("memoryview_of_structs", lambda o: memoryview(ones(o, [("x", "f8")])), TYPE,
          "has the buffer format 'T{d:x:}' with items of 8 bytes, which is no element type."),
    *each("memoryview_of_pointers", lambda _: ((ctypes.c_void_p * 3) * 2)(), TYPE,
          "has the buffer format '<P' with items of 8 bytes, which is no element type."),
    *each("rank_1_through_dlpack", lambda _: Exporter(np.ones(6)), VALUE, f"has rank 1 and shape (6,), {RANKS}"),
    *each("rank_0_through_dlpack", lambda _: Exporter(np.array(1.0)), VALUE, f"has rank 0 and shape (), {RANKS}"),
    *each("rank_1_array", lambda _: array.array("d", [1.0] * 6), VALUE, f"has rank 1 and shape (6,), {RANKS}"),
    *each("rank_1_ferrule_array", lambda _: fr.asarray(np.ones(6)), VALUE, f"has rank 1 and shape (6,), {RANKS}"),
    Row("in_c", "misaligned_through_dlpack", lambda: Wrapped(misaligned(SHAPE)), VALUE, "'in_c' " + PAST.format("in_c")),
    Row("maybe", "misaligned_interface", lambda: WithInterface(misaligned(SHAPE)), VALUE, "'maybe' " + PAST.format("maybe")),
    Row("in_c", "extent_through_dlpack", lambda: Exporter(np.ones((3, 3))), VALUE,
        "'N': in_c.shape[0] = 3, but out_c.shape[0] = 2."),
    Row("out_any", "extent_through_dlpack", lambda: Exporter(np.ones((3, 3))), VALUE,
        "'N': in_c.shape[0] = 2, but out_any.shape[0] = 3."),
    Row("in_c", "strides_through_dlpack", lambda: Exporter(np.ones((4, 6))[::2, ::2]), VALUE,
        "'in_c' must be contiguous in C order with strides (24, 8) bytes, but its strides are (96, 16) bytes; pass "
        "numpy.ascontiguousarray(in_c), or declare order='any'."),
    Row("out_any", "broadcast_through_dlpack", lambda: Exporter(ones(), strides=(0, 0)), VALUE,
        "'out_any' is written, but elements of it share memory: shape (2, 3), strides (0, 0) bytes; pass an array of its own memory."),
]  # fmt: skip

FROZEN = "is read-only, but the program writes to it; pass a writable array."
FROZEN_WAYS = {
    "read_only_through_dlpack": lambda o: Exporter(ones(o), flags=READ_ONLY),
    "unversioned_capsule": lambda o: Exporter(ones(o), versioned=False),
    "read_only_memoryview": lambda o: memoryview(read_only(ones(o))),
    "read_only_interface": lambda o: WithInterface(read_only(ones(o))),
    "read_only_ferrule_array": lambda o: fr.asarray(read_only(ones(o))),
}
READ_ONLY_ROWS = [
    row for what, make in FROZEN_WAYS.items() for row in each(what, make, VALUE, FROZEN, [n for n in SOME if n in WRITTEN])
]  # fmt: skip


@table([*RAISES, *LIES, *INTERFACES, *CONTENT, *READ_ONLY_ROWS])
def test_refused(kernel: Any, row: Row) -> None:
    check_refused(kernel, good, row, name="layouts")


WAYS = {
    "dlpack": Exporter,
    "old_dlpack": lambda a: Exporter(a, versioned=False),
    "minor_99": lambda a: Exporter(a, version=(1, 99)),
    "offset": lambda a: Exporter(a, data=a.ctypes.data - 64, byte_offset=64),
    "pinned": lambda a: Exporter(a, device=(CUDA_HOST, 0)),
    "no_deleter": lambda a: Exporter(a, deleter=False),
    "numpys_own_dlpack": Wrapped,
    "memoryview": memoryview,
    "interface": WithInterface,
    "interface_without_strides": lambda a: WithInterface(a, strides=...),
    "ferrule_array": fr.asarray,
    "copied_by_its_exporter": lambda a: Exporter(a, flags=IS_COPIED),
}
ONLY_READ = ("old_dlpack", "copied_by_its_exporter")
TAKEN = [
    Taken(n, what, lambda n=n, make=make: make(np.full(SHAPE, 3.0, order=order_of(n))), 3.0)
    for n in NAMES
    for what, make in WAYS.items()
    if (n in READ or what not in ONLY_READ) and (order_of(n) == "C" or what != "interface_without_strides")
]


@table(TAKEN)
def test_taken(kernel: Any, row: Taken) -> None:
    name = row.argument
    given = {**good(), name: row.make()}
    held = snapshot({name: given[name]})[name][:2]
    memory = np.asarray(given[name]) if isinstance(given[name], fr.Array) else None
    kernel(**given)
    read, out, io = (partner(name, short) for short in ("in", "out", "io"))
    fresh = good()
    values = {n: np.full(SHAPE, row.value) if n == name else fresh[n] for n in (read, out, io)}

    def now(n: str) -> Any:
        return memory if n == name and memory is not None else getattr(given[n], "array", given[n])

    np.testing.assert_array_equal(now(out), 2 * values[read])
    np.testing.assert_array_equal(now(io), values[io] + values[read])
    assert memory is not None or snapshot({name: given[name]})[name][:2] == held
    if isinstance(given[name], Exporter) and given[name]._deleter is not None:
        assert given[name].made == given[name].deleted > 0


def test_buffers_of_later_refusals_are_given_back(kernel: Any) -> None:
    lent = array.array("d", [1.0] * 6), bytearray(48)
    first = memoryview(lent[0]).cast("B").cast("d", SHAPE)
    second = memoryview(lent[1]).cast("d", SHAPE)
    given = {**good(), "in_c": first, "in_inner": second, "io_any": np.ones((3, 3))}
    with pytest.raises(VALUE, match=r"'N': in_c\.shape\[0\] = 2, but io_any\.shape\[0\] = 3"):
        kernel(**given)
    first.release()
    second.release()
    del given
    lent[0].append(1.0)
    lent[1].append(1)

"""The buffer protocol and the array interface as sources of arrays, and the buffers of our own."""

from __future__ import annotations

import array
import ctypes
import mmap
import struct
import sys
import weakref
from typing import Any

import numpy as np
import pytest
import weigh
from exporters import WithInterface

import ferrule as fr
from ferrule import errors

CODES = {"b": "int8", "B": "uint8", "h": "int16", "H": "uint16", "i": "int32", "I": "uint32", "l": "int64", "L": "uint64",
         "q": "int64", "Q": "uint64", "f": "float32", "d": "float64"}  # fmt: skip


@pytest.mark.parametrize(("code", "dtype"), CODES.items())
@pytest.mark.parametrize("size", [0, 1, 7])
def test_array_array_of_each_code(code: str, dtype: str, size: int) -> None:
    given = array.array(code, weigh.sample(dtype, size).tolist())
    assert weigh.kernel(dtype)(given) == weigh.weighed(given)
    assert (fr.asarray(given).dtype, fr.asarray(given).shape) == (np.dtype(dtype), (size,))


@pytest.mark.parametrize("dtype", weigh.TYPES)
@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_memoryviews_of_ndarrays(dtype: str, rank: int) -> None:
    base = weigh.sample(dtype, (4, 3, 5)[:rank])
    views = (
        [base, base[::2], base[::-1], base[1:, ..., ::2]]
        if rank > 1
        else [base, base[::-1]]
        if rank
        else [base]
    )
    for view in views:
        assert weigh.kernel(dtype, rank)(memoryview(view)) == weigh.weighed(view)
        ours = fr.asarray(memoryview(view))
        assert (ours.dtype, ours.shape, ours.strides) == (view.dtype, view.shape, view.strides)


class Formatted(ctypes.Structure):
    """A struct: its buffer has the format T{...}."""

    _fields_ = [("x", ctypes.c_double)]


@pytest.mark.parametrize(("format_", "dtype"), [
    ("l", "int64"), ("q", "int64"), ("@d", "float64"), ("?", "bool"), ("n", "int64"), ("N", "uint64"),
    ("@q", "int64"), ("@B", "uint8"), ("b", "int8"),
])  # fmt: skip
def test_formats_of_cast_memoryviews(format_: str, dtype: str) -> None:
    base = weigh.sample(dtype, 6)
    given = memoryview(base).cast("B").cast(format_)
    assert weigh.kernel(dtype)(given) == weigh.weighed(base)


@pytest.mark.parametrize(("ctype", "dtype"), [
    (ctypes.c_double, "float64"), (ctypes.c_float, "float32"), (ctypes.c_int64, "int64"), (ctypes.c_bool, "bool"),
    (ctypes.c_uint8, "uint8"), (ctypes.c_int16, "int16"),
])  # fmt: skip
def test_ctypes_arrays(ctype: Any, dtype: str) -> None:
    """Their formats carry the byte order: '<d'."""
    values = weigh.sample(dtype, 6)
    assert weigh.kernel(dtype)((ctype * 6)(*values.tolist())) == weigh.weighed(values)
    matrix = (ctype * 3 * 2)(*((ctype * 3)(*row) for row in values.reshape(2, 3).tolist()))
    assert weigh.kernel(dtype, 2)(matrix) == weigh.weighed(values)


class Buffer(ctypes.Structure):
    """Py_buffer, for formats that no library makes."""

    _fields_ = [
        ("buf", ctypes.c_void_p), ("obj", ctypes.c_void_p), ("len", ctypes.c_ssize_t), ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int), ("ndim", ctypes.c_int), ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)), ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("suboffsets", ctypes.POINTER(ctypes.c_ssize_t)), ("internal", ctypes.c_void_p),
    ]  # fmt: skip


_kept: list[Any] = []  # a view made of a struct does not keep what the struct points to


def formatted(base: np.ndarray[Any, Any], format_: str, itemsize: int | None = None) -> memoryview:
    """A memoryview of the bytes of a vector whose items are said to be of that format."""
    make = ctypes.pythonapi.PyMemoryView_FromBuffer
    make.restype, make.argtypes = ctypes.py_object, [ctypes.POINTER(Buffer)]
    itemsize = itemsize or base.itemsize
    shape, strides = (ctypes.c_ssize_t * 1)(base.nbytes // itemsize), (ctypes.c_ssize_t * 1)(itemsize)
    text = format_.encode()
    _kept.extend([base, shape, strides, text])
    view = make(Buffer(base.ctypes.data, None, base.nbytes, itemsize, 0, 1, text, shape, strides, None, None))
    assert isinstance(view, memoryview) and view.format == format_
    return view


SPELT = {
    "float64": ["d", "@d", "=d", "<d"], "float32": ["f", "@f", "=f", "<f"], "float16": ["e", "=e", "<e"],
    "int64": ["l", "q", "@l", "@q", "=q", "<q", "n"], "uint64": ["L", "Q", "=Q", "<Q", "N"], "int32": ["i", "=i", "<i", "=l", "<l"],
    "uint32": ["I", "=I", "<I", "=L", "<L"], "int16": ["h", "=h", "<h"], "uint16": ["H", "<H"],
    "int8": ["b", "=b", "<b", ">b", "!b"], "uint8": ["B", "=B", ">B", "!B"], "bool": ["?", "=?", ">?"],
    "complex64": ["Zf", "=Zf", "<Zf"], "complex128": ["Zd", "@Zd", "=Zd", "<Zd"],
}  # fmt: skip


@pytest.mark.parametrize(("dtype", "format_"), [(d, f) for d, formats in SPELT.items() for f in formats])
def test_formats_by_kind_and_size(dtype: str, format_: str) -> None:
    """Standard sizes where an order is said: 'l' is int64, '=l' is int32."""
    base = weigh.sample(dtype, 6)
    given = formatted(base, format_)
    assert weigh.kernel(dtype)(given) == weigh.weighed(base)
    assert fr.asarray(given).dtype == np.dtype(dtype)


@pytest.mark.parametrize("format_", [">d", "!d", ">q", ">e", ">Zf", ">Zd", ">l"])
def test_formats_in_foreign_order(format_: str) -> None:
    itemsize = {"e": 2, "l": 4}.get(format_[-1], 16 if format_ == ">Zd" else 8)
    given = formatted(np.zeros(6), format_, itemsize)
    for call in (weigh.kernel(), fr.asarray):
        with pytest.raises(TypeError, match=f"'x' has the buffer format '{format_}' in foreign byte order"):
            call(given)


@pytest.mark.parametrize(("format_", "itemsize"), [
    ("3d", 24), ("dd", 16), ("T{d:x:}", 8), ("P", 8), ("<3d", 24), ("(3)d", 24), ("T{=d:x:=d:y:}", 16), ("O", 8), ("xd", 8),
    ("dx", 16), ("Z", 8), ("Zg", 32), ("g", 16), ("c", 1), ("s", 1), ("3s", 3), ("w", 4), ("u", 2), ("", 1), ("<", 8), ("d ", 8),
    ("&d", 8), ("X{}", 8), ("1d", 8), ("d", 4), ("d", 2), ("f", 8), ("e", 4), ("?", 2), ("Zd", 8), ("Zf", 16), ("b", 8), ("q", 4),
    ("H", 4), ("i", 8), ("l", 2), ("d", 16),
])  # fmt: skip
def test_formats_that_are_no_element(format_: str, itemsize: int) -> None:
    given = formatted(np.zeros(6), format_, itemsize)
    for call in (weigh.kernel(), fr.asarray):
        with pytest.raises(errors.UserTypeError) as caught:
            call(given)
        assert f"'x' has the buffer format '{format_}'" in str(caught.value)


REFUSED = [
    (memoryview(np.zeros(3, ">f8")), "foreign byte order"), (memoryview(np.zeros(3, ">i2")), "foreign byte order"),
    ((ctypes.c_double.__ctype_be__ * 3)(), "foreign byte order"), ((Formatted * 3)(), "'T{"),
    (memoryview(np.zeros(3, "f8,f8")), "'T{"), (memoryview(np.zeros(3, "S3")), "'3s'"), ((ctypes.c_void_p * 3)(), "'P'|'<P'"),
    (memoryview(np.zeros(3, "g")), "'g'"), (memoryview(np.zeros(3, object)), "'O'"), (array.array("u", "abc"), "'w'|'u'"),
    (memoryview(b"abc").cast("c"), "'c'"), (memoryview(np.zeros(3, "U2")), "'2w'"),
    ((ctypes.POINTER(ctypes.c_double) * 3)(), "'&<d'"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "text"), REFUSED, ids=[text for _, text in REFUSED])
def test_formats_that_are_refused_by_name(given: Any, text: str) -> None:
    for call in (weigh.kernel(), fr.asarray):
        with pytest.raises(errors.UserTypeError, match=f"'x' has the buffer format .*({text})"):
            call(given)


def test_one_byte_has_no_order() -> None:
    for code in (">i1", ">u1", ">b1"):
        base = np.ones(3, code)
        assert weigh.kernel(base.dtype.name)(memoryview(base)) == 6


def test_buffers_are_given_back() -> None:
    block = bytearray(weigh.sample("uint8", 24).tobytes())
    take = weigh.kernel("uint8")
    for number in range(20):
        assert take(block) > 0
        block.extend(b"x")  # raises BufferError while an export is held
        for wrong in (weigh.kernel("float64"), weigh.kernel("uint8", 2)):
            with pytest.raises((TypeError, ValueError)):
                wrong(block)
            block.extend(b"x")
        assert len(block) == 24 + 3 * (number + 1)
    held = fr.asarray(block)
    with pytest.raises(BufferError):
        block.extend(b"x")
    view = held[1:]
    del held
    with pytest.raises(BufferError):
        block.extend(b"x")
    del view
    block.extend(b"x")


@pytest.mark.parametrize("count", [1, 3, 6])
def test_many_buffers_of_one_call_are_given_back(count: int) -> None:
    add3 = weigh.kernels.kernel("add3.c")
    given = [array.array("d", [1.0] * 4) for _ in range(3)]
    for _ in range(count):
        add3(*given)
        with pytest.raises((TypeError, ValueError)):
            add3(given[0], given[1], None)
        with pytest.raises((TypeError, ValueError)):
            add3(given[0], array.array("d", [1.0]), given[2])
    for one in given:
        one.append(1.0)


def test_read_only_buffers() -> None:
    take, add3 = weigh.kernel("uint8"), weigh.kernels.kernel("add3.c")
    assert take(b"\x01\x02") == 5 and fr.asarray(b"ab").readonly
    a, out = np.ones(4), memoryview(bytes(32)).cast("d")
    with pytest.raises(ValueError, match="'out' is read-only"):
        add3(a, a, out)
    assert bytes(out) == bytes(32)
    writable = memoryview(bytearray(32)).cast("d")
    add3(a, a, writable)
    assert writable.tolist() == [2.0] * 4
    with mmap.mmap(-1, 4096) as mapped:
        assert take(mapped) == 0


def test_a_released_memoryview_is_refused_with_its_reason() -> None:
    view = memoryview(bytes(8))
    view.release()
    with pytest.raises(
        errors.UserBufferError, match=r"'x' cannot be read through the buffer protocol: .*released"
    ) as caught:
        weigh.kernel("uint8")(view)
    assert type(caught.value.__cause__) is ValueError


def test_unaligned_buffers_are_refused_by_the_call_and_cured_by_a_copy() -> None:
    odd = memoryview(bytearray(25))[1:].cast("d")
    with pytest.raises(ValueError, match="'x' is not aligned"):
        weigh.kernel()(odd)
    assert weigh.kernel()(fr.asarray(odd).copy()) == 0.0


@pytest.mark.parametrize("dtype", weigh.TYPES)
@pytest.mark.parametrize("strides", ["absent", None, "given"])
def test_array_interface(dtype: str, strides: Any) -> None:
    base = weigh.sample(dtype, (4, 5))
    view = base[:, ::2] if strides == "given" else base
    given = WithInterface(
        view, **({} if strides == "given" else {"strides": ... if strides == "absent" else None})
    )
    assert weigh.kernel(dtype, 2)(given) == weigh.weighed(view)
    ours = fr.asarray(given)
    assert (ours.shape, ours.strides, ours.dtype) == (view.shape, view.strides, view.dtype)


def test_array_interface_is_honoured_where_it_says_read_only() -> None:
    add3, a, out = weigh.kernels.kernel("add3.c"), np.ones(4), np.zeros(4)
    add3(a, a, WithInterface(out))
    assert (out == 2).all()
    with pytest.raises(ValueError, match="'out' is read-only"):
        add3(a, a, WithInterface(out, data=(out.ctypes.data, True)))
    assert fr.asarray(WithInterface(out, data=(out.ctypes.data, True))).readonly


BASE = np.arange(3.0)
LIES: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"typestr": ">f8"}, TypeError, "typestr '>f8' in foreign byte order"), ({"typestr": "|V8"}, TypeError, "'|V8'"),
    ({"typestr": "<f16"}, TypeError, "'<f16'"), ({"typestr": "|O8"}, TypeError, "'|O8'"), ({"typestr": "<M8"}, TypeError, "'<M8'"),
    ({"typestr": "<U2"}, TypeError, "'<U2'"), ({"typestr": ""}, TypeError, "''"), ({"typestr": "f8"}, TypeError, "'f8'"),
    ({"typestr": b"<f8"}, TypeError, "'typestr'"), ({"typestr": ...}, TypeError, "'typestr'"),
    ({"mask": np.ones(3, bool)}, TypeError, "mask"), ({"data": None}, TypeError, "'data'"), ({"data": ...}, TypeError, "'data'"),
    ({"data": (0, False)}, BufferError, "no address"), ({"data": ("x", False)}, TypeError, "'data'"),
    ({"data": (1,)}, TypeError, "'data'"), ({"data": (2**70, False)}, BufferError, "'data'"), ({"shape": ...}, TypeError, "'shape'"),
    ({"shape": [3]}, TypeError, "'shape'"), ({"shape": (3.0,)}, TypeError, "'shape'"), ({"shape": (-1,)}, BufferError, "-1"),
    ({"shape": (2**62, 2**62)}, BufferError, "64 bits"), ({"shape": (2**70,)}, BufferError, "64 bits"),
    ({"strides": (8, 8)}, TypeError, "stride"), ({"strides": "dense"}, TypeError, "'strides'"), ({"strides": (0.5,)}, TypeError, "'strides'"),
    ({"shape": (1,) * 65}, BufferError, "rank 65"),
]  # fmt: skip


@pytest.mark.parametrize(("entries", "kind", "text"), LIES, ids=[f"{lie[0]}"[:40] for lie in LIES])
def test_interfaces_that_are_wrong(entries: dict[str, Any], kind: type[Exception], text: str) -> None:
    for call in (weigh.kernel(), fr.asarray):
        with pytest.raises(kind) as caught:
            call(WithInterface(BASE, **entries))
        assert isinstance(caught.value, errors.UserError)
        assert "'x' has an __array_interface__ that " in str(caught.value) and text in str(caught.value)


def test_an_interface_that_raises_or_is_none() -> None:
    class Raising:
        @property
        def __array_interface__(self) -> Any:
            raise RuntimeError("no memory today")

    with pytest.raises(errors.UserBufferError, match=r"'x'.*the array interface: no memory today"):
        weigh.kernel()(Raising())
    with pytest.raises(TypeError, match="is None, but a dict is expected"):
        weigh.kernel()(type("None_", (), {"__array_interface__": None})())


def test_the_owner_lives_as_long_as_the_array() -> None:
    class Owner:
        def __init__(self) -> None:
            self.memory = np.arange(3.0)
            self.__array_interface__ = self.memory.__array_interface__

    owner = Owner()
    gone = weakref.ref(owner)
    before = sys.getrefcount(owner)
    weigh.kernel()(owner)
    for wrong in ("int8", "float32"):
        with pytest.raises(TypeError):
            weigh.kernel(wrong)(owner)
    assert sys.getrefcount(owner) == before
    view = fr.asarray(owner)[1:]
    del owner
    assert gone() is not None and view[1] == 2.0
    del view
    assert gone() is None


# Our own buffers.


@pytest.mark.parametrize("dtype", weigh.TYPES)
@pytest.mark.parametrize("view", [np.s_[:], np.s_[::2], np.s_[::-1], np.s_[1:1], np.s_[:, 1]])
def test_our_buffer_is_that_of_numpy(dtype: str, view: Any) -> None:
    base = weigh.sample(dtype, (5, 4))[view]
    ours, numpys = memoryview(fr.asarray(base)), memoryview(base)
    for name in (
        "format",
        "itemsize",
        "shape",
        "strides",
        "ndim",
        "nbytes",
        "readonly",
        "c_contiguous",
        "f_contiguous",
    ):
        assert getattr(ours, name) == getattr(numpys, name), name
    assert ours.tobytes() == numpys.tobytes()
    base.flags.writeable = False
    assert memoryview(fr.asarray(base)).readonly


def test_requests_for_contiguous_or_writable_memory() -> None:
    strided, dense = fr.Array.zeros((4, 4))[::2], fr.Array.zeros((4, 4))
    assert bytes(dense) == bytes(128) and len(struct.pack("d", 0)) == 8
    for request in (bytes, lambda a: struct.unpack_from("d", a), lambda a: struct.pack_into("d", a, 0, 1.0)):
        with pytest.raises((BufferError, TypeError)):
            struct.unpack_from("d", strided) if request is bytes else request(strided)
    struct.pack_into("d", dense, 8, 5.0)
    assert dense[0, 1] == 5.0
    frozen = fr.asarray(bytes(32))
    with pytest.raises((BufferError, TypeError)):
        struct.pack_into("d", frozen, 0, 1.0)
    with pytest.raises(BufferError):
        memoryview(fr.Array.zeros(2, "bfloat16"))


def test_our_interface_is_that_of_numpy() -> None:
    for dtype in weigh.TYPES:
        base = weigh.sample(dtype, (3, 4))[:, ::2]
        ours, numpys = fr.asarray(base).__array_interface__, base.__array_interface__
        assert {**numpys, "descr": None} == {**ours, "descr": None}

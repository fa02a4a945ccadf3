"""DLPack tensors of others as arguments of a kernel and as arrays: every field of the struct is honoured, and a tensor is
given back exactly once."""

from __future__ import annotations

import array
import ctypes
import gc
import mmap
import sys
import threading
from typing import Any

import exporters
import numpy as np
import pytest
import weigh
from exporters import (
    CUDA,
    CUDA_HOST,
    CUDA_MANAGED,
    METAL,
    READ_ONLY,
    ROCM_HOST,
    Exporter,
    WithInterface,
    Wrapped,
    exchange_capsule,
    exchanging,
)  # fmt: skip

from ferrule import _rt, errors

F64 = (2, 64, 1)


def small_float(name: str) -> Any:
    """total(x) of the bits of a bfloat16 or a float8."""
    ctype, code = {
        "bfloat16": ("uint16_t", "FR_BF16"), "float8_e4m3fn": ("uint8_t", "FR_F8_E4M3FN"), "float8_e5m2": ("uint8_t", "FR_F8_E5M2"),
    }[name]  # fmt: skip
    return weigh.kernels.kernel("typed.c", f"-DTYPE={ctype}", f"-DDTYPE={code}")


def as_ndarray(exporter: Any) -> np.ndarray[Any, Any]:
    return np.asarray(_rt.from_dlpack(exporter))


@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize("dtype", weigh.TYPES)
@pytest.mark.parametrize(
    ("rank", "index"),
    [
        (0, ...), (1, np.s_[:]), (1, np.s_[::2]), (1, np.s_[1:-1]), (1, np.s_[::-1]), (1, np.s_[4:1:-2]),
        (2, np.s_[1:, 1:]), (2, np.s_[:, ::2]), (2, np.s_[::-1, ::-3]), (3, np.s_[:, 1:, ::2]),
    ],
)  # fmt: skip
def test_strides_and_offsets_in_elements_of_every_dtype(
    versioned: bool, dtype: str, rank: int, index: Any
) -> None:
    base = weigh.sample(dtype, [(), (9,), (5, 7), (3, 4, 5)][rank])
    view = base[index]
    # The data pointer is that of the base; byte_offset leads to the first element in logical order.
    offset = view.ctypes.data - base.ctypes.data
    exporter = Exporter(view, versioned=versioned, data=base.ctypes.data, byte_offset=offset)
    assert weigh.kernel(dtype, rank)(exporter) == weigh.weighed(view)
    imported = _rt.from_dlpack(exporter)
    assert imported.shape == view.shape and imported.dtype == view.dtype
    assert imported.strides == view.strides
    np.testing.assert_array_equal(np.asarray(imported), view)
    del imported
    assert exporter.deleted == 2


@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize("shape", [(4,), (2, 3), (2, 3, 4), (1, 1), (0,), (0, 3)])
def test_null_strides_are_dense(versioned: bool, shape: tuple[int, ...]) -> None:
    base = weigh.sample("float64", shape)
    exporter = Exporter(base, versioned=versioned, strides=None)
    assert weigh.kernel("float64", len(shape))(exporter) == weigh.weighed(base)
    np.testing.assert_array_equal(as_ndarray(exporter), base)


@pytest.mark.parametrize("versioned", [False, True])
def test_rank_zero_with_null_shape(versioned: bool) -> None:
    value = np.array(3.0)
    exporter = Exporter(value, versioned=versioned, shape=None, strides=None)
    assert weigh.kernel("float64", 0)(exporter) == 3.0
    assert _rt.from_dlpack(exporter).shape == ()
    assert _rt.from_dlpack(exporter)[()] == 3.0


@pytest.mark.parametrize("data", [None, 8, 1 << 40])
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 4)])
def test_data_of_arrays_without_elements_is_not_read(data: Any, shape: tuple[int, ...]) -> None:
    exporter = Exporter(np.zeros(shape), data=data)
    assert weigh.kernel("float64", len(shape))(exporter) == 0.0
    assert _rt.from_dlpack(exporter).shape == shape


def test_elements_without_data_are_refused() -> None:
    exporter = Exporter(np.zeros(3), data=None)
    with pytest.raises(BufferError, match="'x' has elements, but no data"):
        weigh.kernel()(exporter)
    assert exporter.deleted == 1


@pytest.mark.parametrize("stride", [0, 1, 7, -1, 2**62])
def test_strides_of_short_axes_do_not_matter(stride: int) -> None:
    total = weigh.kernels.kernel("typed.c", "-DTYPE=double", "-DDTYPE=FR_F64", "-DRANK=2")
    column = np.arange(3.0).reshape(3, 1)
    for array_, strides in (
        (column, (1, stride)),
        (column.T, (stride, 1)),
        (np.zeros((0, 4)), (stride, stride)),
    ):
        assert total(Exporter(array_, strides=strides)) == array_.sum()
        np.testing.assert_array_equal(as_ndarray(Exporter(array_, strides=strides)), array_)


SHORT_AXES = [
    ((1,), (0,)), ((3, 1), (1,)), ((1, 3), (0,)), ((1, 1), (0, 1)), ((0, 4), (0, 1)), ((4, 0), (0, 1)), ((0,), (0,)),
]  # fmt: skip
WAYS: dict[str, Any] = {
    "versioned": lambda view: Exporter(view),
    "unversioned": lambda view: Exporter(view, versioned=False),
    "table": lambda view: exchanging(exchange_capsule())(view),
    "owning table": lambda view: exchanging(exchange_capsule(borrow=False))(view),
    "interface": WithInterface,
    "buffer": memoryview,
    "ndarray": lambda view: view,
    "array": _rt.asarray,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("stride", [0, 1, 7, -1])
@pytest.mark.parametrize(("shape", "free"), SHORT_AXES)
def test_every_source_is_contiguous_whatever_the_strides_that_do_not_matter(
    way: str, stride: int, shape: tuple[int, ...], free: tuple[int, ...]
) -> None:
    base = np.arange(1.0, 1.0 + int(np.prod(shape))).reshape(shape)
    strides = [8 * stride if axis in free else given for axis, given in enumerate(base.strides)]
    view = np.lib.stride_tricks.as_strided(base, shape, strides)
    rank = f"-DRANK={len(shape)}"
    total = weigh.kernels.kernel("typed.c", "-DTYPE=double", "-DDTYPE=FR_F64", rank)
    assert total(WAYS[way](view)) == base.sum()
    assert weigh.kernel("float64", len(shape))(WAYS[way](view)) == weigh.weighed(base)
    np.testing.assert_array_equal(np.asarray(_rt.asarray(WAYS[way](view))), base)


def test_negative_strides_through_dlpack_alone() -> None:
    assert weigh.kernel()(Wrapped(np.arange(3.0)[::-1])) == 1 * 2 + 2 * 1


@pytest.mark.parametrize("dtype", ["float64", "int8", "complex64"])
def test_the_name_of_the_capsule_decides_the_layout(dtype: str) -> None:
    base = weigh.sample(dtype, (5,))
    for versioned in (False, True):
        assert weigh.kernel(dtype)(Exporter(base, versioned=versioned)) == weigh.weighed(base)
    for name in (b"", b"tensor", b"dltensor2", b"used_dltensor_"):
        exporter = Exporter(base, name=name)
        with pytest.raises(errors.UserBufferError, match=f"weigh.*'x'.*'{name.decode()}'"):
            weigh.kernel(dtype)(exporter)
        with pytest.raises(errors.UserBufferError, match=f"from_dlpack.*'x'.*'{name.decode()}'"):
            _rt.from_dlpack(exporter.capsule())
        assert exporter.deleted == 0


@pytest.mark.parametrize("major", [0, 2, 3, 2**32 - 1])
def test_other_major_versions_are_given_back_unread(major: int) -> None:
    base = np.arange(3.0)
    # What follows the flags is garbage.
    exporter = Exporter(
        base,
        version=(major, 0),
        data=1,
        ndim=-5,
        shape=None,
        strides=None,
        dtype=(99, 99, 99),
        tensor_device=(2, 0),
    )
    exporter.device = (1, 0)
    for call in (weigh.kernel(), _rt.from_dlpack):
        before = exporter.deleted
        with pytest.raises(errors.UserBufferError, match=f"version {major}"):
            call(exporter)
        assert exporter.deleted == before + 1


def test_nothing_behind_the_flags_of_another_major_version_is_read() -> None:
    """The struct ends with the last byte of a page; the next one cannot be read."""
    page, head = mmap.PAGESIZE, exporters.ManagedVersioned.tensor.offset
    block = mmap.mmap(-1, 2 * page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(block))
    exporter = Exporter(np.arange(3.0), version=(2, 0))
    ctypes.memmove(start + page - head, ctypes.addressof(exporter.managed()), head)
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    assert protect(ctypes.c_void_p(start + page), ctypes.c_size_t(page), 0) == 0
    for call in (weigh.kernel(), _rt.asarray, _rt.from_dlpack):
        capsule = exporters._new(start + page - head, exporters.VERSIONED, None)
        exporter.capsule = lambda capsule=capsule: capsule  # type: ignore[method-assign, misc]
        with pytest.raises(errors.UserBufferError, match=r"'x' has DLPack version 2\.0"):
            call(exporter)
        assert exporters.capsule_name(capsule) == "used_dltensor_versioned"
    assert exporter.deleted == 3
    assert (
        protect(ctypes.c_void_p(start + page), ctypes.c_size_t(page), mmap.PROT_READ | mmap.PROT_WRITE) == 0
    )


@pytest.mark.parametrize("minor", [0, 1, 99, 2**32 - 1])
def test_every_minor_version_is_read(minor: int) -> None:
    base = np.arange(3.0)
    assert weigh.kernel()(Exporter(base, version=(1, minor))) == weigh.weighed(base)


@pytest.mark.parametrize("versioned", [False, True])
def test_a_capsule_is_used_once(versioned: bool) -> None:
    exporter = Exporter(np.arange(3.0), versioned=versioned, same_capsule=True)
    weigh.kernel()(exporter)
    for call in (weigh.kernel(), _rt.from_dlpack, _rt.asarray):
        with pytest.raises(BufferError, match="'x' gave a capsule that was used already"):
            call(exporter)
    assert exporter.deleted == 1


@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize(
    "fields",
    [
        {"dtype": (17, 4, 1)}, {"tensor_device": (CUDA, 0)}, {"ndim": 65}, {"ndim": -1}, {"shape": (-1,)},
        {"shape": None, "ndim": 1}, {"data": None}, {"shape": (2**62, 2**62), "ndim": 2, "strides": None},
        {"shape": (3,), "strides": (2**61,)},
    ],
)  # fmt: skip
def test_a_refused_tensor_is_given_back_once_and_its_capsule_is_used(
    versioned: bool, fields: dict[str, Any]
) -> None:
    exporter = Exporter(np.arange(3.0), versioned=versioned, same_capsule=True, **fields)
    with pytest.raises(errors.UserBufferError, match="'x'"):
        weigh.kernel()(exporter)
    assert exporter.deleted == 1
    assert exporters.capsule_name(exporter.capsule()).startswith("used_dltensor")


class Scribbling(Exporter):
    """Its deleter handles an exception of its own and writes over the struct, as the heap does with what is freed."""

    references = 0

    def _delete(self, address: int | None) -> None:
        super()._delete(address)
        try:
            raise RuntimeError("inside of the deleter")
        except RuntimeError:
            ctypes.memset(self.tensor_.shape, 0xEE, 8 * self.array.ndim)
            ctypes.memset(address or 0, 0xEE, ctypes.sizeof(self.keep[-1]))
        self.references = sys.getrefcount(self._capsule)

    def tensor(self) -> exporters.Tensor:
        self.tensor_ = super().tensor()
        return self.tensor_


GIVEN_BACK: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"dtype": np.float32}, {}, "has dtype float32"), ({"shape": (3, 2)}, {}, r"has rank 2 and shape \(3, 2\)"),
    ({}, {"dtype": (2, 128, 1)}, "code 2, bits 128, lanes 1"), ({}, {"tensor_device": (CUDA, 5)}, "is on CUDA device 5"),
    ({}, {"ndim": 65}, "has rank 65"), ({}, {"shape": (-7,)}, "the negative extent -7"), ({}, {"version": (3, 9)}, "version 3.9"),
    ({}, {"data": None}, "no data"),
]  # fmt: skip


@pytest.mark.parametrize(("array_", "fields", "text"), GIVEN_BACK, ids=[case[2] for case in GIVEN_BACK])
def test_a_tensor_is_given_back_when_the_error_is_made_and_the_capsule_gone(
    array_: dict[str, Any], fields: dict[str, Any], text: str
) -> None:
    exporter = Scribbling(np.zeros(**{"shape": 3, **array_}), **fields)
    with pytest.raises(errors.UserError, match=f"'x' .*{text}"):
        weigh.kernel()(exporter)
    # The exporter's own reference and the argument of getrefcount().
    assert (exporter.deleted, exporter.references) == (1, 2)


@pytest.mark.parametrize("call", [_rt.asarray, _rt.from_dlpack])
def test_imports_give_back_when_the_error_is_made_and_the_capsule_gone(call: Any) -> None:
    for _, fields, text in GIVEN_BACK[2:]:
        exporter = Scribbling(np.zeros(3), **fields)
        with pytest.raises(errors.UserBufferError, match=f"'x' .*{text}"):
            call(exporter)
        assert (exporter.deleted, exporter.references) == (1, 2)
    exporter = Scribbling(np.zeros(3))
    call(exporter)
    assert (exporter.deleted, exporter.references) == (1, 2)
    copied = Scribbling(np.zeros(3), flags=exporters.IS_COPIED)
    with pytest.raises(errors.UserBufferError, match="'x' was copied by its exporter"):
        _rt.from_dlpack(copied, copy=False)
    assert copied.deleted == 1


@pytest.mark.parametrize("position", range(3))
@pytest.mark.parametrize("bad", [np.zeros(4, np.int16), [1.0], np.zeros(5), None])
def test_a_later_refusal_gives_everything_back(position: int, bad: Any) -> None:
    add3 = weigh.kernels.kernel("add3.c")
    given: list[Any] = [Exporter(np.ones(4)) for _ in range(3)]
    lent = [exporter for i, exporter in enumerate(given) if i != position]
    out = given[2].array
    given[position] = bad
    for by_name in (False, True):
        with pytest.raises((TypeError, ValueError)):
            add3(**dict(zip(("a", "b", "out"), given, strict=True))) if by_name else add3(*given)
    assert all(exporter.deleted == exporter.asked for exporter in lent)
    assert (out == 1).all()


class Old:
    """Knows no keywords, as exporters did before 2023."""

    def __init__(self, exporter: Exporter) -> None:
        self.exporter = exporter

    def __dlpack__(self, stream: Any = None) -> Any:
        return self.exporter.capsule()

    def __dlpack_device__(self) -> Any:
        return (1, 0)


@pytest.mark.parametrize("dtype", ["float64", "bool", "uint16"])
def test_older_exporters_are_asked_again_without_keywords(dtype: str) -> None:
    base = weigh.sample(dtype, (6,))
    exporter = Exporter(base, versioned=False)
    assert weigh.kernel(dtype)(Old(exporter)) == weigh.weighed(base)
    np.testing.assert_array_equal(np.asarray(_rt.from_dlpack(Old(exporter), copy=True)), base)
    np.testing.assert_array_equal(np.asarray(_rt.from_dlpack(Old(exporter), copy=False)), base)
    assert exporter.deleted == 3


def test_a_type_error_of_the_exporter_itself_is_kept() -> None:
    class Failing:
        def __dlpack__(self, **_: Any) -> Any:
            raise TypeError("no tensor today")

        def __dlpack_device__(self) -> Any:
            return (1, 0)

    with pytest.raises(errors.UserBufferError, match=r"'x'.*no tensor today") as caught:
        weigh.kernel()(Failing())
    assert type(caught.value.__cause__) is TypeError


KINDS = [
    (2, 32, 4), (0, 4, 1), (1, 4, 1), (3, 64, 1), (200, 8, 1), (15, 6, 1), (16, 6, 1), (17, 4, 1), (2, 80, 1), (2, 128, 1),
    (5, 0, 1), (5, 32, 1), (4, 32, 1), (6, 1, 1), (0, 128, 1), (2, 64, 0), (2, 8, 1), (7, 8, 1), (0, 24, 1),
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("versioned", [False, True])
def test_element_kinds_that_nobody_computes_with(kind: tuple[int, int, int], versioned: bool) -> None:
    code, bits, lanes = kind
    exporter = Exporter(np.arange(3.0), versioned=versioned, dtype=kind)
    for call in (weigh.kernel(), _rt.from_dlpack):
        with pytest.raises(errors.UserBufferError, match=f"'x'.*code {code}, bits {bits}, lanes {lanes}"):
            call(exporter)
    assert exporter.deleted == 2


def test_bfloat16_is_known_by_code_and_bits() -> None:
    bits = np.array([0x3F80, 0x4040], np.uint16)  # 1.0 and 3.0
    take = weigh.kernels.kernel("typed.c", "-DTYPE=uint16_t", "-DDTYPE=FR_BF16")
    assert take(Exporter(bits, dtype=(4, 16, 1))) == float(bits.sum())
    imported = _rt.from_dlpack(Exporter(bits, dtype=(4, 16, 1)))
    assert imported.dtype == "bfloat16" and imported[1] == 3.0
    assert take(imported) == float(bits.sum())
    for plain in (bits, bits.view("V2"), Exporter(bits), Exporter(bits.view(np.float16))):
        with pytest.raises(TypeError, match=r"'x' has dtype .*, but bfloat16 is expected"):
            take(plain)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_small_floats_of_numpy_are_known_by_their_class(name: str) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    bits = np.arange(5, dtype=f"u{2 if name == 'bfloat16' else 1}")
    take = small_float(name)
    given = bits.view(getattr(ml_dtypes, name))
    assert take(given) == bits.sum()
    ours = _rt.asarray(given[::2])
    assert (ours.dtype, ours.shape, ours.strides) == (name, (3,), (2 * bits.itemsize,))
    assert take(ours.copy()) == bits[::2].sum()
    for other in (bits.view(f"V{bits.itemsize}"), bits.view("f2") if name == "bfloat16" else bits.view("i1")):
        with pytest.raises(
            TypeError, match=rf"'x' has dtype \W?{other.dtype.str[1:]}|'x' has dtype (float16|int8)"
        ):
            take(other)


@pytest.mark.parametrize("name", ["float8_e3m4", "float8_e8m0fnu", "int4", "uint2"])
def test_other_extension_dtypes_are_refused_by_name(name: str) -> None:
    given = np.zeros(3, getattr(pytest.importorskip("ml_dtypes"), name))
    for call in (weigh.kernel("uint8"), small_float("float8_e5m2"), _rt.asarray):
        with pytest.raises(TypeError, match=f"'x' has dtype {name}"):
            call(given)


@pytest.mark.parametrize("dtype", ["V1", "V2", "V8"])
def test_plain_void_is_no_number(dtype: str) -> None:
    for call in (weigh.kernel("uint16"), small_float("bfloat16"), _rt.asarray):
        with pytest.raises(TypeError, match=rf"'x' has dtype \|{dtype}"):
            call(np.zeros(3, dtype))


def test_bool_is_bool() -> None:
    flags = np.array([True, False, True])
    for given in (flags, Exporter(flags), Wrapped(flags), memoryview(flags)):
        assert weigh.kernel("bool")(given) == 4
        with pytest.raises(TypeError, match="'x' has dtype bool, but uint8 is expected"):
            weigh.kernel("uint8")(given)
    numbers = flags.astype(np.uint8)
    for given in (numbers, Exporter(numbers), Wrapped(numbers), memoryview(numbers)):
        with pytest.raises(TypeError, match="'x' has dtype uint8, but bool is expected"):
            weigh.kernel("bool")(given)
    assert np.from_dlpack(_rt.from_dlpack(Exporter(flags))).dtype == np.bool_


@pytest.mark.parametrize(
    "given", [np.zeros(3, "g"), np.zeros(3, ">f8"), np.zeros(3, object), np.zeros(3, "M8[s]"), np.zeros(3, "S4"),
    np.zeros(3, [("a", "u1"), ("b", "f8")])["b"]],
    ids=lambda given: given.dtype.str,
)  # fmt: skip
def test_what_the_exporter_refuses_stays_refused(given: np.ndarray[Any, Any]) -> None:
    class Also(Wrapped):
        """Offers the same memory in two other ways, which must not be tried."""

        @property
        def __array_interface__(self) -> Any:
            raise AssertionError("not asked")

    with pytest.raises(BufferError) as reason:
        given.__dlpack__(max_version=(1, 0))
    for call in (weigh.kernel(), _rt.asarray, _rt.from_dlpack):
        with pytest.raises(errors.UserBufferError) as caught:
            call(Also(given))
        assert "'x'" in str(caught.value) and str(reason.value).rstrip(".") in str(caught.value)
        assert type(caught.value.__cause__) is BufferError


@pytest.mark.parametrize(
    ("device", "name"),
    [((CUDA, 0), "CUDA device 0"), ((METAL, 3), "Metal device 3"), ((12, 0), "extension"), ((14, 1), "oneAPI"), ((99, 0), "99"),
     ((0, 0), "0"), ((-1, 0), "-1")],
)  # fmt: skip
@pytest.mark.parametrize("says_so", [False, True])
def test_memory_of_other_devices_is_never_read(device: tuple[int, int], name: str, says_so: bool) -> None:
    fields = {"data": 0xDEAD0000, "dtype": F64}
    exporter = Exporter(np.zeros(3), **fields)
    exporter.fields["tensor_device"] = device
    exporter.device = device if says_so else (1, 0)
    for call in (weigh.kernel(), _rt.from_dlpack, _rt.asarray):
        before = exporter.deleted, exporter.asked
        with pytest.raises(errors.UserBufferError, match=f"'x' is on .*{name}"):
            call(exporter)
        # A device that is told beforehand is refused before a tensor is made.
        assert (exporter.deleted, exporter.asked) == (before[0] + (not says_so), before[1] + (not says_so))


@pytest.mark.parametrize("device", [CUDA_HOST, ROCM_HOST, CUDA_MANAGED])
def test_memory_that_the_host_reads_is_taken(device: int) -> None:
    base = np.arange(4.0)
    assert weigh.kernel()(Exporter(base, device=(device, 0))) == weigh.weighed(base)


@pytest.mark.parametrize("device", [None, 1, "cpu", (1,), (1, 0, 0), ("cpu", 0)])
def test_a_device_that_is_none(device: Any) -> None:
    exporter = Exporter(np.arange(3.0))
    exporter.device = device
    with pytest.raises(errors.UserBufferError, match="'x'"):
        weigh.kernel()(exporter)


def test_an_array_that_hides_information() -> None:
    masked = np.ma.masked_array([1.0, 2.0], [0, 1])
    plain = np.ma.masked_array([1.0, 2.0])  # without a mask today
    for call in (weigh.kernel(), _rt.asarray, _rt.from_dlpack):
        for given in (masked, plain, masked.view(type("Derived", (np.ma.MaskedArray,), {}))):
            with pytest.raises(TypeError, match="'x' is a masked array, whose mask would be ignored"):
                call(given)


class Grown:
    """What NumPy's scalars have from 2.6 on."""

    __dlpack_c_exchange_api__ = exchange_capsule()

    def __dlpack__(self, **_: Any) -> Any:
        raise AssertionError("a scalar was asked for a tensor")

    def __dlpack_device__(self) -> Any:
        raise AssertionError("a scalar was asked for a device")


@pytest.mark.parametrize(
    "kind", ["float64", "float32", "float16", "int64", "uint8", "complex128", "longdouble", "str_", "bytes_"]
)
def test_numpy_scalars_that_grow_dlpack_stay_scalars(kind: str) -> None:
    value = type("Scalar", (Grown, getattr(np, kind)), {})(2)
    with pytest.raises(TypeError, match="'x' is a Scalar, but an array of dtype float64 is expected"):
        weigh.kernel("float64", 0)(value)
    with pytest.raises(TypeError, match=r"'x' is of type .*Scalar, which offers no array"):
        _rt.asarray(value)
    if kind == "float64":
        x = np.zeros((1, 1))
        weigh.kernels.kernel("strided.c")(x, value=value)
        assert x[0, 0] == 2.0


@pytest.mark.parametrize("flags", [0, READ_ONLY])
@pytest.mark.parametrize("versioned", [False, True])
def test_writing_needs_a_versioned_tensor_without_the_flag(flags: int, versioned: bool) -> None:
    add3 = weigh.kernels.kernel("add3.c")
    a, out = np.ones(4), np.zeros(4)
    exporter = Exporter(out, versioned=versioned, flags=flags)
    writable = versioned and not flags
    assert _rt.from_dlpack(exporter).readonly is not writable
    if writable:
        add3(a, a, exporter)
        np.testing.assert_array_equal(out, 2 * a)
        return
    with pytest.raises(ValueError, match="'out' is read-only"):
        add3(a, a, exporter)
    assert not out.any() and exporter.deleted == exporter.asked


def test_a_copy_of_the_exporter_is_not_written() -> None:
    add3 = weigh.kernels.kernel("add3.c")
    a = np.ones(4)
    exporter = Exporter(np.zeros(4), flags=exporters.IS_COPIED)
    with pytest.raises(BufferError, match="'out' was copied by its exporter"):
        add3(a, a, exporter)
    assert weigh.kernel()(exporter) == 0.0
    with pytest.raises(BufferError, match="copy=False"):
        _rt.from_dlpack(exporter, copy=False)
    assert exporter.deleted == exporter.asked == 3


@pytest.mark.parametrize("versioned", [False, True])
def test_a_null_deleter_is_not_called(versioned: bool) -> None:
    exporter = Exporter(np.arange(4.0), versioned=versioned, deleter=False)
    assert weigh.kernel()(exporter) == weigh.weighed(exporter.array)
    imported = _rt.from_dlpack(exporter)
    del imported
    with pytest.raises(TypeError):
        weigh.kernel("int8")(exporter)


def test_offset_slice_and_export_again() -> None:
    base = np.arange(24.0).reshape(4, 6)
    exporter = Exporter(base[1:, 2:], data=base.ctypes.data, byte_offset=8 * 8)
    view = _rt.from_dlpack(exporter)[::2, 1:]
    expected = base[1:, 2:][::2, 1:]
    versioned = exporters.versioned_of(view.__dlpack__(max_version=(1, 3))).tensor
    assert versioned.byte_offset == 0
    assert versioned.data == expected.ctypes.data
    np.testing.assert_array_equal(np.from_dlpack(view), expected)
    np.testing.assert_array_equal(as_ndarray(view), expected)
    writable = _rt.from_dlpack(Exporter(base[1:, 2:], data=base.ctypes.data, byte_offset=8 * 8))[::2, 1:]
    unversioned = writable.__dlpack__()
    assert exporters.unversioned_of(unversioned).tensor.byte_offset == 0
    np.testing.assert_array_equal(np.asarray(_rt.from_dlpack(unversioned)), expected)


def test_capsules_are_taken_by_from_dlpack_alone() -> None:
    base = np.arange(3.0)
    np.testing.assert_array_equal(np.asarray(_rt.from_dlpack(base.__dlpack__())), base)
    with pytest.raises(TypeError, match=r"'x' is a PyCapsule.*pass ferrule\.from_dlpack\(x\)"):
        weigh.kernel()(base.__dlpack__())


def test_what_from_dlpack_raises() -> None:
    for nothing in (1.0, [1.0], object(), array.array("d", [1.0])):
        with pytest.raises(AttributeError, match="__dlpack__"):
            _rt.from_dlpack(nothing)
    base = np.arange(3.0)
    for device in (None, "cpu", (1, 0)):
        assert _rt.from_dlpack(base, device=device)[2] == 2.0
    for other in ("cuda", (2, 0), (1, 1), 1, (1, 0, 0)):
        with pytest.raises(BufferError, match="device 'cpu'"):
            _rt.from_dlpack(base, device=other)
    for copy in (0, "yes"):
        with pytest.raises(TypeError, match="'copy'"):
            _rt.from_dlpack(base, copy=copy)
    with pytest.raises(TypeError):
        _rt.from_dlpack(base, None, None)


@pytest.mark.parametrize("copy", [None, False, True])
def test_copy_decides_whether_memory_is_shared(copy: bool | None) -> None:
    base = np.arange(6.0)[::2]
    imported = _rt.from_dlpack(base, copy=copy)
    assert np.shares_memory(np.asarray(imported), base) is not copy
    np.testing.assert_array_equal(np.asarray(imported), base)
    assert not imported.readonly


def test_the_last_user_gives_a_tensor_back_from_any_thread() -> None:
    exporter = Exporter(np.arange(5.0))
    views = [_rt.from_dlpack(exporter)]
    views += [views[0][1:], views[0][::2], np.from_dlpack(views[0]), memoryview(views[0])]
    while views:
        assert exporter.deleted == 0
        view = views.pop(0)
        thread = threading.Thread(target=lambda held: held.clear(), args=([view],))
        del view
        thread.start()
        thread.join()
    gc.collect()
    assert exporter.deleted == 1


def test_exporters_that_change_earlier_arguments() -> None:
    """The code of an exporter may run anything: what was read of other arguments before is read again."""
    add3 = weigh.kernels.kernel("add3.c")
    first, out = np.arange(4.0), np.zeros(2)

    class Shrinking(Exporter):
        def __dlpack__(self, **keywords: Any) -> Any:
            first.resize((2,), refcheck=False)
            return super().__dlpack__(**keywords)

    add3(first, Shrinking(np.ones(2)), out)
    np.testing.assert_array_equal(out, [1, 2])


def test_a_deleter_that_calls_back() -> None:
    """A deleter may run any code, also a call of the same kernel."""
    weigh_kernel = weigh.kernel()

    class Calling(Exporter):
        def _delete(self, address: int | None) -> None:
            super()._delete(address)
            assert weigh_kernel(np.arange(3.0)) == 8

    exporter = Calling(np.arange(4.0))
    assert weigh_kernel(exporter) == 20
    assert exporter.deleted == 1


def test_reading_memory_that_is_not_aligned() -> None:
    block = ctypes.create_string_buffer(65)
    odd = np.frombuffer(block, np.uint8)[1:33].view(np.float64)
    with pytest.raises(ValueError, match="'x' is not aligned"):
        weigh.kernel()(Exporter(odd))
    imported = _rt.from_dlpack(Exporter(odd))
    assert weigh.kernel()(imported.copy()) == 0.0

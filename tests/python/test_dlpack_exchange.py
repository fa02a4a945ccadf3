"""The C exchange table of a type: what goes through it, what falls back to __dlpack__, and the table of our own arrays."""

from __future__ import annotations

import ctypes
import gc
import itertools
from typing import Any

import exporters
import numpy as np
import pytest
import weigh
from exporters import CUDA, READ_ONLY, Exporter, Tensor, exchange_capsule, exchanging

import ferrule as fr
from ferrule import _rt, errors

VIEWS = list(
    itertools.product(
        ["float64", "float32", "int64", "uint8", "bool", "complex128", "float16"],
        [((9,), np.s_[:]), ((9,), np.s_[::2]), ((9,), np.s_[::-1]), ((5, 6), np.s_[1:, ::3]), ((5, 6), np.s_[:, 2:3]),
         ((2, 3, 4), np.s_[:, ::2]), ((0, 3), np.s_[:]), ((), ...)],
    )
)  # fmt: skip


@pytest.mark.parametrize(("dtype", "view"), VIEWS)
def test_the_table_reads_what_dlpack_reads(dtype: str, view: Any) -> None:
    calls: list[str] = []
    base = weigh.sample(dtype, view[0])[view[1]]
    fast, slow = exchanging(exchange_capsule(calls=calls))(base), Exporter(base)
    take = weigh.kernel(dtype, base.ndim)
    assert take(fast) == take(slow) == weigh.weighed(base)
    assert (calls, fast.asked, slow.asked) == (["borrow"], 0, 1)


FAULTS: list[tuple[str, Any, dict[str, Any]]] = [
    ("float64", np.zeros(3, np.float32), {}), ("float64", np.zeros((3, 1)), {}), ("float64", np.zeros(3), {"data": None}),
    ("float64", np.zeros(3), {"dtype": (17, 4, 1)}), ("float64", np.zeros(3), {"tensor_device": (CUDA, 0)}),
    ("float64", np.zeros(3), {"ndim": 65}), ("float64", np.zeros(3), {"shape": (-3,)}),
    ("int8", np.zeros(3, np.uint8), {}), ("float64", np.zeros(25, "u1")[1:].view("f8"), {}),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "base", "fields"), FAULTS)
def test_the_table_refuses_what_dlpack_refuses(dtype: str, base: Any, fields: dict[str, Any]) -> None:
    fast, slow = exchanging(exchange_capsule())(base, **fields), Exporter(base, **fields)
    with pytest.raises(errors.UserError) as wanted:
        weigh.kernel(dtype)(slow)
    with pytest.raises(errors.UserError) as got:
        weigh.kernel(dtype)(fast)
    assert (type(got.value), str(got.value)) == (type(wanted.value), str(wanted.value))
    assert (fast.deleted, slow.deleted) == (fast.made, slow.made)


def test_the_quick_path_makes_no_python_object() -> None:
    """The table of fr.Array itself is native, so nothing but the kernel's result is made."""
    add3 = weigh.kernels.kernel("add3.c")
    a, b, out = (_rt.asarray(np.ones(4)) for _ in range(3))

    def blocks() -> int:
        import sys

        before = sys.getallocatedblocks()
        for _ in range(100):
            add3(a, b, out)
        return sys.getallocatedblocks() - before

    blocks()
    assert blocks() <= 1


def test_without_the_borrowing_entry_the_owning_one_is_used() -> None:
    calls: list[str] = []
    exporter = exchanging(exchange_capsule(borrow=False, calls=calls))(np.arange(4.0))
    assert weigh.kernel()(exporter) == 20
    assert (calls, exporter.asked, exporter.deleted) == (["own"], 0, 1)
    with pytest.raises(TypeError):
        weigh.kernel("int8")(exporter)
    assert exporter.deleted == 2


def test_tables_may_own_without_a_deleter() -> None:
    exporter = exchanging(exchange_capsule(borrow=False))(np.arange(4.0), deleter=False)
    assert weigh.kernel()(exporter) == 20
    with pytest.raises(TypeError):
        weigh.kernel("int8")(exporter)
    out = ctypes.c_void_p()
    assert TO_OBJECT(ctypes.addressof(exporter.managed()), ctypes.byref(out)) == 0
    array = ctypes.cast(out, ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(array))
    np.testing.assert_array_equal(np.asarray(array), exporter.array)


def test_written_tensors_are_owned_because_only_that_entry_tells_whether_they_may_be() -> None:
    calls: list[str] = []
    kind = exchanging(exchange_capsule(calls=calls))
    a, out, frozen = kind(np.ones(4)), kind(np.zeros(4)), kind(np.zeros(4), flags=READ_ONLY)
    add3 = weigh.kernels.kernel("add3.c")
    add3(a, a, out)
    np.testing.assert_array_equal(out.array, [2, 2, 2, 2])
    assert calls == ["borrow", "borrow", "own"]
    with pytest.raises(ValueError, match="'out' is read-only"):
        add3(a, a, frozen)
    assert not frozen.array.any() and (out.deleted, frozen.deleted) == (1, 1)


def test_tables_of_other_versions() -> None:
    calls: list[str] = []
    older = exchange_capsule(calls=calls)
    newer = exchange_capsule(major=2, previous=exporters.table_address(older), calls=["never"])
    exporter = exchanging(newer)(np.arange(4.0))
    assert weigh.kernel()(exporter) == 20
    assert (calls, exporter.asked) == (["borrow"], 0)
    newest = exchange_capsule(major=3, previous=exporters.table_address(newer), calls=["never"])
    assert weigh.kernel()(exchanging(newest)(np.arange(4.0))) == 20
    assert calls == ["borrow", "borrow"]
    owning = exchange_capsule(borrow=False, calls=calls)
    through = exchange_capsule(major=2, previous=exporters.table_address(owning))
    owned_ = exchanging(through)(np.arange(4.0))
    assert weigh.kernel()(owned_) == 20
    assert (calls[-1], owned_.asked, owned_.deleted) == ("own", 0, 1)
    alone = exchanging(exchange_capsule(major=2))(np.arange(4.0))
    assert weigh.kernel()(alone) == 20
    assert (alone.asked, alone.deleted) == (1, 1)


@pytest.mark.parametrize("attribute", [None, 1, "text", exporters.exchange_capsule])
def test_attributes_that_are_no_table(attribute: Any) -> None:
    exporter = exchanging(attribute)(np.arange(4.0))
    assert weigh.kernel()(exporter) == 20
    assert exporter.asked == 1


def test_a_type_that_changes_is_asked_again() -> None:
    calls: list[str] = []
    kind = exchanging(exchange_capsule(calls=calls))
    exporter = kind(np.arange(4.0))
    take = weigh.kernel()
    assert take(exporter) == 20 and calls == ["borrow"]
    del kind.__dlpack_c_exchange_api__  # type: ignore[attr-defined]
    assert take(exporter) == 20 and (calls, exporter.asked) == (["borrow"], 1)
    kind.__dlpack_c_exchange_api__ = exchange_capsule(calls=calls)  # type: ignore[attr-defined]
    assert take(exporter) == 20 and (calls, exporter.asked) == (["borrow", "borrow"], 1)


def test_types_come_and_go() -> None:
    """Entries of the table of types do not outlive their type, though another comes to lie where it was."""
    take = weigh.kernel()
    for round_ in range(300):
        calls: list[str] = []
        with_table = round_ % 2 == 0
        kind = exchanging(exchange_capsule(calls=calls)) if with_table else type("Plain", (Exporter,), {})
        exporter = kind(np.arange(4.0))
        assert take(exporter) == 20
        assert (calls, exporter.asked) == ((["borrow"], 0) if with_table else ([], 1))
        exporters._exporters.remove(exporter)
        del kind, exporter
        if round_ % 50 == 0:
            gc.collect()


def test_derived_types_that_export_in_their_own_way() -> None:
    calls: list[str] = []
    base = exchanging(exchange_capsule(calls=calls))

    class Same(base):  # type: ignore[misc, valid-type]
        pass

    class Wrapper(base):  # type: ignore[misc, valid-type]
        """Its memory is that of another object, which the table does not know."""

        def __dlpack__(self, **keywords: Any) -> Any:
            return Exporter(self.array * 2).capsule()

    class Dispatching(base):  # type: ignore[misc, valid-type]
        __torch_dispatch__ = None

    take = weigh.kernel()
    assert take(Same(np.arange(4.0))) == 20 and calls == ["borrow"]
    assert take(Wrapper(np.arange(4.0))) == 40 and calls == ["borrow"]
    assert take(Dispatching(np.arange(4.0))) == 20 and calls == ["borrow"]


@pytest.mark.parametrize("way", ["table", "dlpack"])
@pytest.mark.parametrize("as_method", [False, True])
@pytest.mark.parametrize("question", ["is_conj", "is_neg", "requires_grad"])
def test_what_memory_does_not_show(way: str, as_method: bool, question: str) -> None:
    """Neither way checks by itself that values are conjugated, negated or recorded when they are read."""
    attributes: dict[str, Any] = {question: (lambda self: True) if as_method else True}
    kind = exchanging(exchange_capsule(), **attributes)
    if way == "dlpack":
        del kind.__dlpack_c_exchange_api__  # type: ignore[attr-defined]
    add3 = weigh.kernels.kernel("add3.c")
    dtype = np.complex128 if question == "is_conj" else np.float64
    out = kind(np.zeros(4, dtype))
    if question == "requires_grad":  # reading is the exporter's to refuse
        with pytest.raises(errors.UserBufferError, match="'out' requires gradients"):
            add3(np.ones(4), np.ones(4), out)
    else:
        with pytest.raises(errors.UserBufferError, match=r"'x' is to be .*resolve_"):
            weigh.kernel(out.array.dtype.name)(out)
    assert not out.array.any() and out.deleted == out.made >= 1


def test_errors_of_a_table_without_dlpack() -> None:
    def fail(obj: Any, out: Any) -> int:
        return -1

    capsule = exchange_capsule()
    table = exporters.Exchange.from_address(exporters.table_address(capsule))
    borrow, own = exporters._Borrow(fail), exporters._FromObject(fail)
    table.borrow, table.from_object = ctypes.cast(borrow, ctypes.c_void_p), ctypes.cast(own, ctypes.c_void_p)
    kind = type("Only", (), {"__dlpack_c_exchange_api__": capsule})
    for call in (weigh.kernel(), _rt.asarray):
        with pytest.raises(errors.UserBufferError, match="'x' is refused by its own C exchange table"):
            call(kind())
    exporter = exchanging(capsule)(np.arange(4.0))
    assert weigh.kernel()(exporter) == 20 and exporter.asked == 1


def test_a_table_without_dlpack() -> None:
    class Only:
        __dlpack_c_exchange_api__ = exchange_capsule()

        def __init__(self, exporter: Exporter) -> None:
            self.tensor, self.managed = exporter.tensor, exporter.managed

    exporter = Exporter(np.arange(4.0))
    assert weigh.kernel()(Only(exporter)) == 20
    assert _rt.asarray(Only(exporter))[3] == 3.0
    with pytest.raises(errors.UserBufferError, match=r"'x'.*code 9"):
        weigh.kernel()(Only(Exporter(np.arange(4.0), dtype=(9, 8, 1))))
    assert exporter.made == exporter.deleted == 1


# The table of fr.Array, called as a C++ library would.

TABLE, ALLOCATE, FROM_OBJECT, TO_OBJECT, BORROW, STREAM = exporters.functions_of(fr.Array)


def owned(array: Any) -> tuple[int, exporters.ManagedVersioned]:
    out = ctypes.c_void_p()
    assert FROM_OBJECT(array, ctypes.byref(out)) == 0
    return int(out.value or 0), exporters.ManagedVersioned.from_address(out.value or 0)


def values_of(tensor: Tensor) -> list[float]:
    item = tensor.dtype.bits // 8
    flat = range(tensor.shape[0]) if tensor.ndim else range(1)
    stride = tensor.strides[0] if tensor.ndim else 0
    return [ctypes.c_double.from_address(tensor.data + i * stride * item).value for i in flat]


def test_our_table_is_complete() -> None:
    assert (TABLE.major, TABLE.previous) == (1, None) and TABLE.minor >= 3
    assert all([TABLE.allocate, TABLE.from_object, TABLE.to_object, TABLE.borrow, TABLE.stream])
    assert not hasattr(fr.Array, "__c_dlpack_exchange_api__")


def test_our_owning_entry() -> None:
    base = np.arange(9.0)
    array = fr.asarray(base)[1::2]
    address, tensor = owned(array)
    del array
    base += 10
    assert values_of(tensor.tensor) == [11.0, 13.0, 15.0, 17.0] and tensor.tensor.byte_offset == 0
    assert tensor.flags == 0
    base.flags.writeable = False
    assert owned(fr.asarray(base))[1].flags == READ_ONLY
    exporters.Deleter(tensor.deleter)(address)
    with pytest.raises(TypeError, match=r"An Array is expected, got numpy\.ndarray"):
        FROM_OBJECT(base, ctypes.byref(ctypes.c_void_p()))


def test_our_borrowing_entry() -> None:
    base = np.arange(9.0)
    for view in (np.s_[:], np.s_[::-1], np.s_[2::3]):
        tensor = Tensor()
        array = fr.asarray(base)[view]
        assert BORROW(array, ctypes.byref(tensor)) == 0
        assert values_of(tensor) == base[view].tolist()
    scalar = fr.asarray(np.array(4.0))
    assert BORROW(scalar, ctypes.byref(tensor)) == 0
    assert values_of(tensor) == [4.0]
    base.flags.writeable = False
    for refused in (fr.asarray(base), fr.asarray(np.zeros(4, "u1,f8")["f1"])):
        with pytest.raises(BufferError):
            BORROW(refused, ctypes.byref(tensor))


def test_our_table_makes_arrays() -> None:
    exporter = Exporter(np.arange(3.0))
    out = ctypes.c_void_p()
    assert TO_OBJECT(ctypes.addressof(exporter.managed()), ctypes.byref(out)) == 0
    array = ctypes.cast(out, ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(array))
    np.testing.assert_array_equal(np.asarray(array), exporter.array)
    del array
    assert exporter.deleted == 1
    broken = Exporter(np.arange(3.0), tensor_device=(CUDA, 0))
    with pytest.raises(BufferError, match="CUDA"):
        TO_OBJECT(ctypes.addressof(broken.managed()), ctypes.byref(out))
    assert broken.deleted == 1


def test_our_allocator() -> None:
    messages: list[tuple[bytes, bytes]] = []
    report = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)(
        lambda _, kind, text: messages.append((kind, text))
    )
    like = Exporter(np.zeros((2, 3), np.float32)).tensor()
    out = ctypes.c_void_p()
    assert (
        ALLOCATE(ctypes.addressof(like), ctypes.addressof(out), None, ctypes.cast(report, ctypes.c_void_p))
        == 0
    )
    made = exporters.ManagedVersioned.from_address(out.value or 0)
    assert (
        made.tensor.data % 64 == 0 and made.tensor.shape[:2] == [2, 3] and made.tensor.strides[:2] == [3, 1]
    )
    exporters.Deleter(made.deleter)(out.value)
    for fields in (
        {"tensor_device": (CUDA, 0)},
        {"dtype": (17, 4, 1)},
        {"shape": (2**40, 2**40), "ndim": 2},
        {"shape": None},
    ):
        bad = Exporter(np.zeros(3), **fields).tensor()
        assert (
            ALLOCATE(ctypes.addressof(bad), ctypes.addressof(out), None, ctypes.cast(report, ctypes.c_void_p))
            == -1
        )
    assert len(messages) == 4 and all(kind == b"BufferError" for kind, _ in messages)


def test_our_stream_is_none() -> None:
    out = ctypes.c_void_p(5)
    assert STREAM(1, 0, ctypes.byref(out)) == 0 and out.value is None

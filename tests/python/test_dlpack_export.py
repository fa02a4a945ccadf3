"""What fr.Array exports: capsules for every combination of arguments, whose memory lives as long as its last user."""

from __future__ import annotations

import ctypes
import gc
import itertools
import subprocess
import sys
import threading
import weakref
from typing import Any

import exporters
import numpy as np
import pytest
import weigh
from hypothesis import given, settings
from hypothesis import strategies as st

import ferrule as fr

DTYPES = [*weigh.TYPES]


@given(
    dtype=st.sampled_from(DTYPES),
    shape=st.lists(st.integers(0, 4), max_size=4).map(tuple),
    step=st.sampled_from([None, -1, 2]),
    copy=st.sampled_from([None, False, True, "absent"]),
    max_version=st.one_of(st.none(), st.tuples(st.integers(0, 3), st.integers(0, 99))),
    dl_device=st.sampled_from([None, (1, 0), "absent"]),
    stream=st.sampled_from([None, "absent"]),
    frozen=st.booleans(),
)
@settings(deadline=None, max_examples=300)
def test_every_combination_of_arguments(
    dtype: str,
    shape: tuple[int, ...],
    step: Any,
    copy: Any,
    max_version: Any,
    dl_device: Any,
    stream: Any,
    frozen: bool,
) -> None:
    """The array API standard's own test, with the meaning of each argument besides."""
    base = weigh.sample(dtype, shape)
    view = base[::step] if base.ndim else base
    view.flags.writeable = not frozen
    array = fr.asarray(view)
    keywords = {"copy": copy, "max_version": max_version, "dl_device": dl_device, "stream": stream}
    keywords = {name: value for name, value in keywords.items() if value != "absent"}
    versioned = max_version is not None and max_version >= (1, 0)
    if frozen and not versioned and copy is not True:
        with pytest.raises(BufferError, match="read-only"):
            array.__dlpack__(**keywords)
        return
    capsule = array.__dlpack__(**keywords)
    assert exporters.capsule_name(capsule) == ("dltensor_versioned" if versioned else "dltensor")
    if versioned:
        struct = exporters.versioned_of(capsule)
        assert struct.major == 1
        assert bool(struct.flags & exporters.READ_ONLY) is (frozen and copy is not True)
        assert bool(struct.flags & exporters.IS_COPIED) is (copy is True)
    tensor = (exporters.versioned_of(capsule) if versioned else exporters.unversioned_of(capsule)).tensor
    assert (tensor.byte_offset, tensor.ndim, tensor.device.type) == (0, view.ndim, 1)
    assert [tensor.shape[i] for i in range(view.ndim)] == list(view.shape)
    if copy is not True:
        assert [tensor.strides[i] * view.itemsize for i in range(view.ndim)] == list(view.strides)
    imported = np.asarray(fr.from_dlpack(capsule))
    np.testing.assert_array_equal(imported, view)
    assert imported.dtype == view.dtype
    if view.size:
        assert np.shares_memory(imported, view) is (copy is not True)


@pytest.mark.parametrize(("version", "name"), [
    ("absent", "dltensor"), (None, "dltensor"), ((0, 8), "dltensor"), ((1, 0), "dltensor_versioned"),
    ((1, 3), "dltensor_versioned"), ((2, 0), "dltensor_versioned"),
])  # fmt: skip
def test_version_asked_and_given(version: Any, name: str) -> None:
    array = fr.Array.zeros(3)
    keywords = {} if version == "absent" else {"max_version": version}
    capsule = array.__dlpack__(**keywords)
    assert exporters.capsule_name(capsule) == name
    if name == "dltensor_versioned":
        assert exporters.versioned_of(capsule).major == 1


@pytest.mark.parametrize(("keywords", "kind"), [
    ({"max_version": 1}, TypeError), ({"max_version": (1, 0, 0)}, TypeError), ({"max_version": [1, 0]}, TypeError),
    ({"max_version": ("1", "0")}, TypeError), ({"stream": 0}, ValueError), ({"stream": 1}, ValueError),
    ({"stream": 2}, ValueError), ({"stream": -1}, ValueError), ({"stream": "cpu"}, ValueError),
    ({"dl_device": (2, 0)}, BufferError), ({"dl_device": (1, 1)}, BufferError), ({"dl_device": 1}, TypeError),
    ({"dl_device": (1, 0, 0)}, TypeError), ({"dl_device": "cpu"}, TypeError), ({"copy": 1}, TypeError),
    ({"copy": "no"}, TypeError), ({"steam": None}, TypeError),
])  # fmt: skip
def test_arguments_that_are_refused(keywords: dict[str, Any], kind: type[Exception]) -> None:
    with pytest.raises(kind, match=next(iter(keywords))):
        fr.Array.zeros(3).__dlpack__(**keywords)


def test_arguments_by_position_are_refused() -> None:
    with pytest.raises(TypeError, match="by name"):
        fr.Array.zeros(3).__dlpack__(None)  # type: ignore[misc]


def test_the_device() -> None:
    assert fr.Array.zeros(3).__dlpack_device__() == (1, 0)


def test_strides_that_dlpack_cannot_express() -> None:
    packed = fr.asarray(np.zeros(4, [("a", "u1"), ("b", "f8")])["b"])
    assert packed.strides == (9,)
    for keywords in ({}, {"max_version": (1, 0)}, {"copy": False}):
        with pytest.raises(BufferError, match=r"stride 9 bytes along axis 0.*item size 8.*\.copy\(\)"):
            packed.__dlpack__(**keywords)
    assert np.from_dlpack(packed.copy()).strides == (8,)
    assert packed[:1].__dlpack__() is not None
    assert np.from_dlpack(fr.from_dlpack(packed.__dlpack__(copy=True))).shape == (4,)


@pytest.mark.parametrize("index", [np.s_[:0], np.s_[:, :0], np.s_[:1, :1], np.s_[:0, :0]])
@pytest.mark.parametrize("swapped", [False, True])
def test_strides_between_no_elements_can_be_anything(index: Any, swapped: bool) -> None:
    packed = np.zeros((2, 3), [("a", "u1"), ("b", "f8")])["b"][index]
    packed = packed.T if swapped else packed
    array = fr.asarray(packed)
    for keywords in ({}, {"max_version": (1, 0)}, {"copy": False}):
        assert fr.from_dlpack(array.__dlpack__(**keywords)).shape == packed.shape
    assert np.from_dlpack(array).shape == packed.shape
    borrow = exporters.functions_of(fr.Array)[4]
    lent = exporters.Tensor()
    assert borrow(array, ctypes.byref(lent)) == 0 and lent.shape[:2] == list(packed.shape)


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_reads_and_writes_the_same_memory(dtype: str) -> None:
    array = fr.Array.zeros((2, 3), dtype)
    for view in (
        np.from_dlpack(array),
        np.asarray(array),
        np.asarray(memoryview(array)),
        np.array(array, copy=False),
    ):
        assert (view.dtype, view.shape) == (np.dtype(dtype), (2, 3))
        view[1, 2] += np.ones((), dtype)
        assert view.flags.writeable
    assert np.asarray(array)[1, 2] == (True if dtype == "bool" else 4)
    frozen = np.asarray(array)
    frozen.flags.writeable = False
    for view in (np.from_dlpack(fr.asarray(frozen)), np.asarray(fr.asarray(frozen))):
        assert not view.flags.writeable


def test_memory_outlives_the_array() -> None:
    array = fr.Array.zeros(1000)
    np.asarray(array)[:] = 7.0
    views = [np.from_dlpack(array), np.asarray(array[10:]), memoryview(array[::2])]
    release = exporters.take(array.__dlpack__(max_version=(1, 0)))
    unversioned = exporters.take(array.__dlpack__())
    del array
    gc.collect()
    bytearray(100_000_000)
    for view in views:
        assert (np.asarray(view) == 7.0).all()
    del view
    threads = [threading.Thread(target=action) for action in (views.clear, release, unversioned)]
    for thread in threads:
        thread.start()
        thread.join()


class Owner:
    """Lends memory, and is gone when nobody uses it."""

    def __init__(self) -> None:
        self.array = np.arange(4.0)
        self.__array_interface__ = self.array.__array_interface__


@pytest.mark.parametrize("max_version", [None, (1, 0)])
def test_an_owner_is_released_by_a_thread_that_does_not_hold_the_lock(max_version: Any) -> None:
    owner = Owner()
    gone = weakref.ref(owner)
    capsule = fr.asarray(owner).__dlpack__(max_version=max_version)
    del owner
    address = exporters._pointer(capsule, exporters.capsule_name(capsule).encode())
    struct = (exporters.ManagedVersioned if max_version else exporters.Managed).from_address(address)
    exporters._set_name(capsule, b"used_dltensor_versioned" if max_version else b"used_dltensor")
    del capsule
    gc.collect()
    assert gone() is not None
    deleter = struct.deleter
    # ctypes releases the lock around a call of a CFUNCTYPE.
    thread = threading.Thread(target=lambda: exporters.Deleter(deleter)(address))
    thread.start()
    thread.join()
    assert gone() is None


@pytest.mark.parametrize("shape", [(4,), (0,), ()])
@pytest.mark.parametrize("max_version", [None, (1, 3)])
def test_capsules_that_nobody_reads(shape: Any, max_version: Any) -> None:
    array = fr.Array.zeros(shape)
    before = sys.getrefcount(array)
    owner = Owner()
    lent, gone = fr.asarray(owner), weakref.ref(owner)
    blocks = []
    for _ in range(3):
        for _ in range(10_000):
            array.__dlpack__(max_version=max_version)
            lent.__dlpack__(max_version=max_version)
        blocks.append(sys.getallocatedblocks())
    assert sys.getrefcount(array) == before
    assert blocks[2] - blocks[1] < 50
    del owner, lent
    assert gone() is None


class Heap(ctypes.Structure):
    """struct mallinfo2 of the C library."""

    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")]  # fmt: skip


@pytest.mark.parametrize("shape", [(4,), (0,), (1000, 1000)])
@pytest.mark.parametrize("copy", [None, True])
@pytest.mark.parametrize("max_version", [None, (1, 3)])
def test_capsules_that_nobody_reads_leave_no_memory_of_the_c_library(
    shape: Any, copy: bool | None, max_version: Any
) -> None:
    heap = ctypes.CDLL(None).mallinfo2
    heap.restype = Heap
    array = fr.Array.zeros(shape)
    count = 10 if copy and len(shape) > 1 else 10_000

    def used() -> int:
        for _ in range(count):
            array.__dlpack__(max_version=max_version, copy=copy)
        now = heap()
        return int(now.uordblks + now.hblkhd)

    used()
    before = used()
    assert used() - before < 16 * count  # the smallest block is of 32 bytes


def test_a_capsule_dropped_while_an_error_is_raised_keeps_the_error() -> None:
    def fails() -> None:
        capsule = fr.asarray(Owner()).__dlpack__()
        assert capsule is not None
        raise KeyError("this one")

    with pytest.raises(KeyError, match="this one"):
        fails()


AFTER_THE_END = """
import ctypes, sys
sys.path[:0] = {paths!r}
import exporters, numpy as np, ferrule as fr
holder = ctypes.CDLL(None)
class Owner:
    def __init__(self):
        self.array = np.arange(4.0)
        self.__array_interface__ = self.array.__array_interface__
for array in (fr.Array.zeros(4), fr.asarray(np.arange(3.0)), fr.asarray(Owner()), fr.asarray(memoryview(b"text"))):
    capsule = array.__dlpack__(max_version=(1, 0))
    address = exporters._pointer(capsule, b"dltensor_versioned")
    exporters._set_name(capsule, b"used_dltensor_versioned")
    deleter = exporters.ManagedVersioned.from_address(address).deleter
    # Handlers of libc's exit() run after the interpreter's end; this one is the deleter itself.
    holder.__cxa_atexit(ctypes.c_void_p(deleter), ctypes.c_void_p(address), None)
print("made")
"""


def test_deleters_after_the_end_of_the_interpreter() -> None:
    import ferrule

    paths = [str(weigh.Path(__file__).parent), str(weigh.Path(ferrule.__file__).parents[1])]
    done = subprocess.run(
        [sys.executable, "-c", AFTER_THE_END.format(paths=paths)], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "made\n", "")


@pytest.mark.parametrize(
    ("first", "second"), [*itertools.product(["dlpack", "buffer", "interface"], repeat=2)]
)
def test_chains_of_exchange_share_memory(first: str, second: str) -> None:
    base = np.arange(6.0)

    def through(way: str, array: Any) -> Any:
        if way == "dlpack":
            return fr.from_dlpack(array)
        return fr.asarray(memoryview(array)) if way == "buffer" else fr.asarray(Interface(array))

    class Interface:
        def __init__(self, array: Any) -> None:
            self.held = array
            self.__array_interface__ = array.__array_interface__

    array = through(second, through(first, base)[1:])
    np.asarray(array)[0] = 50
    assert base[1] == 50
    assert ctypes.c_double.from_address(array.__array_interface__["data"][0]).value == 50

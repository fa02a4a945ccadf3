"""fr.Array: memory of its own, of files and of others, views of it, and calls with it."""

from __future__ import annotations

import gc
import os
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import weigh
from hypothesis import given, settings
from hypothesis import strategies as st

import ferrule as fr

SHAPES: list[Any] = [(), (0,), (1,), (7,), (2, 3), (0, 3), (3, 0, 2), (1, 1, 1, 1), 5, [2, 2]]


@pytest.mark.parametrize("dtype", weigh.TYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("make", [fr.Array.zeros, fr.Array.empty])
def test_own_memory_has_numpys_attributes(make: Any, shape: Any, dtype: str) -> None:
    ours, numpys = make(shape, dtype), np.zeros(shape, dtype)
    for name in ("shape", "dtype", "ndim", "size", "itemsize", "nbytes"):
        assert getattr(ours, name) == getattr(numpys, name), name
    if numpys.size:
        assert ours.strides == numpys.strides
    assert ours.__array_interface__["data"][0] % 64 == 0
    assert not ours.readonly
    if make is fr.Array.zeros:
        np.testing.assert_array_equal(np.asarray(ours), numpys)
    if numpys.ndim:
        assert len(ours) == len(numpys)


@pytest.mark.parametrize("dtype", ["float64", np.float64, np.dtype("f8"), float, "d", "<f8", fr.float64])
def test_ways_to_say_a_dtype(dtype: Any) -> None:
    assert fr.Array.zeros(2, dtype).dtype == np.float64
    assert fr.Array.zeros(2).dtype == np.float64


@pytest.mark.parametrize("dtype", [">f8", object, "U3", "M8[s]", "f8,f8", "g", "no such", 5])
def test_dtypes_that_are_refused(dtype: Any) -> None:
    with pytest.raises(TypeError):
        fr.Array.zeros(2, dtype)


@pytest.mark.parametrize(("name", "bytes_"), [("bfloat16", 2), ("float8_e4m3fn", 1), ("float8_e5m2", 1)])
def test_identities_that_numpy_does_not_have(name: str, bytes_: int) -> None:
    array = fr.Array.zeros((2, 3), name)
    assert (array.dtype, array.itemsize, array.nbytes, array.strides) == (
        name,
        bytes_,
        6 * bytes_,
        (3 * bytes_, bytes_),
    )
    again = fr.from_dlpack(array[1:])
    assert (again.dtype, again.shape) == (name, (1, 3))
    for read in (memoryview, np.asarray, lambda a: a.__array_interface__):
        with pytest.raises((BufferError, TypeError)):
            read(array)
    assert array.copy().dtype == name
    assert repr(array) == f"<Array {name} (2, 3)>"
    if name == "bfloat16":
        assert array[0, 0] == 0.0 and type(array[0, 0]) is float
    else:
        with pytest.raises(TypeError, match=name):
            array[0, 0]


@pytest.mark.parametrize(("shape", "kind"), [
    ((-1,), ValueError), ((2**62, 2**62), ValueError), ((2**61,), ValueError), ((1,) * 65, ValueError), ((2**57,), MemoryError),
    ("ab", TypeError), (1.5, TypeError), (None, TypeError), ((1.0,), TypeError), (2**70, OverflowError),
])  # fmt: skip
def test_shapes_that_are_refused(shape: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        fr.Array.zeros(shape)


def test_the_constructor_tells_what_to_call() -> None:
    with pytest.raises(TypeError, match=r"Array\.empty\(\)"):
        fr.Array(3)  # type: ignore[call-arg]


BASE = np.arange(60.0).reshape(3, 4, 5)

index_parts = st.one_of(
    st.integers(-6, 6), st.none(), st.just(...), st.slices(7), st.integers(-3, 3).map(np.int64),
    st.builds(slice, st.one_of(st.none(), st.integers(-10, 10)), st.one_of(st.none(), st.integers(-10, 10)),
              st.sampled_from([None, -3, -1, 1, 2, 10**18, -(10**30)])),
)  # fmt: skip


@given(
    index=st.one_of(index_parts, st.lists(index_parts, max_size=5).map(tuple)), order=st.sampled_from("CF")
)
@settings(deadline=None, max_examples=600)
def test_basic_indexing_is_numpys(index: Any, order: Any) -> None:
    base = np.array(BASE, order=order)
    array = fr.asarray(base)
    try:
        wanted = base[index]
    except IndexError:
        with pytest.raises(IndexError):
            array[index]
        return
    got = array[index]
    if isinstance(wanted, np.float64):
        assert type(got) is np.float64 and got == wanted
        return
    assert isinstance(got, fr.Array) and got.shape == wanted.shape
    np.testing.assert_array_equal(np.asarray(got), wanted)
    if wanted.size:
        assert np.shares_memory(np.asarray(got), wanted)


@pytest.mark.parametrize("index", [1.0, "a", True, np.True_, [0, 1], np.array([0]), (0, [1])])
def test_other_indices_are_refused(index: Any) -> None:
    with pytest.raises(TypeError, match=r"numpy\.asarray"):
        fr.asarray(BASE)[index]


def test_index_errors_name_index_axis_and_size() -> None:
    array = fr.asarray(BASE)
    with pytest.raises(IndexError, match="Index -5 is out of bounds for axis 1 with size 4"):
        array[:, -5]
    with pytest.raises(IndexError, match="3 axes was indexed with 4"):
        array[0, 0, 0, 0]
    with pytest.raises(IndexError, match="one ellipsis"):
        array[..., 0, ...]
    with pytest.raises(ValueError, match="step"):
        array[::0]


@pytest.mark.parametrize("dtype", weigh.TYPES)
def test_scalars_are_numpys(dtype: str) -> None:
    base = weigh.sample(dtype, 5)
    scalar = fr.asarray(base)[3]
    assert type(scalar) is type(base[3]) and scalar == base[3]
    assert fr.asarray(base[3:4].reshape(()))[()] == base[3]


@pytest.mark.parametrize("dtype", weigh.TYPES)
@pytest.mark.parametrize("view", [np.s_[:], np.s_[::-1, ::2], np.s_[:0], np.s_[2, 1:], np.s_[..., None]])
def test_copies_are_dense_and_writable(dtype: str, view: Any) -> None:
    base = weigh.sample(dtype, (4, 5))[view]
    base.flags.writeable = False
    copy = fr.asarray(base).copy()
    np.testing.assert_array_equal(np.asarray(copy), base)
    assert np.asarray(copy).flags.c_contiguous and not copy.readonly
    assert not np.shares_memory(np.asarray(copy), base)


def test_every_refusal_of_memory_is_cured_by_a_copy() -> None:
    """Layout, alignment, strides that are no multiple of the item size, read-only memory."""
    add3 = weigh.kernels.kernel("add3.c")
    packed = np.ones(4, [("a", "u1"), ("b", "f8")])["b"]
    odd = np.frombuffer(bytearray(np.ones(5).tobytes()), "u1")[1:33].view("f8")
    odd[:] = 1.0
    frozen = np.ones(4)
    frozen.flags.writeable = False
    for bad in (packed, odd, np.ones(8)[::2]):
        array, out = fr.asarray(bad), fr.Array.zeros(4)
        with pytest.raises(ValueError):
            add3(array, array, out)
        add3(array.copy(), array.copy(), out)
        assert np.asarray(out).tolist() == [2.0] * 4
    with pytest.raises(ValueError, match="read-only"):
        add3(frozen, frozen, fr.asarray(frozen))
    add3(frozen, frozen, fr.asarray(frozen).copy())


def test_transposed() -> None:
    array = fr.asarray(BASE).T
    assert (array.shape, array.strides) == (BASE.T.shape, BASE.T.strides)
    np.testing.assert_array_equal(np.asarray(array), BASE.T)
    np.testing.assert_array_equal(np.asarray(array.copy()), BASE.T)


def test_representation_and_length() -> None:
    assert repr(fr.Array.zeros((2, 3), "int8")) == "<Array int8 (2, 3)>"
    assert repr(fr.asarray(b"ab")) == "<Array uint8 (2,) read-only>"
    with pytest.raises(TypeError, match="no length"):
        len(fr.Array.zeros(()))


def test_asarray() -> None:
    array = fr.Array.zeros(3)
    assert fr.asarray(array) is array
    base = np.arange(6.0)[::2]
    assert np.shares_memory(np.asarray(fr.asarray(base)), base)

    class Mine(np.ndarray):
        pass

    assert fr.asarray(base.view(Mine)).strides == (16,)
    for nothing in (
        [1.0],
        (1.0,),
        1.0,
        np.float64(1),
        "text",
        None,
        object(),
        {},
        range(3),
        np.ndarray,
        float,
    ):
        with pytest.raises(TypeError, match=r"asarray\(\): 'x' is of type .*numpy\.asarray\(x\)"):
            fr.asarray(nothing)
    for dtype in (">f8", object, "U3", "M8[s]", "g"):
        with pytest.raises(TypeError, match="'x' has dtype"):
            fr.asarray(np.zeros(3, dtype))


def test_views_keep_memory_alive() -> None:
    base = np.arange(1000.0)
    gone = weakref.ref(base)
    view = fr.asarray(base)[10:][::2].T[3:]
    del base
    gc.collect()
    assert gone() is not None and view[0] == 16.0
    del view
    assert gone() is None
    mine = fr.Array.zeros(10)
    noticed = weakref.ref(mine)
    ndarray = np.asarray(mine[1:])
    del mine
    assert noticed() is None  # the memory is kept, not the object
    ndarray[:] = 1.0
    assert ndarray.sum() == 9


def test_arrays_as_arguments() -> None:
    add3 = weigh.kernels.kernel("add3.c")
    a, b, out = fr.asarray(np.arange(4.0)), np.ones(4), fr.Array.zeros(4)
    assert add3(a, b, out) is None
    assert np.asarray(out).tolist() == [1, 2, 3, 4]
    add3(out=out, b=a, a=a)
    assert np.asarray(out).tolist() == [0, 2, 4, 6]
    fill = weigh.kernels.kernel("strided.c")
    grid = fr.Array.zeros((3, 4))
    view = grid[::2, ::-1]
    assert fill(view, value=2.0) is view
    assert np.asarray(grid)[:, 0].tolist() == [2, 0, 2]
    with pytest.raises(TypeError, match="'x' has dtype float32, but float64 is expected"):
        fill(fr.Array.zeros((2, 2), "float32"))
    with pytest.raises(ValueError, match=r"'x' has rank 1 and shape \(2,\)"):
        fill(fr.Array.zeros(2))


def test_results_that_are_views_of_arrays_keep_what_they_view() -> None:
    positive = weigh.kernels.kernel("returns.c")
    base = np.array([1, -2, 3, 4], np.int32)
    for given_ in (fr.asarray(base), memoryview(base)):
        kept, view = positive(given_, 1, 2)
        assert (kept.tolist(), view.tolist()) == ([1, 3, 4], [-2, 4])
        assert np.shares_memory(view, base)
    block = bytearray(16)
    _, view = positive(memoryview(block).cast("i"), 0, 1)
    with pytest.raises(BufferError):
        block.extend(b"x")
    view[0] = 7
    assert block[0] == 7
    del view
    block.extend(b"x")
    frozen = positive(memoryview(bytes(16)).cast("i"), 0, 1)[1]
    assert not frozen.flags.writeable


# Files.


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "numbers"
    path.write_bytes(np.arange(1000.0).tobytes())
    return path


@pytest.mark.parametrize("offset", [0, 8, 4096, 4096 + 8, 3])
def test_reading_a_file(file: Path, offset: int) -> None:
    array = fr.Array.map(file, "float64", 10, offset)
    assert array.readonly and array.shape == (10,)
    np.testing.assert_array_equal(np.asarray(array), np.frombuffer(file.read_bytes(), "f8", 10, offset))
    assert weigh.kernel()(array.copy()) == weigh.weighed(np.asarray(array))
    view = array[5:]
    os.unlink(file)
    del array
    assert view.shape == (5,) and np.isfinite(np.asarray(view)).all()


def test_writing_a_file(file: Path) -> None:
    array = fr.Array.map(str(file), np.int64, (2, 3), mode="r+")
    np.asarray(array)[:] = [[1, 2, 3], [4, 5, 6]]
    other = fr.Array.map(os.fsencode(file), "int64", (2, 3))
    assert np.asarray(other).tolist() == [[1, 2, 3], [4, 5, 6]]
    assert file.stat().st_size == 8000
    del array, other
    long = fr.Array.map(file, "float64", 1002, mode="r+")
    assert file.stat().st_size == 8016 and long[1001] == 0.0 and long[999] == 999.0


def test_making_a_file(tmp_path: Path) -> None:
    path = tmp_path / "new"
    array = fr.Array.map(path, "float32", (4, 4), offset=16, mode="w+")
    np.asarray(array)[:] = 2.0
    assert path.stat().st_size == 80
    assert np.fromfile(path, "f4", offset=16).tolist() == [2.0] * 16
    assert fr.Array.map(path, "float32", (0, 4)).shape == (0, 4)
    again = fr.Array.map(path, "uint8", 3, mode="w+")
    assert np.asarray(again).tolist() == [0, 0, 0] and path.stat().st_size == 3


def test_a_private_copy_of_a_file(file: Path) -> None:
    before = file.read_bytes()
    array = fr.Array.map(file, "float64", 1000, mode="c")
    np.asarray(array)[:] = -1.0
    assert not array.readonly and file.read_bytes() == before


@pytest.mark.parametrize("mode", ["r", "c"])
def test_files_that_are_too_short(file: Path, mode: str) -> None:
    with pytest.raises(ValueError, match="has 8000 bytes, but the array ends at byte 8008"):
        fr.Array.map(file, "float64", 1000, 8, mode=mode)


def test_files_that_cannot_be_had(file: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        fr.Array.map(tmp_path / "absent", "float64", 1)
    assert "absent" in str(caught.value)
    with pytest.raises(IsADirectoryError):
        fr.Array.map(tmp_path, "float64", 1, mode="r+")
    with pytest.raises(ValueError, match="mode"):
        fr.Array.map(file, "float64", 1, mode="a")
    with pytest.raises(ValueError, match="offset"):
        fr.Array.map(file, "float64", 1, -8)
    with pytest.raises(ValueError, match="shape"):
        fr.Array.map(file, "float64", (2**40, 2**40))
    with pytest.raises(TypeError):
        fr.Array.map(file, object, 1)
    with pytest.raises(TypeError):
        fr.Array.map(5.0, "float64", 1)  # type: ignore[arg-type]


def test_mapped_memory_goes_with_its_last_user(file: Path) -> None:
    def mapped() -> bool:
        return str(file) in Path("/proc/self/maps").read_text()

    array = fr.Array.map(file, "float64", 1000)
    views = [np.asarray(array), memoryview(array[1:]), fr.from_dlpack(array)]
    del array
    assert mapped()
    threads = [threading.Thread(target=views.pop) for _ in range(3)]
    for thread in threads:
        thread.start()
        thread.join()
    assert not views and not mapped()

"""Calls of a Kernel: what is accepted, what comes back, and what stays as it was."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "modules"))

import kernels
import weigh

from ferrule import _rt, errors


@pytest.fixture(scope="module")
def add3():
    return kernels.kernel("add3.c")


@pytest.fixture(scope="module")
def fill():
    return kernels.kernel("strided.c")


@pytest.fixture(scope="module")
def scalars():
    return kernels.kernel("scalars.c")


@pytest.fixture(scope="module")
def positive():
    return kernels.kernel("returns.c")


def test_attributes(add3):
    assert add3.name == "add3"
    assert add3.signature == "add3(a: float64[N], b: float64[N], out: float64[N])"
    assert add3.digest == "0123456789abcdef"
    assert len(add3.file_digest) == 64
    assert add3.facts["compiler"] == "gcc"
    add3.note = "kept"
    assert add3.note == "kept"
    assert weakref.ref(add3)() is add3


@pytest.mark.parametrize("n", [0, 1, 2, 17, 1000])
def test_by_position_and_by_name(add3, n):
    a, b = np.arange(float(n)), np.ones(n)
    expected = a + b
    for call in (
        lambda out: add3(a, b, out),
        lambda out: add3(a, b, out=out),
        lambda out: add3(a=a, b=b, out=out),
        lambda out: add3(out=out, b=b, a=a),
        lambda out: add3(a, **{"".join(["o", "ut"]): out, "b": b}),
    ):
        out = np.zeros(n)
        assert call(out) is None
        np.testing.assert_array_equal(out, expected)


def test_the_same_names_after_other_positions(add3):
    """One code object shares the constant ("out",) among these calls."""
    a, b, out = np.arange(4.0), np.ones(4), np.zeros(4)
    for _ in range(2):
        assert add3(a, b, out=out) is None
        with pytest.raises(TypeError, match="'b'"):
            add3(a, out=out)
        with pytest.raises(TypeError, match="'out'"):
            add3(a, b, out, out=out)
    np.testing.assert_array_equal(out, a + b)


def test_subclasses_bind(add3, tmp_path):
    class Mine(np.ndarray):
        pass

    a = np.arange(4.0).view(Mine)
    mapped = np.memmap(tmp_path / "x", np.float64, "w+", shape=(4,))
    add3(a, a, mapped)
    np.testing.assert_array_equal(np.asarray(mapped), [0, 2, 4, 6])
    frozen = np.memmap(tmp_path / "x", np.float64, "r", shape=(4,))
    out = np.zeros(4)
    add3(frozen, frozen, out)
    np.testing.assert_array_equal(out, [0, 4, 8, 12])


def test_read_only_input_and_other_descriptor_objects(add3):
    a = np.arange(4.0)
    a.flags.writeable = False
    b = np.ones(4, np.dtype("<f8", metadata={"unit": "m"}))
    out = np.zeros(4)
    add3(a, b, out)
    np.testing.assert_array_equal(out, [1, 2, 3, 4])
    longlong = kernels.kernel("typed.c", "-DTYPE=int64_t", "-DDTYPE=FR_I64")
    assert longlong(np.arange(5, dtype=np.longlong)) == 10


@pytest.mark.parametrize(
    "declared", [name for name in weigh.TYPES if name not in ("float16", "complex64", "complex128")]
)
def test_every_pair_of_dtypes(declared):
    ctype, dtype = weigh.TYPES[declared]
    total = kernels.kernel("typed.c", f"-DTYPE={ctype}", f"-DDTYPE={dtype}")
    for given in weigh.TYPES:
        x = np.ones(3, given)
        if given == declared:
            assert total(x) == 3
            continue
        with pytest.raises(TypeError, match=f"'x' has dtype {given}, but {declared} is expected"):
            total(x)


def test_unaligned_only_to_the_vector_width_is_fine(add3):
    a = np.arange(9.0)[1:]
    out = np.zeros(9)[1:]
    add3(a, a, out)
    np.testing.assert_array_equal(out, 2 * a)


def test_general_strides_leave_neighbours_alone(fill):
    base = np.ones((2, 3, 4))
    for view in (base[0], base[:, 1, ::-1], base[::-1, :, 3], base[1, ::2, ::3], base.T[1]):
        base[...] = 1
        before = view.size
        assert fill(view, value=2.0) is view
        assert np.count_nonzero(base == 2.0) == before
        assert (view == 2.0).all()


def test_optional_array_and_inner_layout(fill):
    inner = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    for given, expected in ((None, np.ones((2, 3))), (inner, inner + 1), (None, np.ones((2, 3)))):
        x = np.zeros((2, 3))
        fill(x, given)
        np.testing.assert_array_equal(x, expected)
    padded = np.zeros((4, 3), order="F")[:2]
    padded[...] = inner
    x = np.zeros((2, 3))
    fill(x, inner=padded)
    np.testing.assert_array_equal(x, inner + 1)


def test_axes_of_one_element_have_no_stride():
    total = kernels.kernel("typed.c", "-DTYPE=double", "-DDTYPE=FR_F64", "-DRANK=2")
    assert total(np.ones((1, 3))[:, :2]) == 2
    assert total(np.ones((4, 6))[::7, ::7]) == 1
    strange = np.lib.stride_tricks.as_strided(np.ones(4), (1, 4), (3, 8))
    assert total(strange) == 4


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_zero_size_arrays_skip_pointer_stride_and_write_tests(fill, shape):
    x = np.zeros(shape)
    x.flags.writeable = False
    assert fill(x) is x
    odd = np.ndarray(shape, np.float64, np.zeros(100, "u1"), 1, (5, 3))
    assert fill(odd) is odd


def test_extent_beyond_32_bits():
    total = kernels.kernel("typed.c", "-DTYPE=uint8_t", "-DDTYPE=FR_U8")
    shift = kernels.kernel("noalias.c")
    huge = np.lib.stride_tricks.as_strided(np.zeros(1, "u1"), (2**31 + 5,), (0,))
    with pytest.raises(ValueError, match="contiguous"):
        total(huge)
    x = np.lib.stride_tricks.as_strided(np.zeros(1), (2**31 + 5,), (0,))
    with pytest.raises(ValueError, match=r"a\.shape\[0\] = 2147483653, but out\.shape\[0\] = 3"):
        shift(x, np.zeros(3))


def test_overlap_takes_the_other_entry(add3):
    v = np.arange(6.0)
    add3(v[:-1], v[:-1], v[1:])  # run_alias marks its results with + 1000
    np.testing.assert_array_equal(v, [0, 1000, 1002, 1004, 1006, 1008])
    v = np.arange(6.0)
    add3(v, v, v)
    np.testing.assert_array_equal(v, [0, 2, 4, 6, 8, 10])


def test_interleaved_arrays_are_disjoint():
    shift = kernels.kernel("noalias.c")
    v = np.arange(10.0)
    shift(v[::2], v[1::2])
    np.testing.assert_array_equal(v, np.repeat(np.arange(0.0, 10, 2), 2))
    m = np.arange(12.0).reshape(3, 4)
    shift(m[:, 0], m[:, 1])
    np.testing.assert_array_equal(m[:, 1], m[:, 0])


def test_scalar_defaults_and_types(scalars):
    values = scalars()
    kinds = [np.bool_, np.int8, np.int32, np.int64, np.uint8, np.uint64]
    kinds += [np.float32, np.float64, np.complex64, np.complex128, int, float, np.ndarray, type(None)]
    assert [type(v) for v in values] == kinds
    assert values[:12] == (False, -1, 2, 3, 4, 5, 0.5, 0.25, 1j, 2j, 1, 1.5)


class Index:
    def __index__(self):
        return 7


@pytest.mark.parametrize(
    ("name", "place", "given", "expected"),
    [
        ("i32", 2, np.int64(3), 3),
        ("i32", 2, np.array(3), 3),
        ("i32", 2, np.uint8(200), 200),
        ("i32", 2, Index(), 7),
        ("i32", 2, 2**31 - 1, 2**31 - 1),
        ("i32", 2, -(2**31), -(2**31)),
        ("i8", 1, -128, -128),
        ("u8", 4, 255, 255),
        ("u64", 5, 0, 0),
        ("u64", 5, 2**63 - 1, 2**63 - 1),
        ("u64", 5, 2**63, 2**63),
        ("u64", 5, 2**64 - 1, 2**64 - 1),
        ("u64", 5, np.uint64(2**64 - 1), 2**64 - 1),
        ("f64", 7, np.float32(0.1), 0.10000000149011612),
        ("f64", 7, np.int64(3), 3.0),
        ("f64", 7, np.array(3.0), 3.0),
        ("f64", 7, 3, 3.0),
        ("f32", 6, 0.1, np.float32(0.1)),
        ("c128", 9, 1.5, 1.5 + 0j),
        ("c128", 9, np.complex64(1 + 2j), 1 + 2j),
        ("c64", 8, 2, 2 + 0j),
        ("b", 0, True, True),
        ("b", 0, np.True_, True),
        ("k", 10, np.int32(2), 2),
    ],
)
def test_scalars_that_are_taken(scalars, name, place, given, expected):
    assert scalars(**{name: given})[place] == expected


def test_a_scalar_gives_the_extent_of_a_result(scalars):
    ones = scalars(k=3)[12]
    assert ones.shape == (9,)
    assert ones.dtype == np.uint8
    assert (ones == 1).all()


def test_results_made_at_run_time(positive):
    a = np.array([3, -1, 4, -1, 5], "i4")
    kept, view = positive(a, 1, 2)
    np.testing.assert_array_equal(kept, [3, 4, 5])
    np.testing.assert_array_equal(view, a[1::2])
    assert view.base is a
    view[0] = 9
    assert a[1] == 9
    kept[0] = 7
    assert a[0] == 3
    kept, view = positive(a[::-1], 0, 3)
    np.testing.assert_array_equal(view, a[::-1][0::3])


def test_view_of_a_read_only_array_is_read_only(positive):
    a = np.arange(4, dtype="i4")
    a.flags.writeable = False
    kept, view = positive(a, 0, 1)
    assert not view.flags.writeable
    assert kept.flags.writeable


def test_results_outlive_everything():
    kernel = kernels.kernel("returns.c")
    a = np.arange(5, dtype="i4")
    kept, view = kernel(a, 0, 2)
    tail = kept[1:]
    del kernel, kept, a
    gc.collect()
    np.zeros(1 << 20)
    np.testing.assert_array_equal(tail, [2, 3, 4])
    np.testing.assert_array_equal(view, [0, 2, 4])


def test_results_of_two_calls_are_independent(scalars):
    first, second = scalars(k=2)[12], scalars(k=2)[12]
    first[:] = 9
    assert (second == 1).all()


def test_reference_counts_stay(add3, positive, scalars):
    a, b, out, wrong = np.ones(4), np.ones(4), np.zeros(4), np.ones(3)
    big, index = 10**30, np.arange(4, dtype="i4")
    watched = [a, b, out, wrong, big, index, None, "text"]

    def calls():
        add3(a, b, out)
        add3(a, out=out, b=b)
        add3(a, b, out=a)
        positive(index, 0, 1)
        scalars(f64=0.5, k=2)
        for bad in (
            lambda: add3(a, wrong, out),
            lambda: add3(a, b),
            lambda: add3(a, b, None),
            lambda: add3(a, b, out, nothing="text"),
            lambda: scalars(i64=big),
            lambda: scalars(f32="text"),
            lambda: positive(index, 0, 2**62),
        ):
            with pytest.raises(errors.UserError):
                bad()

    calls()
    before = [sys.getrefcount(x) for x in watched]
    for _ in range(200):
        calls()
    gc.collect()
    after = [sys.getrefcount(x) for x in watched]
    assert all(abs(y - x) < 50 for x, y in zip(before, after))
    assert before[:4] == after[:4]


def test_a_good_call_allocates_no_blocks(add3, scalars):
    a, b, out = np.ones(4), np.ones(4), np.zeros(4)
    for _ in range(10):
        add3(a, b, out)
        add3(a, b=b, out=out)
    before = sys.getallocatedblocks()
    for _ in range(1000):
        add3(a, b, out)
        add3(a, b=b, out=out)
    assert sys.getallocatedblocks() - before < 10


def test_many_arguments_and_threads(add3):
    wrong = []

    def work(seed):
        random = np.random.default_rng(seed)
        for _ in range(300):
            n = int(random.integers(0, 50))
            a, b, out = random.random(n), random.random(n), np.zeros(n)
            add3(a, b, out)
            if not np.array_equal(out, a + b):
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(s,)) for s in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


def test_errors_of_two_calls_at_once_stay_apart():
    check = kernels.kernel("parallel.c")
    wrong = []

    def work(which):
        index = np.arange(500)
        index[100 * which] = -1 - which
        for _ in range(100):
            try:
                check(index, 500)
                wrong.append("accepted")
            except IndexError as error:
                if f"index {-1 - which} is out of bounds" not in str(error):
                    wrong.append(str(error))

    threads = [threading.Thread(target=work, args=(w,)) for w in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


@pytest.mark.parametrize(("mode", "lets_in"), [("auto", True), (True, True), (False, False)])
def test_who_runs_meanwhile(mode, lets_in):
    # The estimate of parallel.c is above the threshold; its body is made long by many elements.
    check = kernels.kernel("parallel.c")
    check.release_gil = mode
    assert check.release_gil == mode
    index = np.zeros(30_000_000, np.int64)
    inside, counts = threading.Event(), []

    def count():
        inside.wait()
        while inside.is_set():
            counts.append(time.perf_counter())
            time.sleep(0)

    old = sys.getswitchinterval()
    sys.setswitchinterval(1000)  # only a released lock lets the other thread in
    thread = threading.Thread(target=count)
    thread.start()
    try:
        inside.set()
        begin = time.perf_counter()
        check(index, 1)
        end = time.perf_counter()
        inside.clear()
    finally:
        inside.clear()
        sys.setswitchinterval(old)
        thread.join()
    assert (len([t for t in counts if begin < t < end]) > 0) == lets_in


def test_state_belongs_to_the_handle():
    path = kernels.module_path("state.c")
    first, second = _rt.Kernel(path), _rt.Kernel(path)
    assert first.file_digest == second.file_digest
    first.initialize(start=40)
    assert (first(5), first(), second()) == (41, 42, 1)
    assert first.finalize() is None
    assert first(7) == 8
    with pytest.raises(RuntimeError, match="status 4"):
        kernels.kernel("state.c")(-1)
    with pytest.raises(TypeError, match="no argument 'finish'"):
        first.initialize(finish=1)


def test_loading_by_bytes():
    path = kernels.module_path("add3.c")
    kernel = _rt.Kernel(path.read_bytes(), "a digest of the caller's")
    assert kernel.file_digest == "a digest of the caller's"
    with pytest.raises(errors.IncompatibleArtifact, match="cannot be read"):
        _rt.Kernel("/nonexistent.so")
    with pytest.raises(TypeError, match="digest"):
        _rt.Kernel(path.read_bytes())


def test_the_kernel_keeps_its_library():
    add3 = kernels.kernel("add3.c")
    call = add3.__call__
    del add3
    gc.collect()
    out = np.zeros(2)
    call(np.ones(2), np.ones(2), out)
    np.testing.assert_array_equal(out, [2, 2])


def test_subclass_in_python():
    class Mine(_rt.Kernel):
        def doubled(self, a, out):
            return self(a, a, out)

    mine = Mine(kernels.module_path("add3.c"))
    out = np.zeros(2)
    mine.doubled(np.ones(2), out)
    np.testing.assert_array_equal(out, [2, 2])
    assert mine.signature.startswith("add3(")


def test_cycles_are_collected():
    kernel = kernels.kernel("add3.c")
    kernel.me = kernel
    gone = weakref.ref(kernel)
    del kernel
    gc.collect()
    assert gone() is None


def test_import_gives_the_kernel(monkeypatch):
    path = kernels.module_path("importable.cpp", name="doubled")
    monkeypatch.syspath_prepend(str(path.parent))
    import doubled

    np.testing.assert_array_equal(doubled.kernel(np.arange(3.0)), [0, 2, 4])
    assert isinstance(doubled.kernel, _rt.Kernel)


EXIT = """
import sys, threading, time
sys.path.insert(0, {modules!r})
import kernels, numpy as np
k = kernels.kernel("parallel.c")
k.me = [k]
check = k
index = np.zeros(20_000_000, np.int64)
threading.Thread(target=lambda: [k(index, 1) for _ in range(1000)], daemon=True).start()
time.sleep(0.2)
"""


def test_interpreter_exit_with_a_call_running():
    code = EXIT.format(modules=str(kernels.HERE))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")

"""Python callables as arguments: what native code passes and gets, what they raise, from which threads."""

from __future__ import annotations

import gc
import sys
import threading
import traceback
import weakref

import numpy as np
import pytest

import ferrule as fr

AUTHOR = '#include "ferrule/rt/author.h"\nusing fr_author::Callback;\n'
SCALAR = [fr.Return("r", kind="scalar")]


def load(source, name, args, **options):
    return fr.compile_source(AUTHOR + source, fr.Signature(name, args, **options)).load()


def callback(name="cb", params=(), returns=None, **options):
    return fr.Arg(name, kind="callback", params=params, returns=returns, **options)


def scalar(name, dtype="float64", **options):
    return fr.Arg(name, kind="scalar", dtype=dtype, **options)


@pytest.fixture(scope="module")
def integrate():
    source = """
    double integrate(Callback<double(double)> f, double a, double b, long n) {
      double sum = 0;
      for (long i = 0; i < n; ++i) {
        const auto value = f(a + (b - a) * (i + 0.5) / n);
        if (!value) return 0;
        sum += value.value;
      }
      return sum * (b - a) / n;
    }"""
    args = [
        callback("f", [scalar("x")], "float64"),
        scalar("a"),
        scalar("b"),
        scalar("n", "int64", default=100),
    ]
    return load(source, "integrate", args, returns=SCALAR, result="r")


def test_numbers_in_and_out(integrate):
    assert integrate(lambda x: x * x, 0, 3) == pytest.approx(9, rel=1e-4)
    assert integrate(lambda x: 1, 0, 2) == 2
    assert integrate(float, 0, 2) == pytest.approx(2)
    assert integrate(np.sin, 0, np.pi) == pytest.approx(2, rel=1e-3)


def test_every_number_type():
    types = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
             "float64", "complex64", "complex128"]  # fmt: skip
    values = [
        True,
        -128,
        -(2**15),
        -(2**31),
        -(2**63),
        255,
        2**16 - 1,
        2**32 - 1,
        2**64 - 1,
        0.5,
        0.25,
        0.1,
        1 - 2j,
        3 + 4j,
    ]
    spelled = {"bool": "bool", "float16": "uint16_t", "float32": "float", "float64": "double",
               "complex64": "float _Complex", "complex128": "double _Complex"}  # fmt: skip
    for dtype, value in zip(types, values, strict=True):
        cpp = spelled.get(dtype, f"{dtype}_t")
        source = f"template <class F> {cpp} f(F cb, {cpp} x) {{ auto r = cb(x); return r.value; }}"
        args = [callback("cb", [scalar("x", dtype)], dtype), scalar("x", dtype)]
        kernel = load(source, "f", args, returns=[fr.Return("r", dtype, kind="scalar")], result="r")
        seen = []

        def cb(x, seen=seen):
            seen.append(x)
            return x

        assert kernel(cb, value) == value
        assert seen == [value]
        assert type(seen[0]) is type(value)


def test_a_generic_parameter_and_no_result():
    source = """
    template <class F> void each(F visit, long n) {
      for (long i = 0; i < n; ++i) if (!visit(i, i % 2 == 0)) return;
    }"""
    args = [callback("visit", [scalar("i", "int64"), scalar("even", "bool")]), scalar("n", "int64")]
    kernel = load(source, "each", args)
    seen = []
    assert kernel(lambda i, even: seen.append((i, even)), 4) is None
    assert seen == [(0, True), (1, False), (2, True), (3, False)]


def test_no_parameter_and_many():
    source = "void f(Callback<void()> none, Callback<double(double, double, double, double, double, double, double, double, double, double, double, double)> many, double* r) { none(); auto v = many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12); *r = v.value; }"
    args = [callback("none"), callback("many", [scalar(f"x{i}") for i in range(12)], "float64")]
    kernel = load(source, "f", args, returns=SCALAR)
    calls = []
    assert kernel(lambda: calls.append(1), lambda *xs: sum(xs)) == 78
    assert calls == [1]


def test_objects_and_callable_kinds():
    source = """
    void* f(Callback<void*(void*, int64_t)> cb, void* o) {
      auto first = cb(o, 1);
      if (!first) return nullptr;
      auto second = cb(first.value, 2);
      return second ? second.value : nullptr;
    }"""
    args = [
        callback("cb", [fr.Arg("o", kind="pyobject"), scalar("k", "int64")], "pyobject"),
        fr.Arg("o", kind="pyobject"),
    ]
    kernel = load(source, "f", args, returns=[fr.Return("r", kind="pyobject")], result="r")
    start = object()
    seen = []

    def wrap(o, k):
        seen.append(o)
        return [o, k]

    got = kernel(wrap, start)
    assert seen[0] is start
    assert got == [[start, 1], 2]
    assert sys.getrefcount(got) == 2

    class Method:
        def __call__(self, o, k):
            return self

        def method(self, o, k):
            return o

    instance = Method()
    assert kernel(instance, 0) is instance
    assert kernel(instance.method, start) is start
    assert kernel(lambda o, k: None, start) is None


@pytest.fixture(scope="module")
def over_rows():
    source = """
    void rows(double* a, Callback<void(double*, const float*)> cb, const float* w, long n, long m) {
      for (long i = 0; i < n; ++i) if (!cb(a + i * m, w)) return;
    }"""
    args = [
        fr.Arg("a", shape=("N", "M"), intent="inout"),
        callback(
            "cb", [fr.Arg("row", shape="M", intent="inout"), fr.Arg("w", dtype="float32", shape=("2", "M"))]
        ),
        fr.Arg("w", dtype="float32", shape=("2", "M")),
    ]
    return load(source, "rows", args)


def test_arrays_are_views(over_rows):
    a, w = np.arange(6.0).reshape(2, 3), np.ones((2, 3), "f4")
    shapes = []

    def cb(row, weights):
        shapes.append((row.shape, weights.shape, row.dtype, weights.dtype, weights.flags.writeable))
        assert np.shares_memory(row, a)
        row *= 10

    over_rows(a, cb, w)
    np.testing.assert_array_equal(a, 10 * np.arange(6.0).reshape(2, 3))
    assert shapes == [((3,), (2, 3), np.float64, np.float32, False)] * 2


def test_a_view_that_is_kept(over_rows):
    kept = []
    a, w = np.arange(6.0).reshape(2, 3), np.ones((2, 3), "f4")
    with pytest.raises(BufferError) as failed:
        over_rows(a, lambda row, w: kept.append(row), w)
    assert str(failed.value) == (
        "rows(): the callback 'cb' keeps the array 'row', whose memory is valid during its call alone; keep a copy."
    )
    assert isinstance(failed.value, fr.UserError)
    a[:] = -1
    np.testing.assert_array_equal(kept[0], [0, 1, 2])
    with pytest.raises(BufferError, match="'row'"):
        over_rows(a, lambda row, w: kept.append(row[1:]), w)
    over_rows(a, lambda row, w: kept.append(row.copy()), w)
    over_rows(a, lambda row, w: row, w)  # a result that nobody takes keeps nothing


@pytest.mark.parametrize("returns", [None, "pyobject"])
def test_a_view_that_is_kept_and_returned(returns):
    result = "void*" if returns else "void"
    source = f"void f(double* x, Callback<{result}(const double*)> cb, long n) {{ cb(x); }}"
    x = fr.Arg("x", shape="N", intent="inout")
    kernel = load(source, "f", [x, callback("cb", [fr.Arg("v", shape="N")], returns)])
    own, kept = np.arange(3.0), []

    def keep(v):
        kept.append(v)
        return v

    with pytest.raises(BufferError, match="keeps the array 'v'"):
        kernel(own, keep)
    assert not np.shares_memory(kept[0], own)


def test_a_view_as_the_object_that_a_callback_gives():
    source = "void* f(double* x, Callback<void*(const double*)> cb, long n) { auto o = cb(x); return o ? o.value : nullptr; }"
    args = [fr.Arg("x", shape="N", intent="inout"), callback("cb", [fr.Arg("v", shape="N")], "pyobject")]
    kernel = load(source, "f", args, returns=[fr.Return("o", kind="pyobject")], result="o")
    with pytest.raises(BufferError, match="keeps the array 'v'"):
        kernel(np.arange(3.0), lambda v: v)
    assert kernel(np.arange(3.0), lambda v: v.copy()).tolist() == [0, 1, 2]


def test_an_exception_is_the_very_object(integrate):
    error = ValueError("boom")

    def raises(x):
        raise error

    for _ in range(3):
        with pytest.raises(ValueError) as failed:
            integrate(raises, 0, 1)
        assert failed.value is error
        names = [frame.name for frame in traceback.extract_tb(failed.value.__traceback__)]
        assert names[-1] == "raises"
        assert names[0] == "test_an_exception_is_the_very_object"
        error.__traceback__ = None
    assert integrate(lambda x: 1, 0, 1) == 1


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, StopIteration, MemoryError])
def test_any_exception(integrate, kind):
    calls = []

    def raises(x):
        calls.append(x)
        raise kind

    with pytest.raises(kind):
        integrate(raises, 0, 1)
    assert len(calls) == 1


def test_nothing_is_called_after_an_exception():
    source = "void f(Callback<void(int64_t)> cb) { for (long i = 0; i < 5; ++i) cb(i); }"
    kernel = load(source, "f", [callback("cb", [scalar("i", "int64")])])
    calls = []

    def cb(i):
        calls.append(i)
        if i == 2:
            raise LookupError(i)

    with pytest.raises(LookupError):
        kernel(cb)
    assert calls == [0, 1, 2]


def test_an_exception_goes_before_a_status():
    source = "int f(Callback<double()> cb) { return cb() ? 0 : 5; }"
    kernel = load(source, "f", [callback("cb", (), "float64")], result="status")
    assert kernel(lambda: 1.0) is None
    with pytest.raises(ZeroDivisionError):
        kernel(lambda: 1 / 0)


def test_an_exception_that_is_caught_outside_leaves_no_error(integrate):
    def outer(x):
        try:
            integrate(lambda y: 1 / 0, 0, 1, 1)
        except ZeroDivisionError:
            return 5.0

    assert integrate(outer, 0, 1, 3) == 5


def test_calls_within_calls(integrate):
    def inner(x):
        return integrate(lambda y: x + y, 0, 1, 2)

    assert integrate(inner, 0, 1, 2) == pytest.approx(1)

    def deep(level):
        return integrate(lambda x: deep(level - 1), 0, 1, 1) if level else 3.0

    assert deep(30) == 3


@pytest.fixture(scope="module")
def spread():
    # Threads of the author's own stand for those of a parallel region.
    source = """
    #include <atomic>
    #include <thread>
    #include <vector>
    void spread(Callback<void(int64_t)> cb, long n, long k) {
      std::atomic<long> next{0};
      std::vector<std::thread> threads;
      for (long t = 0; t < k; ++t)
        threads.emplace_back([&] {
          for (long i; (i = next++) < n;)
            if (!cb(i)) return;
        });
      for (auto& thread : threads) thread.join();
    }"""
    args = [callback("cb", [scalar("i", "int64")]), scalar("n", "int64"), scalar("k", "int64")]
    signature = fr.Signature("spread", args)
    return fr.compile_source(AUTHOR + source, signature, flags=["-pthread"]).load()


def test_from_other_threads(spread):
    seen, threads = [], set()

    def cb(i):
        seen.append(i)
        threads.add(threading.get_ident())

    assert spread(cb, 1000, 8) is None
    assert len(seen) == 1000
    assert sum(seen) == 499500
    assert threading.get_ident() not in threads


def test_an_exception_from_another_thread(spread):
    error = KeyError("there")

    def cb(i):
        if i == 500:
            raise error

    for _ in range(5):
        with pytest.raises(KeyError) as failed:
            spread(cb, 1000, 8)
        assert failed.value is error
    spread(lambda i: None, 10, 2)


@pytest.fixture(scope="module")
def region():
    source = """
    struct Closure { Callback<void(int64_t)>* cb; };
    int32_t body(void* closure, int64_t lo, int64_t hi, int32_t) {
      for (int64_t i = lo; i < hi; ++i)
        if (auto called = (*static_cast<Closure*>(closure)->cb)(i); !called) return called.status;
      return FR_OK;
    }
    void region(Callback<void(int64_t)> cb, long n) {
      Closure closure{&cb};
      cb.parallel_for(n, 10, body, &closure);
    }"""
    return load(source, "region", [callback("cb", [scalar("i", "int64")]), scalar("n", "int64")])


# False: the calling thread keeps the lock, and lets it go while others run the region.
@pytest.mark.parametrize("release_gil", ["auto", False])
def test_from_a_parallel_region(region, release_gil):
    kernel = region
    kernel.release_gil = release_gil
    seen = []
    kernel(seen.append, 1000)
    assert len(seen) == 1000
    assert sum(seen) == 499500

    def fails(i):
        if i in (300, 700):
            raise IndexError(i)

    for _ in range(5):
        with pytest.raises(IndexError) as failed:
            kernel(fails, 1000)
        assert failed.value.args == (300,)


def test_a_lock_that_is_kept(integrate):
    integrate.release_gil = False
    try:
        assert integrate(lambda x: 3.0, 0, 1, 4) == 3
        # The callable runs in the caller, which has the lock: a call within a call needs no second one.
        assert integrate(lambda x: integrate(lambda y: x, 0, 1, 1), 0, 2, 1) == 2
        with pytest.raises(ZeroDivisionError):
            integrate(lambda x: 1 / 0, 0, 1, 4)
        assert integrate(lambda x: 3.0, 0, 1, 4) == 3
    finally:
        integrate.release_gil = "auto"


def test_another_python_thread_calls_meanwhile(integrate):
    results = []

    def work(k):
        for _ in range(50):
            results.append(integrate(lambda x: k, 0, 1, 20) == pytest.approx(k))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 200
    assert all(results)


def test_callables_are_not_hoarded(integrate):
    class Big:
        pass

    for _ in range(300):
        big = Big()
        big.memory = bytearray(1_000_000)
        alive = weakref.ref(big)

        def cb(x, big=big):
            return float(len(big.memory))

        integrate(cb, 0, 1, 2)
        del big, cb
        assert alive() is None


def test_references_are_as_before(integrate, over_rows):
    value, error = 1.5, ValueError("x")
    a, w = np.ones((2, 3)), np.ones((2, 3), "f4")

    def good(x):
        return value

    def wrong(x):
        return "text"

    def raises(x):
        raise error

    def visit(row, w):
        return None

    values = [good, wrong, raises, visit, value, error, a, w, None]
    before = [sys.getrefcount(v) for v in values[:-1]]
    for _ in range(1000):
        integrate(good, 0, 1, 2)
        over_rows(a, visit, w)
        with pytest.raises(TypeError):
            integrate(wrong, 0, 1, 2)
        with pytest.raises(TypeError):
            integrate(value, 0, 1, 2)
        with pytest.raises(TypeError):
            integrate(good, value, error)
        with pytest.raises(ValueError):
            integrate(raises, 0, 1, 2)
        error.__traceback__ = error.__context__ = None
    gc.collect()
    assert [sys.getrefcount(v) for v in values[:-1]] == before


def test_an_optional_callback():
    source = "double f(Callback<double()> cb) { if (!cb.given()) return -1; auto r = cb(); return r.value; }"
    kernel = load(source, "f", [callback("cb", (), "float64", optional=True)], returns=SCALAR, result="r")
    assert kernel() == -1
    assert kernel(None) == -1
    assert kernel(lambda: 4.0) == 4


def test_results_are_checked(integrate):
    for value, text in [
        ("1", "returned a str, but a real number of type float64 is expected."),
        (None, "returned None, but a real number of type float64 is expected."),
        (1j, "returned a complex, but a real number of type float64 is expected."),
        (
            np.ones(1),
            "returned an ndarray of dtype float64 and shape (1,), but a real number of type float64 is expected.",
        ),
    ]:
        with pytest.raises(fr.UserError) as failed:
            integrate(lambda x, value=value: value, 0, 1)
        assert str(failed.value) == f"integrate(): the callback 'f' {text}"
        assert isinstance(failed.value, TypeError)
    source = "int8_t f(Callback<int8_t()> cb) { return cb().value; }"
    kernel = load(
        source, "f", [callback("cb", (), "int8")], returns=[fr.Return("r", "int8", kind="scalar")], result="r"
    )
    assert kernel(lambda: -128) == -128
    with pytest.raises(OverflowError) as failed:
        kernel(lambda: 128)
    assert str(failed.value) == "f(): the callback 'cb' returned 128, which is out of range for int8."
    with pytest.raises(TypeError, match="returned a float"):
        kernel(lambda: 1.0)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        kernel(lambda x: 0)


def test_callables_of_refused_and_failed_calls_are_not_hoarded(integrate):
    class Big:
        def __init__(self):
            self.memory = bytearray(1_000_000)

    def closure(big, fails):
        def cb(x):
            if fails:
                raise LookupError(len(big.memory))
            return float(len(big.memory))

        return cb

    def call(cb, step):
        if step % 4 == 0:
            return integrate(cb, 0, 1, 2)
        with pytest.raises((LookupError, TypeError, fr.UserError)):
            integrate(*{1: (cb, "x"), 2: (cb, 0, 1, cb), 3: (cb, 0, 1, 2)}[step % 4])

    for step in range(2000):
        big = Big()
        alive = weakref.ref(big)
        call(closure(big, step % 4 == 3), step)
        del big
        assert alive() is None, step


def test_ten_thousand_closures(integrate):
    alive = []
    for step in range(10_000):
        marks = {step}  # what the closure holds
        alive.append(weakref.ref(marked := lambda x, marks=marks: float(len(marks))))
        assert integrate(marked, 0, 1, 1) == 1
        del marked
        assert alive.pop()() is None


def test_a_callback_that_parallel_threads_share_with_calls_of_others(spread, integrate):
    """Threads of two calls at once, each with its own list, one of which raises now and then."""
    wrong = []

    def work(k):
        for step in range(10):
            seen = []
            spread(lambda i, seen=seen: seen.append(integrate(lambda x: i, 0, 1, 1)), 100, 4)
            if sorted(seen) != list(range(100)):
                wrong.append((k, step, len(seen)))

            def fails(i):
                if i == 50:
                    raise KeyError(k)

            try:
                spread(fails, 100, 4)
                wrong.append((k, step))
            except KeyError as error:
                if error.args != (k,):
                    wrong.append(error.args)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []

"""Source kernels that take and give structs, texts, objects, pointers and narrow floats."""

from __future__ import annotations

import ctypes
import gc
import struct
import sys
import threading
import warnings

import numpy as np
import pytest

import ferrule as fr

POINT = np.dtype([("x", "f8"), ("y", "f8"), ("id", "i4"), ("flag", "u1")], align=True)

POINT_SOURCE = """
struct Point { double x, y; int id; unsigned char flag; };
double norm1(Point p) { return p.x + p.y + p.id + p.flag; }
"""


def load(source, name, args=(), **options):
    return fr.compile_source(source, fr.Signature(name, args, **options)).load()


SCALAR = [fr.Return("r", kind="scalar")]


@pytest.fixture(scope="module")
def norm1():
    return load(POINT_SOURCE, "norm1", [fr.Arg("p", kind="struct", dtype=POINT)], returns=SCALAR, result="r")


def point(x, y, number=0, flag=0, dtype=POINT):
    return np.array((x, y, number, flag), dtype=dtype)


# -- structs


def test_a_struct_by_value(norm1):
    p = point(1.5, 2.0, 40, 200)
    assert norm1(p[()]) == 243.5
    assert norm1(p) == 243.5
    assert norm1(p=p[()]) == 243.5
    table = np.array([(1, 2, 3, 4), (5, 6, 7, 8)], dtype=POINT)
    assert norm1(table[1]) == 26
    assert norm1(table.view(np.recarray)[0]) == 10


def test_a_struct_that_lies_unaligned(norm1):
    memory = np.zeros(POINT.itemsize + 1, "u1")
    memory[1:] = np.frombuffer(point(1, 2, 3).tobytes(), "u1")
    assert norm1(memory[1:].view(POINT)[0]) == 6


NESTED = np.dtype(
    [("head", [("n", "i8")]), ("w", "f4", (2, 2)), ("tail", [("a", "i2"), ("b", "i2")], (2,))], align=True
)


def test_nested_structs_and_array_fields():
    source = """
    struct Nested { struct { long n; } head; float w[2][2]; struct { short a, b; } tail[2]; };
    double total(Nested s) {
      double sum = s.head.n;
      for (auto& row : s.w) for (float v : row) sum += v;
      for (auto& t : s.tail) sum += t.a - t.b;
      return sum;
    }"""
    kernel = load(source, "total", [fr.Arg("s", kind="struct", dtype=NESTED)], returns=SCALAR, result="r")
    value = np.array(((10,), ((1, 2), (3, 4)), [(7, 1), (8, 2)]), dtype=NESTED)
    assert kernel(value) == 32


def test_bytes_in_structs():
    named = np.dtype([("name", "S8"), ("tags", "S2", (2,)), ("n", "i4")])
    source = """
    struct S { char name[8]; char tags[2][2]; int n; };
    S same(const S* s, long n) { S last = s[n - 1]; last.n += last.name[0] * 10 + last.tags[1][0]; return last; }"""
    args = [fr.Arg("s", dtype=named, shape="N")]
    kernel = load(source, "same", args, returns=[fr.Return("r", named, kind="struct")], result="r")
    table = np.array([(b"abc", (b"x", b"yz"), 1)], dtype=named)
    got = kernel(table)
    assert got.dtype == named
    assert (got["name"], got["tags"][1], got["n"]) == (b"abc", b"yz", 970 + 121 + 1)
    shorter = np.dtype([("name", "S4"), ("tags", "S2", (2,)), ("n", "i4")])
    with pytest.raises(TypeError, match="the field 'name' has 4 elements, but 8 are expected"):
        kernel(np.zeros(1, shorter))


def test_a_packed_struct():
    packed = np.dtype([("a", "u1"), ("b", "f8")])
    source = """
    struct __attribute__((packed)) S { unsigned char a; double b; };
    double both(S s, const S* t, long n) { return s.a + s.b + t[n - 1].a + t[n - 1].b; }"""
    args = [fr.Arg("s", kind="struct", dtype=packed), fr.Arg("t", dtype=packed, shape="N")]
    kernel = load(source, "both", args, returns=SCALAR, result="r")
    table = np.array([(1, 0.5), (2, 0.25)], dtype=packed)
    assert kernel(table[0], table) == 3.75


def test_arrays_of_structs_tell_extents():
    source = """
    struct Point { double x, y; int id; unsigned char flag; };
    void move(Point* p, double* out, double by, long n) {
      for (long i = 0; i < n; ++i) { p[i].x += by; out[i] = p[i].x * p[i].id; }
    }"""
    args = [fr.Arg("p", dtype=POINT, shape="N", intent="inout"), fr.Arg("by", kind="scalar")]
    kernel = load(
        source, "move", args, returns=[fr.Return("out", shape="N")], parameters=["p", "out", "by", "N"]
    )
    table = np.array([(1, 2, 3, 4), (5, 6, 7, 8)], dtype=POINT)
    np.testing.assert_array_equal(kernel(table, 0.5), [4.5, 38.5])
    np.testing.assert_array_equal(table["x"], [1.5, 5.5])
    assert kernel(table[:0], 0.5).shape == (0,)
    fields = [POINT.fields[name] for name in POINT.names]
    again = np.dtype({"names": POINT.names, "formats": [f[0] for f in fields], "offsets": [f[1] for f in fields],
                      "itemsize": POINT.itemsize})  # fmt: skip
    np.testing.assert_array_equal(kernel(table.astype(again), 1), [7.5, 45.5])
    np.testing.assert_array_equal(kernel(table.view(np.recarray), 1), [7.5, 45.5])


def test_structs_as_results():
    source = """
    struct Point { double x, y; int id; unsigned char flag; };
    Point middle(const Point* p, long n) { return p[n / 2]; }
    void both(const Point* p, Point* first, Point* reversed, long n) {
      *first = p[0];
      for (long i = 0; i < n; ++i) reversed[i] = p[n - 1 - i];
    }"""
    args = [fr.Arg("p", dtype=POINT, shape="N")]
    middle = load(source, "middle", args, returns=[fr.Return("m", POINT, kind="struct")], result="m")
    table = np.array([(1, 2, 3, 4), (5, 6, 7, 8), (9, 0, 1, 2)], dtype=POINT)
    got = middle(table)
    assert isinstance(got, np.void)
    assert got.dtype == POINT
    assert got == table[1]
    table["x"] = 0
    assert got["x"] == 5
    returns = [fr.Return("first", POINT, kind="struct"), fr.Return("reversed", POINT, shape="N")]
    first, backwards = load(source, "both", args, returns=returns)(table)
    assert first == table[0]
    assert backwards.dtype == POINT
    np.testing.assert_array_equal(backwards, table[::-1])


def test_a_result_has_the_declared_dtype_whole():
    source = (
        "struct S { long n; float w[4]; short t[4]; }; S give() { return {7, {1, 2, 3, 4}, {5, 6, 7, 8}}; }"
    )
    got = load(source, "give", returns=[fr.Return("s", NESTED, kind="struct")], result="s")()
    assert got.dtype == NESTED
    assert got["head"]["n"] == 7
    np.testing.assert_array_equal(got["w"], [[1, 2], [3, 4]])
    np.testing.assert_array_equal(got["tail"]["b"], [6, 8])


def test_a_struct_of_another_size_does_not_compile():
    with pytest.raises(fr.BuildError, match="another size"):
        load("struct S { int a; }; double f(S s) { return s.a; }", "f",
             [fr.Arg("s", kind="struct", dtype=POINT)], returns=SCALAR, result="r")  # fmt: skip
    with pytest.raises(fr.BuildError, match="another size"):
        load("struct S { int a; }; void f(const S* s, long n) {}", "f", [fr.Arg("s", dtype=POINT, shape="N")])


# -- texts

COUNT = """
long count(const char* text, long n, char c) {
  long found = 0;
  for (long i = 0; i < n; ++i) found += text[i] == c;
  return found * 1000 + n + (text[n] == 0 ? 0 : 1000000);
}"""


@pytest.fixture(scope="module")
def count():
    args = [fr.Arg("text", kind="string"), fr.Arg("c", kind="scalar", dtype="int8", default=97)]
    return load(COUNT, "count", args, returns=[fr.Return("n", "int64", kind="scalar")], result="n")


def test_texts_and_bytes(count):
    assert count("banana") == 3006
    assert count(b"banana") == 3006
    assert count("") == 0
    assert count(b"a\0a") == 2003
    assert count("a\0a") == 2003
    assert count("äa") == 1003  # two bytes and one
    assert count("日本", c=ord("x")) == 6
    assert count(np.str_("aa")) == 2002
    assert count("a" * 100_000) == 100_100_000


def test_an_optional_text_and_a_default():
    source = (
        "long size(const char* s, long n, const char* t, long m) { return s == nullptr ? -n : n * 10 + m; }"
    )
    args = [fr.Arg("s", kind="string", optional=True), fr.Arg("t", kind="string", default="abc")]
    kernel = load(source, "size", args, returns=[fr.Return("n", "int64", kind="scalar")], result="n")
    assert kernel() == 0
    assert kernel(None) == 0
    assert kernel("") == 3
    assert kernel("four", b"xy") == 42
    fetched = load(
        "const char* keep; char first(const char* s) { return s[0]; }", "first", [fr.Arg("s", kind="string")],
        returns=[fr.Return("c", "int8", kind="scalar")], result="c", parameters=["s"],
    )  # fmt: skip
    assert fetched("hello") == ord("h")


def test_optional_scalars_come_as_pointers():
    source = "double f(const double* w) { return w == nullptr ? -1 : *w; }"
    kernel = load(source, "f", [fr.Arg("w", kind="scalar", optional=True)], returns=SCALAR, result="r")
    assert kernel() == -1
    assert kernel(None) == -1
    assert kernel(2.5) == 2.5


# -- objects

PICK = """
struct _object;
_object* pick(_object* a, void* b, int first) { return first ? a : static_cast<_object*>(b); }
"""


@pytest.fixture(scope="module")
def pick():
    args = [fr.Arg("a", kind="pyobject"), fr.Arg("b", kind="pyobject", default=None)]
    return load(
        PICK, "pick", [*args, fr.Arg("first", kind="scalar", dtype="int32", default=1)],
        returns=[fr.Return("o", kind="pyobject")], result="o",
    )  # fmt: skip


def test_objects_come_back_themselves(pick):
    for value in (object(), [1, 2], {}, lambda: 0, None, 3.5, np.ones(3), "text", pick):
        assert pick(value) is value
        assert pick(0, value, 0) is value
    assert pick(1, first=0) is None


def test_arrays_of_objects():
    source = """
    void swap(void* const* o, void** out, long n) { for (long i = 0; i < n; ++i) out[i] = i == 1 ? 0 : o[n - 1 - i]; }
    """
    args = [fr.Arg("o", dtype="object", shape="N")]
    kernel = load(source, "swap", args, returns=[fr.Return("out", "object", shape="N")])
    text = "text".upper()  # a single letter would have users elsewhere
    values = np.array([object(), text, [1]], dtype=object)
    before = [sys.getrefcount(v) for v in values]
    got = kernel(values)
    assert got.dtype == object
    assert got[0] is values[2]
    assert got[1] is None
    assert got[2] is values[0]
    del got
    gc.collect()
    assert [sys.getrefcount(v) for v in values] == before


def test_a_failing_run_owns_no_object():
    source = "int fill(void* o, void** out, long n) { for (long i = 0; i < n; ++i) out[i] = o; return 7; }"
    args = [fr.Arg("o", kind="pyobject"), fr.Arg("n", kind="scalar", dtype="int64")]
    kernel = load(
        source, "fill", args, returns=[fr.Return("out", "object", shape="n")], result="status",
        parameters=["o", "out", "n"],
    )  # fmt: skip
    value = object()
    before = sys.getrefcount(value)
    for _ in range(100):
        with pytest.raises(RuntimeError, match="status 7"):
            kernel(value, 5)
    assert sys.getrefcount(value) == before


# -- pointers

SUMS = """
void sums(const double* const* p, long k, double* out, long n) {
  for (long i = 0; i < k; ++i) { out[i] = 0; for (long j = 0; j < n; ++j) out[i] += p[i][j]; }
}"""


@pytest.fixture(scope="module")
def sums():
    args = [
        fr.Arg("p", kind="pointers"),
        fr.Arg("k", kind="scalar", dtype="int64"),
        fr.Arg("n", kind="scalar", dtype="int64"),
    ]
    return load(
        SUMS, "sums", args, returns=[fr.Return("out", shape="k")], parameters=["p", "p.length", "out", "n"]
    )


def test_a_sequence_of_arrays(sums):
    arrays = [np.arange(3.0), np.ones((3, 1)), np.full(3, 5.0)]
    np.testing.assert_array_equal(sums(arrays, 3, 3), [3, 3, 15])
    np.testing.assert_array_equal(sums(tuple(arrays), 3, n=3), [3, 3, 15])
    assert sums([], 0, 3).shape == (0,)


def test_addresses(sums):
    arrays = [np.arange(3.0), np.full(3, 5.0)]
    addresses = np.array([a.ctypes.data for a in arrays], dtype=np.uint64)
    np.testing.assert_array_equal(sums(addresses, 2, 3), [3, 15])
    table = (ctypes.POINTER(ctypes.c_double) * 2)(
        *(a.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for a in arrays)
    )
    np.testing.assert_array_equal(sums(table, 2, 3), [3, 15])
    table = (ctypes.c_void_p * 2)(*(a.ctypes.data for a in arrays))
    np.testing.assert_array_equal(sums(table, 2, 3), [3, 15])


def test_pointees_stay_alive_during_the_call():
    source = """
    #include "ferrule/rt/author.h"
    double last(const double* const* p, long n, fr_author::Callback<void()> change) {
      if (!change()) return 0;
      return p[n - 1][0];
    }"""
    kernel = load(
        source,
        "last",
        [fr.Arg("p", kind="pointers"), fr.Arg("change", kind="callback")],
        returns=SCALAR,
        result="r",
    )
    arrays = [np.full(1000, float(i)) for i in range(20)]

    def change():
        arrays.clear()
        gc.collect()
        return [np.zeros(1000) for _ in range(50)]

    assert kernel(arrays, change) == 19
    assert arrays == []


def test_written_pointees():
    source = "void fill(double** p, long k) { for (long i = 0; i < k; ++i) p[i][0] = i; }"
    kernel = load(source, "fill", [fr.Arg("p", kind="pointers", intent="out")])
    arrays = [np.full(1, 9.0) for _ in range(3)]
    kernel(arrays)
    assert [a[0] for a in arrays] == [0, 1, 2]


# -- narrow floats

HALF = """
unsigned short same(unsigned short x) { return x; }
void copy(const unsigned short* x, unsigned short* out, long n) { for (long i = 0; i < n; ++i) out[i] = x[i]; }
"""
HALF_VALUES = [0.0, -0.0, 1.0, 1 / 3, 65504.0, 65519.9, 65520.0, 6e-8, 2.98e-8, 1e-10, 1e300, -1e300, np.inf, np.nan,
               1 + 2.0**-11, 1 + 2.0**-11 + 2.0**-40, 3.4e38, 2.0**-133, 2.0**-134, 5e-324]  # fmt: skip


def same_of(dtype):
    args = [fr.Arg("x", kind="scalar", dtype=dtype)]
    return load(HALF, "same", args, returns=[fr.Return("r", dtype, kind="scalar")], result="r")


def test_float16_scalars():
    kernel = same_of("float16")
    for value in HALF_VALUES:
        with np.errstate(over="ignore"):
            expected = np.float16(value)
        got = kernel(value)
        assert isinstance(got, np.float16)
        assert struct.pack("e", got) == struct.pack("e", expected), value
    assert kernel(3) == 3
    assert kernel(np.float16(0.1)) == np.float16(0.1)


def test_bfloat16_scalars():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    kernel = same_of("bfloat16")
    for value in HALF_VALUES:
        if value == 1 + 2.0**-11 + 2.0**-40:
            continue
        got = kernel(value)
        assert type(got) is ml_dtypes.bfloat16
        expected = ml_dtypes.bfloat16(value)
        assert (np.isnan(got) and np.isnan(expected)) or got.tobytes() == expected.tobytes(), value
    assert kernel(ml_dtypes.bfloat16(0.1)) == ml_dtypes.bfloat16(0.1)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_ml_dtypes_arrays(name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    unit = "unsigned short" if name == "bfloat16" else "unsigned char"
    source = f"void copy(const {unit}* x, {unit}* out, long n) {{ for (long i = 0; i < n; ++i) out[i] = x[n-1-i]; }}"
    signature = fr.Signature(
        "copy",
        [fr.Arg("x", dtype=getattr(ml_dtypes, name), shape="N")],
        returns=[fr.Return("out", name, shape="N")],
    )
    assert signature == fr.Signature.from_json(signature.to_json())
    kernel = fr.compile_source(source, signature).load()
    x = np.arange(5).astype(getattr(ml_dtypes, name))
    got = kernel(x)
    assert got.dtype == x.dtype
    np.testing.assert_array_equal(got, x[::-1])
    with pytest.raises(TypeError, match=f"'x' has dtype uint.*, but {name} is expected"):
        kernel(x.view(np.uint16 if name == "bfloat16" else np.uint8))


def test_without_ml_dtypes(monkeypatch):
    source = HALF
    args = [fr.Arg("x", dtype="bfloat16", shape="N")]
    returns = [fr.Return("out", "bfloat16", shape="N")]
    artifact = fr.compile_source(source, fr.Signature("copy", args, returns=returns))
    taking = fr.compile_source("void take(const unsigned short* x, long n) {}", fr.Signature("take", args))
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(fr.Unsupported) as failed:
        artifact.load()
    assert str(failed.value) == (
        "copy(): the result 'out' has dtype bfloat16, which comes from ml_dtypes; install the package ml_dtypes."
    )
    with pytest.raises(TypeError) as failed:
        taking.load()(np.zeros(3, np.uint16))
    assert str(failed.value) == (
        "take(): 'x' has dtype uint16, but bfloat16 is expected; its dtype comes from ml_dtypes, which is not installed."
    )


# -- memory for results


@pytest.fixture(scope="module")
def scaled():
    source = "void scaled(const double* a, double* out, double w, long n) { for (long i = 0; i < n; ++i) out[i] = w * a[i]; }"
    args = [fr.Arg("a", shape="N"), fr.Arg("w", kind="scalar", default=2.0)]
    return load(
        source, "scaled", args, returns=[fr.Return("out", shape="N")], parameters=["a", "out", "w", "N"],
        allow_return_override=True,
    )  # fmt: skip


def test_the_callers_own_memory(scaled):
    a, y = np.arange(4.0), np.zeros(4)
    assert scaled(a, out=y) is y
    np.testing.assert_array_equal(y, 2 * a)
    assert scaled(a, w=3, out=y) is y
    assert scaled(out=y, a=a, w=3) is y
    np.testing.assert_array_equal(y, 3 * a)
    fresh = scaled(a, out=None)
    assert fresh is not y
    np.testing.assert_array_equal(fresh, scaled(a))


def test_one_of_several_results():
    source = """
    void two(const double* a, double* p, float* q, long n) { for (long i = 0; i < n; ++i) p[i] = a[i], q[i] = -a[i]; }
    """
    returns = [fr.Return("p", shape="N"), fr.Return("q", "float32", shape="N")]
    kernel = load(source, "two", [fr.Arg("a", shape="N")], returns=returns, allow_return_override=True)
    a, mine = np.arange(3.0), np.zeros(3, "f4")
    p, q = kernel(a, q=mine)
    assert q is mine
    np.testing.assert_array_equal(p, a)
    np.testing.assert_array_equal(q, -a)


def test_memory_of_a_struct_result():
    source = "struct S { double x, y; int id; unsigned char f; }; void f(S* out, long n) { for (long i = 0; i < n; ++i) out[i] = {1, 2, 3, 4}; }"
    kernel = load(
        source, "f", symbols=["K"], returns=[fr.Return("out", POINT, shape="K")], allow_return_override=True
    )
    mine = np.zeros(3, POINT)
    assert kernel(K=3, out=mine) is mine
    assert mine[2] == np.array((1, 2, 3, 4), POINT)


# -- lists


def test_lists_are_copied_with_a_warning():
    source = "double total(const double* a, long n, long m) { double s = 0; for (long i = 0; i < n * m; ++i) s += a[i]; return s; }"
    kernel = load(
        source, "total", [fr.Arg("a", shape=("N", "M"))], returns=SCALAR, result="r", coerce="asarray"
    )
    with pytest.warns(
        RuntimeWarning, match=r"^total\(\): 'a' is a list, which is copied to an array at each call\.$"
    ):
        assert kernel([[1, 2], [3, 4]]) == 10
    with pytest.warns(RuntimeWarning, match="is a tuple"):
        assert kernel(((1.5, 2),)) == 3.5
    with pytest.warns(RuntimeWarning):
        assert kernel([[]]) == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kernel(np.ones((2, 2))) == 4
        with pytest.raises(RuntimeWarning):
            kernel([[1.0]])


# -- references, threads


def refused(call, error=Exception):
    with pytest.raises(error):
        call()


def test_references_are_as_before(norm1, count, pick, sums, scaled):
    holder = object()
    text, p, array = "text" * 10, point(1, 2), np.ones(3)
    values = [holder, text, p, array, POINT]
    wrong = point(1, 2, dtype=np.dtype([("x", "f8"), ("z", "f8"), ("id", "i4"), ("flag", "u1")], align=True))
    values.append(wrong)
    before = [sys.getrefcount(value) for value in values]
    out = np.zeros(3)
    for _ in range(1000):
        norm1(p)
        count(text)
        pick(holder)
        sums([array, array], 2, 3)
        scaled(array, out=out)
        refused(lambda: norm1(wrong), TypeError)
        refused(lambda: norm1(holder), TypeError)
        refused(lambda: count(holder), TypeError)
        refused(lambda: count("\ud800"), ValueError)
        refused(lambda: sums([array, holder], 2, 3), TypeError)
        refused(lambda: sums([array, wrong], 2, 3), TypeError)
        refused(lambda: sums([array], holder, 3), TypeError)
        refused(lambda: scaled(array, out=holder), TypeError)
        refused(lambda: scaled(array, out=array), ValueError)
        refused(lambda: scaled(array, out=out[:2]), ValueError)
        refused(lambda: scaled(holder, out=out), TypeError)
    gc.collect()
    assert [sys.getrefcount(value) for value in values] == before
    assert sys.getrefcount(out) == 2


def test_from_several_threads(norm1, pick):
    failures = []

    def work(seed):
        p, value = point(seed, 1), object()
        for _ in range(2000):
            if norm1(p) != seed + 1 or pick(value) is not value:
                failures.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_nested_layouts_and_other_processes():
    source = """
    #include "ferrule/rt/author.h"
    struct Point { double x, y; int id; unsigned char flag; };
    double mixed(Point p, const Point* ps, const char* s, long bytes, void* o, fr_author::Callback<double(void*)> cb,
                 long n) {
      auto given = cb(o);
      return p.x + ps[n - 1].id + bytes + given.value;
    }"""
    args = [
        fr.Arg("p", kind="struct", dtype=POINT),
        fr.Arg("ps", dtype=POINT, shape="N"),
        fr.Arg("s", kind="string"),
        fr.Arg("o", kind="pyobject"),
        fr.Arg("cb", kind="callback", params=[fr.Arg("o", kind="pyobject")], returns="float64"),
    ]
    kernel = load(
        source, "mixed", args, returns=SCALAR, result="r", user_args=(("p", ("ps", "")), "s", ("o", "cb"))
    )
    table = np.array([(1, 2, 3, 4), (5, 6, 7, 8)], dtype=POINT)
    assert kernel(table[0], table, "abc", 5, float) == 16
    assert kernel.user_call((table[0], (table, None)), "abc", (5, float)) == 16
    with pytest.raises(TypeError, match="'cb' is an int, but a callable is expected"):
        kernel.user_call((table[0], (table, None)), "abc", (5, 3))
    assert kernel.safe_call(table[0], table, "abc", 5, float) == 16
    called = []
    with fr.config(do_not_execute=True):
        assert kernel(table[0], table, "abc", 5, called.append) is None
    assert called == []


def test_signatures_round_trip():
    args = [
        fr.Arg("p", kind="struct", dtype=NESTED),
        fr.Arg("t", dtype=POINT, shape="N"),
        fr.Arg("s", kind="string", default=b"x"),
        fr.Arg("o", kind="pyobject", optional=True),
        fr.Arg("q", kind="pointers", dtype="int32", intent="inout"),
        fr.Arg(
            "c",
            kind="callback",
            params=[fr.Arg("x", shape="N"), fr.Arg("k", kind="scalar")],
            returns="pyobject",
        ),
    ]
    signature = fr.Signature(
        "f", args, returns=[fr.Return("r", NESTED, kind="struct"), fr.Return("w", kind="pyobject")],
        allow_return_override=True, coerce="asarray",
    )  # fmt: skip
    assert fr.Signature.from_json(signature.to_json()) == signature
    assert signature != fr.Signature("f", args)

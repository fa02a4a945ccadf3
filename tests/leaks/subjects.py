"""What the cases call: one kernel for each kind of argument, result and handle, made when it is first used."""

from __future__ import annotations

import functools

import kernels
import numpy as np

import ferrule as fr

POINT = np.dtype([("x", "f8"), ("y", "f8"), ("id", "i4"), ("flag", "u1")], align=True)
SCALAR = [fr.Return("r", kind="scalar")]


def compiled(source, name, args=(), **options):
    return fr.compile_source(source, fr.Signature(name, args, **options))


def number(name, dtype="float64", **options):
    return fr.Arg(name, kind="scalar", dtype=dtype, **options)


@functools.cache
def axpy():
    """axpy(x, y, a=2.0): y += a * x, and the sum of x."""
    source = """
    double axpy(const double* x, double* y, double a, long n) {
      double sum = 0;
      for (long i = 0; i < n; ++i) { y[i] += a * x[i]; sum += x[i]; }
      return sum;
    }"""
    args = [fr.Arg("x", shape="N"), fr.Arg("y", shape="N", intent="inout"), number("a", default=2.0)]
    return compiled(source, "axpy", args, returns=SCALAR, result="r").load()


@functools.cache
def scale():
    """scale(y, a): y *= a, without a result."""
    source = "void scale(double* y, double a, long n) { for (long i = 0; i < n; ++i) y[i] *= a; }"
    return compiled(source, "scale", [fr.Arg("y", shape="N", intent="inout"), number("a")]).load()


@functools.cache
def blend():
    """blend(x, y, a=2.0, k=1, i=0, b=False): y += a * x + k + i + b, without a result."""
    source = """
    void blend(const double* x, double* y, double a, long k, int i, bool b, long n) {
      for (long j = 0; j < n; ++j) y[j] += a * x[j] + k + i + b;
    }"""
    args = [
        fr.Arg("x", shape="N"), fr.Arg("y", shape="N", intent="inout"), number("a", default=2.0),
        number("k", "int64", default=1), number("i", "int32", default=0), number("b", "bool", default=False),
    ]  # fmt: skip
    return compiled(source, "blend", args).load()


@functools.cache
def stretch():
    """stretch(a): a *= 2, of any strides."""
    source = """
    void stretch(double* a, long n, long m, long s, long t) {
      for (long i = 0; i < n; ++i) for (long j = 0; j < m; ++j) a[i * s + j * t] *= 2;
    }"""
    return compiled(
        source, "stretch", [fr.Arg("a", shape=("N", "M"), order="any", intent="inout")],
        parameters=["a", "N", "M", "a.strides[0]", "a.strides[1]"],
    ).load()  # fmt: skip


@functools.cache
def hold():
    """hold(p, q, s, o): an array of structs, a struct, a text and an object."""
    source = "struct P { double x, y; int id; unsigned char f; }; void hold(P* p, P q, const char* s, void*) { p->x = q.x + *s; }"
    args = [
        fr.Arg("p", dtype=POINT, shape="N", intent="inout"), fr.Arg("q", kind="struct", dtype=POINT),
        fr.Arg("s", kind="string"), fr.Arg("o", kind="pyobject"),
    ]  # fmt: skip
    return compiled(source, "hold", args, parameters=["p", "q", "s", "o"]).load()


@functools.cache
def weigh():
    """weigh(x, w=None): the sum of x."""
    source = "double weigh(const double* x, const double* w, long n) { return n > 0 ? x[n - 1] + (w ? w[0] : 0) : 0; }"
    args = [fr.Arg("x", shape="N", order="any"), fr.Arg("w", shape="K", optional=True)]
    source = source.replace("long n", "long n, long s").replace("x[n - 1]", "x[(n - 1) * s]")
    return compiled(
        source, "weigh", args, returns=SCALAR, result="r", parameters=["x", "w", "N", "x.strides[0]"]
    ).load()


@functools.cache
def mix():
    """mix(i, f, z, b, h=0.5, o=None): their sum, of scalars alone."""
    source = """
    double mix(int i, float f, double _Complex z, bool b, unsigned short h, const double* o) {
      return i + f + __real__ z + b + (h != 0) + (o ? *o : 0);
    }"""
    args = [
        number("i", "int32"), number("f", "float32"), number("z", "complex128"), number("b", "bool"),
        number("h", "float16", default=0.5), number("o", optional=True, default=None),
    ]  # fmt: skip
    return compiled(source, "mix", args, returns=SCALAR, result="r").load()


@functools.cache
def strict():
    """strict(i, x): scalars of exactly the declared types."""
    source = "double strict(long i, double x) { return i + x; }"
    args = [number("i", "int64"), number("x")]
    return compiled(source, "strict", args, returns=SCALAR, result="r", strict_scalars=True).load()


@functools.cache
def sized():
    """sized(x, K=...): x has 2*K + 1 elements, K is checked."""
    source = "long sized(const double*, long k, long m) { return k + m; }"
    return compiled(
        source, "sized", [fr.Arg("x", shape="2*K+1")], symbols=["K", fr.Symbol("M", "int32")],
        returns=[fr.Return("r", "int64", kind="scalar")], result="r", parameters=["x", "K", "M"],
    ).load()  # fmt: skip


@functools.cache
def norm():
    """norm(p): of a struct by value."""
    source = "struct P { double x, y; int id; unsigned char f; }; double norm(P p) { return p.x + p.y; }"
    return compiled(
        source, "norm", [fr.Arg("p", kind="struct", dtype=POINT)], returns=SCALAR, result="r"
    ).load()


@functools.cache
def middle():
    """middle(p): the struct in the middle of an array of structs, and the array backwards."""
    source = """
    struct P { double x, y; int id; unsigned char f; };
    void middle(const P* p, P* m, P* backwards, long n) {
      *m = p[n / 2];
      for (long i = 0; i < n; ++i) backwards[i] = p[n - 1 - i];
    }"""
    returns = [fr.Return("m", POINT, kind="struct"), fr.Return("backwards", POINT, shape="N")]
    return compiled(source, "middle", [fr.Arg("p", dtype=POINT, shape="N")], returns=returns).load()


@functools.cache
def letters():
    """letters(s, t=None): how many bytes."""
    source = "long letters(const char*, const char* t, long n) { return n + (t ? 1 : 0); }"
    args = [fr.Arg("s", kind="string"), fr.Arg("t", kind="string", optional=True, default=None)]
    return compiled(
        source, "letters", args, returns=[fr.Return("r", "int64", kind="scalar")], result="r",
        parameters=["s", "t", "s.length"],
    ).load()  # fmt: skip


@functools.cache
def pick():
    """pick(a, b=None, first=1): one of two objects."""
    source = "void* pick(void* a, void* b, int first) { return first ? a : b; }"
    args = [
        fr.Arg("a", kind="pyobject"),
        fr.Arg("b", kind="pyobject", default=None),
        number("first", "int32", default=1),
    ]
    return compiled(source, "pick", args, returns=[fr.Return("o", kind="pyobject")], result="o").load()


@functools.cache
def swapped():
    """swapped(o, status=0): an array of objects backwards, with None in the middle; or a failure after writing it."""
    source = """
    int swapped(void* const* o, int status, void** out, long n) {
      for (long i = 0; i < n; ++i) out[i] = i == 1 ? 0 : o[n - 1 - i];
      return status;
    }"""
    args = [fr.Arg("o", dtype="object", shape="N"), number("status", "int32", default=0)]
    return compiled(
        source, "swapped", args, returns=[fr.Return("out", "object", shape="N")], result="status",
        parameters=["o", "status", "out", "N"],
    ).load()  # fmt: skip


@functools.cache
def sums():
    """sums(p, k, n): of each array that p leads to."""
    source = """
    void sums(const double* const* p, long k, double* out, long n) {
      for (long i = 0; i < k; ++i) { out[i] = 0; for (long j = 0; j < n; ++j) out[i] += p[i][j]; }
    }"""
    args = [fr.Arg("p", kind="pointers"), number("k", "int64"), number("n", "int64")]
    return compiled(
        source, "sums", args, returns=[fr.Return("out", shape="k")], parameters=["p", "p.length", "out", "n"]
    ).load()


@functools.cache
def scaled():
    """scaled(a, w=2.0, status=0, out=...): w * a in new memory or the caller's, unless the status is an error."""
    source = """
    int scaled(const double* a, double* out, double w, int status, long n) {
      for (long i = 0; i < n; ++i) out[i] = w * a[i];
      return status;
    }"""
    args = [fr.Arg("a", shape="N"), number("w", default=2.0), number("status", "int32", default=0)]
    return compiled(
        source, "scaled", args, returns=[fr.Return("out", shape="N")], result="status",
        parameters=["a", "out", "w", "status", "N"], allow_return_override=True, statuses={3: "too much"},
    ).load()  # fmt: skip


@functools.cache
def fresh():
    """fresh(a, status=0): (a new array, a number, another new array), or a failure."""
    source = """
    int fresh(const double* a, double* p, double* s, float* q, int status, long n) {
      for (long i = 0; i < n; ++i) p[i] = a[i], q[i] = -a[i];
      *s = n;
      return status;
    }"""
    returns = [fr.Return("p", shape="N"), fr.Return("s", kind="scalar"), fr.Return("q", "float32", shape="N")]
    return compiled(
        source, "fresh", [fr.Arg("a", shape="N"), number("status", "int32", default=0)], returns=returns,
        result="status", parameters=["a", "p", "s", "q", "status", "N"],
    ).load()  # fmt: skip


@functools.cache
def listed():
    """listed(x, y=None): takes lists for x; y is written."""
    source = "double listed(const double* x, double* y, long n) { if (y) y[0] = 1; return n ? x[0] : 0; }"
    args = [fr.Arg("x", shape="N"), fr.Arg("y", shape="M", intent="inout", optional=True, default=None)]
    return compiled(
        source, "listed", args, returns=SCALAR, result="r", parameters=["x", "y", "N"], coerce="asarray"
    ).load()


@functools.cache
def integrate():
    """integrate(f, n): f is called n times, and the sum is an array."""
    source = """
    #include "ferrule/rt/author.h"
    void integrate(fr_author::Callback<double(double)> f, long n, double* out) {
      *out = 0;
      for (long i = 0; i < n; ++i) { auto y = f(i); if (!y) return; *out += y.value; }
    }"""
    args = [
        fr.Arg("f", kind="callback", params=[number("x")], returns="float64"),
        number("n", "int64", default=3),
    ]
    return compiled(
        source, "integrate", args, returns=[fr.Return("out", shape="1")], parameters=["f", "n", "out"]
    ).load()


@functools.cache
def rows():
    """rows(a, cb): cb(row, object) for each row, which gives an object."""
    source = """
    #include "ferrule/rt/author.h"
    void rows(double* a, fr_author::Callback<void*(double*, void*)> cb, void* o, void** last, long n, long m) {
      for (long i = 0; i < n; ++i) { auto r = cb(a + i * m, o); if (!r) return; *last = r.value; }
    }"""
    args = [
        fr.Arg("a", shape=("N", "M"), intent="inout"),
        fr.Arg("cb", kind="callback", params=[fr.Arg("row", shape="M", intent="inout"), fr.Arg("o", kind="pyobject")],
               returns="pyobject"),
        fr.Arg("o", kind="pyobject", default=None),
    ]  # fmt: skip
    return compiled(
        source, "rows", args, returns=[fr.Return("last", kind="pyobject")],
        parameters=["a", "cb", "o", "last", "N", "M"],
    ).load()  # fmt: skip


@functools.cache
def spread():
    """spread(f, n): f(i) by the threads of a parallel region."""
    source = """
    #include <stdint.h>
    #include "ferrule/rt/author.h"
    struct Closure { fr_author::Callback<void(int64_t)>* f; };
    int32_t body(void* closure, int64_t low, int64_t high, int32_t) {
      for (int64_t i = low; i < high; ++i)
        if (auto called = (*static_cast<Closure*>(closure)->f)(i); !called) return called.status;
      return FR_OK;
    }
    void spread(fr_author::Callback<void(int64_t)> f, long n) {
      Closure closure{&f};
      f.parallel_for(n, 1, body, &closure);
    }"""
    args = [fr.Arg("f", kind="callback", params=[number("i", "int64")]), number("n", "int64")]
    return compiled(source, "spread", args).load()


COUNTER = """
#include <stdlib.h>
struct State { long n; double* kept; };
State* open(long n) {
  if (n == 13) return nullptr;
  return new State{n, (double*)calloc(n + 1, sizeof(double))};
}
int shut(State* s) { const int status = s->n == 5 ? 3 : 0; free(s->kept); delete s; return status; }
void step(State* s, const double* x, double* out, long n) {
  for (long i = 0; i < n; ++i) out[i] = s->kept[i] += x[i];
}"""


@functools.cache
def counting():
    """The artifact of step(x), whose handles keep the sums of what they were given."""
    return compiled(
        COUNTER, "step", [fr.Arg("x", shape="N")], returns=[fr.Return("out", shape="N")],
        parameters=["state", "x", "out", "N"], init=fr.AuthorFunction("open", ["N"], "state"),
        exit=fr.AuthorFunction("shut", ["state"], "status"), persistent=["N"], statuses={3: "too many"},
    )  # fmt: skip


@functools.cache
def backwards():
    """The artifact of backwards(x), which needs a workspace of 8*N bytes and returns an array."""
    source = """
    void backwards(const double* x, double* out, long n, double* scratch) {
      for (long i = 0; i < n; ++i) scratch[i] = x[i];
      for (long i = 0; i < n; ++i) out[i] = scratch[n - 1 - i];
    }"""
    return compiled(
        source, "backwards", [fr.Arg("x", shape="N")], returns=[fr.Return("out", shape="N")],
        workspaces=[fr.Workspace("scratch", "8*N")], parameters=["x", "out", "N", "scratch"],
    )  # fmt: skip


@functools.cache
def halved():
    """halved(x, wrong=0): half of it in an array, and a record of its own of what was wrong."""
    source = """
    static thread_local const char* record = nullptr;
    void halved(const double* x, double* out, int wrong, long n) {
      for (long i = 0; i < n; ++i) out[i] = x[i] / 2;
      if (wrong) record = "it went wrong";
    }
    const char* take_error() { const char* text = record; record = nullptr; return text; }"""
    return compiled(
        source, "halved", [fr.Arg("x", shape="N"), number("wrong", "int32", default=0)],
        returns=[fr.Return("out", shape="N")], parameters=["x", "out", "wrong", "N"],
        error=fr.AuthorFunction("take_error", [], "text"),
    ).load()  # fmt: skip


@functools.cache
def shift():
    """shift with user_args ((field, (o0, o1)), s)."""
    source = "void shift(double* field, long o0, long o1, double s, long n) { field[o0 * n + o1] = s; }"
    args = [
        fr.Arg("field", shape=("M", "N"), intent="inout"),
        number("o0", "int64"),
        number("o1", "int64"),
        number("s"),
    ]
    return compiled(
        source,
        "shift",
        args,
        user_args=(("field", ("o0", "o1")), "s"),
        parameters=["field", "o0", "o1", "s", "N"],
    ).load()


@functools.cache
def risky():
    """risky(x, how): the last element plus one in an array, or the end of the process."""
    source = """
    #include <signal.h>
    void risky(const double* x, double* out, long how, long n) {
      if (how == 1) raise(SIGKILL);
      out[0] = n ? x[n - 1] + 1 : 0;
    }"""
    args = [fr.Arg("x", shape="N"), number("how", "int64", default=0)]
    return compiled(
        source, "risky", args, returns=[fr.Return("out", shape="1")], parameters=["x", "out", "how", "N"]
    ).load()


@functools.cache
def positive():
    """positive(a, begin, step): (the positive elements, of a size that only the run tells; the view a[begin::step])."""
    return kernels.kernel("returns.c")

"""Source kernels: an author's C++ with a signature, from its text to the call."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

import ferrule as fr

AXPY = """
#include <stdint.h>
void axpy(const double* x, double* y, double a, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] += a * x[i];
}
"""


def axpy_signature(**options):
    args = [
        fr.Arg("x", shape="N"),
        fr.Arg("y", shape="N", intent="inout"),
        fr.Arg("a", kind="scalar", default=2.0),
    ]
    return fr.Signature("axpy", args, **options)


@pytest.fixture(scope="module")
def axpy():
    return fr.compile_source(AXPY, axpy_signature()).load()


def test_by_position_by_name_and_with_a_default(axpy):
    x, y = np.arange(4.0), np.ones(4)
    assert axpy(x, y) is None
    np.testing.assert_array_equal(y, [1, 3, 5, 7])
    axpy(y=y, x=x, a=1)
    np.testing.assert_array_equal(y, [1, 4, 7, 10])
    axpy(x, y, -1.0, N=4)
    np.testing.assert_array_equal(y, [1, 3, 5, 7])


@pytest.mark.parametrize("size", [0, 1, 2, 17])
def test_any_size(axpy, size):
    x, y = np.arange(float(size)), np.ones(size)
    axpy(x, y)
    np.testing.assert_array_equal(y, 1 + 2 * x)


def test_the_artifact_is_a_value(axpy):
    artifact = fr.compile_source(AXPY, axpy_signature())
    assert artifact == axpy.artifact
    assert "axpy" in artifact.source
    again = pickle.loads(pickle.dumps(artifact))
    x, y = np.arange(3.0), np.zeros(3)
    again.load()(x, y)
    np.testing.assert_array_equal(y, 2 * x)
    assert json.loads(artifact.manifest)["binding"]["signature"]["name"] == "axpy"


def test_what_decides_the_key():
    base = fr.compile_source(AXPY, axpy_signature())
    assert fr.compile_source(AXPY + "// a comment\n", axpy_signature()).key != base.key
    assert fr.compile_source(AXPY, axpy_signature(strict_scalars=True)).key != base.key
    assert fr.compile_source(AXPY, axpy_signature(arg_names=["x", "y", "a"])).key != base.key
    assert fr.compile_source(AXPY, axpy_signature(), flags=["-DNOTHING"]).key != base.key


def test_symbols_that_only_solve_together():
    args = [fr.Arg("A", shape="N+M"), fr.Arg("B", shape="N-M")]
    returns = [fr.Return("n", "int64", kind="scalar"), fr.Return("m", "int64", kind="scalar")]
    signature = fr.Signature("both", args, returns=returns, parameters=["n", "m", "N", "M"])
    kernel = fr.compile_source(
        "void both(long* n, long* m, long N, long M) { *n = N; *m = M; }", signature
    ).load()
    assert kernel(np.ones(7), np.ones(3)) == (5, 2)
    assert kernel(np.ones(0), np.ones(0)) == (0, 0)
    for a, b in [(7, 4), (3, 5)]:
        with pytest.raises(fr.UserError, match=r"A\.shape\[0\].*B\.shape\[0\]") as refused:
            kernel(np.ones(a), np.ones(b))
        assert isinstance(refused.value, ValueError)


def test_divisibility():
    signature = fr.Signature(
        "half", [fr.Arg("A", shape="2*N")], returns=[fr.Return("n", "int64", kind="scalar")], result="n",
        parameters=["N"],
    )  # fmt: skip
    kernel = fr.compile_source("long half(long n) { return n; }", signature).load()
    assert kernel(np.ones(8)) == 4
    with pytest.raises(ValueError, match=r"'A' has shape \(7,\), but \(2\*N,\) is expected"):
        kernel(np.ones(7))


def test_extents_beyond_32_bits():
    signature = fr.Signature(
        "count", [fr.Arg("v", dtype="uint8", shape="N", order="any")],
        returns=[fr.Return("n", "int64", kind="scalar")], result="n", parameters=["N"],
    )  # fmt: skip
    kernel = fr.compile_source("long count(long n) { return n * 2; }", signature).load()
    huge = np.lib.stride_tricks.as_strided(np.zeros(1, np.uint8), (2**31 + 5,), (0,))
    assert kernel(huge) == 4294967306


def test_a_symbol_of_32_bits_is_checked():
    signature = fr.Signature(
        "narrow", [fr.Arg("v", dtype="uint8", shape="N", order="any")], symbols=[fr.Symbol("N", "int32")],
        returns=[fr.Return("n", "int64", kind="scalar")], result="n", parameters=["N"],
    )  # fmt: skip
    kernel = fr.compile_source("long narrow(int n) { return n; }", signature).load()
    assert kernel(np.zeros(9, np.uint8)) == 9
    huge = np.lib.stride_tricks.as_strided(np.zeros(1, np.uint8), (2**31,), (0,))
    with pytest.raises(ValueError, match=r"N <= 2147483647, since 'N' is an int32, but N = 2147483648"):
        kernel(huge)


def test_a_symbol_that_only_the_result_has():
    signature = fr.Signature("zeros_of", symbols=["K"], returns=[fr.Return("out", shape="K")])
    kernel = fr.compile_source(
        "void zeros_of(double* out, long k) { for (long i = 0; i < k; ++i) out[i] = 0; }", signature
    ).load()
    assert kernel(K=4).shape == (4,)
    assert kernel(K=0).shape == (0,)
    with pytest.raises(TypeError, match="'K' must be given by keyword"):
        kernel()
    with pytest.raises(ValueError, match="'K' is -1, but it must not be negative"):
        kernel(K=-1)


def test_symbols_by_position():
    signature = fr.Signature(
        "fill", [fr.Arg("out", shape="2*N", intent="out"), fr.Arg("v", kind="scalar")],
        arg_names=["N", "out", "v"], parameters=["out", "v", "N"],
    )  # fmt: skip
    kernel = fr.compile_source(
        "void fill(double* out, double v, long n) { for (long i = 0; i < 2 * n; ++i) out[i] = v; }", signature
    ).load()
    out = np.zeros(6)
    kernel(3, out, 1.5)
    np.testing.assert_array_equal(out, 1.5)
    kernel(v=2.5, out=out, N=3)
    np.testing.assert_array_equal(out, 2.5)
    with pytest.raises(ValueError, match=r"out\.shape\[0\] = 6, not 2\*N = 8 with N = 4"):
        kernel(4, out, 0.0)
    with pytest.raises(TypeError, match="'v' is missing"):
        kernel(3, out)


def test_arguments_that_arg_names_leaves_out_come_by_name():
    kernel = fr.compile_source(AXPY, axpy_signature(arg_names=["x", "y"])).load()
    x, y = np.arange(3.0), np.zeros(3)
    kernel(x, y, a=3.0)
    np.testing.assert_array_equal(y, 3 * x)
    with pytest.raises(TypeError, match="3 arguments"):
        kernel(x, y, 3.0)


def test_optional_arrays_arrive_as_null():
    signature = fr.Signature(
        "p",
        [fr.Arg("x", shape="N"), fr.Arg("w", shape="N", optional=True)],
        returns=[fr.Return("out", shape="N")],
    )
    text = """
    void p(double* x, double* w, double* out, long n) {
      for (long i = 0; i < n; ++i) out[i] = w == nullptr ? x[i] : x[i] + w[i];
    }"""
    kernel = fr.compile_source(text, signature).load()
    x, w = np.arange(3.0), np.ones(3)
    for _ in range(2):
        np.testing.assert_array_equal(kernel(x), x)
        np.testing.assert_array_equal(kernel(x, w), x + w)
    np.testing.assert_array_equal(kernel(x, w=None), x)
    with pytest.raises(TypeError, match="'x'"):
        kernel(None)
    with pytest.raises(ValueError, match=r"x\.shape\[0\] = 3, but w\.shape\[0\] = 2"):
        kernel(x, np.ones(2))


def test_complex_numbers_as_the_author_spells_them():
    signature = fr.Signature(
        "scale", [fr.Arg("c", dtype="complex128", shape="N"), fr.Arg("z", kind="scalar", dtype="complex64")],
        returns=[fr.Return("out", "complex128", "N"), fr.Return("s", "complex128", kind="scalar")], result="s",
    )  # fmt: skip
    text = """
    #include <complex>
    using C = std::complex<double>;
    C scale(const C* c, std::complex<float> z, C* out, long n) {
      C sum = 0;
      for (long i = 0; i < n; ++i) sum += out[i] = c[i] * C(z);
      return sum;
    }"""
    kernel = fr.compile_source(text, signature).load()
    c = np.array([1, 2j, 3 - 1j])
    out, total = kernel(c, 2 + 1j)
    np.testing.assert_array_equal(out, c * (2 + 1j))
    assert total == out.sum()


def test_scalars_of_mixed_width_in_any_order():
    types = {"a": "float32", "b": "float64", "c": "float32", "d": "int8", "e": "int64"}
    c_types = {"float32": "float", "float64": "double", "int8": "signed char", "int64": "long"}
    values = {"a": 1.5, "b": 2.25, "c": -3.0, "d": -1, "e": 2**40}
    for order in ("abcde", "edcba", "cadbe", "bdeac"):
        args = [fr.Arg(name, kind="scalar", dtype=types[name]) for name in order]
        parameters = ", ".join(f"{c_types[types[name]]} {name}" for name in order)
        signature = fr.Signature("g", args, returns=[fr.Return("r", kind="scalar")], result="r")
        kernel = fr.compile_source(
            f"double g({parameters}) {{ return a + b + c + d + e; }}", signature
        ).load()
        assert kernel(*(values[name] for name in order)) == 1099511627775.75


def test_strides_as_parameters():
    signature = fr.Signature(
        "rowsum", [fr.Arg("x", shape=("N", "M"), order="any", strides=("S", "T"))], returns=[fr.Return("out", shape="N")],
        parameters=["x", "out", "N", "M", "S", "x.strides[1]"], symbols=[fr.Symbol("S", nonnegative=False),
                                                                       fr.Symbol("T", nonnegative=False)],
    )  # fmt: skip
    text = """
    void rowsum(const double* x, double* out, long n, long m, long s, long t) {
      for (long i = 0; i < n; ++i) {
        out[i] = 0;
        for (long j = 0; j < m; ++j) out[i] += x[i * s + j * t];
      }
    }"""
    kernel = fr.compile_source(text, signature).load()
    x = np.arange(12.0).reshape(3, 4)
    for view in (x, x[:, :2], x.T, x[::-1], x[:, ::-2], np.asfortranarray(x)):
        np.testing.assert_array_equal(kernel(view), view.sum(axis=1))


def test_declared_strides_are_those_of_axes_that_are_walked():
    signature = fr.Signature(
        "total", [fr.Arg("x", shape=("N", "M"), order="any", strides=("M", 1))],
        returns=[fr.Return("sum", kind="scalar")], result="sum",
    )  # fmt: skip
    text = """double total(const double* x, long n, long m) {
      double sum = 0;
      for (long i = 0; i < n * m; ++i) sum += x[i];
      return sum;
    }"""
    kernel = fr.compile_source(text, signature).load()
    x = np.arange(24.0).reshape(4, 6)
    for view in (x, x[1:3], x[::3][:1], x[:1, ::2][:, :1], x[:0, ::2]):
        assert kernel(view) == view.sum()
    for view in (x[::2], x[:, ::2], x[:, :1], x[::-1]):
        with pytest.raises(ValueError, match="stride"):
            kernel(view)


def test_a_status_is_an_error():
    signature = fr.Signature("check", [fr.Arg("n", kind="scalar", dtype="int64")], result="status")
    kernel = fr.compile_source("int check(long n) { return n > 3 ? n : 0; }", signature).load()
    assert kernel(3) is None
    with pytest.raises(fr.UserError, match="returned status 7") as failed:
        kernel(7)
    assert isinstance(failed.value, RuntimeError)
    assert kernel(0) is None


def test_overlap_needs_permission():
    args = [fr.Arg("a", shape="N"), fr.Arg("b", shape="N", intent="inout")]
    text = "void shift(double* a, double* b, long n) { for (long i = 1; i < n; ++i) b[i] = a[i - 1]; }"
    v = np.arange(6.0)
    careful = fr.compile_source(text, fr.Signature("shift", args)).load()
    with pytest.raises(ValueError, match="'b' is written and shares memory with 'a'"):
        careful(v, v)
    np.testing.assert_array_equal(v, np.arange(6.0))
    careless = fr.compile_source(text, fr.Signature("shift", args, may_alias=True)).load()
    careless(v, v)
    np.testing.assert_array_equal(v, 0)


def test_results_are_independent():
    signature = fr.Signature(
        "add", [fr.Arg("a", shape="N"), fr.Arg("b", shape="N")], returns=[fr.Return("c", shape="N")]
    )
    text = "void add(double* a, double* b, double* c, long n) { for (long i = 0; i < n; ++i) c[i] = a[i] + b[i]; }"
    kernel = fr.compile_source(text, signature).load()
    c = kernel(np.ones(3), np.full(3, 2.0))
    d = kernel(np.ones(3), c)
    np.testing.assert_array_equal(c, 3)
    np.testing.assert_array_equal(d, 4)
    assert not np.shares_memory(c, d)
    assert isinstance(fr.compile_source(text, fr.Signature(
        "add", [fr.Arg("a", shape="N"), fr.Arg("b", shape="N")], returns=[fr.Return("c", shape="N")],
        returns_tuple=True)).load()(c, d), tuple)  # fmt: skip


def test_two_programs_of_one_name():
    signature = fr.Signature(
        "k", [fr.Arg("x", kind="scalar")], returns=[fr.Return("r", kind="scalar")], result="r"
    )
    plus = fr.compile_source("struct H { int a; };\ndouble k(double x) { return x + 1; }", signature).load()
    times = fr.compile_source(
        "struct H { double b; };\ndouble k(double x) { return x * 10; }", signature
    ).load()
    for _ in range(3):
        assert (plus(2.0), times(2.0)) == (3.0, 20.0)


def test_the_standard_library():
    signature = fr.Signature("sorted_copy", [fr.Arg("x", shape="N")], returns=[fr.Return("out", shape="N")])
    text = """
    #include <algorithm>
    #include <stdexcept>
    #include <vector>
    void sorted_copy(const double* x, double* out, long n) {
      std::vector<double> copy(x, x + n);
      std::sort(copy.begin(), copy.end());
      try {
        if (n > 2) throw std::runtime_error("caught");
      } catch (const std::exception&) {
      }
      std::copy(copy.begin(), copy.end(), out);
    }"""
    kernel = fr.compile_source(text, signature).load()
    x = np.array([3.0, 1.0, 2.0])
    np.testing.assert_array_equal(kernel(x), np.sort(x))


def test_the_compilers_error_names_the_authors_line():
    signature = fr.Signature("broken", [fr.Arg("x", shape="N")])
    with pytest.raises(fr.BuildError, match=r"broken\.cpp:2:\d+: error"):
        fr.compile_source("void broken(double* x, long n) {\n  int y = ;\n}", signature)
    with pytest.raises(fr.BuildError, match="frame of broken"):
        fr.compile_source("void other(double* x, long n) {}", signature)


# Names that the frame or its header uses for itself: an author may use them all.
FRAME_NAMES = ("run", "init", "take_error", "state", "call", "status", "x0", "module_args")


@pytest.mark.parametrize("name", FRAME_NAMES)
def test_the_authors_names_are_their_own(name):
    source = f"""
    int* {name}() {{ return new int(3); }}
    void {name}(int*, double* x, long n) {{ for (long i = 0; i < n; ++i) x[i] += 1; }}
    const char* {name}(int status) {{ return status == 5 ? "five" : nullptr; }}
    int {name}(int* s, long n) {{ return n == 0 ? 5 : 0; }}
    int {name}(const char*) {{ return 0; }}
    """
    signature = fr.Signature(
        "f", [fr.Arg("n", kind="scalar", dtype="int64")], run=name, parameters=["state", "n"], result="status",
        init=fr.AuthorFunction(name, [], "state"), error=fr.AuthorFunction(name, ["status"], "text"),
    )  # fmt: skip
    kernel = fr.compile_source(source, signature).load()
    assert kernel(1) is None
    with pytest.raises(RuntimeError, match="status 5: five"):
        kernel(0)


def test_the_authors_variables_are_their_own():
    more = (
        "leave",
        "persistent",
        "text",
        "number",
        "store",
        "e0",
        "record0",
        "callback0",
        "module_facts",
        "fr_status",
    )
    names = (*FRAME_NAMES, *more)
    source = "".join(f"static double {name} = 2;\n" for name in names)
    source += "void scale(double* values, long n) { values[n - 1] *= x0 + e0; }"
    signature = fr.Signature(
        "scale", [fr.Arg("values", shape="2*N", intent="inout")], parameters=["values", "N"]
    )
    x = np.ones(4)
    fr.compile_source(source, signature).load()(x)
    assert x.tolist() == [1, 4, 1, 1]

"""The sentences that refuse structs, texts, objects, callables, pointers, narrow floats and memory for results."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import ferrule as fr
from ferrule import errors

POINT = np.dtype([("x", "f8"), ("y", "f4", (2,)), ("n", [("id", "i4")])], align=True)


@pytest.fixture(scope="module")
def kernel():
    source = """
    #include "ferrule/rt/author.h"
    struct P { double x; float y[2]; struct { int id; } n; };
    void take(P p, const P* ps, const char* s, const double* const* q, const void* b, double* out, long n) {
      for (long i = 0; i < n; ++i) out[i] = p.x;
    }"""
    args = [
        fr.Arg("p", kind="struct", dtype=POINT),
        fr.Arg("ps", dtype=POINT, shape="N"),
        fr.Arg("s", kind="string", default=""),
        fr.Arg("q", kind="pointers", optional=True),
        fr.Arg("cb", kind="callback", optional=True),
        fr.Arg("b", dtype="bfloat16", shape="M", optional=True),
        fr.Arg("o", dtype="object", shape="K", optional=True),
        fr.Arg("h", kind="scalar", dtype="float16", default=1.0),
    ]
    signature = fr.Signature(
        "take", args, returns=[fr.Return("out", shape="N")], parameters=["p", "ps", "s", "q", "b", "out", "N"],
        allow_return_override=True,
    )  # fmt: skip
    return fr.compile_source(source, signature).load()


def struct(**changes):
    """A struct of the kernel's type with some fields of another dtype or name."""
    fields = {"x": ("x", "f8"), "y": ("y", "f4", (2,)), "n": ("n", [("id", "i4")])}
    fields.update(changes)
    return np.dtype([field for field in fields.values() if field is not None], align=True)


def packed():
    return np.dtype([("x", "f8"), ("y", "f4", (2,)), ("n", [("id", "i4")])])


def shifted():
    return np.dtype({"names": ["x", "y", "n"], "formats": ["f8", ("f4", (2,)), [("id", "i4")]], "offsets": [0, 12, 8],
                     "itemsize": 24})  # fmt: skip


GOOD = {"p": np.zeros((), POINT)[()], "ps": np.zeros(2, POINT)}

STRUCTS = [
    (struct(x=("x", "f4")), "the field 'x' has dtype float32, but float64 is expected."),
    (struct(x=("x", ">f8")), "the field 'x' has dtype >f8 in foreign byte order, but float64 is expected."),
    (struct(x=("x", "i8")), "the field 'x' has dtype int64, but float64 is expected."),
    (struct(x=("x", "M8[s]")), "the field 'x' has dtype datetime64[s], but float64 is expected."),
    (struct(y=("y", "f4", (3,))), "the field 'y' has 3 elements, but 2 are expected."),
    (struct(y=("y", "f8")), "the field 'y' has dtype float64, but float32 is expected."),
    (struct(n=("n", [("id", "u4")])), "the field 'n.id' has dtype uint32, but int32 is expected."),
    (shifted(), "the field 'y' lies at byte 12, but byte 8 is expected."),
]
SHAPES = [
    (struct(n=("n", [("ix", "i4")])), "has the field 'n.ix' where the field 'n.id' is expected."),
    (struct(n=("m", [("id", "i4")])), "has the field 'm.id' where the field 'n.id' is expected."),
    (struct(n=None), "has no field 'n.id'."),
    (struct(z=("z", "u1")), "has the field 'z', which the struct does not have."),
    (packed(), "has items of 20 bytes, but 24 are expected."),
]


@pytest.mark.parametrize(
    "dtype, text", [(d, ": " + t) for d, t in STRUCTS] + [(d, " " + t) for d, t in SHAPES]
)
def test_structs_that_differ(kernel, dtype, text):
    for name, value in [
        ("p", np.zeros((), dtype)),
        ("p", np.zeros((), dtype)[()]),
        ("ps", np.zeros(2, dtype)),
    ]:
        with pytest.raises(errors.UserTypeError) as failed:
            kernel(**{**GOOD, name: value})
        assert str(failed.value) == f"take(): '{name}'{text}"


def readonly(array):
    array.flags.writeable = False
    return array


def strided(dtype=POINT):
    return np.zeros(4, dtype)[::2]


OTHERS = [
    (
        "p",
        {"x": 1},
        "Type",
        "'p' is a dict, but a struct is expected; pass a scalar of a structured numpy.dtype.",
    ),
    (
        "p",
        (1.0, 2),
        "Type",
        "'p' is a tuple, but a struct is expected; pass a scalar of a structured numpy.dtype.",
    ),
    ("p", None, "Type", "'p' is None, but a struct is expected; pass a scalar of a structured numpy.dtype."),
    (
        "p",
        1.0,
        "Type",
        "'p' is a float, but a struct is expected; pass a scalar of a structured numpy.dtype.",
    ),
    (
        "p",
        np.float64(1),
        "Type",
        "'p' is a float64, but a struct is expected; pass a scalar of a structured numpy.dtype.",
    ),
    ("p", np.zeros(3, POINT), "Value", "'p' has shape (3,), but one struct is expected."),
    ("p", np.zeros((1, 1), POINT), "Value", "'p' has shape (1, 1), but one struct is expected."),
    (
        "p",
        np.zeros(()),
        "Type",
        "'p' has dtype float64, but a struct with the fields 'x', 'y', 'n.id' is expected.",
    ),
    (
        "p",
        np.void(b"12345678"),
        "Type",
        "'p' has dtype |V8, but a struct with the fields 'x', 'y', 'n.id' is expected.",
    ),
    (
        "p",
        np.ma.zeros((), POINT),
        "Type",
        "'p' is a masked array, whose mask would be ignored.",
    ),
    (
        "ps",
        np.zeros(2),
        "Type",
        "'ps' has dtype float64, but a struct with the fields 'x', 'y', 'n.id' is expected.",
    ),
    (
        "ps",
        np.zeros((2, 2), POINT),
        "Value",
        "'ps' has rank 2 and shape (2, 2), but rank 1 and shape (N,) are expected.",
    ),
    (
        "ps",
        strided(),
        "Value",
        "'ps' must be contiguous in C order with strides (24,) bytes, but its strides are (48,) bytes; pass "
        "numpy.ascontiguousarray(ps), or declare order='any'.",
    ),
    (
        "ps",
        [(1, (2, 3), (4,))],
        "Type",
        "'ps' is a list, but an array of structs with the fields 'x', 'y', 'n.id' is expected; pass numpy.asarray(ps, dtype) "
        "with a dtype of these fields.",
    ),
    ("s", 3, "Type", "'s' is an int, but str or bytes is expected."),
    ("s", None, "Type", "'s' is None, but str or bytes is expected."),
    ("s", ["a"], "Type", "'s' is a list, but str or bytes is expected."),
    ("s", bytearray(b"a"), "Type", "'s' is a bytearray, but str or bytes is expected; pass bytes(s)."),
    ("s", memoryview(b"a"), "Type", "'s' is a memoryview, but str or bytes is expected; pass bytes(s)."),
    (
        "s",
        np.array("a"),
        "Type",
        "'s' is an ndarray of dtype <U1 and shape (), but str or bytes is expected.",
    ),
    ("s", "\ud800", "Value", "'s' holds lone surrogates, which UTF-8 does not have; encode it to bytes."),
    ("cb", 3, "Type", "'cb' is an int, but a callable is expected."),
    ("cb", "print", "Type", "'cb' is a str, but a callable is expected."),
    ("q", 3, "Type", "'q' is an int, but a sequence of float64 arrays is expected."),
    ("q", "ab", "Type", "'q' is a str, but a sequence of float64 arrays is expected."),
    ("q", b"12345678", "Type", "'q' is a bytes, but a sequence of float64 arrays is expected."),
    ("q", [None], "Type", "'q' has at [0] None, but a numpy.ndarray of dtype float64 is expected."),
    (
        "q",
        [np.ones(2), 3.0],
        "Type",
        "'q' has at [1] a float, but a numpy.ndarray of dtype float64 is expected.",
    ),
    (
        "q",
        [np.ones(2), np.ones(2, "f4")],
        "Type",
        "'q' has at [1] an array of dtype float32, but float64 is expected.",
    ),
    (
        "q",
        [np.ones(2, ">f8")],
        "Type",
        "'q' has at [0] an array of dtype >f8 in foreign byte order, but float64 is expected.",
    ),
    (
        "q",
        (np.ones(4)[::2],),
        "Value",
        "'q' has at [0] an array that is not contiguous in C order: shape (2,), strides (16,) bytes.",
    ),
    (
        "q",
        [np.zeros(9, "u1")[1:].view("f8")],
        "Value",
        "'q' has at [0] an array that is not aligned to 8 bytes, as float64 must be.",
    ),
    ("q", [np.ma.ones(2)], "Type", "'q' has at [0] a masked array, whose mask would be ignored."),
    (
        "q",
        np.ones((2, 2)),
        "Type",
        "'q' is an array of dtype float64, but a sequence of float64 arrays or a uint64 array of their addresses is "
        "expected; pass a list of arrays.",
    ),
    (
        "q",
        np.array([4097], np.uint64),
        "Value",
        "'q' holds the address 0x1001 at 0, which is no multiple of 8, the alignment of float64.",
    ),
    (
        "q",
        (ctypes.POINTER(ctypes.c_float) * 1)(),
        "Type",
        "'q' has the buffer format '&<f', but pointers to float64 are expected.",
    ),
    (
        "q",
        (ctypes.c_double * 1)(),
        "Type",
        "'q' has the buffer format '<d', but pointers to float64 are expected.",
    ),
    (
        "b",
        np.ones(2, np.uint16),
        "Type",
        "'b' has dtype uint16, but bfloat16 is expected; pass b.astype('bfloat16').",
    ),
    (
        "b",
        np.ones(2, np.float16),
        "Type",
        "'b' has dtype float16, but bfloat16 is expected; pass b.astype('bfloat16').",
    ),
    ("o", np.ones(2), "Type", "'o' has dtype float64, but object is expected; pass o.astype('object')."),
    (
        "o",
        [1, 2],
        "Type",
        "'o' is a list, but an array of dtype object is expected; pass numpy.asarray(o, 'object').",
    ),
    ("h", "1", "Type", "'h' is a str, but a real number of type float16 is expected."),
    ("h", True, "Type", "'h' is a bool, but a real number of type float16 is expected; pass float(h)."),
    ("h", 10**400, "Overflow", "'h' = 1" + "0" * 76 + "... is out of range for float16."),
    ("out", [0.0, 0.0], "Type", "'out' is a list, but a numpy.ndarray is expected to take the result."),
    (
        "out",
        np.ma.zeros(2),
        "Type",
        "'out' is a masked array, but a result has no mask; give a plain numpy.ndarray.",
    ),
    (
        "out",
        np.zeros(2, "f4"),
        "Type",
        "'out' has dtype float32, but float64 is expected; give an array of that dtype.",
    ),
    (
        "out",
        np.zeros(2, ">f8"),
        "Type",
        "'out' has dtype >f8 in foreign byte order, but float64 is expected; give an array of that dtype.",
    ),
    ("out", np.zeros(1), "Value", "'out' has shape (1,), but (2,) is expected."),
    ("out", np.zeros(3), "Value", "'out' has shape (3,), but (2,) is expected."),
    ("out", np.zeros((2, 1)), "Value", "'out' has shape (2, 1), but (2,) is expected."),
    ("out", readonly(np.zeros(2)), "Value", "'out' is read-only, but the result is written to it."),
    (
        "out",
        np.zeros(4)[::2],
        "Value",
        "'out' must be contiguous in C order to take a result, but its strides are (16,) bytes.",
    ),
    (
        "out",
        np.zeros(17, "u1")[1:].view("f8"),
        "Value",
        "'out' is not aligned to its elements, as memory for a result must be.",
    ),
]


@pytest.mark.parametrize("name, value, kind, text", OTHERS)
def test_what_does_not_fit(kernel, name, value, kind, text):
    pytest.importorskip("ml_dtypes")
    with pytest.raises(getattr(errors, f"User{kind}Error")) as failed:
        kernel(**{**GOOD, name: value})
    assert str(failed.value) == f"take(): {text}"
    np.testing.assert_array_equal(kernel(**GOOD), [0, 0])


def test_memory_that_is_shared():
    source = "void f(const double* a, double* p, double* q, long n) {}"
    returns = [fr.Return("p", shape="N"), fr.Return("q", shape="N")]
    signature = fr.Signature("f", [fr.Arg("a", shape="N")], returns=returns, allow_return_override=True)
    kernel = fr.compile_source(source, signature).load()
    a = np.zeros(8)
    for given, text in [
        ({"p": a[:4]}, "'p' takes a result and shares memory with 'a'; give memory of its own."),
        ({"q": a[3:7]}, "'q' takes a result and shares memory with 'a'; give memory of its own."),
        ({"p": a[4:], "q": a[4:]}, "'q' takes a result and shares memory with 'p'; give memory of its own."),
    ]:
        with pytest.raises(errors.UserValueError) as failed:
            kernel(a[:4], **given)
        assert str(failed.value) == f"f(): {text}"
    p, q = kernel(a[:2], p=a[2:4], q=a[4:6])
    assert (p.base, q.base) == (a, a) or (p.base is a and q.base is a)


def test_memory_that_cannot_be_given():
    plain = fr.Signature("f", [fr.Arg("a", shape="N")], returns=[fr.Return("out", shape="N")])
    kernel = fr.compile_source("void f(const double* a, double* out, long n) {}", plain).load()
    with pytest.raises(errors.UserTypeError) as failed:
        kernel(np.ones(2), out=np.ones(2))
    assert str(failed.value) == (
        "f(): 'out' is a result; declare allow_return_override=True to let callers give its memory."
    )
    with pytest.raises(errors.UserTypeError, match="there is no argument 'other'"):
        kernel(np.ones(2), other=np.ones(2))
    scalar = fr.Signature(
        "g", [], returns=[fr.Return("r", kind="scalar")], result="r", allow_return_override=True
    )
    kernel = fr.compile_source("double g() { return 1; }", scalar).load()
    with pytest.raises(errors.UserTypeError) as failed:
        kernel(r=np.zeros(()))
    assert (
        str(failed.value) == "g(): 'r' is a result whose memory cannot be given: only arrays of numbers are."
    )


@pytest.mark.filterwarnings("ignore:.*copied to an array:RuntimeWarning")
def test_lists_that_cannot_be_copied():
    source = "void f(const long* a, double* b, long n) {}"
    args = [fr.Arg("a", dtype="int64", shape="N"), fr.Arg("b", shape="N", intent="out")]
    kernel = fr.compile_source(source, fr.Signature("f", args, coerce="asarray")).load()
    for a, b, kind, text in [
        ([1, 2], [1.0, 2.0], TypeError, "'b' is a list, but the program writes to it and a copy would not show what was "
                                        "written; pass an array."),
        ([1.5, 2], np.ones(2), TypeError, "'a' is a list of float64 values, which cannot become int64."),
        (["x"], np.ones(1), TypeError, "'a' is a list of <U1 values, which cannot become int64."),
        ({1: 2}, np.ones(1), TypeError, "'a' is a dict, but an array of dtype int64 is expected."),
    ]:  # fmt: skip
        with pytest.raises(kind) as failed:
            kernel(a, b)
        assert str(failed.value) == f"f(): {text}"
    with pytest.warns(RuntimeWarning, match="copied"), pytest.raises(ValueError, match="'N'"):
        kernel([1, 2, 3], np.ones(2))
    with pytest.raises(ValueError, match="inhomogeneous"):
        kernel([[1], [1, 2]], np.ones(2))
    structs = fr.Signature("g", [fr.Arg("p", dtype=POINT, shape="N")], coerce="asarray")
    with pytest.raises(TypeError, match="'p' is a list, but an array of structs with the fields"):
        fr.compile_source("void g(const void* p, long n) {}", structs).load()([(1, (2, 3), (4,))])
    plain = fr.compile_source(source, fr.Signature("f", args)).load()
    with pytest.raises(TypeError, match=r"'a' is a list, .*pass numpy\.asarray\(a, 'int64'\)"):
        plain([1, 2], np.ones(2))


SIGNATURES = [
    ({"args": [fr.Arg("p", kind="struct", dtype="f8")]}, "The struct 'p' has the dtype float64; give a structured numpy.dtype."),
    ({"args": [fr.Arg("p", kind="record")]}, "'p' has the kind 'record'; the kinds are 'array', 'scalar', 'struct', "
                                             "'string', 'pyobject', 'callback', 'pointers'."),
    ({"args": [fr.Arg("p", kind="struct", dtype=np.dtype([("t", "M8[s]")]))]},
     "'p': the field 't' has the dtype datetime64[s]; structs hold numbers and bytes."),
    ({"args": [fr.Arg("p", dtype=np.dtype([("t", "O")]), shape="N")]},
     "'p': the field 't' has the dtype object; structs hold numbers and bytes."),
    ({"args": [fr.Arg("p", dtype=np.dtype([("t", ">f8")]), shape="N")]},
     "'p.t' has the dtype >f8 of foreign byte order; declare it in native order."),
    ({"args": [fr.Arg("p", kind="struct", dtype=POINT, optional=True)]},
     "The signature of 'f': the struct 'p' is passed by value and cannot be optional; make it an array."),
    ({"args": [fr.Arg("p", kind="scalar", dtype=POINT)]},
     "The signature of 'f': the scalar 'p' is a struct; give it the kind 'struct'."),
    ({"args": [fr.Arg("p", kind="scalar", dtype="object")]},
     "The signature of 'f': the scalar 'p' is an object; give it the kind 'pyobject'."),
    ({"args": [fr.Arg("p", kind="scalar", dtype="float8_e5m2")]},
     "The signature of 'f': the scalar 'p' has dtype float8_e5m2, which is for arrays alone; declare float32."),
    ({"args": [fr.Arg("p", dtype="object", shape="N", intent="out")]},
     "The signature of 'f': the array 'p' of objects is written, but native code cannot own objects; return them."),
    ({"args": [fr.Arg("p", kind="string", default=3)]},
     "The signature of 'f': the string 'p' has the default 3; give text or bytes."),
    ({"args": [fr.Arg("p", kind="string", default=None)]},
     "The signature of 'f': 'p' has the default None but is not optional."),
    ({"args": [fr.Arg("p", kind="pyobject", default=3)]},
     "The signature of 'f': the pyobject 'p' has the default 3; only None is possible."),
    ({"args": [fr.Arg("p", kind="string", shape="N")]}, "The string 'p' has a shape; make it an array."),
    ({"args": [fr.Arg("p", kind="pyobject", intent="out")]},
     "The pyobject 'p' has the intent 'out'; make it a return, or an array of one element."),
    ({"args": [fr.Arg("p", kind="pointers", dtype="object")]},
     "The signature of 'f': 'p' points to objects; pointers lead to numbers."),
    ({"args": [fr.Arg("p", params=[fr.Arg("x")])]}, "The array 'p' has params or returns; give it the kind 'callback'."),
    ({"args": [fr.Arg("p", kind="callback", params=["x"])]},
     "The callback 'p' has the parameter 'x', but a fr.Arg is expected."),
    ({"args": [fr.Arg("p", kind="callback", params=[fr.Arg("x", kind="string")])]},
     "The signature of 'f': the parameter 'x' of the callback 'p' is neither an array nor a scalar nor a pyobject."),
    ({"args": [fr.Arg("p", kind="callback", params=[fr.Arg("x", order="F", shape=2)])]},
     "The signature of 'f': the parameter 'x' of the callback 'p' is not in C order."),
    ({"args": [fr.Arg("p", kind="callback", params=[fr.Arg("x", dtype="object", shape=2)])]},
     "The signature of 'f': the parameter 'x' of the callback 'p' is an array of objects; callbacks take arrays of numbers."),
    ({"args": [fr.Arg("p", kind="callback", params=[fr.Arg("x", optional=True)])]},
     "The signature of 'f': the parameter 'x' of the callback 'p' is optional; callbacks are called with every parameter."),
    ({"args": [fr.Arg("p", kind="callback", params=[fr.Arg("x"), fr.Arg("x")])]},
     "The signature of 'f': the parameters of the callback 'p' need names of their own, but 'x' comes twice."),
    ({"args": [fr.Arg("p", kind="callback", returns=POINT)]},
     "The signature of 'f': the result of the callback 'p' is a struct; give it the kind 'struct'."),
    ({"args": [fr.Arg("p", kind="callback", params=[fr.Arg("x", shape="K")])]},
     "The signature of 'f': nothing tells the symbol 'K': no extent or stride can be solved for it; put it into arg_names, "
     "or into symbols to have it given by keyword."),
    ({"returns": [fr.Return("r", kind="string")]},
     "The signature of 'f': the return 'r' is neither an array nor a scalar, a struct or a pyobject."),
    ({"coerce": "list"}, "The signature of 'f': coerce is 'list', but only 'asarray' is possible."),
    ({"args": [fr.Arg("p", shape="N")], "parameters": ["p", "p.length"]},
     "The signature of 'f': 'f' takes 'p.length', which is no argument, return, symbol or stride such as 'x.strides[0]'."),
]  # fmt: skip


@pytest.mark.parametrize("fields, text", SIGNATURES)
def test_signatures_that_contradict_themselves(fields, text):
    with pytest.raises(fr.UserError) as failed:
        fr.Signature("f", **fields)
    assert str(failed.value) == text


def test_a_callback_that_was_not_given():
    source = """
    #include "ferrule/rt/author.h"
    void f(fr_author::Callback<void()> cb) { cb(); }"""
    signature = fr.Signature("f", [fr.Arg("cb", kind="callback", optional=True)])
    with pytest.raises(errors.UserTypeError) as failed:
        fr.compile_source(source, signature).load()(None)
    assert str(failed.value) == "f(): the callback 'cb' is None, but the native function calls it."


def test_the_wrong_type_of_callback_does_not_compile():
    source = """
    #include "ferrule/rt/author.h"
    void f(fr_author::Callback<void(double)> cb) { cb(1); }"""
    signature = fr.Signature("f", [fr.Arg("cb", kind="callback")])
    with pytest.raises(fr.BuildError, match="Callback<void"):
        fr.compile_source(source, signature)


def low_precision():
    return np.zeros(3, pytest.importorskip("ml_dtypes").bfloat16)


@pytest.mark.parametrize(
    "make, dtype",
    [
        (lambda: np.zeros(3, [("x", "f8"), ("n", "i4")]), "[('x', '<f8'), ('n', '<i4')]"),
        (lambda: np.zeros(3, [("x", "f8")])[0], "[('x', '<f8')]"),
        (lambda: np.array([1, None], dtype=object), "object"),
        (low_precision, "bfloat16"),
        (lambda: np.float16(1), "float16"),
    ],
)
def test_captured_programs_refuse_these_kinds(make, dtype):
    @fr.program
    def first(x, y):
        return y + 1

    with pytest.raises(fr.Unsupported) as failed:
        first(make(), np.ones(2))
    assert str(failed.value).endswith(f": The argument 'x' of dtype '{dtype}' is not supported.")


def test_captured_programs_refuse_lists_of_arrays():
    @fr.program
    def first(x):
        return x[0] + 1

    with pytest.raises(fr.Unsupported, match="'x' is a list of arrays"):
        first([np.ones(2), np.ones(2)])

"""Every kind of argument, as calls take it and as they refuse it."""

from __future__ import annotations

import ctypes
import tempfile

import functions as f
import ml_dtypes
import numpy as np
import subjects as s
from cases import COSTLY, MIDDLE, bad, good
from meter import Call, call

import ferrule as fr


class Subclass(np.ndarray):
    pass


class Index:
    def __index__(self):
        return 3


class Lying:
    def __index__(self):
        raise KeyError("index")


def x(n=4):
    return np.arange(float(n))


def mapped():
    file = tempfile.TemporaryFile()  # noqa: SIM115 the mapping keeps it
    return np.memmap(file, np.float64, "w+", shape=(4,))


def read_only(a):
    a.flags.writeable = False
    return a


def unaligned():
    return np.zeros(33, np.uint8)[1:].view(np.float64)


def point():
    return np.array((1.0, 2.0, 3, 4), s.POINT)


def points():
    return np.zeros(3, s.POINT)


def other_points():
    return np.zeros(3, [("x", "f8"), ("y", "f4")])


def objects():
    return np.array([object(), "b", [1]], dtype=object)


def addresses(arrays):
    return Call(s.sums(), (np.array([a.ctypes.data for a in arrays], np.uint64), 2, 4), watched=tuple(arrays))


def pointers(arrays):
    kind = ctypes.POINTER(ctypes.c_double)
    table = (kind * len(arrays))(*(a.ctypes.data_as(kind) for a in arrays))
    return Call(s.sums(), (table, 2, 4), watched=tuple(arrays))


def complain(x):
    raise KeyError(x)


def keep_row(kept):
    def keep(row, o):
        kept["row"] = row

    return keep


def beyond_the_limit():
    f.once(x())
    return call(f.once, np.ones(3, np.int64))


NDARRAYS = [
    good("ndarrays", lambda: call(s.axpy(), x(), x())),
    good("ndarrays by name", lambda: call(s.axpy(), x=x(), y=x())),
    good("ndarrays in another order", lambda: call(s.axpy(), a=3.0, y=x(), x=x())),
    good("without a result", lambda: call(s.scale(), x(), 1.0)),
    good("empty arrays", lambda: call(s.axpy(), x(0), x(0))),
    good("a subclass", lambda: call(s.axpy(), x().view(Subclass), x().view(Subclass))),
    good("a memmap", lambda: call(s.axpy(), mapped(), mapped())),
    good("a strided array", lambda: call(s.weigh(), x(8)[::2], x())),
    good("None for an array", lambda: call(s.weigh(), x(), None)),
    good("sizes that are given", lambda: call(s.sized(), x(9), K=4, M=7)),
    bad("another dtype", lambda: call(s.axpy(), x().astype("f4"), x()), TypeError, "float32"),
    bad("another byte order", lambda: call(s.axpy(), x().astype(">f8"), x()), TypeError, "byte order"),
    bad("another rank", lambda: call(s.axpy(), x()[None], x()), ValueError, "rank"),
    bad("another extent", lambda: call(s.axpy(), x(), x(5)), ValueError, "shape"),
    bad("another layout", lambda: call(s.axpy(), x(8)[::2], x()), ValueError, "order"),
    bad("an unaligned array", lambda: call(s.axpy(), unaligned(), x()), ValueError, "aligned"),
    bad("a read-only array", lambda: call(s.axpy(), x(), read_only(x())), ValueError, "read-only"),
    bad("memory that is shared", lambda: Call(s.axpy(), (x(8)[:4],) * 2), ValueError, "shares memory"),
    bad("a masked array", lambda: call(s.axpy(), np.ma.array(x()), x()), TypeError, "masked"),
    bad("None", lambda: call(s.axpy(), None, x()), TypeError, "None"),
    bad("a list", lambda: call(s.axpy(), [1.0], x()), TypeError, "a list"),
    bad("a size that differs", lambda: call(s.sized(), x(9), K=5, M=7), ValueError, "K"),
    bad("a size that is no int", lambda: call(s.sized(), x(9), K=4, M=7.0), TypeError, "M"),
    bad("a size out of range", lambda: call(s.sized(), x(9), K=4, M=1 << 40), ValueError, "int32"),
    bad("a size that cannot be", lambda: call(s.sized(), x(8), K=4, M=7), ValueError, "K"),
    bad("too few", lambda: call(s.axpy(), x()), TypeError, "'y' is missing"),
    bad("too many", lambda: call(s.axpy(), x(), x(), 1.0, 2.0), TypeError, "by position"),
    bad("given twice", lambda: call(s.axpy(), x(), x(), x=x()), TypeError, "twice"),
    bad("an unknown name", lambda: call(s.axpy(), x(), x(), z=x()), TypeError, "no argument 'z'"),
]

SCALARS = [
    good("Python's numbers", lambda: call(s.mix(), 1, 2.5, 1 + 2j, True)),
    good("NumPy's scalars", lambda: call(
        s.mix(), np.int8(1), np.float16(2), np.complex64(1), np.bool_(True), np.float32(1), np.float64(2))),
    good("0-d arrays", lambda: call(s.mix(), *map(np.array, (1, 2.5, 1j, True, 0.5)), None)),
    good("an index", lambda: call(s.mix(), Index(), 1, 1.0, False)),
    good("numbers by name", lambda: call(s.mix(), i=1, f=2.5, z=1 + 2j, b=True, o=3.0)),
    good("strict numbers", lambda: call(s.strict(), 1 << 40, 2.5)),
    bad("a number out of range", lambda: call(s.mix(), 1 << 40, 1.0, 1.0, True), OverflowError, "out of range"),
    bad("a number beyond 64 bits", lambda: call(s.mix(), 1 << 80, 1.0, 1.0, True), OverflowError, "out of range"),
    bad("a float too large", lambda: call(s.mix(), 1, 1 << 2000, 1.0, True), OverflowError, "out of range", MIDDLE),
    bad("a float for an int", lambda: call(s.mix(), 1.5, 1.0, 1.0, True), TypeError, "integer"),
    bad("True for an int", lambda: call(s.mix(), True, 1.0, 1.0, True), TypeError, "integer"),
    bad("a text for a number", lambda: call(s.mix(), 1, "1", 1.0, True), TypeError, "a str"),
    bad("a 0-d array of floats for an int", lambda: call(s.mix(), np.array(1.5), 1.0, 1.0, True), TypeError, "integer"),
    bad("an array for a number", lambda: call(s.mix(), 1, x(), 1.0, True), TypeError, "ndarray"),
    bad("an index that raises", lambda: call(s.mix(), Lying(), 1.0, 1.0, True), TypeError, "index", MIDDLE),
    bad("a strict NumPy scalar", lambda: call(s.strict(), np.int64(1), 1.0), TypeError, "strict_scalars"),
]  # fmt: skip

STRUCTS = [
    good("a struct", lambda: call(s.norm(), point()[()])),
    good("a struct in a 0-d array", lambda: call(s.norm(), point())),
    good("arrays of structs", lambda: call(s.middle(), points())),
    good("a record array", lambda: call(s.middle(), points().view(np.recarray))),
    bad("another struct", lambda: call(s.norm(), other_points()[0]), TypeError, "field", MIDDLE),
    bad("a number for a struct", lambda: call(s.norm(), 1.5), TypeError, "a struct is expected"),
    bad("several structs", lambda: call(s.norm(), points()), ValueError, "one struct"),
    bad("an array of other structs", lambda: call(s.middle(), other_points()), TypeError, "field", MIDDLE),
]

TEXTS = [
    good("a text", lambda: call(s.letters(), "text")),
    good("a text beyond ASCII", lambda: call(s.letters(), "t\u00e9xt \U0001f600" * 9, t="\u00e9")),
    good("bytes", lambda: call(s.letters(), b"a\0b")),
    bad("a lone surrogate", lambda: call(s.letters(), "\ud800"), ValueError, "surrogates", MIDDLE),
    bad("a number for a text", lambda: call(s.letters(), 3), TypeError, "str or bytes"),
    bad("a bytearray for a text", lambda: call(s.letters(), bytearray(b"x")), TypeError, "pass bytes"),
]

OBJECTS = [
    good("an object", lambda: call(s.pick(), object())),
    good("the second object", lambda: call(s.pick(), object(), [1], 0)),
    good("an array of objects", lambda: call(s.swapped(), objects()), MIDDLE),
    bad("numbers for objects", lambda: call(s.swapped(), x()), TypeError, "object", MIDDLE),
    bad(
        "a failing run with objects",
        lambda: call(s.swapped(), objects(), 7),
        RuntimeError,
        "status 7",
        MIDDLE,
    ),
]

POINTERS = [
    good("a list of arrays", lambda: call(s.sums(), [x(), x()], 2, 4)),
    good("a tuple of arrays", lambda: call(s.sums(), (x(), x()), 2, 4)),
    good("addresses", lambda: addresses([x(), x()])),
    good("a ctypes array of pointers", lambda: pointers([x(), x()])),
    bad("a list with a number", lambda: call(s.sums(), [x(), 3], 2, 4), TypeError, r"at [1]"),
    bad("a list with another dtype", lambda: call(s.sums(), [x(), x().astype("f4")], 2, 4), TypeError, "float32", MIDDLE),
    bad("a list with a masked array", lambda: call(s.sums(), [np.ma.array(x())], 1, 4), TypeError, "masked"),
    bad("a list with a strided array", lambda: call(s.sums(), [x(8)[::2]], 1, 4), ValueError, "contiguous"),
    bad("addresses that are not aligned", lambda: call(s.sums(), np.array([9], np.uint64), 1, 4), ValueError, "0x9"),
    bad("addresses as floats", lambda: call(s.sums(), x(), 1, 4), TypeError, "addresses"),
    bad("pointers to another type", lambda: call(s.sums(), (ctypes.POINTER(ctypes.c_int) * 1)(), 1, 4), TypeError, "'&<i'"),
    bad("a number for pointers", lambda: call(s.sums(), 3, 1, 4), TypeError, "sequence"),
]  # fmt: skip

CALLBACKS = [
    good("a callback", lambda: call(s.integrate(), lambda v: v * 1.5), MIDDLE),
    good("a builtin as a callback", lambda: call(s.integrate(), float)),
    good("a callback that gives an int", lambda: call(s.integrate(), lambda v: 1), MIDDLE),
    good("arrays and objects in a callback", lambda: call(s.rows(), np.ones((2, 3)), lambda row, o: [o], object()), MIDDLE),
    good("a callback in worker threads", lambda: call(s.spread(), lambda i: None, 8), COSTLY),
    bad("a callback that raises", lambda: call(s.integrate(), complain), KeyError, "0.0", MIDDLE),
    bad("a callback that gives a text", lambda: call(s.integrate(), str), TypeError, "returned", MIDDLE),
    bad("a callback that gives too much", lambda: call(s.integrate(), lambda v: 1 << 2000), OverflowError, "out of range", MIDDLE),
    bad("a callback that takes nothing", lambda: call(s.integrate(), lambda: 1.0), TypeError, "positional", MIDDLE),
    bad("a callback that raises in a worker", lambda: call(s.spread(), complain, 8), KeyError, "", COSTLY),
    bad("a callback that keeps its array", lambda: call(s.rows(), np.ones((2, 3)), keep_row({})), BufferError, "keeps", MIDDLE),
    bad("a number for a callback", lambda: call(s.integrate(), 3), TypeError, "callable"),
]  # fmt: skip

LISTS = [
    good("a list for an array", lambda: call(s.listed(), [1.0, 2.0]), MIDDLE),
    good("a tuple for an array", lambda: call(s.listed(), (1, 2)), MIDDLE),
    bad("a list of texts", lambda: call(s.listed(), ["a"]), TypeError, "cannot become", MIDDLE),
    bad("a ragged list", lambda: call(s.listed(), [[1], [2, 3]]), ValueError, "inhomogeneous", MIDDLE),
    bad("a list of another rank", lambda: call(s.listed(), [[1.0]]), ValueError, "rank", MIDDLE),
    bad("a list that is written", lambda: call(s.listed(), [1.0], [1.0]), TypeError, "copy", MIDDLE),
]

NARROW = [
    good("a bfloat16 scalar", lambda: call(s.mix(), 1, ml_dtypes.bfloat16(2), 1.0, True)),
    bad(
        "bfloat16 elements",
        lambda: call(s.axpy(), x().astype(ml_dtypes.bfloat16), x()),
        TypeError,
        "bfloat16",
        MIDDLE,
    ),
]

FUNCTIONS = [
    good("a decorated function", lambda: call(f.fill, x(), 2.0)),
    good("a decorated function by name", lambda: call(f.fill, value=2.0, out=x())),
    good("a decorated function of a NumPy scalar", lambda: call(f.fill, x(), np.float64(2))),
    good("a decorated function of fr.Array", lambda: call(f.fill, fr.asarray(x()), 2.0)),
    good("a static argument", lambda: call(f.raised, x(), 2)),
    good("globals and a global array", lambda: call(f.with_globals, x())),
    good("an annotated function", lambda: call(f.annotated, x(), x())),
    bad(
        "an annotated function, another dtype",
        lambda: call(f.annotated, x().astype("f4"), x()),
        TypeError,
        "float32",
        MIDDLE,
    ),
    bad("an annotated function, another extent", lambda: call(f.annotated, x(), x(3)), ValueError, "N"),
    bad("an annotated function, an unknown name", lambda: call(f.annotated, x(), x(), z=1), TypeError, "'z'"),
    bad("an annotated function of a list", lambda: call(f.annotated, [1.0], x()), TypeError, "a list"),
    bad("a decorated function of a list", lambda: call(f.plus, [1.0], x()), TypeError, "a list", 200),
    bad(
        "a decorated function of objects",
        lambda: call(f.plus, objects(), x()),
        NotImplementedError,
        "dtype 'object'",
        200,
    ),
    bad(
        "a decorated function, other extents", lambda: call(f.plus, x(3), x(4)), ValueError, "broadcast", 200
    ),
    bad("a decorated function beyond its limit", beyond_the_limit, RuntimeError, "recompile_limit", COSTLY),
    bad("a decorated function with too few", lambda: call(f.plus, x()), TypeError, "missing 1 required", 200),
]

CASES = [*NDARRAYS, *SCALARS, *STRUCTS, *TEXTS, *OBJECTS, *POINTERS, *CALLBACKS, *LISTS, *NARROW, *FUNCTIONS]

"""Array arguments in every layout and direction: each kind of wrong thing about an ndarray or in its place."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from array_kernel import NAMES, READ, SOURCE, WRITTEN, good, order_of, partner, signature
from rows import TYPE, VALUE, Row, Subclass, Taken, check_refused, misaligned, read_only, snapshot, table

import ferrule as fr
from ferrule import _rt

SHAPE = (2, 3)
OPTIONAL = [*NAMES, "maybe"]
DTYPE = "; the program writes it, so make an array of that dtype"
OWN = "the program writes it, so make it an array of memory of its own"


@pytest.fixture(scope="module")
def kernel() -> Any:
    return fr.compile_source(SOURCE, signature()).load()


class Slotted:
    __slots__ = ()


class Series:
    def __array__(self, *_: Any, **__: Any) -> Any:
        return np.ones(SHAPE)


def strided(steps: tuple[int, int], dtype: Any = "f8") -> Any:
    """Every so-many-th element of each axis of a C-ordered array."""
    rows, columns = SHAPE[0] * abs(steps[0]), SHAPE[1] * abs(steps[1])
    return np.ones((rows, columns), dtype)[:: steps[0], :: steps[1]]


def packed() -> Any:
    """Items of 8 bytes that lie 9 bytes apart, the first one aligned."""
    block = np.zeros(200, "u1")
    return np.ndarray(SHAPE, "f8", block[-block.ctypes.data % 8 :].data, 0, (27, 9))


def repeated() -> Any:
    return np.lib.stride_tricks.as_strided(np.ones(1), SHAPE, (0, 0))


def as_matrix(given: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        return np.asmatrix(given)


def each(
    what: str, make: Any, error: Any, read: str, written: str = "", names: list[str] = OPTIONAL
) -> list[Row]:
    """A row for each argument. `make` is told the argument's order; '{n}' is its name, and `written` is the sentence where
    the function writes it and it differs."""
    texts = {n: written if written and n in WRITTEN else read for n in names}
    return [
        Row(n, what, lambda n=n: make(order_of(n)), error, text.replace("{n}", n))
        for n, text in texts.items()
    ]


def no_array(what: str, make: Any, kind: str, advice: str = "", written: str = "") -> list[Row]:
    text = f"'{{n}}' is {kind}, but an array of dtype float64 is expected"
    return each(what, lambda _: make(), TYPE, f"{text}{advice}.", f"{text}{written}.")


def other_dtype(what: str, dtype: Any, shown: str, cast: bool = True) -> list[Row]:
    text = f"'{{n}}' has dtype {shown}, but float64 is expected"
    advice = "; pass {n}.astype('float64')" if cast else ""
    make = lambda order: np.ones(SHAPE, dtype, order=order)  # noqa: E731
    return each(what, make, TYPE, f"{text}{advice}.", f"{text}{DTYPE}.")


ASARRAY = "; pass numpy.asarray({n}, 'float64')"

OBJECTS = [
    *no_array("list", lambda: [[1.0] * 3] * 2, "a list", ASARRAY, DTYPE),
    *no_array("tuple", lambda: ((1.0,) * 3,) * 2, "a tuple", ASARRAY, DTYPE),
    *no_array("range", lambda: range(6), "a range", ASARRAY, DTYPE),
    *no_array("array_method", Series, "a Series", ASARRAY, DTYPE),
    *no_array("generator", lambda: (i for i in range(6)), "a generator"),
    *no_array("str", lambda: "text", "a str"),
    *no_array("dict", lambda: {0: 1.0}, "a dict"),
    *no_array("set", lambda: {1.0}, "a set"),
    *no_array("type", lambda: np.ndarray, "a type"),
    *no_array("python_float", lambda: 1.0, "a float"),
    *no_array("python_int", lambda: 1, "an int"),
    *no_array("numpy_scalar", lambda: np.float64(1), "a float64"),
    *no_array("numpy_unsigned_scalar", lambda: np.uint64(1), "a uint64"),
    *no_array("object", Slotted, "a Slotted"),
    *no_array("capsule", lambda: np.ones(SHAPE).__dlpack__(), "a PyCapsule", "; pass ferrule.from_dlpack({n})",
              "; pass ferrule.from_dlpack({n})"),
    *each("None", lambda _: None, TYPE, "'{n}' is None, but an array of dtype float64 is expected.", names=NAMES),
]  # fmt: skip

ELEMENTS = [
    *other_dtype("int64", "i8", "int64"),
    *other_dtype("uint64", "u8", "uint64"),
    *other_dtype("complex64", "c8", "complex64", cast=False),
    *other_dtype("datetime", "M8[s]", "datetime64[s]", cast=False),
    *other_dtype("timedelta", "m8[s]", "timedelta64[s]", cast=False),
    *other_dtype("object_elements", "O", "object"),
    *other_dtype("bytes8", "S8", "|S8", cast=False),
    *other_dtype("text2", "U2", "<U2", cast=False),
    *other_dtype("void8", "V8", "|V8", cast=False),
    *other_dtype("struct8", [("x", "f8")], "[('x', '<f8')]", cast=False),
    *other_dtype("float32", "f4", "float32"),
    *other_dtype("longdouble", "g", "float128"),
    *each("byte_order", lambda o: np.ones(SHAPE, ">f8", order=o), TYPE,
          "'{n}' has dtype >f8 in foreign byte order, but native float64 is expected; pass {n}.astype('float64').",
          "'{n}' has dtype >f8 in foreign byte order, but native float64 is expected" + DTYPE + "."),
    *each("masked", lambda o: np.ma.array(np.ones(SHAPE, order=o), mask=True), TYPE,
          "'{n}' is a masked array, whose mask would be ignored; pass {n}.filled(value).",
          "'{n}' is a masked array, whose mask would be ignored; pass {n}.data."),
    *each("matrix", lambda o: as_matrix(np.ones(SHAPE, order=o)), TYPE,
          "'{n}' is a matrix, whose operators differ from those of numpy.ndarray; pass numpy.asarray({n})."),
]  # fmt: skip

EXPECTED = "but rank 2 and shape (N, M) are expected."
AFTER_IN_C = [name for name in OPTIONAL if name != "in_c"]
SIZES = [
    *each("zero_d", lambda _: np.array(1.0), VALUE, f"'{{n}}' has rank 0 and shape (), {EXPECTED}"),
    *each("rank_1", lambda _: np.ones(6), VALUE, f"'{{n}}' has rank 1 and shape (6,), {EXPECTED}"),
    *each("rank_3", lambda _: np.ones((2, 3, 1)), VALUE, f"'{{n}}' has rank 3 and shape (2, 3, 1), {EXPECTED}"),
    *each("rank_64", lambda _: np.ones((1,) * 64), VALUE,
          f"'{{n}}' has rank 64 and shape ({', '.join('1' * 64)}), {EXPECTED}"),
    *each("extent_0", lambda o: np.ones((3, 3), order=o), VALUE, "'N': in_c.shape[0] = 2, but {n}.shape[0] = 3.",
          names=AFTER_IN_C),
    *each("extent_1", lambda o: np.ones((2, 2), order=o), VALUE, "'M': in_c.shape[1] = 3, but {n}.shape[1] = 2.",
          names=AFTER_IN_C),
    *each("no_elements", lambda o: np.ones((0, 3), order=o), VALUE, "'N': in_c.shape[0] = 2, but {n}.shape[0] = 0.",
          names=AFTER_IN_C),
    Row("in_c", "extent_0", lambda: np.ones((3, 3)), VALUE, "'N': in_c.shape[0] = 3, but out_c.shape[0] = 2."),
    Row("in_c", "extent_1", lambda: np.ones((2, 4)), VALUE, "'M': in_c.shape[1] = 4, but out_c.shape[1] = 3."),
    Row("in_c", "no_elements", lambda: np.ones((0, 3)), VALUE, "'N': in_c.shape[0] = 0, but out_c.shape[0] = 2."),
]  # fmt: skip

PAST = "'{n}' is not aligned: it begins 1 byte past a multiple of 8, the alignment of its elements; "
ODD = "'{n}' has stride 27 bytes along axis 0, which is no multiple of its item size 8; "
MEMORY = [
    *each("alignment_1", lambda o: misaligned(SHAPE, order=o), VALUE, PAST + "pass {n}.copy().", PAST + OWN + "."),
    *each("alignment_4", lambda o: misaligned(SHAPE, order=o, past=4), VALUE,
          PAST.replace("1 byte", "4 bytes") + "pass {n}.copy().", PAST.replace("1 byte", "4 bytes") + OWN + "."),
    *each("odd_stride", lambda _: packed(), VALUE, ODD + "pass {n}.copy().", ODD + OWN + "."),
    *each("read_only", lambda o: read_only(np.ones(SHAPE, order=o)), VALUE,
          "'{n}' is read-only, but the program writes to it; pass a writable array.", names=WRITTEN),
]  # fmt: skip


def layout(name: str, what: str, make: Any, strides: str) -> Row:
    """A refusal of the strides of an argument in C, F or inner order."""
    kind = name.split("_")[1]
    if kind == "inner":
        need = f"'{name}' needs unit stride (8 bytes) along axis 1, but its strides are {strides} bytes; "
        way = ("the program writes it, so make the array in that layout" if name in WRITTEN
               else "pass a copy of that layout")  # fmt: skip
        return Row(name, what, make, VALUE, f"{need}{way}, or declare order='any'.")
    dense = {"c": "(24, 8)", "f": "(8, 16)"}[kind]
    need = f"'{name}' must be contiguous in {kind.upper()} order with strides {dense} bytes, but its strides are {strides} bytes; "
    function = {"c": "ascontiguousarray", "f": "asfortranarray"}[kind]
    way = ("the program writes it, so make the array in that order" if name in WRITTEN
           else f"pass numpy.{function}({name})")  # fmt: skip
    return Row(name, what, make, VALUE, f"{need}{way}, or declare order='any'.")


WRONG_STRIDES = {
    "step": (lambda: strided((2, 2)), "(96, 16)", ("c", "f", "inner")),
    "reversed_columns": (lambda: np.ones(SHAPE)[:, ::-1], "(24, -8)", ("c", "f", "inner")),
    "broadcast": (repeated, "(0, 0)", ("c", "f", "inner")),
    "reversed_rows": (lambda: np.ones(SHAPE)[::-1], "(-24, 8)", ("c", "f")),
    "column_slice": (lambda: np.ones((2, 4))[:, :3], "(32, 8)", ("c", "f")),
    "C_order": (lambda: np.ones(SHAPE), "(24, 8)", ("f",)),
    "F_order": (lambda: np.ones(SHAPE, order="F"), "(8, 16)", ("c", "inner")),
}
STRIDES = [
    layout(f"{short}_{kind}", what, make, strides)
    for what, (make, strides, kinds) in WRONG_STRIDES.items()
    for kind in kinds
    for short in ("in", "out", "io")
]

SELF_OVERLAP = [
    Row(name, what, make, VALUE,
        f"'{name}' is written, but elements of it share memory: shape (2, 3), strides {strides} bytes; pass an array of its own memory.")
    for name in ("out_any", "io_any")
    for what, make, strides in [
        ("broadcast", repeated, "(0, 0)"),
        ("repeated_rows", lambda: np.lib.stride_tricks.as_strided(np.ones(3), SHAPE, (0, 8)), "(0, 8)"),
        ("sliding_window", lambda: np.lib.stride_tricks.as_strided(np.ones(4), SHAPE, (8, 8)), "(8, 8)"),
    ]
]  # fmt: skip


@table([*OBJECTS, *ELEMENTS, *SIZES, *MEMORY, *STRIDES, *SELF_OVERLAP])
def test_refused(kernel: Any, row: Row) -> None:
    check_refused(kernel, good, row, name="layouts")


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("other", ["in_c", "in_any", "out_any", "io_any", "out_c"])
def test_written_memory_is_shared(kernel: Any, name: str, other: str) -> None:
    if name == other or order_of(name) != order_of(other):
        return
    given = good()
    given[name] = given[other]
    before = snapshot(given)
    first, second = sorted([name, other], key=lambda n: (n in READ, NAMES.index(n)))
    with pytest.raises(VALUE) as failed:
        kernel(**given)
    text = str(failed.value)
    del failed
    if second in READ:
        assert (
            text
            == f"layouts(): '{first}' is written and shares memory with '{second}'; pass a copy of '{second}'."
        )
    else:
        assert (
            text
            == f"layouts(): '{first}' and '{second}' are written and share memory; give each memory of its own."
        )
    assert snapshot(given) == before


def test_a_written_argument_shares_memory_in_part(kernel: Any) -> None:
    block = np.arange(10.0)
    given = {**good(), "in_c": block[:6].reshape(2, 3), "out_c": block[3:9].reshape(2, 3)}
    text = "layouts(): 'out_c' is written and shares memory with 'in_c'; pass a copy of 'in_c'."
    with pytest.raises(VALUE) as failed:
        kernel(**given)
    assert str(failed.value) == text
    assert block.tolist() == list(range(10))


TAKEN = [
    *[Taken(n, "subclass", lambda n=n: np.full(SHAPE, 3.0, order=order_of(n)).view(Subclass)) for n in OPTIONAL],
    *[Taken(n, "read_only", lambda n=n: read_only(np.full(SHAPE, 3.0, order=order_of(n)))) for n in [*READ, "maybe"]],
    *[Taken(n, "dtype_object_of_its_own", lambda n=n: np.full(SHAPE, 3.0, np.dtype("f8").newbyteorder("="), order=order_of(n)))
      for n in OPTIONAL],
    *[Taken(n, "aligned_to_8", lambda n=n: misaligned(SHAPE, order=order_of(n), past=8)) for n in OPTIONAL],
    *[Taken(n, "ferrule_array", lambda n=n: _rt.asarray(np.full(SHAPE, 3.0, order=order_of(n)))) for n in OPTIONAL],
    *[Taken(n, "step", lambda: strided((2, 2))) for n in NAMES if n.endswith("any")],
    *[Taken(n, "reversed", lambda: np.ones(SHAPE)[::-1, ::-1]) for n in NAMES if n.endswith("any")],
    *[Taken(n, "F_order", lambda: np.ones(SHAPE, order="F")) for n in NAMES if n.endswith("any")],
    *[Taken(n, "field", lambda: np.ones(SHAPE, [("x", "f8"), ("y", "i8")])["x"]) for n in NAMES if n.endswith("any")],
    *[Taken(n, "column_slice", lambda: np.ones((2, 5))[:, 1:4]) for n in NAMES if n.endswith("inner")],
    *[Taken(n, "reversed_rows", lambda: np.ones(SHAPE)[::-1]) for n in NAMES if n.endswith("inner")],
    Taken("in_any", "broadcast", repeated),
    Taken("maybe", "None", lambda: None),
]  # fmt: skip


def check_values(before: dict[str, Any], given: dict[str, Any]) -> None:
    """out_* = 2 * in_*, io_* += in_*, and `maybe` takes part in those in C order."""
    for name in READ:
        read, out, io = name, partner(name, "out"), partner(name, "io")
        both = name == "in_c" and before["maybe"] is not None
        added = before["maybe"] if both else np.zeros_like(before[read])
        np.testing.assert_array_equal(np.asarray(given[out]), 2 * (added if both else before[read]))
        np.testing.assert_array_equal(np.asarray(given[io]), before[io] + before[read] + added)


@table(TAKEN)
def test_taken(kernel: Any, row: Taken) -> None:
    given = {**good(), row.argument: row.make()}
    before = {name: None if value is None else np.array(value) for name, value in given.items()}
    held = {name: state[:2] for name, state in snapshot(given).items()}
    kernel(**given)
    check_values(before, given)
    assert {name: state[:2] for name, state in snapshot(given).items()} == held


EMPTY = {
    "read_only": lambda o: read_only(np.ones((0, 3), order=o)),
    "misaligned": lambda o: misaligned((0, 3), order=o),
    "odd_strides": lambda _: np.lib.stride_tricks.as_strided(np.ones(1), (0, 3), (5, -3)),
    "stride_zero": lambda _: np.lib.stride_tricks.as_strided(np.ones(1), (0, 3), (0, 0)),
    "other_order": lambda o: np.ones((0, 3), order="C" if o == "F" else "F"),
}


@pytest.mark.parametrize("name", OPTIONAL)
@pytest.mark.parametrize("what", EMPTY)
def test_taken_without_elements(kernel: Any, name: str, what: str) -> None:
    """Memory of arrays without elements is not looked at, nor are strides, alignment and flags."""
    shape = (0, 3)
    given = {**good(shape), name: EMPTY[what](order_of(name))}
    runs = kernel(**good(shape))
    assert kernel(**given) == runs + 1


@pytest.mark.parametrize("name", NAMES)
def test_taken_with_any_stride_of_one_element(kernel: Any, name: str) -> None:
    shape = (1, 3)
    given = {**good(shape), name: np.lib.stride_tricks.as_strided(np.ones(3), shape, (7, 8))}
    before = {n: None if value is None else np.array(value) for n, value in given.items()}
    kernel(**given)
    check_values(before, given)

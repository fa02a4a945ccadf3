"""Scalar arguments of every dtype, optional ones and those that take no conversions."""

from __future__ import annotations

import decimal
import fractions
from typing import Any

import numpy as np
import pytest
from exporters import Exporter
from rows import OVERFLOW, TYPE, Index, Row, Taken, check_refused, error_of, snapshot, table
from scalar_kernel import COMPLEX, DTYPES, INTS, REALS, signature

import ferrule as fr

ml_dtypes = pytest.importorskip("ml_dtypes")

EXPECTED = {
    "bool": "a bool",
    **{name: f"an integer of type {name}" for name in INTS},
    **{name: f"a real number of type {name}" for name in REALS},
    **{name: f"a complex number of type {name}" for name in COMPLEX},
}
BUILTIN = {
    "bool": "bool",
    **dict.fromkeys(INTS, "int"),
    **dict.fromkeys(REALS, "float"),
    **dict.fromkeys(COMPLEX, "complex"),
}
RESULTS = [f"a_{d}" for d in DTYPES] + ["maybe_int", "maybe_real"]


@pytest.fixture(scope="module")
def kernel() -> Any:
    return fr.compile_source(*signature("scalars")).load()


@pytest.fixture(scope="module")
def strict() -> Any:
    return fr.compile_source(*signature("exact", strict_scalars=True)).load()


def good() -> dict[str, Any]:
    given: dict[str, Any] = {f"a_{d}": 1.5 if BUILTIN[d] in ("float", "complex") else 1 for d in DTYPES}
    return {**given, "a_bool": True, "maybe_int": None, "maybe_real": None}


class Text:
    """No number at all."""


class Float:
    def __float__(self) -> float:
        return 1.5


class LyingInt(int):
    def __float__(self) -> Any:
        return "1.5"


class RaisingInt(int):
    def __float__(self) -> Any:
        raise KeyError("no float")


def each(what: str, make: Any, shown: str, *, dtypes: list[str] = DTYPES, advice: str = "") -> list[Row]:
    """A row for each dtype; in the advice {b} is the builtin that converts to it and {n} the argument."""
    return [
        Row(f"a_{d}", what, make, TYPE,
            f"'a_{d}' is {shown}, but {EXPECTED[d]} is expected{advice.format(n=f'a_{d}', b=BUILTIN[d])}.")
        for d in dtypes
    ]  # fmt: skip


CONVERT = "; pass {b}({n})"
NO_INTS = ["bool", *REALS, *COMPLEX]
OTHERS = [
    *each("None", lambda: None, "None"),
    *each("str", lambda: "1", "a str"),
    *each("bytes", lambda: b"1", "a bytes"),
    *each("list", lambda: [1], "a list"),
    *each("tuple", lambda: (1,), "a tuple"),
    *each("dict", lambda: {}, "a dict"),
    *each("type", lambda: int, "a type"),
    *each("object", Text, "a Text"),
    *each("rank_0_of_objects", lambda: np.array(3, object), "an ndarray of dtype object and shape ()"),
    *each("text_scalar", lambda: np.str_("1"), "a str_"),
    *each("void_scalar", lambda: np.void(b"12345678"), "a void"),
    *each("datetime_scalar", lambda: np.datetime64(1, "s"), "a datetime64"),
    *each("array_of_one", lambda: np.array([1.5]), "an ndarray of dtype float64 and shape (1,)", advice="; pass {n}.item()"),
    *each("array_of_two", lambda: np.array([1, 2]), "an ndarray of dtype int64 and shape (2,)"),
    *each("empty_array", lambda: np.zeros(0), "an ndarray of dtype float64 and shape (0,)"),
    *each("text_array", lambda: np.array("1"), "an ndarray of dtype <U1 and shape ()"),
    *each("exporter", lambda: Exporter(np.array(1.0)), "an Exporter"),
    *each("ferrule_array", lambda: fr.asarray(np.array(1.0)), "an Array"),
    *each("longdouble", lambda: np.longdouble(1), "a longdouble", advice=CONVERT),
    *each("decimal", lambda: decimal.Decimal("1.5"), "a Decimal", advice=CONVERT),
    *each("fraction", lambda: fractions.Fraction(1, 2), "a Fraction", advice=CONVERT),
    *each("float_method", Float, "a Float", advice=CONVERT),
    *each("index_method", lambda: Index(1), "an Index", advice=CONVERT, dtypes=NO_INTS),
    *each("masked_array", lambda: np.ma.array([1.5]), "a MaskedArray of dtype float64 and shape (1,)", advice="; pass {n}.item()"),
]  # fmt: skip

NO_BOOL = [d for d in DTYPES if d != "bool"]
EXACT = ["bool", *INTS]
NO_COMPLEX = [d for d in DTYPES if d not in COMPLEX]
CONVERTED = [
    *each("bool", lambda: True, "a bool", dtypes=NO_BOOL, advice=CONVERT),
    *each("numpy_bool", lambda: np.True_, "a bool", dtypes=NO_BOOL, advice=CONVERT),
    *each("bool_array", lambda: np.array(True), "an ndarray of dtype bool and shape ()", dtypes=NO_BOOL, advice=CONVERT),
    *each("int", lambda: 1, "an int", dtypes=["bool"], advice=CONVERT),
    *each("int8", lambda: np.int8(1), "an int8", dtypes=["bool"], advice=CONVERT),
    *each("uint8", lambda: np.uint8(1), "a uint8", dtypes=["bool"], advice=CONVERT),
    *each("int_array", lambda: np.array(1), "an ndarray of dtype int64 and shape ()", dtypes=["bool"], advice=CONVERT),
    *each("float", lambda: 2.0, "a float", dtypes=EXACT, advice=CONVERT),
    *each("nan", lambda: float("nan"), "a float", dtypes=EXACT, advice=CONVERT),
    *each("float16", lambda: np.float16(2), "a float16", dtypes=EXACT, advice=CONVERT),
    *each("float32", lambda: np.float32(2), "a float32", dtypes=EXACT, advice=CONVERT),
    *each("float64", lambda: np.float64(2), "a float64", dtypes=EXACT, advice=CONVERT),
    *each("bfloat16", lambda: ml_dtypes.bfloat16(2), "a bfloat16", dtypes=EXACT),
    *each("float_array", lambda: np.array(2.0), "an ndarray of dtype float64 and shape ()", dtypes=EXACT, advice=CONVERT),
    *each("complex", lambda: 1j, "a complex", dtypes=EXACT),
    *each("complex", lambda: 1j, "a complex", dtypes=REALS, advice="; pass {n}.real"),
    *each("complex64", lambda: np.complex64(1j), "a complex64", dtypes=EXACT),
    *each("complex64", lambda: np.complex64(1j), "a complex64", dtypes=REALS, advice="; pass {n}.real"),
    *each("complex_array", lambda: np.array(1j), "an ndarray of dtype complex128 and shape ()", dtypes=EXACT),
    *each("complex_array", lambda: np.array(1j), "an ndarray of dtype complex128 and shape ()", dtypes=REALS,
          advice="; pass {n}.real"),
]  # fmt: skip


def shown_big(value: int) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def out_of_range(dtype: str, what: str, value: Any, shown: str) -> Row:
    return Row(
        f"a_{dtype}", what, lambda: value, OVERFLOW, f"'a_{dtype}' = {shown} is out of range for {dtype}."
    )


LOW = {d: int(np.iinfo(d).min) for d in INTS}
HIGH = {d: int(np.iinfo(d).max) for d in INTS}
RANGE = [
    *[out_of_range(d, "above", HIGH[d] + 1, str(HIGH[d] + 1)) for d in INTS],
    *[out_of_range(d, "below", LOW[d] - 1, str(LOW[d] - 1)) for d in INTS],
    *[out_of_range(d, "far_above", 2**200, str(2**200)) for d in INTS],
    *[out_of_range(d, "far_below", -(2**200), str(-(2**200))) for d in INTS],
    *[out_of_range(d, "beyond_floats", 10**400, shown_big(10**400)) for d in [*INTS, *REALS, *COMPLEX]],
    *[out_of_range(d, "index_method", Index(2**70), str(2**70)) for d in INTS],
    *[out_of_range(d, "numpy_scalar", np.int64(2**40), "np.int64(1099511627776)") for d in INTS if HIGH[d] < 2**40],
    *[out_of_range(d, "numpy_array", np.array(2**40), "1099511627776") for d in INTS if HIGH[d] < 2**40],
    *[out_of_range(d, "negative_scalar", np.int8(-1), "np.int8(-1)") for d in INTS if d.startswith("u")],
    out_of_range("int64", "large_unsigned_scalar", np.uint64(2**63), "np.uint64(9223372036854775808)"),
]  # fmt: skip


def unreadable(what: str, make: Any, dtypes: list[str], reason: str) -> list[Row]:
    return [
        Row(f"a_{d}", what, make, TYPE, f"'a_{d}' cannot be read as {EXPECTED[d]}: {reason}.") for d in dtypes
    ]


PROTOCOLS = [
    *unreadable("index_raises", lambda: Index(ZeroDivisionError), INTS, "no integer"),
    *unreadable("index_raises_TypeError", lambda: Index(TypeError), INTS, "no integer"),
    *unreadable("index_raises_OverflowError", lambda: Index(OverflowError), INTS, "no integer"),
    *unreadable("index_gives_a_text", lambda: Index("1"), INTS, "__index__ returned non-int (type str)"),
    *unreadable("index_gives_a_float", lambda: Index(1.5), INTS, "__index__ returned non-int (type float)"),
    *unreadable("float_of_an_int_raises", lambda: RaisingInt(1), [*REALS, *COMPLEX], "'no float'"),
    *unreadable("float_of_an_int_gives_a_text", lambda: LyingInt(1), [*REALS, *COMPLEX],
                "LyingInt.__float__ returned non-float (type str)"),
]  # fmt: skip

MASKED = [
    Row(f"a_{d}", what, make, TYPE, f"'a_{d}' is a masked array, whose mask would be ignored; pass a_{d}.filled(value).")
    for d in DTYPES
    for what, make in [("masked", lambda: np.ma.masked), ("masked_rank_0", lambda: np.ma.array(1, mask=False))]
]  # fmt: skip

MAYBE = [
    Row("maybe_int", "float", lambda: 1.0, TYPE,
        "'maybe_int' is a float, but an integer of type int32 is expected; pass int(maybe_int)."),
    Row("maybe_int", "range", lambda: 2**31, OVERFLOW, "'maybe_int' = 2147483648 is out of range for int32."),
    Row("maybe_int", "False", lambda: False, TYPE,
        "'maybe_int' is a bool, but an integer of type int32 is expected; pass int(maybe_int)."),
    Row("maybe_real", "ellipsis", lambda: ..., TYPE, "'maybe_real' is an ellipsis, but a real number of type float64 is expected."),
    Row("maybe_real", "str", lambda: "None", TYPE, "'maybe_real' is a str, but a real number of type float64 is expected."),
]  # fmt: skip


@table([*OTHERS, *CONVERTED, *RANGE, *PROTOCOLS, *MASKED, *MAYBE])
def test_refused(kernel: Any, row: Row) -> None:
    check_refused(kernel, good, row, name="scalars")


def taken(what: str, make: Any, value: Any, dtypes: list[str]) -> list[Taken]:
    return [Taken(f"a_{d}", what, make, value) for d in dtypes]


BIG_ENDIAN = np.array(3, ">i4")
TAKEN = [
    *taken("True", lambda: True, True, ["bool"]),
    *taken("numpy_False", lambda: np.False_, False, ["bool"]),
    *taken("rank_0", lambda: np.array(True), True, ["bool"]),
    *taken("int", lambda: 1, 1, NO_BOOL),
    *taken("numpy_int8", lambda: np.int8(3), 3, NO_BOOL),
    *taken("numpy_uint64", lambda: np.uint64(3), 3, NO_BOOL),
    *taken("rank_0", lambda: np.array(3), 3, NO_BOOL),
    *taken("rank_0_of_another_byte_order", lambda: BIG_ENDIAN, 3, NO_BOOL),
    *taken("int_subclass", lambda: type("Sub", (int,), {})(3), 3, NO_BOOL),
    *taken("index_method", lambda: Index(3), 3, INTS),
    *[Taken(f"a_{d}", "highest", lambda d=d: HIGH[d], HIGH[d]) for d in INTS],
    *[Taken(f"a_{d}", "lowest", lambda d=d: LOW[d], LOW[d]) for d in INTS],
    *taken("float", lambda: 1.5, 1.5, [*REALS, *COMPLEX]),
    *taken("numpy_float16", lambda: np.float16(1.5), 1.5, [*REALS, *COMPLEX]),
    *taken("numpy_bfloat16", lambda: ml_dtypes.bfloat16(1.5), 1.5, [*REALS, *COMPLEX]),
    *taken("numpy_float64", lambda: np.float64(1.5), 1.5, [*REALS, *COMPLEX]),
    *taken("float_rank_0", lambda: np.array(1.5), 1.5, [*REALS, *COMPLEX]),
    *taken("float_subclass", lambda: type("Sub", (float,), {"__float__": lambda _: 7.0})(1.5), 1.5, [*REALS, *COMPLEX]),
    *taken("infinity", lambda: float("inf"), np.inf, [*REALS, *COMPLEX]),
    *taken("int_that_rounds_to_infinity", lambda: 10**300, np.inf, ["float16", "bfloat16", "float32", "complex64"]),
    *taken("complex", lambda: 1.5 - 2j, 1.5 - 2j, COMPLEX),
    *taken("numpy_complex64", lambda: np.complex64(1.5 - 2j), 1.5 - 2j, COMPLEX),
    *taken("complex_rank_0", lambda: np.array(1.5 - 2j), 1.5 - 2j, COMPLEX),
    Taken("a_float64", "float32_keeps_its_value", lambda: np.float32(0.1), 0.10000000149011612),
    Taken("maybe_int", "None", lambda: None, -7),
    Taken("maybe_int", "int", lambda: 5, 5),
    Taken("maybe_int", "rank_0", lambda: np.array(5), 5),
    Taken("maybe_real", "None", lambda: None, -7.0),
    Taken("maybe_real", "int", lambda: 5, 5.0),
]  # fmt: skip


@table(TAKEN)
def test_taken(kernel: Any, row: Taken) -> None:
    given = {**good(), row.argument: row.make()}
    before = snapshot(given)
    result = kernel(**given)[1 + RESULTS.index(row.argument)]
    assert result == row.value
    assert snapshot(given) == before


STRICT = " and strict_scalars forbids conversions"
STRICT_ROWS = [
    Row("a_int32", "numpy_scalar", lambda: np.int32(1), TYPE,
        f"'a_int32' is an int32, but an integer of type int32 is expected{STRICT}; pass int(a_int32)."),
    Row("a_int32", "rank_0", lambda: np.array(1), TYPE,
        f"'a_int32' is an ndarray of dtype int64 and shape (), but an integer of type int32 is expected{STRICT}; pass int(a_int32)."),
    Row("a_int32", "index_method", lambda: Index(1), TYPE,
        f"'a_int32' is an Index, but an integer of type int32 is expected{STRICT}; pass int(a_int32)."),
    Row("a_float64", "int", lambda: 1, TYPE,
        f"'a_float64' is an int, but a real number of type float64 is expected{STRICT}; pass float(a_float64)."),
    Row("a_float64", "numpy_scalar", lambda: np.float64(1), TYPE,
        f"'a_float64' is a float64, but a real number of type float64 is expected{STRICT}; pass float(a_float64)."),
    Row("a_complex64", "float", lambda: 1.0, TYPE,
        f"'a_complex64' is a float, but a complex number of type complex64 is expected{STRICT}; pass complex(a_complex64)."),
    Row("a_bool", "numpy_bool", lambda: np.True_, TYPE,
        f"'a_bool' is a bool, but a bool is expected{STRICT}; pass bool(a_bool)."),
    Row("a_int32", "range", lambda: 2**31, OVERFLOW, "'a_int32' = 2147483648 is out of range for int32."),
]  # fmt: skip


@table(STRICT_ROWS)
def test_refused_without_conversions(strict: Any, row: Row) -> None:
    def fits() -> dict[str, Any]:
        given = good()
        return {**given, "a_complex64": 1j, "a_complex128": 1j}

    check_refused(strict, fits, row, name="exact")


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_what_is_no_fault_of_the_object_passes(kernel: Any, error: type[BaseException]) -> None:
    with pytest.raises(error, match="no integer"):
        kernel(a_int32=Index(error))


def test_the_objects_own_error_is_the_cause(kernel: Any) -> None:
    with pytest.raises(TYPE) as failed:
        kernel(a_int32=Index(ZeroDivisionError))
    assert type(failed.value.__cause__) is ZeroDivisionError
    assert failed.value.__cause__.__traceback__ is not None


@pytest.mark.parametrize("length", range(70, 90))
def test_long_names_are_cut_between_characters(kernel: Any, length: int) -> None:
    name = "x" * (length % 3) + "é" * length
    shown = (
        error_of(lambda: kernel(**{name: 1}))[1]
        .removeprefix("scalars(): there is no argument ")
        .split("; the signature")[0]
    )
    assert shown.endswith("...")
    assert repr(name).startswith(shown[:-3])
    assert 75 <= len(shown.encode()) <= 80

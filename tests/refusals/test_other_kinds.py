"""Structs by value, texts, Python objects and callables: each kind of wrong thing in their place."""

from __future__ import annotations

import array
import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from exporters import Exporter, WithInterface
from kinds_kernel import BYTES, GIVEN, POINT, SOURCE, F, G, X, good, point, signature
from rows import (
    OVERFLOW,
    TYPE,
    VALUE,
    Row,
    Taken,
    check_refused,
    error_of,
    misaligned,
    read_only,
    snapshot,
    table,
)

import ferrule as fr

FIELDS = "a struct with the fields 'x', 'y', 'z'"


@pytest.fixture(scope="module")
def kernel() -> Any:
    return fr.compile_source(SOURCE, signature()).load()


class Text:
    """No text, no struct, no callable."""


class Doubles:
    def __call__(self, x: Any) -> float:
        return 2 * float(x)


def changed(**fields: Any) -> Any:
    """A struct with fields replaced; None leaves one out."""
    all_ = {"x": ("x", "f8"), "y": ("y", "i4"), "z": ("z", "u4"), **fields}
    return np.zeros((), np.dtype([field for field in all_.values() if field is not None]))[()]


def places() -> Any:
    return np.zeros(
        (), np.dtype({"names": list("xyz"), "formats": ["f8", "i4", "u4"], "offsets": [0, 12, 8]})
    )[()]


def struct(what: str, make: Any, kind: str) -> Row:
    return Row(
        "p",
        what,
        make,
        TYPE,
        f"'p' is {kind}, but a struct is expected; pass a scalar of a structured numpy.dtype.",
    )


STRUCTS = [
    struct("None", lambda: None, "None"),
    struct("float", lambda: 1.5, "a float"),
    struct("numpy_scalar", lambda: np.float64(1.5), "a float64"),
    struct("tuple", lambda: (1.5, 2, 3), "a tuple"),
    struct("list", lambda: [1.5, 2, 3], "a list"),
    struct("dict", lambda: {"x": 1.5}, "a dict"),
    struct("bytes", lambda: bytes(16), "a bytes"),
    struct("dtype", lambda: POINT, "a VoidDType"),
    struct("ctypes", lambda: ctypes.c_double(1), "a c_double"),
    struct("interface", lambda: WithInterface(point()), "a WithInterface"),
    struct("exporter", lambda: Exporter(np.array(1.0)), "an Exporter"),
    struct("memoryview", lambda: memoryview(point()), "a memoryview"),
    struct("object", Text, "a Text"),
    *[
        Row("p", what, make, TYPE, text)
        for what, make, text in [
            ("plain_void_of_the_same_width", lambda: np.void(bytes(16)), f"'p' has dtype |V16, but {FIELDS} is expected."),
            ("float64_rank_0", lambda: np.array(1.0), f"'p' has dtype float64, but {FIELDS} is expected."),
            ("byte_order", lambda: changed(x=("x", ">f8")),
             "'p': the field 'x' has dtype >f8 in foreign byte order, but float64 is expected."),
            ("field_of_the_same_width", lambda: changed(x=("x", "i8")), "'p': the field 'x' has dtype int64, but float64 is expected."),
            ("field_of_objects", lambda: changed(x=("x", "O")), "'p': the field 'x' has dtype object, but float64 is expected."),
            ("missing_field", lambda: changed(z=None), "'p' has no field 'z'."),
            ("another_field", lambda: changed(w=("w", "u1")), "'p' has the field 'w', which the struct does not have."),
            ("name", lambda: changed(y=("v", "i4")), "'p' has the field 'v' where the field 'y' is expected."),
            ("places", places, "'p': the field 'y' lies at byte 12, but byte 8 is expected."),
            ("masked", lambda: np.ma.zeros((), POINT), "'p' is a masked array, whose mask would be ignored."),
        ]
    ],
    Row("p", "array_of_one", lambda: np.zeros(1, POINT), VALUE, "'p' has shape (1,), but one struct is expected."),
    Row("p", "empty_array", lambda: np.zeros(0, POINT), VALUE, "'p' has shape (0,), but one struct is expected."),
    Row("p", "rank_2", lambda: np.zeros((1, 1), POINT), VALUE, "'p' has shape (1, 1), but one struct is expected."),
]  # fmt: skip


def text(what: str, make: Any, kind: str, advice: str = "") -> list[Row]:
    return [Row(name, what, make, TYPE, f"'{name}' is {kind}, but str or bytes is expected{advice.format(name)}.")
            for name in ("s", "maybe")]  # fmt: skip


TEXTS = [
    Row("s", "None", lambda: None, TYPE, "'s' is None, but str or bytes is expected."),
    *text("int", lambda: 3, "an int"),
    *text("float", lambda: 1.5, "a float"),
    *text("list", lambda: ["text"], "a list"),
    *text("type", lambda: str, "a type"),
    *text("object", Text, "a Text"),
    *text("numpy_scalar", lambda: np.float64(1), "a float64", "; pass bytes({})"),
    *text("bytearray", lambda: bytearray(b"text"), "a bytearray", "; pass bytes({})"),
    *text("memoryview", lambda: memoryview(b"text"), "a memoryview", "; pass bytes({})"),
    *text("array", lambda: array.array("b", [1]), "an array", "; pass bytes({})"),
    *text("rank_0", lambda: np.array("text"), "an ndarray of dtype <U4 and shape ()"),
    *text("array_of_one", lambda: np.array(["text"]), "an ndarray of dtype <U4 and shape (1,)"),
    *[
        Row(name, "surrogate", lambda: "\ud800", VALUE,
            f"'{name}' holds lone surrogates, which UTF-8 does not have; encode it to bytes.")
        for name in ("s", "maybe")
    ],
]  # fmt: skip

CALLABLES = [
    Row(name, what, make, TYPE, f"'{name}' is {kind}, but a callable is expected.")
    for name in ("f", "g")
    for what, make, kind in [
        ("None", lambda: None, "None"),
        ("int", lambda: 3, "an int"),
        ("str", lambda: "float", "a str"),
        ("list", lambda: [float], "a list"),
        ("numpy_scalar", lambda: np.float64(1), "a float64"),
        ("array", lambda: np.ones(2), "an ndarray"),
        ("object", Text, "a Text"),
    ]
]


@table([*STRUCTS, *TEXTS, *CALLABLES])
def test_refused(kernel: Any, row: Row) -> None:
    check_refused(kernel, good, row, name="kinds")


OBJECT = object()
TAKEN = [
    (Taken("p", "scalar", lambda: point()[()], 6.5), X),
    (Taken("p", "rank_0", point, 6.5), X),
    (Taken("p", "read_only", lambda: read_only(point()), 6.5), X),
    (Taken("p", "record", lambda: point().view(np.recarray)[()], 6.5), X),
    (Taken("p", "misaligned", lambda: misaligned((1,), POINT)[0], 0.0), X),
    (Taken("p", "of_an_array", lambda: np.array([(0, 0, 0), (1.5, 2, 3)], POINT)[1], 6.5), X),
    (Taken("s", "str", lambda: "äö", 4), BYTES),
    (Taken("s", "bytes", lambda: b"a\0c", 3), BYTES),
    (Taken("s", "empty", lambda: "", 0), BYTES),
    (Taken("s", "numpy_str", lambda: np.str_("text"), 4), BYTES),
    (Taken("s", "numpy_bytes", lambda: np.bytes_(b"text"), 4), BYTES),
    (
        Taken("s", "subclass", lambda: type("Sub", (str,), {"__str__": lambda _: "long text"})("text"), 4),
        BYTES,
    ),
    (Taken("maybe", "str", lambda: "", 1004), BYTES),
    (Taken("o", "object", lambda: OBJECT, OBJECT), GIVEN),
    (Taken("o", "None", lambda: None, None), GIVEN),
    (Taken("o", "type", lambda: Text, Text), GIVEN),
    (Taken("nothing", "object", lambda: 0, 10004), BYTES),
    (Taken("f", "type", lambda: float, 1.5), F),
    (Taken("f", "object", Doubles, 3.0), F),
    (Taken("f", "gives_an_int", lambda: lambda _: 2, 2.0), F),
    (Taken("f", "gives_a_numpy_scalar", lambda: lambda _: np.float32(2), 2.0), F),
    (Taken("g", "gives_a_numpy_scalar", lambda: lambda _: np.int64(-3), -3), G),
    (Taken("g", "reads_the_array", lambda: lambda x: int(2 * x[1]), 5), G),
]


@pytest.mark.parametrize("row, place", [pytest.param(r, p, id=f"{r.argument}-{r.what}") for r, p in TAKEN])
def test_taken(kernel: Any, row: Taken, place: int) -> None:
    given = {**good(), row.argument: row.make()}
    before = snapshot(given)
    result = kernel(**given)[place]
    assert result is row.value if place == GIVEN else result == row.value
    del result
    assert snapshot(given) == before


def gives(value: Any) -> Callable[[], Any]:
    return lambda: lambda _: value


def wrong_result(name: str, what: str, value: Any, kind: str) -> Row:
    expected = {"f": "a real number of type float64", "g": "an integer of type int32"}[name]
    return Row(
        name, what, gives(value), TYPE, f"the callback '{name}' returned {kind}, but {expected} is expected."
    )


KEPT: list[Any] = []
GIVES = [
    *[
        wrong_result(name, what, value, kind)
        for name in ("f", "g")
        for what, value, kind in [
            ("gives_None", None, "None"),
            ("gives_a_text", "1", "a str"),
            ("gives_a_complex", 1j, "a complex"),
            ("gives_a_bool", True, "a bool"),
            ("gives_a_numpy_bool", np.True_, "a bool"),
            ("gives_rank_0", np.array(1j), "an ndarray of dtype complex128 and shape ()"),
            ("gives_an_array", np.ones(1), "an ndarray of dtype float64 and shape (1,)"),
            ("gives_an_object", Text(), "a Text"),
        ]
    ],
    wrong_result("g", "gives_a_float", 1.0, "a float"),
    wrong_result("g", "gives_a_numpy_float", np.float32(1), "a float32"),
    Row("f", "gives_too_much", gives(10**400), OVERFLOW,
        f"the callback 'f' returned 1{'0' * 76}..., which is out of range for float64."),
    Row("g", "gives_too_much", gives(2**31), OVERFLOW, "the callback 'g' returned 2147483648, which is out of range for int32."),
    Row("g", "gives_a_numpy_int_too_much", gives(np.int64(2**31)), OVERFLOW,
        "the callback 'g' returned np.int64(2147483648), which is out of range for int32."),
]  # fmt: skip


@table(GIVES)
def test_results_of_callbacks_that_are_refused(kernel: Any, row: Row) -> None:
    """The function has begun then: it ends, and the next call is as good as any."""
    given = {**good(), row.argument: row.make()}
    before = snapshot(given)
    assert error_of(lambda: kernel(**given)) == (row.error, f"kinds(): {row.text}")
    assert snapshot(given) == before
    assert kernel(**good())[F:] == (1.5, 2)


@pytest.mark.parametrize("name", ["f", "g"])
@pytest.mark.parametrize("error", [ValueError, StopIteration, KeyboardInterrupt])
def test_what_callbacks_raise_comes_out(kernel: Any, name: str, error: type[BaseException]) -> None:
    raised = error("mine")

    def fails(_: Any) -> Any:
        raise raised

    with pytest.raises(error) as failed:
        kernel(**{**good(), name: fails})
    assert failed.value is raised
    assert kernel(**good())[F:] == (1.5, 2)


def test_callbacks_of_other_parameters_raise_pythons_error(kernel: Any) -> None:
    assert error_of(lambda: kernel(**{**good(), "f": lambda: 1.0}))[0] is TypeError

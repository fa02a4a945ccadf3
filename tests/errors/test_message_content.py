"""A mistake in the third of five arrays: one line with function, argument, what is expected and why, and what came."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from exporters import CUDA, Exporter

import ferrule as fr
from ferrule import errors


@fr.program
def five(
    a: Annotated[np.ndarray, fr.float64["N", "M"]],
    b: Annotated[np.ndarray, fr.float32["M"]],
    c: Annotated[np.ndarray, fr.float64["N"]],
    d: Annotated[np.ndarray, fr.float64["2*N"]],
    e: Annotated[np.ndarray, fr.float64["N", "M"]],
) -> None:
    c[...] = a.sum(axis=1) + d[0]
    e[...] = a + b


@pytest.fixture(scope="module")
def kernel() -> Any:
    args = [
        fr.Arg("a", shape=("N", "M")),
        fr.Arg("b", dtype="float32", shape="M"),
        fr.Arg("c", shape="N", intent="inout"),
        fr.Arg("d", shape="2*N"),
        fr.Arg("e", shape=("N", "M"), intent="inout"),
    ]
    source = "void five(const double*, const float*, double* c, const double*, double* e, long n, long m) { c[0] = e[0] = 9; }"
    return fr.compile_source(source, fr.Signature("five", args)).load()


def good() -> dict[str, Any]:
    return {
        "a": np.ones((4, 3)),
        "b": np.ones(3, "f4"),
        "c": np.full(4, 7.0),
        "d": np.ones(8),
        "e": np.full((4, 3), 7.0),
    }


def frozen() -> np.ndarray[Any, Any]:
    c = np.zeros(4)
    c.flags.writeable = False
    return c


WRITTEN = "the program writes it, so make"
MISTAKES: list[tuple[Any, type[Exception], str]] = [
    (np.ones(5), errors.UserValueError, "'N': a.shape[0] = 4, but c.shape[0] = 5."),
    (np.ones(0), errors.UserValueError, "'N': a.shape[0] = 4, but c.shape[0] = 0."),
    (np.ones(4, "f4"), errors.UserTypeError, f"'c' has dtype float32, but float64 is expected; {WRITTEN} an array of that dtype."),
    (np.ones(4, "i8"), errors.UserTypeError, f"'c' has dtype int64, but float64 is expected; {WRITTEN} an array of that dtype."),
    (
        np.ones(4, ">f8"), errors.UserTypeError,
        f"'c' has dtype >f8 in foreign byte order, but native float64 is expected; {WRITTEN} an array of that dtype.",
    ),
    (
        np.ones((4, 1)), errors.UserValueError,
        "'c' has rank 2 and shape (4, 1), but rank 1 and shape (N,) are expected.",
    ),
    (np.array(1.0), errors.UserValueError, "'c' has rank 0 and shape (), but rank 1 and shape (N,) are expected."),
    (
        np.ones(8)[::2], errors.UserValueError,
        "'c' must be contiguous in C order with strides (8,) bytes, but its strides are (16,) bytes; "
        f"{WRITTEN} the array in that order, or declare order='any'.",
    ),
    (
        Exporter(np.ones(4), device=(CUDA, 1)), errors.UserBufferError,
        "'c' is on CUDA device 1 (DLPack device type 2), but memory of the host is expected.",
    ),
    (frozen(), errors.UserValueError, "'c' is read-only, but the program writes to it; pass a writable array."),
    (
        np.zeros(33, "u1")[1:].view("f8"), errors.UserValueError,
        "'c' is not aligned: it begins 1 byte past a multiple of 8, the alignment of its elements; "
        f"{WRITTEN} it an array of memory of its own.",
    ),
    (
        np.ma.ones(4), errors.UserTypeError,
        "'c' is a masked array, whose mask would be ignored; pass c.data.",
    ),
    ([1.0] * 4, errors.UserTypeError, f"'c' is a list, but an array of dtype float64 is expected; {WRITTEN} an array of that dtype."),
    (None, errors.UserTypeError, "'c' is None, but an array of dtype float64 is expected."),
]  # fmt: skip


@pytest.mark.parametrize("by_name", [False, True])
@pytest.mark.parametrize(("bad", "kind", "sentence"), MISTAKES, ids=[m[2][:40] for m in MISTAKES])
@pytest.mark.parametrize("call", ["kernel", "annotated"])
def test_the_third_of_five(
    bad: Any, kind: type[Exception], sentence: str, by_name: bool, call: str, request: pytest.FixtureRequest
) -> None:
    function = request.getfixturevalue("kernel") if call == "kernel" else five
    given = good() | {"c": bad}
    with pytest.raises(errors.UserError) as caught:
        function(**given) if by_name else function(*given.values())
    text = str(caught.value)
    assert (type(caught.value), text) == (kind, f"five(): {sentence}")
    assert "\n" not in text
    assert (given["e"] == 7.0).all()


@pytest.mark.parametrize("call", ["kernel", "annotated"])
def test_sizes_that_the_third_and_later_ones_contradict(call: str, request: pytest.FixtureRequest) -> None:
    function = request.getfixturevalue("kernel") if call == "kernel" else five
    for change, size, sentence in [
        ({"d": np.ones(7)}, {}, "'d' has shape (7,), but (2*N,) is expected: d.shape[0] = 7, not 2*N = 8 with N = 4 from a.shape[0] = 4."),
        ({"e": np.ones((4, 2))}, {}, "'M': a.shape[1] = 3, but e.shape[1] = 2."),
        ({}, {"M": 2}, "'M': a.shape[1] = 3, but M = 2 was given."),
        ({}, {"N": 5}, "'N': a.shape[0] = 4, but N = 5 was given."),
    ]:  # fmt: skip
        with pytest.raises(errors.UserValueError) as caught:
            function(**(good() | change), **size)
        assert str(caught.value) == f"five(): {sentence}"


def test_overlap_of_two_written_arrays_names_both(kernel: Any) -> None:
    memory = np.full(12, 7.0)
    given = good() | {"c": memory[:4], "e": memory.reshape(4, 3)}
    for call in (lambda: kernel(**given), lambda: kernel(*given.values())):
        with pytest.raises(errors.UserValueError) as caught:
            call()
        text = "five(): 'c' and 'e' are written and share memory; give each memory of its own."
        assert str(caught.value) == text
    assert (memory == 7).all()
    mine, numpys = memory.copy(), memory.copy()
    five(
        **good() | {"c": mine[:4], "e": mine.reshape(4, 3)}
    )  # a decorated function gives NumPy's answer instead
    five.__wrapped__(**good() | {"c": numpys[:4], "e": numpys.reshape(4, 3)})
    np.testing.assert_array_equal(mine, numpys)


ODD: list[Any] = [
    [1.0], (1.0,), range(3), (i for i in range(3)), "text", b"bytes" * 8, bytearray(3), {}, {1.0}, frozenset(), int, np.ndarray,
    np.float64, None, Ellipsis, NotImplemented, object(), len, lambda: 0, 1, 1.5, True, 1j, 2**200, np.float64(1), np.bool_(True),
    np.void(b"12345678"), np.datetime64(1, "s"), slice(3), memoryview(b"abcdefgh"), Exception("x"), np.dtype("f8"), iter([1.0]),
    np.nditer(np.ones(2)), np.random.default_rng(0), sys,
]  # fmt: skip


@pytest.mark.parametrize("odd", ODD, ids=[f"{k}-{type(odd).__name__}" for k, odd in enumerate(ODD)])
@pytest.mark.parametrize("call", ["kernel", "annotated"])
def test_what_is_no_array_is_refused_by_name(odd: Any, call: str, request: pytest.FixtureRequest) -> None:
    function = request.getfixturevalue("kernel") if call == "kernel" else five
    for name in "abcde":
        given = good() | {name: odd}
        for attempt in (lambda: function(**given), lambda: function(*given.values())):  # noqa: B023
            with pytest.raises(errors.UserError) as caught:
                attempt()
            assert str(caught.value).startswith(f"five(): '{name}' ")
            assert isinstance(caught.value, (TypeError, BufferError))
            if isinstance(odd, (list, tuple)):
                dtype = "float32" if name == "b" else "float64"
                advice = (
                    f"{WRITTEN} an array of that dtype."
                    if name in "ce"
                    else f"pass numpy.asarray({name}, '{dtype}')."
                )
                assert str(caught.value).endswith(advice)
        assert name == "c" or (given["c"] == 7).all()

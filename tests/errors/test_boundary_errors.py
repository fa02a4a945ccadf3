"""What a decorated function says of calls that do not fit, of arguments that are no arrays, and of results."""

from __future__ import annotations

import array
import collections
import os
import warnings
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest

import ferrule as fr
from ferrule.errors import Unsupported, UserTypeError


def mixed(a: Any, /, b: Any, c: Any = 1, *, d: Any, e: Any = 2) -> Any:
    return a * b + c * d + e


def plain(a: Any, b: Any = 1) -> Any:
    return a * b


def nothing() -> Any:
    return 1


def named(*, x: Any) -> Any:
    return x + 1


A = np.ones(2)
GOOD: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
    (mixed, (A, 1), {"d": 1}), (plain, (A,), {}), (nothing, (), {}), (named, (), {"x": A}),
]  # fmt: skip
BAD: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
    (mixed, (A,), {}), (mixed, (), {}), (mixed, (A, 1), {}), (mixed, (A, 1, 2, 3), {"d": 1}),
    (mixed, (), {"a": A, "b": 1, "d": 1}), (mixed, (A,), {"a": A, "b": 1, "d": 2}), (mixed, (A, 1), {"b": 2, "d": 1}),
    (mixed, (A, 1), {"d": 1, "z": 2}), (mixed, (A,), {"d": 1}), (mixed, (A, 1, 2), {"e": 1}),
    (plain, (), {}), (plain, (A, 1, 2), {}), (plain, (A,), {"a": 1}), (plain, (A,), {"z": 1}), (plain, (1, 2, 3), {"z": 1}),
    (nothing, (1,), {}), (nothing, (), {"x": 1}), (named, (A,), {}), (named, (), {}), (named, (1,), {"x": A}),
]  # fmt: skip


@pytest.mark.parametrize(("fn", "args", "kwargs"), BAD)
def test_a_call_that_does_not_fit_is_refused_in_pythons_words(fn: Any, args: Any, kwargs: Any) -> None:
    with pytest.raises(TypeError) as python:
        fn(*args, **kwargs)
    first, later = fr.program(fn), fr.program(fn)
    _, good_args, good_kwargs = next(good for good in GOOD if good[0] is fn)
    later(*good_args, **good_kwargs)
    for native in (first, later):
        with pytest.raises(UserTypeError) as caught:
            native(*args, **kwargs)
        assert str(caught.value) == f"{python.value}."


def test_a_positional_only_parameter_of_an_annotated_function() -> None:
    @fr.program
    def doubled(a: Annotated[np.ndarray, fr.float64["N"]], /, b: float = 2.0) -> Any:
        return a * b

    assert doubled(A, b=3.0)[0] == 3.0
    for _ in range(2):
        with pytest.raises(UserTypeError, match="'a' is positional-only"):
            doubled(a=A)


class Unhashable:
    __hash__ = None  # type: ignore[assignment]


ARGUMENTS: list[tuple[Any, str]] = [
    (None, "The argument 'x' is None"), ((i for i in "ab"), "is a generator"), (iter([1.0]), "is a list_iterator"),
    ({"a": 1.0}, "is a dict"), ([1.0], "is a list"), ({1.0}, "is a set"), (object(), "'object'"),
    (Unhashable(), "is an Unhashable"), (array.array("d", [1.0]), "is an array"), (bytearray(b"a"), "is a bytearray"),
    (memoryview(b"a"), "is a memoryview"), (collections.deque([1.0]), "is a deque"), (int, "is of type type"),
    (np.ma.array([1.0]), "is a masked array"), (np.matrix([[1.0]]), "is a matrix"),
    (A.astype(A.dtype.newbyteorder()), "foreign byte order"),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize(("value", "text"), ARGUMENTS, ids=lambda value: type(value).__name__)
def test_arguments_that_are_no_arrays(value: Any, text: str) -> None:
    def fn(x: Any) -> Any:
        return x * 2.0

    later = fr.program(fn)
    later(A)
    for native in (fr.program(fn), later):
        with pytest.raises(UserTypeError) as caught:
            native(value)
        assert text in str(caught.value) and str(caught.value).endswith("."), str(caught.value)
        assert "Array" not in str(caught.value) and "Scalar" not in str(caught.value)


@pytest.mark.parametrize(
    "value", [1j, np.complex128(1), np.array([1], object), np.array(["a"]), [A], (A,), np.float16(1)]
)
def test_unsupported_arguments_name_the_function_and_the_argument(value: Any) -> None:
    def fn(x: Any) -> Any:
        return x

    with pytest.raises(Unsupported) as caught:
        fr.program(fn)(value)
    place = f"{__file__}:{fn.__code__.co_firstlineno}: "
    assert str(caught.value).startswith(place) and "'x'" in str(caught.value), str(caught.value)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_a_matrix_is_refused_where_an_array_was_compiled_for() -> None:
    fn = fr.program(lambda x: x * x)
    fn(np.ones((2, 2)))
    with pytest.raises(UserTypeError, match="matrix"):
        fn(np.matrix(np.ones((2, 2))))

    @fr.program
    def annotated(x: Annotated[np.ndarray, fr.float64["N", "N"]]) -> Any:
        return x * x

    with pytest.raises(UserTypeError, match="matrix, whose operators differ"):
        annotated(np.matrix(np.ones((2, 2))))
    assert annotated(np.ones((2, 2)).view(np.recarray))[0, 0] == 1.0


def test_advice_for_written_arrays_does_not_lose_the_writes() -> None:
    @fr.program
    def fills(x: Annotated[np.ndarray, fr.float64["N", "M"]]) -> None:
        x[...] = 1.0

    @fr.program
    def reads(x: Annotated[np.ndarray, fr.float64["N", "M"]]) -> Any:
        return x + 1.0

    given = np.zeros((2, 3), order="F")
    with pytest.raises(fr.UserError, match="make the array in that order") as caught:
        fills(given)
    assert "ascontiguousarray" not in str(caught.value) and not given.any()
    with pytest.raises(fr.UserError, match="ascontiguousarray"):
        reads(given)


@pytest.mark.parametrize("name", ["dtype", "strides", "real", "flags", "data"])
def test_assignments_to_attributes_of_arrays_are_refused(name: str) -> None:
    def fn(x: Any) -> Any:
        setattr(x, name, 1)
        return x

    with pytest.raises(Unsupported, match=f"attribute '{name}'"):
        fr.program(fn)(np.ones(3))


RESULTS: dict[str, Any] = {
    "list": lambda a: [a + 1.0, a * 2.0],
    "dict": lambda a: {"sum": a.sum(), "both": (a, [a + 1.0, None]), 3: 2.5},
    "nested tuple": lambda a: (a + 1.0, (a, 2)),
    "empty list": lambda a: [],
    "empty tuple": lambda a: (),
    "where": lambda a: np.where(a[0] > 1.0, a[0], 3.0),
    "array of a number": lambda a: np.array(a[0]),
    "literal": lambda a: np.array(2.5),
    "zeros": lambda a: np.zeros(()),
    "reshape": lambda a: a[:1].reshape(()),
    "squeeze": lambda a: np.squeeze(a[:1]),
    "sum": lambda a: a.sum(),
    "root of an array": lambda a: np.sqrt(np.array(a[1])),
    "number": lambda a: a[1],
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_are_put_together_as_python_does(name: str) -> None:
    fn = RESULTS[name]
    native = fr.program(fn)
    for _ in range(2):
        same(native(np.arange(3.0)), fn(np.arange(3.0)))


def same(one: Any, other: Any) -> None:
    assert type(one) is type(other)
    if isinstance(one, (tuple, list)):
        assert len(one) == len(other)
        for left, right in zip(one, other, strict=True):
            same(left, right)
    elif isinstance(one, dict):
        same(list(one.items()), list(other.items()))
    else:
        np.testing.assert_array_equal(one, other)
        assert np.shape(one) == np.shape(other)


TABLE = np.arange(3.0)


def test_a_global_array_comes_back_as_itself() -> None:
    def whole(x: Any) -> Any:
        return TABLE, x

    def part(x: Any) -> Any:
        return TABLE[1:]

    assert fr.program(whole)(A)[0] is TABLE
    assert np.shares_memory(fr.program(part)(A), TABLE)


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_a_reshape_by_an_argument(n: int) -> None:
    fn = fr.program(lambda a, n: a.reshape(n, -1))
    for size in (6, 12):
        np.testing.assert_array_equal(fn(np.arange(float(size)), n), np.arange(float(size)).reshape(n, -1))
    with pytest.raises(ValueError, match="cannot reshape"):
        fn(np.arange(7.0), 6)


def deep(n: int, x: Any) -> Any:
    return x if n == 0 else deep(n - 1, x) + 1.0


def test_recursion_that_is_too_deep() -> None:
    fn = fr.program(static="n")(deep)
    assert fn(20, A)[0] == 21.0
    with pytest.raises(Unsupported, match="deeper than capture can follow") as caught:
        fn(3000, A)
    assert str(caught.value).startswith(f"{__file__}:")


def test_warnings_point_to_the_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fn = fr.program(fallback="python")(lambda x: np.interp(x, x, x))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fn(A)
    assert [(entry.filename, entry.category) for entry in caught] == [(__file__, RuntimeWarning)]


def test_a_record_whose_place_is_taken_by_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FERRULE_CACHE_DIR", str(tmp_path))

    def make() -> Any:
        return fr.program(lambda x: x + 41.0)

    make()(A)
    records = list(tmp_path.glob("v1/warm/*"))
    assert records
    for record in records:
        os.remove(record)
        record.mkdir()
        (record / "inside").write_text("x")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            assert make()(A)[0] == 42.0
    assert len(caught) <= 1
    assert all(entry.filename == __file__ for entry in caught)


@np.errstate(all="raise")
def raising_helper(a: Any) -> Any:
    return a / 0


@np.errstate(all="ignore")
def quiet_helper(a: Any) -> Any:
    return a / 0


def with_a_mode(a: Any, mode: str) -> Any:
    with np.errstate(divide=mode):
        return a / 0


def by_a_decorated_helper(a: Any) -> Any:
    return raising_helper(a)


def by_seterr(a: Any) -> Any:
    np.seterr(all="ignore")
    return a / 0


@pytest.mark.parametrize(
    ("fn", "args", "text"),
    [
        (with_a_mode, ("raise",), "The setting divide='raise' of np.errstate is not supported"),
        (with_a_mode, ("call",), "The setting divide='call' of np.errstate is not supported"),
        (by_a_decorated_helper, (), "The setting divide='raise' of np.errstate is not supported"),
        (raising_helper, (), "The setting divide='raise' of np.errstate is not supported"),
        (
            by_seterr,
            (),
            "'np.seterr' is not supported in a program, which runs it at capture alone. Use 'with",
        ),
    ],
)
def test_what_would_make_numpy_raise_warnings_is_refused(fn: Any, args: Any, text: str) -> None:
    before = np.geterr()
    with pytest.raises(Unsupported) as caught:
        fr.program(fn)(A, *args)
    assert text in str(caught.value) and str(caught.value).startswith(f"{__file__}:")
    assert np.geterr() == before


@pytest.mark.parametrize("mode", ["ignore", "warn", "print", "log"])
def test_other_modes_change_nothing(mode: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isinf(fr.program(with_a_mode)(A, mode)).all()
        assert np.isinf(fr.program(quiet_helper)(A)).all()
        with np.errstate(all="raise"):  # around the call: warnings are never raised
            assert np.isinf(fr.program(with_a_mode)(A, mode)).all()

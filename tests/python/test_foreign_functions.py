"""Arrays of other libraries as arguments of decorated functions: the first call, later ones, results and identities."""

from __future__ import annotations

import array
from typing import Annotated, Any

import numpy as np
import pytest
from exporters import READ_ONLY, Exporter, WithInterface, Wrapped, exchange_capsule, exchanging

import ferrule as fr
from ferrule.errors import UserBufferError, UserTypeError

WAYS: dict[str, Any] = {
    "dlpack": Wrapped,
    "interface": WithInterface,
    "table": lambda a: exchanging(exchange_capsule())(a, flags=0 if a.flags.writeable else READ_ONLY),
    "array": fr.asarray,
}


@pytest.fixture(params=WAYS, ids=str)
def lend(request: pytest.FixtureRequest) -> Any:
    return WAYS[request.param]


def test_the_first_call_and_later_ones(lend: Any) -> None:
    @fr.program
    def scale(a: Any, b: Any) -> Any:
        return a * 2.0 + b

    for rank, given in enumerate(
        (np.arange(4.0), np.arange(6.0).reshape(2, 3), np.arange(4, dtype=np.float32)), 1
    ):
        for b in (given, lend(given)):
            for _ in range(2):
                result = scale(lend(given), b)
                assert type(result) is np.ndarray and result.dtype == given.dtype
                np.testing.assert_array_equal(result, given * 2 + given)
        assert scale.stats()["specialisations"] == rank
    np.testing.assert_array_equal(scale(a=lend(np.ones(2)), b=lend(np.ones(2))), [3, 3])
    np.testing.assert_array_equal(scale(np.ones(2), np.ones(2)), [3, 3])
    assert scale.stats()["specialisations"] == 3


def test_strides_and_layouts_are_those_of_the_memory(lend: Any) -> None:
    @fr.program
    def total(a: Any) -> Any:
        return (a * np.arange(a.shape[0])).sum()

    base = np.arange(12.0)
    for view in (base, base[::2], base[::-1], base[3:9]):
        assert total(lend(view)) == (view * np.arange(view.size)).sum()


def test_writing_into_foreign_memory(lend: Any) -> None:
    @fr.program
    def fill(out: Any, value: Any) -> None:
        out[:] = value

    for _ in range(2):
        out = np.zeros(5)
        assert fill(lend(out), 3.0) is None
        assert (out == 3).all()
    frozen = np.zeros(5)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match=r"read-only.*'out'|'out'.*read-only"):
        fill(lend(frozen), 3.0)
    assert not frozen.any()


def test_a_returned_argument_is_the_very_object(lend: Any) -> None:
    @fr.program
    def same(a: Any, b: Any) -> Any:
        b += 1
        return a, {"b": b}, [a[1:], b]

    a, b = np.arange(4.0), np.zeros(4)
    for number in (1, 2, 3):
        lent_a, lent_b = lend(a), lend(b)
        first, second, (third, fourth) = same(lent_a, lent_b)
        assert first is lent_a and second["b"] is lent_b and fourth is lent_b
        assert np.shares_memory(third, a) and third.tolist() == [1, 2, 3]
        assert (b == number).all()


def test_overlapping_foreign_arrays(lend: Any) -> None:
    @fr.program
    def shift(a: Any, out: Any) -> None:
        out[:] = a

    for _ in range(2):
        base = np.arange(6.0)
        shift(lend(base[:-1]), lend(base[1:]))
        assert base.tolist() == [0, 0, 1, 2, 3, 4]


def test_annotated_functions(lend: Any) -> None:
    @fr.program
    def twice(a: Annotated[Any, fr.float64["N"]], out: Annotated[Any, fr.float64["N"]]) -> None:
        out[:] = a + a

    for _ in range(2):
        out = np.zeros(4)
        twice(lend(np.arange(4.0)), lend(out))
        assert out.tolist() == [0, 2, 4, 6]
        buffer = array.array("d", [0.0] * 4)
        twice(memoryview(np.arange(4.0)), buffer)
        assert buffer.tolist() == [0, 2, 4, 6]
        with pytest.raises(TypeError, match="'a' has dtype float32"):
            twice(lend(np.ones(4, np.float32)), lend(out))


def test_checked_functions(lend: Any) -> None:
    @fr.program(check=True)
    def add(a: Any, out: Any) -> Any:
        out += a
        return out

    out = np.zeros(3)
    lent = lend(out)
    assert add(lend(np.ones(3)), lent) is lent
    assert out.tolist() == [1, 1, 1]


def test_samples_ahead_of_time(lend: Any) -> None:
    @fr.program
    def negated(a: Any) -> Any:
        return -a

    negated.compile(lend(np.ones(3)))
    np.testing.assert_array_equal(negated(lend(np.ones(3))), [-1, -1, -1])
    assert negated.stats()["specialisations"] == 1


def test_functions_that_run_as_python_get_what_was_given(lend: Any) -> None:
    @fr.program(fallback="python")
    def kind(a: Any) -> Any:
        return type(eval("a"))

    lent = lend(np.ones(3))
    with pytest.warns(RuntimeWarning, match="runs as Python"):
        assert kind(lent) is type(lent)
    assert kind(lent) is type(lent)


@pytest.mark.parametrize("first", [False, True])
def test_refusals_name_function_and_argument(first: bool) -> None:
    def times(a: Any, b: Any) -> Any:
        return a * b

    for bad, text in (
        (Exporter(np.ones(3), device=(2, 0)), r"times\(\): 'b' is on CUDA device 0"),
        (
            Exporter(np.ones(3), dtype=(17, 4, 1)),
            r"times\(\): 'b' has a DLPack element type .*code 17, bits 4, lanes 1",
        ),
        (Wrapped(np.ones(3, ">f8")), r"times\(\): 'b' cannot be read through DLPack: .*native byte order"),
    ):
        fn = fr.program(times)
        if not first:
            fn(np.ones(3), np.ones(3))
        for call in (lambda fn, bad: fn(np.ones(3), bad), lambda fn, bad: fn(a=np.ones(3), b=bad)):
            with pytest.raises(UserBufferError, match=text):
                call(fn, bad)
        if isinstance(bad, Exporter):
            assert bad.made == bad.deleted


def test_tensors_are_given_back() -> None:
    @fr.program
    def total(a: Any) -> Any:
        return a.sum()

    exporters = [
        Exporter(np.arange(4.0)),
        Exporter(np.arange(4, dtype=np.float32)),
        Exporter(np.zeros((2, 2))),
    ]
    for _ in range(3):
        for exporter in exporters:
            assert total(exporter) == exporter.array.sum()
            assert exporter.deleted == exporter.made


def test_a_capsule_that_is_made_once_serves_the_first_call() -> None:
    @fr.program
    def total(a: Any) -> Any:
        return a.sum()

    exporter = Exporter(np.arange(4.0), same_capsule=True)
    assert total(exporter) == 6.0
    with pytest.raises(UserBufferError, match=r"'a' gave a capsule that was used already"):
        total(exporter)


@pytest.mark.parametrize(
    "given", [bytearray(8), memoryview(bytes(8)), array.array("d", [1.0]), np.ma.array([1.0])]
)
def test_buffers_alone_are_no_arrays_for_python(given: Any) -> None:
    def fn(a: Any) -> Any:
        return a * 2

    later = fr.program(fn)
    later(np.ones(8, np.uint8))
    later(np.ones(1))
    for native in (fr.program(fn), later):
        with pytest.raises(UserTypeError):
            native(given)


def test_values_with_a_buffer_stay_values() -> None:
    @fr.program
    def chosen(a: Any, key: Any) -> Any:
        return a * (2.0 if key == b"double" else 1.0)

    assert chosen(np.ones(2), b"double").tolist() == [2, 2]
    assert chosen(np.ones(2), b"single").tolist() == [1, 1]
    assert chosen(Wrapped(np.ones(2)), b"double").tolist() == [2, 2]

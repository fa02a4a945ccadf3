"""One array, or parts of one, for several parameters: NumPy's answer, or a refusal that names both and writes nothing."""

from __future__ import annotations

import itertools
from typing import Annotated, Any

import numpy as np
import pytest

import ferrule as fr

SIZES = (1, 2, 3, 8, 9, 17, 64, 1000)


def shift(a: Any, b: Any) -> None:
    b[1:] = a[:-1]


def add_into(a: Any, b: Any) -> None:
    b[...] = a + b


def twice_written(a: Any, b: Any) -> None:
    a[...] = b * 2.0
    b[...] = a + 1.0


def neighbours(a: Any, b: Any) -> None:
    for i in range(1, a.shape[0]):
        b[i] = a[i - 1] + a[i]


FUNCTIONS = [shift, add_into, twice_written, neighbours]


@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_functions_give_numpys_answer(function: Any, dtype: str) -> None:
    native = fr.program(function)
    for n in SIZES:
        cuts = [
            (slice(0, n), slice(0, n)),
            (slice(0, n), slice(1, n + 1)),
            (slice(1, n + 1), slice(0, n)),
            (slice(0, n), slice(n - 1, 2 * n - 1)),
            (slice(0, n), slice(n, 2 * n)),
            (slice(0, 2 * n, 2), slice(1, 2 * n, 2)),
            (slice(0, n), slice(0, 2 * n, 2)),
            (slice(0, n), slice(n - 1, None, -1)) if n > 1 else (slice(0, 1), slice(0, 1)),
        ]
        for first, second in cuts:
            mine, numpys = np.arange(2.0 * n).astype(dtype), np.arange(2.0 * n).astype(dtype)
            native(mine[first], mine[second])
            function(numpys[first], numpys[second])
            np.testing.assert_array_equal(mine, numpys, err_msg=f"{n} {first} {second}")
    assert len(native.specialisations) <= 10


def test_one_array_for_both() -> None:
    native = fr.program(shift)
    v = np.arange(6.0)
    native(v, v)
    np.testing.assert_array_equal(v, [0, 0, 1, 2, 3, 4])
    v = np.arange(6.0)
    native(b=v, a=v)
    np.testing.assert_array_equal(v, [0, 0, 1, 2, 3, 4])


def test_annotated_functions() -> None:
    @fr.program
    def declared(
        a: Annotated[np.ndarray, fr.float64["N"]], b: Annotated[np.ndarray, fr.float64["N"]]
    ) -> None:
        b[1:] = a[:-1]

    for n, past in itertools.product(SIZES, (0, 1, 2)):
        mine, numpys = np.arange(n + 2.0), np.arange(n + 2.0)
        declared(mine[:n], mine[past : past + n])
        shift(numpys[:n], numpys[past : past + n])
        np.testing.assert_array_equal(mine, numpys)
    assert len(declared.specialisations) == 1


@pytest.fixture(scope="module")
def six() -> Any:
    """six(a0, ..., a5): a1, a3 and a5 are written."""
    args = [fr.Arg(f"a{k}", shape="N", order="any", intent="inout" if k % 2 else "in") for k in range(6)]
    parameters = ", ".join(f"{'' if k % 2 else 'const '}double* a{k}" for k in range(6))
    source = f"void six({parameters}, long n) {{ a1[0] = a3[0] = a5[0] = 99; }}"
    return fr.compile_source(
        source, fr.Signature("six", args, parameters=[f"a{k}" for k in range(6)] + ["N"])
    ).load()


@pytest.mark.parametrize(("i", "j"), list(itertools.combinations(range(6), 2)))
def test_source_kernels_refuse_every_pair_that_is_written(six: Any, i: int, j: int) -> None:
    for n in (1, 2, 9):
        for past in {0, 1, n - 1} & set(range(n)):
            memory = np.arange(2.0 * n)
            given = [np.full(n, 7.0) for _ in range(6)]
            given[i], given[j] = memory[:n], memory[past : past + n]
            if not (i % 2 or j % 2):
                six(*given)
                continue
            names = rf"'a{i}'.*'a{j}'|'a{j}'.*'a{i}'"
            for call in (lambda: six(*given), lambda: six(**{f"a{k}": given[k] for k in range(6)})):  # noqa: B023
                with pytest.raises(ValueError, match=names):
                    call()
            np.testing.assert_array_equal(memory, np.arange(2.0 * n))
            assert all((other == 7).all() for k, other in enumerate(given) if k not in (i, j))
    interleaved = np.arange(18.0)
    given = [np.full(9, 7.0) for _ in range(6)]
    given[i], given[j] = interleaved[::2], interleaved[1::2]
    six(*given)


TABLE = np.arange(4.0)
ORIGINAL = TABLE


def test_a_captured_array_is_read_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Documented: arrays that live outside are fetched at the call, by their name."""

    @fr.program
    def twice(i: Any) -> Any:
        return TABLE[i] + TABLE[i]

    @fr.program
    def doubled(x: Any) -> Any:
        return x + TABLE + TABLE

    for _ in range(2):
        assert twice(3) == 6.0
        np.testing.assert_array_equal(doubled(np.zeros(4)), 2 * ORIGINAL)
    for other in (
        np.full(4, 5.0),
        np.arange(4.0) * 3,
        np.arange(8.0)[::2],
        np.arange(4, dtype="f4"),
        np.arange(4),
    ):
        monkeypatch.setitem(globals(), "TABLE", other)
        for _ in range(2):
            assert twice(3) == 2 * other[3]
            np.testing.assert_array_equal(doubled(np.zeros(4)), 2.0 * other)
    monkeypatch.setitem(globals(), "TABLE", ORIGINAL)
    np.testing.assert_array_equal(doubled(ORIGINAL), 3 * ORIGINAL)  # an argument too
    ORIGINAL[3] = 50.0
    assert twice(3) == 100.0
    ORIGINAL[3] = 3.0
    assert twice(3) == 6.0


def test_writing_an_argument_that_is_captured_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def scatter(x: Any) -> None:
        x[1:] = TABLE[:-1]

    native = fr.program(scatter)
    for _ in range(2):
        mine, numpys = np.arange(4.0), np.arange(4.0)
        monkeypatch.setitem(globals(), "TABLE", mine)
        native(mine)
        monkeypatch.setitem(globals(), "TABLE", numpys)
        scatter(numpys)
        np.testing.assert_array_equal(mine, numpys)
        native(mine := np.zeros(4))
        np.testing.assert_array_equal(mine[1:], numpys[:-1])


def test_arrays_without_axes_overlap_too() -> None:
    def add(out: Any, a: Any) -> None:
        out[...] = a + out

    native = fr.program(add)
    for shape, where in (((), (...,)), ((3,), (1, ...)), ((2, 3), (1, 2, ...))):
        for _ in range(2):
            mine, numpys = np.ones(shape), np.ones(shape)
            native(mine, mine[where])
            add(numpys, numpys[where])
            np.testing.assert_array_equal(mine, numpys)
        native(mine := np.ones(shape), np.ones(()))
        np.testing.assert_array_equal(mine, np.full(shape, 2.0))


def test_memory_for_a_result_must_not_hold_an_argument_without_axes() -> None:
    source = "void twice(const double* x, double* y) { *y = 0; *y = 2 * *x; }"
    signature = fr.Signature("twice", [fr.Arg("x")], returns=[fr.Return("y")], allow_return_override=True)
    twice = fr.compile_source(source, signature).load()
    x = np.full((), 3.0)
    with pytest.raises(ValueError, match="'y' takes a result and shares memory with 'x'"):
        twice(x, y=x)
    assert x == 3.0
    assert twice(x, y=(y := np.zeros(()))) is y and y == 6.0

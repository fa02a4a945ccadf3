"""Capture ahead of time, from annotations."""

# The short form of annotations, with extents as plain strings, is what is tested here.
# ruff: noqa: F821, F722, UP037

from __future__ import annotations

from typing import Annotated

import numpy as np
import pytest
from evaluated import run, values_for

import ferrule
from ferrule import dtypes as fr
from ferrule import errors, float64
from ferrule.capture import Options, capture_annotated, is_annotated


def add(a: fr.float64["N", "M"], b: Annotated[np.ndarray, fr.float64["M"]]):
    return a + b


def test_sizes_are_shared_by_name():
    program = capture_annotated(add).program
    assert program.guards == []
    assert [argument["dtype"] for argument in program.arguments] == ["float64", "float64"]


def test_extents_may_be_expressions_and_numbers():
    def halves(a: fr.float32["2 * N"], b: fr.float32["N"], c: fr.int64[3], w: float, n: int = 2):
        a[: len(b)] += b
        return c * n, w

    captured = capture_annotated(halves)
    assert captured.program.guards == []
    assert [info.kind for info in captured.arguments] == ["array", "array", "array", "scalar", "scalar"]


def test_general_decisions_become_preconditions():
    def joined(a: fr.float64["N"], b: fr.float64["M"]):
        return a + b

    def interior(a: fr.float64["N"]):
        return a[1:-1]

    assert capture_annotated(joined).program.guards == ["N == M"]
    assert capture_annotated(interior).program.guards == ["2 <= N"]


def test_orders():
    def f(a: fr.float64(order="F")["N", "M"], b: fr.float64("N", "M", order="any")):
        return a + b

    assert [info.layout for info in capture_annotated(f).arguments] == ["F", "any"]
    with pytest.raises(errors.UserError, match="'C', 'F', 'inner', 'any'"):
        fr.float64(order="K")


def test_symbols_with_arithmetic():
    n = fr.symbol("N")
    kind = fr.float64[n, 2 * n + 1]
    assert kind.extents == ("N", "(2 * (N)) + 1")
    with pytest.raises(errors.UserError, match="no name"):
        fr.symbol("2N")


def test_a_missing_annotation_is_named():
    def f(a: fr.float64["N"], b):
        return a

    with pytest.raises(TypeError, match="'b'"):
        capture_annotated(f)
    assert capture_annotated(_with_default, Options()).arguments[1].kind == "static"


def _with_default(a: fr.float64["N"], mode="fast"):
    return a * 2 if mode == "fast" else a


@pytest.mark.parametrize("annotation", [list, dict[str, int], "N"])
def test_other_annotations_are_refused(annotation):
    def f(a):
        return a

    f.__annotations__["a"] = annotation
    with pytest.raises((TypeError, errors.Unsupported)):
        capture_annotated(f)


def test_bad_extents():
    def f(a: fr.float64["N +"]):
        return a

    with pytest.raises(ValueError, match="'N \\+' of 'a'"):
        capture_annotated(f)
    with pytest.raises(TypeError, match="extent"):
        fr.float64[2.5]


def test_is_annotated():
    def plain(a, b: int):
        return a

    assert is_annotated(add) and not is_annotated(plain)


def test_an_int_argument_has_the_value_of_the_size_of_its_name():
    def behind(a: fr.float64["2*N"], N: int):  # noqa: N803
        return a * N

    def before(N: int, a: fr.float64["2*N"]):  # noqa: N803
        return a * N

    assert capture_annotated(behind).program.guards == ["a.shape[0] == 2*N"]
    assert capture_annotated(before).program.guards == []


def test_bounds_and_indices_of_ints_are_matters_of_the_run():
    def part(a: fr.float64["N"], n: int = 3):
        return a[:n], a[n]

    assert capture_annotated(part).program.guards == []


def test_names_that_are_static_are_arguments():
    def f(a: fr.float64["N"]):
        return a

    with pytest.raises(TypeError, match=r"'zz' is static, but no argument of f\(\)\."):
        capture_annotated(f, Options(static=("zz",)))


@pytest.mark.parametrize("extent", [True, np.True_, None, slice(1, 2), 2.0])
def test_what_is_no_extent(extent):
    with pytest.raises(TypeError, match="An extent is an int or the text of a size"):
        fr.float64[extent]


def test_what_is_no_name_of_a_size():
    with pytest.raises(TypeError, match=r"The name of a size is a text, got 3\."):
        fr.symbol(3)


def of_a_type_checker(a: fr.float64["N"], b: Unknown = 2) -> AlsoUnknown:
    return a * b


def returns_a_type_checker_s(a: fr.float64["N"], n: int) -> AlsoUnknown:
    return a * n


def of_a_type_checker_alone(a: Unknown) -> AlsoUnknown:
    return a


def misspelt(a: ferrule.flaot64["N"]):
    return a


def optional(a: fr.float64["N"] | None):
    return a


def misspelt_beside_others(a: Unknown, b: float64["N"].nothing):
    return a


def test_annotations_that_only_a_type_checker_can_evaluate():
    assert is_annotated(returns_a_type_checker_s)
    assert capture_annotated(returns_a_type_checker_s).program.guards == []
    assert not is_annotated(of_a_type_checker_alone)
    assert is_annotated(of_a_type_checker)
    with pytest.raises(
        TypeError, match=r"annotation of 'b' in of_a_type_checker\(\) cannot be evaluated: .*Unknown"
    ):
        capture_annotated(of_a_type_checker)


@pytest.mark.parametrize(("fn", "text"), [
    (misspelt, "'a' in misspelt.*has no attribute 'flaot64'"),
    (optional, "'a' in optional.*unsupported operand type"),
    (misspelt_beside_others, "'b' in misspelt_beside_others.*no attribute 'nothing'"),
])  # fmt: skip
def test_annotations_of_ours_that_cannot_be_evaluated_are_refused(fn, text):
    """Not taken for none, which would capture another specialisation for each dtype."""
    with pytest.raises(TypeError, match=text):
        is_annotated(fn)
    with pytest.raises(TypeError, match=text):
        ferrule.program(fn)(np.ones(3))
    with pytest.raises(TypeError, match=text):
        ferrule.program(fn).compile()


def sum_and_difference(a: fr.float64["n + m"], b: fr.float64["n - m"]):
    return a.sum() + b.sum(), a[: len(b)] * b


def part_and_whole(a: fr.float64["N"], b: fr.float64["N + M"], c: fr.float64["3*N + M - 1"]):
    return b[: len(a)] + a, c.sum()


def three_sums(a: fr.float64["x + y", "y + z"], b: fr.float64["x + z + 1"]):
    return a.sum(axis=0), b * 2.0


def with_an_int(N: int, a: fr.float64["N + M"]):  # noqa: N803
    return a[:N] * N


@pytest.mark.parametrize(("fn", "good", "bad"), [
    (sum_and_difference, [(7, 3), (4, 4), (5, 1)], [(7, 2), (3, 7), (1, 0)]),
    (part_and_whole, [(3, 5, 10), (0, 2, 1), (1, 1, 2)], [(3, 2, 7), (3, 5, 9)]),
    (three_sums, [((5, 7), 7), ((2, 2), 3), ((1, 1), 1)], [((5, 6), 7), ((1, 9), 3)]),
])  # fmt: skip
def test_sizes_that_several_extents_tell_together(fn, good, bad):
    kernel = ferrule.program(fn).compile().load()
    for shapes in good:
        arrays = [np.arange(float(np.prod(shape))).reshape(shape) for shape in shapes]
        for got, expected in zip(kernel(*arrays), fn(*arrays), strict=True):
            np.testing.assert_array_equal(got, expected)
    for shapes in bad:
        with pytest.raises(ValueError):
            kernel(*map(np.zeros, shapes))


def test_what_sizes_that_are_told_together_need_is_said_in_the_users_words():
    kernel = ferrule.program(sum_and_difference).compile().load()
    with pytest.raises(ValueError) as odd:
        kernel(np.ones(7), np.ones(2))
    assert str(odd.value) == (
        "sum_and_difference(): the program needs a.shape[0] - b.shape[0] to be a multiple of 2, but a.shape[0] = 7,"
        " b.shape[0] = 2."
    )
    with pytest.raises(ValueError) as negative:
        kernel(np.ones(3), np.ones(7))
    assert "the program needs m = " in str(negative.value) and "to be at least 0, but" in str(negative.value)
    whole = ferrule.program(with_an_int)
    np.testing.assert_array_equal(whole(2, np.ones(6)), [2.0, 2.0])
    with pytest.raises(ValueError, match=r"needs M = .* to be at least 0, but"):
        whole(7, np.ones(6))


def test_a_size_that_nothing_tells_is_named():
    def product(a: fr.float64["N*M"]):
        return a

    def behind(a: fr.float64["N + M"], N: int):  # noqa: N803
        return a * N

    def too_few(a: fr.float64["N + M"], b: fr.float64["2*N + 2*M"]):
        return a, b

    for fn in (product, behind, too_few):
        with pytest.raises(
            ValueError, match=r"The size '[NM]' cannot be told from the extents of the arrays\. Give"
        ):
            capture_annotated(fn)


def test_a_static_demand_cannot_be_met():
    def f(a: fr.float64["N"], axis: int):
        return a.sum(axis=axis)

    with pytest.raises(errors.Unsupported, match="axis"):
        capture_annotated(f)


WEIGHTS = np.array([0.25, 0.5, 0.25])


def rod(t: fr.float64["N"], number: float, steps: int):
    for _ in range(steps):
        t[1:-1] += number * (t[2:] - 2.0 * t[1:-1] + t[:-2])
    return t.sum()


def rows(m: fr.float64["N", "M"], v: fr.float64["M"], k: int = 2):
    total = np.zeros(len(v))
    for row in m:
        total += row * v
    for i in range(1, m.shape[0]):
        m[i] -= m[i - 1]
    return total * k, m[-1], m[:, ::2].sum(axis=1)


def smoothed(x: fr.float64["2*N"], n: int):
    result = np.empty_like(x)
    result[...] = x
    for offset in range(3):
        result[1:-1] += WEIGHTS[offset] * x[offset : len(x) - 2 + offset]
    return result.reshape(-1, 2).max(axis=1), np.arange(n) + x[0]


@pytest.mark.parametrize(
    "fn, make",
    [
        (rod, lambda rng, n: (rng.standard_normal(n), 0.2, 5)),
        (rows, lambda rng, n: (rng.standard_normal((n, n + 2)), rng.standard_normal(n + 2), 3)),
        (smoothed, lambda rng, n: (rng.standard_normal(2 * n), n)),
    ],
)
def test_one_program_for_all_sizes(fn, make):
    captured = capture_annotated(fn)
    for n in (3, 4, 9, 40):
        expected_arguments = make(np.random.default_rng(n), n)
        arguments = make(np.random.default_rng(n), n)
        expected = fn(*expected_arguments)
        names = dict(zip(["N", *fn.__annotations__], [n, *arguments], strict=False))
        result = run(captured, values_for(captured, names))
        for left, right in zip(np.atleast_1d(*_tuple(expected)), np.atleast_1d(*_tuple(result)), strict=True):
            np.testing.assert_allclose(right, left, 1e-12)
        np.testing.assert_allclose(arguments[0], expected_arguments[0], 1e-12)


def _tuple(value):
    return value if isinstance(value, tuple) else (value,)

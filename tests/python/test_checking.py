"""check=True: what is compared, how it is switched on and off, and that no difference passes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ferrule as fr
from ferrule import checking

ONE, TWO = np.ones(2), np.full(2, 2.0)


def compared(expected: Any, actual: Any) -> str:
    """The refusal of what a program gave; '' where it agrees."""
    try:
        checking.compare("f", expected, actual, ((), {}), ((), {}))
    except fr.UserError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("expected", "actual", "text"),
    [
        (ONE, TWO, "'f': the result at (0,) is 2.0, NumPy gives 1.0."),
        (ONE, np.ones(3), "'f': the result is float64[3], NumPy gives float64[2]."),
        (ONE, ONE.astype("f4"), "'f': the result is float32[2], NumPy gives float64[2]."),
        ([ONE, ONE], [ONE, TWO], "'f': the result[1] at (0,) is 2.0, NumPy gives 1.0."),
        ((ONE, [ONE]), (ONE, [TWO]), "'f': the result[1][0] at (0,) is 2.0, NumPy gives 1.0."),
        ({"x": ONE}, {"x": TWO}, "'f': the result['x'] at (0,) is 2.0, NumPy gives 1.0."),
        ({"x": ONE}, {"y": ONE}, "'f': the result has the keys ['y'], NumPy gives ['x']."),
        ((ONE,), (ONE, ONE), "'f': the result has 2 items, NumPy gives 1."),
        ((ONE,), [ONE], "'f': the result is list, NumPy gives tuple."),
        ("a", "b", "'f': the result is 'b', NumPy gives 'a'."),
        (None, ONE, "'f': the result is an array, NumPy gives NoneType."),
        (np.float64(1), np.array(1.0), "'f': the result is an array, NumPy gives a number of NumPy's."),
        (1.0, np.float64(1), "'f': the result is a number of NumPy's, NumPy gives float."),
        (1, 1.0, "'f': the result is float, NumPy gives int."),
        (True, 1, "'f': the result is int, NumPy gives bool."),
        (1, 2, "'f': the result at (0,) is 2, NumPy gives 1."),
        (np.array([np.inf]), np.array([-np.inf]), "'f': the result at (0,) is -inf, NumPy gives inf."),
        (np.array([np.nan]), np.array([0.0]), "'f': the result at (0,) is 0.0, NumPy gives nan."),
    ],
)
def test_differences_are_told(expected: Any, actual: Any, text: str) -> None:
    assert compared(expected, actual) == text


@pytest.mark.parametrize(
    "value",
    [
        ONE,
        [ONE, (TWO, {"x": 1.0})],
        "a",
        None,
        1,
        True,
        np.float64(2),
        np.array(np.nan),
        np.zeros((0, 3)),
        ...,
    ],
)
def test_equal_results_pass(value: Any) -> None:
    assert compared(value, value) == ""


def double(a: Any) -> Any:
    return a * 2.0


def fill(a: Any) -> None:
    a[:] = 1.0


@pytest.fixture
def comparisons(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The names of the functions whose calls were compared."""
    names: list[str] = []
    compare = checking.compare

    def noted(name: str, *values: Any) -> None:
        names.append(name)
        compare(name, *values)

    monkeypatch.setattr(checking, "compare", noted)
    yield names


def test_a_configuration_checks_what_was_decorated_and_called_before(comparisons: list[str]) -> None:
    program = fr.program(double)
    program(ONE)
    with fr.config(check=True):
        for _ in range(2):
            np.testing.assert_array_equal(program(ONE), TWO)
        with fr.config(check=False):
            program(ONE)
    program(ONE)
    assert comparisons == ["double"] * 2
    assert program.stats()["specialisations"] == 1


def test_what_was_decorated_under_a_configuration_is_checked_under_it(comparisons: list[str]) -> None:
    with fr.config(check=True):
        program = fr.program(double)
        program(ONE)
    program(ONE)
    assert comparisons == ["double"]


def test_the_argument_comes_before_the_configuration(comparisons: list[str]) -> None:
    never, always = fr.program(check=False)(double), fr.program(check=True)(double)
    with fr.config(check=True):
        never(ONE)
    assert comparisons == []
    with fr.config(check=False):
        always(ONE)
    assert comparisons == ["double"]


def test_the_environment_checks_and_a_configuration_may_stop_it(
    comparisons: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FERRULE_CHECK", "1")
    program = fr.program(double)
    program(ONE)
    assert comparisons == ["double"]
    with fr.config(check=False):
        np.testing.assert_array_equal(program(ONE), TWO)
    assert comparisons == ["double"]


def test_a_difference_under_a_configuration_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    program = fr.program(fill)
    program(np.zeros(3))
    monkeypatch.setattr(program, "_fn", lambda a: a.fill(3.0))
    a = np.zeros(3)
    with (
        fr.config(check=True),
        pytest.raises(fr.UserError, match=r"argument 0 after the call at \(0,\) is 1.0"),
    ):
        program(a)

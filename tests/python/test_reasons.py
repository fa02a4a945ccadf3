"""`why_recompiled` names what differed from the nearest specialisation before, whatever it was."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ferrule as fr

GCC = shutil.which("g++") or "c++"
X = np.arange(1.0, 5.0)
factor = 2.0
table = np.arange(3.0)


def helper(a: Any) -> Any:
    return a + 1.0


def other_helper(a: Any) -> Any:
    return a + 2.0


step: Callable[[Any], Any] = helper


def made(a: Any, b: Any, n: Any = 3, mode: Any = "up") -> Any:
    c = a * factor + step(b) + table[0]
    return c if n > 2 else -c


def read_only(array: Any) -> Any:
    array = array.copy()
    array.setflags(write=False)
    return array


# The second call of a program, and what is said of it.
OF_ARGUMENTS = {
    "dtype": ((X, X.astype(np.float32)), "the dtype of 'b' is float32, not float64 (as in specialisation 0)"),
    "rank": ((X, X.reshape(1, 4)), "the rank of 'b' is 2, not 1 (as in specialisation 0)"),
    "layout": ((X, np.arange(8.0)[::2]), "the layout of 'b' is strided, not C (as in specialisation 0)"),
    "kind": ((X, 2.0), "'b' is float, not an array (as in specialisation 0)"),
    "scalar": ((X, X, np.float32(3.0)), "'n' is NumPy's float32, not int (as in specialisation 0)"),
    "static value": ((X, X, 3, "down"), "the static 'mode' is 'down', not 'up' (as in specialisation 0)"),
    "guard": (
        (X, X, 1),
        "specialisation 0 takes only calls with 3 <= n, here a.shape = (4,), b.shape = (4,), n = 1",
    ),
    "sizes": (
        (X, X[:1]),
        "specialisation 0 was made for a.shape = (4,), b.shape = (4,), n = 3 and does not take a.shape = (4,), b.shape = (1,)",
    ),
}


@pytest.mark.parametrize("name", OF_ARGUMENTS)
def test_of_arguments(name: str) -> None:
    args, sentence = OF_ARGUMENTS[name]
    program = fr.program(static="mode")(made)
    program(X, X)
    program(*args)
    first, second = program.why_recompiled()
    assert first.startswith("the first one, for ") and second.startswith(sentence), second


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("factor", 4.0, "the variable 'factor' is 4.0, not 2.0 (as in specialisation 0)"),
        ("step", other_helper, "the variable 'step' is function:"),
        (
            "table",
            np.arange(3),
            "the dtype of the global 'table' is int64, not float64 (as in specialisation 0)",
        ),
    ],
)
def test_of_variables(monkeypatch: pytest.MonkeyPatch, name: str, value: Any, sentence: str) -> None:
    program = fr.program(made)
    program(X, X)
    monkeypatch.setitem(globals(), name, value)
    program(X, X)
    assert program.why_recompiled()[1].startswith(sentence)


def test_of_memory_that_overlaps() -> None:
    def shift(a: Any, b: Any) -> None:
        a[:] = b * 2.0

    program = fr.program(shift)
    memory = np.arange(10.0)
    program(memory[:4], memory[5:9])
    program(memory[1:], memory[:-1])
    assert (
        program.why_recompiled()[1] == "written memory is overlapping, not disjoint (as in specialisation 0)"
    )


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("FERRULE_TARGET", "baseline", "'target' is baseline, not native"),
        ("FERRULE_BUILD", "debug", "'build' is debug, not release"),
        ("FERRULE_BOUNDS_CHECK", "0", "'bounds_check' is False, not True"),
        ("FERRULE_STRICT_SCALARS", "1", "'strict_scalars' is True, not False"),
        ("FERRULE_PASSES_OFF", "inline", "'FERRULE_PASSES_OFF' is inline, not empty"),
        ("CXXFLAGS", "-DX=1", "'CXXFLAGS' is -DX=1, not empty"),
        ("CXX", "{other}", "the C++ compiler is {other} ("),
    ],
)
def test_of_options_and_settings(
    name: str, value: str, sentence: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A call that has to be compiled anyway is compiled as the settings are then."""
    monkeypatch.delenv("CXX", raising=False)
    (tmp_path / "c++").symlink_to(GCC)
    program = fr.program(made)
    program(X, X)
    monkeypatch.setenv(name, value.format(other=tmp_path / "c++"))
    program(X, X, 1)
    assert program.why_recompiled()[1].startswith(sentence.format(other=tmp_path / "c++"))


def test_the_nearest_one_is_compared_with() -> None:
    program = fr.program(made)
    program(X, X)
    program(X.astype(np.float32), X.astype(np.float32))
    program(X.astype(np.float32), X.astype(np.float32).reshape(1, 4))
    assert program.why_recompiled()[2] == "the rank of 'b' is 2, not 1 (as in specialisation 1)"


def test_they_are_in_the_warning_of_the_limit() -> None:
    program = fr.program(recompile_limit=1)(made)
    program(X, X)
    with pytest.warns(
        RuntimeWarning, match=r"Why each was made: 0: the first one, for <f8\[1\]C, <f8\[1\]C\."
    ):
        program(X, X.astype(np.float32))


def test_what_came_from_the_store_is_explained_as_well() -> None:
    for _ in range(2):
        program = fr.program(made)
        program(X, X)
        program(X, X, 1)
        program(X, X.astype(np.float32))
        guard, dtype = program.why_recompiled()[1:]
        assert guard.startswith("specialisation 0 takes only calls with 3 <= n, here")
        assert dtype == "the dtype of 'b' is float32, not float64 (as in specialisation 1)"
    assert program.stats()["captures"] == 0

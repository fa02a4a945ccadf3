"""`Function.compile` looks at all that is in the key: it never returns what other settings have made."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest

import ferrule as fr

GCC = shutil.which("g++") or "c++"
X, AT = np.arange(1.0, 5.0), np.ones(1, np.int64)
factor = 3.0


def plain(a: Any, i: Any) -> Any:
    return a * factor + a[i[0]]


def annotated(a: Annotated[np.ndarray, fr.float64["N"]], i: Annotated[np.ndarray, fr.int64[1]]) -> Any:
    return a * factor + a[i[0]]


SAMPLES: dict[Any, tuple[Any, ...]] = {plain: (X, AT), annotated: ()}

SETTINGS = {
    "build": {"build": "debug"},
    "target": {"target": "baseline"},
    "bounds_check": {"bounds_check": False},
    "strict_scalars": {"strict_scalars": True},
}
ENVIRONMENT = {
    "flags": ("CXXFLAGS", "-DNOTHING=1"),
    "compiler of the environment": ("CXX", "{other}"),
    "compiler on the path": ("PATH", "{folder}:{path}"),
    "setting of the environment": ("FERRULE_BUILD", "debug"),
    "passes": ("FERRULE_PASSES_OFF", "inline"),
}


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Another C++ compiler: the same one in another place."""
    monkeypatch.delenv("CXX", raising=False)
    (tmp_path / "c++").symlink_to(GCC)
    return str(tmp_path / "c++")


@pytest.fixture(params=[*SETTINGS, "compiler", *ENVIRONMENT])
def changed(request: Any, other: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A context in which one thing is not as it was."""
    name = request.param
    if name not in ENVIRONMENT:
        return fr.config(**SETTINGS.get(name, {"compiler": other}))
    variable, text = ENVIRONMENT[name]
    value = text.format(other=other, folder=Path(other).parent, path=os.environ["PATH"])
    context = pytest.MonkeyPatch.context()

    class Changed:
        def __enter__(self) -> None:
            context.__enter__().setenv(variable, value)

        def __exit__(self, *_: Any) -> None:
            context.__exit__(None, None, None)

    return Changed()


@pytest.mark.parametrize("function", SAMPLES, ids=lambda each: each.__name__)
def test_what_other_settings_have_made_is_not_returned(function: Any, changed: Any) -> None:
    program, sample = fr.program(function), SAMPLES[function]
    first = program.compile(*sample)
    result = program(X, AT)
    with changed:
        second = program.compile(*sample)
        assert second == fr.program(function).compile(*sample) != first
        assert program.compile(*sample) == second
        np.testing.assert_array_equal(second.load()(X, AT), function(X, AT))
        # Calls keep what they have.
        np.testing.assert_array_equal(program(X, AT), result)
        assert [kernel.artifact for kernel in program.specialisations] == [first]
    assert program.compile(*sample) == first
    assert len(program.why_recompiled()) == 1


def test_nor_what_was_compiled_before_a_variable_changed() -> None:
    def outer(k: float) -> Any:
        def scaled(a: Annotated[np.ndarray, fr.float64["N"]]) -> Any:
            return a * k

        def change(value: float) -> None:
            nonlocal k
            k = value

        return scaled, change

    function, change = outer(2.0)
    program = fr.program(function)
    first = program.compile()
    change(5.0)
    second = program.compile()
    assert second == program.compile() != first
    np.testing.assert_array_equal(second.load()(X), X * 5.0)
    change(2.0)
    assert program.compile() == first and len(program.specialisations) == 1


@pytest.mark.parametrize("function", SAMPLES, ids=lambda each: each.__name__)
def test_a_build_for_a_debugger_is_asked_for_at_the_compilation(function: Any) -> None:
    program, sample = fr.program(function), SAMPLES[function]
    release, debug = program.compile(*sample), program.compile(*sample, build="debug")
    assert debug != release == program.compile(*sample, build="release")
    with fr.config(build="debug"):
        assert debug == program.compile(*sample)
        assert release == program.compile(*sample, build="release")
    with pytest.raises(ValueError, match="'build' is 'fast', but must be one of 'release', 'debug'"):
        program.compile(*sample, build="fast")

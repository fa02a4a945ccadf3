"""What a traceback of a call shows: the call, then the program's own lines; of Ferrule only where Ferrule is at fault."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrule as fr
from ferrule import hooks, session

PACKAGE = os.path.dirname(fr.__file__)


def inner(a: Any) -> Any:
    return np.interp(a, a, a)


def unsupported(a: Any) -> Any:
    return inner(a)


def of_shapes(a: Any) -> Any:
    return a + np.ones(7)


def trapped(a: Any) -> Any:
    return a[int(a[0])]


def double(a: Any) -> Any:
    return a * 2


def failing(a: Any) -> Any:
    raise KeyError("user's")


def frames(call: Callable[[], Any]) -> list[str]:
    """The functions of the traceback of what a call raises, behind this one; Ferrule's in brackets."""
    try:
        call()
    except Exception as error:
        entries = traceback.extract_tb(error.__traceback__)
    else:
        raise AssertionError("nothing was raised")
    assert entries[0].name == "frames"
    return [f"[{e.name}]" if e.filename.startswith(PACKAGE) else e.name for e in entries[1:]]


A = np.full(3, 9.0)
CALL = "call"


def calling(function: Any, *args: Any) -> Callable[[], Any]:
    def call() -> Any:
        return function(*args)

    return call


@pytest.mark.parametrize(
    ("fn", "expected"),
    [
        (unsupported, [CALL, "unsupported", "inner"]),
        (of_shapes, [CALL, "of_shapes"]),
        (trapped, [CALL]),
        (failing, [CALL, "failing"]),
    ],
)
def test_only_the_users_frames_are_shown(fn: Any, expected: list[str]) -> None:
    program = fr.program(fn)
    assert frames(calling(program, A)) == expected
    assert frames(calling(program, A)) == expected
    with hooks.around_calls(lambda *_: session.contextlib.nullcontext()):
        assert frames(calling(fr.program(fn), A)) == expected


@pytest.mark.parametrize("given", [(), (A, A), ([1.0],), (A.astype(">f8"),), (A.astype(complex),)])
def test_of_refused_arguments_the_call_alone_is_shown(given: Any) -> None:
    assert frames(calling(fr.program(double), *given)) == [CALL]


def test_a_failed_build_shows_the_call_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "/nonexistent")
    assert frames(calling(fr.program(lambda a: a * 7.125), A)) == [CALL]


def test_the_plain_function_of_a_fallback_shows_its_own_frames() -> None:
    def wrong(a: Any) -> Any:
        np.interp(a, a, a)
        raise KeyError("user's")

    program = fr.program(fallback="python")(wrong)
    with pytest.warns(RuntimeWarning, match="runs as Python"):
        assert frames(calling(program, A)) == [CALL, "wrong"]


@pytest.mark.parametrize("kind", [fr.InternalError, ZeroDivisionError])
def test_faults_of_ferrule_show_where_they_arose(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise kind("a defect")

    fail.__code__ = fail.__code__.replace(co_filename=session.__file__)
    monkeypatch.setattr(session, "compile_program", fail)
    shown = frames(calling(fr.program(double), A))
    assert shown[:2] == [CALL, "[_miss]"] and shown[-1] == "[fail]"

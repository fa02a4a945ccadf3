"""Settings, and where their values come from: argument, `with fr.config(...)`, environment, default, in this order."""

from __future__ import annotations

import contextvars
import os
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ferrule.errors import UserTypeError, UserValueError


@dataclass(frozen=True)
class Setting:
    """One setting: its default, the type of its values and what it does."""

    default: Any
    read: Callable[[str], Any]
    doc: str
    choices: tuple[Any, ...] = ()


def _flag(text: str) -> bool:
    lowered = text.strip().lower()
    if lowered in ("1", "true", "yes", "on"):
        return True
    if lowered in ("", "0", "false", "no", "off"):
        return False
    raise UserValueError(f"'{text}' is no truth value; use 1 or 0.")


def _optional(text: str) -> str | None:
    return text or None


SETTINGS: Mapping[str, Setting] = {
    "cache_dir": Setting(None, _optional, "root of the store; None: the user's cache folder"),
    "compiler": Setting(None, _optional, "the C++ compiler; None: CXX, c++, g++, clang++ on PATH"),
    "target": Setting("native", str, "instruction set", ("native", "baseline")),
    "build": Setting("release", str, "optimised, or for a debugger", ("release", "debug")),
    "bounds_check": Setting(True, _flag, "check indices that only the run knows"),
    "strict_scalars": Setting(False, _flag, "refuse every conversion of scalar arguments"),
    "fallback": Setting(None, _optional, "what an Unsupported program does", (None, "python")),
    "check": Setting(False, _flag, "also run NumPy on copies at every call and compare"),
    "recompile_limit": Setting(16, int, "specialisations of a function before it complains"),
    "on_recompile_limit": Setting("warn", str, "what it does then", ("warn", "error")),
    "do_not_execute": Setting(False, _flag, "calls check their arguments, run nothing and return None"),
    "profile": Setting(False, _flag, "time every call, for ferrule.hooks.timings()"),
    "time": Setting(False, _flag, "print the time of each stage of each compilation on stderr"),
}

# Settings that a call asks for. It only does while somebody has set one.
WATCHED = ("do_not_execute", "profile")

_overrides: contextvars.ContextVar[Mapping[str, Any]] = contextvars.ContextVar(
    "ferrule_config", default=types.MappingProxyType({})
)


def _require(name: str) -> Setting:
    if name not in SETTINGS:
        import difflib

        near = difflib.get_close_matches(name, SETTINGS, 1)
        hint = f"; did you mean '{near[0]}'?" if near else f"; the settings are {', '.join(SETTINGS)}."
        raise UserTypeError(f"'{name}' is no setting{hint}")
    return SETTINGS[name]


def validate(name: str, value: Any) -> Any:
    """Return the value of a setting if it may have it, else raise UserTypeError or UserValueError."""
    setting = _require(name)
    if setting.choices and value not in setting.choices:
        choices = ", ".join(map(repr, setting.choices))
        raise UserValueError(f"'{name}' is {value!r}, but must be one of {choices}.")
    if isinstance(setting.default, bool) and not isinstance(value, bool):
        raise UserTypeError(f"'{name}' is {value!r}, but must be True or False.")
    if (
        isinstance(setting.default, int)
        and not isinstance(setting.default, bool)
        and not isinstance(value, int)
    ):
        raise UserTypeError(f"'{name}' is {value!r}, but must be an int.")
    return value


def setting(name: str, argument: Any = None) -> Any:
    """Value of a setting: the argument unless it is None, then the innermost `config`, FERRULE_<NAME>, the default."""
    known = _require(name)
    if argument is not None:
        return validate(name, argument)
    overrides = _overrides.get()
    if name in overrides:
        return overrides[name]
    text = os.environ.get(f"FERRULE_{name.upper()}")
    if text is not None:
        return validate(name, known.read(text))
    return known.default


@contextmanager
def config(**settings: Any) -> Iterator[None]:
    """Give settings other values inside a `with` block, in this thread or task.

    Raises UserTypeError for an unknown name (with the nearest known one) and UserValueError for a value out of range.
    """
    checked = {name: validate(name, value) for name, value in settings.items()}
    token = _overrides.set({**_overrides.get(), **checked})
    watching = any(checked.get(name) for name in WATCHED)
    if watching:
        watch(1)
    try:
        yield
    finally:
        if watching:
            watch(-1)
        _overrides.reset(token)


def watch(by: int) -> None:
    """Have calls look at what watches them (`ferrule.hooks`), or no longer."""
    from ferrule import _rt

    _rt._watch(by)


# The environment sets them for the whole process.
if any(os.environ.get(f"FERRULE_{name.upper()}") and setting(name) for name in WATCHED):
    watch(1)

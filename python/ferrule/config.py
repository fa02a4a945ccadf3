"""Settings, and where their values come from: argument, `with fr.config(...)`, environment, default, in this order."""

from __future__ import annotations

import contextvars
import os
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ferrule.errors import UserTypeError, UserValueError, near_name, nearest, warn


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


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise UserValueError(f"'{text}' is no whole number.") from None


def _size(text: str) -> int | None:
    """Bytes: a number with K, M, G or T (powers of 1024) behind it, or 'none'."""
    lowered = text.strip().lower().removesuffix("b").removesuffix("i")
    if lowered in ("", "none"):
        return None
    unit = 10 * (1 + "kmgt".index(lowered[-1])) if lowered[-1] in "kmgt" else 0
    try:
        return int(float(lowered.rstrip("kmgt")) * 2**unit)
    except (ValueError, OverflowError):
        raise UserValueError(f"'{text}' is no size; use bytes, or a number with K, M, G or T.") from None


SETTINGS: Mapping[str, Setting] = {
    "cache_dir": Setting(None, _optional, "root of the store; None: the user's cache folder"),
    "cache_limit": Setting(5 << 30, _size, "bytes that the store keeps; None or 'none': no limit"),
    "cache_levels": Setting("", str, "stores that are read after it and never written, separated by ':'"),
    "compiler": Setting(None, _optional, "the C++ compiler; None: CXX, c++, g++, clang++ on PATH"),
    "target": Setting(
        "native",
        str,
        "instruction set, or 'reference': evaluate operation by operation",
        ("native", "baseline", "multi", "reference"),
    ),
    "build": Setting("release", str, "optimised, or for a debugger", ("release", "debug")),
    "bounds_check": Setting(True, _flag, "check indices that only the run knows"),
    "strict_scalars": Setting(False, _flag, "refuse every conversion of scalar arguments"),
    "fallback": Setting(None, _optional, "what an Unsupported program does", (None, "python")),
    "check": Setting(False, _flag, "also run NumPy on copies at every call and compare"),
    "recompile_limit": Setting(16, _whole, "specialisations of a function before it complains"),
    "on_recompile_limit": Setting("warn", str, "what it does then", ("warn", "error")),
    "folder_mode": Setting(
        "content", str, "where compiled files lie", ("content", "name", "unique", "single")
    ),
    "build_folder": Setting(".ferrule", str, "the folder for folder_mode 'name', 'unique' and 'single'"),
    "name_collision": Setting(
        "rename", str, "what a name does that other content has here", ("rename", "error", "replace")
    ),
    "reuse_loaded": Setting(True, _flag, "content that is placed already is the same module"),
    "layout": Setting(
        "development", str, "with sources and logs, or only what runs", ("development", "production")
    ),
    "do_not_execute": Setting(False, _flag, "calls check their arguments, run nothing and return None"),
    "profile": Setting(False, _flag, "time every call, for ferrule.hooks.timings()"),
    "progress": Setting(True, _flag, "show compilations that take long on a terminal"),
    "time": Setting(False, _flag, "print the time of each stage of each compilation on stderr"),
}

# Numbers that may be None.
OPTIONAL = ("cache_limit",)

# Settings that a call asks for. It only does while somebody has set one.
WATCHED = ("check", "do_not_execute", "profile")

_overrides: contextvars.ContextVar[Mapping[str, Any]] = contextvars.ContextVar(
    "ferrule_config", default=types.MappingProxyType({})
)


def _require(name: str) -> Setting:
    if name not in SETTINGS:
        ending = nearest(name, SETTINGS, f"the settings are {', '.join(SETTINGS)}.")
        raise UserTypeError(f"'{name}' is no setting{ending}")
    return SETTINGS[name]


def validate(name: str, value: Any) -> Any:
    """Return the value of a setting if it may have it, else raise UserTypeError or UserValueError."""
    setting = _require(name)
    if setting.choices and value not in setting.choices:
        choices = ", ".join(map(repr, setting.choices))
        raise UserValueError(f"'{name}' is {value!r}, but must be one of {choices}.")
    if isinstance(setting.default, bool) and not isinstance(value, bool):
        raise UserTypeError(f"'{name}' is {value!r}, but must be True or False.")
    if isinstance(setting.default, int) and not isinstance(setting.default, bool):
        _check_number(name, value)
    if not setting.choices and isinstance(setting.default, (str, type(None))):
        return _text(name, value, setting.default)
    return value


def _check_number(name: str, value: Any) -> None:
    if value is None and name in OPTIONAL:
        return
    if not isinstance(value, int) or isinstance(value, bool):
        raise UserTypeError(f"'{name}' is {value!r}, but must be an int.")
    if not 0 <= value < 2**63:
        raise UserValueError(f"'{name}' is {value}, but must be from 0 to 2**63 - 1.")


def _text(name: str, value: Any, default: str | None) -> str | None:
    """A text, or a path as one."""
    if value is None and default is None:
        return None
    text = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(text, str):
        raise UserTypeError(f"'{name}' is {value!r}, but must be a text{' or None' * (default is None)}.")
    if "\0" in text:
        raise UserValueError(f"'{name}' is {text!r}, but a text without zero bytes is expected.")
    return text


def setting(name: str, argument: Any = None) -> Any:
    """Value of a setting: the argument unless it is None, then the innermost `config`, FERRULE_<NAME>, the default."""
    _require(name)
    if argument is not None:
        return validate(name, argument)
    overrides = _overrides.get()
    return overrides[name] if name in overrides else from_outside(name)


def from_outside(name: str) -> Any:
    """Value of a setting outside of every `config`: FERRULE_<NAME>, the default."""
    known = _require(name)
    text = os.environ.get(f"FERRULE_{name.upper()}")
    if text is not None:
        try:
            return validate(name, known.read(text))
        except UserValueError as error:
            raise UserValueError(f"FERRULE_{name.upper()}: {error}") from None
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


# Variables FERRULE_<NAME> that native code reads itself: the least and the most of a number, None of a text.
_NATIVE: Mapping[str, tuple[int, int] | None] = {
    "NUM_THREADS": (1, 2**31 - 1),
    "RESULT_MEMORY": (0, 2**40 - 1),
    "DUMP": None,
    "PASSES_OFF": None,
}


def check_environment(variables: Mapping[str, str]) -> None:
    """Raise UserValueError for a number that native code would ignore; warn of names that nearly are those of settings.

    Names that are like none may belong to what uses Ferrule.
    """
    known = [*_NATIVE, *map(str.upper, SETTINGS)]
    for variable in [variable for variable in variables if variable.startswith("FERRULE_")]:
        name, text = variable.removeprefix("FERRULE_"), variables[variable]
        bounds = _NATIVE.get(name)
        if bounds is not None and text and not (_is_digits(text) and bounds[0] <= int(text) <= bounds[1]):
            raise UserValueError(
                f"{variable} is '{text}', but must be a whole number from {bounds[0]} to {bounds[1]}; unset it for the"
                " default."
            )
        near = None if name in known else near_name(name, known, 0.7)
        if near is not None:
            warn(f"{variable} has no effect, as no setting has this name; did you mean FERRULE_{near}?")


def _is_digits(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20


check_environment(os.environ)
# The environment sets them for the whole process.
if any(os.environ.get(f"FERRULE_{name.upper()}") and setting(name) for name in WATCHED):
    watch(1)

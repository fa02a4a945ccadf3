"""Programs and their arguments from the words of a command line."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from ferrule.artifact import Artifact
from ferrule.errors import UserTypeError, UserValueError
from ferrule.function import Function

_ARRAY = re.compile(r"(?P<dtype>[A-Za-z_]\w*)\[(?P<extents>[\d\s,]*)\]")
_LIKE_ARRAY = re.compile(r"\w+\[")
_NAMED = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<value>.*)", re.DOTALL)


def _module_of_file(path: str) -> ModuleType:
    if not os.path.isfile(path):
        raise UserValueError(f"The file '{path}' does not exist.")
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UserValueError(f"The file '{path}' is no Python file; name it *.py.")
    module = importlib.util.module_from_spec(spec)
    # As for a script: it may import what lies beside it, and what it defines is found by its name.
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _module(text: str) -> ModuleType:
    if text.endswith(".py") or os.sep in text:
        return _module_of_file(text)
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(text)
    except ModuleNotFoundError as error:
        if error.name is None or not (text == error.name or text.startswith(error.name + ".")):
            raise
        raise UserValueError(f"There is no module '{text}'; give FILE.py:NAME or MODULE:NAME.") from None


def is_artifact(text: str) -> bool:
    """Whether a PROGRAM names a saved artifact and not Python source."""
    return os.path.isfile(text) and not text.endswith(".py")


def functions(text: str) -> list[Function]:
    """The decorated functions that FILE.py, FILE.py:NAME, MODULE or MODULE:NAME names."""
    where, colon, name = text.rpartition(":")
    module = _module(where if colon else text)
    known = {key: value for key, value in vars(module).items() if isinstance(value, Function)}
    if not colon:
        # Those that it has imported are another file's.
        found = [value for value in known.values() if value.__module__ == module.__name__]
        if not found:
            raise UserValueError(f"'{text}' defines no @fr.program.")
        return found
    value: Any = module
    for part in name.split("."):
        value = getattr(value, part, None)
    if not isinstance(value, Function):
        what = "has no" if value is None else "has a plain object"
        have = f"its programs are {', '.join(known)}" if known else "it has none"
        raise UserValueError(f"'{where}' {what} '{name}', but a @fr.program is expected; {have}.")
    return [value]


def program(text: str) -> Any:
    """The one callable that a PROGRAM names: a Function, or the Kernel of a saved artifact."""
    if is_artifact(text):
        return Artifact.open(text).load()
    found = functions(text)
    if len(found) > 1:
        names = ", ".join(function.__name__ for function in found)
        raise UserValueError(
            f"'{text}' defines several programs; append one of their names to it, ':NAME': {names}."
        )
    return found[0]


def _made(dtype: np.dtype[Any], shape: tuple[int, ...], generator: np.random.Generator) -> Any:
    if dtype.kind == "f":
        return generator.random(shape).astype(dtype)
    if dtype.kind == "c":
        return (generator.random(shape) + 1j * generator.random(shape)).astype(dtype)
    if dtype.kind in "iu":
        return generator.integers(0, 100, shape).astype(dtype)
    if dtype.kind == "b":
        return generator.integers(0, 2, shape).astype(dtype)
    raise UserTypeError(f"Arrays of {dtype} cannot be made here; give a file .npy.")


def _value(text: str, generator: np.random.Generator) -> Any:
    if text.endswith(".npy"):
        try:
            return np.load(text, allow_pickle=False)
        except OSError as error:
            raise UserValueError(f"The array '{text}' cannot be read: {error.strerror}.") from None
        except ValueError as error:
            raise UserValueError(f"The file '{text}' is no array: {error}") from None
    if match := _ARRAY.fullmatch(text):
        try:
            dtype = np.dtype(match["dtype"])
        except TypeError:
            raise UserTypeError(
                f"'{text}' names no dtype of NumPy; write for example float64[10,20]."
            ) from None
        shape = tuple(int(n) for n in re.findall(r"\d+", match["extents"]))
        try:
            return np.asarray(_made(dtype, shape, generator))
        except (MemoryError, ValueError) as error:
            raise UserValueError(f"The array '{text}' cannot be made: {error}.") from None
    if _LIKE_ARRAY.match(text):
        raise UserValueError(f"'{text}' is no array; write for example float64[10,20].")
    if text in ("True", "False", "None"):
        return ast.literal_eval(text)
    for kind in (int, float, complex):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def arguments(texts: Sequence[str]) -> tuple[list[Any], dict[str, Any]]:
    """Positional and named arguments of a call. Equal texts give equal arrays."""
    generator = np.random.default_rng(0)
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for text in texts:
        if match := _NAMED.fullmatch(text):
            named[match["name"]] = _value(match["value"], generator)
        elif named:
            raise UserValueError(f"The argument '{text}' has no name, but stands behind named ones.")
        else:
            positional.append(_value(text, generator))
    return positional, named

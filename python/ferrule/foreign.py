"""Arrays of other libraries as arguments of decorated functions: capture sees ndarrays over the same memory."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ferrule import _rt
from ferrule.errors import Unsupported

Originals = dict[int, Any]  # what was given, by the id of the ndarray that stands for it


def is_foreign(value: Any) -> bool:
    """Whether a value is an array of another library: it offers DLPack or the array interface and is no NumPy object.

    Buffers alone, such as bytes, are not: for them Python's operators mean something else.
    """
    if isinstance(value, (np.ndarray, np.generic, type)):
        return False
    return hasattr(value, "__dlpack__") or hasattr(value, "__array_interface__")


def as_ndarrays(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any], Originals]:
    """The arguments with ndarrays for the foreign arrays. Raises as a call does for one that cannot be exchanged."""
    if not any(map(is_foreign, (*args, *kwargs.values()))):
        return args, kwargs, {}
    originals: Originals = {}
    names = [*inspect.signature(fn).parameters]
    positional = tuple(
        _as_ndarray(fn, names[i] if i < len(names) else str(i), value, originals)
        for i, value in enumerate(args)
    )
    named = {name: _as_ndarray(fn, name, value, originals) for name, value in kwargs.items()}
    return positional, named, originals


def _as_ndarray(fn: Callable[..., Any], name: str, value: Any, originals: Originals) -> Any:
    if not is_foreign(value):
        return value
    array = _rt._as_array(value, fn.__name__, name)
    if isinstance(array.dtype, str):
        raise Unsupported(f"The argument '{name}' has dtype {array.dtype}, which is not supported.")
    view = np.asarray(array)
    originals[id(view)] = value
    return view


def with_originals(result: Any, originals: Originals) -> Any:
    """A result in which arguments that the function returns are the very objects that were given."""
    if not originals:
        return result
    if isinstance(result, (tuple, list)):
        return type(result)(with_originals(item, originals) for item in result)
    if isinstance(result, dict):
        return {key: with_originals(item, originals) for key, item in result.items()}
    return originals.get(id(result), result)

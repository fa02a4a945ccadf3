"""Arrays of other libraries as arguments of decorated functions: capture sees ndarrays over the same memory."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ferrule import _rt
from ferrule.errors import Unsupported

Originals = dict[int, Any]  # arrays that were given, by the id of the ndarray that stands for each


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
        if isinstance(value, np.ndarray):
            originals[id(value)] = value
        return value
    array = _rt._as_array(value, fn.__name__, name)
    if isinstance(array.dtype, str):
        raise Unsupported(f"The argument '{name}' has dtype {array.dtype}, which is not supported.")
    view = np.asarray(array)
    originals[id(view)] = value
    return view


def with_originals(result: Any, originals: Originals) -> Any:
    """A result in which arguments that the function returns are the very objects that were given, and new arrays are of
    the library of these."""
    if not originals:
        return result
    found = _each(result, lambda item: originals.get(id(item), item))
    return like_given(found, tuple(originals.values()))


def like_given(result: Any, given: tuple[Any, ...]) -> Any:
    """A result whose new arrays are of the library that the first foreign array among the arguments is of.

    That library is asked through the C exchange table of its arrays, else by `from_dlpack`, of its array namespace or its
    top module; without these they stay ndarrays.
    """
    convert = next((found for value in given if (found := _importer(value)) is not None), None)
    if convert is None:
        return result
    arguments = {id(value) for value in given}

    def changed(item: Any) -> Any:
        if not isinstance(item, np.ndarray) or id(item) in arguments:
            return item
        made = convert(item)
        return item if made is None else made

    return _each(result, changed)


def _importer(value: Any) -> Callable[[Any], Any] | None:
    """How the library of an array takes an ndarray; None for what is no array of a library."""
    if isinstance(value, _rt.Array) or not is_foreign(value):
        return None  # fr.Array carries memory and computes nothing: ndarrays are of more use
    namespace = getattr(value, "__array_namespace__", None)
    module = (
        namespace() if namespace is not None else sys.modules.get(type(value).__module__.partition(".")[0])
    )
    by_name: Callable[[Any], Any] | None = getattr(module, "from_dlpack", None)
    if not hasattr(type(value), "__dlpack_c_exchange_api__"):
        return by_name

    def take(item: Any) -> Any:
        made = _rt._hand_over(item, value)
        return made if made is not None or by_name is None else by_name(item)

    return take


def _each(result: Any, change: Callable[[Any], Any]) -> Any:
    """The result with every array or number in it changed."""
    if isinstance(result, (tuple, list)):
        return type(result)(_each(item, change) for item in result)
    if isinstance(result, dict):
        return {key: _each(item, change) for key, item in result.items()}
    return change(result)

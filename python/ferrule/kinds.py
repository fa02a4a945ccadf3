"""Kinds of arguments as a specialisation sees them, and whether written arrays share memory with others."""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrule import _rt
from ferrule.values import Unrecordable, qualified, value_text


def recordable_kinds(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """What a warm record is found by; None where a value cannot be told apart from others in another process."""
    try:
        for value in (*args, *kwargs.values()):
            if not isinstance(value, (np.ndarray, np.generic)):
                value_text(value)
    except Unrecordable:
        return None
    return argument_kinds(args, kwargs)


def argument_kinds(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Kinds of the arguments as a specialisation sees them, as text."""
    parts = [_kind(value) for value in args]
    parts += [f"{name}={_kind(value)}" for name, value in sorted(kwargs.items())]
    return ", ".join(parts)


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        flags = value.flags
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "strided"
        return f"{value.dtype.str}[{value.ndim}]{layout}"
    if isinstance(value, np.generic):
        return value.dtype.str
    if isinstance(value, (bool, str, type(None))):
        return repr(value)
    if isinstance(value, (int, float)):
        return type(value).__name__
    try:
        return value_text(value)
    except Unrecordable:
        text = qualified(type(value))
        return f"{text}[{value.dtype}]" if hasattr(value, "dtype") else text  # another library's array


def _share_memory(first: np.ndarray[Any, Any], second: np.ndarray[Any, Any]) -> bool:
    """Whether two arrays have a byte in common; exact unless that is too much work, then by their bounds."""
    limit: Any = 100_000  # NumPy's stub knows only its two special values
    try:
        return bool(np.shares_memory(first, second, max_work=limit))
    except np.exceptions.TooHardError:
        return True


def overlaps(captured: Any, bound: dict[str, Any]) -> bool:
    """Whether an array that the program writes shares memory with another argument."""
    arrays = []
    for declared in captured.program.arguments:
        if declared["kind"] == "array" and not declared["hidden"]:
            arrays.append((bound[declared["name"]], declared["written"]))
    for info in captured.hidden:
        arrays.append((info.hidden, False))
    for i, (first, first_written) in enumerate(arrays):
        for second, second_written in arrays[i + 1 :]:
            if (first_written or second_written) and _share_memory(first, second):
                return True
    return False


def overlapping_itself(captured: Any, bound: dict[str, Any]) -> str | None:
    """Why no specialisation could run: the program writes an array whose elements share memory. None where all is well."""
    for declared in captured.program.arguments:
        if declared["kind"] == "array" and declared["written"]:
            array = bound[declared["name"]]
            if _rt._overlaps_itself(array):
                return (
                    f"'{declared['name']}' is written, but elements of it share memory: shape {array.shape}, strides"
                    f" {array.strides} bytes; pass an array of its own memory."
                )
    return None

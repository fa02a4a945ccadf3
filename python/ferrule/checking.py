"""check=True: a native call beside NumPy's on copies, compared in values, dtypes and shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrule.errors import UserRuntimeError

# Transcendental functions are within 4 ulp each; chains of them and reductions in another order add up.
_TOLERANCE = {"float32": 1e-4, "float64": 1e-9}


def copies(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments with arrays copied; views of one memory stay views of one memory."""
    bases: dict[int, tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]] = {}

    def copy(value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        base = value
        while isinstance(base.base, np.ndarray):
            base = base.base
        if id(base) not in bases:
            bases[id(base)] = (base, base.copy(order="K"))
        original, copied = bases[id(base)]
        if value is original:
            return copied
        if copied.strides != original.strides:
            return value.copy(order="K")
        offset = value.__array_interface__["data"][0] - original.__array_interface__["data"][0]
        if offset < 0 or (value.size and not np.may_share_memory(value, original)):
            return value.copy(order="K")
        return np.ndarray(value.shape, value.dtype, copied, offset, value.strides)

    return tuple(map(copy, args)), {name: copy(value) for name, value in kwargs.items()}


def compare(name: str, expected: Any, actual: Any, plain: Any, native: Any) -> None:
    """Raise UserRuntimeError at the first difference in a result or an argument after the call."""
    _compare(name, "the result", expected, actual)
    for position, (left, right) in enumerate(zip(plain[0], native[0], strict=True)):
        _compare(name, f"argument {position} after the call", left, right)
    for key in plain[1]:
        _compare(name, f"argument '{key}' after the call", plain[1][key], native[1][key])


def _compare(name: str, where: str, expected: Any, actual: Any) -> None:
    if _kind(expected) != _kind(actual):
        raise UserRuntimeError(f"'{name}': {where} is {_kind(actual)}, NumPy gives {_kind(expected)}.")
    if isinstance(expected, (tuple, list)):
        _compare_sizes(name, where, len(expected), len(actual))
        for index, (left, right) in enumerate(zip(expected, actual, strict=True)):
            _compare(name, f"{where}[{index}]", left, right)
    elif isinstance(expected, dict):
        if [*expected] != [*actual]:
            raise UserRuntimeError(f"'{name}': {where} has the keys {[*actual]}, NumPy gives {[*expected]}.")
        for key in expected:
            _compare(name, f"{where}[{key!r}]", expected[key], actual[key])
    elif isinstance(expected, (np.ndarray, np.generic, bool, int, float, complex)):
        _compare_numbers(name, where, expected, actual)
    elif expected is not actual and bool(expected != actual):
        raise UserRuntimeError(f"'{name}': {where} is {actual!r}, NumPy gives {expected!r}.")


def _kind(value: Any) -> str:
    """What a value is, but for dtype and shape: an array, a number of NumPy's, or its type."""
    if isinstance(value, np.ndarray):
        return "an array"
    return "a number of NumPy's" if isinstance(value, np.generic) else type(value).__name__


def _compare_sizes(name: str, where: str, expected: int, actual: int) -> None:
    if expected != actual:
        raise UserRuntimeError(f"'{name}': {where} has {actual} items, NumPy gives {expected}.")


def _compare_numbers(name: str, where: str, expected: Any, actual: Any) -> None:
    left, right = np.asarray(expected), np.asarray(actual)
    if left.shape != right.shape or left.dtype != right.dtype:
        raise UserRuntimeError(
            f"'{name}': {where} is {right.dtype}{list(right.shape)}, NumPy gives {left.dtype}{list(left.shape)}."
        )
    if left.dtype.kind == "f":
        tolerance = _TOLERANCE[left.dtype.name]
        finite = np.abs(left[np.isfinite(left)])
        scale = float(finite.max()) if finite.size else 0.0
        with np.errstate(all="ignore"):
            agree = np.isclose(right, left, rtol=tolerance, atol=tolerance * scale, equal_nan=True)
    else:
        agree = left == right
    if not np.all(agree):
        place = tuple(int(i) for i in np.argwhere(~np.atleast_1d(agree))[0])
        want, got = np.atleast_1d(left)[place], np.atleast_1d(right)[place]
        raise UserRuntimeError(f"'{name}': {where} at {place} is {got}, NumPy gives {want}.")

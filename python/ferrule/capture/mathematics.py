"""The functions of Python's `math` on stand-ins: float64, weak results."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .elementwise import apply
from .scalars import bool_, element, float_, int_
from .tracers import (
    Array,
    Int,
    unsupported,
)

_MATH = {
    "sqrt": "sqrt", "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log2": "log2", "log10": "log10", "log1p": "log1p",
    "sin": "sin", "cos": "cos", "tan": "tan", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2",
    "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
    "radians": "deg2rad", "degrees": "rad2deg", "fabs": "fabs", "copysign": "copysign", "fmod": "fmod", "cbrt": "cbrt",
    "pow": "power", "nextafter": "nextafter",
}  # fmt: skip


_MATH_TESTS = {"isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite"}


_MATH_WHOLE = {"floor": "floor", "ceil": "ceil", "trunc": "trunc"}


def _number(value: Any) -> Any:
    """An argument of a function of `math` as float64."""
    if isinstance(value, Array):
        value = element(value)
    return float_(value)


def _math_function(op: str) -> Callable[..., Any]:
    def function(*values: Any) -> Any:
        return float_(apply(op, tuple(_number(value) for value in values), strong=False))

    return function


def _math_test(op: str) -> Callable[[Any], Any]:
    return lambda value: bool_(apply(op, (_number(value),)))


def _math_whole(op: str) -> Callable[[Any], Any]:
    return lambda value: value if isinstance(value, Int) else int_(apply(op, (_number(value),)))


def math_log(value: Any, base: Any = None) -> Any:
    """math.log."""
    result = float_(apply("log", (_number(value),), strong=False))
    return result if base is None else result / float_(apply("log", (_number(base),), strong=False))


def math_hypot(*values: Any) -> Any:
    """math.hypot of two coordinates."""
    if len(values) != 2:
        raise unsupported("'math.hypot' of other than two coordinates")
    return float_(apply("hypot", tuple(_number(value) for value in values), strong=False))


def math_prod(iterable: Any, *, start: Any = 1) -> Any:
    """math.prod."""
    if isinstance(iterable, Array):
        return iterable.prod() * start
    result = start
    for item in iterable:
        result = result * item
    return result


def math_table() -> dict[Any, Callable[..., Any]]:
    """Functions of `math` with what they do on stand-ins."""
    table: dict[Any, Callable[..., Any]] = {}
    for names, make in ((_MATH, _math_function), (_MATH_TESTS, _math_test), (_MATH_WHOLE, _math_whole)):
        for name, op in names.items():
            if hasattr(math, name):
                table[getattr(math, name)] = make(op)
    table.update({math.log: math_log, math.hypot: math_hypot, math.prod: math_prod})
    return table

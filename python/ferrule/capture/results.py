"""What a program returns, from what the traced function returned."""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrule import errors as public

from .operands import as_array, lift
from .trace import Trace
from .tracers import Array, Cond, Int, Scalar


def declare_results(trace: Trace, value: Any, arguments: list[Any]) -> None:
    """Declares the results in order; an argument returned as it is stays the caller's object."""
    if type(value) is tuple:
        trace.builder.set_returns_tuple(True)
        for item in value:
            _declare(trace, item, arguments)
    else:
        _declare(trace, value, arguments)


def _declare(trace: Trace, value: Any, arguments: list[Any]) -> None:
    builder = trace.builder
    if value is None:
        builder.result_none()
        return
    if isinstance(value, np.ndarray):
        value = as_array(value)
    if isinstance(value, Array):
        for index, argument in enumerate(arguments):
            if value is argument and not value.storage.hidden:
                builder.result_argument(index)
                return
        of_argument = value.storage.argument is not None and not value.storage.hidden
        builder.result(value.handle() if of_argument else value.value())
    elif isinstance(value, (Int, Cond, Scalar, bool, int, float, np.generic)):
        builder.result(lift(value))
    elif isinstance(value, (tuple, list, dict)):
        raise public.Unsupported(
            f"A {type(value).__name__} as a result of a program is not supported. Return a flat tuple of arrays and numbers."
        )
    else:
        raise public.Unsupported(
            f"A {type(value).__name__} as a result of a program is not supported. Return arrays and numbers."
        )

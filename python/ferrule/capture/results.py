"""What a program returns, from what the traced function returned."""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrule.results import Node, is_flat

from . import errors
from .operands import MAX_RANK, as_array, lift
from .trace import Trace
from .tracers import Array, Cond, Int, Scalar


def declare_results(trace: Trace, value: Any, arguments: list[Any]) -> Node | None:
    """Declares the results in order; how they are put together where that is no number, array or flat tuple of them.

    An argument or a global array returned as it is stays the same object.
    """
    results = _Results(trace, arguments)
    node = results.node(value, "the result")
    if is_flat(node):
        if type(value) is tuple:
            trace.builder.set_returns_tuple(True)
        return None
    trace.builder.set_returns_tuple(True)
    if not results.count:
        trace.builder.result_none()
    return node


class _Results:
    def __init__(self, trace: Trace, arguments: list[Any]) -> None:
        self.trace = trace
        self.arguments = arguments
        self.count = 0
        self.arrays: list[tuple[Array, Node]] = []

    def node(self, value: Any, where: str) -> Node:
        """Declares the numbers and arrays of a result; returns how they are put together."""
        if type(value) in (tuple, list):
            return [type(value).__name__, [self.node(item, f"{where}[{k}]") for k, item in enumerate(value)]]
        if type(value) is dict:
            for key in value:
                if type(key) not in (str, int, float, bool, bytes, type(None)):
                    raise _unsupported(f"A dict with the key {key!r} in {where}")
            return [
                "dict",
                [[repr(key), self.node(item, f"{where}[{key!r}]")] for key, item in value.items()],
            ]
        zero_rank = self._declare(value, where)
        self.count += 1
        node = ["array", self.count - 1] if zero_rank else self.count - 1
        if isinstance(value, Array):
            # An array that is returned twice is one object, though the module gives it twice.
            for known, first in self.arrays:
                if known is value:
                    return first
            self.arrays.append((value, node))
        return node

    def _declare(self, value: Any, where: str) -> bool:
        """Declares one result; whether it is a fresh array of no dimension."""
        builder = self.trace.builder
        if value is None:
            builder.result_none()
            return False
        fresh = isinstance(value, np.ndarray) and value.ndim == 0
        if isinstance(value, np.ndarray):
            value = as_array(value)
        if isinstance(value, Array):
            if value.ndim > MAX_RANK:
                raise _unsupported(f"An array of {value.ndim} axes, more than {MAX_RANK}, as {where}")
            for index, argument in enumerate(self.arguments):
                if value is argument:
                    builder.result_argument(index)
                    return False
            of_argument = value.storage.argument is not None
            builder.result(value.handle() if of_argument else value.value())
            return not of_argument and value.ndim == 0
        if not isinstance(value, (Int, Cond, Scalar, bool, int, float, np.generic)):
            raise _unsupported(f"A {type(value).__name__} as {where}")
        builder.result(lift(value))
        return fresh or (isinstance(value, Scalar) and value.id in self.trace.zero_rank)


def _unsupported(what: str) -> BaseException:
    return errors.unsupported(
        f"{what} of a program is not supported.",
        "Return arrays and numbers, or tuples, lists and dicts of them.",
    )

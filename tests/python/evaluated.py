"""Runs captured programs on the reference evaluator, so that capture is tested without a C++ compiler.

`evaluated(fn)` behaves as `fn`: it captures on the first arguments, and again only where a later call has another
signature or fails a guard.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ferrule import _compiler as ir
from ferrule.capture import Captured, Options, capture
from ferrule.capture.signature import bind, layout_of
from ferrule.results import assembler


def signature_key(arguments: dict[str, Any]) -> tuple[Any, ...]:
    """What capture makes static in a specialisation: dtypes, ranks, layouts, kinds of scalars, static values."""
    return tuple((name, *_describe(value)) for name, value in arguments.items())


def _describe(value: Any) -> tuple[Any, ...]:
    if isinstance(value, np.ndarray):
        return ("array", value.dtype, value.ndim, *layout_of(value), value.flags.writeable)
    if isinstance(value, np.generic):
        return ("scalar", value.dtype)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return ("weak", type(value))
    return ("static", type(value), value)


class _Sizes:
    """The names that guards use of an array: its shape, and its strides in elements."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.shape = array.shape
        self.strides = tuple(stride // array.itemsize for stride in array.strides)


def guards_hold(captured: Captured, values: list[Any]) -> bool:
    """Whether every guard holds for arguments; guards are Python in the user's names."""
    names: dict[str, Any] = {"min": min, "max": max}
    for info, value in zip(captured.arguments, values, strict=True):
        names[info.name] = _Sizes(value) if isinstance(value, np.ndarray) else value
    return all(eval(guard, {"__builtins__": {}}, names) for guard in captured.program.guards)


def values_for(captured: Captured, arguments: dict[str, Any]) -> list[Any]:
    """The arguments of the program: hidden ones fetched, None for static ones."""
    return [
        info.hidden if info.hidden is not None else None if info.kind == "static" else arguments[info.name]
        for info in captured.arguments
    ]


def run(captured: Captured, values: list[Any]) -> Any:
    """The results of a captured program, as the function would return them."""
    results = ir.evaluate(captured.program, values)
    finish = assembler(captured.structure)
    if finish is not None:
        return finish(tuple(results))
    return tuple(results) if captured.returns_tuple else results[0]


class Evaluated:
    """A function run through capture and the evaluator. captures counts the specialisations."""

    def __init__(self, fn: Any, **options: Any) -> None:
        self.fn = fn
        self.options = Options(**options)
        self.specialisations: list[tuple[tuple[Any, ...], Captured]] = []
        functools.update_wrapper(self, fn)

    @property
    def captures(self) -> int:
        """How many specialisations there are."""
        return len(self.specialisations)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        arguments = dict(bind(self.fn, args, kwargs).arguments)
        try:
            key = signature_key(arguments)
        except TypeError:
            key = ()
        for known, captured in self.specialisations:
            if known == key:
                values = values_for(captured, arguments)
                if guards_hold(captured, values):
                    return run(captured, values)
        captured = capture(self.fn, args, kwargs, self.options)
        self.specialisations.append((key, captured))
        return run(captured, values_for(captured, arguments))


def evaluated(fn: Any, **options: Any) -> Evaluated:
    """The function through capture and the evaluator."""
    return Evaluated(fn, **options)

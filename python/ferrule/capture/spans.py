"""What a `for` loop runs over: the bounds of its variable, and the item at each value of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ferrule import _compiler as ir

from . import errors
from .decide import holds
from .trace import Trace
from .tracers import Array, TracedIter, TracedRange, make_int, to_expr

UNROLLED = 16  # iterations of a range of Python ints that are traced one by one


class Span:
    """What a loop runs over: variable from `lo` to `hi` by `step`, and the item at each value of it."""

    def __init__(self, lo: Any, hi: Any, step: Any, item: Callable[[Any], Any]) -> None:
        self.lo, self.hi, self.step = to_expr(lo), to_expr(hi), to_expr(step)
        self.item = item
        step_value = self.step.constant
        self.ascending = step_value > 0 if step_value is not None else _is_positive(self.step)

    def nonempty(self) -> ir.Condition:
        """That there is an iteration."""
        low, high = (self.lo, self.hi) if self.ascending else (self.hi, self.lo)
        return ir.Condition(ir.Relation.Lt, low, high)

    def assume(self, trace: Trace, symbol: int) -> None:
        """The bounds of the variable within the body."""
        one = ir.Expr(1)
        if self.ascending:
            trace.facts.assume_loop(symbol, self.lo, self.hi)
        else:
            trace.facts.assume_loop(symbol, self.hi + one, self.lo + one)

    def trips(self, trace: Trace) -> ir.Expr:
        """The number of iterations."""
        distance = self.hi - self.lo if self.ascending else self.lo - self.hi
        size = self.step if self.ascending else ir.Expr(0) - self.step
        count = distance if size.constant == 1 else (distance + size - ir.Expr(1)) // size
        if trace.facts.prove(ir.Condition(ir.Relation.Le, ir.Expr(0), distance)) is True:
            return count
        return ir.max(count, ir.Expr(0))

    def iteration(self, variable: ir.Expr) -> ir.Expr:
        """The number of the iteration in which the variable has a value, from 0."""
        distance = variable - self.lo if self.ascending else self.lo - variable
        size = self.step if self.ascending else ir.Expr(0) - self.step
        return distance if size.constant == 1 else distance // size

    def rest(self) -> Span:
        """Without the first iteration."""
        return Span(self.lo + self.step, self.hi, self.step, self.item)


def _is_positive(step: ir.Expr) -> bool:
    return holds(ir.Condition(ir.Relation.Lt, ir.Expr(0), step)) is True


def _descending(trace: Trace, lo: ir.Expr, hi: ir.Expr, step: ir.Expr) -> Span:
    """A range whose step is a symbol below zero, counted upwards from 0: a loop knows the sign of constants alone."""
    if holds(ir.Condition(ir.Relation.Lt, step, ir.Expr(0))) is not True:
        raise errors.user_error(ValueError, "range() arg 3 must not be zero")
    count = Span(lo, hi, step, lambda variable: variable).trips(trace)
    return Span(0, make_int(count), 1, lambda variable: make_int(lo + to_expr(variable) * step))


def span_of(trace: Trace, iterable: Any) -> Span | None:
    """The span of an iteration of traced length, or of a long range; None for what Python iterates."""
    if isinstance(iterable, np.ndarray) and iterable.ndim:
        iterable = trace.constant_array(iterable)
    if isinstance(iterable, TracedRange):
        step = to_expr(iterable.step)
        if step.constant is None and not _is_positive(step):
            return _descending(trace, to_expr(iterable.lo), to_expr(iterable.hi), step)
        return Span(iterable.lo, iterable.hi, iterable.step, lambda variable: variable)
    if isinstance(iterable, TracedIter):
        return Span(0, iterable.length, 1, iterable.item)
    if isinstance(iterable, Array):
        if not iterable.ndim:
            raise errors.user_error(TypeError, "iteration over a 0-d array")
        return Span(0, make_int(iterable.dims[0]), 1, lambda variable: iterable[variable])
    if isinstance(iterable, range) and len(iterable) * trace.__dict__.get("unrolled", 1) > UNROLLED:
        return Span(iterable.start, iterable.stop, iterable.step, lambda variable: variable)
    return None

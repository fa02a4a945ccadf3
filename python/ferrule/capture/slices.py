"""Slices of an axis with Python's clamping: first index, step and length, decided, guarded or left to the run."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ferrule import _compiler as ir

from . import errors
from .decide import ONE, ZERO, Eq, Le, Lt, decide, holds
from .trace import Trace
from .tracers import Array, to_expr


class Term(NamedTuple):
    """What one item of an index does: a kept axis of `extent` at start + step * index, a fixed one, or a new one."""

    start: ir.Expr
    step: ir.Expr | None = None
    extent: ir.Expr | None = None
    new: bool = False


def index_expr(item: Any) -> ir.Expr:
    """An integer index or bound as an expression; elements of the data become opaque symbols."""
    if isinstance(item, Array):
        item = Array.of_value(item.value())
    return to_expr(item)


def from_end_if_negative(index: ir.Expr, extent: ir.Expr) -> ir.Expr:
    """index, or index + extent where only the run knows that it is negative."""
    return index + extent * ir.min(ir.max(ZERO - index, ZERO), ONE)


def slice_term(item: slice, extent: ir.Expr) -> Term:
    """A slice of an axis: first index, step and length, clamped as Python does."""
    step = ONE if item.step is None else _bound_expr(item.step)
    start = None if item.start is None else _bound_expr(item.start)
    stop = None if item.stop is None else _bound_expr(item.stop)
    if step.constant == 0 or (step.constant is None and holds(ir.Condition(Eq, step, ZERO)) is True):
        raise errors.user_error(ValueError, "slice step cannot be zero")
    try:
        forwards = decide(ir.Condition(Lt, ZERO, step))
    except errors.NeedsRuntime:
        raise errors.unsupported(
            "A slice whose step has a sign that is known only at run time is not supported.",
            "Write the two directions as an 'if'.",
        ) from None
    if forwards:
        return _forwards(start, stop, step, extent)
    return _backwards(start, stop, step, extent)


def _bound_expr(item: Any) -> ir.Expr:
    trace = Trace.current()
    if isinstance(item, (int, np.integer)) and not isinstance(item, bool):
        # Beyond every possible extent all bounds are alike; so the arithmetic below cannot overflow.
        limit = 1 << 61
        return ir.Expr(max(-limit, min(limit, int(item))))
    return trace.facts.canonical(index_expr(item))


def _from_end(bound: ir.Expr, extent: ir.Expr) -> ir.Expr:
    """A bound with negative values counted from the end; not clamped."""
    sign = holds(ir.Condition(Le, ZERO, bound))
    if sign is None:
        return from_end_if_negative(bound, extent)
    return bound if sign else bound + extent


def _clamp(value: ir.Expr, low: ir.Expr, high: ir.Expr) -> ir.Expr:
    """value limited to [low, high], decided where possible."""
    below = holds(ir.Condition(Lt, value, low))
    if below is True:
        return low
    if below is None:
        value = ir.max(value, low)
    above = holds(ir.Condition(Lt, high, value))
    if above is True:
        return high
    return ir.min(value, high) if above is None else value


def _ordered(low: ir.Expr, high: ir.Expr) -> bool:
    """Whether low <= high is proved or true in the sample; leaves no guard unless it is true."""
    trace = Trace.current()
    condition = ir.Condition(Le, low, high)
    known = trace.facts.prove(condition)
    if known is not None:
        return bool(known)
    values = trace.evaluate(trace.facts.canonical(low)), trace.evaluate(trace.facts.canonical(high))
    if values[0] is not None and values[1] is not None and values[0] > values[1]:
        return False
    return holds(condition) is True


def _forwards(start: ir.Expr | None, stop: ir.Expr | None, step: ir.Expr, extent: ir.Expr) -> Term:
    first = ZERO if start is None else _from_end(start, extent)
    last = extent if stop is None else _from_end(stop, extent)
    # start <= stop within [0, extent] implies the rest, so `1:-1` costs one guard.
    if _ordered(ZERO, first) and _ordered(last, extent):
        if first == ZERO and _ordered(ZERO, last):
            return Term(first, step, _count(first, last, step))
        order = holds(ir.Condition(Le, first, last))
        if order is True:
            return Term(first, step, _count(first, last, step))
        if order is False:
            return Term(ZERO, step, ZERO)
    first, last = _clamp(first, ZERO, extent), _clamp(last, ZERO, extent)
    order = holds(ir.Condition(Le, first, last))
    if order is True:
        return Term(first, step, _count(first, last, step))
    if order is False:
        return Term(ZERO, step, ZERO)
    return Term(first, step, _count(first, ir.max(first, last), step))


def _backwards(start: ir.Expr | None, stop: ir.Expr | None, step: ir.Expr, extent: ir.Expr) -> Term:
    end = extent - ONE
    before = ir.Expr(-1)
    first = end if start is None else _from_end(start, extent)
    last = before if stop is None else _from_end(stop, extent)
    if _ordered(first, end) and _ordered(before, last):
        order = holds(ir.Condition(Le, last, first))
        if order is True:
            return Term(first, step, _count(last, first, ZERO - step))
        if order is False:
            return Term(ZERO, step, ZERO)
    first, last = _clamp(first, before, end), _clamp(last, before, end)
    order = holds(ir.Condition(Le, last, first))
    if order is True:
        return Term(first, step, _count(last, first, ZERO - step))
    if order is False:
        return Term(ZERO, step, ZERO)
    return Term(first, step, _count(last, ir.max(first, last), ZERO - step))


def _count(low: ir.Expr, high: ir.Expr, step: ir.Expr) -> ir.Expr:
    """How many steps lie in a span of high - low >= 0."""
    if step == ONE:
        return high - low
    return (high - low + step - ONE) // step

"""The truth of a value of the user's program, and Python's comparisons: known at capture, or decided at run time."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ferrule import _compiler as ir

from . import errors
from .base import is_traced
from .trace import Trace


def truth(value: Any) -> Any:
    """True or False, or the Condition or bool Scalar that decides at run time."""
    if value is True or value is False:
        return value
    trace = Trace.active()
    if trace is None or not is_traced(value):
        return bool(value)
    condition = _condition(value) if trace.annotated else None
    if condition is not None:
        # Ahead of time what is not certain of sizes and ints decides at run time.
        known = trace.facts.prove(condition)
        return condition if known is None else bool(known)
    try:
        return bool(value)
    except errors.NeedsRuntime as needs:
        return needs.condition


def _condition(value: Any) -> ir.Condition | None:
    """The condition over sizes that a value's truth is; None for one of data."""
    from .tracers import Cond, Int

    if isinstance(value, Int):
        return ir.Condition(ir.Relation.Ne, value.expr, ir.Expr(0))
    return value.condition if isinstance(value, Cond) else None


def implied(test: Any, outcome: bool) -> list[ir.Condition]:
    """What is known of the sizes of the arguments where a test that the run decides has an outcome."""
    from .tracers import Cond, Scalar

    if isinstance(test, Scalar):
        return test.implies[outcome]
    condition = test.condition if isinstance(test, Cond) else test
    if not isinstance(condition, ir.Condition):
        return []
    sample = Trace.current().sample
    symbols = (*condition.left.symbols(), *condition.right.symbols())
    if not all(symbol in sample for symbol in symbols):
        return []
    return [condition if outcome else condition.negate()]


COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Is": lambda left, right: _is_same(left, right),
    "IsNot": lambda left, right: not _is_same(left, right),
    "In": lambda left, right: left in right,
    "NotIn": lambda left, right: left not in right,
}


def _is_same(left: Any, right: Any) -> bool:
    """left is right; two arguments may be one array in one call and two in another."""
    if left is not right and Trace.active() is not None and _is_given(left) and _is_given(right):
        raise errors.unsupported(
            "The comparison of two arguments with 'is' is not supported.",
            "Compare their values, or pass a flag.",
        )
    if left is not right and any(
        _is_number(one) and (isinstance(other, (int, float)) or _is_number(other))
        for one, other in ((left, right), (right, left))
    ):
        raise errors.unsupported(
            "The comparison of a traced number with 'is' is not supported.", "Write '=='."
        )
    return left is right


def _is_number(value: Any) -> bool:
    from .tracers import Cond, Int, Scalar

    return isinstance(value, (Int, Cond)) or (isinstance(value, Scalar) and value.weak)


def _is_given(value: Any) -> bool:
    from .tracers import Array, Int, Scalar

    if isinstance(value, Array):
        return value.step is None and value.storage.argument is not None
    return isinstance(value, (Int, Scalar))

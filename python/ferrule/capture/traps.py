"""Conditions that are decided at run time, and the checks by which a program stops with an error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ferrule import _compiler as ir

from . import errors
from .maybe import unset_message
from .trace import Trace
from .tracers import Cond, Scalar
from .truth import implied

# The exceptions of Python that a failed check can raise.
_CODES: dict[type[Exception], Any] = {
    IndexError: ir.ErrorCode.INDEX,
    ValueError: ir.ErrorCode.VALUE,
    OverflowError: ir.ErrorCode.OVERFLOW,
    ZeroDivisionError: ir.ErrorCode.ZERO_DIVISION,
    UnboundLocalError: ir.ErrorCode.UNDEFINED,
}
# Those that a program raises itself besides.
_RAISED: dict[type[Exception], Any] = {
    **_CODES,
    AssertionError: ir.ErrorCode.ASSERT,
    TypeError: ir.ErrorCode.TYPE,
}


def negation(test: Any) -> Any:
    """The opposite of a test as a value of the user's program."""
    if isinstance(test, ir.Condition):
        return Cond(test.negate())
    builder = Trace.current().builder
    flipped = builder.elementwise("logical_not", [_bool_id(test)])
    result = Scalar(builder.reweight(flipped, True))
    result.implies = (implied(test, True), implied(test, False))
    return result


def _bool_id(test: Any) -> int:
    from .scalars import as_condition

    return as_condition(test)


def as_test(test: Any) -> Any:
    """A test as the builder takes it: a Condition, or a bool value."""
    return test if isinstance(test, ir.Condition) else _bool_id(test)


def flag_of(trace: Trace, truth: Any) -> int:
    """True, False or what decides at run time as a bool value of the program."""
    if truth is True or truth is False:
        return int(trace.builder.constant("bool", int(truth)))
    return _bool_id(Cond(truth) if isinstance(truth, ir.Condition) else truth)


def fail_if(test: Any, trapped: errors.Trapped) -> None:
    """The program traps, as `trapped` says, where a test holds."""
    require(Trace.current(), test, True, trapped.site, trapped.code)


def check(test: Any, message: str) -> None:
    """The program traps with a message where a test fails; it holds from here on."""
    trace = Trace.current()
    site = trace.site(message)
    require(trace, test, False, site, ir.ErrorCode.ASSERT)


def require(trace: Trace, test: Any, negated: bool, site: int, code: Any) -> None:
    flag = None if isinstance(test, ir.Condition) else _bool_id(test)  # which may set another site
    trace.builder.set_site(site)
    if flag is None:
        condition = test.negate() if negated else test
        trace.builder.check(condition, code)
        _assume(trace, condition)
        return
    trace.builder.check(trace.builder.elementwise("logical_not", [flag]) if negated else flag, code)
    for condition in implied(test, not negated):
        trace.builder.check(condition, code)  # certain now, and known to who reads the program
        _assume(trace, condition)


def _assume(trace: Trace, condition: ir.Condition) -> None:
    """What holds from here on, because the program has stopped where it does not."""
    if trace.loops or (trace.depth and not _is_of_entry(trace, condition)):
        assume_but_equality(trace, condition)
    else:
        trace.facts.assume(condition)


def _is_of_entry(trace: Trace, condition: ir.Condition) -> bool:
    """Whether a condition is one over the sizes and ints of the arguments."""
    symbols = (*condition.left.symbols(), *condition.right.symbols())
    return all(symbol in trace.sample for symbol in symbols)


def assume_but_equality(trace: Trace, condition: ir.Condition) -> None:
    """Assumes what holds in a part of a loop or branch, unless it makes two sizes equal: what that carries would have types
    which rest on it, and do not hold before."""
    facts = trace.facts
    left = condition.left + ir.Expr(int(condition.relation == ir.Relation.Lt))
    met = ir.Condition(ir.Relation.Eq, left, condition.right)
    facts.push()
    facts.assume(condition)
    equal = facts.prove(met) is True
    facts.pop()
    if not equal:
        facts.assume(condition)


def check_set(is_set: Any, name: str) -> None:
    """The program stops with an UnboundLocalError where `is_set` is false."""
    trace = Trace.current()
    require(trace, is_set, False, trace.site(unset_message(name)), ir.ErrorCode.UNDEFINED)


def unset(name: str) -> BaseException:
    """The exception to raise where a name is read that has no value: a trap in a region."""
    trace = Trace.current()
    message = unset_message(name)
    error = errors.user_error(UnboundLocalError, message)
    return errors.Trapped(trace.site(message), ir.ErrorCode.UNDEFINED, error) if trace.depth > 0 else error


def trap(exception: Any) -> None:
    """Ends the branch that is being traced with a trap."""
    if isinstance(exception, type):
        text, kind = exception.__name__, exception
    else:
        text, kind = f"{type(exception).__name__}: {exception}", type(exception)
    raise errors.Trapped(Trace.current().site(text), _code_of(kind, _RAISED) or ir.ErrorCode.RAISE, exception)


def _code_of(kind: type, codes: Mapping[type[Exception], Any]) -> Any:
    return next((code for known, code in codes.items() if issubclass(kind, known)), None)


def as_trap(error: Exception) -> errors.Trapped | None:
    """The trap that stands for an exception which a region certainly raises, if it runs; None where a check cannot raise
    such a one: it is no matter of sizes and values, and best known at once."""
    code = _code_of(type(error), _CODES)
    if code is None:
        return None
    return errors.Trapped(Trace.current().site(errors.said(error), errors.raised_at(error)), code, error)

"""Arithmetic of Python ints that leaves 64 bits: an OverflowError, never another number.

Most results are certain to fit: of loop variables, extents, their sums. Those of arguments and loop variables alone are
guarded, so that the run pays nothing; what depends on data is checked where Python computes it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ferrule import _compiler as ir
from ferrule import errors as public

from .decide import holds
from .numbers import Scalar, make_int, symbolic
from .operands import OPS, strengthen
from .trace import Trace

_SMALLEST = -(2**63)
# Guards stay well inside, so that their own arithmetic fits.
_GUARDED = 2**62
NO_FIT = "a Python int does not fit into 64 bits"
_CANDIDATES = 16  # symbols that may bound a result


def make_fitting(name: str, operands: tuple[ir.Expr, ...], result: ir.Expr) -> Any:
    """The int that operation `name` of Python makes of operands; the program fails where it does not fit 64 bits."""
    trace = Trace.current()
    if _fits(trace, trace.facts.canonical(result)):
        return make_int(result)
    made = make_checked(name, operands)
    if not isinstance(made, int):
        # The same number, as two facts: as an equality it would make the run compute the expression, which may leave 64
        # bits on its way.
        trace.facts.assume(ir.Condition(ir.Relation.Le, made.expr, result))
        trace.facts.assume(ir.Condition(ir.Relation.Le, result, made.expr))
    return made


def make_checked(name: str, operands: tuple[ir.Expr, ...]) -> Any:
    """The int that operation `name` makes, computed by the run, which fails with an OverflowError if it does not fit."""
    trace = Trace.current()
    known = trace.__dict__.setdefault("fitting", {})
    key = name, operands
    region, made = known.get(key, (None, None))
    if region is not None and trace.is_live(region):
        return made
    trace.site(NO_FIT)
    values = [strengthen(trace.builder.size(operand)) for operand in operands]
    wrapped = _apply(name, *values)
    trace.builder.check(_apply("logical_not", _FAILS[name](*values, wrapped)), ir.ErrorCode.OVERFLOW)
    made = symbolic(Scalar(wrapped), NO_FIT, ir.ErrorCode.OVERFLOW)
    known[key] = trace.region, made
    return made


def _fits(trace: Trace, expr: ir.Expr) -> bool:
    """Whether an expression is certain to fit, by its range, by a proof or by a guard."""
    symbols = trace.builder.symbols()
    low, high = trace.facts.fits_int64(expr, symbols)
    if low and high:
        return True
    plain = all(s in trace.sample or symbols.kind(s) == ir.SymbolKind.Loop for s in expr.symbols())
    known = [ir.Expr.symbol(s) for s in trace.sample if symbols.kind(s) != ir.SymbolKind.Stride]
    known = known[-_CANDIDATES:]
    most = [ir.Condition(ir.Relation.Le, expr, bound) for bound in (*known, ir.Expr(_GUARDED))]
    least = [ir.Condition(ir.Relation.Le, bound, expr) for bound in (ir.Expr(0), *known, ir.Expr(-_GUARDED))]
    try:
        sample = trace.evaluate(expr)
        if sample is not None and abs(sample) > _GUARDED:
            return False  # no guard then: the check of the run serves all numbers
        return (high or _holds(trace, most, plain)) and (low or _holds(trace, least, plain))
    except public.UserOverflowError:  # the sample itself does not fit
        return False


def _holds(trace: Trace, bounds: list[ir.Condition], guard: bool) -> bool:
    """Whether one of several bounds is proved, or the last one may be guarded."""
    if any(trace.facts.prove(bound) is True for bound in bounds):
        return True
    return guard and holds(bounds[-1]) is True


# -- what the run computes: whether an operation, wrapped to 64 bits, is wrong


def _apply(name: str, *operands: int) -> int:
    return int(Trace.current().builder.elementwise(OPS[name].op, list(operands)))


def _int(value: int) -> int:
    return strengthen(Trace.current().builder.size(ir.Expr(value)))


def _is_negative(value: int) -> int:
    return _apply("less", value, _int(0))


def _add(a: int, b: int, total: int) -> int:
    """The sum of two numbers of one sign has another sign."""
    return _is_negative(
        _apply("bitwise_and", _apply("bitwise_xor", a, total), _apply("bitwise_xor", b, total))
    )


def _subtract(a: int, b: int, difference: int) -> int:
    """The difference of two numbers of unlike signs has not the sign of the first."""
    return _is_negative(
        _apply("bitwise_and", _apply("bitwise_xor", a, b), _apply("bitwise_xor", a, difference))
    )


def _is_far(name: str) -> Callable[[int, int, int], int]:
    """The wrapped result is far from the float64 one: off by 2**64 at least, while rounding is off by 2**12 at most."""

    def fails(a: int, b: int, wrapped: int) -> int:
        cast = Trace.current().builder.cast
        rounded = _apply(name, cast(a, "float64"), cast(b, "float64"))
        distance = _apply("absolute", _apply("subtract", rounded, cast(wrapped, "float64")))
        return _apply("less", cast(_int(_GUARDED), "float64"), distance)

    return fails


def _is_smallest(a: int, _: int) -> int:
    return _apply("equal", a, _int(_SMALLEST))


def _floor_divide(a: int, b: int, _: int) -> int:
    return _apply("logical_and", _apply("equal", a, _int(_SMALLEST)), _apply("equal", b, _int(-1)))


def _left_shift(a: int, b: int, wrapped: int) -> int:
    """Shifting back does not give the number."""
    return _apply("not_equal", _apply("right_shift", wrapped, b), a)


_FAILS: dict[str, Callable[..., int]] = {
    "add": _add,
    "subtract": _subtract,
    "multiply": _is_far("multiply"),
    "power": _is_far("power"),
    "floor_divide": _floor_divide,
    "left_shift": _left_shift,
    "negative": _is_smallest,
    "absolute": _is_smallest,
}

"""Decisions over sizes: proof, then the sample with a guard, then a guard hoisted out of loops; else run time.

This is the only writer of guards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ferrule import _compiler as ir

from . import errors
from .trace import Trace

Eq, Ne, Lt, Le = ir.Relation.Eq, ir.Relation.Ne, ir.Relation.Lt, ir.Relation.Le
ZERO = ir.Expr(0)
ONE = ir.Expr(1)


def decide(condition: ir.Condition) -> bool:
    """The truth of a condition in this specialisation; raises NeedsRuntime where it changes within a call.

    Ahead of time, a condition on an int argument takes the general case, a positive one, as a precondition.
    """
    answer = holds(condition)
    if answer is None:
        answer = _recorded(condition, Trace.current().evaluate_generally)
    if answer is None:
        raise errors.NeedsRuntime(condition)
    return answer


def holds(condition: ir.Condition, precondition: bool = False) -> bool | None:
    """The truth of a condition in this specialisation; None where only the run knows it.

    precondition: ahead of time, what the sizes of the arguments say that stand in for all others may be one, though
    others are as good.
    """
    trace = Trace.current()
    known = trace.facts.prove(condition)
    if known is not None:
        return bool(known)
    condition = _canonical(trace, condition)
    if not precondition and is_open(trace, condition):
        return None
    answer = _recorded(condition, trace.evaluate)
    return _hoisted(trace, condition, precondition) if answer is None else answer


def is_open(trace: Trace, condition: ir.Condition) -> bool:
    """Ahead of time, whether large sizes meet a condition or not by which of them are the larger ones."""
    if not trace.annotated:
        return False
    expected = from_sample(trace, condition)
    symbols = {*condition.left.symbols(), *condition.right.symbols()}
    extents = [symbol for symbol in sorted(symbols) if _is_extent(trace, symbol)]
    if expected is None or not 1 < len(extents) <= len(_APART):
        return False
    for order in (extents, extents[::-1]):
        sizes = {**trace.sample, **dict(zip(order, _APART, strict=False))}
        sides = (trace.evaluate_for(sizes, side) for side in (condition.left, condition.right))
        if _compare(condition.relation, *sides) is not expected:
            return True
    return False


# Sizes that are far apart, without common factors.
_APART = (1009, 1000003, 1000000007)


def _is_extent(trace: Trace, symbol: int) -> bool:
    return bool(trace.builder.symbols().kind(symbol) == ir.SymbolKind.Extent)


def _canonical(trace: Trace, condition: ir.Condition) -> ir.Condition:
    left, right = trace.facts.canonical(condition.left), trace.facts.canonical(condition.right)
    return ir.Condition(condition.relation, left, right)


def _recorded(condition: ir.Condition, evaluate: Callable[[ir.Expr], int | None]) -> bool | None:
    """The truth of a condition for given values, kept as a guard; None where they do not tell."""
    trace = Trace.current()
    condition = _canonical(trace, condition)
    answer = _compare(condition.relation, evaluate(condition.left), evaluate(condition.right))
    if answer is not None:
        record(trace, condition if answer else condition.negate())
    return answer


def record(trace: Trace, condition: ir.Condition) -> None:
    """Makes a condition over entry values a guard of this specialisation."""
    condition = tidy(condition)
    if condition not in trace.guards:
        trace.guards.append(condition)
    trace.facts.assume(condition)
    # A size that its bounds leave one value for is that constant from then on.
    for symbol in (*condition.left.symbols(), *condition.right.symbols()):
        expr = ir.Expr.symbol(symbol)
        if symbol not in trace.sample or trace.facts.canonical(expr).constant is not None:
            continue
        only = ir.Condition(Eq, expr, ir.Expr(trace.sample[symbol]))
        if trace.facts.prove(only) is True:
            trace.guards.append(only)
            trace.facts.assume(only)


def tidy(condition: ir.Condition) -> ir.Condition:
    """The same condition with its constants on one side, as a person would write it."""
    left, right = condition.left, condition.right
    relation = condition.relation
    if relation in (Eq, Ne) and not _is_affine(right - left):
        return _tidy_products(condition)
    left, right = ZERO, right - left
    left, right = _negative_across(left, right)
    right, left = _negative_across(right, left)
    if left.constant is not None:
        left, right = _move(left, right)
        if relation == Lt:
            relation, left = Le, left + ONE
        if relation == Le and _at_ones(right) < 0:
            left, right = ZERO - right, ZERO - left
    elif right.constant is not None:
        right, left = _move(right, left)
        if relation == Lt:
            relation, right = Le, right - ONE
    else:
        shift = min(_constant_part(left), _constant_part(right), key=abs)
        left, right = left - ir.Expr(shift), right - ir.Expr(shift)
    if relation in (Eq, Ne) and left.constant is not None:
        left, right = right, left
    return ir.Condition(relation, left, right)


def _tidy_products(condition: ir.Condition) -> ir.Condition:
    """An equality of products or remainders: as it was written, or with its constant on the right."""
    left, right = condition.left, condition.right
    if left.constant is not None:
        left, right = right, left
    if right.constant is None and _constant_part(left) == _constant_part(right) == 0:
        return condition
    right, left = _move(ZERO, left - right)
    if _at_ones(left) < 0:
        left, right = ZERO - left, ZERO - right
    return ir.Condition(condition.relation, left, right)


def _is_affine(expr: ir.Expr) -> bool:
    parts = [expr.split(symbol) for symbol in expr.symbols()]
    return all(part is not None and part[0].constant is not None for part in parts)


def _at_ones(expr: ir.Expr) -> int:
    """The value where every symbol is 1: its sign is that of most coefficients."""
    return int(expr.evaluate([1] * (max(expr.symbols(), default=-1) + 1)))


def _negative_across(left: ir.Expr, right: ir.Expr) -> tuple[ir.Expr, ir.Expr]:
    """Both sides with the negative terms of the right one moved to the left one."""
    for symbol in right.symbols():
        parts = right.split(symbol)
        if parts is None or parts[0].constant is None or parts[0].constant >= 0:
            continue
        term = parts[0] * ir.Expr.symbol(symbol)
        left, right = left - term, right - term
    return left, right


def strongest(guards: Sequence[ir.Condition]) -> list[ir.Condition]:
    """The guards without bounds that a tighter bound of the same expression implies."""
    tightest: dict[tuple[str, ir.Expr], int] = {}
    for guard in guards:
        key, bound = _bound(guard)
        if key is not None:
            tightest[key] = max(tightest.get(key, bound), bound)

    fixed = {guard.left for guard in guards if guard.relation == Eq and guard.right.constant is not None}

    def is_tightest(guard: ir.Condition) -> bool:
        key, bound = _bound(guard)
        return key is None or (tightest[key] == bound and key[1] not in fixed)

    return [guard for guard in guards if is_tightest(guard)]


def _bound(guard: ir.Condition) -> tuple[tuple[str, ir.Expr] | None, int]:
    """What a guard bounds, and the bound so that larger is tighter; (None, 0) if it is no bound by a constant."""
    strict = int(guard.relation == Lt)
    if guard.relation in (Lt, Le) and guard.left.constant is not None:
        return ("low", guard.right), int(guard.left.constant) + strict
    if guard.relation in (Lt, Le) and guard.right.constant is not None:
        return ("high", guard.left), strict - int(guard.right.constant)
    return None, 0


def _move(constant: ir.Expr, other: ir.Expr) -> tuple[ir.Expr, ir.Expr]:
    shift = ir.Expr(_constant_part(other))
    return constant - shift, other - shift


def _constant_part(expr: ir.Expr) -> int:
    return int(expr.evaluate([0] * (max(expr.symbols(), default=-1) + 1)))


def from_sample(trace: Trace, condition: ir.Condition) -> bool | None:
    """The truth of a condition in the sample; None where that does not tell."""
    return _compare(condition.relation, trace.evaluate(condition.left), trace.evaluate(condition.right))


def _compare(relation: ir.Relation, left: int | None, right: int | None) -> bool | None:
    if left is None or right is None:
        return None
    return {Eq: left == right, Ne: left != right, Lt: left < right, Le: left <= right}[relation]


def _hoisted(trace: Trace, condition: ir.Condition, precondition: bool) -> bool | None:
    """Eliminates loop variables by their bounds: guards what suffices for every iteration."""
    relation = condition.relation
    difference = condition.right - condition.left
    low = trace.facts.lower_bound(difference)
    high = trace.facts.upper_bound(difference)
    if relation in (Lt, Le):
        least = ONE if relation == Lt else ZERO
        return _first(trace, [(True, least, low), (False, high, least - ONE)], precondition)
    answer = relation == Ne
    found = _first(trace, [(answer, ONE, low), (answer, high, ZERO - ONE)], precondition)
    if found is None and low is not None and high is not None and low == high:
        found = _first(trace, [(not answer, low, ZERO)], precondition, Eq)
    return found


def _first(
    trace: Trace,
    candidates: list[tuple[bool, ir.Expr | None, ir.Expr | None]],
    precondition: bool,
    relation: ir.Relation = Le,
) -> bool | None:
    for answer, left, right in candidates:
        if left is None or right is None:
            continue
        condition = ir.Condition(relation, left, right)
        if trace.facts.prove(condition) is True:
            return answer
        if from_sample(trace, condition) and (precondition or not is_open(trace, condition)):
            record(trace, condition)
            return answer
    return None


def is_equal(left: ir.Expr, right: ir.Expr) -> bool:
    """Whether two extents are equal here; extents known only at run time must be the same expression."""
    if left == right:
        return True
    trace = Trace.current()
    if trace.facts.prove_equal(left, right):
        return True
    return holds(ir.Condition(Eq, left, right)) is True


def check_equal(left: ir.Expr, right: ir.Expr, what: str) -> None:
    """The program traps where two extents that only the run knows differ.

    That they are equal is no fact: what is known about a finished program follows from its guards alone.
    """
    trace = Trace.current()
    trace.site(what)
    trace.builder.check(ir.Condition(Eq, left, right), ir.ErrorCode.SHAPE)


def is_one(extent: ir.Expr) -> bool:
    """Whether an extent is 1 here (so that it stretches)."""
    constant = extent.constant
    if constant is not None:
        return bool(constant == 1)
    trace = Trace.current()
    symbols = extent.symbols()
    if trace.evaluate(extent) == 1 and (len(symbols) > 1 or not _is_affine(extent)):
        # A product of sizes, or a maximum, is of use as 1 only where each of them is known.
        for symbol in symbols:
            is_equal(ir.Expr.symbol(symbol), ir.Expr(trace.sample[symbol]))
    return holds(ir.Condition(Eq, extent, ONE)) is True


def assume_equal(trace: Trace, left: ir.Expr, right: ir.Expr) -> bool:
    """Ahead of time, makes it a precondition that two extents are equal, if they may be; whether that is so."""
    if not trace.annotated or trace.facts.prove(ir.Condition(Eq, left, right)) is not None:
        return False
    if None in (trace.evaluate(left), trace.evaluate(right)):
        return False
    record(trace, ir.Condition(Eq, left, right))
    return True


def broadcast(shapes: Sequence[Sequence[ir.Expr]], refused: str) -> list[ir.Expr]:
    """The broadcast of shapes by NumPy's rule; `refused` begins the ValueError where they do not fit."""
    trace = Trace.current()
    rank = max((len(shape) for shape in shapes), default=0)
    result: list[ir.Expr] = []
    for axis in range(rank):
        extents = [shape[axis - rank + len(shape)] for shape in shapes if axis - rank + len(shape) >= 0]
        extents = [trace.facts.canonical(extent) for extent in extents]
        result.append(_broadcast_axis(trace, extents, shapes, refused))
    return result


def _broadcast_axis(
    trace: Trace, extents: list[ir.Expr], shapes: Sequence[Sequence[ir.Expr]], refused: str
) -> ir.Expr:
    result = ONE
    for extent in extents:
        if extent == result or extent.constant == 1:
            continue
        if result.constant == 1:
            result = extent
        elif assume_equal(trace, result, extent) or trace.facts.prove_equal(extent, result):
            continue
        else:
            # The sample picks the one rule that applies, so that no guard says what is not needed.
            values = trace.evaluate(extent), trace.evaluate(result)
            if (values[0] == values[1] and is_equal(result, extent)) or (values[0] == 1 and is_one(extent)):
                continue
            if values[1] == 1 and is_one(result):
                result = extent
                continue
            if None in values:
                # What is known to be 1 stretches; the check knows no stretching.
                if values[0] is not None and is_one(extent):
                    continue
                if values[1] is not None and is_one(result):
                    result = extent
                    continue
                check_equal(result, extent, "operands could not be broadcast together")
                continue
            if not trace.annotated:
                # The refusal, which may be a trap of a branch, is that of these sizes.
                is_equal(result, extent)
                is_one(result)
                is_one(extent)
            listed = " ".join(shape_text(trace, shape) for shape in shapes)
            raise errors.user_error(ValueError, f"{refused} {listed}")
    return trace.facts.canonical(result)


def shape_text(trace: Trace, shape: Sequence[ir.Expr]) -> str:
    """A shape as NumPy prints it, with the sample's extents where they are known; ahead of time, in symbols."""
    values = [None if trace.annotated else trace.evaluate(extent) for extent in shape]
    parts = [
        trace.text(extent) if value is None else str(value)
        for extent, value in zip(shape, values, strict=True)
    ]
    return "(" + ",".join(parts) + ("," if len(parts) == 1 else "") + ")"

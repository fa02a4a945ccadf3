"""Loops whose bounds or tests are traced: the body is traced as a region, once for all iterations.

Names that the body assigns are, in order of preference: unchanged (nothing is carried), counters (a closed form in the
loop variable), or carried, under a type found by fixed point. Where a name's type before the loop does not fit, the
first iteration is peeled off.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CellType, FunctionType
from typing import Any

import numpy as np

from ferrule import _compiler as ir

from . import errors, regions, state
from .containers import Snapshot
from .decide import holds
from .dispatch import Dispatcher, cells_of
from .state import UNDEFINED, read, write
from .trace import Trace
from .tracers import Array, Cond, Int, TracedIter, TracedRange, make_int, to_expr

UNROLLED = 16  # iterations of a range of Python ints that are traced one by one
PYTHON_LIMIT = 4096  # iterations of a while loop whose test is never traced, or of a loop that only Python can run
_INDEX = "__fr_index__"


class _Leaves(errors.Control):
    """The body may leave the loop: it has to be a while loop."""


class _Peel(errors.Control):
    """The first iteration must run on its own, because of `name`."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__()
        self.name = name
        self.message = message


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


def span_of(trace: Trace, iterable: Any) -> Span | None:
    """The span of an iteration of traced length, or of a long range; None for what Python iterates."""
    if isinstance(iterable, np.ndarray) and iterable.ndim:
        iterable = trace.constant_array(iterable)
    if isinstance(iterable, TracedRange):
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


def trace_for(
    dispatcher: Dispatcher,
    iterable: Any,
    body: FunctionType,
    names: tuple[str, ...],
    entry: tuple[str, ...],
    after: tuple[str, ...],
    stop: str | None,
) -> bool:
    """Traces a `for` loop as a region; False where Python should run it."""
    trace = Trace.current()
    span = span_of(trace, iterable)
    if span is None:
        return isinstance(iterable, range) and _unroll(trace, dispatcher, iterable, body, names, stop)
    loop = _For(trace, dispatcher, span, body, names, entry, after, stop)
    if not isinstance(iterable, range):
        loop.run()
        return True
    # Only Python can run a body that fills lists, say; then the loop is unrolled after all.
    before = read(loop.shared)
    depth, guards = trace.depth, len(trace.guards)
    try:
        loop.run()
    except errors.Abort:
        if len(iterable) > PYTHON_LIMIT or trace.depth != depth:
            raise
        write(loop.shared, before)
        del trace.guards[guards:]
        return False
    return True


def _unroll(
    trace: Trace, dispatcher: Dispatcher, iterable: range, body: FunctionType, names: tuple[str, ...], stop: str | None
) -> bool:
    outer = trace.__dict__.get("unrolled", 1)
    trace.__dict__["unrolled"] = outer * max(1, len(iterable))
    try:
        dispatcher.unrolled(iter(iterable), body, names, stop)
    finally:
        trace.__dict__["unrolled"] = outer
    return True


class _Loop:
    """What `for` and `while` share: the names around a body, and the search for their types."""

    def __init__(
        self,
        trace: Trace,
        pieces: tuple[FunctionType, ...],
        names: tuple[str, ...],
        entry: tuple[str, ...],
        after: tuple[str, ...],
        stop: str | None,
    ) -> None:
        self.trace = trace
        self.pieces = pieces
        self.stop = stop
        self.shared = cells_of(*pieces)
        self.cells = {name: self.shared[name] for name in names if name in self.shared}
        self.entry = frozenset(entry)
        self.after = frozenset(after)
        self.key = (pieces[-1].__code__, tuple(errors.locations()))
        self.kinds: dict[str, Any] = {}
        self.counters: dict[str, ir.Expr] = {}  # name -> step an iteration
        self.no_counters: set[str] = set()
        self.before: dict[str, Any] = {}
        self.initial: dict[str, tuple[Any, list[int]]] = {}

    def begin(self) -> None:
        """Notes the state before the loop, and takes up the types of an earlier trace that began alike."""
        self.before = read(self.cells)
        self.initial = {}
        known = regions.types_of(self.trace).get(self.key)
        if known is not None and all(_alike(known[0].get(name), value) for name, value in self.before.items()):
            self.kinds = {name: state.relate(kind, self.before[name]) for name, kind in known[1].items()}
            self.counters, self.no_counters = dict(known[2]), set(known[3])
        else:
            self.kinds, self.counters, self.no_counters = {}, {}, set()

    def settle(self) -> None:
        """Keeps the types for the next trace of this loop."""
        kinds = {name: None if value is UNDEFINED else state.kind_of(value) for name, value in self.before.items()}
        regions.types_of(self.trace)[self.key] = (kinds, dict(self.kinds), dict(self.counters), set(self.no_counters))

    def initial_values(self) -> list[int]:
        """The carried names before the loop, in the program; made before the body is traced, so that arrays which get
        a buffer here have it in the body too."""
        for name in self.kinds:
            if name not in self.initial or self.initial[name][0] != self.kinds[name]:
                made = state.passed(self.trace, self.kinds[name], self.before[name])
                self.initial[name] = (self.kinds[name], made)
        return [made for name in sorted(self.kinds) for made in self.initial[name][1]]

    def widen(self, name: str, value: Any) -> bool:
        """Makes the kind of a name hold a value; whether it did already."""
        old = self.kinds.get(name)
        kind = old
        if old is None:
            kind = state.widen(None, self.before[name])
            if kind is None and self.before[name] is not UNDEFINED:
                raise _Peel(name, self.unjoined(name, value))
        wide = state.widen(kind, value)
        if wide is None:
            raise _Peel(name, self.unjoined(name, value))
        self.kinds[name] = state.relate(wide, self.before[name])
        return old is not None and wide == old

    def unjoined(self, name: str, value: Any) -> str:
        line = state.line_of(self.pieces[-1], name)
        place = f" at line {line}" if line else ""
        return (
            f"{state.spoken(name)} is {state.describe(self.before[name])} before the loop and becomes"
            f" {state.describe(value)}{place} in it."
        )

    def unsettled(self) -> BaseException:
        names = ", ".join(state.spoken(name) for name in sorted(self.kinds))
        return errors.unsupported(
            f"The types of {names or 'the names that this loop assigns'} do not settle.", "Give each one type and shape."
        )


def _alike(kind: Any, value: Any) -> bool:
    if value is UNDEFINED or kind is None:
        return value is UNDEFINED and kind is None
    return bool(kind == state.kind_of(value))


def _is_int(value: Any) -> bool:
    return isinstance(value, Int) or (isinstance(value, int) and not isinstance(value, bool))


class _For(_Loop):
    """A loop over a span."""

    def __init__(
        self,
        trace: Trace,
        dispatcher: Dispatcher,
        span: Span,
        body: FunctionType,
        names: tuple[str, ...],
        entry: tuple[str, ...],
        after: tuple[str, ...],
        stop: str | None,
    ) -> None:
        super().__init__(trace, (body,), names, entry, after, stop)
        self.dispatcher = dispatcher
        self.span = span
        self.body = body

    def run(self) -> None:
        """Traces the loop and leaves the names as they are behind it."""
        peeled = False
        while True:
            if self.is_empty():
                return
            self.begin()
            try:
                for _ in range(regions.ATTEMPTS):
                    if self.attempt():
                        self.settle()
                        return
                raise self.unsettled()
            except _Leaves:
                self.reset()
                self.as_while()
                return
            except _Peel as peel:
                self.reset()
                if peeled or holds(self.span.nonempty()) is not True:
                    raise errors.unsupported(peel.message, "Give it the type that it has in the loop before it.") from None
                peeled = True
                if self.peel():
                    return

    def is_empty(self) -> bool:
        """Whether the loop has no iteration here; the sample decides where it is empty, and is guarded."""
        nonempty = self.span.nonempty()
        known = self.trace.facts.prove(nonempty)
        if known is None:
            left, right = self.trace.evaluate(nonempty.left), self.trace.evaluate(nonempty.right)
            if left is not None and right is not None and left >= right:
                known = holds(nonempty)
        return known is False

    def reset(self) -> None:
        write(self.cells, self.before)

    def peel(self) -> bool:
        """Runs the first iteration on its own; whether it left the loop."""
        self.body(self.span.item(make_int(self.span.lo)))
        self.span = self.span.rest()
        return self.stop is not None and self.cells[self.stop].cell_contents is True

    def attempt(self) -> bool:
        """Traces the body under the current types; False if they have changed."""
        trace = self.trace
        depth, guards = trace.depth, len(trace.guards)
        snapshot = Snapshot(self.body)
        initial = self.initial_values()
        symbol = trace.symbol("i", ir.SymbolKind.Loop, False)
        try:
            ids = trace.open_region(state.params(self.kinds))
            self.span.assume(trace, symbol)
            variable = ir.Expr.symbol(symbol)
            entering = self.enter(ids, variable)
            self.body(self.span.item(make_int(variable)))
            regions.refuse_changes(snapshot, "loop")
            leaving = read(self.cells)
            last = self.classify(entering, leaving, symbol)
            if last is not None:
                region = trace.close_region(state.all_passed(trace, self.kinds, leaving))
                trace.site()
                loop = trace.builder.for_loop(symbol, self.span.lo, self.span.hi, self.span.step, initial, region)
                self.leave(list(loop), last)
                return True
        except errors.Trapped as trapped:
            regions.drop(trace, depth, guards)
            snapshot.restore()
            regions.fail_if(self.span.nonempty(), trapped)
            self.reset()
            return True
        except errors.Retrace as request:
            regions.drop(trace, depth, guards)
            snapshot.restore()
            self.reset()
            regions.materialise(trace, request)
            self.initial = {}
            return False
        except BaseException:
            regions.drop(trace, depth, guards)
            snapshot.restore()
            raise
        regions.drop(trace, depth, guards)
        self.reset()
        return False

    def enter(self, ids: list[int], variable: ir.Expr) -> dict[str, Any]:
        """Sets the names as an iteration finds them."""
        values = {name: self.before[name] if name in self.entry else UNDEFINED for name in self.cells}
        for name, value in state.received(self.kinds, ids).items():
            if name in self.entry:
                values[name] = value
        for name, step in self.counters.items():
            values[name] = make_int(to_expr(self.before[name]) + step * self.span.iteration(variable))
        write(self.cells, values)
        return values

    def classify(self, entering: dict[str, Any], leaving: dict[str, Any], symbol: int) -> dict[str, Any] | None:
        """What the names that are not carried hold after the last iteration; None if the types have changed."""
        settled = True
        last: dict[str, Any] = {}
        if self.stop is not None and leaving[self.stop] is not False:
            raise _Leaves()
        for name in self.cells:
            value = leaving[name]
            if name in self.counters:
                step = self.counters[name]
                if _is_int(value) and self.canonical(to_expr(value) - to_expr(entering[name])) == step:
                    last[name] = make_int(to_expr(self.before[name]) + step * self.span.trips(self.trace))
                    continue
                del self.counters[name]
                self.no_counters.add(name)
                self.widen(name, value)
                settled = False
            elif name in self.kinds:
                settled = self.widen(name, value) and settled
            elif name not in self.entry:
                found = self.last_value(value, symbol) if name in self.after else UNDEFINED
                if found is None:
                    self.widen(name, value)
                    settled = False
                else:
                    last[name] = found
            elif state.same(entering[name], value):
                last[name] = self.before[name]
            elif self.is_counter(name, entering[name], value, symbol):
                self.counters[name] = self.canonical(to_expr(value) - to_expr(entering[name]))
                settled = False
            else:
                self.widen(name, value)
                settled = False
        return last if settled else None

    def canonical(self, expr: ir.Expr) -> ir.Expr:
        return self.trace.facts.canonical(expr)

    def is_counter(self, name: str, before: Any, after: Any, symbol: int) -> bool:
        if name in self.no_counters or not _is_int(before) or not _is_int(after):
            return False
        step = self.canonical(to_expr(after) - to_expr(before))
        return all(known < symbol for known in step.symbols())

    def last_value(self, value: Any, symbol: int) -> Any:
        """A value that needs no carrying, as it is after the last iteration; None if there is none.

        There must be an iteration: guarded, or else the name would be undefined or have its old value.
        """
        if value is UNDEFINED:
            return UNDEFINED
        if _is_int(value) and all(known <= symbol for known in to_expr(value).symbols()):
            if holds(self.span.nonempty()) is not True:
                return None
            final = self.span.lo + self.span.step * (self.span.trips(self.trace) - ir.Expr(1))
            return _Late(to_expr(value).substitute(symbol, final))
        return None

    def leave(self, results: list[int], last: dict[str, Any]) -> None:
        """Sets the names as they are behind the loop."""
        values = {name: make_int(value.expr) if isinstance(value, _Late) else value for name, value in last.items()}
        values.update(state.received(self.kinds, results))
        write(self.cells, {name: values.get(name, UNDEFINED) if name in self.after else UNDEFINED for name in self.cells})

    def as_while(self) -> None:
        """The loop with its index as one of the carried names, because the body may leave it."""
        index = CellType(make_int(self.span.lo))
        span, trace = self.span, self.trace

        def condition() -> ir.Condition:
            low, high = to_expr(index.cell_contents), span.hi
            return ir.Condition(ir.Relation.Lt, *((low, high) if span.ascending else (high, low)))

        def test() -> Any:
            return Cond(condition())

        def iterate() -> None:
            at = index.cell_contents
            first = ir.Condition(ir.Relation.Le, *((span.lo, to_expr(at)) if span.ascending else (to_expr(at), span.lo)))
            trace.facts.assume(first)
            self.body(span.item(at))
            index.cell_contents = make_int(to_expr(at) + span.step)

        loop = _While(trace, test, iterate, (self.body,), (), self.entry, self.after, self.stop)
        loop.cells = {**self.cells, _INDEX: index}
        loop.entry = self.entry | {_INDEX}
        loop.sized = True
        loop.run()


class _Late:
    """An int whose symbols are those of the region around, to be made there."""

    def __init__(self, expr: ir.Expr) -> None:
        self.expr = expr


def trace_while(
    dispatcher: Dispatcher,
    test: FunctionType,
    body: FunctionType,
    names: tuple[str, ...],
    entry: tuple[str, ...],
    after: tuple[str, ...],
    stop: str | None,
) -> None:
    """Traces a `while` loop: Python runs it until its test, or the flag that leaves it, is traced."""
    trace = Trace.current()
    loop = _While(trace, test, body, (test, body), names, entry, after, stop)
    for _ in range(PYTHON_LIMIT):
        if stop is not None:
            flag = loop.cells[stop].cell_contents
            if flag is True:
                return
            if flag is not False:
                break
        value = test()
        if _is_runtime(value):
            break
        if not value:
            return
        body()
    else:
        raise errors.unsupported(
            f"A while loop ran {PYTHON_LIMIT} times at capture without its test depending on an argument.",
            "Make the test depend on an argument or on data.",
        )
    loop.run()


def _is_runtime(value: Any) -> bool:
    from .tracers import is_traced

    return is_traced(value)


class _While(_Loop):
    """A loop with a traced test."""

    def __init__(
        self,
        trace: Trace,
        test: Callable[[], Any],
        body: Callable[[], Any],
        pieces: tuple[FunctionType, ...],
        names: tuple[str, ...],
        entry: Any,
        after: Any,
        stop: str | None,
    ) -> None:
        super().__init__(trace, pieces, names, entry, after, stop)
        self.test = test
        self.body = body
        self.sized = False  # the test compares sizes: a fact within the body

    def run(self) -> None:
        """Traces the loop and leaves the names as they are behind it."""
        self.begin()
        try:
            for _ in range(regions.ATTEMPTS):
                if self.attempt():
                    self.settle()
                    return
        except _Peel as peel:
            write(self.cells, self.before)
            raise errors.unsupported(peel.message, "Give it the type that it has in the loop before it.") from None
        raise self.unsettled()

    def attempt(self) -> bool:
        """Traces test and body under the current types; False if they have changed."""
        trace = self.trace
        depth, guards = trace.depth, len(trace.guards)
        snapshot = Snapshot(*self.pieces)
        initial = self.initial_values()
        try:
            test_region = self.trace_test()
            if test_region is not None:
                body_region = self.trace_body(snapshot)
                if body_region is not None:
                    trace.site()
                    results = trace.builder.while_loop(initial, test_region, body_region)
                    values = {**self.before, **state.received(self.kinds, list(results))}
                    write(self.cells, {n: v if n in self.after else UNDEFINED for n, v in values.items()})
                    return True
        except errors.Trapped:
            regions.drop(trace, depth, guards)
            raise errors.unsupported(
                "A while loop whose body always raises is not supported.", "Write an 'if' instead."
            ) from None
        except errors.Retrace as request:
            regions.drop(trace, depth, guards)
            snapshot.restore()
            write(self.cells, self.before)
            regions.materialise(trace, request)
            self.initial = {}
            return False
        except BaseException:
            regions.drop(trace, depth, guards)
            snapshot.restore()
            raise
        regions.drop(trace, depth, guards)
        write(self.cells, self.before)
        return False

    def enter(self, ids: list[int]) -> dict[str, Any]:
        values = {name: self.before[name] if name in self.entry else UNDEFINED for name in self.cells}
        values.update((n, v) for n, v in state.received(self.kinds, ids).items() if n in self.entry)
        write(self.cells, values)
        return values

    def tested(self) -> Any:
        """The test, and that nothing has left the loop, as True, False or what decides at run time."""
        from .dispatch import _truth

        if self.stop is None:
            return _truth(self.test())
        flag = _truth(self.cells[self.stop].cell_contents)
        if flag is False:
            return _truth(self.test())
        if flag is True:
            return False
        outcome = regions.choose(flag, lambda: False, lambda: self.test(), "The test of the loop")
        return _truth(outcome)

    def trace_test(self) -> ir.Region | None:
        trace = self.trace
        ids = trace.open_region(state.params(self.kinds))
        entering = self.enter(ids)
        outcome = self.tested()
        if any(not state.same(value, entering[name]) for name, value in read(self.cells).items()):
            raise errors.unsupported("An assignment in the test of a while loop is not supported.", "Assign in the body.")
        if self.stop is None:
            self.sized = isinstance(outcome, ir.Condition)
        flag = regions.flag_of(trace, outcome)
        return trace.close_region([flag])

    def trace_body(self, snapshot: Snapshot) -> ir.Region | None:
        trace = self.trace
        ids = trace.open_region(state.params(self.kinds))
        entering = self.enter(ids)
        if self.sized:
            fact = self.test()
            if isinstance(fact, Cond):
                trace.facts.assume(fact.condition)
        self.body()
        regions.refuse_changes(snapshot, "loop")
        leaving = read(self.cells)
        settled = True
        for name in self.cells:
            value = leaving[name]
            if name in self.kinds:
                settled = self.widen(name, value) and settled
            elif name not in self.entry:
                if name in self.after:
                    self.widen(name, value)
                    settled = False
            elif not state.same(entering[name], value):
                self.widen(name, value)
                settled = False
        if not settled:
            return None
        return trace.close_region(state.all_passed(trace, self.kinds, leaving))

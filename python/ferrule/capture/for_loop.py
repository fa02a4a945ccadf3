"""A `for` loop as a region: counters in closed form, peeling, and loops that the body may leave as `while` loops."""

from __future__ import annotations

from types import CellType, FunctionType
from typing import Any

from ferrule import _compiler as ir

from . import errors, found, regions, state, traps
from .containers import Snapshot
from .decide import holds
from .dispatch import Dispatcher
from .loop import Loop, Peel
from .loop_types import is_int
from .spans import Span
from .state import UNDEFINED, read, write
from .trace import Trace
from .tracers import Cond, make_int, to_expr
from .while_loop import While

_INDEX = "__fr_index__"


class _Leaves(errors.Control):
    """The body may leave the loop: it has to be a while loop."""


class For(Loop):
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
        self.iterated = span.item
        self.trips = ir.Expr(0)  # as they are known before the loop
        self.body = body

    def run(self) -> None:
        """Traces the loop and leaves the names as they are behind it."""
        peeled = wants_iteration = False
        leaves = found.of_place(self.trace, (self.place, "leaves"))
        while True:
            if self.is_empty():
                return
            self.begin(wants_iteration)
            if leaves:
                self.as_while()
                return
            try:
                self.search()
                return
            except _Leaves:
                leaves.append(True)
                self.reset()
                self.as_while()
                return
            except Peel as peel:
                self.types.peel = (peel.name, peel.message)
                wants_iteration = self.types.wants_iteration
                self.reset()
                if peeled or holds(self.span.nonempty()) is not True:
                    raise errors.unsupported(
                        peel.message, "Give it the type that it has in the loop before it."
                    ) from None
                peeled = True
                if self.peel():
                    return

    def search(self) -> None:
        """Traces the body until its types settle."""
        if self.types.peel is not None:
            raise Peel(*self.types.peel)
        for _ in range(regions.ATTEMPTS):
            if self.attempt():
                return
        raise self.unsettled()

    def is_empty(self) -> bool:
        """Whether the loop has no iteration here; the sample decides where it is empty, and is guarded. Ahead of time it does
        not: sizes stand for large ones, and a range(n, 4) is for small ones."""
        nonempty = self.span.nonempty()
        known = self.trace.facts.prove(nonempty)
        if known is None and not self.trace.annotated:
            left, right = self.trace.evaluate(nonempty.left), self.trace.evaluate(nonempty.right)
            if left is not None and right is not None and left >= right:
                known = holds(nonempty)
        return known is False

    def may_be_empty(self) -> bool:
        """Whether only the run knows if there is an iteration."""
        nonempty = self.span.nonempty()
        sizes = (nonempty.left, nonempty.right)
        return self.trace.facts.prove(nonempty) is None and None in map(self.trace.evaluate, sizes)

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
        if self.types.wants_iteration:
            holds(self.span.nonempty())
        self.has_iteration = trace.facts.prove(self.span.nonempty()) is True
        self.trips = self.span.trips(trace)
        snapshot = Snapshot(self.body)
        self.joins.begin()
        initial = self.initial_values()
        attempt = regions.Attempt(trace)
        symbol = trace.symbol("i", ir.SymbolKind.Loop, False)
        try:
            ids = trace.open_region(state.params(self.kinds))
            self.span.assume(trace, symbol)
            variable = ir.Expr.symbol(symbol)
            entering = self.enter(ids, variable)
            with trace.looping():
                self.body(self.span.item(make_int(variable)))
            regions.refuse_changes(snapshot, "loop")
            leaving = read(self.cells)
            self.refer_to(leaving)
            last = self.classify(entering, leaving, symbol)
            if last is not None:
                region = trace.close_region(self.yields(leaving))
                attempt.keep()
                trace.site()
                loop = trace.builder.for_loop(
                    symbol, self.span.lo, self.span.hi, self.span.step, initial, region
                )
                self.leave(list(loop), last, leaving)
                return True
        except errors.Trapped as trapped:
            attempt.drop(trapped)
            snapshot.restore()
            traps.fail_if(self.span.nonempty(), trapped)
            self.reset()
            return True
        except Exception as error:
            attempt.drop(error)
            snapshot.restore()
            ended = traps.as_trap(error) if self.may_be_empty() else None
            if ended is None:
                raise
            traps.fail_if(self.span.nonempty(), ended)
            self.reset()
            return True
        except errors.Retrace as request:
            attempt.drop()
            snapshot.restore()
            self.reset()
            self.types.materialise(trace, request, read(self.shared))
            self.initial = {}
            return False
        except BaseException:
            attempt.drop()
            snapshot.restore()
            raise
        attempt.drop()
        self.reset()
        return False

    def enter(self, ids: list[int], variable: ir.Expr) -> dict[str, Any]:
        """Sets the names as an iteration finds them."""
        values = {name: self.before[name] if name in self.entry else UNDEFINED for name in self.cells}
        for name, value in state.received(self.kinds, ids, entering=True).items():
            if name in self.entry:
                values[name] = value
        for name, step in self.counters.items():
            values[name] = make_int(to_expr(self.before[name]) + step * self.span.iteration(variable))
        write(self.cells, values)
        self.assume_least(values)
        self.entering = values
        return values

    def classify(
        self, entering: dict[str, Any], leaving: dict[str, Any], symbol: int
    ) -> dict[str, Any] | None:
        """What the names that are not carried hold after the last iteration; None if the types have changed."""
        settled = True
        last: dict[str, Any] = {}
        if self.stop is not None and leaving[self.stop] is not False:
            raise _Leaves()
        for name in self.cells:
            value = leaving[name]
            if self.needs_iteration(name, value):
                self.types.wants_iteration = True
                settled = False
            elif name in self.counters:
                step = self.counters[name]
                if is_int(value) and self.canonical(to_expr(value) - to_expr(entering[name])) == step:
                    last[name] = make_int(to_expr(self.before[name]) + step * self.trips)
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
        if (
            settled
            and not self.has_iteration
            and not self.types.wants_iteration
            and any(map(self.retypes, self.kinds))
        ):
            self.types.wants_iteration = True
            settled = False
        return last if settled and self.keeps_least(leaving) else None

    def needs_iteration(self, name: str, value: Any) -> bool:
        """Whether the code behind reads a name that only an iteration sets, and none is certain yet."""
        if self.has_iteration or self.types.wants_iteration:
            return False
        if name in self.entry or self.keeps_old(name):
            return False
        return name in self.after and value is not UNDEFINED

    def keeps_old(self, name: str) -> bool:
        """Whether a name has its value from before the loop where there is no iteration, which ahead of time may be so."""
        return self.trace.annotated and self.before[name] is not UNDEFINED

    def canonical(self, expr: ir.Expr) -> ir.Expr:
        return self.trace.facts.canonical(expr)

    def is_counter(self, name: str, before: Any, after: Any, symbol: int) -> bool:
        if name in self.no_counters or not is_int(before) or not is_int(after):
            return False
        step = self.canonical(to_expr(after) - to_expr(before))
        return self.is_invariant(step, symbol)

    def is_invariant(self, expr: ir.Expr, symbol: int) -> bool:
        """Whether an expression is the same in each iteration."""
        older = all(known < symbol for known in expr.symbols())
        return older and not any(self.joins.owns(ir.Expr.symbol(known)) for known in expr.symbols())

    def last_value(self, value: Any, symbol: int) -> Any:
        """A value that needs no carrying, as it is after the last iteration; None if there is none.

        There must be an iteration, or else the name would be undefined or have its old value. What is known in the body says
        nothing of that.
        """
        if value is UNDEFINED:
            return UNDEFINED
        if not self.has_iteration or not is_int(value):
            return None
        final = self.span.lo + self.span.step * (self.trips - ir.Expr(1))
        late = to_expr(value).substitute(symbol, final)
        return _Late(late) if self.is_invariant(late, symbol) else None

    def leave(self, results: list[int], last: dict[str, Any], leaving: dict[str, Any]) -> None:
        """Sets the names as they are behind the loop; leaving: as an iteration left them."""
        values = {
            name: make_int(value.expr) if isinstance(value, _Late) else value for name, value in last.items()
        }
        values.update(self.carried_out(results, leaving))
        self.leave_least(values)
        write(
            self.cells,
            {name: values.get(name, UNDEFINED) if name in self.after else UNDEFINED for name in self.cells},
        )

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
            first = ir.Condition(
                ir.Relation.Le, *((span.lo, to_expr(at)) if span.ascending else (to_expr(at), span.lo))
            )
            traps.assume_but_equality(trace, first)
            self.body(span.item(at))
            index.cell_contents = make_int(to_expr(at) + span.step)

        loop = While(trace, test, iterate, (self.body,), (), self.entry, self.after, self.stop)
        loop.cells = {**self.cells, _INDEX: index}
        loop.entry = self.entry | {_INDEX}
        loop.place = (self.place, "while")
        loop.iterated = span.item
        loop.sized = True
        loop.run()


class _Late:
    """An int whose symbols are those of the region around, to be made there."""

    def __init__(self, expr: ir.Expr) -> None:
        self.expr = expr

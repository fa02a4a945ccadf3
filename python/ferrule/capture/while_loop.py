"""A `while` loop as two regions, the test and the body."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from ferrule import _compiler as ir

from . import errors, regions, state, traps
from .containers import Snapshot
from .decide import holds
from .loop import Loop, Peel
from .state import UNDEFINED, read, write
from .trace import Trace
from .tracers import Cond
from .truth import truth


class While(Loop):
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
        self.leaving: dict[str, Any] = {}  # the names as an iteration left them
        self.asked = False  # whether the loop begins with an iteration

    def run(self) -> None:
        """Traces the loop and leaves the names as they are behind it."""
        self.begin()
        try:
            for _ in range(regions.ATTEMPTS):
                if self.types.wants_iteration and not self.asked:
                    self.asked = True
                    first = self.test()
                    known = holds(first.condition) if isinstance(first, Cond) else first
                    if known is False:
                        return
                    self.has_iteration = known is True
                if self.attempt():
                    return
        except Peel as peel:
            write(self.cells, self.before)
            raise errors.unsupported(
                peel.message, "Give it the type that it has in the loop before it."
            ) from None
        raise self.unsettled()

    def attempt(self) -> bool:
        """Traces test and body under the current types; False if they have changed."""
        trace = self.trace
        snapshot = Snapshot(*self.pieces)
        self.joins.begin()
        initial = self.initial_values()
        attempt = regions.Attempt(trace)
        try:
            test_region = self.trace_test()
            if test_region is not None:
                body_region = self.trace_body(snapshot)
                if isinstance(body_region, errors.Trapped):
                    attempt.drop(body_region)
                    snapshot.restore()
                    write(self.cells, self.before)
                    self.fail(body_region)
                    return True
                if body_region is not None:
                    attempt.keep()
                    trace.site()
                    results = trace.builder.while_loop(initial, test_region, body_region)
                    self.leave({**self.before, **self.carried_out(list(results), self.leaving)})
                    return True
        except errors.Retrace as request:
            attempt.drop()
            snapshot.restore()
            write(self.cells, self.before)
            self.types.materialise(trace, request, read(self.shared))
            self.initial = {}
            return False
        except BaseException as error:
            attempt.drop(error)
            snapshot.restore()
            raise
        attempt.drop()
        write(self.cells, self.before)
        return False

    def leave(self, values: dict[str, Any]) -> None:
        """Sets the names as they are behind the loop, where its test is false."""
        write(self.cells, values)
        self.leave_least(values)
        ended = self.test() if self.sized and self.stop is None else None
        if isinstance(ended, Cond):
            traps.assume_but_equality(self.trace, ended.condition.negate())
        write(self.cells, {n: v if n in self.after else UNDEFINED for n, v in values.items()})

    def enter(self, ids: list[int]) -> dict[str, Any]:
        values = {name: self.before[name] if name in self.entry else UNDEFINED for name in self.cells}
        values.update(
            (n, v) for n, v in state.received(self.kinds, ids, entering=True).items() if n in self.entry
        )
        write(self.cells, values)
        self.assume_least(values)
        self.entering = values
        return values

    def tested(self) -> Any:
        """The test, and that nothing has left the loop, as True, False or what decides at run time."""
        if self.stop is None:
            return truth(self.test())
        flag = truth(self.cells[self.stop].cell_contents)
        if flag is False:
            return truth(self.test())
        if flag is True:
            return False
        outcome = regions.choose(flag, lambda: False, lambda: self.test(), "The test of the loop")
        return truth(outcome)

    def trace_test(self) -> ir.Region | None:
        trace = self.trace
        ids = trace.open_region(state.params(self.kinds))
        entering = self.enter(ids)
        outcome = self.tested()
        if any(not state.same(value, entering[name]) for name, value in read(self.cells).items()):
            raise errors.unsupported(
                "An assignment in the test of a while loop is not supported.", "Assign in the body."
            )
        if self.stop is None:
            self.sized = isinstance(outcome, (ir.Condition, bool))
        flag = traps.flag_of(trace, outcome)
        return trace.close_region([flag])

    def fail(self, trapped: errors.Trapped) -> None:
        """The loop whose first iteration traps."""
        test = self.tested()
        if test is True:
            raise trapped if self.trace.depth else trapped.error
        if test is not False:
            traps.fail_if(test, trapped)

    def trace_body(self, snapshot: Snapshot) -> ir.Region | errors.Trapped | None:
        """The region of the body under the current types; None if they have changed, the trap if it ends in one."""
        try:
            return self.try_body(snapshot)
        except errors.Trapped as trapped:
            return trapped
        except Exception as error:
            ended = traps.as_trap(error)
            if ended is None:
                raise
            return ended

    def try_body(self, snapshot: Snapshot) -> ir.Region | None:
        trace = self.trace
        ids = trace.open_region(state.params(self.kinds))
        entering = self.enter(ids)
        if self.sized:
            fact = self.test()
            if isinstance(fact, Cond):
                traps.assume_but_equality(trace, fact.condition)
        with trace.looping():
            self.body()
        regions.refuse_changes(snapshot, "loop")
        leaving = read(self.cells)
        self.refer_to(leaving)
        settled = True
        for name in self.cells:
            value = leaving[name]
            if name in self.kinds:
                settled = self.widen(name, value) and settled
            elif name not in self.entry:
                if name in self.after and not (value is UNDEFINED and self.before[name] is UNDEFINED):
                    if self.sized and not self.asked and self.before[name] is UNDEFINED:
                        self.types.wants_iteration = True
                    else:
                        self.widen(name, value)
                    settled = False
            elif not state.same(entering[name], value):
                self.widen(name, value)
                settled = False
        if settled and self.sized and not self.asked and any(map(self.retypes, self.kinds)):
            self.types.wants_iteration = True
            settled = False
        if not (settled and self.keeps_least(leaving)):
            return None
        self.leaving = leaving
        return trace.close_region(self.yields(leaving))

"""What `for` and `while` regions share: the names around a body, and the search for the types that they are carried as."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from ferrule import _compiler as ir

from . import errors, found, joined_arrays, state
from .carry import Carry
from .dispatch import cells_of
from .entry import Entry
from .loop_types import LoopTypes, is_int
from .state import UNDEFINED, read
from .trace import Trace
from .tracers import Array, to_expr


class Peel(errors.Control):
    """The first iteration must run on its own, because of `name`."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__()
        self.name = name
        self.message = message


class Loop:
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
        self.place = found.place_of(pieces[-1].__code__)
        self.iterated: Any = None  # gives the items that it runs over
        self.before: dict[str, Any] = {}
        self.entering: dict[str, Any] = {}  # as an iteration finds them
        self.initial: dict[str, tuple[Any, list[int]]] = {}
        self.has_iteration = False

    def begin(self, wants_iteration: bool = False) -> None:
        """Notes the state before the loop, and takes up what was found in one that is within it."""
        self.before = read(self.cells)
        self.initial = {}
        values = {**read(self.shared), **self.before, "__fr_iterated__": self.iterated}
        entry = Entry(self.trace, values, frozenset(self.cells) - self.entry)
        self.types = LoopTypes(self.trace, entry, self.before)
        self.types.wants_iteration = wants_iteration
        recalled = found.recall(self.trace, self.place, entry)
        if recalled is not None:
            self.types.take_up(*recalled)
            self.types.give_buffers(self.trace, recalled[0], values)
        found.keep(self.trace, self.place, self.types, recalled[0] if recalled and recalled[2] else None)
        self.kinds, self.joins = self.types.kinds, self.types.joins
        self.counters, self.no_counters = self.types.counters, self.types.no_counters

    def assume_least(self, values: dict[str, Any]) -> None:
        """Assumes of carried ints that they keep the sign they begin with; `keeps_least` proves it of the next values."""
        for name, kind in self.kinds.items():
            if isinstance(kind, Carry) and kind.kind == "int" and is_int(values[name]):
                if name not in self.types.least:
                    before = self.before[name]
                    self.types.least[name] = next(
                        (
                            n
                            for n in (1, 0)
                            if self.types.can_be_least(name, n)
                            and is_int(before)
                            and self.is_least(n, before)
                        ),
                        None,
                    )
                least = self.types.least[name]
                if least is not None:
                    self.trace.facts.assume(_not_below(least, values[name]))

    def keeps_least(self, values: dict[str, Any]) -> bool:
        """Whether the values after an iteration are what `assume_least` assumes before it; else it assumes less."""
        settled = True
        for name, least in self.types.least.items():
            if least is not None and not (is_int(values[name]) and self.is_least(least, values[name])):
                self.types.least[name] = 0 if least == 1 and self.is_least(0, self.before[name]) else None
                settled = False
        return settled

    def leave_least(self, values: dict[str, Any]) -> None:
        """The same of the values behind the loop, where it holds without an iteration too."""
        for name, least in self.types.least.items():
            if least is not None and is_int(values[name]) and self.is_least(least, self.before[name]):
                self.trace.facts.assume(_not_below(least, values[name]))

    def is_least(self, least: int, value: Any) -> bool:
        return self.trace.facts.prove(_not_below(least, value)) is True

    def initial_values(self) -> list[int]:
        """The carried names before the loop, in the program; made before the body is traced, so that arrays which get
        a buffer here have it in the body too."""
        with self.trace.joining(self.joins):
            for name in self.kinds:
                self.refer(name)
                self.kinds[name] = state.relate(self.kinds[name], self.before[name], True)
                if name not in self.initial or self.initial[name][0] != self.kinds[name]:
                    made = state.passed(self.trace, self.kinds[name], self.before[name])
                    self.initial[name] = (self.kinds[name], made)
        return [made for name in sorted(self.kinds) for made in self.initial[name][1]]

    def yields(self, values: dict[str, Any]) -> list[int]:
        """The carried names after an iteration, in the program."""
        with self.trace.joining(self.joins):
            return state.all_passed(self.trace, self.kinds, values)

    def refer_to(self, leaving: dict[str, Any]) -> None:
        """At the end of an iteration: arrays are carried by reference where a write or another name needs it."""
        joined_arrays.refer(self.trace, self.place, leaving.values())
        joined_arrays.share(self.kinds, leaving)

    def carried_out(self, results: list[int], leaving: dict[str, Any]) -> dict[str, Any]:
        """The carried names behind the loop."""
        received = state.received(self.kinds, results)
        ways = self.before, leaving
        joined_arrays.joined(self.place, received, ways)
        joined_arrays.joined(self.place, {name: self.entering[name] for name in self.kinds}, ways)
        return received

    def refer(self, name: str) -> None:
        """Carries an array by reference that another variable holds too: without an iteration they stay one array."""
        kind, before = self.kinds[name], self.before[name]
        if not isinstance(before, Array) or not isinstance(kind, Carry) or kind.kind != "array_value":
            return
        storage = before.storage
        others = (array for holder, array in joined_arrays.held() if holder != name)
        if storage.pure and any(array.storage is storage for array in others):
            storage.make_buffer()

    def widen(self, name: str, value: Any) -> bool:
        """Makes the kind of a name hold a value; whether it did already."""
        with self.trace.joining(self.joins):
            return self._widen(name, value)

    def _widen(self, name: str, value: Any) -> bool:
        old = kind = self.kinds.get(name)
        # A name that every iteration sets needs no value before the loop if there is an iteration.
        before = self.before[name]
        needless = before is UNDEFINED and name not in self.entry and self.has_iteration
        if not needless and (old is None or before is UNDEFINED):
            kind = state.widen(old, before, name)
        wide = state.widen(kind, value, name)
        if wide is None:
            raise Peel(name, self.unjoined(name, value))
        if before is UNDEFINED:
            wide = state.placeable(wide)
        self.kinds[name] = state.relate(wide, self.before[name])
        return old is not None and wide == old

    def retypes(self, name: str) -> bool:
        """Whether a number has another type behind the loop than before it, which without an iteration it has not."""
        before = self.before[name]
        if name not in self.after or name not in self.kinds or before is UNDEFINED or self.trace.annotated:
            return False
        pairs = zip(state.leaves(self.kinds[name]), state.leaves(state.kind_of(before)), strict=False)
        return any({a.kind, b.kind} <= {"int", "scalar"} and a != b for a, b in pairs)

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
            f"The types of {names or 'the names that this loop assigns'} do not settle.",
            "Give each one type and shape.",
        )


def _not_below(least: int, value: Any) -> ir.Condition:
    return ir.Condition(ir.Relation.Le, ir.Expr(least), to_expr(value))

"""The types that a loop carries names as: what the search for them has found, to begin with in a wider state."""

from __future__ import annotations

from typing import Any

from ferrule import _compiler as ir

from . import found, state
from .entry import Entry
from .joins import Joins
from .later_sizes import Sizes
from .state import UNDEFINED, Option
from .trace import Trace
from .tracers import Int


class LoopTypes(found.Found):
    """The search for the types of one loop that is entered in one state."""

    def __init__(self, trace: Trace, entry: Entry, before: dict[str, Any]) -> None:
        super().__init__(entry)
        self.trace = trace
        self.before = before
        self.kinds: dict[str, Any] = {}
        self.counters: dict[str, ir.Expr] = {}  # name -> step an iteration
        self.no_counters: set[str] = set()
        self.joins = Joins(trace.builder)
        self.least: dict[str, int | None] = {}  # name of a carried int -> what it never falls below
        self.at_most: dict[str, int | None] = {}  # what a narrower state left of these
        # Whether the trace behind the loop rests on an iteration: asked for outside of the body, where it is no fact.
        self.wants_iteration = False
        self.peel: tuple[str, str] | None = None  # the name and message of a Peel

    def by_type(self) -> frozenset[str]:
        return frozenset(self.kinds) | frozenset(self.counters)

    def take_up(self, known: LoopTypes, sizes: Sizes, is_same: bool) -> None:
        """Begins with what was found in a state that is within this one, or is the same."""
        kinds = {}
        with self.trace.joining(self.joins):
            for name, kind in known.kinds.items():
                before = self.before[name]
                if before is not UNDEFINED and known.before[name] is UNDEFINED and isinstance(kind, Option):
                    return  # there was no value, and now there always is one
                begun = self._taken_up(known, sizes, name)
                if begun is not None:
                    kinds[name] = state.relate(begun, before)
        self.kinds.update(kinds)
        for name, step in known.counters.items():
            now = sizes.now(step)
            if now is not None and is_int(self.before[name]):
                self.counters[name] = now
        self.no_counters |= known.no_counters
        self.at_most = {**known.at_most, **known.least}
        # A wider state may hold before the loop what in the other one an iteration gave.
        self.wants_iteration = self.wants_iteration or (is_same and known.wants_iteration)
        self.peel = known.peel

    def _taken_up(self, known: LoopTypes, sizes: Sizes, name: str) -> Any:
        before = self.before[name]
        first = None if before is UNDEFINED else state.kind_of(before)
        kind = found.taken_up(known.kinds[name], sizes, known.joins, self.joins, first)
        return kind if kind is None or before is UNDEFINED else state.unite(kind, first)

    def can_be_least(self, name: str, least: int) -> bool:
        """Whether a carried int may turn out never to fall below a number."""
        most = self.at_most.get(name, least)
        return most is not None and least <= most


def is_int(value: Any) -> bool:
    """Whether a value is a Python int, known or not."""
    return isinstance(value, Int) or (isinstance(value, int) and not isinstance(value, bool))

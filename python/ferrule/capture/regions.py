"""Branches that are decided at run time: both sides are traced as regions and what they leave behind is joined.

Types are found by trying: a side is traced under a guess of which names are carried and as what; where the sides
disagree, both are dropped, the guess widens, and they are traced again. What was found is where the next trace of the
place begins (see found.py).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import CellType
from typing import Any

from ferrule import _compiler as ir
from ferrule import errors as public

from . import errors, found, joined_arrays, state, traps
from .containers import Snapshot
from .decide import decide, from_sample
from .dispatch import cells_of
from .entry import Entry
from .joins import ANY, Joins
from .later_sizes import Sizes
from .state import read, write
from .trace import Trace
from .truth import implied

ATTEMPTS = 24


class Attempt:
    """A trace of regions that may be dropped, with the guards and facts that it took."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.depth = trace.depth
        self.guards = len(trace.guards)
        self.ended = False
        trace.push_facts()

    def drop(self, error: BaseException | None = None) -> None:
        """Closes and forgets the regions and guards; nothing if the attempt has ended.

        Equalities stay: types may rest on them already. So does what an error of the user's rests on, which may be a trap
        of the program.
        """
        if self.ended:
            return
        self.ended = True
        guards = self.trace.guards
        if not isinstance(error, (errors.Trapped, Exception)):
            guards[self.guards :] = [
                guard for guard in guards[self.guards :] if guard.relation == ir.Relation.Eq
            ]
        while self.trace.depth > self.depth:
            self.trace.close_region([])
        self.trace.pop_facts()

    def keep(self) -> None:
        """Ends the attempt; what it did stands."""
        self.ended = True
        self.trace.pop_facts()


class _Types(found.Found):
    """What the traces of a branch have found that was entered in one state."""

    def __init__(self, trace: Trace, place: Hashable, entry: Entry, values: Mapping[str, Any]) -> None:
        super().__init__(entry)
        self.place = place
        self.values = values  # of the names that its sides share
        self.guess: dict[str, Any] = {}
        self.joins = Joins(trace.builder)
        self.first = 0  # the side to trace first: one that traps ends the other's trace
        self.is_general = False  # the sides do not join

    def by_type(self) -> Container[str]:
        return self.values  # whether types fit is looked at

    def take_up(self, known: _Types, sizes: Sizes) -> None:
        """Begins with what was found in another state."""
        for name, kind in known.guess.items():
            begun = found.taken_up(kind, sizes, known.joins, self.joins)
            if begun is not None:
                self.guess[name] = begun


# -- branches --------------------------------------------------------------------------------------------------------------


def branch(
    test: Any,
    then: Callable[[], Any] | None,
    orelse: Callable[[], Any] | None,
    names: tuple[str, ...],
    cells: Mapping[str, CellType] | None = None,
) -> None:
    """The statement `if` on a test that is decided at run time; `names` are needed behind it."""
    shared = cells if cells is not None else cells_of(then, orelse)
    assigned = {name: cell for name, cell in shared.items() if name in names}
    before = read(shared)

    def run(piece: Callable[[], Any] | None) -> Callable[[], dict[str, Any]]:
        def side() -> dict[str, Any]:
            if piece is not None:
                piece()
            return read(assigned)

        return side

    pieces = (then, orelse)
    types = _begun(getattr(then or orelse, "__code__", None), before, None if cells is None else pieces)
    result = _two_way(test, (run(then), run(orelse)), pieces, types, lambda: write(shared, before), "")
    write(shared, {**before, **result})


def choose(test: Any, then: Callable[[], Any], orelse: Callable[[], Any], what: str) -> Any:
    """The value of one of two expressions, by a test that is decided at run time."""

    def run(operand: Callable[[], Any]) -> Callable[[], dict[str, Any]]:
        return lambda: {"": operand()}

    pieces = (then, orelse)
    types = _begun(then.__code__, read(cells_of(*pieces)), pieces)
    return _two_way(test, (run(then), run(orelse)), pieces, types, lambda: None, what)[""]


def _begun(code: Any, values: dict[str, Any], pieces: Any) -> _Types:
    """The search for the types of a branch, with what is known of it; `pieces` that are not the rewrite's refer to more than
    the names that they share."""
    trace = Trace.current()
    place, entry = found.place_of(code), Entry(trace, {**values, "__fr_pieces__": pieces})
    types = _Types(trace, place, entry, values)
    recalled = found.recall(trace, place, entry)
    if recalled is not None:
        known, sizes, _ = recalled
        types.take_up(known, sizes)
        types.first = known.first
        types.is_general = known.is_general and known.entry.within(entry) is not None
        types.give_buffers(trace, known, values)
    else:
        # Other ways through it have its types as a rule; whether they fit is looked at.
        for known in found.of_place(trace, place)[-1:]:
            types.take_up(known, known.entry.beside(entry))
    return found.keep(trace, place, types, recalled[0] if recalled and recalled[2] else None)


@dataclass
class _Side:
    """One side of a branch that was traced under the current guess."""

    values: dict[str, Any]
    kinds: dict[str, Any]  # of values whose memory ends with the region, taken while it was open
    region: ir.Region

    def kind(self, name: str) -> Any:
        """How the value of a name is carried out; None where it need not be."""
        return self.kinds[name] if name in self.kinds else state.needed(self.values[name], name)


def _two_way(
    test: Any,
    sides: tuple[Callable[[], dict[str, Any]], Callable[[], dict[str, Any]]],
    pieces: tuple[Any, Any],
    types: _Types,
    reset: Callable[[], None],
    what: str,
) -> dict[str, Any]:
    if not types.is_general:
        try:
            return _joined(test, sides, pieces, types, reset, what)
        except errors.Abort as refused:
            # Ahead of time: sides that do not join leave the general one, with a precondition.
            is_general = isinstance(test, ir.Condition) and from_sample(Trace.current(), test) is not None
            if not is_general or not isinstance(refused.error, public.Unsupported):
                raise
        types.is_general = True
    reset()
    return sides[0 if decide(test) else 1]()


def _joined(
    test: Any,
    sides: tuple[Callable[[], dict[str, Any]], Callable[[], dict[str, Any]]],
    pieces: tuple[Any, Any],
    types: _Types,
    reset: Callable[[], None],
    what: str,
) -> dict[str, Any]:
    trace = Trace.current()
    condition = traps.as_test(test)
    joins = types.joins
    recalled = bool(types.guess)
    for _ in range(ATTEMPTS):
        guess = types.guess
        attempt = Attempt(trace)
        sides_traced: dict[int, _Side] = {}
        for index in (types.first, 1 - types.first):
            reset()
            outcome = _trace_side(attempt, test, index == 1, sides[index], types, pieces)
            if not isinstance(outcome, _Side):
                break
            sides_traced[index] = outcome
        if isinstance(outcome, errors.Trapped):
            # The other side follows without a region: it is all that is left.
            types.first = index
            reset()
            traps.require(trace, test, index == 0, outcome.site, outcome.code)
            return sides[1 - index]()
        if isinstance(outcome, errors.Retrace):
            reset()
            types.materialise(trace, outcome, types.values)
            continue
        if outcome is None:
            continue
        traced = [sides_traced[0], sides_traced[1]]
        if recalled and not _is_exact(guess, joins, traced):
            # Another way through this place had other types; these must not depend on it.
            attempt.drop()
            types.guess, recalled = {}, False
            continue
        with trace.joining(joins):
            joined = _join(guess, traced, pieces, what)
        if joined is None:
            attempt.drop()
            continue
        attempt.keep()
        trace.site()
        results = trace.builder.if_else(condition, traced[0].region, traced[1].region)
        received = state.received(guess, list(results))
        joined_arrays.joined(types.place, received, [side.values for side in traced])
        return {**joined, **received}
    raise errors.unsupported(
        "The types of the names that this branch assigns do not settle.", "Give each one type on both sides."
    )


def _trace_side(
    attempt: Attempt,
    test: Any,
    negated: bool,
    side: Callable[[], dict[str, Any]],
    types: _Types,
    pieces: tuple[Any, Any],
) -> _Side | errors.Trapped | errors.Retrace | None:
    """Traces one side. Otherwise the attempt is dropped: the side traps, or something needs a buffer first, or (None)
    its guess has widened."""
    trace, guess, joins = attempt.trace, types.guess, types.joins
    snapshot = Snapshot(*pieces)
    trace.open_region([])
    try:
        with _sampled(trace, test, negated):
            values = side()
        refuse_changes(snapshot, "branch")
        joined_arrays.refer(trace, types.place, values.values())
        joined_arrays.share(guess, values)
        with trace.joining(joins):
            if _widens(guess, joins, values, pieces):
                attempt.drop()
                return None
            kinds = {name: state.needed(value, name) for name, value in values.items() if state.ends(value)}
            yields = state.all_passed(trace, guess, values)
        return _Side(values, kinds, trace.close_region(yields))
    except (errors.Trapped, errors.Retrace) as ended:
        attempt.drop(ended)
        snapshot.restore()
        return ended
    except Exception as error:
        attempt.drop(error)
        trapped = traps.as_trap(error)
        if trapped is None:
            raise
        snapshot.restore()
        return trapped
    except BaseException:
        attempt.drop()
        raise


@contextmanager
def _sampled(trace: Trace, test: Any, negated: bool) -> Iterator[None]:
    """A side of a branch, with what is known of sizes there. Where the sample takes the other side it says nothing."""
    if not isinstance(test, ir.Condition):
        for condition in implied(test, not negated):
            trace.site()
            trace.builder.check(
                condition, ir.ErrorCode.SHAPE
            )  # certain here, and known to who reads the program
            trace.facts.assume(condition)
        yield
        return
    condition = test.negate() if negated else test
    trace.facts.assume(condition)
    beside = from_sample(trace, condition) is False
    trace.beside_sample += beside
    try:
        yield
    finally:
        trace.beside_sample -= beside


def _widens(guess: dict[str, Any], joins: Joins, values: dict[str, Any], pieces: tuple[Any, Any]) -> bool:
    """Widens a guess to hold the values of a side; whether that changed it."""
    joins.begin()
    changed = False
    for name in guess:
        wide = state.widen(guess[name], values[name], name)
        if wide is None:
            raise _unjoined(name, pieces, guess[name].describe(), state.describe(values[name]))
        changed = changed or wide != guess[name]
        guess[name] = wide
    return changed


def refuse_changes(snapshot: Snapshot, kind: str) -> None:
    """An error if a Python container was changed in a region, which is traced once for every time it runs."""
    name = snapshot.changed()
    if name is not None:
        snapshot.restore()
        raise errors.unsupported(
            f"A {kind} that is traced once for all its runs changes the Python container '{name}'.",
            "Store into an array, or assign to a name of the function.",
        )


def _is_exact(guess: dict[str, Any], joins: Joins, traced: list[_Side]) -> bool:
    """Whether a guess is what two sides need, no more."""
    left, right = traced
    needed = Joins(Trace.current().builder, joins.since)

    def masked(kind: Any, by: Joins) -> Any:
        return state.resized(kind, lambda size, stride: ANY if by.owns(size) else size)

    with Trace.current().joining(needed):
        return all(
            not state.same(left.values[name], right.values[name])
            and masked(_united([left.kind(name), right.kind(name)]), needed) == masked(kind, joins)
            for name, kind in guess.items()
        )


def _united(kinds: list[Any]) -> Any:
    kind = state.unite(*kinds)
    return state.placeable(kind) if None in kinds else kind


def _join(
    guess: dict[str, Any], traced: list[_Side], pieces: tuple[Any, Any], what: str
) -> dict[str, Any] | None:
    """Values that need no carrying; None after a wider guess."""
    joined: dict[str, Any] = {}
    settled = True
    left, right = traced[0].values, traced[1].values
    for name in left:
        if name in guess:
            continue
        if state.same(left[name], right[name]):
            joined[name] = state.outside(left[name])
            continue
        kinds = [side.kind(name) for side in traced]
        kind = _united(kinds)
        if kind is None:
            raise _unjoined(name or what, pieces, *map(state.spoken_kind, kinds))
        guess[name] = kind
        settled = False
    return joined if settled else None


def _unjoined(name: str, pieces: tuple[Any, Any], left: str, right: str) -> BaseException:
    lines = [state.line_of(piece, name) for piece in pieces]
    places = [f" at line {line}" if line else "" for line in lines]
    subject = f"{name} are" if " " in name else f"{state.spoken(name)} is"
    return errors.unsupported(
        f"{subject} {left}{places[0]} and {right}{places[1]}, and which one is known only at run time.",
        "Give both sides values of one type.",
    )

"""What the traces of a loop or branch have found, by its place in the source, the way to it and the state of entry.

A trace of a region is dropped and made again while the types around it are sought. What is inside then begins with what
it found before, so that the traces of a nest grow with its depth, not by a factor for each level.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterator, Mapping
from typing import Any, TypeVar

from ferrule import _compiler as ir

from . import errors, state
from .carry import Carry, dense_strides
from .entry import Entry, arrays_in
from .joins import Joins
from .later_sizes import Sizes
from .state import Bundle, Option
from .trace import Trace
from .tracers import Array

_KEPT = 16  # states of one place


class Found:
    """What is known of a loop or branch that was entered in one state."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.written: set[tuple[Any, ...]] = set()  # where the arrays are that need a buffer before it

    def materialise(self, trace: Trace, request: errors.Retrace, values: Mapping[str, Any]) -> None:
        """Gives a storage its buffer if it belongs to the current region; else asks the region around."""
        if request.storage.region != trace.region:
            raise request
        request.storage.make_buffer()
        self.written |= {path for path, array in _arrays(values) if array.storage is request.storage}

    def give_buffers(self, trace: Trace, known: Found, values: Mapping[str, Any]) -> None:
        """Gives the arrays their buffers that needed them in another state."""
        self.written |= known.written
        arrays = [array for path, array in _arrays(values) if path in known.written] if known.written else []
        for storage in (array.storage for array in arrays):
            if not storage.frozen and trace.is_live(storage.region):
                storage.make_buffer()

    def by_type(self) -> Container[str]:
        """The names of which what was found rests on no more than the type of their value."""
        return ()


def _arrays(values: Mapping[str, Any]) -> Iterator[tuple[tuple[Any, ...], Array]]:
    for name, value in values.items():
        for path, array in arrays_in(value):
            yield (name, *path), array


_F = TypeVar("_F", bound=Found)


def place_of(code: Any) -> Hashable:
    """The place of a loop or branch in the source and the way to it."""
    return (code, *errors.locations())


def of_place(trace: Trace, place: Hashable) -> list[Any]:
    """What is known at a place, the newest last."""
    return trace.found.setdefault(place, [])


def recall(trace: Trace, place: Hashable, entry: Entry) -> tuple[Any, Sizes, bool] | None:
    """What was found in a state that is within this one, its sizes in this one, and whether it is the very state; the newest
    if there are several."""
    best = None
    for known in reversed(of_place(trace, place)):
        sizes = known.entry.within(entry, known.by_type())
        if sizes is not None and entry.within(known.entry, known.by_type()) is not None:
            return known, sizes, True
        if sizes is not None and best is None:
            best = known, sizes, False
    return best


def keep(trace: Trace, place: Hashable, found: _F, instead: Any = None) -> _F:
    """Keeps what is found from now on, instead of what was known of the very state."""
    known = of_place(trace, place)
    if instead is not None:
        known.remove(instead)
    known.append(found)
    del known[:-_KEPT]
    return found


class _Lost(Exception):
    """A size of another state is not known in this one."""


def taken_up(kind: Any, sizes: Sizes, old: Joins, new: Joins, before: Any = None) -> Any:
    """A kind that `old` made in another state, in the sizes of this one; None where one of them is not known.

    before: the kind of the value that a loop begins with, whose sizes it has but for those that the loop changes.
    """

    def now(size: ir.Expr, stride: bool) -> ir.Expr:
        if old.owns(size):
            return new.renewed(size, old)
        found = sizes.now(size, stride)
        if found is None:
            raise _Lost
        return found

    def begun(kind: Any, before: Any) -> Any:
        if isinstance(before, Option):
            before = before.inner
        if isinstance(kind, Option):
            return Option(begun(kind.inner, before))
        if isinstance(kind, Bundle):
            parts = before.items if isinstance(before, Bundle) else []
            if len(parts) != len(kind.items):
                parts = [None] * len(kind.items)
            return Bundle(
                kind.type, kind.keys, [begun(*pair) for pair in zip(kind.items, parts, strict=True)]
            )
        if not isinstance(before, Carry) or kind is None or len(before.shape) != len(kind.shape):
            return state.resized(kind, now)
        firsts = iter((*before.shape, *(before.strides or dense_strides(before.shape))))

        def in_place(size: ir.Expr, _: bool) -> ir.Expr:
            first = next(firsts)
            return new.renewed(size, old) if old.owns(size) else first

        return kind.resized(in_place)

    try:
        return begun(kind, before)
    except _Lost:
        return None

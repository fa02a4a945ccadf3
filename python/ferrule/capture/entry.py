"""The state in which a loop or branch is entered: what its types rest on, and how a later one compares with it.

Types only widen while the loops around search for theirs. So what was found in one state is where the search in a wider
one begins; in any other it says nothing, and might be too wide.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterator, Mapping
from functools import partial
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from ferrule import _compiler as ir

from .carry import carry_type, join, same_static
from .later_sizes import Sizes
from .maybe import Maybe
from .outside import is_users
from .ranges import TracedIter, TracedRange
from .state import UNDEFINED
from .trace import Trace
from .tracers import Array, Cond, Int, Scalar

_DEPTH = 5
_LIMIT = 400  # items of containers that are looked at, besides plain ones
_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_TRACED = (Int, Scalar, Cond)
_NUMBERS = (bool, int, float, np.generic, *_TRACED)


class _Parts:
    """A value with others in it, as it was: `kind` tells what it is besides them."""

    __slots__ = ("items", "kind")

    def __init__(self, kind: Any, items: list[Any]) -> None:
        self.kind = kind
        self.items = items


class _Elements:
    """An array, as it was."""

    __slots__ = ("dims", "kind", "pure")

    def __init__(self, array: Array) -> None:
        self.kind = (array.dtype, array.ndim, array.readonly, array.storage.frozen)
        self.dims = array.dims
        self.pure = array.storage.pure


class _Unknown:
    """A value that is not looked at; it compares with none."""


class Entry:
    """The values of names where a loop or branch is entered. unread: those that it sets before it reads them."""

    def __init__(self, trace: Trace, values: Mapping[str, Any], unread: frozenset[str] = frozenset()) -> None:
        room = [_LIMIT]
        self._values = {
            name: _kept(value, _DEPTH, room) for name, value in values.items() if name != "__fr__"
        }
        self._unread = unread
        self._regions = [*trace.regions]
        self._opened = [*trace.opened]

    def within(self, later: Entry, by_type: Container[str] = ()) -> Sizes | None:
        """The sizes of a later entry by those of this one, if the later one holds for every name what this one holds.

        by_type: names of which that is said of the types alone, not of numbers and sizes.
        """
        if self._values.keys() != later._values.keys():
            return None
        sizes = Sizes(self._lasting(later))
        for name, old in self._values.items():
            if old is UNDEFINED and name in self._unread:
                continue
            if not _holds(later._values[name], old, sizes, name in by_type):
                return None
        return sizes

    def beside(self, later: Entry) -> Sizes:
        """The sizes that this entry and a later one have in common."""
        return Sizes(self._lasting(later))

    def _lasting(self, later: Entry) -> int | None:
        """The number of symbols that have a value in both; None for all."""
        for place, (old, new) in enumerate(zip(self._regions, later._regions, strict=False)):
            if old != new:
                return self._opened[place]
        if len(self._regions) > len(later._regions):
            return self._opened[len(later._regions)]
        return None


def _kept(value: Any, depth: int, room: list[int]) -> Any:
    """A value as it is now: what may change, or ends with a region, is copied, while there is room."""
    if isinstance(value, _NUMBERS) or value is None:
        return value
    if isinstance(value, Array):
        return _Elements(value)
    if isinstance(value, (set, bytearray)):
        return _Unknown()
    parts = _parts(value)
    if parts is None:
        return value
    kind, items = parts
    if all(type(item) in _PLAIN for item in items):
        return _Parts(kind, items)
    room[0] -= len(items)
    if depth == 0 or room[0] < 0:
        return _Unknown()
    return _Parts(kind, [_kept(item, depth - 1, room) for item in items])


def _parts(value: Any) -> tuple[Any, list[Any]] | None:
    """What a value is, and the values in it; None for one that is compared as a whole."""
    if isinstance(value, Maybe):
        return Maybe, [value.value]
    if isinstance(value, TracedRange):
        return TracedRange, [value.lo, value.hi, value.step]
    if isinstance(value, TracedIter):
        return TracedIter, [value.length, value.item]
    if isinstance(value, FunctionType):
        return value.__code__, [*_closed_over(value), *(value.__defaults__ or ())]
    if isinstance(value, MethodType):
        return value.__func__, [value.__self__]
    if isinstance(value, partial):
        return (partial, *value.keywords), [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, (tuple, list, deque)):
        return type(value), [*value]
    if isinstance(value, dict):
        return (type(value), *value), [*value.values()]
    kind = type(value)
    if isinstance(value, type) or not is_users(kind) or not all(map(is_users, kind.__mro__[:-1])):
        return None
    attributes = getattr(value, "__dict__", None)
    return None if type(attributes) is not dict else ((kind, *attributes), [*attributes.values()])


def arrays_in(value: Any, seen: set[int] | None = None) -> Iterator[tuple[tuple[int, ...], Array]]:
    """The arrays in a value, and a way to each of them."""
    seen = set() if seen is None else seen
    if isinstance(value, Array):
        yield (), value
        return
    parts = _parts(value)
    if parts is None or id(value) in seen or len(seen) > _LIMIT:
        return
    seen.add(id(value))
    for place, item in enumerate(parts[1]):
        for path, array in arrays_in(item, seen):
            yield (place, *path), array


def _closed_over(function: FunctionType) -> list[Any]:
    values = []
    for cell in function.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:
            values.append(UNDEFINED)
    return values


def _holds(new: Any, old: Any, sizes: Sizes, by_type: bool) -> bool:
    """Whether a value is at least as general as an earlier one; by_type: as far as types tell."""
    if isinstance(new, _Parts):
        if isinstance(old, _Parts):
            return (
                new.kind == old.kind
                and len(new.items) == len(old.items)
                and all(_holds(a, b, sizes, by_type) for a, b in zip(new.items, old.items, strict=True))
            )
        return new.kind is Maybe and (old is UNDEFINED or _holds(new.items[0], old, sizes, by_type))
    if isinstance(new, _Elements):
        return (
            isinstance(old, _Elements)
            and new.kind == old.kind
            and new.pure <= old.pure
            and all(_holds_size(a, b, sizes, by_type) for a, b in zip(new.dims, old.dims, strict=True))
        )
    if isinstance(new, _TRACED) or (by_type and isinstance(new, _NUMBERS)):
        return isinstance(old, _NUMBERS) and _holds_number(new, old, sizes, by_type)
    return new is old or (not isinstance(new, _Unknown) and same_static(new, old))


def _holds_number(new: Any, old: Any, sizes: Sizes, by_type: bool) -> bool:
    if isinstance(new, Int):
        earlier = old.expr if isinstance(old, Int) else ir.Expr(old) if type(old) is int else None
        if earlier is not None and not _holds_size(new.expr, earlier, sizes, by_type):
            return False
    if isinstance(new, Cond) and not by_type and _is_of_entry(new.condition.left - new.condition.right):
        return isinstance(old, Cond) and bool(new.condition == old.condition)
    kind = carry_type(new)
    return join(carry_type(old), kind) == kind


def _holds_size(new: ir.Expr, old: ir.Expr, sizes: Sizes, by_type: bool) -> bool:
    """The same of sizes: one of the arguments decides branches by its value, one that only the run knows by none."""
    canonical = Trace.current().facts.canonical
    old, new = canonical(old), canonical(new)
    sizes.pair(old, new)
    return by_type or old == new or not _is_of_entry(new)


def _is_of_entry(size: ir.Expr) -> bool:
    sample = Trace.current().sample
    return all(symbol in sample for symbol in size.symbols())

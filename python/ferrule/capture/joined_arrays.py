"""Arrays that a branch or loop joins by value, though a variable around it holds one of them.

A value has no address, so fresh arrays are best joined as values, and that is right while nobody writes to one: `y` and `z`
after `if c: y = x * 3 else: y = z` may be one array. Where a write meets such a pair the capture begins again and joins by
reference at that place.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from . import errors
from .maybe import Maybe

if TYPE_CHECKING:
    from .arrays import Array
    from .storage import Storage
    from .trace import Trace


class JoinByReference(errors.Control):
    """The capture begins again; arrays are joined by reference at `places`."""

    def __init__(self, places: set[Hashable]) -> None:
        super().__init__()
        self.places = places


def joined(place: Hashable, results: Mapping[str, Any], ways: Iterable[Mapping[str, Any]]) -> None:
    """Notes which arrays the results of a branch or loop may be; ways: the names on the ways to its end."""
    from .entry import arrays_in

    ways = tuple(ways)
    for name, result in results.items():
        made = dict(arrays_in(_value(result)))
        for way in ways if made else ():
            for path, array in arrays_in(_value(way[name])):
                storage, other = array.storage, made.get(path)
                if other is not None and other.storage.local:
                    storage.may_be.append((place, other.storage))
                    other.storage.may_be.append((place, storage))


def require_unshared(trace: Trace, storage: Storage) -> None:
    """Before a write: JoinByReference where a variable holds an array that this one may be."""
    ways: dict[int, tuple[Storage, set[Hashable]]] = {id(storage): (storage, set())}
    pending = [storage]
    while pending:
        current = pending.pop()
        for place, other in current.may_be:
            if id(other) not in ways:
                ways[id(other)] = (other, {*ways[id(current)][1], place})
                pending.append(other)
    for name, array in held():
        if array.storage is storage or id(array.storage) not in ways:
            continue
        places = ways[id(array.storage)][1]
        if places <= trace.by_reference:
            raise errors.unsupported(
                f"A write to an array that may be the one of '{name}', as a branch or loop decides, is not supported.",
                "Copy it.",
            )
        raise JoinByReference(places)


def held() -> Iterator[tuple[str, Array]]:
    """The arrays that the user's variables hold, those in containers too, by the variable's name."""
    from .entry import arrays_in
    from .state import is_users

    for name, value in errors.variables():
        for _, array in arrays_in(_value(value)) if is_users(name) else ():
            yield name, array


def refer(trace: Trace, place: Hashable, values: Iterable[Any]) -> None:
    """At the end of a region: arrays that leave it are joined by reference, at the places that need it."""
    from .entry import arrays_in

    if place not in trace.by_reference:
        return
    for value in values:
        for _, array in arrays_in(_value(value)):
            storage = array.storage
            if trace.is_live(storage.region) and not storage.frozen:
                storage.local = False
                storage.make_buffer()


def share(kinds: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """At the end of a region: an array that one name carries out by reference is so for every name that holds it."""
    from .entry import arrays_in
    from .state import leaves

    holders: dict[int, tuple[Storage, set[str]]] = {}
    referred: set[int] = set()
    for name, kind in kinds.items():
        by_reference = any(leaf.kind == "view" for leaf in leaves(kind)) if kind is not None else False
        for _, array in arrays_in(_value(values[name])):
            holders.setdefault(id(array.storage), (array.storage, set()))[1].add(name)
            if by_reference:
                referred.add(id(array.storage))
    for key in referred:
        storage, names = holders[key]
        if len(names) > 1 and storage.local and not storage.frozen:
            storage.local = False
            storage.make_buffer()


def _value(value: Any) -> Any:
    return value.value if isinstance(value, Maybe) else value

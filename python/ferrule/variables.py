"""What a specialisation depends on besides its arguments: variables and attributes that the trace read, and defaults.

An attribute is found as Python finds it, but without running any code, so that a call can compare what decides it: the
entry of the instance's or the class's dict, and the dicts before it that must not have one.
"""

from __future__ import annotations

import gc
import inspect
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ferrule import warm

_HEAP_TYPE = 1 << 9
Guard = tuple[
    Any, ...
]  # (dict, cell or object with slots, key[, expected]); without `expected` the key must be missing


@dataclass(frozen=True)
class Found:
    """Where an attribute comes from. container: dict or object with slots, None for what nobody can change."""

    container: Any
    raw: Any = None  # what stands there: the value, or a descriptor
    shadows: tuple[dict[str, Any], ...] = ()  # dicts that would come first if they had the name
    computed: bool = False  # a property, or __getattr__, gives the value


def class_dict(cls: type) -> Any:
    """The dict of a class; None for one whose attributes cannot be set."""
    return gc.get_referents(cls.__dict__)[0] if cls.__flags__ & _HEAP_TYPE else None


def find(holder: Any, name: str) -> Found | None:
    """Where holder.name comes from; None where only the object itself knows."""
    if isinstance(holder, types.ModuleType):
        content = vars(holder)
        return Found(content, content[name]) if name in content else None
    if isinstance(holder, type):
        return _of_class(holder, name)
    of_class = _of_class(type(holder), name)
    own = _own_dict(holder)
    raw = None if of_class is None else of_class.raw
    if isinstance(raw, property):
        return of_class
    if (
        isinstance(raw, types.MemberDescriptorType)
        and of_class is not None
        and of_class.container is not None
    ):
        return Found(holder, raw)
    if of_class is not None and hasattr(type(raw), "__set__"):
        return None
    if own is not None and name in own:
        return Found(own, own[name])
    before = () if own is None else (own,)
    if of_class is not None:
        return Found(of_class.container, raw, (*before, *of_class.shadows))
    if _of_class(type(holder), "__getattr__") is None:
        return None
    return Found(None, None, missing(holder), computed=True)


def missing(holder: Any) -> tuple[dict[str, Any], ...]:
    """The dicts that must not have a name for the holder to lack it."""
    if isinstance(holder, types.ModuleType):
        return (vars(holder),)
    own = None if isinstance(holder, type) else _own_dict(holder)
    kinds = holder.__mro__ if isinstance(holder, type) else type(holder).__mro__
    dicts = [own, *map(class_dict, kinds)]
    return tuple(content for content in dicts if content is not None)


def _of_class(cls: type, name: str) -> Found | None:
    shadows: list[dict[str, Any]] = []
    for base in cls.__mro__:
        content = class_dict(base)
        if name in base.__dict__:
            raw = base.__dict__[name]
            return Found(content, raw, tuple(shadows), isinstance(raw, property))
        if content is not None:
            shadows.append(content)
    return None


def _own_dict(holder: Any) -> dict[str, Any] | None:
    content = getattr(holder, "__dict__", None)
    return content if type(content) is dict else None


def attribute_guards(holder: Any, name: str, value: Any) -> list[Guard]:
    """What a call compares for an attribute that had a value."""
    found = find(holder, name)
    if found is None:
        return []
    guards: list[Guard] = [(content, name) for content in found.shadows]
    if found.container is not None:
        expected = value if found.container is holder else found.raw
        guards.append((found.container, name, _expected(expected)))
    return guards


def _expected(value: Any) -> Any:
    """What to compare a value with: a copy of what a container holds, or the container itself where arrays are in it."""
    return value if _holds_array(value) else warm.snapshot(value)


def _holds_array(value: Any) -> bool:
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return any(isinstance(item, np.ndarray) or _holds_array(item) for item in items)


def guards_of(owner: Any, path: str) -> list[Guard]:
    """What a call compares for a variable that the trace read: the holders of a dotted name, then its last part.

    Modules are not compared. `owner` is a dict, a cell, or the object that holds the first part as an attribute.
    """
    guards, holder, name = _holder_guards(owner, path)
    if holder is None:
        return [*guards, (owner, name, _expected(warm.read_path(owner, name)))]
    return guards + attribute_guards(holder, name, getattr(holder, name))


def holder_guards(owner: Any, path: str) -> list[Guard]:
    """What a call compares so that `variable` stays right."""
    guards, holder, name = _holder_guards(owner, path)
    found = None if holder is None else find(holder, name)
    return guards if found is None else [*guards, *((content, name) for content in found.shadows)]


def _holder_guards(owner: Any, path: str) -> tuple[list[Guard], Any, str]:
    """Guards of all parts but the last, the object that holds the last (None: the owner is a dict or cell), the last."""
    *rest, name = path.split(".")
    guards: list[Guard] = []
    holder = None if type(owner) in (dict, types.CellType) else owner
    for part in rest:
        value = warm.read_path(owner, part) if holder is None else getattr(holder, part)
        if not isinstance(value, types.ModuleType):
            guards += (
                [(owner, part, value)]
                if holder is None
                else _identity(attribute_guards(holder, part, value), value)
            )
        holder = value
    return guards, holder, name


def _identity(guards: list[Guard], value: Any) -> list[Guard]:
    """The guards with the object itself where its content would be compared, which later parts are for."""
    return [
        (*guard[:2], value) if len(guard) == 3 and type(guard[2]) is type(value) else guard
        for guard in guards
    ]


def variable(owner: Any, path: str) -> tuple[Any, str]:
    """The dict or cell and the key under which a call finds an array. Raises LookupError where it has no such place."""
    _, holder, name = _holder_guards(owner, path)
    if holder is None:
        return owner, name
    found = find(holder, name)
    if found is None or not isinstance(found.container, dict):
        raise LookupError(name)
    return found.container, name


def bound_arguments(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Arguments by name, defaults filled in; what is missing is left out."""
    bound = inspect.signature(fn).bind_partial(*args, **kwargs)
    bound.apply_defaults()
    return dict(bound.arguments)


def defaults_of(fn: Callable[..., Any]) -> dict[str, Any]:
    """Values of the parameters that a call may leave out."""
    return {
        name: parameter.default
        for name, parameter in inspect.signature(fn).parameters.items()
        if parameter.default is not parameter.empty
    }


def positional_only(fn: Callable[..., Any]) -> int:
    """How many leading parameters cannot be given by name."""
    parameters = inspect.signature(fn).parameters.values()
    return sum(parameter.kind == parameter.POSITIONAL_ONLY for parameter in parameters)

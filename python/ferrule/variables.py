"""What a specialisation depends on besides its arguments: variables and attributes that the trace read, and defaults.

An attribute is found as Python finds it, but without running any code, so that a call can compare what decides it: the
entry of the instance's or the class's dict, and the dicts before it that must not have one.
"""

from __future__ import annotations

import gc
import inspect
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ferrule.values import read_path, snapshot

_HEAP_TYPE = 1 << 9
# (dict, cell or object with slots, key[, expected]); without `expected` the key must be missing
Guard = tuple[Any, ...]


@dataclass(frozen=True)
class Found:
    """Where an attribute comes from. container: dict or object with slots, None for what nobody can change."""

    container: Any
    raw: Any = None  # what stands there: the value, or a descriptor
    shadows: tuple[dict[str, Any], ...] = ()  # dicts that would come first if they had the name
    computed: bool = False  # a property, or __getattr__, gives the value


class Content:
    """What a container with arrays in it holds, for a call to compare: keys and their order, lengths, values.

    A guard compares a live one, of the container, with one that `kept` made: its arrays by identity, but where they are
    `fetched` by a call those that a dict holds itself not at all.
    """

    __slots__ = ("content", "fetched")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, content: Any, fetched: bool) -> None:
        self.content = content
        self.fetched = fetched

    def kept(self) -> Content:
        """The same with what the container holds now."""
        return Content(snapshot(self.content), self.fetched)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Content) and _same_content(self.content, other.content, self.fetched)


class ArrayContent:
    """The content of an array that was copied into a program. A guard compares a live one, of the array, with the bytes."""

    __slots__ = ("content",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, content: np.ndarray[Any, Any] | bytes) -> None:
        self.content = content

    def _bytes(self) -> bytes:
        return self.content if isinstance(self.content, bytes) else self.content.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArrayContent) and self._bytes() == other._bytes()


def content_guard(name: str, array: np.ndarray[Any, Any], content: bytes | None = None) -> Guard:
    """What a call compares of an array whose content is in the program: what it holds, now or as `content`."""
    kept = array.tobytes() if content is None else content
    return {name: ArrayContent(array)}, name, ArrayContent(kept)


def _same_content(left: Any, right: Any, fetched: bool = False) -> bool:
    if left is right:
        return True
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return list(left) == list(right) and all(
            (fetched and isinstance(left[key], np.ndarray) and isinstance(right[key], np.ndarray))
            or _same_content(left[key], right[key])
            for key in left
        )
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(_same_content(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, float):
        return repr(left) == repr(right)
    return not isinstance(left, np.ndarray) and bool(left == right)


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
    if not isinstance(holder, (type, types.ModuleType)) and type(holder).__flags__ & _HEAP_TYPE:
        guards.append((holder, "__class__", type(holder)))
    if found.container is not None:
        expected = value if found.container is holder else found.raw
        guards.append((found.container, name, _expected(expected)))
    return guards


def _expected(value: Any) -> Any:
    """What to compare a value with: a copy of what a container holds, or the container itself where arrays are in it."""
    return value if holds_array(value) else snapshot(value)


def holds_array(value: Any) -> bool:
    """Whether an array is in a dict, list or tuple, at any depth."""
    return any(isinstance(item, np.ndarray) or holds_array(item) for item in _items(value))


def arrays_in(value: Any) -> list[np.ndarray[Any, Any]]:
    """The value if it is an array, or the arrays in a dict, list or tuple."""
    if isinstance(value, np.ndarray):
        return [value]
    return [array for item in _items(value) for array in arrays_in(item)]


def arrays_read(owner: Any, path: str) -> list[np.ndarray[Any, Any]]:
    """The arrays that a variable has; none where a dict lacks the name, as globals lack that of a builtin."""
    missing = type(owner) is dict and "." not in path and path not in owner
    return [] if missing else arrays_in(read_path(owner, path))


def _items(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()


def function_guards(value: Any) -> list[Guard]:
    """What a call compares of a function, or of all those in a container: its code and its defaults."""
    if isinstance(value, types.MethodType):
        value = value.__func__
    if isinstance(value, types.FunctionType):
        known = [(name, getattr(value, name)) for name in ("__code__", "__defaults__", "__kwdefaults__")]
        return [(value, name, _expected(part)) for name, part in known if part is not None]
    return [guard for item in _items(value) for guard in function_guards(item)]


def default_guards(fn: Callable[..., Any], static: Iterable[str]) -> list[Guard]:
    """What a call compares of a function's own defaults: that they are these, and what the static ones hold."""
    parts = [(name, getattr(fn, name, None)) for name in ("__defaults__", "__kwdefaults__")]
    guards: list[Guard] = [(fn, name, part) for name, part in parts if part is not None]
    known = defaults_of(fn)
    for value in [known[name] for name in static if name in known]:
        if holds_array(value):
            live = Content(value, fetched=False)
            guards.append(({"content": live}, "content", live.kept()))
        elif isinstance(value, (list, dict, set)):
            guards.append(({"content": value}, "content", snapshot(value)))
        guards += function_guards(value)
    return guards


_PLAIN = (bool, int, float, complex, str, bytes)


def traced_guards(owner: Any, path: str, traced: Any) -> list[Guard]:
    """`guards_of` a variable that had this value in the trace; another thread may have given it another since."""
    name = path.rpartition(".")[2]
    return [
        (*guard[:2], traced)
        if guard[1:2] == (name,) and len(guard) == 3 and type(guard[2]) in _PLAIN and type(traced) in _PLAIN
        else guard
        for guard in guards_of(owner, path)
    ]


def guards_of(owner: Any, path: str) -> list[Guard]:
    """What a call compares for a variable that the trace read: the holders of a dotted name, then its last part.

    `owner` is a dict, a cell, or the object that holds the first part as an attribute. A dict may lack the name, as globals
    lack that of a builtin.
    """
    if type(owner) is dict and "." not in path and path not in owner:
        return [(owner, path)]
    guards, holder, name = _holder_guards(owner, path)
    if holder is None:
        value = read_path(owner, name)
        return [*guards, (owner, name, _expected(value)), *function_guards(value)]
    value = getattr(holder, name)
    return [*guards, *attribute_guards(holder, name, value), *function_guards(value)]


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
        value = read_path(owner, part) if holder is None else getattr(holder, part)
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


def unchanged(guards: Iterable[Guard]) -> bool:
    """Whether all is as the guards expect, as a call finds it."""
    return all(_is_as_expected(*guard) for guard in guards)


def _is_as_expected(container: Any, key: Any, *expected: Any) -> bool:
    try:
        if isinstance(container, types.CellType):
            value = container.cell_contents
        else:
            value = container[key] if isinstance(container, dict) else getattr(container, key)
    except (LookupError, AttributeError, ValueError):
        return not expected
    return bool(expected) and _same_content(value, expected[0])

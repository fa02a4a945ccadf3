"""What lives longer than a capture: attributes of objects that a program reads, and containers that it must not change.

What is read is noted, so that a call can compare it. What is changed would be changed once, at capture, and never by the
native module: it is restored and refused.
"""

from __future__ import annotations

import dis
import functools
import os
import sys
from collections import deque
from types import (
    BuiltinFunctionType,
    BuiltinMethodType,
    CellType,
    CodeType,
    FrameType,
    FunctionType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np

from ferrule.values import snapshot
from ferrule.variables import class_dict, find, missing

from . import errors
from .containers import _content, _refill, _same
from .tracers import Tracer

OWN_MODULES = frozenset(sys.stdlib_module_names) | {"numpy", "ferrule"}
_OPEN_TYPES = ("SimpleNamespace", "Namespace")  # of the standard library, filled by users
_CONTAINERS = (list, dict, set, deque, bytearray)
_DEPTH = 4
_LIMIT = 2000
_MISSING = object()
_STORE_GLOBAL = dis.opmap["STORE_GLOBAL"]


def is_users(kind: type) -> bool:
    """Whether a type is the user's: not one of NumPy, the standard library or Ferrule."""
    if kind.__module__.partition(".")[0] not in OWN_MODULES:
        return True
    return kind.__name__ in _OPEN_TYPES and kind.__module__ in ("types", "argparse")


class Outside:
    """Objects of one trace: those that the program made itself, and the others with their content when it met them."""

    def __init__(self) -> None:
        self.made: dict[int, Any] = {}
        self._kept: dict[int, tuple[Any, Any, str]] = {}
        self._bound: dict[tuple[int, str], tuple[Any, str, Any]] = {}

    def is_outside(self, value: Any) -> bool:
        """Whether attributes of a value may change between calls."""
        if isinstance(value, (Tracer, ModuleType)) or id(value) in self.made:
            return False
        return is_users(value if isinstance(value, type) else type(value)) or isinstance(value, FunctionType)

    def meet(self, value: Any, name: str, depth: int = _DEPTH) -> None:
        """Remembers what a value that the program can reach holds."""
        if isinstance(value, (BuiltinMethodType, MethodType)):
            value = value.__self__
        if id(value) in self._kept or id(value) in self.made or not depth or len(self._kept) > _LIMIT:
            return
        if isinstance(value, type):
            if is_users(value):
                self._kept[id(value)] = (value, dict(vars(value)), name)
            return
        if isinstance(value, tuple):
            inner: Any = value
        elif isinstance(value, _CONTAINERS) or (is_users(type(value)) and not isinstance(value, Tracer)):
            content = bytes(value) if isinstance(value, bytearray) else _content(value)
            if content is None:
                return
            self._kept[id(value)] = (value, content, name)
            inner = content.values() if isinstance(content, dict) else content
        else:
            return
        for item in inner:
            self.meet(item, name, depth - 1)

    def meet_names(self, fn: FunctionType) -> None:
        """Remembers the globals and cells that a function may bind anew."""
        for name in _stored_globals(fn.__code__):
            self._bound.setdefault(
                (id(fn.__globals__), name), (fn.__globals__, name, fn.__globals__.get(name, _MISSING))
            )
        for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
            if not name.startswith("__"):
                self._bound.setdefault((id(cell), name), (cell, name, _cell_content(cell)))

    def forget(self, holder: Any, name: str, value: Any) -> None:
        """Takes over an attribute that reading it has set, as functools.cached_property does."""
        kept = self._kept.get(id(holder))
        if kept is not None:
            kept[1][name] = value

    def changed(self) -> str | None:
        """The name through which the program reached something that it has changed."""
        for value, content, name in self._kept.values():
            if not _same(_now(value), content):
                return name
        for owner, name, value in self._bound.values():
            now = _cell_content(owner) if isinstance(owner, CellType) else owner.get(name, _MISSING)
            if now is not value:
                return name
        return None

    def restore(self) -> None:
        """Gives everything its content back."""
        for value, content, _ in self._kept.values():
            now = _now(value)
            if _same(now, content):
                continue
            if isinstance(value, bytearray):
                value[:] = content
            elif isinstance(value, type):
                for name in {*now, *content}:
                    if name not in content:
                        delattr(value, name)
                    elif now.get(name, _MISSING) is not content[name]:
                        setattr(value, name, content[name])
            else:
                _refill(value, content)
        for owner, name, value in self._bound.values():
            if isinstance(owner, CellType):
                if value is _MISSING:
                    del owner.cell_contents
                elif _cell_content(owner) is not value:
                    owner.cell_contents = value
            elif value is _MISSING:
                owner.pop(name, None)
            elif owner.get(name, _MISSING) is not value:
                owner[name] = value


def _now(value: Any) -> Any:
    if isinstance(value, type):
        return dict(vars(value))
    return bytes(value) if isinstance(value, bytearray) else _content(value)


def _cell_content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _MISSING


def _stored_globals(code: CodeType) -> set[str]:
    names = set()
    if _STORE_GLOBAL in code.co_code[::2]:
        names = {i.argval for i in dis.get_instructions(code) if i.opcode == _STORE_GLOBAL}
    for const in code.co_consts:
        if isinstance(const, CodeType):
            names |= _stored_globals(const)
    return names


class Watch:
    """Runs a program line by line to find the one that changes what lives outside."""

    def __init__(self, outside: Outside) -> None:
        self.outside = outside
        self.last = ""
        self.found: errors.Abort | None = None

    def __enter__(self) -> Watch:
        self._before = sys.gettrace()
        sys.settrace(self._step)
        return self

    def __exit__(self, *_: Any) -> None:
        sys.settrace(self._before)

    def _step(self, frame: FrameType, event: str, arg: Any) -> Any:
        if not errors.is_generated(frame.f_code):
            return None
        name = self.outside.changed()
        if name is not None:
            sys.settrace(None)
            self.outside.restore()
            self.found = changed_outside(name, self.last)
            raise self.found
        self.last = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        return self._step


def changed_outside(name: str, where: str) -> errors.Abort:
    """The refusal of a program that changes something outside of it."""
    return errors.unsupported_at(
        where,
        f"The change of '{name}', which lives outside of the program, is not supported: it would happen once, when the"
        " program is captured. Return the new value, or change it outside.",
    )


def watch_container(trace: Any, value: Any) -> None:
    """Notes what a container holds of which a method is called."""
    if not isinstance(value, _CONTAINERS) or id(value) in trace.outside.made:
        return
    if type(value) is dict and any(isinstance(item, np.ndarray) for item in value.values()):
        for key, item in value.items():
            trace.watched[(id(value), key)] = (value, key, item)
        trace.watch_content(value)
    else:
        trace.watched[(id(value), "")] = ({"content": value}, "content", snapshot(value))


def watch_whole(trace: Any, value: Any) -> None:
    """Notes all that an object holds whose operators are the user's: Python runs them without the program's knowledge."""
    content = getattr(value, "__dict__", None)
    operators = _operators(type(value)) if is_users(type(value)) else []
    for owner, name, function in operators:
        trace.watched[(id(owner), name)] = (owner, name, function)
    if type(content) is not dict or not operators:
        return
    trace.watched[(id(value), "__class__")] = (value, "__class__", type(value))
    for name, item in content.items():
        if not isinstance(item, Tracer):
            trace.watched[(id(content), name)] = (content, name, snapshot(item))


def _operators(kind: type) -> list[tuple[dict[str, Any], str, FunctionType]]:
    """The user's operators of a class: the dicts in which they are, their names and themselves."""
    return [
        (class_dict(base), name, function)
        for base in kind.__mro__
        for name, function in vars(base).items()
        if name in _OPERATORS and type(function) is FunctionType
    ]


_OPERATORS = frozenset((
    "__call__", "__getitem__", "__len__", "__iter__", "__contains__", "__bool__", "__float__", "__int__", "__index__",
    "__enter__", "__eq__", "__ne__",
    "__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__truediv__", "__rtruediv__", "__floordiv__",
    "__rfloordiv__", "__mod__", "__rmod__", "__pow__", "__rpow__", "__neg__", "__abs__", "__matmul__", "__lt__", "__le__",
    "__gt__", "__ge__", "__and__", "__or__", "__array__", "__array_ufunc__",
))  # fmt: skip


def environment(trace: Any, fn: Any, args: tuple[Any, ...]) -> None:
    """Notes what a call reads of the environment: one variable where it names one, else all of them."""
    if fn is not os.getenv and getattr(fn, "__self__", None) is not os.environ:
        return
    data: dict[Any, Any] = os.environ._data  # type: ignore[attr-defined]
    name = getattr(fn, "__name__", "")
    if args and isinstance(args[0], str) and name in ("get", "getenv", "__getitem__", "__contains__"):
        key = os.environ.encodekey(args[0])
        trace.watched[(id(data), key)] = (data, key, data[key]) if key in data else (data, key)
    else:
        trace.watched[(id(data), "")] = ({"environ": data}, "environ", dict(data))


def look_up(trace: Any, fn: Any, holder: Any, name: str, *default: Any) -> Any:
    """getattr and hasattr; what is there is noted, and what is not."""
    if not trace.outside.is_outside(holder) and not isinstance(holder, ModuleType):
        return fn(holder, name, *default)
    owner = vars(holder) if isinstance(holder, ModuleType) else holder
    try:
        value = read(trace, holder, [name], owner, "")
    except AttributeError:
        for content in missing(holder):
            trace.watched[(id(content), name)] = (content, name)
        if fn is hasattr:
            return False
        if default:
            return default[0]
        raise
    return True if fn is hasattr else value


# -- reading


def read(trace: Any, holder: Any, names: list[str], owner: Any, path: str) -> Any:
    """holder.a.b..., each noted where it may change. `path` leads from `owner` to the holder; '' if it is the owner."""
    for position, name in enumerate(names):
        if isinstance(holder, np.ndarray) and path:
            return functools.reduce(getattr, names[position:], trace.read_global(owner, path, holder))
        full = f"{path}.{name}" if path else name
        value, computed = _attribute(trace, holder, name)
        last = position == len(names) - 1
        if last or computed:
            trace.outside.meet(value, full)
            value = note(trace, holder, name, owner, full, value, computed)
        if computed:
            owner, path = value, ""
        else:
            path = full
        holder = value
    return holder


def _attribute(trace: Any, holder: Any, name: str) -> tuple[Any, bool]:
    """holder.name, and whether code of the user's computed it, which ran as part of the program."""
    from . import calls

    if not is_users(type(holder)) or isinstance(holder, (type, Tracer)):
        return getattr(holder, name), False
    found = find(holder, name)
    if found is None or not found.computed:
        kind = None if found is None else type(found.raw)
        value = getattr(holder, name)
        if kind is not None and kind.__name__ == "cached_property":
            trace.outside.forget(holder, name, value)
        return value, False
    if found.raw is not None and type(found.raw.fget) is FunctionType:
        return calls.invoke(found.raw.fget, (holder,), {}), True
    if found.raw is None:
        return calls.invoke(type(holder).__getattr__, (holder, name), {}), True
    return getattr(holder, name), True


def note(trace: Any, holder: Any, name: str, owner: Any, path: str, value: Any, computed: bool) -> Any:
    """Notes one attribute that decided what the program is; an array comes back as a hidden argument."""
    if name == "__dict__" and type(value) is dict:
        trace.watched[(id(value), "")] = ({"content": value}, "content", snapshot(value))
    if isinstance(value, Tracer):
        trace.note(owner, path, None)
        return value
    kind = holder if isinstance(holder, type) else type(holder)
    if path == name and owner is holder and not is_users(kind) and kind is not FunctionType:
        return value
    if isinstance(holder, ModuleType):
        is_own = (holder.__name__ or "").partition(".")[0] in OWN_MODULES
        if isinstance(value, ModuleType) or (is_own and _is_plain(value)):
            return value
    return trace.read_global(owner, path, value)


def _is_plain(value: Any) -> bool:
    """Values that nobody binds anew in the modules of NumPy and Python."""
    return isinstance(value, (BuiltinFunctionType, type, np.ufunc, type(np.where))) or (
        isinstance(value, FunctionType) and (value.__module__ or "").partition(".")[0] in OWN_MODULES
    )

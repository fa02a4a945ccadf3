"""Python containers that a region could change: their content before it, to compare with and to restore.

A region is traced once for all its iterations, so a list that grows in it would be wrong without a word.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from .trace import Trace
from .tracers import Tracer

_DEPTH = 4
_LIMIT = 2000
_LEAVES = (int, float, complex, str, bytes, bool, type(None), type, ModuleType, Tracer, slice, range)


class Snapshot:
    """The content of all lists, dicts, sets and users' objects within reach of some functions."""

    def __init__(self, *pieces: Any) -> None:
        self.kept: dict[int, tuple[Any, Any, str]] = {}
        for piece in pieces:
            if isinstance(piece, FunctionType):
                for name, value in _reachable(piece):
                    self._add(value, name, _DEPTH)

    def _add(self, value: Any, name: str, depth: int) -> None:
        if isinstance(value, _LEAVES) or id(value) in self.kept or depth == 0 or len(self.kept) > _LIMIT:
            return
        content = _content(value)
        if content is None:
            inner: Any = value if isinstance(value, tuple) else ()
        else:
            self.kept[id(value)] = (value, content, name)
            inner = content.values() if isinstance(content, dict) else content
        for item in inner:
            self._add(item, name, depth - 1)

    def changed(self) -> str | None:
        """The name through which a changed container was found."""
        for value, content, name in self.kept.values():
            if not _same(_content(value), content):
                return name
        return None

    def restore(self) -> None:
        """Gives every container its content back."""
        for value, content, _ in self.kept.values():
            if not _same(_content(value), content):
                _refill(value, content)


def _reachable(piece: FunctionType) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(piece.__code__.co_freevars, piece.__closure__ or (), strict=True):
        try:
            value = cell.cell_contents
        except ValueError:
            continue
        if isinstance(value, FunctionType) and value is not piece and value.__closure__:
            for inner in value.__closure__:
                try:
                    yield name, inner.cell_contents
                except ValueError:
                    continue
        elif not name.startswith("__fr_"):
            yield name, value
    for name in _names(piece.__code__):
        if name in piece.__globals__:
            yield name, piece.__globals__[name]


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _names(const)


def _content(value: Any) -> Any:
    """A shallow copy of what a container holds; None for what holds nothing that can change."""
    if isinstance(value, (list, deque)):
        return list(value)
    if isinstance(value, dict):
        return dict(value)
    if isinstance(value, set):
        return set(value)
    if (
        isinstance(value, (FunctionType, tuple, frozenset, Trace))
        or type(value).__module__.partition(".")[0] == "numpy"
    ):
        return None
    attributes = getattr(value, "__dict__", None)
    return dict(attributes) if type(attributes) is dict else None


def _same(left: Any, right: Any) -> bool:
    if type(left) is not type(right) or len(left) != len(right):
        return False
    if isinstance(left, dict):
        return all(key in right and value is right[key] for key, value in left.items())
    if isinstance(left, set):
        return bool(left == right)
    return all(a is b for a, b in zip(left, right, strict=True))


def _refill(value: Any, content: Any) -> None:
    if isinstance(value, (dict, set)):
        value.clear()
        value.update(content)
    elif isinstance(value, list):
        value[:] = content
    elif isinstance(value, deque):
        value.clear()
        value.extend(content)
    else:
        value.__dict__.clear()
        value.__dict__.update(content)

"""The names that a region shares with what is around it: their cells, and the types under which they are carried.

A kind is a Carry (see carry.py), a Bundle of kinds for a tuple, list, dict or dataclass that holds traced values, or an
Option of a kind for a name that has a value for some data only. A kind takes as many values of the program as it has leaves that are
not static.
"""

from __future__ import annotations

import dis
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from types import CellType, FunctionType
from typing import Any

import numpy as np

from ferrule import _compiler as ir

from . import carry
from .carry import Carry
from .decide import decide
from .exits import RETURN
from .maybe import Maybe
from .trace import Trace
from .tracers import Array, Scalar


class _Undefined:
    """What a name holds before it is assigned."""

    def __repr__(self) -> str:
        return "undefined"


UNDEFINED: Any = _Undefined()


# -- names


def read(cells: Mapping[str, CellType]) -> dict[str, Any]:
    """The values of names; UNDEFINED for those without one."""
    values = {}
    for name, cell in cells.items():
        try:
            values[name] = cell.cell_contents
        except ValueError:
            values[name] = UNDEFINED
    return values


def write(cells: Mapping[str, CellType], values: Mapping[str, Any]) -> None:
    """Sets names; UNDEFINED takes their value away."""
    for name, value in values.items():
        if value is not UNDEFINED:
            cells[name].cell_contents = value
            continue
        with suppress(ValueError):
            del cells[name].cell_contents


def spoken(name: str) -> str:
    """A name as messages print it."""
    if name == RETURN:
        return "The returned value"
    return f"'{name}'" if not name.startswith("__fr_") else "The flag that leaves the loop"


def line_of(piece: Any, name: str) -> int | None:
    """The line at which a piece last assigns a name."""
    if not isinstance(piece, FunctionType):
        return None
    line = found = None
    for instruction in dis.get_instructions(piece.__code__):
        positions = getattr(instruction, "positions", None)
        line = (positions.lineno if positions is not None else instruction.starts_line) or line
        if instruction.argval == name and instruction.opname.startswith("STORE"):
            found = line
    return found


# -- kinds


class Bundle:
    """The kind of a tuple, list, dict or dataclass; keys: those of a dict, or the fields."""

    __slots__ = ("items", "keys", "type")

    def __init__(self, type_: type, keys: tuple[Any, ...] | None, items: list[Any]) -> None:
        self.type = type_
        self.keys = keys
        self.items = items

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bundle) and self.alike(other) and self.items == other.items

    __hash__ = None  # type: ignore[assignment]

    def alike(self, other: Bundle) -> bool:
        """Whether both have the same type, length and keys."""
        return (self.type, self.keys, len(self.items)) == (other.type, other.keys, len(other.items))

    def describe(self) -> str:
        """The kind in words, for messages."""
        return f"a {self.type.__name__} of {len(self.items)} items"

    def build(self, items: list[Any]) -> Any:
        """The container with these items."""
        if self.keys is not None:
            named = zip(self.keys, items, strict=True)
            return dict(named) if self.type is dict else _dataclass(self.type, named)
        return self.type(*items) if hasattr(self.type, "_fields") else self.type(items)


class Option:
    """The kind of a name that may have no value; `inner` is the kind of its value, None while it never had one."""

    __slots__ = ("inner",)

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Option) and bool(self.inner == other.inner)

    __hash__ = None  # type: ignore[assignment]

    def describe(self) -> str:
        """The kind in words, for messages."""
        return "undefined" if self.inner is None else str(self.inner.describe())


_FLAG = Carry("scalar", np.dtype(np.bool_))


def _items(value: Any) -> tuple[tuple[Any, ...] | None, list[Any]] | None:
    if type(value) is dict:
        return tuple(value), list(value.values())
    if type(value) in (tuple, list) or (isinstance(value, tuple) and hasattr(value, "_fields")):
        return None, list(value)
    held = _fields(value)
    return None if held is None else (tuple(held), list(held.values()))


def _fields(value: Any) -> dict[str, Any] | None:
    """The fields of a dataclass that the program has made, and that is no part of a structure of such ones."""
    if not is_dataclass(value) or isinstance(value, type) or type(type(value)) is not type:
        return None
    names = [field.name for field in fields(value)]
    held = getattr(value, "__dict__", {})
    if id(value) not in Trace.current().outside.made or list(held) != names:
        return None
    frozen = value.__dataclass_params__.frozen  # type: ignore[attr-defined]
    if not frozen and any(is_dataclass(item) or type(item) in (list, dict) for item in held.values()):
        return None
    return dict(held)


def _dataclass(kind: type, named: Iterable[tuple[str, Any]]) -> Any:
    made: Any = object.__new__(kind)
    for name, item in named:
        object.__setattr__(made, name, item)
    Trace.current().outside.made[id(made)] = made
    return made


def kind_of(value: Any) -> Any:
    """How a value is carried."""
    if value is UNDEFINED:
        return Option(None)
    if isinstance(value, Maybe):
        return Option(kind_of(value.value))
    parts = _items(value)
    if parts is None:
        return carry.carry_type(value)
    return Bundle(type(value), parts[0], [kind_of(item) for item in parts[1]])


def join(left: Any, right: Any) -> Any:
    """The kind that holds values of both; None if there is none."""
    if isinstance(left, Option) or isinstance(right, Option):
        inner = [kind.inner if isinstance(kind, Option) else kind for kind in (left, right)]
        if inner[0] is None:
            both = resized(inner[1], Trace.current().joins.adopted)
        else:
            both = inner[0] if inner[1] is None else join(*inner)
        return None if both is None and None not in inner else Option(placeable(both))
    if isinstance(left, Bundle) and isinstance(right, Bundle) and left.alike(right):
        items = [join(a, b) for a, b in zip(left.items, right.items, strict=True)]
        return None if None in items else Bundle(left.type, left.keys, items)
    if isinstance(left, Bundle) or isinstance(right, Bundle):
        return None
    if len(left.shape) == len(right.shape):
        _equate(left, right)
    return carry.join(left, right)


def _equate(left: Carry, right: Carry) -> None:
    """Guards that extents which are equal in the sample are equal, so that the two arrays can be one."""
    trace = Trace.current()
    for a, b in zip(left.shape, right.shape, strict=True):
        size = trace.evaluate(trace.facts.canonical(a))
        if size is not None and size == trace.evaluate(trace.facts.canonical(b)):
            decide(ir.Condition(ir.Relation.Eq, a, b))


def widen(kind: Any, value: Any, name: str) -> Any:
    """The kind that holds what `kind` holds and a value of a name; `kind` may be None for nothing yet."""
    other = needed(value, name)
    return placeable(kind) if other is None else unite(kind, other)


def needed(value: Any, name: str) -> Any:
    """How the value of a name is carried; None for a name that the rewrite made, which is not read where it has none."""
    return None if value is UNDEFINED and not is_users(name) else kind_of(value)


def unite(kind: Any, other: Any) -> Any:
    """The kind that holds values of both, either of which may be None for nothing; None if there is none."""
    joins = Trace.current().joins
    if kind is None:
        return resized(other, joins.adopted)
    return resized(kind if other is None else join(kind, other), joins.outlasting)


def resized(kind: Any, change: Callable[[ir.Expr, bool], ir.Expr]) -> Any:
    """The kind with change(size, whether it is a stride) of every size of its arrays."""
    if isinstance(kind, Option):
        return Option(resized(kind.inner, change))
    if isinstance(kind, Bundle):
        return Bundle(kind.type, kind.keys, [resized(item, change) for item in kind.items])
    return None if kind is None else kind.resized(change)


def ends(value: Any) -> bool:
    """Whether a value stands for memory that the innermost region refers to, which cannot be asked when it has closed."""
    if isinstance(value, Maybe):
        return ends(value.value)
    if isinstance(value, Array):
        storage = value.storage
        return not storage.pure and not storage.local and storage.region == Trace.current().region
    parts = _items(value)
    return parts is not None and any(map(ends, parts[1]))


def is_users(name: str) -> bool:
    """Whether a name is the user's, not made by the rewrite."""
    return not name.startswith("__fr_")


def relate(kind: Any, before: Any, entering: bool = False) -> Any:
    """The kind with the storages of the value that a loop begins with: a write to a carried array reaches that one.

    entering: an array whose memory something refers to by now is carried by reference. Only where the loop begins is that
    known, in its body all memory is somebody's.
    """
    if isinstance(kind, Option):
        value = before.value if isinstance(before, Maybe) else before
        return Option(None if kind.inner is None else relate(kind.inner, value, entering))
    if isinstance(kind, Bundle):
        parts = _items(before)
        inner = parts[1] if parts is not None else []
        if len(inner) != len(kind.items):
            inner = [UNDEFINED] * len(kind.items)
        items = [relate(item, value, entering) for item, value in zip(kind.items, inner, strict=True)]
        return Bundle(kind.type, kind.keys, items)
    if kind.kind != "array_value":
        return kind
    if not isinstance(before, Array):
        return Carry(kind.kind, kind.dtype, shape=kind.shape)
    by_reference = carry.by_reference(kind, before) if entering else None
    return by_reference or Carry(kind.kind, kind.dtype, shape=kind.shape, lineage=before.storage)


def leaves(kind: Any) -> Iterator[Carry]:
    """The carried leaves of a kind, in order."""
    if isinstance(kind, Option):
        yield _FLAG
        if kind.inner is not None:
            yield from leaves(kind.inner)
    elif isinstance(kind, Bundle):
        for item in kind.items:
            yield from leaves(item)
    elif kind.kind != "static":
        yield kind


def params(kinds: Mapping[str, Any]) -> list[ir.Parameter]:
    """The parameters of a region for names, in order of the names."""
    return [carry.carry_param(leaf) for name in sorted(kinds) for leaf in leaves(kinds[name])]


def passed(trace: Trace, kind: Any, value: Any) -> list[int]:
    """A value as values of the program for its kind; zeros for a name that is undefined."""
    if isinstance(kind, Option):
        inner = UNDEFINED if kind.inner is None else value.value if isinstance(value, Maybe) else value
        flag = value.is_set if isinstance(value, Maybe) and not value.is_sure else value is not UNDEFINED
        head = carry.carry_pass(_FLAG, flag)
        return [head] if kind.inner is None else [head, *passed(trace, kind.inner, inner)]
    if value is UNDEFINED:
        return [_placeholder(trace, leaf) for leaf in leaves(kind)]
    if isinstance(kind, Bundle):
        parts = _items(value)
        assert parts is not None
        return [
            made
            for item, inner in zip(kind.items, parts[1], strict=True)
            for made in passed(trace, item, inner)
        ]
    return [] if kind.kind == "static" else [carry.carry_pass(kind, value)]


def all_passed(trace: Trace, kinds: Mapping[str, Any], values: Mapping[str, Any]) -> list[int]:
    """The values of names as `params` orders them."""
    return [made for name in sorted(kinds) for made in passed(trace, kinds[name], values[name])]


def received(kinds: Mapping[str, Any], ids: list[int], entering: bool = False) -> dict[str, Any]:
    """Stand-ins for names from values of the program: those of an operation, or the parameters on entering a region."""
    supply = iter(ids)
    trace = Trace.current()

    def receive(kind: Any) -> Any:
        if isinstance(kind, Option):
            is_set = receive(_FLAG)
            return Maybe(UNDEFINED if kind.inner is None else receive(kind.inner), is_set)
        if isinstance(kind, Bundle):
            return kind.build([receive(item) for item in kind.items])
        if kind.kind == "static":
            return kind.static
        if kind.lineage is not None and not trace.is_live(kind.lineage.region):
            kind.lineage = None
        return (carry.carry_enter if entering else carry.carry_leave)(kind, next(supply))

    return {name: receive(kinds[name]) for name in sorted(kinds)}


def placeable(kind: Any) -> Any:
    """The kind of a name that may have no value: memory for such a one has strides of its own, which must fit."""
    if isinstance(kind, Option):
        return Option(placeable(kind.inner))
    if isinstance(kind, Bundle):
        return Bundle(kind.type, kind.keys, [placeable(item) for item in kind.items])
    if kind is None or kind.kind != "view":
        return kind
    trace = Trace.current()
    made: dict[ir.Expr, ir.Expr] = {}  # the sizes of our own as the placeholder has them
    shape = [_of_placeholder(trace, extent) for extent in kind.shape]
    made.update(
        (extent, size) for extent, size in zip(kind.shape, shape, strict=True) if trace.joins.owns(extent)
    )
    strides = []
    for stride, dense in zip(kind.strides, carry.dense_strides(tuple(shape)), strict=True):
        known = made.setdefault(stride, dense) if trace.joins.owns(stride) else stride
        fits = known == dense or trace.facts.prove_equal(known, dense)
        # The placeholder is what comes first.
        strides.append(stride if fits else trace.joins.join(dense, stride, True, True))
    return Carry("view", kind.dtype, shape=kind.shape, strides=tuple(strides), frozen=kind.frozen)


def _of_placeholder(trace: Trace, size: ir.Expr) -> ir.Expr:
    return ir.Expr(0) if trace.joins.owns(size) else size


def _placeholder(trace: Trace, leaf: Carry) -> int:
    wanted = carry.carry_param(leaf.resized(lambda size, _: _of_placeholder(trace, size))).type
    if wanted.kind == ir.ValueKind.View:
        return int(trace.builder.alloc("undefined", wanted.dtype, wanted.shape))
    zero = trace.builder.constant(wanted.dtype, 0, wanted.weak)
    return int(zero if wanted.kind == ir.ValueKind.Scalar else trace.builder.fill(zero, wanted.shape))


def same(left: Any, right: Any) -> bool:
    """Whether two values are interchangeable: one object, or equal immutable Python values, sizes, views."""
    if left is right:
        return True
    if type(left) is not type(right):
        return False
    if isinstance(left, Scalar):
        return bool(left._id == right._id)
    parts = _items(left), _items(right)
    if type(left) is not list and parts[0] is not None and parts[1] is not None:
        return (
            parts[0][0] == parts[1][0]
            and len(parts[0][1]) == len(parts[1][1])
            and all(map(same, parts[0][1], parts[1][1]))
        )
    return type(left) is not list and carry.same_static(left, right)


def outside(value: Any) -> Any:
    """A value that two sides of a branch have alike, for use behind it: what both of them made was there before."""
    if isinstance(value, Scalar):
        return value if Trace.current().is_live(value.region) else Scalar(value._id)
    parts = _items(value)
    if parts is None or type(value) is list:
        return value
    items = [outside(item) for item in parts[1]]
    if all(map(operator.is_, items, parts[1])):
        return value
    return Bundle(type(value), parts[0], []).build(items)


def describe(value: Any) -> str:
    """A value's kind in words, for messages."""
    return "undefined" if value is UNDEFINED else str(kind_of(value).describe())


def spoken_kind(kind: Any) -> str:
    """A kind in words, for messages."""
    return "undefined" if kind is None else str(kind.describe())

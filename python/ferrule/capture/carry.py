"""How values cross the edges of a region: the type of a carried value, joins, and the conversions in and out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ferrule import _compiler as ir

from . import errors, joined_arrays
from .arrays import Array
from .decide import is_equal
from .numbers import Cond, Int, Scalar, make_int, to_expr
from .storage import Storage
from .trace import Trace

_FLOAT, _INT, _BOOL = np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.bool_)


class Carry:
    """The type of a carried value.

    kind: 'int' (a Python int), 'scalar' (a number of `dtype`, `weak` if it is Python's), 'array_value' (an array
    without an address), 'view' (an array by reference), 'static' (any other Python value, which cannot change).
    frozen: why a view must not be written; '' if it may.
    """

    __slots__ = ("dtype", "frozen", "kind", "lineage", "shape", "static", "strides", "weak")

    def __init__(
        self,
        kind: str,
        dtype: np.dtype[Any] | None = None,
        weak: bool = False,
        shape: tuple[ir.Expr, ...] = (),
        strides: tuple[ir.Expr, ...] = (),
        static: Any = None,
        lineage: Storage | None = None,
        frozen: str = "",
    ) -> None:
        self.kind = kind
        self.dtype = dtype
        self.weak = weak
        self.shape = shape
        self.strides = strides
        self.static = static
        self.lineage = lineage
        self.frozen = frozen

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Carry) or self.kind != other.kind:
            return False
        if self.kind == "static":
            return same_static(self.static, other.static)
        return (self.dtype, self.weak, self.shape, self.strides, self.frozen) == (
            other.dtype,
            other.weak,
            other.shape,
            other.strides,
            other.frozen,
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return self.describe()

    def resized(self, change: Callable[[ir.Expr, bool], ir.Expr]) -> Carry:
        """The type with change(size, whether it is a stride) of every size."""
        if not self.shape:
            return self
        return Carry(
            self.kind,
            self.dtype,
            shape=tuple(change(extent, False) for extent in self.shape),
            strides=tuple(change(stride, True) for stride in self.strides),
            lineage=self.lineage,
            frozen=self.frozen,
        )

    def describe(self) -> str:
        """The type in words, for messages."""
        if self.kind == "int":
            return "a Python int"
        if self.kind == "static":
            return f"the Python object {self.static!r}"
        if self.kind == "scalar":
            return (
                f"a Python {'float' if self.dtype == _FLOAT else 'bool'}"
                if self.weak
                else f"a {self.dtype} number"
            )
        trace = Trace.active()
        shape = ", ".join(trace.text(extent) for extent in self.shape) if trace else "?"
        return f"a {self.dtype} array of shape ({shape}{',' if len(self.shape) == 1 else ''})"


def same_static(left: Any, right: Any) -> bool:
    """Whether two Python values are the same for the trace: identical, or equal plain values of one type."""
    if left is right:
        return True
    if type(left) is not type(right):
        return False
    if isinstance(left, (str, bytes, float, complex, frozenset)):
        return bool(left == right) or (left != left and right != right)
    if isinstance(left, (tuple, list)):
        return len(left) == len(right) and all(map(same_static, left, right))
    if isinstance(left, Array):
        return left.is_same_view(right)
    if isinstance(left, (Int, Scalar, Cond)):
        return bool(_key(left) == _key(right))
    return isinstance(left, (int, np.generic)) and bool(left == right)


def same(left: Any, right: Any) -> bool:
    """Whether two values are interchangeable for the trace."""
    return same_static(left, right)


def describe(carry: Carry | None) -> str:
    """A carried type in words; 'undefined' for None."""
    return "undefined" if carry is None else carry.describe()


def _key(value: Any) -> Any:
    if isinstance(value, Int):
        return Trace.current().facts.canonical(value.expr)
    return value.condition if isinstance(value, Cond) else value.id


def carry_type(value: Any) -> Carry:
    """How a Python value can be carried."""
    if isinstance(value, np.generic):
        return Carry("scalar", np.dtype(value.dtype))
    if isinstance(value, (bool, Cond)):
        return Carry("scalar", _BOOL, weak=True)
    if isinstance(value, (int, Int)):
        return Carry("int", _INT, weak=True)
    if isinstance(value, float):
        return Carry("scalar", _FLOAT, weak=True)
    if isinstance(value, Scalar):
        if value.weak and value.dtype.kind in "iu":
            return Carry("int", _INT, weak=True)
        return Carry("scalar", np.dtype(value.dtype), value.weak)
    if isinstance(value, np.ndarray):
        value = _as_array(value)
    if isinstance(value, Array):
        return _array_type(value)
    return Carry("static", static=value)


def _as_array(value: np.ndarray[Any, Any]) -> Any:
    from .operands import as_array

    return as_array(value)


def _array_type(value: Array) -> Carry:
    trace = Trace.current()
    storage = value.storage
    # Memory that this region made, or one that has closed, is nobody else's.
    fresh = storage.pure or (
        storage.local
        and ((storage.region == trace.region and trace.depth > 0) or not trace.is_live(storage.region))
    )
    dims = tuple(value.dims)
    if fresh and value.ndim:
        return Carry("array_value", value.dtype, shape=dims, lineage=storage)
    strides = trace.builder.view_strides(value.handle()) if not storage.pure else dense_strides(dims)
    strides = [trace.facts.canonical(stride) for stride in strides]
    return Carry("view", value.dtype, shape=dims, strides=tuple(strides), frozen=_frozen(value))


def _frozen(value: Array) -> str:
    """Why an array must not be written; '' if it may."""
    return "assignment destination is read-only" if value.readonly else value.storage.frozen


def dense_strides(dims: tuple[ir.Expr, ...]) -> list[ir.Expr]:
    """The strides of an array in C order, in elements."""
    strides = [ir.Expr(1)] * len(dims)
    for axis in range(len(dims) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * dims[axis + 1]
    return strides


def join(left: Carry, right: Carry) -> Carry | None:
    """The type that holds values of both, or None."""
    if left == right:
        return left
    if left.kind == "static" or right.kind == "static":
        return None
    if left.kind in ("int", "scalar") and right.kind in ("int", "scalar"):
        return _join_numbers(left, right)
    if left.kind in ("array_value", "view") and right.kind in ("array_value", "view"):
        return _join_arrays(left, right)
    return None


def _join_numbers(left: Carry, right: Carry) -> Carry | None:
    assert left.dtype is not None and right.dtype is not None
    if left.weak and right.weak:
        dtype = max(left.dtype, right.dtype, key=lambda d: "biuf".index(d.kind))
        return Carry("int", _INT, weak=True) if dtype.kind == "i" else Carry("scalar", dtype, weak=True)
    if not left.weak and not right.weak:
        return left if left.dtype == right.dtype else None
    strong, weak = (right, left) if left.weak else (left, right)
    assert strong.dtype is not None and weak.dtype is not None
    # Python's number takes the strong dtype where that loses nothing of its kind.
    rank = "biuf".index
    kinds = strong.dtype.kind, weak.dtype.kind
    fits = kinds[0] == kinds[1] or (kinds[0] != "b" and kinds[1] != "b" and rank(kinds[1]) <= rank(kinds[0]))
    return Carry("scalar", strong.dtype) if fits else None


def _join_arrays(left: Carry, right: Carry) -> Carry | None:
    if left.dtype != right.dtype or len(left.shape) != len(right.shape):
        return None
    join = Trace.current().joins.join
    shape = tuple(join(a, b, False, False) for a, b in zip(left.shape, right.shape, strict=True))
    if left.kind == right.kind == "array_value":
        return Carry("array_value", left.dtype, shape=shape, lineage=left.lineage or right.lineage)
    strides = [tuple(c.strides) or tuple(dense_strides(c.shape)) for c in (left, right)]
    derived = left.kind != "view"
    joined = tuple(join(a, b, True, derived) for a, b in zip(*strides, strict=True))
    return Carry("view", left.dtype, shape=shape, strides=joined, frozen=left.frozen or right.frozen)


def by_reference(carry: Carry, before: Array) -> Carry | None:
    """The type of an array value as one of a view, if the array that it begins with is carried so."""
    first = carry_type(before)
    if first.kind != "view":
        return None
    join = Trace.current().joins.join
    strides = tuple(
        join(a, b, True, True) for a, b in zip(first.strides, dense_strides(carry.shape), strict=True)
    )
    return Carry("view", carry.dtype, shape=carry.shape, strides=strides, frozen=first.frozen)


def carry_param(carry: Carry) -> ir.Parameter:
    """The parameter of a region for a carried value."""
    assert carry.dtype is not None
    kind = {"int": ir.ValueKind.Scalar, "scalar": ir.ValueKind.Scalar, "array_value": ir.ValueKind.Array}.get(
        carry.kind, ir.ValueKind.View
    )
    return ir.Parameter(kind, carry.dtype.name, carry.shape, carry.strides, carry.weak)


def carry_enter(carry: Carry, value_id: int) -> Any:
    """The stand-in for a region's parameter."""
    value = _receive(carry, value_id)
    if isinstance(value, Array):
        # A write to it may have to reach what was passed in: see Storage.make_buffer.
        value.storage.lineage = carry.lineage
    return value


def carry_leave(carry: Carry, value_id: int) -> Any:
    """The stand-in for a carried value after the region."""
    return _receive(carry, value_id)


def _receive(carry: Carry, value_id: int) -> Any:
    trace = Trace.current()
    if carry.kind == "int":
        return make_int(ir.Expr.symbol(trace.builder.symbolize(value_id, "k", False)))
    if carry.kind == "scalar":
        return Scalar(value_id)
    array = Array.of_value(value_id)
    if isinstance(array, Array):
        array.storage.local = carry.kind == "array_value"
        array.storage.frozen = carry.frozen
    return array


def carry_pass(carry: Carry, value: Any) -> int:
    """A value as the carried type wants it: an initial value or what a region yields."""
    from . import operands, scalars

    trace = Trace.current()
    if carry.kind == "int":
        value = scalars.int_(value) if isinstance(value, (Scalar, Cond)) else value
        return int(trace.builder.reweight(trace.builder.size(to_expr(value)), True))
    assert carry.dtype is not None
    if carry.kind == "scalar":
        if isinstance(value, (int, Int)) and not isinstance(value, bool) and not carry.weak:
            operands.check_fits(Int(to_expr(value)), carry.dtype)
        value_id = operands.lift(value, carry.dtype)
        if trace.builder.type(value_id).kind == ir.ValueKind.View:
            value_id = trace.builder.load(value_id)
        if ir.dtype_name(trace.builder.type(value_id).dtype) != carry.dtype.name:
            value_id = trace.builder.cast(value_id, carry.dtype.name)
        return int(trace.builder.reweight(value_id, carry.weak))
    array = operands.as_array(value)
    for extent, wanted in zip(array.dims, carry.shape, strict=True):
        if not trace.joins.owns(wanted):
            # Found equal while the body was traced, which may have been dropped since.
            is_equal(wanted, extent)
    if carry.kind == "array_value":
        return int(array.value())
    return _referred(trace, array, carry.strides)


def _referred(trace: Trace, array: Array, strides: tuple[ir.Expr, ...]) -> int:
    """The view that stands for an array that is carried by reference."""
    if not _frozen(array):
        handle = array.mutate()
        if array.storage.region != trace.region:
            array.storage.local = False
        if _has_strides(trace, handle, strides):
            return handle
        _refuse_shared(array)
        return _copied(trace, array, handle)
    handle = array.handle()
    if trace.builder.type(handle).kind == ir.ValueKind.View:
        return handle
    return _copied(trace, array, handle)


def _copied(trace: Trace, array: Array, handle: int) -> int:
    kind = trace.builder.type(handle)
    view = int(trace.builder.alloc(array.storage.name, kind.dtype, kind.shape))
    trace.builder.store(view, trace.builder.load(handle) if kind.kind == ir.ValueKind.View else handle)
    return view


def _has_strides(trace: Trace, handle: int, strides: tuple[ir.Expr, ...]) -> bool:
    return all(
        trace.joins.owns(wanted) or trace.facts.prove_equal(stride, wanted)
        for stride, wanted in zip(trace.builder.view_strides(handle), strides, strict=True)
    )


def _refuse_shared(array: Array) -> None:
    """A copy takes the place of a part of a fresh array, which nothing else may refer to."""
    for name, other in joined_arrays.held():
        if other is not array and other.storage is array.storage:
            raise errors.unsupported(
                f"A part of '{name}' that a branch or loop carries among arrays of other strides is not supported.",
                "Copy it.",
            )

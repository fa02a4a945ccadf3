"""Arrays made inside a program, with sizes that come from arguments: filled ones, copies, diagonals and triangles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ferrule import _compiler as ir

from . import errors
from .decide import ZERO, holds, shape_text
from .elementwise import apply, cast, select
from .operands import as_array, cast_scalar, check_dtype, dtype_of, lift
from .scalars import int_index
from .shaping import diagonal, diagonal_view, dims_from
from .trace import Trace
from .tracers import Array, Cond, Int, Scalar, unsupported


def dtype_or(dtype: Any, default: Any) -> np.dtype[Any]:
    """What the argument dtype= asks for."""
    result: np.dtype[Any] = np.dtype(default if dtype is None else dtype)
    check_dtype(result)
    return result


def filled(shape: Any, value: Any, dtype: np.dtype[Any]) -> Any:
    """A fresh array with every element `value`."""
    trace = Trace.current()
    trace.site()
    dims = _extents(shape, dtype)
    scalar = cast_scalar(value, dtype)
    if not dims:
        return zero_rank(lift(scalar))
    return Array.of_value(trace.builder.fill(lift(scalar), dims))


def zero_rank(value: int) -> Array:
    """A fresh array of no dimension, which can be written."""
    trace = Trace.current()
    view = trace.builder.alloc("t", trace.builder.type(value).dtype, [])
    trace.builder.store(view, value)
    result: Array = Array.of_value(view)
    return result


def _extents(shape: Any, dtype: np.dtype[Any]) -> list[ir.Expr]:
    dims = dims_from(shape)
    for extent in dims:
        require_size(ir.Condition(ir.Relation.Le, ZERO, extent), "negative dimensions are not allowed")
    check_memory(dims, dtype)
    return dims


def require_size(condition: ir.Condition, message: str) -> None:
    """A ValueError where a condition does not hold, now or at run time."""
    known = holds(condition)
    if known is False:
        raise errors.user_error(ValueError, message)
    if known is None:
        trace = Trace.current()
        trace.site(message)
        trace.builder.check(condition, ir.ErrorCode.VALUE)
        trace.facts.assume(condition)


_ADDRESSABLE = 2**47  # bytes that a process can have


def check_memory(dims: list[ir.Expr], dtype: np.dtype[Any]) -> None:
    """NumPy's refusal of an array that cannot exist, though no memory may be needed for it here."""
    trace = Trace.current()
    values = [trace.evaluate(extent) for extent in dims]
    if trace.depth or None in values:
        return
    size = math.prod(value for value in values if value is not None) * dtype.itemsize
    if size >= 2**63:
        raise errors.user_error(
            ValueError,
            "array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size.",
        )
    if size > _ADDRESSABLE:
        raise errors.user_error(
            MemoryError, f"Unable to allocate {size} bytes for an array with shape {shape_text(trace, dims)}"
        )


def check_order(order: Any) -> None:
    """Refuses what would not be in C order."""
    if order not in (None, "C", "K", "A"):
        raise unsupported(f"an array made in the order '{order}'")


def _new_order(order: Any) -> None:
    """The order of a fresh array, which NumPy takes as 'C' or 'F' alone."""
    if order in ("K", "A", None):
        raise errors.user_error(ValueError, "only 'C' or 'F' order is permitted")
    check_order(order)


def check_device(device: Any) -> None:
    """NumPy's refusal of memory that it does not have."""
    if device not in (None, "cpu"):
        raise errors.user_error(
            ValueError, f'Device not understood. Only "cpu" is allowed, but received: {device}'
        )


def zeros(shape: Any, dtype: Any = None, order: Any = "C", *, like: Any = None, device: Any = None) -> Any:
    """np.zeros."""
    _new_order(order)
    return filled(shape, 0, dtype_or(dtype, np.float64))


def ones(shape: Any, dtype: Any = None, order: Any = "C", *, like: Any = None, device: Any = None) -> Any:
    """np.ones."""
    _new_order(order)
    return filled(shape, 1, dtype_or(dtype, np.float64))


def full(
    shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C", *, like: Any = None, device: Any = None
) -> Any:
    """np.full."""
    _new_order(order)
    fill_value = as_array(fill_value)
    if isinstance(fill_value, Array):
        result = empty(shape, dtype if dtype is not None else fill_value.dtype)
        result[...] = fill_value
        return result
    return filled(shape, fill_value, dtype_or(dtype, natural_dtype(fill_value)))


def natural_dtype(value: Any) -> np.dtype[Any]:
    """The dtype that NumPy gives to a number alone."""
    strong = dtype_of(value)
    if strong is not None:
        return strong
    if isinstance(value, (Int, Cond, Scalar)):
        return np.dtype(value.dtype)
    return np.asarray(value).dtype


def empty(shape: Any, dtype: Any = None, order: Any = "C", *, like: Any = None, device: Any = None) -> Any:
    """np.empty: memory with undefined contents."""
    _new_order(order)
    trace = Trace.current()
    trace.site()
    kind = dtype_or(dtype, np.float64)
    return Array.of_value(trace.builder.alloc("t", ir.dtype(kind.name), _extents(shape, kind)))


def _like(a: Any, dtype: Any, shape: Any) -> tuple[Any, np.dtype[Any]]:
    a = as_array(a)
    dims = a.dims if isinstance(a, Array) else []
    return dims if shape is None else shape, dtype_or(dtype, natural_dtype(a))


def zeros_like(
    a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Any:
    """np.zeros_like."""
    check_order(order)
    dims, kind = _like(a, dtype, shape)
    return filled(dims, 0, kind)


def ones_like(
    a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Any:
    """np.ones_like."""
    check_order(order)
    dims, kind = _like(a, dtype, shape)
    return filled(dims, 1, kind)


def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Any:
    """np.full_like."""
    check_order(order)
    dims, kind = _like(a, dtype, shape)
    return full(dims, fill_value, kind)


def empty_like(
    a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Any:
    """np.empty_like."""
    check_order(order)
    dims, kind = _like(a, dtype, shape)
    return empty(dims, kind)


def copy(a: Any, order: Any = "K", subok: bool = False) -> Any:
    """np.copy: the elements now, in memory of their own."""
    check_order(order)
    a = as_array(a)
    if not isinstance(a, Array):
        return zero_rank(lift(cast_scalar(a, natural_dtype(a))))
    trace = Trace.current()
    trace.site()
    value = a.value()
    return Array.of_value(value) if a.ndim else zero_rank(value)


def identity(n: Any, dtype: Any = None, *, like: Any = None) -> Any:
    """np.identity."""
    return eye(n, dtype=dtype)


def eye(
    N: Any,  # noqa: N803
    M: Any = None,  # noqa: N803
    k: Any = 0,
    dtype: Any = None,
    order: Any = "C",
    *,
    device: Any = None,
    like: Any = None,
) -> Any:
    """np.eye."""
    _new_order(order)
    return _compared_places("equal", N, N if M is None else M, k, dtype_or(dtype, np.float64))


def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = None, *, like: Any = None) -> Any:  # noqa: N803
    """np.tri."""
    return _compared_places("less_equal", N, N if M is None else M, k, dtype_or(dtype, np.float64))


def _compared_places(relation: str, rows: Any, columns: Any, k: Any, kind: np.dtype[Any]) -> Any:
    """Column - row against k, as numbers of `kind`."""
    trace = Trace.current()
    trace.site()
    dims = _extents((rows, columns), kind)
    row, column = (Array.of_value(trace.builder.iota(dims, axis)) for axis in (0, 1))
    return cast(apply(relation, (apply("subtract", (column, row)), k)), kind)


def tril(m: Any, k: Any = 0) -> Any:
    """np.tril."""
    m = as_array(m)
    return select(_triangle(m, k), m, np.zeros((), m.dtype)[()])


def triu(m: Any, k: Any = 0) -> Any:
    """np.triu."""
    m = as_array(m)
    return select(_triangle(m, k - 1), np.zeros((), m.dtype)[()], m)


def _triangle(m: Any, k: Any) -> Any:
    """What is True on and below the k-th diagonal of the last two axes; of one axis, which is a row of a square."""
    if not isinstance(m, Array) or not m.ndim:
        raise errors.user_error(TypeError, "a triangle needs an array of at least one axis, got a number.")
    return tri(m.dims[-2:][0], m.dims[-1], k, np.bool_)


def diag(v: Any, k: Any = 0) -> Any:
    """np.diag: the diagonal of a matrix, or a matrix with a diagonal."""
    v = as_array(v)
    if v.ndim == 2:
        return diagonal(v, k)
    if v.ndim != 1:
        raise errors.user_error(ValueError, "Input must be 1- or 2-d.")
    k = int_index(k)
    n = v.shape[0] + abs(k)
    result = zeros((n, n), v.dtype)
    diagonal_view(result, k)[...] = v
    return result

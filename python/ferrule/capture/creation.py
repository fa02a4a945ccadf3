"""Arrays made inside a program: filled arrays and ranges, with sizes that come from arguments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ferrule import _compiler as ir

from . import errors
from .decide import ONE, ZERO, decide
from .elementwise import apply, cast, select
from .operands import as_array, cast_scalar, check_dtype, dtype_of, lift
from .shaping import dims_from, normalize_axis
from .trace import Trace
from .tracers import Array, Cond, Int, Scalar, is_traced, to_expr, unsupported


def _dtype(dtype: Any, default: Any) -> np.dtype[Any]:
    result: np.dtype[Any] = np.dtype(default if dtype is None else dtype)
    check_dtype(result)
    return result


def filled(shape: Any, value: Any, dtype: np.dtype[Any]) -> Any:
    """A fresh array with every element `value`."""
    trace = Trace.current()
    trace.site()
    dims = _extents(shape)
    scalar = cast_scalar(value, dtype)
    if not dims:
        return _zero_rank(lift(scalar))
    return Array.of_value(trace.builder.fill(lift(scalar), dims))


def _zero_rank(value: int) -> Array:
    """A fresh array of no dimension, which can be written."""
    trace = Trace.current()
    view = trace.builder.alloc("t", trace.builder.type(value).dtype, [])
    trace.builder.store(view, value)
    result: Array = Array.of_value(view)
    return result


def _extents(shape: Any) -> list[ir.Expr]:
    dims = dims_from(shape)
    for extent in dims:
        if not decide(ir.Condition(ir.Relation.Le, ZERO, extent)):
            raise errors.user_error(ValueError, "negative dimensions are not allowed")
    return dims


def _order(order: Any) -> None:
    if order not in (None, "C", "K", "A"):
        raise unsupported(f"an array made in the order '{order}'")


def _new_order(order: Any) -> None:
    """The order of a fresh array, which NumPy takes as 'C' or 'F' alone."""
    if order in ("K", "A", None):
        raise errors.user_error(ValueError, "only 'C' or 'F' order is permitted")
    _order(order)


def zeros(shape: Any, dtype: Any = None, order: Any = "C", *, like: Any = None, device: Any = None) -> Any:
    """np.zeros."""
    _new_order(order)
    return filled(shape, 0, _dtype(dtype, np.float64))


def ones(shape: Any, dtype: Any = None, order: Any = "C", *, like: Any = None, device: Any = None) -> Any:
    """np.ones."""
    _new_order(order)
    return filled(shape, 1, _dtype(dtype, np.float64))


def full(
    shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C", *, like: Any = None, device: Any = None
) -> Any:
    """np.full."""
    _new_order(order)
    fill_value = as_array(fill_value)
    if isinstance(fill_value, Array):
        dims = _extents(shape)
        result = empty(dims, dtype if dtype is not None else fill_value.dtype)
        result[...] = fill_value
        return result
    return filled(shape, fill_value, _dtype(dtype, _natural_dtype(fill_value)))


def _natural_dtype(value: Any) -> np.dtype[Any]:
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
    kind = _dtype(dtype, np.float64)
    return Array.of_value(trace.builder.alloc("t", ir.dtype(kind.name), _extents(shape)))


def _like(a: Any, dtype: Any, shape: Any) -> tuple[Any, np.dtype[Any]]:
    a = as_array(a)
    dims = a.dims if isinstance(a, Array) else []
    return dims if shape is None else shape, _dtype(dtype, _natural_dtype(a))


def zeros_like(
    a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Any:
    """np.zeros_like."""
    _order(order)
    dims, kind = _like(a, dtype, shape)
    return filled(dims, 0, kind)


def ones_like(
    a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Any:
    """np.ones_like."""
    _order(order)
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
    _order(order)
    dims, kind = _like(a, dtype, shape)
    return full(dims, fill_value, kind)


def empty_like(
    a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Any:
    """np.empty_like."""
    _order(order)
    dims, kind = _like(a, dtype, shape)
    return empty(dims, kind)


def copy(a: Any, order: Any = "K", subok: bool = False) -> Any:
    """np.copy: the elements now, in memory of their own."""
    _order(order)
    a = as_array(a)
    if not isinstance(a, Array):
        return _zero_rank(lift(cast_scalar(a, _natural_dtype(a))))
    trace = Trace.current()
    trace.site()
    value = a.value()
    return Array.of_value(value) if a.ndim else _zero_rank(value)


def identity(n: Any, dtype: Any = None, *, like: Any = None) -> Any:
    """np.identity."""
    return eye(n, dtype=dtype)


def eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = None, order: Any = "C", **options: Any) -> Any:  # noqa: N803
    """np.eye."""
    _new_order(order)
    trace = Trace.current()
    trace.site()
    dims = _extents((N, N if M is None else M))
    rows, columns = (Array.of_value(trace.builder.iota(dims, axis)) for axis in (0, 1))
    return cast(apply("equal", (apply("subtract", (columns, rows)), k)), _dtype(dtype, np.float64))


def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = None, **options: Any) -> Any:  # noqa: N803
    """np.tri."""
    trace = Trace.current()
    trace.site()
    dims = _extents((N, N if M is None else M))
    rows, columns = (Array.of_value(trace.builder.iota(dims, axis)) for axis in (0, 1))
    return cast(apply("less_equal", (apply("subtract", (columns, rows)), k)), _dtype(dtype, np.float64))


def tril(m: Any, k: Any = 0) -> Any:
    """np.tril."""
    m = as_array(m)
    return select(tri(m.dims[-2], m.dims[-1], k, np.bool_), m, np.zeros((), m.dtype)[()])


def triu(m: Any, k: Any = 0) -> Any:
    """np.triu."""
    m = as_array(m)
    return select(tri(m.dims[-2], m.dims[-1], k - 1, np.bool_), np.zeros((), m.dtype)[()], m)


def arange(*args: Any, dtype: Any = None, like: Any = None, device: Any = None, **named: Any) -> Any:
    """np.arange."""
    start, stop, step = _range_arguments(args, named)
    if len(args) == 4:
        dtype = args[3]
    trace = Trace.current()
    trace.site()
    if all(
        isinstance(value, (int, Int, np.integer, Cond)) or _is_integer(value) for value in (start, stop, step)
    ):
        return _integer_range(start, stop, step, dtype)
    length = _float_length(start, stop, step)
    kinds = [np.dtype(np.float64), *(d for d in map(dtype_of, (start, stop, step)) if d is not None)]
    kind = _dtype(dtype, np.result_type(*kinds))
    if kind.kind in "iub":
        raise unsupported("'arange' of an integer dtype over floats")
    index = Array.of_value(trace.builder.iota([length], 0))
    # NumPy computes the second element first and steps by the difference of the first two, in the result's dtype.
    first = cast_scalar(start, kind)
    delta = apply("subtract", (cast_scalar(apply("add", (start, step)), kind), first))
    return apply("add", (first, apply("multiply", (cast(index, kind), delta))))


def _range_arguments(args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, Any, Any]:
    values = dict(named)
    if len(args) == 1 and "stop" not in values:
        values["stop"] = args[0]
    else:
        values.update(zip(("start", "stop", "step"), args, strict=False))
    start, stop, step = values.get("start", 0), values.get("stop"), values.get("step", 1)
    if stop is None:
        start, stop = 0, start
    return start, stop, 1 if step is None else step


def _is_integer(value: Any) -> bool:
    return isinstance(value, Scalar) and value.dtype.kind in "iu"


def _integer_range(start: Any, stop: Any, step: Any, dtype: Any) -> Any:
    strong = [d for d in map(dtype_of, (start, stop, step)) if d is not None]
    kind = _dtype(dtype, np.result_type(np.int64, *strong) if strong else np.int64)
    first, last, by = to_expr(start), to_expr(stop), to_expr(step)
    if by.constant == 0:
        raise errors.user_error(ZeroDivisionError, "division by zero")
    up = decide(ir.Condition(ir.Relation.Lt, ZERO, by))
    low, high, stride = (first, last, by) if up else (last, first, ZERO - by)
    trace = Trace.current()
    if decide(ir.Condition(ir.Relation.Le, low, high)):
        length = high - low if stride == ONE else ((high - low + stride - ONE) // stride)
    else:
        length = ZERO
    index = Array.of_value(trace.builder.iota([length], 0))
    if by != ONE:
        index = apply("multiply", (index, _int_of(by)))
    if first != ZERO:
        index = apply("add", (index, _int_of(first)))
    return cast(index, kind)


def _int_of(expr: ir.Expr) -> Any:
    constant = expr.constant
    return int(constant) if constant is not None else Int(expr)


def _float_length(start: Any, stop: Any, step: Any) -> ir.Expr:
    """ceil((stop - start) / step), at least 0: known now for constants, else at run time."""
    if not any(map(is_traced, (start, stop, step))):
        if step == 0:
            raise errors.user_error(ZeroDivisionError, "division by zero")
        return ir.Expr(max(0, math.ceil((stop - start) / step)))
    count = apply("ceil", (apply("divide", (apply("subtract", (stop, start)), step)),))
    count = apply("maximum", (count, 0.0))
    return to_expr(_nonnegative(cast_scalar(count, np.dtype(np.int64))))


def _nonnegative(value: Scalar) -> Any:
    trace = Trace.current()
    symbol = trace.builder.symbolize(value.id, "length", True)
    return ir.Expr.symbol(symbol)


def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    **options: Any,
) -> Any:
    """np.linspace between numbers: start + arange(num) * step, the last element exactly stop."""
    trace = Trace.current()
    trace.site()
    start, stop = as_array(start), as_array(stop)
    if isinstance(start, Array) or isinstance(stop, Array):
        raise unsupported("'linspace' between arrays")
    normalize_axis(axis, 1)
    count = to_expr(num)
    if not decide(ir.Condition(ir.Relation.Le, ZERO, count)):
        raise errors.user_error(ValueError, "Number of samples must be non-negative.")
    divisions = count - ONE if endpoint else count
    kinds = [
        np.dtype(np.float64),
        *(d for d in map(dtype_of, (start, stop)) if d is not None and d.kind == "f"),
    ]
    kind = np.result_type(*kinds)
    index = cast(Array.of_value(trace.builder.iota([count], 0)), kind)
    first, last = cast_scalar(start, kind), cast_scalar(stop, kind)
    delta = apply("subtract", (last, first))
    several = decide(ir.Condition(ir.Relation.Lt, ZERO, divisions))
    if several:
        parts = cast_scalar(_int_of(divisions), kind)
        step = apply("divide", (delta, parts))
        # Where the step underflows to zero NumPy divides before it multiplies.
        by_parts = apply("multiply", (apply("divide", (index, parts)), delta))
        result = select(apply("equal", (step, 0)), by_parts, apply("multiply", (index, step)))
    else:
        step = np.nan
        result = apply("multiply", (index, delta))
    result = apply("add", (result, first))
    if endpoint and several and decide(ir.Condition(ir.Relation.Lt, ONE, count)):
        place = Array.of_value(trace.builder.iota([count], 0))
        result = select(apply("equal", (place, _int_of(count - ONE))), last, result)
    if dtype is not None:
        target = np.dtype(dtype)
        result = cast(apply("floor", (result,)) if target.kind in "iu" else result, target)
    return (result, step) if retstep else result

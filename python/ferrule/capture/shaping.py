"""Axes: transposes, flips, diagonals, new and dropped axes, broadcasts, all of which are views; and sizes."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ferrule import _compiler as ir

from . import errors
from .decide import ONE, ZERO, broadcast, decide, holds, is_one, shape_text
from .operands import as_array
from .trace import Trace
from .tracers import Array, Int, Number, Window, make_int, to_expr, unsupported


def normalize_axis(axis: Any, rank: int) -> int:
    """An axis counted from 0; AxisError outside of the rank."""
    if isinstance(axis, Number):
        from . import scalars

        axis = scalars.int_index(axis)
        if isinstance(axis, Int) and Trace.current().evaluate(axis.expr) is None:
            raise unsupported("an axis that is known only at run time")
    elif isinstance(axis, (bool, np.bool_)):
        raise errors.user_error(TypeError, "an integer is required for the axis")
    axis = operator.index(axis)
    if not -rank <= axis < rank:
        message = f"axis {axis} is out of bounds for array of dimension {rank}"
        raise errors.user_error(np.exceptions.AxisError, message)
    return int(axis + rank if axis < 0 else axis)


def normalize_axes(axis: Any, rank: int) -> list[int]:
    """One axis or a tuple of them, counted from 0, in the given order; all of them for None."""
    if axis is None:
        return list(range(rank))
    axes = [normalize_axis(a, rank) for a in (axis if isinstance(axis, (tuple, list)) else (axis,))]
    if len(set(axes)) != len(axes):
        raise errors.user_error(ValueError, "duplicate value in 'axis'")
    return axes


def dims_from(shape: Any) -> list[ir.Expr]:
    """A shape argument (an int or a sequence of them) as extents."""
    if isinstance(shape, (Array, np.ndarray)) and shape.ndim == 1:
        items = list(shape)
    else:
        items = list(shape) if isinstance(shape, (tuple, list)) else [shape]
    return [_extent(item) for item in items]


def _extent(item: Any) -> ir.Expr:
    if isinstance(item, ir.Expr):
        return item
    dtype = getattr(item, "dtype", None)
    if isinstance(item, (bool, float)) or (dtype is not None and np.dtype(dtype).kind not in "iu"):
        kind = type(item).__name__ if dtype is None else str(dtype)
        raise errors.user_error(
            TypeError, f"expected a sequence of integers or a single integer as a shape, got a {kind}."
        )
    return to_expr(item)


def permuted(array: Array, order: Sequence[int]) -> Array:
    """The axes in another order: result axis k is the array's axis order[k]."""
    if list(order) == list(range(array.ndim)):
        return array.again()
    dims = array.dims
    axes: list[Any] = [(ZERO, [])] * array.ndim
    for position, axis in enumerate(order):
        axes[axis] = (ZERO, [(position, ONE)])
    shape = [dims[axis] for axis in order]
    return array.derived(Window(ir.IndexMap(shape, axes)), shape)


def zero_rank(value: Any) -> Any:
    """A number as an array of no dimension."""
    from . import constants

    return constants.array(value)


def transpose(a: Any, axes: Any = None) -> Any:
    """np.transpose."""
    a = as_array(a)
    if not isinstance(a, Array):
        return zero_rank(a)
    order = list(range(a.ndim))[::-1] if axes is None else normalize_axes(tuple(axes), a.ndim)
    if len(order) != a.ndim:
        raise errors.user_error(ValueError, "axes don't match array")
    return permuted(a, order)


def swapaxes(a: Any, axis1: Any, axis2: Any) -> Any:
    """np.swapaxes."""
    a = as_array(a)
    first, second = normalize_axis(axis1, a.ndim), normalize_axis(axis2, a.ndim)
    order = list(range(a.ndim))
    order[first], order[second] = order[second], order[first]
    return permuted(a, order)


def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """np.moveaxis."""
    a = as_array(a)
    sources, targets = normalize_axes(source, a.ndim), normalize_axes(destination, a.ndim)
    if len(sources) != len(targets):
        raise errors.user_error(
            ValueError, "`source` and `destination` arguments must have the same number of elements"
        )
    order = [axis for axis in range(a.ndim) if axis not in sources]
    for target, axis in sorted(zip(targets, sources, strict=True)):
        order.insert(target, axis)
    return permuted(a, order)


def matrix_transpose(x: Any, /) -> Any:
    """np.matrix_transpose."""
    x = as_array(x)
    if x.ndim < 2:
        raise errors.user_error(ValueError, f"Input array must be at least 2-dimensional, but it is {x.ndim}")
    return swapaxes(x, -1, -2)


def rollaxis(a: Any, axis: int, start: int = 0) -> Array:
    """np.rollaxis."""
    a = as_array(a)
    axis, start = (
        normalize_axis(axis, a.ndim),
        normalize_axis(start, a.ndim + 1) if start >= 0 else start + a.ndim,
    )
    if start < 0:
        raise errors.user_error(ValueError, f"'start' arg requires {-a.ndim} <= start < {a.ndim + 1}")
    order = [k for k in range(a.ndim) if k != axis]
    order.insert(start - 1 if axis < start else start, axis)
    return permuted(a, order)


def flip(m: Any, axis: Any = None) -> Any:
    """np.flip."""
    m = as_array(m)
    index: list[Any] = [slice(None)] * m.ndim
    for k in normalize_axes(axis, m.ndim):
        index[k] = slice(None, None, -1)
    return m[tuple(index)]


def fliplr(m: Any) -> Any:
    """np.fliplr."""
    return flip(m, 1)


def flipud(m: Any) -> Any:
    """np.flipud."""
    return flip(m, 0)


def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    """np.rot90."""
    m = as_array(m)
    first, second = normalize_axes(tuple(axes), m.ndim)
    turns = operator.index(k) % 4
    if turns == 0:
        return m[...]
    if turns == 2:
        return flip(flip(m, first), second)
    order = list(range(m.ndim))
    order[first], order[second] = order[second], order[first]
    return permuted(flip(m, second), order) if turns == 1 else flip(permuted(m, order), second)


def expand_dims(a: Any, axis: Any) -> Any:
    """np.expand_dims."""
    a = as_array(a)
    count = len(axis) if isinstance(axis, (tuple, list)) else 1
    new = normalize_axes(axis, a.ndim + count)
    return a[tuple(None if k in new else slice(None) for k in range(a.ndim + count))]


def squeeze(a: Any, axis: Any = None) -> Any:
    """np.squeeze; without axis, the extents that are 1 in the sample are dropped and guarded."""
    a = as_array(a)
    if not isinstance(a, Array):
        return zero_rank(a)
    dims = a.dims
    if axis is None:
        dropped = [k for k in range(a.ndim) if is_one(dims[k])]
    else:
        dropped = normalize_axes(axis, a.ndim)
        for k in dropped:
            if not is_one(dims[k]):
                raise errors.user_error(
                    ValueError, "cannot select an axis to squeeze out which has size not equal to one"
                )
    kept = [k for k in range(a.ndim) if k not in dropped]
    axes = [(ZERO, [(kept.index(k), ONE)] if k in kept else []) for k in range(a.ndim)]
    shape = [dims[k] for k in kept]
    return a.derived(Window(ir.IndexMap(shape, axes)), shape) if dropped else a


def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    """np.broadcast_to: a view that must not be written, as in NumPy."""
    array = as_array(array)
    dims = dims_from(shape)
    trace = Trace.current()
    if not isinstance(array, Array):
        from .operands import lift, strengthen

        return Array.of_value(trace.builder.fill(strengthen(lift(array)), dims)) if dims else zero_rank(array)
    offset = len(dims) - array.ndim
    if offset < 0:
        raise errors.user_error(
            ValueError, "input operand has more dimensions than allowed by the axis remapping"
        )
    axes = []
    for k, extent in enumerate(array.dims):
        wanted = dims[offset + k]
        refused = "operands could not be broadcast together with remapped shapes"
        if extent == wanted or trace.facts.prove_equal(extent, wanted):
            axes.append((ZERO, [(offset + k, ONE)]))
        elif trace.evaluate(extent) == 1 != trace.evaluate(wanted) and is_one(extent):
            axes.append((ZERO, []))
        else:
            joined = broadcast([[extent], [wanted]], refused)[0]
            if not trace.facts.prove_equal(joined, wanted):
                raise errors.user_error(ValueError, f"{refused} {shape_text(trace, array.dims)}")
            axes.append((ZERO, [(offset + k, ONE)]))
    result = array.derived(Window(ir.IndexMap(dims, axes)), dims)
    result.readonly = True
    return result


def broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    """np.broadcast_arrays."""
    arrays = [as_array(a) for a in args]
    dims = broadcast([a.dims for a in arrays if isinstance(a, Array)], "shape mismatch:")
    return tuple(broadcast_to(a, dims) for a in arrays)


def broadcast_shapes(*shapes: Any) -> tuple[Any, ...]:
    """np.broadcast_shapes."""
    return tuple(
        make_int(extent) for extent in broadcast([dims_from(shape) for shape in shapes], "shape mismatch:")
    )


def diagonal(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Any:
    """np.diagonal: a view that must not be written, as in NumPy."""
    result = diagonal_view(a, offset, axis1, axis2)
    result.readonly = True
    return result


def diagonal_view(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Any:
    """The diagonal as a view; its axis comes last."""
    a = as_array(a)
    if a.ndim < 2:
        raise errors.user_error(ValueError, "diag requires an array of at least two dimensions")
    first, second = normalize_axis(axis1, a.ndim), normalize_axis(axis2, a.ndim)
    if first == second:
        raise errors.user_error(ValueError, "axis1 and axis2 cannot be the same")
    dims = a.dims
    shift = to_expr(offset)
    if decide(ir.Condition(ir.Relation.Le, ZERO, shift)):
        rows, columns, starts = dims[first], dims[second] - shift, (ZERO, shift)
    else:
        rows, columns, starts = dims[first] + shift, dims[second], (ZERO - shift, ZERO)
    wide = holds(ir.Condition(ir.Relation.Le, rows, columns))
    length = ir.min(rows, columns) if wide is None else rows if wide else columns
    if not decide(ir.Condition(ir.Relation.Le, ZERO, length)):
        length, starts = ZERO, (ZERO, ZERO)
    kept = [k for k in range(a.ndim) if k not in (first, second)]
    shape = [dims[k] for k in kept] + [length]
    axes = []
    for k in range(a.ndim):
        if k in (first, second):
            axes.append((starts[0] if k == first else starts[1], [(len(kept), ONE)]))
        else:
            axes.append((ZERO, [(kept.index(k), ONE)]))
    return a.derived(Window(ir.IndexMap(shape, axes)), shape)


def trace_(
    a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None, out: Any = None
) -> Any:
    """np.trace."""
    from . import reductions

    return reductions.reduce("sum", diagonal(a, offset, axis1, axis2), -1, dtype=dtype, out=out)


def shape_of(a: Any) -> Any:
    """np.shape."""
    a = as_array(a)
    return a.shape if isinstance(a, Array) else ()


def ndim(a: Any) -> int:
    """np.ndim."""
    return int(as_array(a).ndim)


def size(a: Any, axis: Any = None) -> Any:
    """np.size."""
    a = as_array(a)
    if not isinstance(a, Array):
        return 1
    sizes = [a.shape[k] for k in normalize_axes(axis, a.ndim)]
    return functools.reduce(operator.mul, sizes, 1)

"""Axes and shapes: transposes, flips, diagonals, new and dropped axes, broadcasts, reshapes; views wherever NumPy's are."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from ferrule import _compiler as ir

from . import errors
from .decide import Eq, broadcast, decide, holds, is_one, shape_text
from .elementwise import as_array
from .trace import Trace
from .tracers import Array, Reshape, Scalar, Window, to_expr, unsupported

ZERO, ONE = ir.Expr(0), ir.Expr(1)


def normalize_axis(axis: Any, rank: int) -> int:
    """An axis counted from 0; AxisError (a ValueError) outside of the rank."""
    axis = operator.index(axis)
    if not -rank <= axis < rank:
        raise errors.user_error(ValueError, f"axis {axis} is out of bounds for array of dimension {rank}")
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
    items = list(shape) if isinstance(shape, (tuple, list)) else [shape]
    return [to_expr(item) for item in items]


# -- windows -------------------------------------------------------------------------------------------------------------


def permuted(array: Array, order: Sequence[int]) -> Array:
    """The axes in another order: result axis k is the array's axis order[k]."""
    if list(order) == list(range(array.ndim)):
        return array
    dims = array.dims
    axes: list[Any] = [(ZERO, [])] * array.ndim
    for position, axis in enumerate(order):
        axes[axis] = (ZERO, [(position, ONE)])
    shape = [dims[axis] for axis in order]
    return array.derived(Window(ir.IndexMap(shape, axes)), shape)


def transpose(a: Any, axes: Any = None) -> Any:
    """np.transpose."""
    a = as_array(a)
    if not isinstance(a, Array):
        return a
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


def flip(m: Any, axis: Any = None) -> Any:
    """np.flip."""
    m = as_array(m)
    index: list[Any] = [slice(None)] * m.ndim
    for k in normalize_axes(axis, m.ndim):
        index[k] = slice(None, None, -1)
    return m[tuple(index)] if index else m


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
        return a
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
        from .elementwise import lift, strengthen

        return Array.of_value(trace.builder.fill(strengthen(lift(array)), dims))
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
    dims = a.dims
    shift = to_expr(offset)
    if decide(ir.Condition(ir.Relation.Le, ZERO, shift)):
        rows, columns, starts = dims[first], dims[second] - shift, (ZERO, shift)
    else:
        rows, columns, starts = dims[first] + shift, dims[second], (ZERO - shift, ZERO)
    if decide(ir.Condition(ir.Relation.Le, rows, columns)):
        length = rows
    else:
        length = columns
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


# -- reshapes ------------------------------------------------------------------------------------------------------------


def reshape(a: Any, shape: Any, order: str = "C", copy: Any = None) -> Any:
    """np.reshape: a view where NumPy gives one, else a copy."""
    a = as_array(a)
    if order == "F":
        dims = list(shape) if isinstance(shape, (tuple, list)) else [shape]
        return transpose(reshape(transpose(a), dims[::-1], copy=copy))
    if order not in ("C", "A"):
        raise unsupported(f"reshape in the order '{order}'")
    trace = Trace.current()
    trace.site()
    if not isinstance(a, Array):
        from .elementwise import lift, strengthen

        dims = _resolve([], dims_from(shape))
        return Array.of_value(trace.builder.fill(strengthen(lift(a)), dims)) if dims else a
    dims = _resolve(a.dims, dims_from(shape))
    if dims == a.dims:
        return a[...] if copy is not True else a.copy()
    if trace.facts.prove(ir.Condition(Eq, ir.product(dims), ZERO)) is True:
        # No element: nothing tells a view from a copy.
        from .elementwise import cast_scalar, lift

        return Array.of_value(trace.builder.fill(lift(cast_scalar(0, a.dtype)), dims))
    if copy is True:
        return Array.of_value(trace.builder.reshape(a.value(), dims))
    if a.storage.pure and _is_windowed(a):
        # Only memory can tell whether NumPy's reshape is a view here.
        a.storage.make_buffer()
    handle = trace.builder.reshape(a.handle(), dims)
    if handle is None:
        return Array.of_value(trace.builder.reshape(a.value(), dims))
    if a.storage.pure and trace.builder.type(handle).kind == ir.ValueKind.Scalar:
        return Array.of_value(handle)
    result = a.derived(Reshape(dims), dims)
    result._cached = (a.storage.version, trace.region, handle)
    return result


def _is_windowed(a: Array) -> bool:
    step: Array | None = a
    while step is not None:
        if isinstance(step.step, Window):
            return True
        step = step.parent
    return False


def _resolve(old: list[ir.Expr], dims: list[ir.Expr]) -> list[ir.Expr]:
    """The new shape with -1 worked out and the numbers of elements made equal."""
    trace = Trace.current()
    dims = [trace.facts.canonical(extent) for extent in dims]
    unknown = [k for k, extent in enumerate(dims) if _is_minus_one(extent)]
    total = ir.product(old)
    if len(unknown) > 1:
        raise errors.user_error(ValueError, "can only specify one unknown dimension")
    if not unknown:
        if not _same_count(old, dims):
            raise errors.user_error(
                ValueError,
                f"cannot reshape array of size {trace.evaluate(total)} into shape {shape_text(trace, dims)}",
            )
        return [trace.facts.canonical(extent) for extent in dims]
    rest = [extent for k, extent in enumerate(dims) if k != unknown[0]]
    dims[unknown[0]] = _quotient(old, rest, total)
    return [trace.facts.canonical(extent) for extent in dims]


def _cancel(old: Sequence[ir.Expr], new: Sequence[ir.Expr]) -> tuple[list[ir.Expr], list[ir.Expr]]:
    """The factors of two products without those that both have; equal sample values are guarded to be equal."""
    trace = Trace.current()
    left = [trace.facts.canonical(extent) for extent in old if extent.constant != 1]
    right = [trace.facts.canonical(extent) for extent in new if extent.constant != 1]
    for extent in list(right):
        if extent in left:
            left.remove(extent)
            right.remove(extent)
    for extent in list(left):
        symbol = extent.as_symbol
        for place, factor in enumerate(right):
            parts = factor.split(symbol) if symbol is not None else None
            if parts is not None and parts[1].constant == 0:
                left.remove(extent)
                right[place] = parts[0]
                break
    right = [extent for extent in right if extent.constant != 1]
    for extent in reversed(list(right)):
        value = trace.evaluate(extent)
        for other in reversed(left):
            alike = value is not None and value == trace.evaluate(other) and len(left) + len(right) > 2
            if alike and holds(ir.Condition(Eq, other, extent)) is True:
                left.remove(other)
                right.remove(extent)
                break
    return left, right


def _same_count(old: Sequence[ir.Expr], new: Sequence[ir.Expr]) -> bool:
    """Whether two shapes have equally many elements, guarded so that it can be proved from then on."""
    trace = Trace.current()
    if trace.facts.prove_equal(ir.product(old), ir.product(new)):
        return True
    left, right = _cancel(old, new)
    first, second = ir.product(left), ir.product(right)
    values = trace.evaluate(first), trace.evaluate(second)
    if None in values or values[0] != values[1]:
        # The rest differs; an extent of 0 among the others can still make the whole equal.
        return holds(ir.Condition(Eq, ir.product(old), ir.product(new))) is True
    if (len(left) != 1 and len(right) != 1) or (first.as_symbol is None and second.as_symbol is None):
        for extent in (*left, *right):
            value = trace.evaluate(extent)
            assert value is not None
            holds(ir.Condition(Eq, extent, ir.Expr(value)))
    elif first.constant is not None or second.constant is not None:
        symbolic = left if first.constant is None else right
        for extent in symbolic if len(symbolic) > 1 else ():
            value = trace.evaluate(extent)
            assert value is not None
            holds(ir.Condition(Eq, extent, ir.Expr(value)))
    return holds(ir.Condition(Eq, first, second)) is True


def _quotient(old: list[ir.Expr], rest: list[ir.Expr], total: ir.Expr) -> ir.Expr:
    """The extent that -1 stands for: what is left after cancelling equal factors, else a guarded quotient."""
    trace = Trace.current()
    for extent in rest:
        # NumPy refuses -1 beside an extent of 0: it may stand for anything.
        if (
            extent.constant is None and holds(ir.Condition(Eq, extent, ZERO)) is True
        ) or extent.constant == 0:
            raise errors.user_error(
                ValueError, f"cannot reshape array of size {trace.evaluate(total)} into shape with -1 and 0"
            )
    factors, left = _cancel(old, rest)
    divisor, dividend = ir.product(left), ir.product(factors)
    if divisor.constant == 1:
        return dividend
    if not holds(ir.Condition(Eq, dividend % divisor, ZERO)):
        raise errors.user_error(
            ValueError,
            f"cannot reshape array of size {trace.evaluate(total)} into shape {shape_text(trace, rest)}",
        )
    return trace.facts.canonical(dividend // divisor)


def _is_minus_one(extent: ir.Expr) -> bool:
    if extent.constant is not None:
        return bool(extent.constant == -1)
    return not decide(ir.Condition(ir.Relation.Le, ZERO, extent))


def set_shape(a: Array, dims: Any) -> None:
    """a.shape = dims: the name gets another shape over the same elements; refused where that needs a copy."""
    view = reshape(a, tuple(dims) if isinstance(dims, (tuple, list)) else (dims,))
    if view.storage is not a.storage:
        raise errors.user_error(
            ValueError, "Incompatible shape for in-place modification. Use `.reshape()` to make a copy."
        )
    if view is a:
        return
    original = Array(a.storage, a._dims, a.dtype)
    original.parent, original.step = a.parent, a.step
    a.parent, a.step = original, Reshape(view.dims)
    a._dims = tuple(view.dims)
    a._cached = None


def ravel(a: Any, order: str = "C") -> Any:
    """np.ravel."""
    a = as_array(a)
    if order == "K":
        order = "C"
    return reshape(a, (ir.product(a.dims if isinstance(a, Array) else []),), order)


def flatten(a: Array, order: str = "C") -> Any:
    """ndarray.flatten: always a copy."""
    if order == "F":
        return flatten(transpose(a))
    return reshape(a, (ir.product(a.dims),), copy=True)


def atleast_1d(*arrays: Any) -> Any:
    """np.atleast_1d."""
    results = [reshape(a, (1,)) if isinstance(a, Scalar) or a.ndim == 0 else a for a in map(as_array, arrays)]
    return results[0] if len(results) == 1 else tuple(results)


def atleast_2d(*arrays: Any) -> Any:
    """np.atleast_2d."""
    results = []
    for a in map(as_array, arrays):
        if isinstance(a, Scalar) or a.ndim == 0:
            results.append(reshape(a, (1, 1)))
        else:
            results.append(a[None, :] if a.ndim == 1 else a)
    return results[0] if len(results) == 1 else tuple(results)

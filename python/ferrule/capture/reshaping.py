"""Reshapes: views where NumPy gives them, else copies; the sizes that decide it are guarded."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from ferrule import _compiler as ir

from . import errors
from .decide import ONE, ZERO, Eq, decide, holds, is_one, shape_text
from .operands import as_array
from .shaping import dims_from, transpose, zero_rank
from .trace import Trace
from .tracers import Array, Reshape, Scalar, Window, reshape_value, unsupported


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
        from .operands import lift, strengthen

        dims = _resolve([], dims_from(shape))
        return Array.of_value(trace.builder.fill(strengthen(lift(a)), dims)) if dims else zero_rank(a)
    dims = _resolve(a.dims, dims_from(shape))
    if dims == a.dims:
        return a[...] if copy is not True else a.copy()
    if trace.facts.prove(ir.Condition(Eq, ir.product(dims), ZERO)) is True:
        # No element: nothing tells a view from a copy.
        from .operands import cast_scalar, lift

        return Array.of_value(trace.builder.fill(lift(cast_scalar(0, a.dtype)), dims))
    if copy is True:
        return _copied(a, dims)
    if a.storage.pure and _is_windowed(a):
        # Only memory can tell whether NumPy's reshape is a view here.
        a.storage.make_buffer()
    step = Reshape(dims)
    handle = step.apply(trace, a.handle()) if a.storage.pure else trace.builder.reshape(a.handle(), dims)
    if handle is None:
        handle = _view_by_sizes(a, dims)
        if handle is None:
            return _copied(a, dims)
    if a.storage.pure and trace.builder.type(handle).kind == ir.ValueKind.Scalar:
        return Array.of_value(handle)
    result = a.derived(step, dims)
    result._cached = (a.storage.version, trace.region, handle)
    return result


def _copied(a: Array, dims: list[ir.Expr]) -> Any:
    """The elements in C order in memory of their own, in another shape."""
    trace = Trace.current()
    value = a.value()
    if trace.builder.type(value).kind == ir.ValueKind.Scalar:
        return Array.of_value(trace.builder.fill(value, dims))
    return Array.of_value(reshape_value(trace, value, dims))


def _view_by_sizes(a: Array, dims: list[ir.Expr]) -> int | None:
    """A reshape that is no view in general: NumPy's is one where some extents are 1, which becomes part of the guards."""
    trace = Trace.current()
    _guard_layout(trace, a)
    dims = [trace.facts.canonical(extent) for extent in dims]
    handle = trace.builder.reshape(a.handle(), dims)
    return None if handle is None else int(handle)


def _guard_layout(trace: Trace, a: Array) -> None:
    """Guards what decides between view and copy: which extents are 1, and which axes follow each other in memory."""
    for extent in a.dims:
        if extent.constant is None and trace.evaluate(extent) is not None:
            is_one(extent)
    strides = trace.builder.view_strides(a.handle())
    axes = [axis for axis, extent in enumerate(a.dims) if extent.constant != 1]
    for outer, inner in itertools.pairwise(axes):
        holds(ir.Condition(Eq, strides[outer], strides[inner] * a.dims[inner]))


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
    if not trace.annotated:
        # A quotient is understood for numbers alone, so that what divides becomes one.
        for extent in left:
            value = None if extent.constant is not None else trace.evaluate(extent)
            if value is not None:
                holds(ir.Condition(Eq, extent, ir.Expr(value)))
        left = [trace.facts.canonical(extent) for extent in left]
        rest = [trace.facts.canonical(extent) for extent in rest]
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
    """np.ravel: a view of contiguous memory, else a copy."""
    a = as_array(a)
    if order == "F":
        return ravel(transpose(a))
    if order not in ("C", "K", "A"):
        raise unsupported(f"ravel in the order '{order}'")
    if not isinstance(a, Array):
        return reshape(a, (1,))
    if a.storage.pure and _is_windowed(a):
        a.storage.make_buffer()
    if not a.storage.pure and not _is_contiguous(a):
        return _copied(a, [ir.product(a.dims)])
    return reshape(a, (ir.product(a.dims),))


def _is_contiguous(a: Array) -> bool:
    """Whether the elements lie one after another, as the sample has it; what decides it is guarded."""
    trace = Trace.current()
    if _is_dense(trace, a):
        return True
    _guard_layout(trace, a)
    wide = [axis for axis, extent in enumerate(a.dims) if extent.constant != 1]
    if wide:
        holds(ir.Condition(Eq, trace.builder.view_strides(a.handle())[wide[-1]], ONE))
    return _is_dense(trace, a)


def _is_dense(trace: Trace, a: Array) -> bool:
    """Whether the strides are provably those of C order; axes of extent 1 do not count."""
    expected = ONE
    for extent, stride in zip(
        reversed(a.dims), reversed(trace.builder.view_strides(a.handle())), strict=True
    ):
        if extent.constant == 1:
            continue
        if not trace.facts.prove_equal(stride, expected):
            return False
        expected = expected * extent
    return True


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

"""Reshapes: views where NumPy gives them, else copies; the sizes that decide it are guarded."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from ferrule import _compiler as ir
from ferrule import errors as public

from . import errors
from .decide import ONE, ZERO, Eq, Le, Ne, decide, holds, is_one, record, shape_text
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
        return _empty(a, dims)
    if copy is True:
        return _copied(a, dims)
    if a.storage.pure and _is_windowed(a):
        # Only memory can tell whether NumPy's reshape is a view here.
        a.storage.make_buffer()
    step = Reshape(dims)
    handle = step.apply(trace, a.handle()) if a.storage.pure else trace.builder.reshape(a.handle(), dims)
    if handle is None:
        if trace.evaluate(ir.product(dims)) == 0 and decide(ir.Condition(Eq, ir.product(dims), ZERO)):
            return _empty(a, dims)
        try:
            handle = _view_by_sizes(a, dims)
        except errors.NeedsRuntime:
            raise errors.unsupported(
                "A reshape of memory with gaps, in sizes that are known only at run time, is not supported.",
                "Copy it first: a.copy().reshape(...).",
            ) from None
        if handle is None:
            return _copied(a, dims)
    if a.storage.pure and trace.builder.type(handle).kind == ir.ValueKind.Scalar:
        return Array.of_value(handle)
    result = a.derived(step, dims)
    result._cached = (a.storage.version, trace.region, handle)
    return result


def _empty(a: Array, dims: list[ir.Expr]) -> Any:
    """An array without elements: nothing tells a view from a copy."""
    from .operands import cast_scalar, lift

    return Array.of_value(Trace.current().builder.fill(lift(cast_scalar(0, a.dtype)), dims))


def _copied(a: Array, dims: list[ir.Expr]) -> Any:
    """The elements in C order in memory of their own, in another shape."""
    trace = Trace.current()
    value = a.value()
    if trace.builder.type(value).kind == ir.ValueKind.Scalar:
        return Array.of_value(trace.builder.fill(value, dims))
    return Array.of_value(reshape_value(trace, value, dims))


def _view_by_sizes(a: Array, dims: list[ir.Expr]) -> int | None:
    """A reshape that is no view in general: whether NumPy's is one, by the sample; what decides it is guarded."""
    trace = Trace.current()
    _guard_layout(trace, a)
    old = [trace.facts.canonical(extent) for extent in a.dims]
    wide = [axis for axis, extent in enumerate(old) if extent.constant != 1]
    if not wide:
        for extent in dims:
            is_one(extent)
    strides = trace.builder.view_strides(a.handle())
    begin = [0, 0]
    for outer, inner in itertools.pairwise(wide):
        if trace.facts.prove_equal(strides[outer], strides[inner] * old[inner]):
            continue
        # The memory has a gap here, so that the new axes must part here, too.
        part = _parting(old[begin[0] : inner], dims[begin[1] :])
        if part is None:
            return None
        begin = [inner, begin[1] + part]
    decide(ir.Condition(Eq, ir.product(old[begin[0] :]), ir.product(dims[begin[1] :])))
    dims = [trace.facts.canonical(extent) for extent in dims]
    handle = trace.builder.reshape(a.handle(), dims)
    return None if handle is None else int(handle)


def _parting(old: list[ir.Expr], new: list[ir.Expr]) -> int | None:
    """How many of the new axes have as many elements as the old ones together; None if no number of them has."""
    trace = Trace.current()
    total = ir.product(old)
    counts = [ir.product(new[:taken]) for taken in range(1, len(new) + 1)]
    for taken, count in enumerate(counts, 1):
        if trace.evaluate(count) == trace.evaluate(total) and decide(ir.Condition(Eq, count, total)):
            return taken
    for count in counts:
        decide(ir.Condition(Eq, count, total))
    return None


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
    old = [trace.facts.simplify(extent) for extent in old]
    dims = [trace.facts.simplify(extent) for extent in dims]
    # NumPy takes every negative extent for -1.
    unknown = [k for k, extent in enumerate(dims) if not _settled(ir.Condition(Le, ZERO, extent))]
    if len(unknown) > 1:
        raise errors.user_error(ValueError, "can only specify one unknown dimension")
    if unknown:
        dims[unknown[0]] = _quotient(old, dims, unknown[0])
    else:
        equal = ir.Condition(Eq, ir.product(old), ir.product(dims))
        if trace.facts.prove(equal) is not True:
            left, right = _cancel(old, dims)
            cancelled = ir.Condition(Eq, ir.product(left), ir.product(right))
            # An extent of 0 among the factors that both have can make the whole equal though the rest is not.
            values = _count(trace, cancelled.left), _count(trace, cancelled.right)
            _require(cancelled if trace.annotated or values[0] == values[1] else equal, old, dims)
    return [trace.facts.canonical(extent) for extent in dims]


def _cancel(old: Sequence[ir.Expr], new: Sequence[ir.Expr]) -> tuple[list[ir.Expr], list[ir.Expr]]:
    """The factors of two products without those that both have."""
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
    return left, [extent for extent in right if extent.constant != 1]


def _require(condition: ir.Condition, old: list[ir.Expr], dims: list[ir.Expr], unknown: int = -1) -> None:
    """Makes what a reshape needs a guard; NumPy's ValueError where the sample does not have it."""
    trace = Trace.current()
    if trace.annotated and trace.facts.prove(condition) is None and _is_of_entry(trace, condition):
        record(trace, condition)
    elif not _met(condition):
        values = [
            "newaxis" if k == unknown else shape_text(trace, [extent])[1:-2] for k, extent in enumerate(dims)
        ]
        raise errors.user_error(
            ValueError,
            f"cannot reshape array of size {trace.evaluate(ir.product(old))} into shape ({','.join(values)}{',' * (len(values) == 1)})",
        )


def _settled(condition: ir.Condition) -> bool:
    try:
        return decide(condition)
    except errors.NeedsRuntime:
        raise unsupported("a reshape to a shape that changes within a call") from None


def _met(condition: ir.Condition) -> bool:
    try:
        return _settled(condition)
    except public.UserOverflowError:
        return False  # more elements than 64 bits count: NumPy's own refusal


def _count(trace: Trace, expr: ir.Expr) -> int | None:
    """The sample's value of a product of extents; -1 where 64 bits do not hold it."""
    try:
        return trace.evaluate(expr)
    except public.UserOverflowError:
        return -1


def _is_of_entry(trace: Trace, condition: ir.Condition) -> bool:
    known = map(trace.evaluate_generally, (condition.left, condition.right))
    return None not in known


def _quotient(old: list[ir.Expr], dims: list[ir.Expr], unknown: int) -> ir.Expr:
    """The extent that -1 stands for: what is left after cancelling equal factors, else a guarded quotient."""
    trace = Trace.current()
    rest = [extent for k, extent in enumerate(dims) if k != unknown]
    for extent in rest:
        # NumPy refuses -1 beside an extent of 0: it may stand for anything.
        _require(ir.Condition(Ne, extent, ZERO), old, dims, unknown)
    factors, left = _cancel(old, rest)
    divisor, dividend = ir.product(left), ir.product(factors)
    if divisor.constant == 1:
        return dividend
    _require(ir.Condition(Eq, dividend % divisor, ZERO), old, dims, unknown)
    return trace.facts.simplify(dividend // divisor)


def set_shape(a: Array, dims: Any) -> None:
    """a.shape = dims: the name gets another shape over the same elements; refused where that needs a copy."""
    trace = Trace.current()
    if a.storage.region != trace.region:
        raise errors.unsupported(
            "The assignment to the shape of an array that was made outside of this loop or branch is not supported.",
            "Use reshape().",
        )
    if trace.is_argument(a):
        raise errors.unsupported(
            "The assignment to the shape of an argument is not supported.",
            "Write it to a view: a = a[:], or use reshape().",
        )
    view = reshape(a, tuple(dims) if isinstance(dims, (tuple, list)) else (dims,))
    if view.storage is not a.storage:
        raise errors.user_error(
            ValueError, "Incompatible shape for in-place modification. Use `.reshape()` to make a copy."
        )
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


def atleast_3d(*arrays: Any) -> Any:
    """np.atleast_3d."""
    results = []
    for a in map(as_array, arrays):
        if isinstance(a, Scalar) or a.ndim == 0:
            results.append(reshape(a, (1, 1, 1)))
        else:
            results.append(a[None, :, None] if a.ndim == 1 else a[:, :, None] if a.ndim == 2 else a)
    return results[0] if len(results) == 1 else tuple(results)

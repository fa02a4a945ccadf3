"""Basic indexing: the items of an index, integers with wrap-around, new axes; loads and stores through them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrule import _compiler as ir

from . import errors
from .decide import ONE, ZERO, Eq, Le, Lt, assume_equal, check_equal, holds, shape_text
from .slices import Term, from_end_if_negative, index_expr, slice_term
from .trace import Trace
from .tracers import Array, Int, Scalar, TracedRange, Window, unsupported


def load(array: Array, key: Any) -> Any:
    """array[key]: a number where every axis gets an integer, else a view."""
    trace = Trace.current()
    trace.site()
    view, element = view_of(array, key)
    return Array.of_value(view.value()) if element else view


def store(array: Array, key: Any, value: Any) -> None:
    """array[key] = value, with NumPy's unsafe cast to the array's dtype."""
    from . import operands
    from .element_store import check_storable

    trace = Trace.current()
    trace.site()
    if isinstance(value, (list, tuple, np.ndarray)):
        value = operands.as_array(value)
    target, element = view_of(array, key)
    if element and isinstance(value, Array) and value.ndim:
        raise errors.user_error(ValueError, "setting an array element with a sequence.")
    if isinstance(value, Array) and target.is_same_view(value):
        return  # the end of `array[key] += x`
    check_storable(value, target.dtype)
    assign(target, value)


def assign(target: Array, value: Any) -> None:
    """Writes all of `value`, read first, into `target`."""
    from . import elementwise, operands

    trace = Trace.current()
    if value is None or isinstance(value, (str, bytes, dict)):
        raise errors.user_error(
            TypeError, f"a value of type '{type(value).__name__}' cannot be stored into an array."
        )
    if isinstance(value, Array):
        dims = value.dims
        while len(dims) > target.ndim:
            known = holds(ir.Condition(Eq, dims[0], ONE))
            if known is None:
                check_equal(ONE, dims[0], "could not broadcast input array into an array of fewer axes")
            if known is False:
                break
            dims = dims[1:]
        if len(dims) > target.ndim or not _fits(dims, target):
            raise errors.user_error(
                ValueError,
                f"could not broadcast input array from shape {shape_text(trace, value.dims)} into shape"
                f" {shape_text(trace, target.dims)}",
            )
        extra = value.ndim - len(dims)
        if extra:
            axes: list[Any] = [(ZERO, [])] * extra
            axes += [(ZERO, [(k, ONE)]) for k in range(len(dims))]
            value = value.derived(Window(ir.IndexMap(dims, axes)), dims)
        value = elementwise.conform(value, target.dims)
        value_id = value.value()
    else:
        if isinstance(value, Int):
            operands.check_fits(value, target.dtype)
        value_id = operands.lift(value, target.dtype)
    trace.builder.store(target.mutate(), value_id)


def _fits(dims: list[ir.Expr], target: Array) -> bool:
    trace = Trace.current()
    for extent, wanted in zip(dims, target.dims[target.ndim - len(dims) :], strict=True):
        if extent == wanted or extent.constant == 1 or trace.facts.prove_equal(extent, wanted):
            continue
        if assume_equal(trace, wanted, extent):
            continue
        values = trace.evaluate(extent), trace.evaluate(wanted)
        equal = ir.Condition(Eq, extent, wanted)
        stretched = ir.Condition(Eq, extent, ONE)
        unknown = values[0] is None or values[1] is None
        if (unknown or values[0] == values[1]) and holds(equal):
            continue
        if holds(stretched):
            continue
        if not unknown:
            holds(equal)  # the refusal is that of these sizes
            return False
        check_equal(wanted, extent, "could not broadcast input array into the shape of the target")
    return True


def view_of(array: Array, key: Any) -> tuple[Array, bool]:
    """The view that an index selects, and whether it is a single element."""
    terms, element = parse(array, key)
    dims: list[ir.Expr] = []
    axes: list[Any] = []
    for term in terms:
        if term.new:
            dims.append(ONE)
        elif term.step is None:
            axes.append((term.start, []))
        else:
            axes.append((term.start, [(len(dims), term.step)]))
            dims.append(term.extent if term.extent is not None else ONE)
    if len(dims) == array.ndim and all(
        _is_whole(term, extent) for term, extent in zip(terms, array.dims, strict=False)
    ):
        return array.again(), element
    return array.derived(Window(ir.IndexMap(dims, axes)), dims), element


def _is_whole(term: Term, extent: ir.Expr) -> bool:
    return not term.new and term.step == ONE and term.start == ZERO and term.extent == extent


def parse(array: Array, key: Any) -> tuple[list[Term], bool]:
    """The items of an index, the ellipsis and missing axes written out."""
    items = list(key) if isinstance(key, tuple) else [key]
    has_ellipsis = any(item is Ellipsis for item in items)
    used = sum(1 for item in items if item is not None and item is not Ellipsis)
    if sum(1 for item in items if item is Ellipsis) > 1:
        raise errors.user_error(IndexError, "an index can only have a single ellipsis ('...')")
    for item in items:
        _refuse(item)
    if used > array.ndim:
        raise errors.user_error(
            IndexError,
            f"too many indices for array: array is {array.ndim}-dimensional, but {used} were indexed",
        )
    if not has_ellipsis:
        items.append(Ellipsis)
    terms: list[Term] = []
    dims = array.dims
    axis = 0
    element = not has_ellipsis and used == array.ndim and all(item is not None for item in items)
    for item in items:
        if item is None:
            terms.append(Term(ZERO, new=True))
        elif item is Ellipsis:
            for _ in range(array.ndim - used):
                terms.append(Term(ZERO, ONE, dims[axis]))
                axis += 1
        elif isinstance(item, slice):
            element = False
            terms.append(slice_term(item, dims[axis]))
            axis += 1
        else:
            terms.append(Term(wrap(item, dims[axis], axis)))
            axis += 1
    return terms, element


# What NumPy makes an array of where it is one of the indices.
_SEQUENCES = (list, tuple, range, TracedRange)


def _refuse(item: Any) -> None:
    """The one place where masks and integer arrays as indices are refused."""
    if item is None or item is Ellipsis or isinstance(item, (slice, Int)):
        return
    if isinstance(item, (bool, np.bool_)) or getattr(item, "dtype", None) == np.bool_:
        raise unsupported("an index that is a boolean mask")
    if isinstance(item, Array) and item.ndim == 0 and item.dtype.kind in "iu":
        return
    if isinstance(item, (Array, *_SEQUENCES)) or (isinstance(item, np.ndarray) and item.ndim > 0):
        raise unsupported("an index that is an array or list of integers")
    if isinstance(item, Scalar) and item.dtype.kind in "iu":
        return
    if not isinstance(item, Scalar) and hasattr(item, "__index__"):
        return
    raise errors.user_error(
        IndexError,
        "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are valid"
        " indices",
    )


def wrap(item: Any, extent: ir.Expr, axis: int) -> ir.Expr:
    """An index within an axis: negative ones count from the end; out of bounds is an IndexError now or at run time."""
    trace = Trace.current()
    index = trace.facts.canonical(index_expr(item))
    sign = holds(ir.Condition(Le, ZERO, index))
    if sign is None:
        wrapped = from_end_if_negative(index, extent)
        _check_bounds(trace, ir.Condition(Le, ZERO, wrapped))
    elif sign:
        wrapped = index
    else:
        wrapped = index + extent
        _bound(trace, ir.Condition(Le, ZERO, wrapped), index, extent, axis)
        return wrapped
    _bound(trace, ir.Condition(Lt, wrapped, extent), index, extent, axis)
    return wrapped


def _bound(trace: Trace, condition: ir.Condition, index: ir.Expr, extent: ir.Expr, axis: int) -> None:
    inside = holds(condition, precondition=True)
    if inside is True:
        return
    if inside is False and trace.depth == 0:
        shown = [trace.evaluate(value) for value in (index, extent)]
        raise errors.user_error(
            IndexError, f"index {shown[0]} is out of bounds for axis {axis} with size {shown[1]}"
        )
    _check_bounds(trace, condition)


def _check_bounds(trace: Trace, condition: ir.Condition) -> None:
    if trace.options.bounds_check:
        trace.site("an index is out of bounds")
        trace.builder.check(condition, ir.ErrorCode.INDEX)

"""np.arange and np.linspace: numbers at equal distances, as many as sizes or numbers of the run say."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ferrule import _compiler as ir

from . import errors
from .creation import check_memory, dtype_or, natural_dtype, require_size
from .decide import ONE, ZERO, decide, holds
from .elementwise import apply, cast, require, select
from .operands import as_array, cast_scalar, check_dtype, dtype_of
from .operators import refuse_zero
from .scalars import element, int_index
from .shaping import normalize_axis
from .trace import Trace
from .tracers import Array, Cond, Int, Scalar, is_traced, to_expr, unsupported


def arange(*args: Any, dtype: Any = None, like: Any = None, device: Any = None, **bounds: Any) -> Any:
    """np.arange; bounds: 'start', 'stop' and 'step'."""
    start, stop, step = map(_range_bound, _range_arguments(args, bounds))
    if len(args) == 4:
        dtype = args[3]
    trace = Trace.current()
    trace.site()
    bools = [value for value in (start, stop) if natural_dtype(value).kind == "b"]
    if len(args) > 1 and len(bools) == 2 and not all(isinstance(value, (bool, Cond)) for value in bools):
        raise errors.user_error(
            TypeError, "numpy boolean subtract, the `-` operator, is not supported. Use ints."
        )
    if all(natural_dtype(value).kind in "iub" for value in (start, stop, step)):
        return _integer_range(start, stop, step, dtype)
    length = _float_length(start, stop, step)
    kinds = [np.dtype(np.float64), *(d for d in map(dtype_of, (start, stop, step)) if d is not None)]
    kind = dtype_or(dtype, np.result_type(*kinds))
    if kind.kind in "iub":
        raise unsupported("'arange' of an integer dtype over floats")
    index = Array.of_value(trace.builder.iota([length], 0))
    # NumPy computes the second element first and steps by the difference of the first two, in the result's dtype.
    first = cast_scalar(start, kind)
    delta = apply("subtract", (cast_scalar(apply("add", (start, step)), kind), first))
    result = apply("add", (first, apply("multiply", (cast(index, kind), delta))))
    if is_traced(step) or not np.isfinite(step):
        result = apply("select", (apply("equal", (index, 0)), first, result))
    return result


def _range_arguments(args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, Any, Any]:
    for name in named.keys() - {"start", "stop", "step"}:
        raise errors.user_error(TypeError, f"arange() got an unexpected keyword argument '{name}'")
    values = dict(named)
    if len(args) == 1 and "stop" not in values:
        values["stop"] = args[0]
    else:
        values.update(zip(("start", "stop", "step"), args, strict=False))
    start, stop, step = values.get("start", 0), values.get("stop"), values.get("step", 1)
    if (stop is None and start is None) or (len(args) == 1 and args[0] is None):
        raise errors.user_error(TypeError, "'arange' takes numbers, got None.")
    if stop is None:
        start, stop = 0, start
    return start, stop, 1 if step is None else step


def _range_bound(value: Any) -> Any:
    """An argument of arange as a number."""
    value = value if isinstance(value, (list, tuple)) else as_array(value)
    if isinstance(value, Array):
        return element(value)
    if not isinstance(value, (int, float, np.generic, Int, Cond, Scalar)):
        raise errors.user_error(
            TypeError, f"'arange' takes numbers, got an argument of type '{type(value).__name__}'."
        )
    return value


def _bool_as_int(value: Any) -> Any:
    if isinstance(value, np.bool_):
        return int(value)
    if isinstance(value, Scalar) and value.dtype.kind == "b":
        return cast_scalar(value, np.dtype(np.int64))
    return value


def _integer_range(start: Any, stop: Any, step: Any, dtype: Any) -> Any:
    start, stop, step = map(_bool_as_int, (start, stop, step))
    strong = [d for d in map(dtype_of, (start, stop, step)) if d is not None]
    kind = dtype_or(dtype, np.result_type(np.int64, *strong) if strong else np.int64)
    first, last, by = to_expr(start), to_expr(stop), to_expr(step)
    if strong:
        require_size(ir.Condition(ir.Relation.Ne, ZERO, by), _TOO_LONG)
    else:
        refuse_zero(by, "division")
    up = holds(ir.Condition(ir.Relation.Lt, ZERO, by))
    low, high, stride = (last, first, ZERO - by) if up is False else (first, last, by)
    trace = Trace.current()
    # The ceiling of the quotient is right for steps of both signs.
    steps = high - low if stride == ONE else ZERO - ((low - high) // stride)
    some = holds(ir.Condition(ir.Relation.Le, low, high)) if up is not None else None
    length = ZERO if some is False else steps if some else ir.max(steps, ZERO)
    check_memory([length], kind)
    index = Array.of_value(trace.builder.iota([length], 0))
    if by != ONE:
        index = apply("multiply", (index, _int_of(by)))
    if first != ZERO:
        index = apply("add", (index, _int_of(first)))
    return cast(index, kind)


def _int_of(expr: ir.Expr) -> Any:
    constant = expr.constant
    return int(constant) if constant is not None else Int(expr)


_NO_LENGTH = "arange: cannot compute length"
_TOO_LONG = "Maximum allowed size exceeded"


def _float_length(start: Any, stop: Any, step: Any) -> ir.Expr:
    """ceil((stop - start) / step), at least 0: known now for constants, else at run time."""
    with np.errstate(all="ignore"):
        difference = stop - start
        if not is_traced(difference) and not is_traced(step):
            return ir.Expr(_known_length(difference, step))
        quotient = difference / step
    require(apply("equal", (quotient, quotient)), _NO_LENGTH, ir.ErrorCode.VALUE)
    require(apply("less", (apply("absolute", (quotient,)), 2.0**63)), _TOO_LONG, ir.ErrorCode.VALUE)
    # A quotient that is zero for a difference that is not has underflowed: its sign tells.
    tiny = apply("logical_and", (apply("equal", (quotient, 0.0)), apply("not_equal", (difference, 0))))
    beyond = apply("logical_not", (apply("signbit", (quotient,)),))
    count = apply("maximum", (apply("ceil", (quotient,)), 0.0))
    count = apply("select", (tiny, cast_scalar(beyond, np.dtype(count.dtype)), count))
    length = cast_scalar(count, np.dtype(np.int64))
    return ir.Expr.symbol(Trace.current().builder.symbolize(length.id, "length", True))


def _known_length(difference: Any, step: Any) -> int:
    try:
        quotient = float(difference / step)
    except ZeroDivisionError as error:
        raise errors.user_error(ZeroDivisionError, str(error)) from None
    if math.isnan(quotient):
        raise errors.user_error(ValueError, _NO_LENGTH)
    if abs(quotient) >= 2.0**63:
        raise errors.user_error(ValueError, _TOO_LONG)
    if quotient == 0 and difference != 0:
        return int(math.copysign(1, quotient) > 0)
    return max(0, math.ceil(quotient))


def _end(value: Any) -> Any:
    """A bound of linspace as a number."""
    if isinstance(value, Array):
        if value.ndim:
            raise unsupported("'linspace' between arrays")
        return element(value)
    return value


def _kind(value: Any) -> Any:
    """What decides on a dtype: that of a number of NumPy's, else a Python number of the same type."""
    strong = dtype_of(value)
    return strong if strong is not None else 0.0 if natural_dtype(value).kind == "f" else 0


def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """np.linspace between numbers: start + arange(num) * step, the last element exactly stop."""
    trace = Trace.current()
    trace.site()
    start, stop = (_end(as_array(value)) for value in (start, stop))
    normalize_axis(axis, 1)
    count = to_expr(int_index(num))
    require_size(ir.Condition(ir.Relation.Le, ZERO, count), "Number of samples must be non-negative.")
    divisions = count - ONE if endpoint else count
    try:
        several = decide(ir.Condition(ir.Relation.Lt, ZERO, divisions))
    except errors.NeedsRuntime:
        raise unsupported("a number of samples that is known only at run time in 'linspace'") from None
    kind = np.result_type(*(_kind(value) for value in (start, stop)), 0.0)
    check_dtype(kind)
    check_memory([count], kind)
    index = cast(Array.of_value(trace.builder.iota([count], 0)), kind)
    first, last = cast_scalar(start, kind), cast_scalar(stop, kind)
    delta = apply("subtract", (last, first))
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

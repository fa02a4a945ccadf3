"""Reductions over axes with keepdims, dtype, initial and where, and the moments built from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ferrule import _compiler as ir

from . import errors
from .decide import ONE, ZERO, holds
from .elementwise import apply, cast, operand_type, require, select
from .operands import as_array, cast_scalar, check_dtype, check_fits, dtype_of, lift
from .shaping import normalize_axes
from .trace import Trace
from .tracers import Array, Int, Scalar, Window, make_int, unsupported
from .ufuncs import write_out

INFO: dict[str, Any] = {info.name: info for info in ir.reduce_ops()}
_NEUTRAL: dict[str, Any] = {
    "sum": 0,
    "prod": 1,
    "any": False,
    "all": True,
    "bit_or": 0,
    "bit_xor": 0,
    "bit_and": -1,
}


def reduce(
    name: str,
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """A reduction of the table with NumPy's keywords."""
    trace = Trace.current()
    trace.site()
    a = as_array(a)
    initial = None if initial is np._NoValue else initial
    where = True if where is np._NoValue else where
    keepdims = False if keepdims is np._NoValue else bool(keepdims)
    if not isinstance(a, Array):
        return _reduce_number(name, a, axis, dtype, out, initial, where)
    axes = _axes(axis, a.ndim)
    dtype = np.dtype(dtype) if dtype is not None else None
    if dtype is not None:
        check_dtype(dtype)
    elif isinstance(out, Array) and name not in ("any", "all"):
        dtype = np.promote_types(a.dtype, out.dtype)  # NumPy has the array for the result take part
    if dtype is not None:
        _require_loop(name, dtype)
    if initial is not None:
        initial = _converted(initial, dtype or np.dtype(ir.infer_reduction(INFO[name].op, a.dtype.name)))
    if where is not True:
        if name not in _NEUTRAL and initial is None:
            raise errors.user_error(
                ValueError,
                f"reduction operation '{name}' does not have an identity, so to use a where mask one has to specify 'initial'",
            )
        neutral = _NEUTRAL.get(name, initial)
        if name.startswith("bit_"):
            neutral = np.asarray(neutral).astype(a.dtype)[()]
        a = select(where, a, neutral)
        if not isinstance(a, Array):
            raise unsupported(f"'where' in '{name}' of a single number")
        axes = _axes(axis, a.ndim)
    result = None
    if (
        name not in _NEUTRAL
        and not INFO[name].has_identity
        and not _has_elements(name, a, axes, initial is not None)
    ):
        result = _all_initial(a, axes, initial, dtype)
    if result is None:
        result = Array.of_value(
            trace.builder.reduce(
                INFO[name].op, a.handle(), axes, ir.dtype(dtype.name) if dtype is not None else None
            )
        )
        if initial is not None:
            result = _combine(name, result, initial)
    if keepdims:
        result = keep(result, a, axes)
    if out is None:
        return result
    write_out(name, out, result, "unsafe")
    return out


def _axes(axis: Any, rank: int) -> list[int]:
    """The axes to reduce, in order; of no dimension NumPy takes one axis for none."""
    return [] if rank == 0 and type(axis) is int and axis in (0, -1) else sorted(normalize_axes(axis, rank))


def _reduce_number(name: str, value: Any, axis: Any, dtype: Any, out: Any, initial: Any, where: Any) -> Any:
    if where is not True:
        raise unsupported(f"'where' in '{name}' of a single number")
    _axes(axis, 0)
    result = of_scalar(name, value, dtype)
    if initial is not None:
        result = _combine(name, result, _converted(initial, np.dtype(result.dtype)))
    if out is not None:
        write_out(name, out, result, "unsafe")
        return out
    return result


def _require_loop(name: str, dtype: np.dtype[Any]) -> None:
    """NumPy's TypeError for a dtype that a ufunc does not reduce in."""
    kinds = {"Logical": "b", "Bitwise": "biu"}.get(INFO[name].rule, "biuf")
    if dtype.kind not in kinds:
        raise errors.user_error(
            TypeError,
            f"No loop matching the specified signature and casting was found for a reduction '{name}' in {dtype}",
        )


def _converted(initial: Any, kind: np.dtype[Any]) -> Any:
    """initial= in the dtype that is reduced in; a Python number that adapts to it stays one, so that its range is tested."""
    initial = as_array(initial)
    if ir.promote([(kind.name, False), operand_type(initial)])[0] == kind.name and dtype_of(initial) is None:
        if isinstance(initial, Int):
            check_fits(initial, kind)
        return initial
    return cast(initial, kind)


def _combine(name: str, result: Any, initial: Any) -> Any:
    combined = apply(INFO[name].combine, (result, initial))
    return combined if combined.dtype == result.dtype else cast(combined, result.dtype)


def _all_initial(a: Array, axes: list[int], initial: Any, dtype: np.dtype[Any] | None) -> Any:
    dims = [extent for k, extent in enumerate(a.dims) if k not in axes]
    value = cast_scalar(initial, dtype or a.dtype)
    return Array.of_value(Trace.current().builder.fill(lift(value), dims))


def _has_elements(name: str, a: Array, axes: list[int], has_initial: bool) -> bool:
    """Whether there is something to reduce; a ValueError, now or at run time, where there is not and must be."""
    trace = Trace.current()
    count = ir.product([a.dims[k] for k in axes])
    condition = ir.Condition(ir.Relation.Lt, ZERO, count)
    known = trace.facts.prove(condition) if has_initial else holds(condition)
    if known or (known is None and has_initial):
        return True
    message = f"zero-size array to reduction operation {name} which has no identity"
    if known is False:
        if has_initial:
            return False
        rest = ir.product([extent for k, extent in enumerate(a.dims) if k not in axes])
        if len(axes) < a.ndim and holds(ir.Condition(ir.Relation.Eq, rest, ZERO)) is True:
            return True
        if trace.depth == 0:
            raise errors.user_error(ValueError, message)
    trace.site(message)
    trace.builder.check(condition, ir.ErrorCode.VALUE)
    return True


def of_scalar(name: str, value: Any, dtype: Any = None) -> Any:
    """A reduction of a single number."""
    if not isinstance(value, Scalar):
        value = Scalar(lift(value))
    kind = np.dtype(value.dtype)
    if dtype is not None:
        return cast_scalar(value, np.dtype(dtype))
    if name in ("any", "all"):
        return cast_scalar(value, np.dtype(np.bool_))
    if name in ("sum", "prod") and kind.kind in "biu":
        return cast_scalar(value, np.dtype(np.uint64 if kind.kind == "u" else np.int64))
    if name in ("mean", "var", "std") and kind.kind in "biu":
        return cast_scalar(value, np.dtype(np.float64))
    return cast_scalar(value, kind)


def keep(result: Any, a: Array, axes: list[int]) -> Any:
    """The reduced axes put back with extent 1."""
    dims = [ONE if k in axes else extent for k, extent in enumerate(a.dims)]
    if not isinstance(result, Array):
        return Array.of_value(Trace.current().builder.fill(lift(result), dims))
    kept = [k for k in range(a.ndim) if k not in axes]
    maps = [(ZERO, [(k, ONE)]) for k in kept]
    return result.derived(Window(ir.IndexMap(dims, maps)), dims)


def _count(a: Array, axes: list[int]) -> Any:
    """The number of elements that each result is made of."""
    return make_int(ir.product([a.dims[k] for k in axes]))


def mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, where: Any = True
) -> Any:
    """np.mean: integers in float64, float32 in itself."""
    a = as_array(a)
    where = True if where is np._NoValue else where
    if not isinstance(a, Array):
        _check_options("mean", axis, out, where)
        return of_scalar("mean", a, dtype)
    kind = (
        np.dtype(dtype) if dtype is not None else np.dtype(np.float64) if a.dtype.kind in "biu" else a.dtype
    )
    _check_moment("mean", kind)
    axes = sorted(normalize_axes(axis, a.ndim))
    if out is not None and dtype is None and a.dtype.kind == "f":
        kind = np.promote_types(kind, out.dtype)
    total = reduce("sum", a, axis, kind, keepdims=keepdims, where=where)
    count = _count(a, axes) if where is True else _selected(a, axis, where, keepdims)
    if out is None:
        return _divide(total, count, kind)
    # NumPy has the sum in the array for the result when it divides.
    result = _divide(cast(total, out.dtype), count, np.promote_types(out.dtype, np.int64))
    write_out("mean", out, result, "unsafe")
    return out


def _check_options(name: str, axis: Any, out: Any, where: Any) -> None:
    """Refuses the options of a moment of a single number, which has no axis."""
    if out is not None or where is not True:
        raise unsupported(f"'{'where' if out is None else 'out'}' in '{name}' of a single number")
    normalize_axes(axis, 0)


def _check_moment(name: str, kind: np.dtype[Any]) -> None:
    if kind.kind != "f":
        raise unsupported(f"the argument 'dtype' = '{kind}' of '{name}'")


def _selected(a: Array, axis: Any, where: Any, keepdims: Any) -> Any:
    from .shaping import broadcast_to

    return count_nonzero(broadcast_to(as_array(where), a.dims), axis, keepdims=keepdims)


def _divide(total: Any, count: Any, kind: np.dtype[Any]) -> Any:
    """total / count in the dtype of the total, as NumPy's mean does; no division is by Python's rules."""
    return apply("divide", (total, cast(count, kind)))


def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    """np.var in two passes: the mean, then the mean square of what differs from it."""
    a = as_array(a)
    where = True if where is np._NoValue else where
    given_mean = None if mean is np._NoValue else mean
    ddof = ddof if correction is None or correction is np._NoValue else correction
    if not isinstance(a, Array):
        _check_options("var", axis, out, where)
        deviation = apply("multiply", (of_scalar("mean", a, dtype), 0))
        return apply("divide", (deviation, apply("maximum", (cast(1 - ddof, deviation.dtype), 0))))
    kind = (
        np.dtype(dtype) if dtype is not None else np.dtype(np.float64) if a.dtype.kind in "biu" else a.dtype
    )
    _check_moment("var", kind)
    axes = sorted(normalize_axes(axis, a.ndim))
    centre = (
        globals()["mean"](a, axis, kind, keepdims=True, where=where) if given_mean is None else given_mean
    )
    deviation = apply("square", (apply("subtract", (cast(a, kind), centre)),))
    total = reduce("sum", deviation, axis, kind, keepdims=keepdims, where=where)
    if where is True:
        count = apply("maximum", (cast(_count(a, axes) - ddof, kind), 0))
    else:
        count = apply(
            "maximum", (apply("subtract", (cast(_selected(a, axis, where, keepdims), kind), ddof)), 0)
        )
    result = apply("divide", (total, count))
    if out is None:
        return result
    write_out("var", out, result, "unsafe")
    return out


def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    **options: Any,
) -> Any:
    """np.std."""
    result = apply("sqrt", (var(a, axis, dtype, None, ddof, keepdims, **options),))
    if out is None:
        return result
    write_out("std", out, result, "same_kind")
    return out


def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    """np.ptp."""
    high, low = reduce("max", a, axis, keepdims=keepdims), reduce("min", a, axis, keepdims=keepdims)
    result = apply("subtract", (high, low))
    if out is None:
        return result
    write_out("ptp", out, result, "same_kind")
    return out


def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    """np.count_nonzero."""
    a = as_array(a)
    if isinstance(a, Array) and a.dtype.kind != "b":
        a = apply("not_equal", (a, 0))
    return reduce("sum", a, axis, np.int64, keepdims=keepdims)


def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False
) -> Any:
    """np.average with weights of the array's shape."""
    a = as_array(a)
    if returned:
        raise unsupported("the argument 'returned' of 'average'")
    if weights is None:
        return mean(a, axis, keepdims=keepdims)
    weights = as_array(weights)
    if not isinstance(weights, Array) or weights.ndim != a.ndim:
        raise unsupported("weights of another rank than the array in 'average'")
    scale = reduce("sum", weights, axis, keepdims=keepdims)
    fine = apply("not_equal", (scale, 0))
    if isinstance(fine, Array):
        fine = reduce("all", fine)
    require(fine, "Weights sum to zero, can't be normalized", ir.ErrorCode.ZERO_DIVISION)
    total = reduce("sum", apply("multiply", (a, weights)), axis, keepdims=keepdims)
    return apply("divide", (total, scale))


_BY_UFUNC = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_or": "any",
             "logical_and": "all", "bitwise_and": "bit_and", "bitwise_or": "bit_or", "bitwise_xor": "bit_xor"}  # fmt: skip


def ufunc_reduce(
    name: str,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """ufunc.reduce; the first axis if none is given."""
    if name not in _BY_UFUNC:
        raise unsupported(f"'{name}.reduce'")
    if isinstance(out, tuple):
        out = out[0]
    return reduce(_BY_UFUNC[name], array, axis, dtype, out, keepdims, initial, where)


def _with_dtype(name: str) -> Callable[..., Any]:
    def function(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        return reduce(name, a, axis, dtype, out, keepdims, initial, where)

    return function


def _extreme(name: str) -> Callable[..., Any]:
    def function(
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        return reduce(name, a, axis, None, out, keepdims, initial, where)

    return function


def _logical(name: str) -> Callable[..., Any]:
    def function(
        a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
    ) -> Any:
        return reduce(name, a, axis, None, out, keepdims, None, where)

    return function


# What NumPy has as a function and arrays have as a method.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sum": _with_dtype("sum"), "prod": _with_dtype("prod"), "max": _extreme("max"), "min": _extreme("min"),
    "any": _logical("any"), "all": _logical("all"), "mean": mean, "var": var, "std": std, "ptp": ptp,
}  # fmt: skip

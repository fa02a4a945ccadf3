"""Moments: np.mean, np.var, np.std and np.average, made of sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ferrule import _compiler as ir

from .elementwise import apply, cast
from .operands import as_array
from .reductions import count_nonzero, of_scalar, reduce, require_all
from .shaping import broadcast_to, normalize_axes
from .tracers import Array, make_int, unsupported
from .ufuncs import write_out


def mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, where: Any = True
) -> Any:
    """np.mean: integers in float64, float32 in itself."""
    a = as_array(a)
    where = True if where is np._NoValue else where
    if not isinstance(a, Array):
        _check_options("mean", axis, out, where)
        return of_scalar("mean", a, dtype)
    kind = _kind("mean", a, dtype)
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


def _kind(name: str, a: Array, dtype: Any) -> np.dtype[Any]:
    """The dtype that a moment is computed in."""
    natural = np.dtype(np.float64) if a.dtype.kind in "biu" else a.dtype
    kind = natural if dtype is None else np.dtype(dtype)
    if kind.kind != "f":
        raise unsupported(f"the argument 'dtype' = '{kind}' of '{name}'")
    return kind


def _selected(a: Array, axis: Any, where: Any, keepdims: Any) -> Any:
    return count_nonzero(broadcast_to(as_array(where), a.dims), axis, keepdims=keepdims)


def _divide(total: Any, count: Any, kind: np.dtype[Any]) -> Any:
    """total / count in the dtype of the total, as NumPy's mean does; no division is by Python's rules."""
    return apply("divide", (total, cast(count, kind)))


def _count(a: Array, axes: list[int]) -> Any:
    """The number of elements that each result is made of."""
    return make_int(ir.product([a.dims[k] for k in axes]))


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
    ddof = ddof if correction is None or correction is np._NoValue else correction
    if not isinstance(a, Array):
        _check_options("var", axis, out, where)
        deviation = apply("multiply", (of_scalar("mean", a, dtype), 0))
        return apply("divide", (deviation, apply("maximum", (cast(1 - ddof, deviation.dtype), 0))))
    kind = _kind("var", a, dtype)
    axes = sorted(normalize_axes(axis, a.ndim))
    given = mean is not None and mean is not np._NoValue
    centre = mean if given else _centre(a, axis, kind, where)
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


def _centre(a: Array, axis: Any, kind: np.dtype[Any], where: Any) -> Any:
    return mean(a, axis, kind, keepdims=True, where=where)


def std(
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
    """np.std."""
    variance = var(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction)
    result = apply("sqrt", (variance,))
    if out is None:
        return result
    write_out("std", out, result, "same_kind")
    return out


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
    message = "Weights sum to zero, can't be normalized"
    require_all(apply("not_equal", (scale, 0)), message, ir.ErrorCode.ZERO_DIVISION)
    total = reduce("sum", apply("multiply", (a, weights)), axis, keepdims=keepdims)
    return apply("divide", (total, scale))


# What NumPy has as a function and arrays have as a method.
FUNCTIONS: dict[str, Callable[..., Any]] = {"mean": mean, "var": var, "std": std}

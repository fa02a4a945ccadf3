"""np.clip, np.round and np.nan_to_num: numbers are exchanged for others near them."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ferrule import _compiler as ir

from . import errors
from .elementwise import apply, cast, is_real, select
from .operands import as_array, dims_of, dtype_of
from .tracers import Array, Int, make_int
from .ufuncs import refuse_options, write_out


def clip(x: Any, low: Any = None, high: Any = None, out: Any = None, **options: Any) -> Any:
    """np.clip; a bound of None does not limit."""
    if (low is not None or high is not None) and not {"min", "max"}.isdisjoint(options):
        raise errors.user_error(
            ValueError,
            "Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is forbidden.",
        )
    low, high = options.pop("min", low), options.pop("max", high)
    low, high = options.pop("a_min", low), options.pop("a_max", high)
    refuse_options("clip", options)
    dtype = dtype_of(as_array(x))
    if dtype is not None and dtype.kind in "iu":
        low, high = _within(dtype, low, high)
    if low is None and high is None:
        result = apply("positive", (x,))
    elif low is None:
        result = apply("minimum", (x, high))
    elif high is None:
        result = apply("maximum", (x, low))
    elif dims_of(as_array(low)) or dims_of(as_array(high)) or not any(map(is_real, (x, low, high))):
        result = apply("clip", (x, low, high))
    else:
        # Between numbers an element that equals a bound stays, which tells zeros apart.
        result = apply("minimum", (high, apply("maximum", (low, x))))
    if out is None:
        return result
    write_out("clip", out, result, "same_kind")
    return out


def _within(dtype: np.dtype[Any], low: Any, high: Any) -> tuple[Any, Any]:
    """Bounds of clip without what limits nothing: a Python int that the dtype may not hold is none then."""
    limits = np.iinfo(dtype)
    least, most = int(limits.min), int(limits.max)
    if type(low) is int and low <= least:
        low = None
    elif isinstance(low, Int) and least > -(2**63):
        low = make_int(ir.max(low.expr, ir.Expr(least)))
    if type(high) is int and high >= most:
        high = None
    elif isinstance(high, Int) and most < 2**63 - 1:
        high = make_int(ir.min(high.expr, ir.Expr(most)))
    return low, high


def round_decimals(x: Any, decimals: int = 0, out: Any = None) -> Any:
    """np.round: to even, after scaling by a power of ten as NumPy does."""
    decimals = operator.index(decimals)
    x = as_array(x)
    dtype = dtype_of(x)
    if dtype is not None and dtype.kind in "iu":
        if decimals >= 0:
            result = apply("positive", (x,))
        else:
            scale = 10.0**-decimals
            tens = apply("rint", (apply("divide", (cast(x, np.dtype(np.float64)), scale)),))
            result = cast(apply("multiply", (tens, scale)), dtype)
    elif decimals == 0:
        result = apply("rint", (x,))
    elif dtype == np.bool_ and out is None:
        raise errors.user_error(
            TypeError, "booleans cannot be rounded to decimals; cast them to a dtype of numbers."
        )
    else:
        scale = 10.0 ** abs(decimals)
        first, second = ("multiply", "divide") if decimals > 0 else ("divide", "multiply")
        result = apply(second, (apply("rint", (apply(first, (x, scale)),)), scale))
    if out is None:
        return result
    write_out("round", out, result, "same_kind")
    return out


def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """NaN and infinities replaced; integers stay."""
    x = as_array(x)
    dtype = dtype_of(x)
    if dtype is not None and dtype.kind != "f":
        return apply("positive", (x,)) if dtype.kind != "b" else x
    info = np.finfo(dtype if dtype is not None else np.float64)
    posinf = float(info.max) if posinf is None else posinf
    neginf = float(info.min) if neginf is None else neginf
    result = select(apply("isnan", (x,)), nan, x)
    result = select(apply("equal", (x, float("inf"))), posinf, result)
    result = select(apply("equal", (x, float("-inf"))), neginf, result)
    if not copy and isinstance(x, Array):
        write_out("nan_to_num", x, result, "same_kind")
        return x
    return result

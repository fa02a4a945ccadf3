"""Powers: NumPy's shortcuts for some exponents, and its refusal of integers to negative powers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrule import _compiler as ir

from . import errors
from .decide import decide, holds
from .elementwise import apply, cast, is_real
from .operands import as_array, dims_of, dtype_of
from .trace import Trace
from .tracers import Array, Int, Scalar, to_expr

_NEGATIVE_POWER = "Integers to negative integer powers are not allowed."


def power(base: Any, exponent: Any, strong: bool) -> Any:
    """base ** exponent with the shortcuts and refusals of NumPy."""
    base, exponent = as_array(base), as_array(exponent)
    dtype = dtype_of(base)
    if dtype is None and strong and not isinstance(base, float):
        dtype = np.dtype(base.dtype if isinstance(base, Scalar) else np.int64)
    if type(exponent) in (int, float) and dtype is not None:
        if exponent == 2 and dtype.kind != "b" and (isinstance(exponent, int) or dtype.kind == "f"):
            return apply("square", (base,), strong)
        if exponent == -1 and isinstance(exponent, int) and dtype.kind == "f":
            return apply("reciprocal", (base,), strong)
    if dtype == np.bool_ and not strong and isinstance(base, Array) and _is_two(exponent):
        return apply("square", (base,), strong)  # the operator alone squares booleans, which gives int8
    if dtype is None or dtype.kind in "iub":
        _check_integer_exponent(base, exponent, strong)
        return apply("power", (base, exponent), strong)
    by_ufunc = strong or isinstance(base, Array) or isinstance(exponent, Array)
    if by_ufunc and not dims_of(exponent) and is_real(exponent):
        return _power_or_root(base, exponent, strong)
    return apply("power", (base, exponent), strong)


def _is_two(exponent: Any) -> bool:
    if isinstance(exponent, Int):
        return decide(ir.Condition(ir.Relation.Eq, exponent.expr, ir.Expr(2)))
    return type(exponent) is int and exponent == 2


def _power_or_root(base: Any, exponent: Any, strong: bool) -> Any:
    """A power with one exponent for all, which NumPy makes a square root if it is 0.5: -0.0 and -inf tell them apart."""
    if not isinstance(exponent, (Scalar, Array)):
        if float(exponent) != 0.5:
            return apply("power", (base, exponent), strong)
        return apply("sqrt", (cast(base, np.result_type(dtype_of(base) or 0.0, exponent)),), strong)
    result = apply("power", (base, exponent), strong)
    root = apply("sqrt", (cast(base, np.dtype(result.dtype)),), strong)
    return apply("select", (apply("equal", (exponent, 0.5)), root, result))


def _check_integer_exponent(base: Any, exponent: Any, strong: bool) -> None:
    """Integers to negative integer powers are a ValueError, found now or at run time."""
    if not strong and dtype_of(base) is None and dtype_of(exponent) is None:
        return
    if isinstance(base, float) or (isinstance(base, Scalar) and base.dtype.kind == "f"):
        return
    kind = dtype_of(base)
    if isinstance(exponent, (int, Int)):
        if type(exponent) is int:
            known: bool | None = exponent >= 0
        else:
            sign = ir.Condition(ir.Relation.Le, ir.Expr(0), to_expr(exponent))
            known = holds(sign)
        if known is not True and _is_empty(base):
            return
        if known is False and kind is not None and kind.kind == "u":
            return  # the conversion to the dtype refuses it
        if known is False:
            raise errors.user_error(ValueError, _NEGATIVE_POWER)
        if known is None:
            trace = Trace.current()
            trace.site(_NEGATIVE_POWER)
            trace.builder.check(sign, ir.ErrorCode.DOMAIN)
        return
    other = dtype_of(exponent)
    if other is None or other.kind != "i" or (kind is not None and np.promote_types(kind, other).kind == "f"):
        return
    if _is_empty(base):
        return
    if isinstance(exponent, np.generic):
        if int(exponent) < 0:
            raise errors.user_error(ValueError, _NEGATIVE_POWER)
        return
    from . import reductions

    reductions.require_all(apply("greater_equal", (exponent, 0)), _NEGATIVE_POWER, ir.ErrorCode.DOMAIN)


def _is_empty(base: Any) -> bool:
    """Whether an array is certain to have no element, which could be wrong."""
    dims = dims_of(base)
    return bool(dims) and holds(ir.Condition(ir.Relation.Eq, ir.product(dims), ir.Expr(0))) is True

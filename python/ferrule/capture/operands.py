"""Operands of the program: Python, NumPy and traced values lifted to values, their dtypes and extents."""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrule import _compiler as ir

from . import errors
from .decide import holds
from .trace import Trace
from .tracers import Array, Cond, Int, Scalar, unsupported
from .truth import truth

MAX_RANK = 32  # FR_MAX_RANK of abi.h: axes of what crosses the boundary of a module

OPS: dict[str, Any] = {info.name: info for info in ir.element_ops()}


def lift(value: Any, like: np.dtype[Any] | None = None) -> int:
    """A value of the program for a Python, NumPy or traced value; views stay views. `like` helps wide Python ints."""
    trace = Trace.current()
    builder = trace.builder
    if isinstance(value, Array):
        return value.handle()
    if isinstance(value, Scalar):
        return value.id
    if isinstance(value, Int):
        return int(builder.size(value.expr))
    if isinstance(value, Cond):
        known = truth(value)
        if known is True or known is False:
            return constant(known, np.dtype(np.bool_), True)
        return _condition_value(known)
    if isinstance(value, (np.generic, np.ndarray)):
        if isinstance(value, np.ndarray) and value.ndim:
            return int(as_array(value).handle())
        return constant(value, value.dtype, False)
    if isinstance(value, bool):
        return constant(value, np.dtype(np.bool_), True)
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            if like == np.uint64 and 0 <= value < 2**64:
                return constant(value, np.dtype(np.uint64), False)
            if like is not None and like.kind == "f":
                return constant(float(value), np.dtype(np.float64), True)
            dtype = "int64" if like is None else like.name
            raise errors.user_error(OverflowError, f"Python integer {value} out of bounds for {dtype}.")
        return constant(value, np.dtype(np.int64), True)
    if isinstance(value, float):
        return constant(value, np.dtype(np.float64), True)
    if isinstance(value, complex):
        raise unsupported("a complex number")
    if isinstance(value, (list, tuple)):
        return int(as_array(value).handle())
    infos = getattr(getattr(trace, "arguments", None), "infos", ())
    hints = "".join(
        f" The argument '{info.name}' is of type '{type(value).__name__}', expected an array or a number."
        for info in infos
        if info.kind == "static" and info.static is value
    )
    raise errors.user_error(
        TypeError, f"an operand of type '{type(value).__name__}' has no meaning with arrays.{hints}"
    )


def constant(value: Any, dtype: np.dtype[Any], weak: bool) -> int:
    """A scalar constant of the program."""
    check_dtype(dtype)
    bits = int.from_bytes(np.asarray(value).astype(dtype).tobytes(), "little")
    return int(Trace.current().builder.constant(ir.dtype(dtype.name), bits, weak))


def check_dtype(dtype: np.dtype[Any], what: str = "the dtype") -> None:
    """Unsupported for dtypes that are not computed with."""
    if dtype.kind not in "biuf" or dtype.name not in _COMPUTABLE:
        raise unsupported(f"{what} '{dtype}'")


_COMPUTABLE = {"bool", "float32", "float64"} | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}


def as_array(value: Any) -> Any:
    """Any array-like as an Array (or the scalar that it is)."""
    from . import constants

    if isinstance(value, (Array, Scalar, Int, Cond)):
        return value
    if isinstance(value, np.ndarray):
        return constants.real_array(value)
    if isinstance(value, (list, tuple)):
        return constants.array(value)
    return value


def dims_of(value: Any) -> list[ir.Expr]:
    """The extents of an operand; none for scalars."""
    return value.dims if isinstance(value, Array) else []


def dtype_of(value: Any) -> np.dtype[Any] | None:
    """The dtype of a strong operand; None for Python numbers."""
    if isinstance(value, (Array, np.generic, np.ndarray)) or (isinstance(value, Scalar) and not value.weak):
        return np.dtype(value.dtype)
    return None


def _condition_value(condition: ir.Condition) -> int:
    trace = Trace.current()
    name = {
        ir.Relation.Eq: "equal",
        ir.Relation.Ne: "not_equal",
        ir.Relation.Lt: "less",
        ir.Relation.Le: "less_equal",
    }
    sides = [trace.builder.size(condition.left), trace.builder.size(condition.right)]
    return int(trace.builder.elementwise(OPS[name[condition.relation]].op, sides))


def is_certain_to_fit(value: Int, dtype: np.dtype[Any]) -> bool:
    """Whether a Python int is in the range of a dtype, by proof or by a guard; always for other dtypes than integers."""
    if dtype == np.int64 or dtype.kind not in "iu":
        return True
    info = np.iinfo(dtype)
    at_least = holds(ir.Condition(ir.Relation.Le, ir.Expr(int(info.min)), value.expr))
    if at_least is not True or dtype == np.uint64:
        return at_least is True
    return holds(ir.Condition(ir.Relation.Le, value.expr, ir.Expr(int(info.max)))) is True


def check_fits(value: Int, dtype: np.dtype[Any]) -> None:
    """A Python int beyond the range of an integer dtype is an OverflowError, now or at run time."""
    if dtype == np.int64 or dtype.kind not in "iu":
        return
    info = np.iinfo(dtype)
    trace = Trace.current()
    high = min(int(info.max), 2**63 - 1)
    for condition in (
        ir.Condition(ir.Relation.Le, ir.Expr(int(info.min)), value.expr),
        ir.Condition(ir.Relation.Le, value.expr, ir.Expr(high)),
    ):
        known = True if high == 2**63 - 1 and condition.right.constant == high else holds(condition)
        if known is False and trace.depth == 0:
            raise errors.user_error(OverflowError, f"Python integer {value!r} out of bounds for {dtype}.")
        if not known:
            trace.site(f"a Python integer is out of bounds for {dtype}")
            trace.builder.check(condition, ir.ErrorCode.OVERFLOW)


def strengthen(value: int) -> int:
    """A scalar value as a strong one of its dtype."""
    return int(Trace.current().builder.reweight(value, False))


def bool_as_int(value: Any) -> Any:
    """A Python bool as the int that it is: 0 or 1, or what only the run knows."""
    known = truth(value)
    return (
        int(known) if known is True or known is False else cast_scalar(value, np.dtype(np.int64)).as_index()
    )


def cast_scalar(value: Any, dtype: np.dtype[Any]) -> Any:
    """A number in another dtype, strong."""
    if not isinstance(value, (Scalar, Int, Cond)):
        return dtype.type(value)
    check_dtype(dtype)
    trace = Trace.current()
    trace.site()
    return Scalar(strengthen(trace.builder.cast(lift(value), ir.dtype(dtype.name))))

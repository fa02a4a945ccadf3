"""Element-wise operations of the table on operands of any kind: conversion, broadcasting, casts, selection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ferrule import _compiler as ir

from . import errors
from .decide import broadcast
from .operands import (
    OPS,
    as_array,
    cast_scalar,
    check_dtype,
    check_fits,
    dtype_of,
    is_certain_to_fit,
    lift,
    strengthen,
)
from .trace import Trace
from .tracers import Array, Cond, Int, Scalar, Window

COMPARISONS = {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"}


def apply(name: str, values: Sequence[Any], strong: bool = True) -> Any:
    """An element-wise operation of the table; strong: Python numbers alone give NumPy's scalars, as ufuncs do."""
    trace = Trace.current()
    trace.site()
    _check_error_state(trace)
    values = [as_array(value) for value in values]
    like = next((dtype for dtype in map(dtype_of, values) if dtype is not None), None)
    if name in COMPARISONS:
        known = _compare_wide(name, values, like)
        if known is not None:
            return known
        ids = [lift(value, like) for value in values]
    else:
        ids = _lift_operands(name, values)
    if like is not None and name in COMPARISONS:
        # NumPy compares a Python int that the dtype may not hold by its value.
        ids = [
            strengthen(k) if isinstance(v, Int) and not is_certain_to_fit(v, like) else k
            for v, k in zip(values, ids, strict=True)
        ]
    if strong and like is None:
        ids = [strengthen(value) for value in ids]
    shapes = [value.dims for value in values if isinstance(value, Array)]
    if len(shapes) > 1:
        dims = broadcast(shapes, "operands could not be broadcast together with shapes")
        ids = [
            conform(v, dims).handle() if isinstance(v, Array) else k for v, k in zip(values, ids, strict=True)
        ]
    return Array.of_value(trace.builder.elementwise(OPS[name].op, ids))


def _lift_operands(name: str, values: Sequence[Any]) -> list[int]:
    """Operands as values; a Python int has to fit into what the operation computes with, which may be a float."""
    if name == "select" or not any(isinstance(value, (int, Int)) for value in values):
        like = next((dtype for dtype in map(dtype_of, values[1:]) if dtype is not None), None)
        return [lift(value, like) for value in values]
    loop = [np.dtype(dtype) for dtype in ir.infer(OPS[name].op, [operand_type(v) for v in values])[0]]
    for value, dtype in zip(values, loop, strict=True):
        if isinstance(value, Int):
            check_fits(value, dtype)
    return [lift(value, dtype) for value, dtype in zip(values, loop, strict=True)]


def operand_type(value: Any) -> tuple[str, bool]:
    """The dtype of an operand and whether it is a Python number."""
    strong = dtype_of(value)
    if strong is not None:
        return strong.name, False
    if isinstance(value, Scalar):
        return value.dtype.name, True
    if isinstance(value, (bool, Cond)):
        return "bool", True
    return ("float64" if isinstance(value, float) else "int64"), True


def _compare_wide(name: str, values: Sequence[Any], like: np.dtype[Any] | None) -> Any:
    """A comparison of integers with a Python int that no 64 bits hold, whose result is certain; None for others."""
    if like is None or like.kind not in "iu":
        return None
    for place, value in enumerate(values):
        if type(value) is not int or -(2**63) <= value < (2**64 if like == np.uint64 else 2**63):
            continue
        rises = (value > 0) == (place == 1)  # whether the left operand is the smaller one
        result = {"equal": False, "not_equal": True}.get(name, rises == name.startswith("less"))
        other = values[1 - place]
        if not isinstance(other, Array):
            return np.bool_(result)
        return Array.of_value(Trace.current().builder.fill(lift(np.bool_(result)), other.dims))
    return None


def _check_error_state(trace: Trace) -> None:
    """Refuses what a decorator such as @np.errstate(all="raise") has set within the program: nothing is ever raised."""
    state = np.geterr()
    for kind, mode in state.items():
        if mode in ("raise", "call") and trace.error_state[kind] != mode:
            raise refused_error_state(f"{kind}='{mode}'")


def refused_error_state(setting: str) -> errors.Abort:
    """An error to raise for a setting of np.errstate that would make NumPy raise or call."""
    return errors.unsupported(
        f"The setting {setting} of np.errstate is not supported: floating-point warnings are never raised.",
        "Test the result, with np.isfinite for instance.",
    )


def require(fine: Any, message: str, code: ir.ErrorCode) -> None:
    """The program fails where a bool of the run is false."""
    condition = lift(fine)
    trace = Trace.current()
    trace.site(message)
    trace.builder.check(condition, code)


def conform(array: Array, dims: Sequence[ir.Expr]) -> Array:
    """The array with its extents spelled as in `dims`: what made them equal may be known here alone, or checked."""
    trace = Trace.current()
    own = array.dims
    wanted = list(dims)[len(dims) - len(own) :] if len(dims) >= len(own) else own
    shape = []
    for extent, other in zip(own, wanted, strict=True):
        if extent.constant == 1 or extent == trace.facts.canonical(other):
            shape.append(extent)
        else:
            one = ir.Condition(ir.Relation.Eq, extent, ir.Expr(1))
            shape.append(ir.Expr(1) if trace.facts.prove(one) is True else other)
    if shape == own:
        return array
    axes = [(ir.Expr(0), [(k, ir.Expr(1))]) for k in range(len(own))]
    return array.derived(Window(ir.IndexMap(shape, axes)), shape)


def cast(value: Any, dtype: np.dtype[Any]) -> Any:
    """A value in another dtype, strong."""
    check_dtype(dtype)
    trace = Trace.current()
    trace.site()
    if isinstance(value, (Array, np.ndarray, list, tuple)):
        array = as_array(value)
        if array.dtype == dtype:
            return array
        return Array.of_value(trace.builder.cast(array.handle(), ir.dtype(dtype.name)))
    return cast_scalar(value, dtype)


def select(condition: Any, x: Any, y: Any) -> Any:
    """np.where with three arguments."""
    condition = as_array(condition)
    if isinstance(condition, Int):
        condition = condition != 0
    if isinstance(condition, Cond):
        condition = Scalar(strengthen(lift(condition)))
    elif not isinstance(condition, (Array, Scalar)):
        condition = np.bool_(bool(condition))
    elif condition.dtype.kind != "b":
        condition = apply("not_equal", (condition, 0))
    x, y = as_array(x), as_array(y)
    strong = next((dtype for dtype in map(dtype_of, (x, y)) if dtype is not None), None)
    if strong is not None and strong.kind in "iu":
        # np.where is alone in wrapping a Python int to the dtype.
        x, y = (np.asarray(v).astype(strong)[()] if type(v) is int else v for v in (x, y))
    if dtype_of(x) is None and dtype_of(y) is None:
        # Python numbers alone give arrays of their default dtype.
        kinds = {
            np.asarray(0.0).dtype if _is_float(v) else np.dtype(np.bool_ if _is_bool(v) else np.int64)
            for v in (x, y)
        }
        dtype = np.result_type(*kinds)
        x, y = cast_scalar(x, dtype), cast_scalar(y, dtype)
    return apply("select", (condition, x, y))


def is_real(value: Any) -> bool:
    """Whether an operand is of a floating dtype."""
    dtype = dtype_of(as_array(value))
    return _is_float(value) if dtype is None else dtype.kind == "f"


def _is_float(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, Scalar) and value.dtype.kind == "f")


def _is_bool(value: Any) -> bool:
    return isinstance(value, (bool, Cond)) or (isinstance(value, Scalar) and value.dtype.kind == "b")

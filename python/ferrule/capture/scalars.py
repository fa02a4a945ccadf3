"""Python's own functions on stand-ins: len, range, int, float, abs, min, max, sum, round, isinstance, zip, enumerate."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ferrule import _compiler as ir

from . import errors
from .decide import decide, holds
from .elementwise import apply, round_decimals
from .numbers import symbolic
from .operands import as_array, cast_scalar, constant, lift
from .trace import Trace
from .tracers import (
    Array,
    Cond,
    Int,
    Scalar,
    TracedIter,
    TracedRange,
    is_traced,
    make_int,
    to_expr,
    unsupported,
)


def to_python(value: Any) -> Any:
    """A number as Python's int, float or bool: weak from here on."""
    if isinstance(value, Array):
        value = element(value)
    if isinstance(value, Scalar):
        if value.dtype.kind == "f":
            return float_(value)
        if value.dtype.kind in "iu":
            return int_(value)
        return Scalar(Trace.current().builder.reweight(value.id, True))
    return value.item() if isinstance(value, np.generic) else value


def element(array: Array) -> Any:
    """The only element of an array."""
    if not decide(ir.Condition(ir.Relation.Eq, ir.product(array.dims), ir.Expr(1))):
        raise errors.user_error(TypeError, "only 0-dimensional arrays can be converted to Python scalars")
    flat = array.reshape(()) if array.ndim else array
    return Array.of_value(flat.value()) if isinstance(flat, Array) else flat


def int_(value: Any = 0, *args: Any) -> Any:
    """int(): numbers known at run time are truncated and become sizes."""
    if isinstance(value, Array):
        value = element(value)
    if isinstance(value, Int):
        return value
    if isinstance(value, Cond):
        return int(bool(value))
    if isinstance(value, Scalar):
        if value.dtype != np.uint64:
            value = cast_scalar(value, np.dtype(np.int64))
        return symbolic(value, "an integer does not fit into 64 bits", ir.ErrorCode.VALUE)
    return builtins.int(value, *args)


def float_(value: Any = 0.0) -> Any:
    """float()."""
    if isinstance(value, Array):
        value = element(value)
    if isinstance(value, (Int, Cond, Scalar)):
        if isinstance(value, Scalar) and value.weak and value.dtype == np.float64:
            return value
        result = cast_scalar(value, np.dtype(np.float64))
        return Scalar(Trace.current().builder.reweight(result.id, True))
    return builtins.float(value)


def bool_(value: Any = False) -> Any:
    """bool(): decided for sizes, a number for data."""
    if isinstance(value, Array):
        value = element(value)
    if isinstance(value, Scalar):
        result = value if value.dtype.kind == "b" else apply("not_equal", (value, 0))
        return Scalar(Trace.current().builder.reweight(result.id, True))
    return builtins.bool(value)


def len_(value: Any) -> Any:
    """len(): the first extent, symbolic."""
    if isinstance(value, Array):
        if not value.ndim:
            raise errors.user_error(TypeError, "len() of unsized object")
        return make_int(value.dims[0])
    if isinstance(value, TracedRange):
        return value.length()
    if isinstance(value, TracedIter):
        return value.length
    return builtins.len(value)


def range_(*args: Any) -> Any:
    """range(): symbolic where a bound is."""
    values = [int_index(value) for value in args]
    if not any(isinstance(value, Int) for value in values):
        return builtins.range(*values)
    lo, hi, step = (0, values[0], 1) if len(values) == 1 else (*values, 1) if len(values) == 2 else values
    if (isinstance(step, int) and step == 0) or (isinstance(step, Int) and step == 0):
        raise errors.user_error(ValueError, "range() arg 3 must not be zero")
    if isinstance(step, Int):
        decide(ir.Condition(ir.Relation.Lt, ir.Expr(0), step.expr))
    return TracedRange(lo, hi, step)


def int_index(value: Any) -> Any:
    """An integer in a place where Python takes integers only."""
    if isinstance(value, (Int, int)):
        return value
    if isinstance(value, Cond):
        return int(bool(value))
    if isinstance(value, Array) and value.ndim == 0:
        value = element(value)
    if isinstance(value, Scalar):
        if value.dtype.kind not in "iu":
            raise errors.user_error(TypeError, f"'{value.dtype}' object cannot be interpreted as an integer")
        return value.as_index()
    return operator.index(value)


def abs_(value: Any) -> Any:
    """abs()."""
    return builtins.abs(value)


def _fold(name: str, relation: str, values: tuple[Any, ...], options: dict[str, Any]) -> Any:
    key = options.pop("key", None)
    if key is not None:
        raise unsupported(f"'{name}' with key= of traced values")
    if len(values) == 1:
        only = values[0]
        if isinstance(only, Array) and only.ndim == 1:
            return getattr(only, name)()
        values = tuple(only)
        if not values:
            if "default" in options:
                return options["default"]
            raise errors.user_error(ValueError, f"{name}() arg is an empty sequence")
    result = values[0]
    for value in values[1:]:
        result = _pick(name, relation, result, value)
    return result


def _pick(name: str, relation: str, best: Any, value: Any) -> Any:
    """One step of Python's min or max: `value` where it is beyond `best`, else `best` (so NaN stays where it was)."""
    if isinstance(best, (int, Int)) and isinstance(value, (int, Int)):
        first, second = to_expr(best), to_expr(value)
        low, high = (second, first) if name == "min" else (first, second)
        better = holds(ir.Condition(ir.Relation.Lt, low, high))
        if better is None:
            return make_int(ir.min(first, second) if name == "min" else ir.max(first, second))
        return value if better else best
    best, value = as_array(best), as_array(value)
    for operand in (best, value):
        if isinstance(operand, Array) and operand.ndim:
            raise errors.user_error(
                ValueError,
                "The truth value of an array with more than one element is ambiguous. Use np.minimum or np.maximum",
            )
    if not is_traced(best) and not is_traced(value):
        return (builtins.min if name == "min" else builtins.max)(best, value)
    chosen = apply(relation, (value, best))
    weak = getattr(best, "weak", not isinstance(best, np.generic)) and getattr(
        value, "weak", not isinstance(value, np.generic)
    )
    if weak and not any(_is_float(v) for v in (best, value)):
        return apply("select", (chosen, value, best), strong=False)
    return apply("select", (chosen, value, best), strong=not weak)


def _is_float(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, Scalar) and value.dtype.kind == "f")


def max_(*values: Any, **options: Any) -> Any:
    """max()."""
    return _fold("max", "greater", values, options)


def min_(*values: Any, **options: Any) -> Any:
    """min()."""
    return _fold("min", "less", values, options)


def sum_(iterable: Any, start: Any = 0) -> Any:
    """sum(): over an array of one axis its sum in Python's order, else one addition after another."""
    if isinstance(iterable, Array) and iterable.ndim == 1:
        return iterable.sum() + start
    if isinstance(iterable, Array):
        return iterable.sum(axis=0) + start
    if isinstance(iterable, TracedRange):
        raise unsupported("'sum' of a range of traced length")
    result = start
    for item in iterable:
        result = result + item
    return result


def all_(iterable: Any) -> Any:
    """all()."""
    if isinstance(iterable, Array):
        return bool_(iterable.all()) if iterable.ndim == 1 else _refuse_rows("all")
    return _logical(iterable, "logical_and", True)


def any_(iterable: Any) -> Any:
    """any()."""
    if isinstance(iterable, Array):
        return bool_(iterable.any()) if iterable.ndim == 1 else _refuse_rows("any")
    return _logical(iterable, "logical_or", False)


def _refuse_rows(name: str) -> Any:
    raise unsupported(f"Python's '{name}' over rows; use the array's method '.{name}()'")


def _logical(iterable: Any, name: str, neutral: bool) -> Any:
    result: Any = neutral
    for item in iterable:
        if isinstance(item, (Scalar, Array)) or isinstance(result, Scalar):
            result = bool_(apply(name, (result, bool_(item))))
        elif bool(item) is not neutral:
            return not neutral
    return result


def round_(value: Any, digits: Any = None) -> Any:
    """round()."""
    if isinstance(value, Array):
        return round_decimals(value, 0 if digits is None else digits)
    if isinstance(value, Scalar):
        if digits is None and value.dtype.kind == "f":
            return int_(apply("rint", (value,)))
        result = round_decimals(value, 0 if digits is None else digits)
        return to_python(result) if value.weak else result
    return value if isinstance(value, Int) else builtins.round(value, digits)


def divmod_(left: Any, right: Any) -> Any:
    """divmod()."""
    return left // right, left % right


def pow_(base: Any, exponent: Any, modulus: Any = None) -> Any:
    """pow()."""
    if modulus is not None:
        raise unsupported("'pow' with a modulus")
    return base**exponent


def isinstance_(value: Any, kinds: Any) -> bool:
    """isinstance(): stand-ins answer as what they stand for."""
    if not is_traced(value):
        return builtins.isinstance(value, kinds)
    if builtins.isinstance(kinds, tuple):
        return any(isinstance_(value, kind) for kind in kinds)
    kind_arguments = getattr(kinds, "__args__", None)
    if kind_arguments and not builtins.isinstance(kinds, type):
        return any(isinstance_(value, kind) for kind in kind_arguments)
    try:
        return issubclass(type_(value), kinds)
    except TypeError as error:
        raise errors.user_error(TypeError, str(error)) from error


def type_(value: Any, *rest: Any) -> Any:
    """type(): what the stand-in stands for."""
    if rest or not is_traced(value):
        return builtins.type(value, *rest)
    if isinstance(value, Array):
        return np.ndarray
    if isinstance(value, Int):
        return int
    if isinstance(value, Cond):
        return bool
    if value.weak:
        return {"f": float, "b": bool}.get(value.dtype.kind, int)
    return value.dtype.type


def traced_iteration(iterable: Any) -> TracedIter | None:
    """The iteration of an array's rows, of a symbolic range, or of zip, enumerate and reversed over them."""
    if isinstance(iterable, TracedIter):
        return iterable
    if isinstance(iterable, Array):
        if not iterable.ndim:
            raise errors.user_error(TypeError, "iteration over a 0-d array")
        return TracedIter(make_int(iterable.dims[0]), lambda k: iterable[k])
    if isinstance(iterable, TracedRange):
        return TracedIter(iterable.length(), lambda k: iterable.lo + k * iterable.step)
    return None


def enumerate_(iterable: Any, start: Any = 0) -> Any:
    """enumerate()."""
    rows = traced_iteration(iterable)
    if rows is None:
        return (
            builtins.enumerate(iterable, start)
            if not is_traced(start)
            else [(start + k, v) for k, v in builtins.enumerate(iterable)]
        )
    return TracedIter(rows.length, lambda k: (start + k, rows.item(k)))


def zip_(*iterables: Any, strict: bool = False) -> Any:
    """zip(): as long as the shortest."""
    parts = [traced_iteration(iterable) for iterable in iterables]
    if not any(part is not None for part in parts):
        return builtins.zip(*iterables, strict=strict)
    if all(part is not None for part in parts):
        length = min_(*[part.length for part in parts if part is not None])
        return TracedIter(length, lambda k: tuple(part.item(k) for part in parts if part is not None))
    # Beside a Python sequence: its length is static, so the iteration is.
    known = [
        list(iterable) if part is None else None
        for iterable, part in builtins.zip(iterables, parts, strict=True)
    ]
    count = builtins.min(len(items) for items in known if items is not None)
    for part in parts:
        if part is not None:
            while count and not decide(ir.Condition(ir.Relation.Le, ir.Expr(count), to_expr(part.length))):
                count -= 1
    columns = [
        items[:count] if items is not None else [part.item(k) for k in builtins.range(count)]  # type: ignore[union-attr]
        for items, part in builtins.zip(known, parts, strict=True)
    ]
    return list(builtins.zip(*columns, strict=True))


def reversed_(iterable: Any) -> Any:
    """reversed()."""
    if isinstance(iterable, TracedRange):
        return iterable.__reversed__()
    rows = traced_iteration(iterable)
    if rows is None:
        return builtins.reversed(iterable)
    return TracedIter(rows.length, lambda k: rows.item(rows.length - 1 - k))


BUILTINS: dict[Any, Callable[..., Any]] = {
    builtins.len: len_, builtins.range: range_, builtins.int: int_, builtins.float: float_, builtins.bool: bool_,
    builtins.abs: abs_, builtins.min: min_, builtins.max: max_, builtins.sum: sum_, builtins.all: all_,
    builtins.any: any_, builtins.round: round_, builtins.divmod: divmod_, builtins.pow: pow_,
    builtins.isinstance: isinstance_, builtins.type: type_, builtins.enumerate: enumerate_, builtins.zip: zip_,
    builtins.reversed: reversed_,
}  # fmt: skip


def as_condition(value: Any) -> int:
    """A condition as a bool value of the program."""
    if isinstance(value, Array):
        value = element(value)
    if isinstance(value, (Scalar, Cond, Int)):
        flag = value if value.dtype.kind == "b" else apply("not_equal", (value, 0))
        return lift(cast_scalar(flag, np.dtype(np.bool_)) if getattr(flag, "weak", False) else flag)
    return constant(bool(value), np.dtype(np.bool_), False)

"""Python's own functions on stand-ins: len, range, int, float, abs, min, max, sum, round, isinstance, zip, enumerate."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ferrule import _compiler as ir

from . import errors
from .decide import decide
from .elementwise import apply, require
from .numbers import symbolic
from .operands import bool_as_int, cast_scalar, constant, lift
from .overflow import NO_FIT
from .rounding import round_decimals
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
from .truth import implied, truth


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
        return bool_as_int(value)
    if isinstance(value, Scalar):
        if value.dtype.kind == "f":
            _check_whole(value)
        if value.dtype.kind in "fb":
            value = cast_scalar(value, np.dtype(np.int64))
        return symbolic(value, NO_FIT, ir.ErrorCode.OVERFLOW)
    return builtins.int(value, *args)


def _check_whole(value: Scalar) -> None:
    """Where Python's int() of a float is an error: NaN, the infinities, and here also what 64 bits do not hold."""
    message = "cannot convert float NaN to integer"
    require(apply("equal", (value, value)), message, ir.ErrorCode.VALUE)
    fits = apply(
        "logical_and",
        (apply("greater_equal", (value, -(2.0**63))), apply("less", (value, 2.0**63))),
    )
    require(fits, f"{NO_FIT}: int() of an infinity or of a large float", ir.ErrorCode.OVERFLOW)


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
        if not decide(ir.Condition(ir.Relation.Eq, ir.product(value.dims), ir.Expr(1))):
            return builtins.bool(value)  # NumPy's refusal
        value = element(value)
    if isinstance(value, Scalar):
        result = value if value.dtype.kind == "b" else apply("not_equal", (value, 0))
        return Scalar(Trace.current().builder.reweight(result.id, True))
    if isinstance(value, Int):
        return value != 0
    return value if isinstance(value, Cond) else builtins.bool(value)


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
        return bool_as_int(value)
    if isinstance(value, Array):
        if value.ndim:
            raise errors.user_error(
                TypeError, "only integer scalar arrays can be converted to a scalar index"
            )
        value = element(value)
    if isinstance(value, Scalar):
        if value.weak and value.dtype.kind == "b":
            value = cast_scalar(value, np.dtype(np.int64))
        if value.dtype.kind not in "iu":
            kind = "float" if value.weak else f"numpy.{value.dtype}"
            raise errors.user_error(TypeError, f"'{kind}' object cannot be interpreted as an integer")
        return value.as_index()
    return operator.index(value)


def abs_(value: Any) -> Any:
    """abs()."""
    return builtins.abs(value)


def max_(*values: Any, **options: Any) -> Any:
    """max()."""
    from . import extremes

    return extremes.fold("max", values, options)


def min_(*values: Any, **options: Any) -> Any:
    """min()."""
    from . import extremes

    return extremes.fold("min", values, options)


def sum_(iterable: Any, start: Any = 0) -> Any:
    """sum(): over an array its sum along the first axis, in the dtype of Python's additions, else one after another."""
    if isinstance(iterable, Array):
        from .composed import result_type

        return iterable.sum(axis=0, dtype=result_type(iterable, start)) + start
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
    raise unsupported(f"the function '{name}' of Python over rows", f"Use the array's method '.{name}()'.")


def _logical(iterable: Any, name: str, neutral: bool) -> Any:
    result: Any = neutral
    sizes: list[ir.Condition] = []
    for item in iterable:
        sizes += implied(item, neutral)
        known = item if isinstance(item, (Scalar, Array)) else truth(item)
        if known is True or known is False:
            if known is not neutral and not isinstance(result, Scalar):
                return known
        else:
            known = bool_(Cond(known) if isinstance(known, ir.Condition) else known)
        if isinstance(result, Scalar) or known is not neutral:
            result = bool_(apply(name, (result, known)))
    if isinstance(result, Scalar):
        result.implies[neutral].extend(sizes)
    return result


def round_(value: Any, digits: Any = None) -> Any:
    """round()."""
    if isinstance(value, Array) or (isinstance(value, Scalar) and value.dtype.kind == "b" and not value.weak):
        kind = "ndarray" if isinstance(value, Array) else "bool"
        raise errors.user_error(
            TypeError, f"type numpy.{kind} doesn't define __round__ method. Use np.round of it."
        )
    if isinstance(value, Scalar):
        if digits is None:
            return int_(apply("rint", (value,)) if value.dtype.kind == "f" else value)
        result = round_decimals(value, digits)
        return to_python(result) if value.weak else result
    if isinstance(value, (Int, Cond)):
        if digits is not None and operator.index(digits) < 0:
            raise unsupported("rounding of integers to tens")
        return int_(value)
    return builtins.round(value, digits)


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

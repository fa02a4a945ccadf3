"""Python's min and max: one of the operands, by exact comparisons.

Where data decides which one it is, and they are of different types, the result has a type that holds both.
"""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from ferrule import _compiler as ir

from . import errors
from .decide import holds
from .elementwise import apply
from .operands import as_array, cast_scalar
from .scalars import element, to_python
from .trace import Trace
from .tracers import Array, Int, Scalar, is_traced, make_int, to_expr, unsupported

_RELATION = {"min": "less", "max": "greater"}
_INT64, _UINT64, _FLOAT32, _FLOAT64 = (np.dtype(name) for name in ("int64", "uint64", "float32", "float64"))


def fold(name: str, values: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """min() or max() of arguments, or of the elements of one."""
    for option in options.keys() - {"key", "default"}:
        raise errors.user_error(TypeError, f"{name}() got an unexpected keyword argument '{option}'")
    if len(values) > 1 and "default" in options:
        message = f"Cannot specify a default for {name}() with multiple positional arguments"
        raise errors.user_error(TypeError, message)
    if len(values) == 1:
        only = values[0]
        if isinstance(only, Array) and only.ndim == 1 and not options.get("key"):
            return getattr(only, name)()
        values = tuple(only)
        if not values and "default" not in options:
            raise errors.user_error(ValueError, f"{name}() arg is an empty sequence")
        if not any(map(is_traced, values)):  # nothing, or what an iterator gave
            return (builtins.min if name == "min" else builtins.max)(values, **options)
    if options.pop("key", None) is not None:
        raise unsupported(f"'{name}' with key= of traced values")
    result = values[0]
    for value in values[1:]:
        result = _pick(name, result, value)
    return result


def _pick(name: str, best: Any, value: Any) -> Any:
    """One step: `value` where it is beyond `best`, else `best` (so NaN stays where it was)."""
    best, value = _number(best), _number(value)
    if isinstance(best, (int, Int)) and isinstance(value, (int, Int)):
        first, second = to_expr(best), to_expr(value)
        low, high = (second, first) if name == "min" else (first, second)
        better = _certain(low, high)
        if better is None and not Trace.current().annotated:
            better = holds(ir.Condition(ir.Relation.Lt, low, high))
        if better is None:
            return make_int(ir.min(first, second) if name == "min" else ir.max(first, second))
        return value if better else best
    if not is_traced(best) and not is_traced(value):
        return (builtins.min if name == "min" else builtins.max)(best, value)
    better = _known(name, best, value)
    if better is not None:
        return value if better else best
    chosen = apply(_RELATION[name], (value, best))
    dtype, weak = _holding(name, best, value)
    if dtype is not None:
        value, best = cast_scalar(value, dtype), cast_scalar(best, dtype)
    result = apply("select", (chosen, value, best), strong=not weak)
    return to_python(result) if weak else result


def _certain(low: ir.Expr, high: ir.Expr) -> bool | None:
    """Whether `high` is the larger one of two ints, without a guard; of equal ones either will do."""
    facts = Trace.current().facts
    if facts.prove(ir.Condition(ir.Relation.Le, low, high)) is True:
        return True
    return False if facts.prove(ir.Condition(ir.Relation.Le, high, low)) is True else None


def _number(value: Any) -> Any:
    value = as_array(value)
    if isinstance(value, Array):
        if value.ndim:
            raise errors.user_error(
                ValueError,
                "The truth value of an array with more than one element is ambiguous. Use np.minimum or np.maximum",
            )
        value = element(value)
    if isinstance(value, Scalar) and value.weak and value.dtype.kind in "iu":
        return value.as_index()
    return value


def _known(name: str, best: Any, value: Any) -> bool | None:
    """Whether `value` is beyond `best`, where a Python number decides it by itself or sizes decide it."""
    for number, other in ((value, best), (best, value)):
        if not isinstance(number, (int, float, Int)) or isinstance(number, np.generic):
            continue
        if number != number:
            return False
        upwards = (number is value) == (name == "max")  # whether a larger number makes it true
        dtype = _dtype(other)
        if dtype is not None and dtype.kind in "iu":
            side = _compare(number, int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
            if side:
                return (side > 0) == upwards
        if isinstance(number, Int) and isinstance(other, float) and not isinstance(other, np.generic):
            if other != other or math.isinf(other):
                return other == other and (other < 0) == upwards
            side = _compare(number, math.ceil(other), math.floor(other))
            if side is not None:
                return side == (1 if upwards else -1)
    return None


def _compare(number: Any, low: int, high: int) -> int | None:
    """-1 for a Python number below `low`, 1 above `high`, 0 for neither, None where only the run knows."""
    if not isinstance(number, Int):
        return -1 if number < low else 1 if number > high else 0
    smallest, largest = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    if low > largest or high < smallest:
        return -1 if low > largest else 1
    below = low > smallest and holds(ir.Condition(ir.Relation.Lt, number.expr, ir.Expr(low)))
    if below:
        return -1
    above = high < largest and holds(ir.Condition(ir.Relation.Lt, ir.Expr(high), number.expr))
    if above:
        return 1
    return None if below is None or above is None else 0


def _holding(name: str, best: Any, value: Any) -> tuple[np.dtype[Any] | None, bool]:
    """The dtype that holds both, and whether it is Python's; None for the one of a selection between them."""
    first, second = _dtype(best), _dtype(value)
    if first is not None and second is not None:
        if {first.kind, second.kind} == {"i", "u"} and _UINT64 in (first, second):
            return (_UINT64 if name == "max" else _INT64), False  # an int beyond a uint64 is not negative
        return None, False
    if first is None and second is None:
        return None, True
    dtype = first if first is not None else second
    number = value if first is not None else best
    if dtype == _FLOAT32 and not _is_single(number):
        return _FLOAT64, True
    if dtype is not None and dtype.kind in "iu":
        if not _is_int(number):
            return (_FLOAT64, True) if _is_float(number) else (None, False)
        if _compare(number, int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)) == 0:
            return dtype, False
        if dtype == _UINT64 and name == "max":
            return dtype, False
        return _INT64, True
    return None, False


def _is_single(number: Any) -> bool:
    """Whether a float32 is certain to hold a Python number."""
    if isinstance(number, Int):
        return _compare(number, -(2**24), 2**24) == 0
    if isinstance(number, (int, float)):
        with np.errstate(all="ignore"):
            return math.isnan(number) or float(np.float32(number)) == number
    return not _is_float(number)


def _dtype(value: Any) -> np.dtype[Any] | None:
    """The dtype of a number of NumPy's; None for Python's."""
    strong = isinstance(value, np.generic) or (isinstance(value, Scalar) and not value.weak)
    return np.dtype(value.dtype) if strong else None


def _is_int(value: Any) -> bool:
    return isinstance(value, (int, Int))


def _is_float(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, Scalar) and value.dtype.kind == "f")

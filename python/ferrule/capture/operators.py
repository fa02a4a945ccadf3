"""Python's operators on stand-ins: symbolic arithmetic of ints, element-wise operations of everything else."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ferrule import _compiler as ir

from . import errors
from .decide import decide, holds
from .elementwise import COMPARISONS, apply, require
from .numbers import symbolic
from .operands import bool_as_int, cast_scalar, lift
from .overflow import NO_FIT, make_checked, make_fitting
from .trace import Trace
from .tracers import Array, Cond, Int, Scalar, make_int, to_expr, unsupported
from .truth import truth
from .ufuncs import compute, ufunc

_RELATIONS: dict[str, tuple[ir.Relation, bool]] = {
    "equal": (ir.Relation.Eq, False),
    "not_equal": (ir.Relation.Ne, False),
    "less": (ir.Relation.Lt, False),
    "less_equal": (ir.Relation.Le, False),
    "greater": (ir.Relation.Lt, True),
    "greater_equal": (ir.Relation.Le, True),
}


_PYTHON: dict[str, Callable[..., Any]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv,
    "floor_divide": operator.floordiv, "remainder": operator.mod, "power": operator.pow,
    "bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor,
    "left_shift": operator.lshift, "right_shift": operator.rshift,
}  # fmt: skip


# What leaves 64 bits only where its result does.
_EXACT: dict[str, Callable[[ir.Expr, ir.Expr], ir.Expr]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
}

_BY_ZERO = {
    "floor_divide": "integer division or modulo",
    "remainder": "integer modulo",
    "divide": "division",
}


_ZERO_POWER = "0.0 cannot be raised to a negative power"
_FLOAT_BY_ZERO = {
    "floor_divide": "float floor division",
    "remainder": "float modulo",
    "divide": "float division",
    "power": _ZERO_POWER,
}


_UNARY: dict[str, Callable[[int], int]] = {
    "negative": operator.neg,
    "positive": operator.pos,
    "absolute": abs,
    "invert": operator.invert,
}


def python_operator(name: str, left: Any, right: Any) -> Any:
    """A binary operator of Python on stand-ins."""
    if _is_python_int(left) and _is_python_int(right):
        left, right = _as_int(left), _as_int(right)
    if isinstance(left, (int, Int, Cond)) and isinstance(right, (int, Int, Cond)):
        return _int_operator(name, left, right)
    for value in (left, right):
        if value is None or isinstance(value, (str, bytes, dict, set, slice, type)):
            if (
                name in ("equal", "not_equal")
                and not isinstance(left, Array)
                and not isinstance(right, Array)
            ):
                return name == "not_equal"
            return _refuse_comparison(value) if name in COMPARISONS else _refuse_sequence(name, left, right)
        if isinstance(value, (list, tuple)) and not _takes_sequences(name, right if value is left else left):
            return _refuse_sequence(name, left, right)
    if name not in COMPARISONS:
        left, right = _python_bool_as_int(left, right), _python_bool_as_int(right, left)
        if name in _FLOAT_BY_ZERO and _is_python_number(left) and _is_python_number(right):
            _refuse_float_zero(name, left, right)
    return compute(name, (left, right), strong=False)


def _takes_sequences(name: str, other: Any) -> bool:
    """Whether a list or tuple is an array to what it meets: NumPy's integers alone repeat it."""
    if isinstance(other, Array):
        return True
    return (
        isinstance(other, Scalar) and not other.weak and (name != "multiply" or other.dtype.kind not in "iu")
    )


def _refuse_sequence(name: str, left: Any, right: Any) -> Any:
    """Python's own refusal; of a product by a number it would demand the number, which is an int for it."""
    for other, value in ((left, right), (right, left)):
        if name != "multiply" or not isinstance(value, (str, bytes, list, tuple)):
            continue
        if isinstance(other, Scalar) and other.dtype.kind in "iu" and other.weak is False:
            continue
        if isinstance(other, (Array, Scalar)):
            kinds = (f"'{type(operand).__name__}'" for operand in (left, right))
            raise TypeError(f"unsupported operand type(s) for *: {' and '.join(kinds)}")
    return NotImplemented


def _is_python_number(value: Any) -> bool:
    return (isinstance(value, (int, float, Int, Cond)) and not isinstance(value, np.generic)) or (
        isinstance(value, Scalar) and value.weak
    )


def _is_python_int(value: Any) -> bool:
    if isinstance(value, Scalar):
        return bool(value.weak and value.dtype.kind in "iu")
    return isinstance(value, (int, Int, Cond))


def _as_int(value: Any) -> Any:
    """A Python int that only the run knows as a symbolic one."""
    if isinstance(value, Scalar) and value.weak and value.dtype.kind in "iu":
        return symbolic(value, NO_FIT, ir.ErrorCode.OVERFLOW)
    return value


def _refuse_comparison(value: Any) -> Any:
    raise unsupported(f"a comparison of an array with a value of type '{type(value).__name__}'")


def _python_bool_as_int(value: Any, other: Any) -> Any:
    """Python bools alone are integers in arithmetic."""
    weak = not isinstance(other, (Array, np.generic, np.ndarray)) and getattr(other, "weak", True)
    if isinstance(value, Scalar) and value.weak and value.dtype.kind == "b" and weak:
        return cast_scalar(value, np.dtype(np.int64)).as_index()
    return value


def _int_operator(name: str, left: Any, right: Any) -> Any:
    if isinstance(left, Cond) or isinstance(right, Cond) or isinstance(left, bool) or isinstance(right, bool):
        if (
            name in ("bitwise_and", "bitwise_or", "bitwise_xor")
            and not isinstance(left, Int)
            and not isinstance(right, Int)
        ):
            return _bool_operator(name, left, right)
        left = bool_as_int(left) if isinstance(left, (Cond, bool)) else left
        right = bool_as_int(right) if isinstance(right, (Cond, bool)) else right
        if isinstance(left, int) and isinstance(right, int):
            return _compare_ints(name, left, right) if name in COMPARISONS else _PYTHON[name](left, right)
    if name in COMPARISONS:
        return _compare_ints(name, left, right)
    a, b = to_expr(left), to_expr(right)
    if name in _EXACT:
        return make_fitting(name, (a, b), _EXACT[name](a, b))
    if name in _BY_ZERO:
        refuse_zero(b, _BY_ZERO[name])
    if name == "floor_divide":
        return make_fitting(name, (a, b), a // b)
    if name == "remainder":
        return make_int(a % b)
    if name == "power":
        if decide(ir.Condition(ir.Relation.Le, ir.Expr(0), b)):
            return make_fitting(name, (a, b), a**b)
        refuse_zero(a, _ZERO_POWER)
        return apply("power", (_as_float(left), right), strong=False)
    if name in ("left_shift", "right_shift"):
        return _shift(name, a, b)
    if name == "bitwise_and" and isinstance(right, int) and right >= 0 and right & (right + 1) == 0:
        return make_int(a % ir.Expr(right + 1))
    result = apply(name, (left, right), strong=False)
    return result.as_index() if isinstance(result, Scalar) and result.dtype.kind in "iu" else result


def _bool_operator(name: str, left: Any, right: Any) -> Any:
    """A bitwise operator of Python bools, or of one and an int."""
    if isinstance(left, (bool, Cond)) and isinstance(right, (bool, Cond)):
        known = [truth(value) for value in (left, right)]
        if all(side is True or side is False for side in known):
            return _PYTHON[name](*known)
        builder = Trace.current().builder
        flags = (Scalar(builder.reweight(lift(value), True)) for value in (left, right))
        return apply(name, tuple(flags), strong=False)
    return _PYTHON[name](
        *(bool_as_int(value) if isinstance(value, Cond) else value for value in (left, right))
    )


def refuse_zero(divisor: ir.Expr, what: str) -> None:
    """A ZeroDivisionError, now or where the run finds the divisor to be zero."""
    nonzero = ir.Condition(ir.Relation.Ne, divisor, ir.Expr(0))
    known = holds(nonzero)
    if known is False:
        _divided_by_zero(what)
    if known is None:
        trace = Trace.current()
        trace.site(_by_zero(what))
        trace.builder.check(nonzero, ir.ErrorCode.ZERO_DIVISION)
        trace.facts.assume(nonzero)


def _by_zero(what: str) -> str:
    return what if what == _ZERO_POWER else f"{what} by zero"


def _divided_by_zero(what: str) -> None:
    """The ZeroDivisionError; one of the run where a region may not run."""
    error = errors.user_error(ZeroDivisionError, _by_zero(what))
    if Trace.current().depth:
        from . import traps

        traps.trap(ZeroDivisionError(_by_zero(what)))
    raise error from None


def _refuse_float_zero(name: str, left: Any, right: Any) -> None:
    """Python's ZeroDivisionError of its floats; those of NumPy give infinities and NaN."""
    if name == "power":
        what, bad = _ZERO_POWER, _is_zero_to_negative(left, right)
    else:
        what, bad = (
            _FLOAT_BY_ZERO[name],
            right == 0 if not isinstance(right, Scalar) else apply("equal", (right, 0.0)),
        )
    if isinstance(bad, Scalar):
        require(apply("logical_not", (bad,)), _by_zero(what), ir.ErrorCode.ZERO_DIVISION)
    elif isinstance(bad, Cond):
        refuse_zero(to_expr(right), what)
    elif bad:
        _divided_by_zero(what)


def _is_zero_to_negative(base: Any, exponent: Any) -> Any:
    """Whether Python refuses base ** exponent."""
    if not isinstance(exponent, (Int, Scalar, Cond)) and not exponent < 0:
        return False
    if not isinstance(base, (Int, Scalar, Cond)) and base != 0:
        return False
    return apply("logical_and", (apply("equal", (base, 0)), apply("less", (exponent, 0))))


def _shift(name: str, a: ir.Expr, b: ir.Expr) -> Any:
    """a << b or a >> b: a product or a quotient where the count is known."""
    count = b.constant
    if count is not None and 0 <= count < 62:
        power = ir.Expr(1 << count)
        return (
            make_int(a // power) if name == "right_shift" else make_fitting("multiply", (a, power), a * power)
        )
    trace = Trace.current()
    counted = ir.Condition(ir.Relation.Le, ir.Expr(0), b)
    known = holds(counted)
    if known is False:
        raise errors.user_error(ValueError, "negative shift count")
    if known is None:
        trace.site("negative shift count")
        trace.builder.check(counted, ir.ErrorCode.VALUE)
    if name == "left_shift":
        return make_checked(name, (a, b))
    result = apply(name, (make_int(a), make_int(b)), strong=False)
    return result.as_index() if isinstance(result, Scalar) else result


def _as_float(value: Any) -> Any:
    from . import scalars

    return scalars.float_(value)


def _compare_ints(name: str, left: Any, right: Any) -> Any:
    relation, swap = _RELATIONS[name]
    a, b = to_expr(left), to_expr(right)
    if swap:
        a, b = b, a
    trace = Trace.current()
    condition = ir.Condition(relation, trace.facts.canonical(a), trace.facts.canonical(b))
    known = trace.facts.prove(condition)
    return Cond(condition) if known is None else known


def python_unary(name: str, value: Any) -> Any:
    """A unary operator of Python on stand-ins."""
    value = _as_int(value)
    if isinstance(value, (Int, Cond)):
        if isinstance(value, Cond):
            whole = bool_as_int(value)
            return python_unary(name, whole) if isinstance(whole, Int) else _UNARY[name](whole)
        if name == "negative":
            return make_fitting(name, (value.expr,), ir.Expr(0) - value.expr)
        if name == "positive":
            return value
        if name == "absolute":
            return make_fitting(name, (value.expr,), ir.max(value.expr, ir.Expr(0) - value.expr))
        return make_int(ir.Expr(-1) - value.expr)
    if isinstance(value, Scalar) and value.weak and value.dtype.kind == "b":
        return python_unary(name, cast_scalar(value, np.dtype(np.int64)).as_index())
    return apply(name, (value,), strong=False)


def augmented(name: str, target: Array, other: Any) -> Any:
    """target op= other: the ufunc with out=target."""
    if target.ndim == 0 and not isinstance(other, Array):
        return ufunc(name, (target, other), out=target, strong=False)
    return ufunc(name, (target, other), out=target, strong=False)

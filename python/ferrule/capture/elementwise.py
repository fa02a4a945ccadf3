"""Element-wise operations: operands lifted and broadcast, out=, where= and dtype=, powers, clip, select, casts."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ferrule import _compiler as ir

from . import errors
from .decide import broadcast, decide, holds, shape_text
from .trace import Trace
from .tracers import Array, Cond, Int, Scalar, Window, make_int, to_expr, unsupported

OPS: dict[str, Any] = {info.name: info for info in ir.element_ops()}
_COMPARE = {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"}
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
_UNARY: dict[str, Callable[[int], int]] = {
    "negative": operator.neg,
    "positive": operator.pos,
    "absolute": abs,
    "invert": operator.invert,
}
_NEGATIVE_POWER = "Integers to negative integer powers are not allowed."


# -- operands ------------------------------------------------------------------------------------------------------------


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
        known = holds(value.condition)
        if known is not None:
            return constant(known, np.dtype(np.bool_), True)
        return _condition_value(value.condition)
    if isinstance(value, (np.generic, np.ndarray)):
        if isinstance(value, np.ndarray) and value.ndim:
            return int(as_array(value).handle())
        return constant(value, value.dtype, False)
    if isinstance(value, bool):
        return constant(value, np.dtype(np.bool_), True)
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            if like is not None and like.kind == "u" and 0 <= value < 2**64:
                return constant(value, np.dtype(np.uint64), False)
            if like is not None and like.kind == "f":
                return constant(float(value), np.dtype(np.float64), True)
            raise errors.user_error(OverflowError, f"Python integer {value} out of bounds for int64.")
        return constant(value, np.dtype(np.int64), True)
    if isinstance(value, float):
        return constant(value, np.dtype(np.float64), True)
    if isinstance(value, complex):
        raise unsupported("a complex number")
    if isinstance(value, (list, tuple)):
        return int(as_array(value).handle())
    raise errors.user_error(
        TypeError, f"an operand of type '{type(value).__name__}' has no meaning with arrays."
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
    from . import creation

    if isinstance(value, (Array, Scalar, Int, Cond)):
        return value
    if isinstance(value, np.ndarray):
        return creation.real_array(value)
    if isinstance(value, (list, tuple)):
        return creation.array(value)
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


# -- one operation -------------------------------------------------------------------------------------------------------


def apply(name: str, values: Sequence[Any], strong: bool = True) -> Any:
    """An element-wise operation of the table; strong: Python numbers alone give NumPy's scalars, as ufuncs do."""
    trace = Trace.current()
    trace.site()
    values = [as_array(value) for value in values]
    like = next((dtype for dtype in map(dtype_of, values) if dtype is not None), None)
    if like is not None and like.kind in "iu" and name not in _COMPARE and name != "select":
        for value in values:
            if isinstance(value, Int):
                check_fits(value, like)
    ids = [lift(value, like) for value in values]
    if strong and like is None:
        ids = [strengthen(value) for value in ids]
    shapes = [value.dims for value in values if isinstance(value, Array)]
    if len(shapes) > 1:
        dims = broadcast(shapes, "operands could not be broadcast together with shapes")
        ids = [
            conform(v, dims).handle() if isinstance(v, Array) else k for v, k in zip(values, ids, strict=True)
        ]
    return Array.of_value(trace.builder.elementwise(OPS[name].op, ids))


def conform(array: Array, dims: Sequence[ir.Expr]) -> Array:
    """The array with its extents spelled as in `dims`, where only a check of the program knows that they are equal."""
    trace = Trace.current()
    own = array.dims
    wanted = list(dims)[len(dims) - len(own) :] if len(dims) >= len(own) else own
    shape = []
    for extent, other in zip(own, wanted, strict=True):
        if extent.constant == 1 or trace.facts.prove_equal(extent, other):
            shape.append(extent)
        else:
            one = ir.Condition(ir.Relation.Eq, extent, ir.Expr(1))
            shape.append(ir.Expr(1) if trace.facts.prove(one) is True else other)
    if shape == own:
        return array
    axes = [(ir.Expr(0), [(k, ir.Expr(1))]) for k in range(len(own))]
    return array.derived(Window(ir.IndexMap(shape, axes)), shape)


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
            trace.builder.check(condition, ir.ErrorCode.VALUE)


def strengthen(value: int) -> int:
    """A scalar value as a strong one of its dtype."""
    return int(Trace.current().builder.reweight(value, False))


def ufunc(
    name: str,
    values: Sequence[Any],
    out: Any = None,
    where: Any = True,
    dtype: Any = None,
    casting: str = "same_kind",
    strong: bool = True,
) -> Any:
    """An element-wise operation with a ufunc's keywords."""
    if isinstance(out, tuple):
        if len(out) != 1:
            raise unsupported(f"several outputs of '{name}'")
        out = out[0]
    if dtype is not None:
        values = [cast(value, np.dtype(dtype)) if dtype_of(value) is not None else value for value in values]
    result = compute(name, values, strong)
    if where is not True:
        result = select(where, result, out if out is not None else 0)
    if out is None:
        return result
    write_out(name, out, result, casting)
    return out


def compute(name: str, values: Sequence[Any], strong: bool) -> Any:
    """`apply` with the special cases of power."""
    if name == "power":
        return power(values[0], values[1], strong)
    return apply(name, values, strong)


def write_out(name: str, out: Any, result: Any, casting: str) -> None:
    """Stores a ufunc's result into out= under a casting rule."""
    from . import indexing

    if not isinstance(out, Array):
        if isinstance(out, np.ndarray):
            out = as_array(out)
        else:
            raise errors.user_error(TypeError, "return arrays must be of ArrayType")
    source = np.dtype(result.dtype)
    if not np.can_cast(source, out.dtype, casting):  # type: ignore[arg-type]
        raise errors.user_error(
            TypeError,
            f"Cannot cast ufunc '{name}' output from {source!r} to {out.dtype!r} with casting rule '{casting}'",
        )
    if len(dims_of(result)) > out.ndim:
        trace = Trace.current()
        raise errors.user_error(
            ValueError,
            f"non-broadcastable output operand with shape {shape_text(trace, out.dims)} doesn't match the broadcast shape"
            f" {shape_text(trace, dims_of(result))}",
        )
    shapes = [out.dims, dims_of(result)]
    broadcast(shapes, "non-broadcastable output operand with shapes")
    indexing.assign(out, result)


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


def cast_scalar(value: Any, dtype: np.dtype[Any]) -> Any:
    """A number in another dtype, strong."""
    if not isinstance(value, (Scalar, Int, Cond)):
        return dtype.type(value)
    check_dtype(dtype)
    trace = Trace.current()
    trace.site()
    return Scalar(strengthen(trace.builder.cast(lift(value), ir.dtype(dtype.name))))


# -- operators -----------------------------------------------------------------------------------------------------------


def python_operator(name: str, left: Any, right: Any) -> Any:
    """A binary operator of Python on stand-ins."""
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
            return NotImplemented if name not in _COMPARE else _refuse_comparison(value)
        if isinstance(value, (list, tuple)) and not isinstance(left, Array) and not isinstance(right, Array):
            return NotImplemented
    if name not in _COMPARE:
        left, right = _python_bool_as_int(left, right), _python_bool_as_int(right, left)
    return compute(name, (left, right), strong=False)


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
            return _PYTHON[name](bool(left), bool(right))
        left = int(bool(left)) if isinstance(left, (Cond, bool)) else left
        right = int(bool(right)) if isinstance(right, (Cond, bool)) else right
        if isinstance(left, int) and isinstance(right, int):
            return _compare_ints(name, left, right) if name in _COMPARE else _PYTHON[name](left, right)
    if name in _COMPARE:
        return _compare_ints(name, left, right)
    a, b = to_expr(left), to_expr(right)
    if name == "add":
        return make_int(a + b)
    if name == "subtract":
        return make_int(a - b)
    if name == "multiply":
        return make_int(a * b)
    if name in ("floor_divide", "remainder"):
        if holds(ir.Condition(ir.Relation.Ne, b, ir.Expr(0))) is False:
            raise errors.user_error(ZeroDivisionError, "integer modulo by zero") from None
        return make_int((a // b) if name == "floor_divide" else (a % b))
    if name == "power":
        if decide(ir.Condition(ir.Relation.Le, ir.Expr(0), b)):
            return make_int(a**b)
        return apply("power", (_as_float(left), right), strong=False)
    if name == "divide" and holds(ir.Condition(ir.Relation.Ne, b, ir.Expr(0))) is False:
        raise errors.user_error(ZeroDivisionError, "division by zero")
    if name == "left_shift" and isinstance(right, int):
        return make_int(a * ir.Expr(1 << right))
    if name == "right_shift" and isinstance(right, int):
        return make_int(a // ir.Expr(1 << right))
    if name == "bitwise_and" and isinstance(right, int) and right >= 0 and right & (right + 1) == 0:
        return make_int(a % ir.Expr(right + 1))
    result = apply(name, (left, right), strong=False)
    return result.as_index() if isinstance(result, Scalar) and result.dtype.kind in "iu" else result


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
    if isinstance(value, (Int, Cond)):
        if isinstance(value, Cond):
            return _UNARY[name](int(bool(value)))
        if name == "negative":
            return make_int(ir.Expr(0) - value.expr)
        if name == "positive":
            return value
        if name == "absolute":
            return make_int(ir.max(value.expr, ir.Expr(0) - value.expr))
        return make_int(ir.Expr(-1) - value.expr)
    if isinstance(value, Scalar) and value.weak and value.dtype.kind == "b":
        return python_unary(name, cast_scalar(value, np.dtype(np.int64)).as_index())
    return apply(name, (value,), strong=False)


def augmented(name: str, target: Array, other: Any) -> Any:
    """target op= other: the ufunc with out=target."""
    if target.ndim == 0 and not isinstance(other, Array):
        return ufunc(name, (target, other), out=target, strong=False)
    return ufunc(name, (target, other), out=target, strong=False)


# -- powers --------------------------------------------------------------------------------------------------------------


def power(base: Any, exponent: Any, strong: bool) -> Any:
    """base ** exponent with the shortcuts and refusals of NumPy."""
    base, exponent = as_array(base), as_array(exponent)
    dtype = dtype_of(base)
    if dtype is None and strong and not isinstance(base, float):
        dtype = np.dtype(np.int64) if isinstance(base, (int, Int)) else None
    if type(exponent) in (int, float) and dtype is not None:
        if exponent == 2 and dtype.kind != "b" and (isinstance(exponent, int) or dtype.kind == "f"):
            return apply("square", (base,), strong)
        if dtype.kind == "f":
            if exponent == 0.5:
                return apply("sqrt", (base,), strong)
            if exponent == -1 and isinstance(exponent, int):
                return apply("reciprocal", (base,), strong)
    if dtype is None or dtype.kind in "iub":
        _check_integer_exponent(base, exponent, strong)
    return apply("power", (base, exponent), strong)


def _check_integer_exponent(base: Any, exponent: Any, strong: bool) -> None:
    """Integers to negative integer powers are a ValueError, found now or at run time."""
    if not strong and dtype_of(base) is None and dtype_of(exponent) is None:
        return
    if isinstance(base, float) or (isinstance(base, Scalar) and base.dtype.kind == "f"):
        return
    if isinstance(exponent, (int, Int)):
        sign = ir.Condition(ir.Relation.Le, ir.Expr(0), to_expr(exponent))
        known = holds(sign)
        if known is False:
            raise errors.user_error(ValueError, _NEGATIVE_POWER)
        if known is None:
            trace = Trace.current()
            trace.site(_NEGATIVE_POWER)
            trace.builder.check(sign, ir.ErrorCode.DOMAIN)
        return
    kind = dtype_of(exponent)
    if kind is None or kind.kind != "i":
        return
    if isinstance(exponent, np.generic):
        if int(exponent) < 0:
            raise errors.user_error(ValueError, _NEGATIVE_POWER)
        return
    from . import reductions

    fine = apply("greater_equal", (exponent, 0))
    if isinstance(fine, Array):
        fine = reductions.reduce("all", fine, None)
    trace = Trace.current()
    trace.site(_NEGATIVE_POWER)
    trace.builder.check(lift(fine), ir.ErrorCode.DOMAIN)


# -- selections and rounding ---------------------------------------------------------------------------------------------


def select(condition: Any, x: Any, y: Any) -> Any:
    """np.where with three arguments."""
    condition = as_array(condition)
    if not isinstance(condition, (Array, Scalar)):
        condition = np.bool_(bool(condition))
    elif condition.dtype.kind != "b":
        condition = apply("not_equal", (condition, 0))
    x, y = as_array(x), as_array(y)
    if dtype_of(x) is None and dtype_of(y) is None:
        # Python numbers alone give arrays of their default dtype.
        kinds = {
            np.asarray(0.0).dtype if _is_float(v) else np.dtype(np.bool_ if _is_bool(v) else np.int64)
            for v in (x, y)
        }
        dtype = np.result_type(*kinds)
        x, y = cast_scalar(x, dtype), cast_scalar(y, dtype)
    return apply("select", (condition, x, y))


def _is_float(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, Scalar) and value.dtype.kind == "f")


def _is_bool(value: Any) -> bool:
    return isinstance(value, (bool, Cond)) or (isinstance(value, Scalar) and value.dtype.kind == "b")


def clip(x: Any, low: Any = None, high: Any = None, out: Any = None, **options: Any) -> Any:
    """np.clip; a bound of None does not limit."""
    low, high = options.pop("min", low), options.pop("max", high)
    refuse_options("clip", options)
    if low is None and high is None:
        result = apply("positive", (x,))
    elif low is None:
        result = apply("minimum", (x, high))
    elif high is None:
        result = apply("maximum", (x, low))
    else:
        result = apply("clip", (x, low, high))
    if out is None:
        return result
    write_out("clip", out, result, "same_kind")
    return out


def round_decimals(x: Any, decimals: int = 0, out: Any = None) -> Any:
    """np.round: to even, after scaling by a power of ten as NumPy does."""
    decimals = operator.index(decimals)
    x = as_array(x)
    dtype = dtype_of(x)
    if dtype is not None and dtype.kind in "iu":
        if decimals >= 0:
            result = apply("positive", (x,))
        else:
            raise unsupported("rounding of integers to tens")
    elif decimals == 0:
        result = apply("rint", (x,))
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
    result = select(apply("equal", (result, float("inf"))), posinf, result)
    result = select(apply("equal", (result, float("-inf"))), neginf, result)
    if not copy and isinstance(x, Array):
        write_out("nan_to_num", x, result, "same_kind")
        return x
    return result


def divmod_(x: Any, y: Any) -> tuple[Any, Any]:
    """np.divmod."""
    return apply("floor_divide", (x, y)), apply("remainder", (x, y))


def modf(x: Any) -> tuple[Any, Any]:
    """np.modf."""
    return apply("modf_fraction", (x,)), apply("modf_integer", (x,))


def frexp(x: Any) -> tuple[Any, Any]:
    """np.frexp."""
    return apply("frexp_mantissa", (x,)), apply("frexp_exponent", (x,))


def refuse_options(name: str, options: dict[str, Any], **defaults: Any) -> None:
    """Unsupported for keyword arguments that are neither in `defaults` nor at their no-value defaults."""
    for key, value in options.items():
        if value is np._NoValue or value is None or (key in defaults and value == defaults[key]):
            continue
        raise unsupported(f"the argument '{key}' of '{name}'")

"""Element-wise operations: broadcasting, out=, where= and dtype=, casts, powers, selection, rounding."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ferrule import _compiler as ir

from . import errors
from .decide import broadcast, decide, holds, shape_text
from .operands import (
    OPS,
    as_array,
    cast_scalar,
    check_dtype,
    check_fits,
    dims_of,
    dtype_of,
    is_certain_to_fit,
    lift,
    strengthen,
)
from .trace import Trace
from .tracers import Array, Cond, Int, Scalar, Window, make_int, to_expr, unsupported

_COMPARE = {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"}


_NEGATIVE_POWER = "Integers to negative integer powers are not allowed."


def apply(name: str, values: Sequence[Any], strong: bool = True) -> Any:
    """An element-wise operation of the table; strong: Python numbers alone give NumPy's scalars, as ufuncs do."""
    trace = Trace.current()
    trace.site()
    _check_error_state(trace)
    values = [as_array(value) for value in values]
    like = next((dtype for dtype in map(dtype_of, values) if dtype is not None), None)
    if name in _COMPARE:
        known = _compare_wide(name, values, like)
        if known is not None:
            return known
        ids = [lift(value, like) for value in values]
    else:
        ids = _lift_operands(name, values)
    if like is not None and name in _COMPARE:
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


def ufunc(
    name: str,
    values: Sequence[Any],
    out: Any = None,
    where: Any = True,
    loop: Sequence[np.dtype[Any]] | None = None,
    casting: str = "same_kind",
    strong: bool = True,
) -> Any:
    """An element-wise operation with a ufunc's keywords; `loop` gives the dtypes of its operands and of its result."""
    if isinstance(out, tuple):
        if len(out) != 1:
            raise unsupported(f"several outputs of '{name}'")
        out = out[0]
    if loop is not None:
        values = [cast(as_array(value), dtype) for value, dtype in zip(values, loop, strict=False)]
    result = compute(name, values, strong)
    if loop is not None and np.dtype(result.dtype) != loop[-1]:
        raise unsupported(f"'{name}' with the dtype '{loop[-1]}'")
    result = masked(result, where, out, casting)
    if out is None:
        return result
    write_out(name, out, result, casting)
    return out


def masked(result: Any, where: Any, out: Any, casting: str) -> Any:
    """What a ufunc's where= lets through; the rest keeps what out= holds, or is 0."""
    if where is True:
        return result
    kind = dtype_of(as_array(where))
    if kind is not None and kind.kind != "b":
        raise errors.user_error(
            TypeError, f"Cannot cast array data from {kind!r} to dtype('bool') according to the rule 'safe'"
        )
    if out is None:
        return select(where, result, 0)
    if isinstance(out, Array) and np.can_cast(np.dtype(result.dtype), out.dtype, casting):  # type: ignore[arg-type]
        result = cast(result, out.dtype)
    return select(where, result, out)


def resolve(function: np.ufunc, values: Sequence[Any], dtype: Any, casting: str) -> Sequence[np.dtype[Any]]:
    """The dtypes of the loop that NumPy takes for operands, then of its result; its TypeError where it has none."""
    kinds = [_kind(as_array(value)) for value in values]
    options: dict[str, Any] = {"casting": casting}
    if dtype is not None:
        options["signature"] = (*[None] * function.nin, np.dtype(dtype))
    try:
        found: Any = function.resolve_dtypes((*kinds, None), **options)
    except TypeError as error:
        raise errors.user_error(TypeError, str(error)) from None
    for kind in found:
        check_dtype(kind)
    return tuple(found)


def _kind(value: Any) -> Any:
    """The dtype of an operand, or the Python type of a number that adapts to others."""
    strong = dtype_of(value)
    if strong is not None:
        return strong
    kind = (
        np.dtype(value.dtype).kind if isinstance(value, (Int, Cond, Scalar)) else np.asarray(value).dtype.kind
    )
    return np.dtype(np.bool_) if kind == "b" else float if kind == "f" else int


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
    if by_ufunc and not dims_of(exponent) and _is_real(exponent):
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

    fine = apply("greater_equal", (exponent, 0))
    if isinstance(fine, Array):
        fine = reductions.reduce("all", fine, None)
    require(fine, _NEGATIVE_POWER, ir.ErrorCode.DOMAIN)


def _is_empty(base: Any) -> bool:
    """Whether an array is certain to have no element, which could be wrong."""
    dims = dims_of(base)
    return bool(dims) and holds(ir.Condition(ir.Relation.Eq, ir.product(dims), ir.Expr(0))) is True


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


def _is_real(value: Any) -> bool:
    """Whether an operand is of a floating dtype."""
    dtype = dtype_of(as_array(value))
    return _is_float(value) if dtype is None else dtype.kind == "f"


def _is_float(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, Scalar) and value.dtype.kind == "f")


def _is_bool(value: Any) -> bool:
    return isinstance(value, (bool, Cond)) or (isinstance(value, Scalar) and value.dtype.kind == "b")


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
    elif dims_of(as_array(low)) or dims_of(as_array(high)) or not any(map(_is_real, (x, low, high))):
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


def refuse_options(name: str, options: dict[str, Any], **defaults: Any) -> None:
    """Unsupported for keyword arguments that are neither in `defaults` nor at their no-value defaults."""
    for key, value in options.items():
        if value is np._NoValue or value is None or (key in defaults and value == defaults[key]):
            continue
        raise unsupported(f"the argument '{key}' of '{name}'")

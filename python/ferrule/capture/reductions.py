"""Reductions of the table over axes, with keepdims, dtype, initial and where."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ferrule import _compiler as ir

from . import errors
from .decide import ONE, ZERO, holds
from .elementwise import apply, cast, operand_type, require, select
from .operands import as_array, cast_scalar, check_dtype, check_fits, dtype_of, lift
from .shaping import normalize_axes
from .trace import Trace
from .tracers import Array, Int, Scalar, Window, unsupported
from .ufuncs import write_out

INFO: dict[str, Any] = {info.name: info for info in ir.reduce_ops()}
_NEUTRAL: dict[str, Any] = {
    "sum": 0,
    "prod": 1,
    "any": False,
    "all": True,
    "bit_or": 0,
    "bit_xor": 0,
    "bit_and": -1,
}


def reduce(
    name: str,
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """A reduction of the table with NumPy's keywords."""
    trace = Trace.current()
    trace.site()
    a = as_array(a)
    initial = None if initial is np._NoValue else initial
    where = True if where is np._NoValue else where
    keepdims = False if keepdims is np._NoValue else bool(keepdims)
    if not isinstance(a, Array):
        return _reduce_number(name, a, axis, dtype, out, initial, where)
    axes = _axes(axis, a.ndim)
    dtype = np.dtype(dtype) if dtype is not None else None
    if dtype is not None:
        check_dtype(dtype)
    elif isinstance(out, Array) and name not in ("any", "all"):
        dtype = np.promote_types(a.dtype, out.dtype)  # NumPy has the array for the result take part
    if dtype is not None:
        _require_loop(name, dtype)
    if initial is not None:
        initial = _converted(initial, dtype or np.dtype(ir.infer_reduction(INFO[name].op, a.dtype.name)))
    if where is not True:
        if name not in _NEUTRAL and initial is None:
            raise errors.user_error(
                ValueError,
                f"reduction operation '{name}' does not have an identity, so to use a where mask one has to specify 'initial'",
            )
        neutral = _NEUTRAL.get(name, initial)
        if name.startswith("bit_"):
            neutral = np.asarray(neutral).astype(a.dtype)[()]
        a = select(where, a, neutral)
        if not isinstance(a, Array):
            raise unsupported(f"'where' in '{name}' of a single number")
        axes = _axes(axis, a.ndim)
    result = None
    if (
        name not in _NEUTRAL
        and not INFO[name].has_identity
        and not _has_elements(name, a, axes, initial is not None)
    ):
        result = _all_initial(a, axes, initial, dtype)
    if result is None:
        result = Array.of_value(
            trace.builder.reduce(
                INFO[name].op, a.handle(), axes, ir.dtype(dtype.name) if dtype is not None else None
            )
        )
        if initial is not None:
            result = _combine(name, result, initial)
    if keepdims:
        result = keep(result, a, axes)
    if out is None:
        return result
    write_out(name, out, result, "unsafe")
    return out


def _axes(axis: Any, rank: int) -> list[int]:
    """The axes to reduce, in order; of no dimension NumPy takes one axis for none."""
    return [] if rank == 0 and type(axis) is int and axis in (0, -1) else sorted(normalize_axes(axis, rank))


def _reduce_number(name: str, value: Any, axis: Any, dtype: Any, out: Any, initial: Any, where: Any) -> Any:
    if where is not True:
        raise unsupported(f"'where' in '{name}' of a single number")
    _axes(axis, 0)
    result = of_scalar(name, value, dtype)
    if initial is not None:
        result = _combine(name, result, _converted(initial, np.dtype(result.dtype)))
    if out is not None:
        write_out(name, out, result, "unsafe")
        return out
    return result


def _require_loop(name: str, dtype: np.dtype[Any]) -> None:
    """NumPy's TypeError for a dtype that a ufunc does not reduce in."""
    kinds = {"Logical": "b", "Bitwise": "biu"}.get(INFO[name].rule, "biuf")
    if dtype.kind not in kinds:
        raise errors.user_error(
            TypeError,
            f"No loop matching the specified signature and casting was found for a reduction '{name}' in {dtype}",
        )


def _converted(initial: Any, kind: np.dtype[Any]) -> Any:
    """initial= in the dtype that is reduced in; a Python number that adapts to it stays one, so that its range is tested."""
    initial = as_array(initial)
    if ir.promote([(kind.name, False), operand_type(initial)])[0] == kind.name and dtype_of(initial) is None:
        if isinstance(initial, Int):
            check_fits(initial, kind)
        return initial
    return cast(initial, kind)


def _combine(name: str, result: Any, initial: Any) -> Any:
    combined = apply(INFO[name].combine, (result, initial))
    return combined if combined.dtype == result.dtype else cast(combined, result.dtype)


def _all_initial(a: Array, axes: list[int], initial: Any, dtype: np.dtype[Any] | None) -> Any:
    dims = [extent for k, extent in enumerate(a.dims) if k not in axes]
    value = cast_scalar(initial, dtype or a.dtype)
    return Array.of_value(Trace.current().builder.fill(lift(value), dims))


def _has_elements(name: str, a: Array, axes: list[int], has_initial: bool) -> bool:
    """Whether there is something to reduce; a ValueError, now or at run time, where there is not and must be."""
    trace = Trace.current()
    count = ir.product([a.dims[k] for k in axes])
    condition = ir.Condition(ir.Relation.Lt, ZERO, count)
    known = trace.facts.prove(condition) if has_initial else holds(condition)
    if known or (known is None and has_initial):
        return True
    message = f"zero-size array to reduction operation {name} which has no identity"
    if known is False:
        if has_initial:
            return False
        rest = ir.product([extent for k, extent in enumerate(a.dims) if k not in axes])
        if len(axes) < a.ndim and holds(ir.Condition(ir.Relation.Eq, rest, ZERO)) is True:
            return True
        if trace.depth == 0:
            raise errors.user_error(ValueError, message)
    trace.site(message)
    trace.builder.check(condition, ir.ErrorCode.VALUE)
    return True


def of_scalar(name: str, value: Any, dtype: Any = None) -> Any:
    """A reduction of a single number."""
    if not isinstance(value, Scalar):
        value = Scalar(lift(value))
    kind = np.dtype(value.dtype)
    if dtype is not None:
        return cast_scalar(value, np.dtype(dtype))
    if name in ("any", "all"):
        return cast_scalar(value, np.dtype(np.bool_))
    if name in ("sum", "prod") and kind.kind in "biu":
        return cast_scalar(value, np.dtype(np.uint64 if kind.kind == "u" else np.int64))
    if name in ("mean", "var", "std") and kind.kind in "biu":
        return cast_scalar(value, np.dtype(np.float64))
    return cast_scalar(value, kind)


def keep(result: Any, a: Array, axes: list[int]) -> Any:
    """The reduced axes put back with extent 1."""
    dims = [ONE if k in axes else extent for k, extent in enumerate(a.dims)]
    if not isinstance(result, Array):
        return Array.of_value(Trace.current().builder.fill(lift(result), dims))
    kept = [k for k in range(a.ndim) if k not in axes]
    maps = [(ZERO, [(k, ONE)]) for k in kept]
    return result.derived(Window(ir.IndexMap(dims, maps)), dims)


def require_all(fine: Any, message: str, code: ir.ErrorCode) -> None:
    """The program fails where a bool of the run, or one of an array of them, is false."""
    require(reduce("all", fine) if isinstance(fine, Array) else fine, message, code)


def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    """np.ptp."""
    high, low = reduce("max", a, axis, keepdims=keepdims), reduce("min", a, axis, keepdims=keepdims)
    result = apply("subtract", (high, low))
    if out is None:
        return result
    write_out("ptp", out, result, "same_kind")
    return out


def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    """np.count_nonzero."""
    a = as_array(a)
    if isinstance(a, Array) and a.dtype.kind != "b":
        a = apply("not_equal", (a, 0))
    return reduce("sum", a, axis, np.int64, keepdims=keepdims)


_BY_UFUNC = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_or": "any",
             "logical_and": "all", "bitwise_and": "bit_and", "bitwise_or": "bit_or", "bitwise_xor": "bit_xor"}  # fmt: skip


def ufunc_reduce(
    name: str,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """ufunc.reduce; the first axis if none is given."""
    if name not in _BY_UFUNC:
        raise unsupported(f"'{name}.reduce'")
    if isinstance(out, tuple):
        out = out[0]
    return reduce(_BY_UFUNC[name], array, axis, dtype, out, keepdims, initial, where)


def _with_dtype(name: str) -> Callable[..., Any]:
    def function(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        return reduce(name, a, axis, dtype, out, keepdims, initial, where)

    return function


def _extreme(name: str) -> Callable[..., Any]:
    def function(
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        return reduce(name, a, axis, None, out, keepdims, initial, where)

    return function


def _logical(name: str) -> Callable[..., Any]:
    def function(
        a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
    ) -> Any:
        return reduce(name, a, axis, None, out, keepdims, None, where)

    return function


# What NumPy has as a function and arrays have as a method.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sum": _with_dtype("sum"), "prod": _with_dtype("prod"), "max": _extreme("max"), "min": _extreme("min"),
    "any": _logical("any"), "all": _logical("all"), "ptp": ptp,
}  # fmt: skip

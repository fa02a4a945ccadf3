"""Functions of NumPy that are made of operations of the table: closeness, equality of arrays, differences, choices, grids."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ferrule import _compiler as ir

from . import creation, errors, reductions, reshaping, scalars
from .decide import Eq, decide, is_one
from .elementwise import apply, cast, select
from .operands import as_array, dims_of, dtype_of
from .shaping import broadcast_arrays, normalize_axis
from .trace import Trace
from .tracers import Array, Cond, Int, Scalar, unsupported
from .ufuncs import ufunc


def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """np.isclose as NumPy computes it: |a - b| <= atol + rtol * |b| for finite b, else equality."""
    b = as_array(b)
    kind = dtype_of(b)
    if kind is not None:
        b = cast(b, np.result_type(kind, 1.0))
    elif not isinstance(b, float):
        b = scalars.float_(b)
    near = apply(
        "less_equal",
        (
            apply("absolute", (apply("subtract", (a, b)),)),
            apply("add", (atol, apply("multiply", (rtol, apply("absolute", (b,)))))),
        ),
    )
    result = apply(
        "logical_or", (apply("logical_and", (near, apply("isfinite", (b,)))), apply("equal", (a, b)))
    )
    if equal_nan:
        result = apply("logical_or", (result, _both_nan(a, b)))
    return result


def _both_nan(a: Any, b: Any) -> Any:
    return apply("logical_and", (apply("isnan", (a,)), apply("isnan", (b,))))


def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """np.allclose."""
    return scalars.bool_(reductions.reduce("all", isclose(a, b, rtol, atol, equal_nan)))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """np.array_equal; whether the shapes agree becomes part of the guards."""
    a1, a2 = as_array(a1), as_array(a2)
    left, right = dims_of(a1), dims_of(a2)
    if len(left) != len(right) or not all(
        decide(ir.Condition(Eq, *pair)) for pair in zip(left, right, strict=True)
    ):
        return False
    same = apply("equal", (a1, a2))
    if equal_nan:
        same = apply("logical_or", (same, _both_nan(a1, a2)))
    return scalars.bool_(reductions.reduce("all", same))


def array_equiv(a1: Any, a2: Any) -> Any:
    """np.array_equiv: equal after broadcasting."""
    a1, a2 = as_array(a1), as_array(a2)
    pairs = zip(reversed(dims_of(a1)), reversed(dims_of(a2)), strict=False)
    if not all(decide(ir.Condition(Eq, *pair)) or is_one(pair[0]) or is_one(pair[1]) for pair in pairs):
        return False
    return scalars.bool_(reductions.reduce("all", apply("equal", (a1, a2))))


def sinc(x: Any) -> Any:
    """np.sinc: sin(pi x) / (pi x)."""
    x = apply("multiply", (math.pi, x))
    y = select(x, x, np.finfo(x.dtype).eps)
    return apply("divide", (apply("sin", (y,)), y))


def angle(z: Any, deg: bool = False) -> Any:
    """np.angle of real numbers: 0, or pi for those with a sign."""
    result = apply("arctan2", (0, z))
    return apply("multiply", (result, 180 / math.pi)) if deg else result


def infinite(negative: bool) -> Any:
    """np.isneginf or np.isposinf."""

    def function(x: Any, out: Any = None) -> Any:
        sign = apply("signbit", (x,))
        sign = sign if negative else apply("logical_not", (sign,))
        return ufunc("logical_and", (apply("isinf", (x,)), sign), out)

    return function


def constant_answer(answer: bool) -> Any:
    """np.isreal or np.iscomplex: the same for every real number."""

    def function(x: Any) -> Any:
        x = as_array(x)
        return (
            creation.full_like(x, answer, np.bool_) if isinstance(x, Array) and x.ndim else np.bool_(answer)
        )

    return function


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = np._NoValue, append: Any = np._NoValue) -> Any:
    """np.diff: differences of neighbours, `n` times; whether they differ for booleans."""
    a, n = as_array(a), operator.index(n)
    if prepend is not np._NoValue or append is not np._NoValue:
        raise unsupported("the arguments 'prepend' and 'append' of 'diff'")
    if n < 0:
        raise errors.user_error(ValueError, f"order must be non-negative but got {n}")
    if not isinstance(a, Array) or not a.ndim:
        raise errors.user_error(ValueError, "diff requires input that is at least one dimensional")
    axis = normalize_axis(axis, a.ndim)
    before = (slice(None),) * axis
    for _ in range(n):
        sides = a[(*before, slice(1, None))], a[(*before, slice(None, -1))]
        a = apply("not_equal" if a.dtype.kind == "b" else "subtract", sides)
    return a


def choose_first(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """np.select: of each place the choice of the first condition that holds."""
    if len(condlist) != len(choicelist):
        raise errors.user_error(ValueError, "list of cases must be same length as list of conditions")
    if not len(condlist):
        raise errors.user_error(ValueError, "select with an empty condition list is not possible")
    dtype = result_type(*choicelist, default)
    result = cast(as_array(default), dtype)
    for place, (condition, choice) in reversed(list(enumerate(zip(condlist, choicelist, strict=True)))):
        condition = as_array(condition)
        if not isinstance(condition, (bool, Cond)) and np.dtype(condition.dtype).kind != "b":
            raise errors.user_error(
                TypeError, f"invalid entry {place} in condlist: should be boolean ndarray"
            )
        result = select(condition, cast(as_array(choice), dtype), result)
    if isinstance(result, Scalar):
        Trace.current().zero_rank.add(result.id)
    return result


def result_type(*values: Any) -> np.dtype[Any]:
    """np.result_type; Python numbers adapt to the others."""
    return np.result_type(*(_representative(value) for value in values))


def _representative(value: Any) -> Any:
    """What stands for an operand among NumPy's own promotion: its dtype, or a Python number of the same type."""
    if isinstance(value, Array) or (isinstance(value, Scalar) and not value.weak):
        return np.dtype(value.dtype)
    if isinstance(value, Scalar):
        return {"b": False, "f": 0.0}.get(value.dtype.kind, 0)
    return 0 if isinstance(value, Int) else False if isinstance(value, Cond) else value


def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    """np.can_cast of an array or number of NumPy's."""
    kind = dtype_of(from_)
    if kind is None:
        raise errors.user_error(TypeError, "can_cast() does not support Python ints, floats, and complex.")
    return bool(np.can_cast(kind, to, casting))  # type: ignore[arg-type]


def isscalar(element: Any) -> bool:
    """np.isscalar: numbers are, arrays of no dimension are not."""
    if isinstance(element, Scalar):
        return element.id not in Trace.current().zero_rank
    return not isinstance(element, Array)


def iterable(y: Any) -> bool:
    """np.iterable."""
    return not isinstance(y, (Scalar, Int, Cond)) and (not isinstance(y, Array) or y.ndim > 0)


def where(condition: Any, *branches: Any) -> Any:
    """np.where with three arguments."""
    if len(branches) != 2:
        raise unsupported("'np.where' with one argument, whose result has a size that depends on data,")
    result = select(condition, *branches)
    if isinstance(result, Scalar):
        Trace.current().zero_rank.add(result.id)
    return result


def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """np.copyto."""
    src = as_array(src)
    if where is not True:
        src = select(where, src, dst)
    kind = dtype_of(src)
    if kind is None and casting in ("same_kind", "safe"):
        # A Python number fits by its kind alone.
        natural = result_type(src)
        kind = natural if dst.dtype.kind == "b" or (natural.kind == "f" and dst.dtype.kind in "iu") else None
    if kind is not None and not np.can_cast(kind, dst.dtype, casting):  # type: ignore[arg-type]
        raise errors.user_error(
            TypeError,
            f"Cannot cast array data from {kind!r} to {dst.dtype!r} according to the rule '{casting}'",
        )
    dst[...] = src


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """np.meshgrid."""
    arrays = [reshaping.atleast_1d(x) for x in xi]
    rank = len(arrays)
    shaped = []
    for position, array in enumerate(arrays):
        axis = (1 - position) if indexing == "xy" and position < 2 and rank > 1 else position
        shaped.append(array[tuple(slice(None) if k == axis else None for k in range(rank))])
    if not sparse:
        shaped = list(broadcast_arrays(*shaped))
    return tuple(creation.copy(a) for a in shaped) if copy else tuple(shaped)

"""Calls of ufuncs: the keywords out=, where=, dtype= and casting=, and two results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import errors
from .decide import broadcast, shape_text
from .elementwise import apply, cast, select
from .operands import as_array, check_dtype, dims_of, dtype_of
from .power import power
from .trace import Trace
from .tracers import Array, Cond, Int, Scalar, unsupported


def handler_of(name: str, arity: int, numpy_name: str) -> Callable[..., Any]:
    """A ufunc, or a function of NumPy that is one operation of the table."""

    def handler(
        *args: Any,
        out: Any = None,
        where: Any = True,
        dtype: Any = None,
        casting: str = "same_kind",
        order: str = "K",
        subok: bool = True,
        **options: Any,
    ) -> Any:
        if options.pop("signature", None) is not None:
            raise unsupported(f"the argument 'signature' of '{numpy_name}'")
        if order not in ("C", "A", "K", None):
            raise unsupported(f"the argument 'order' = {order!r} of '{numpy_name}'")
        if options:
            raise errors.user_error(
                TypeError, f"{numpy_name}() got an unexpected keyword argument '{next(iter(options))}'"
            )
        if len(args) > arity:
            out, args = args[arity], args[:arity]
        if len(args) < arity:
            raise errors.user_error(
                TypeError, f"{numpy_name}() takes {arity} positional arguments, got {len(args)}"
            )
        loop = None
        function = getattr(np, numpy_name)
        if isinstance(function, np.ufunc) and (dtype is not None or casting != "same_kind"):
            loop = resolve(function, args, dtype, casting)
        return ufunc(name, args, out, where, loop, casting)

    handler.__name__ = numpy_name
    return handler


def handler_of_two(function: np.ufunc, first: str, second: str) -> Callable[..., Any]:
    """A ufunc with two results, which are computed before either is written."""

    def handler(*args: Any, out: Any = (None, None), where: Any = True, **options: Any) -> Any:
        name = function.__name__
        refuse_options(name, options, casting="same_kind", order="K", subok=True)
        args, more = args[: function.nin], args[function.nin :]
        if len(args) < function.nin:
            raise errors.user_error(
                TypeError, f"{name}() takes from {function.nin} to {function.nargs} positional arguments but"
                f" {len(args)} were given"
            )  # fmt: skip
        outs = (*more, None, None)[:2] if more else (None, None) if out is None else out
        if not isinstance(outs, tuple) or len(outs) != 2:
            raise errors.user_error(TypeError, f"The 'out' of '{name}' must be a tuple of two arrays")
        results = [
            masked(apply(op, args), where, target, "same_kind")
            for op, target in zip((first, second), outs, strict=True)
        ]
        for result, target in zip(results, outs, strict=True):
            if target is not None:
                write_out(name, target, result, "same_kind")
        return tuple(r if t is None else t for r, t in zip(results, outs, strict=True))

    handler.__name__ = function.__name__
    return handler


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


def refuse_options(name: str, options: dict[str, Any], **defaults: Any) -> None:
    """Unsupported for keyword arguments that are neither in `defaults` nor at their no-value defaults."""
    for key, value in options.items():
        if value is np._NoValue or value is None or (key in defaults and value == defaults[key]):
            continue
        raise unsupported(f"the argument '{key}' of '{name}'")

"""Arrays from values: np.array of numbers and sequences, and real NumPy arrays that the trace meets."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ferrule import _compiler as ir

from . import errors
from .base import holds_traced
from .creation import check_order, copy, dtype_or, empty, natural_dtype, zero_rank
from .elementwise import cast
from .operands import cast_scalar, check_dtype, lift
from .trace import Trace
from .tracers import Array, Cond, Int, Scalar, Storage, unsupported

CONSTANT_LIMIT = 1 << 20  # bytes of a global array that may be copied into a program ahead of time


def array(
    value: Any,
    dtype: Any = None,
    *,
    copy: Any = True,
    order: Any = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: int = 0,
    like: Any = None,
) -> Any:
    """np.array of numbers, nested sequences and arrays; what is known now becomes a constant with known content."""
    check_order(order)
    if ndmax != 0:
        raise unsupported("the argument 'ndmax' of 'array'")
    result = _array(value, dtype, copy)
    while isinstance(result, Array) and result.ndim < operator.index(ndmin):
        result = result[None]
    return result


def _array(value: Any, dtype: Any, copying: Any) -> Any:
    if isinstance(value, Array):
        if dtype is not None and np.dtype(dtype) != value.dtype:
            return cast(value, np.dtype(dtype))
        return copy(value) if copying else value
    if isinstance(value, (Scalar, Int, Cond)):
        kind = dtype_or(dtype, natural_dtype(value))
        return zero_rank(lift(cast_scalar(value, kind)))
    if not holds_traced(value):
        real = np.array(value, dtype=dtype)
        check_dtype(real.dtype, "an array of dtype")
        return literal(real)
    items = [_item(item) for item in value]
    kind = np.dtype(dtype) if dtype is not None else np.result_type(*[natural_dtype(item) for item in items])
    check_dtype(kind)
    inner = items[0].dims if isinstance(items[0], Array) else []
    result = empty([ir.Expr(len(items)), *inner], kind)
    for position, item in enumerate(items):
        if isinstance(item, Array) and item.ndim != len(inner):
            raise errors.user_error(
                ValueError, "setting an array element with a sequence: the shape is inhomogeneous."
            )
        result[position] = item
    return result


def _item(item: Any) -> Any:
    return _array(item, None, False) if isinstance(item, (list, tuple, np.ndarray)) else item


def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    """np.ascontiguousarray, which gives at least one dimension."""
    return array(a, dtype, copy=False, ndmin=1)


def asarray(
    a: Any, dtype: Any = None, order: Any = None, *, copy: Any = None, like: Any = None, device: Any = None
) -> Any:
    """np.asarray."""
    check_order(order)
    return _array(a, dtype, copy is True)


def literal(real: np.ndarray[Any, Any]) -> Any:
    """An array made in the program from known numbers: a constant until it is written."""
    trace = Trace.current()
    trace.site()
    if real.ndim == 0:
        return zero_rank(lift(real[()]))
    result = Array.of_value(_constant(real, "literal"))
    loaded = _Literal(result.storage.root, trace.region, real)
    return Array(loaded, result.dims, result.dtype)


class _Literal(Storage):
    """Constant bytes with known content; a write gives it memory of its own."""

    __slots__ = ()

    def __init__(self, root: int, region: int, real: np.ndarray[Any, Any]) -> None:
        super().__init__(root, False, region, "literal")
        self.original = real

    def make_buffer(self) -> None:
        """Copies the constant before the first write."""
        if self.original is None:
            return
        self._move_to_memory(Trace.current())
        self.original = None


def _constant(real: np.ndarray[Any, Any], name: str) -> int:
    data = np.ascontiguousarray(real)
    return int(
        Trace.current().builder.constant_array(
            name, ir.dtype(data.dtype.name), list(data.shape), data.tobytes()
        )
    )


def real_array(real: np.ndarray[Any, Any], name: str = "") -> Any:
    """A real array that the trace met: known by identity. Hidden argument, or a constant ahead of time."""
    trace = Trace.current()
    known = trace.constants.get(id(real))
    if known is not None and (
        not isinstance(known[1], Array) or trace.builder.visible(known[1].storage.root)
    ):
        return known[1]
    check_array(real, name or "a global array")
    if real.ndim == 0 and (trace.annotated or not name):
        trace.copied.append((name or "constant", real, real.tobytes()))
        return real[()]
    make: Callable[[np.ndarray[Any, Any], str], Any] | None = getattr(trace, "hidden_argument", None)
    result = make(real, name) if make is not None else None
    if result is None:
        if real.nbytes > CONSTANT_LIMIT:
            raise errors.user_error(
                ValueError,
                f"a global array of {real.nbytes} bytes cannot be copied into the program (the limit is 1 MiB). Pass it as an"
                " argument.",
            )
        value = _constant(real, name or "constant")
        trace.copied.append((name or "constant", real, real.tobytes()))
        storage = Storage(value, False, 0, name or "constant")
        storage.frozen = (
            f"The global array '{name or 'constant'}' cannot be written by a program. Pass it as an argument."
        )
        result = Array(storage, [ir.Expr(n) for n in real.shape], real.dtype)
    trace.constants[id(real)] = (real, result)
    return result


_OPERATORS = ("__array_ufunc__", "__mul__", "__add__")


def check_array(real: np.ndarray[Any, Any], what: str) -> None:
    """Refuses masked arrays and their like, foreign byte orders and dtypes that are not computed with."""
    what = what[0].upper() + what[1:]
    # Naming numpy.ma imports it, which takes longer than the capture of a small program.
    if type(real) is not np.ndarray and isinstance(real, np.ma.MaskedArray):
        raise errors.user_error(TypeError, f"{what} is a masked array. Pass its data and its mask.")
    if any(getattr(type(real), name) is not getattr(np.ndarray, name) for name in _OPERATORS):
        raise errors.user_error(
            TypeError,
            f"{what} is a {type(real).__name__}, whose operators differ from those of numpy.ndarray. Pass numpy.asarray of"
            " it.",
        )
    if not real.dtype.isnative:
        raise errors.user_error(
            TypeError,
            f"{what} has the foreign byte order '{real.dtype.str}'. Convert it with .astype('{real.dtype.name}').",
        )
    check_dtype(real.dtype, f"{what} of dtype")

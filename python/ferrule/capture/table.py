"""The table of functions that capture knows: what each does when it meets a stand-in."""

from __future__ import annotations

import builtins
import functools
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import (
    composed,
    constants,
    creation,
    elementwise,
    equidistant,
    errors,
    grids,
    mathematics,
    moments,
    operands,
    reductions,
    reshaping,
    rounding,
    scalars,
    shaping,
    splits,
    ufuncs,
)
from .base import holds_traced
from .tracers import Array, Cond, Int, Scalar, is_traced, unsupported

Handler = Callable[..., Any]

_UFUNCS: dict[np.ufunc, str] = {}
TABLE: dict[Any, Handler] = {}
# The functions of the table that are traced, not refused.
TRACED: set[Any] = set()
# Functions that NumPy has and this table lacks: they are refused by name, with what to write instead where known.
_INSTEAD = {
    "dot": "sums of products, (a * b).sum(axis=...)",
    "matmul": "sums of products, (a * b).sum(axis=...)",
    "outer": "a[:, None] * b",
    "roll": "two slice assignments",
    "concatenate": "slice assignments into np.empty",
    "nditer": "a loop over np.ndindex(a.shape)",
    "ndenumerate": "a loop over np.ndindex(a.shape)",
}


def lookup(value: Any) -> Handler | None:
    """What capture does for a function (or a subscripted object such as np.mgrid); None if it does nothing special."""
    if isinstance(value, tuple) or is_traced(value):
        return None  # their hash would demand the values of sizes
    try:
        return TABLE.get(value)
    except TypeError:  # not hashable
        return None


# They take values one by one from a generator, which shows none of them before.
_FOLDS = (builtins.any, builtins.all, builtins.sum, builtins.min, builtins.max)


def _made_anew(handler: Handler) -> Handler:
    """The handler of a function whose arrays are the program's, whatever it is given."""

    def guarded(*args: Any, **kwargs: Any) -> Any:
        creation.check_device(kwargs.get("device"))
        return handler(*args, **kwargs)

    return guarded


def _guarded(function: Any, handler: Handler) -> Handler:
    """The handler where a stand-in takes part, the function itself where none does."""

    def guarded(*args: Any, **kwargs: Any) -> Any:
        if function in _FOLDS and args and isinstance(args[0], Iterator):
            return handler(*args, **kwargs)
        if any(map(holds_traced, args)) or any(map(holds_traced, kwargs.values())):
            return handler(*args, **kwargs)
        return function(*args, **kwargs)

    return guarded


def call_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What `__array_ufunc__` asks for."""
    name = _UFUNCS.get(ufunc)
    if method == "reduce" and name is not None:
        return reductions.ufunc_reduce(name, *inputs, **kwargs)
    if method != "__call__":
        raise unsupported(f"'np.{ufunc.__name__}.{method}'")
    handler = TABLE.get(ufunc)
    if handler is None:
        raise _unknown(ufunc.__name__)
    return handler(*inputs, **kwargs)


def call_function(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What `__array_function__` asks for."""
    handler = TABLE.get(function)
    if handler is None:
        raise _unknown(getattr(function, "__name__", repr(function)))
    return handler(*args, **kwargs)


def _unknown(name: str) -> BaseException:
    instead = _INSTEAD.get(name)
    return errors.unsupported(
        f"'np.{name}' is not supported.", f"Write {instead} instead." if instead else ""
    )


def _register_ufuncs() -> None:
    for name, info in operands.OPS.items():
        for numpy_name in info.numpy:
            function = getattr(np, numpy_name, None)
            if function is None:
                continue
            if isinstance(function, np.ufunc):
                _UFUNCS[function] = name
                reduce = functools.partial(reductions.ufunc_reduce, name)
                TABLE[function.reduce] = _guarded(function.reduce, reduce)
            TABLE[function] = _guarded(function, ufuncs.handler_of(name, info.arity, numpy_name))
    for several, first, second in (
        (np.divmod, "floor_divide", "remainder"),
        (np.modf, "modf_fraction", "modf_integer"),
        (np.frexp, "frexp_mantissa", "frexp_exponent"),
    ):
        TABLE[several] = _guarded(several, ufuncs.handler_of_two(several, first, second))


def _astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    creation.check_device(device)
    return x.astype(dtype, copy=copy)


def _real(a: Any) -> Any:
    return operands.as_array(a)


def _imag(a: Any) -> Any:
    return operands.as_array(a).imag


def _numpy_type(kind: type) -> Handler:
    """np.float32(x) and its like: a strong number, or the array converted."""

    def handler(value: Any = 0) -> Any:
        value = operands.as_array(value)
        return elementwise.cast(value, np.dtype(kind))

    return handler


def _refused(name: str) -> Handler:
    def handler(*args: Any, **kwargs: Any) -> Any:
        raise _unknown(name)

    return handler


def _errstate(**kwargs: Any) -> Any:
    """np.errstate changes nothing: floating-point warnings are never raised."""
    for key, mode in kwargs.items():
        if mode in ("raise", "call"):
            raise elementwise.refused_error_state(f"{key}='{mode}'")
    return np.errstate(**kwargs)


def _refused_setting(name: str, instead: str) -> Handler:
    def handler(*args: Any, **kwargs: Any) -> Any:
        raise errors.unsupported(
            f"'np.{name}' is not supported in a program, which runs it at capture alone.", instead
        )

    return handler


_REDUCTIONS: dict[str, Handler] = {
    **reductions.FUNCTIONS,
    **moments.FUNCTIONS,
    "amax": reductions.FUNCTIONS["max"],
    "amin": reductions.FUNCTIONS["min"],
    "count_nonzero": reductions.count_nonzero,
    "average": moments.average,
}

_ALWAYS: dict[str, Handler] = {
    "zeros": creation.zeros, "ones": creation.ones, "full": creation.full, "empty": creation.empty,
    "zeros_like": creation.zeros_like, "ones_like": creation.ones_like, "full_like": creation.full_like,
    "empty_like": creation.empty_like, "arange": equidistant.arange, "linspace": equidistant.linspace, "eye": creation.eye,
    "identity": creation.identity, "array": constants.array, "asarray": constants.asarray, "copy": creation.copy,
    "ascontiguousarray": constants.ascontiguousarray, "asanyarray": constants.asarray, "tri": creation.tri,
}  # fmt: skip

_FUNCTIONS: dict[str, Handler] = {
    "astype": _astype, "real": _real, "imag": _imag, "isrealobj": lambda x: True, "iscomplexobj": lambda x: False,
    "real_if_close": lambda a, tol=100: operands.as_array(a),
    "shape": shaping.shape_of, "ndim": shaping.ndim, "size": shaping.size, "transpose": shaping.transpose,
    "permute_dims": shaping.transpose, "swapaxes": shaping.swapaxes, "moveaxis": shaping.moveaxis,
    "flip": shaping.flip, "fliplr": shaping.fliplr, "flipud": shaping.flipud, "rot90": shaping.rot90,
    "expand_dims": shaping.expand_dims, "squeeze": shaping.squeeze, "broadcast_to": shaping.broadcast_to,
    "broadcast_arrays": shaping.broadcast_arrays, "diagonal": shaping.diagonal, "trace": shaping.trace_,
    "matrix_transpose": shaping.matrix_transpose, "rollaxis": shaping.rollaxis,
    "broadcast_shapes": shaping.broadcast_shapes,
    "reshape": reshaping.reshape, "ravel": reshaping.ravel, "atleast_1d": reshaping.atleast_1d,
    "atleast_2d": reshaping.atleast_2d, "atleast_3d": reshaping.atleast_3d,
    "unstack": splits.unstack, "split": splits.split, "array_split": splits.array_split,
    "hsplit": splits.split_along("hsplit", 1, 1), "vsplit": splits.split_along("vsplit", 2, 0),
    "dsplit": splits.split_along("dsplit", 3, 2),
    "clip": rounding.clip, "round": rounding.round_decimals, "around": rounding.round_decimals,
    "nan_to_num": rounding.nan_to_num,
    "tril": creation.tril, "triu": creation.triu, "diag": creation.diag,
    "where": composed.where, "copyto": composed.copyto, "meshgrid": composed.meshgrid, "isclose": composed.isclose,
    "allclose": composed.allclose, "array_equal": composed.array_equal, "array_equiv": composed.array_equiv,
    "sinc": composed.sinc, "angle": composed.angle, "isneginf": composed.infinite(True),
    "isposinf": composed.infinite(False), "isreal": composed.constant_answer(True),
    "iscomplex": composed.constant_answer(False), "diff": composed.diff, "select": composed.choose_first,
    "result_type": composed.result_type, "can_cast": composed.can_cast, "isscalar": composed.isscalar,
    "iterable": composed.iterable,
}  # fmt: skip

_SUBSCRIPTED: dict[str, Handler] = {"mgrid": grids.mgrid, "ogrid": grids.ogrid}


def _register() -> None:
    _register_ufuncs()
    for names in (_REDUCTIONS, _FUNCTIONS):
        for name, handler in names.items():
            function = getattr(np, name, None)
            if function is not None:
                TABLE[function] = _guarded(function, handler)
    for name, handler in _ALWAYS.items():
        TABLE[getattr(np, name)] = _made_anew(handler)
    for kind in (np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float32, np.float64, np.longlong, np.ulonglong):  # fmt: skip
        TABLE[kind] = _guarded(kind, _numpy_type(kind))
    for function, handler in {
        **scalars.BUILTINS,
        **mathematics.math_table(),
        operator.index: scalars.int_index,
    }.items():
        TABLE[function] = _guarded(function, handler)
    for name in ("nditer", "ndenumerate", "r_", "c_"):
        _refuse(getattr(np, name), name)
    TABLE.update({getattr(np, name): handler for name, handler in _SUBSCRIPTED.items()})
    TABLE[np.errstate] = _errstate
    for function in (np.seterr, np.seterrcall, np.setbufsize, np.set_printoptions):
        instead = "Use 'with np.errstate(...)'." if function is np.seterr else "Call it outside."
        TABLE[function] = _refused_setting(function.__name__, instead)
    TRACED.update(TABLE)
    TABLE[builtins.id] = _guarded(builtins.id, _refused_builtin("id"))
    for name in sorted(set(np.__all__) - set(np.__numpy_submodules__)):
        function = getattr(np, name)
        if callable(function) and not isinstance(function, type) and not name.startswith("_"):
            own = getattr(function, "__name__", "")  # np.concat is np.concatenate
            _refuse(function, own if getattr(np, own, None) is function else name)
    for module, prefix in ((np.linalg, "linalg"), (np.fft, "fft")):
        for name in module.__all__:
            function = getattr(module, name)
            if callable(function) and not isinstance(function, type):
                _refuse(function, f"{prefix}.{name}")
    for name in dir(math):
        function = getattr(math, name)
        if callable(function) and not name.startswith("_") and function not in TABLE:
            TABLE[function] = _guarded(function, _refused_builtin(f"math.{name}"))


def _refused_builtin(name: str) -> Handler:
    def handler(*args: Any, **kwargs: Any) -> Any:
        raise unsupported(f"'{name}' of a traced value")

    return handler


def _refuse(function: Any, name: str) -> None:
    try:
        known = function in TABLE
    except TypeError:
        return
    if not known:
        TABLE[function] = _guarded(function, _refused(name))


_register()

__all__ = ["TABLE", "Array", "Cond", "Int", "Scalar", "call_function", "call_ufunc", "lookup"]

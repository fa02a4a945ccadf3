"""The arguments of a capture: bound as Python binds them, classified, declared to the builder, with their stand-ins."""

from __future__ import annotations

import array
import inspect
import math
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from ferrule import _compiler as ir
from ferrule import errors as public
from ferrule.values import qualified

from . import constants
from .operands import MAX_RANK, check_dtype
from .trace import Trace
from .tracers import Array, Int, Scalar, Storage

_LITERALS = (bool, int, float, str, bytes, type(None))
LAYOUTS = {"C": ir.Layout.C, "F": ir.Layout.F, "inner": ir.Layout.Inner, "any": ir.Layout.Any}


@dataclass(frozen=True)
class ArgumentInfo:
    """One argument of a specialisation.

    kind: 'array', 'scalar' or 'static'. index: its place in the program. layout: 'C', 'F', 'inner' or 'any'.
    path: where a hidden argument is found, as (dict or cell, name); None for arguments that the caller gives.
    """

    name: str
    kind: str
    index: int
    dtype: np.dtype[Any] | None = None
    rank: int = 0
    layout: str = ""
    inner_axis: int = 0
    weak: bool = False
    static: Any = None
    keyword_only: bool = False
    hidden: np.ndarray[Any, Any] | None = None
    path: tuple[Any, str] | None = None


def bind(fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> inspect.BoundArguments:
    """The arguments by parameter, defaults filled in; TypeError as Python's where they do not fit."""
    signature = inspect.signature(fn)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        raise public.UserTypeError(f"{_refusal(fn, signature, args, kwargs)}.") from None
    bound.apply_defaults()
    return bound


def _refusal(
    fn: Callable[..., Any], signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> str:
    """What Python says of a call that does not fit: the words of a function with the same parameters and no body."""
    parameters = [
        p.replace(annotation=p.empty, default=p.empty if p.default is p.empty else None)
        for p in signature.parameters.values()
    ]
    space: dict[str, Any] = {}
    exec(
        f"def stub{signature.replace(parameters=parameters, return_annotation=signature.empty)}: pass", space
    )
    stub = space.pop("stub")  # a function in its own globals would be garbage that only a collection finds
    stub.__qualname__ = fn.__qualname__
    try:
        stub(*args, **kwargs)
    except TypeError as error:
        return str(error)
    raise public.InternalError(f"{fn.__name__}() was refused a call that fits its signature.")


def layout_of(array: np.ndarray[Any, Any]) -> tuple[str, int]:
    """The most specific layout class of an array, and the axis of unit stride of class 'inner'."""
    if array.flags.c_contiguous:
        return "C", 0
    if array.flags.f_contiguous:
        return "F", 0
    unit = [k for k in range(array.ndim) if array.strides[k] == array.itemsize and array.shape[k] > 1]
    return ("inner", unit[-1]) if unit else ("any", 0)


class Arguments:
    """Declares arguments in order and remembers them."""

    def __init__(self, trace: Trace) -> None:
        self.trace: Trace = weakref.proxy(trace)  # which holds this: a cycle would keep the arguments alive
        self.infos: list[ArgumentInfo] = []
        self.tracers: list[Any] = []

    def add(self, name: str, value: Any, static: bool, keyword_only: bool, default: Any) -> Any:
        """Declares one argument; returns its stand-in."""
        index = len(self.infos)
        stand_in, info = self._declare(name, value, static, keyword_only, index)
        self.infos.append(info)
        self.tracers.append(stand_in)
        text = None if type(default) is tuple else literal_text(default)
        self.trace.builder.set_argument(index, keyword_only=keyword_only, default_text=text)
        return stand_in

    def add_default(self, name: str, value: Any, keyword_only: bool) -> Any:
        """Declares a container that no caller gives: fixed, and compared with what it holds now."""
        index = len(self.infos)
        self.trace.builder.static_argument(name, static_text(value))
        self.trace.outside.meet(value, name)
        self.infos.append(ArgumentInfo(name, "static", index, static=value, keyword_only=keyword_only))
        self.tracers.append(value)
        self.trace.builder.set_argument(index, keyword_only=keyword_only, default_text=None)
        return value

    def _declare(
        self, name: str, value: Any, static: bool, keyword_only: bool, index: int
    ) -> tuple[Any, ArgumentInfo]:
        builder = self.trace.builder
        if isinstance(value, np.ndarray) and not static:
            return self._array(name, value, keyword_only, index, None)
        if not static and isinstance(value, np.generic):
            check_dtype(value.dtype, f"the argument '{name}' of dtype")
            scalar = Scalar(builder.scalar_argument(name, value.dtype.name, False))
            if isinstance(value, np.integer):
                self.trace.number_arguments[scalar.id] = index, name, int(value)
            return scalar, ArgumentInfo(name, "scalar", index, value.dtype, keyword_only=keyword_only)
        # A subclass, such as IntEnum, is a value of its own: what it computes is not known.
        if not static and type(value) is int:
            if not -(2**63) <= value < 2**63:
                bits = value.bit_length()  # Python refuses to write out the longest
                given = f" = {value}" if bits <= 256 else f", an int of {bits} bits,"
                raise public.UserOverflowError(f"The argument '{name}'{given} does not fit into 64 bits.")
            builder.scalar_argument(name, "int64", True)
            symbol = builder.argument_symbol(index)
            self.trace.sample[symbol] = int(value)
            info = ArgumentInfo(
                name, "scalar", index, np.dtype(np.int64), weak=True, keyword_only=keyword_only
            )
            return Int(ir.Expr.symbol(symbol)), info
        if not static and type(value) is float:
            scalar = Scalar(builder.scalar_argument(name, "float64", True))
            info = ArgumentInfo(
                name, "scalar", index, np.dtype(np.float64), weak=True, keyword_only=keyword_only
            )
            return scalar, info
        refuse(name, value)
        builder.static_argument(name, static_text(value))
        self.trace.outside.meet(value, name)
        return value, ArgumentInfo(name, "static", index, static=value, keyword_only=keyword_only)

    def _array(
        self,
        name: str,
        value: np.ndarray[Any, Any],
        keyword_only: bool,
        index: int,
        path: tuple[Any, str] | None,
    ) -> tuple[Any, ArgumentInfo]:
        constants.check_array(
            value, f"the argument '{name}'" if path is None else f"the global array '{name}'"
        )
        if value.ndim > MAX_RANK:
            raise public.Unsupported(
                f"The argument '{name}' has {value.ndim} axes; at most {MAX_RANK} are supported. Reshape it."
            )
        past = value.__array_interface__["data"][0] % value.dtype.alignment
        if past and value.size:  # no specialisation would take it
            raise public.UserValueError(
                f"The {'argument' if path is None else 'global array'} '{name}' is not aligned: it begins {past} bytes past a multiple of its alignment"
                f" ({value.dtype.alignment} bytes). Pass a copy where it is only read."
            )
        trace = self.trace
        hidden = path is not None
        layout, inner = layout_of(value)
        extents = []
        for axis, extent in enumerate(value.shape):
            symbol = trace.symbol(f"{name}.shape[{axis}]", ir.SymbolKind.Extent, True)
            trace.sample[symbol] = extent
            extents.append(ir.Expr.symbol(symbol))
        strides = self._strides(name, value, layout, inner)
        view = trace.builder.array_argument(
            name, value.dtype.name, extents, strides, LAYOUTS[layout], inner, hidden
        )
        storage = Storage(view, False, 0, name)
        storage.argument = index
        storage.local = False
        storage.hidden = hidden
        if not value.flags.writeable:
            storage.frozen = f"assignment destination is read-only: the argument '{name}'."
        if hidden:
            storage.frozen = (
                f"The global array '{name}' cannot be written by a program. Pass it as an argument."
            )
        info = ArgumentInfo(
            name, "array", index, value.dtype, value.ndim, layout, inner, keyword_only=keyword_only,
            hidden=value if hidden else None, path=path,
        )  # fmt: skip
        return Array(storage, extents, value.dtype), info

    def _strides(self, name: str, value: np.ndarray[Any, Any], layout: str, inner: int) -> list[ir.Expr]:
        if layout in ("C", "F"):
            return []
        strides = []
        for axis, stride in enumerate(value.strides):
            if layout == "inner" and axis == inner:
                strides.append(ir.Expr(1))
                continue
            if stride % value.itemsize and value.shape[axis] > 1:
                raise public.UserValueError(
                    f"The argument '{name}' has the stride {stride} along axis {axis}, which is no multiple of its item size"
                    f" {value.itemsize}. Pass a copy where it is only read."
                )
            symbol = self.trace.symbol(f"{name}.strides[{axis}]", ir.SymbolKind.Stride, False)
            self.trace.sample[symbol] = stride // value.itemsize
            strides.append(ir.Expr.symbol(symbol))
        return strides

    def add_hidden(self, name: str, value: np.ndarray[Any, Any], path: tuple[Any, str]) -> Any:
        """Declares a global array as an argument that the caller does not give."""
        index = len(self.infos)
        stand_in, info = self._array(self._free_name(name), value, False, index, path)
        self.infos.append(info)
        self.tracers.append(stand_in)
        return stand_in

    def _free_name(self, name: str) -> str:
        taken = {info.name for info in self.infos}
        base = "".join(c if c.isalnum() or c == "_" else "_" for c in name) or "constant"
        candidate, number = base, 1
        while candidate in taken:
            candidate, number = f"{base}_{number}", number + 1
        return candidate


def refuse(name: str, value: Any) -> None:
    """Errors for values that are neither arrays nor numbers nor fixed."""
    if isinstance(value, (list, tuple, dict, set)) and _holds_array(value):
        raise public.Unsupported(
            f"The argument '{name}' is a {type(value).__name__} of arrays, which is not supported. Pass the arrays one by one."
        )
    if isinstance(value, Iterator):
        raise public.UserTypeError(
            f"The argument '{name}' is {_a(value)}, which can be read once only. Pass an array made of it, such as"
            f" np.fromiter({name}, float)."
        )
    if isinstance(value, (list, set, dict, bytearray, memoryview, array.array)):
        raise public.UserTypeError(
            f"The argument '{name}' is {_a(value)}, expected an array or a number. Use np.asarray({name})."
        )
    if isinstance(value, complex):
        raise public.Unsupported(f"The argument '{name}' is a complex number, which is not supported.")
    if isinstance(value, type):
        return
    if hasattr(value, "__dlpack__") or hasattr(value, "__array_interface__"):
        raise public.UserTypeError(
            f"The argument '{name}' is {_a(value)}, expected a NumPy array. Use np.asarray({name})."
        )
    if hasattr(value, "__dataclass_fields__") and _holds_array(vars(value)):
        raise public.Unsupported(
            f"The argument '{name}' is a dataclass of arrays, which is not supported. Pass the arrays one by one."
        )
    try:
        hash(value)
    except TypeError:
        raise public.UserTypeError(
            f"The argument '{name}' is {_a(value)}, expected an array, a number or a hashable value. Pass the arrays and"
            " numbers that it holds."
        ) from None


def _a(value: Any) -> str:
    name = type(value).__name__
    return f"an {name}" if name[0] in "aeiouAEIOU" else f"a {name}"


def _holds_array(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_holds_array(item) for item in value.values())
    if isinstance(value, (list, tuple, set)):
        return any(_holds_array(item) for item in value)
    return isinstance(value, np.ndarray)


def static_text(value: Any) -> str:
    """A text that tells static values apart and is equal in every process.

    A Python literal where there is one, else a description in angle brackets, without addresses: what the program reads of
    an object is part of the program or guarded.
    """
    literal = literal_text(value)
    return f"<{_description(value)}>" if literal is None else literal


def literal_text(value: Any) -> str | None:
    """The Python literal of a value, as a module keeps it; None where there is none, as for NaN and NumPy's numbers."""
    if type(value) is float and not math.isfinite(value):
        return None if math.isnan(value) else repr(value).replace("inf", "1e999")
    if type(value) in _LITERALS:
        return repr(value)
    if type(value) is not tuple:
        return None
    items = [literal_text(item) for item in value]
    if None in items:
        return None
    return "(" + "".join(f"{item}, " for item in items) + ")"


def _description(value: Any) -> str:
    if type(value) is tuple:
        return ", ".join(static_text(item) for item in value)
    if isinstance(value, np.dtype):
        return f"dtype {value.str}"
    if isinstance(value, (int, float, str)):  # an enumeration, a bool of NumPy's, a subclass
        return f"{qualified(type(value))} {value!r}"
    if isinstance(value, (type, FunctionType, BuiltinFunctionType)):
        return qualified(value)
    return qualified(type(value))

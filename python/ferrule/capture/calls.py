"""Calls of functions that the table does not know: the user's are rewritten, classes are made by rewritten __init__."""

from __future__ import annotations

import dataclasses
import enum
import functools
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from . import errors, outside, rewrite
from .base import holds_traced
from .trace import Trace

# Builtins that call a function given to them; it is rewritten first.
_CALLERS = (map, filter, sorted, functools.reduce, min, max)


def convert(fn: FunctionType) -> FunctionType | None:
    """The rewritten form of a function, noted as part of the current capture; None for generators."""
    trace = Trace.active()
    if trace is not None and not errors.is_generated(fn.__code__):
        trace.outside.meet_names(fn)
    from .dispatch import Dispatcher

    return rewrite.convert(fn, Dispatcher)


def invoke(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls a function that the table does not know: rewritten if it is the user's."""
    kind = type(fn)
    if fn is dataclasses.replace:
        made = fn(*args, **kwargs)
        _mark_made(made)
        return made
    if kind is FunctionType:
        return _target(fn, args, kwargs)(*args, **kwargs)
    if kind is MethodType and type(fn.__func__) is FunctionType:
        return _target(fn.__func__, args, kwargs)(fn.__self__, *args, **kwargs)
    if kind is MethodType and _wrapped(fn.__func__) is not None:
        return invoke(_wrapped(fn.__func__), (fn.__self__, *args), kwargs)
    if kind is functools.partial:
        from .dispatch import nowhere

        return nowhere().call(fn.func, *fn.args, *args, **{**fn.keywords, **kwargs})
    if kind is BuiltinFunctionType or isinstance(fn, type):
        return construct(fn, args, kwargs)
    if _wrapped(fn) is not None:
        return invoke(_wrapped(fn), args, kwargs)
    method = getattr(kind, "__call__", None)  # noqa: B004
    if type(method) is FunctionType and _is_users(method):
        return _target(method, (fn, *args), kwargs)(fn, *args, **kwargs)
    return fn(*args, **kwargs)


def _wrapped(fn: Any) -> Any:
    """The plain function of a program; None for anything else."""
    return getattr(fn, "__wrapped__", None) if type(fn).__module__.partition(".")[0] == "ferrule" else None


def construct(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A builtin or a class; functions given to those that call them, and __init__ of users' classes, are rewritten."""
    if fn in _CALLERS:
        args = tuple(_rewritten(argument) for argument in args)
        kwargs = {name: _rewritten(argument) for name, argument in kwargs.items()}
    initialise = _initialiser(fn)
    if initialise is not None:
        made = object.__new__(fn)
        _mark_made(made)
        _target(initialise, (made, *args), kwargs)(made, *args, **kwargs)
        return made
    result = fn(*args, **kwargs)
    if type(result) is fn and not isinstance(result, enum.Enum):
        _mark_made(result)
    return result


def _mark_made(value: Any) -> None:
    trace = Trace.active()
    if trace is not None:
        trace.outside.made[id(value)] = value


def _initialiser(fn: Any) -> FunctionType | None:
    """The __init__ that a call of an ordinary class of the user runs."""
    if type(fn) is not type or getattr(fn, "__new__", None) is not object.__new__:
        return None
    initialise: Any = getattr(fn, "__init__", None)
    return (
        initialise
        if type(initialise) is FunctionType and _is_users(initialise) and _has_source(initialise)
        else None
    )


def _rewritten(value: Any) -> Any:
    if type(value) is FunctionType and _is_users(value):
        return convert(value) or value
    return value


def _target(fn: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> FunctionType:
    """The function to run for a Python function: its rewritten form if it is the user's and has source."""
    if errors.is_generated(fn.__code__) or not _is_users(fn):
        return fn
    if not _has_source(fn) and not any(holds_traced(value) for value in (*args, *kwargs.values())):
        return fn
    return convert(fn) or fn


def _is_users(fn: FunctionType) -> bool:
    return (fn.__module__ or "").partition(".")[0] not in outside.OWN_MODULES


def _has_source(fn: FunctionType) -> bool:
    from .source import has_source

    return has_source(fn)


def refuse_changing(fn: Any) -> None:
    """Refuses a call whose answer changes from call to call: the trace would keep the first one."""
    owner = getattr(fn, "__self__", None)
    module = getattr(fn, "__module__", None) or type(owner).__module__
    if module.partition(".")[0] in ("random", "time", "secrets", "datetime") or module.startswith(
        "numpy.random"
    ):
        name = getattr(fn, "__name__", type(fn).__name__)
        raise errors.unsupported(
            f"The call of '{module}.{name}', whose answer changes from call to call, is not supported.",
            "Make the value outside and pass it as an argument.",
        )

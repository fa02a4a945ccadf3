"""Calls of functions in C, and of our own for NumPy's, that do not take what they are given."""

from __future__ import annotations

import os
import re
from types import CodeType
from typing import Any

import numpy as np

from . import errors
from .base import is_traced, unsupported

_FOLDER = os.path.dirname(__file__)


def is_method_of_arrays(fn: Any, args: tuple[Any, ...]) -> bool:
    """Whether a call is np.ndarray.name(a, ...) of a traced array."""
    from .tracers import Array

    return getattr(fn, "__objclass__", None) is np.ndarray and bool(args) and isinstance(args[0], Array)


def refusal(fn: Any, error: TypeError, callers: frozenset[CodeType]) -> BaseException | None:
    """What to raise for a TypeError of the call itself, which ends in one of `callers`; None for any other."""
    if is_traced(fn):
        return None
    innermost = error.__traceback__
    while innermost is not None and innermost.tb_next is not None:
        innermost = innermost.tb_next
    if innermost is None:
        return None
    code = innermost.tb_frame.f_code
    stands_for_numpys = code.co_name == "guarded" and code.co_filename.startswith(_FOLDER)
    if not stands_for_numpys and code not in callers:
        return None
    text = str(error)
    if stands_for_numpys or (hasattr(fn, "__func__") and fn.__module__.partition(".")[0] == "ferrule"):
        return errors.user_error(TypeError, re.sub(r"^\S+\(\) ", "this call ", text) + ".")
    if (
        hasattr(fn, "__code__")
        or getattr(fn, "__module__", None) == "_operator"
        or not errors.names_stand_in(text)
    ):
        return None
    return unsupported(f"'{getattr(fn, '__qualname__', type(fn).__name__)}' of a traced value")

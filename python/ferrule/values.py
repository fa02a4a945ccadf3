"""Values that programs read, and code: their texts, equal in every process for equal values, their copies, their places."""

from __future__ import annotations

import array
import collections
import copy
import enum
import inspect
import types
from typing import Any

import numpy as np

from ferrule import _rt

_NUMBERS = (bool, int, float, complex, str, bytes, type(None))
MISSING: Any = object()  # the value of a name that a dict lacks


class Unrecordable(Exception):
    """A value that no text can tell apart from others in another process."""


def qualified(named: Any) -> str:
    """Module and name of a class or function; a script has one name, also in the processes that it spawns."""
    module = "__main__" if named.__module__ == "__mp_main__" else named.__module__
    return f"{module}.{named.__qualname__}"


def code_text(code: types.CodeType) -> str:
    """What a function does, blind to file names and lines; nested functions included."""
    parts = [
        code.co_code.hex(),
        repr(code.co_names),
        repr(code.co_varnames),
        repr(code.co_freevars),
        repr(code.co_flags & ~inspect.CO_NESTED),
        repr((code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)),
        getattr(code, "co_exceptiontable", b"").hex(),
    ]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            parts.append(code_text(constant))
        elif isinstance(constant, frozenset):
            parts.append(repr(sorted(map(repr, constant))))
        else:
            parts.append(f"{type(constant).__name__}:{constant!r}")
    return "\n".join(parts)


def value_text(value: Any) -> str:
    """A text that is equal in every process exactly for equal values. Raises Unrecordable where there is none."""
    if value is MISSING:
        return "missing"
    if type(value) is int and value.bit_length() > 256:
        return f"int:{value:#x}"  # Python refuses to write out the longest in tens
    if type(value) in _NUMBERS:
        return f"{type(value).__name__}:{value!r}"
    if isinstance(value, np.generic):
        return f"{value.dtype.str}:{value.tobytes().hex()}"
    if type(value) is np.ndarray and not value.dtype.hasobject:
        kind = value_text(value.dtype), value.shape, value.strides
        return f"array:{kind}:{_rt.sha256_hex(value.tobytes())}"
    if isinstance(value, enum.Enum):
        return f"enum:{qualified(type(value))}.{value.name}={value_text(value.value)}"
    if isinstance(value, np.dtype):
        return f"dtype:{value.descr if value.names else value.str}"
    if type(value) in (tuple, list):
        return f"{type(value).__name__}({','.join(map(value_text, value))})"
    if type(value) is dict:
        return "dict(" + ",".join(f"{value_text(k)}={value_text(v)}" for k, v in value.items()) + ")"
    if isinstance(value, types.FunctionType):
        defaults = value_text(value.__defaults__ or ()) + value_text(value.__kwdefaults__ or {})
        return f"function:{qualified(value)}:{_rt.sha256_hex(code_text(value.__code__).encode())}:{defaults}"
    if isinstance(value, types.ModuleType):
        return f"module:{value.__name__}"
    if isinstance(value, types.BuiltinFunctionType) and isinstance(
        value.__self__, (types.ModuleType, type(None))
    ):
        return f"builtin:{qualified(value)}"
    if isinstance(value, np.ufunc) and vars(np).get(name := str(value.__name__)) is value:
        return f"ufunc:{name}"
    if isinstance(value, type(np.where)):
        return f"dispatcher:{qualified(value)}"
    if isinstance(value, type):
        from ferrule.class_text import class_text

        return f"type:{_rt.sha256_hex(class_text(value).encode())}"
    raise Unrecordable(qualified(type(value)))


def snapshot(value: Any) -> Any:
    """The value, or a copy of a container, whose content may change behind its name."""
    kind = type(value)
    if kind is dict:
        return {key: snapshot(item) for key, item in value.items()}
    if kind in (list, set, tuple):
        return kind(map(snapshot, value))
    if isinstance(value, dict) and kind.__module__ == "collections":
        made = copy.copy(value)
        made.update((key, snapshot(item)) for key, item in value.items())
        return made
    if kind is collections.deque:
        return collections.deque(map(snapshot, value), value.maxlen)
    return copy.copy(value) if kind in (bytearray, array.array) else value


def read_path(owner: Any, path: str) -> Any:
    """The value of a dotted name from its dict, cell or object. Raises LookupError, AttributeError or ValueError."""
    root, *rest = path.split(".")
    if isinstance(owner, types.CellType):
        value = owner.cell_contents
    else:
        value = owner[root] if type(owner) is dict else getattr(owner, root)
    for name in rest:
        value = getattr(value, name)
    return value

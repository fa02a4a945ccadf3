"""What a class does, as text: its constants and its methods, with what these name.

A program that makes an instance runs methods that Python calls by itself, some of them out of the sight of the trace that
notes what it reads. So their text is that of all which they could read.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import sys
import types
from collections.abc import Iterator
from typing import Any

from ferrule.values import Unrecordable, code_text, qualified, value_text

# What changes nothing that a method computes, or is there in another form.
_LEFT_OUT = frozenset((
    "__module__", "__dict__", "__weakref__", "__doc__", "__qualname__", "__annotations__", "__annotate__",
    "__annotate_func__", "__annotations_cache__", "__firstlineno__", "__static_attributes__", "__classdictcell__",
    "__dataclass_fields__", "__dataclass_params__", "__parameters__", "__orig_bases__",
))  # fmt: skip
_OWN_MODULES = frozenset(sys.stdlib_module_names) | {"numpy", "ferrule"}


def class_text(cls: type) -> str:
    """A text that is equal in every process exactly for classes that do the same. Raises Unrecordable where there is
    none."""
    return _Writer().of_class(cls)


class _Writer:
    def __init__(self) -> None:
        self._seen: set[int] = set()

    def of_class(self, cls: type) -> str:
        name = qualified(cls)
        if _is_own(cls.__module__) or id(cls) in self._seen:
            return f"type:{name}"
        self._seen.add(id(cls))
        if not _is_own(type(cls).__module__):
            raise Unrecordable(f"the metaclass of {name}")
        if issubclass(cls, enum.Enum):
            members = {key: value_text(each.value) for key, each in cls.__members__.items()}
            content = {
                key: value for key, value in vars(cls).items() if isinstance(value, types.FunctionType)
            }
        else:
            members = {}
            content = {key: value for key, value in vars(cls).items() if key not in _LEFT_OUT}
        lines = [f"{key}={text}" for key, text in members.items()]
        lines += [f"{key}={self.of(value)}" for key, value in content.items()]
        lines += [f"field {text}" for text in self._fields(cls)]
        lines += [self.of_class(base) for base in cls.__bases__]
        return f"type:{name}({';'.join(lines)})"

    def of(self, value: Any) -> str:
        if isinstance(value, type):
            return self.of_class(value)
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, (staticmethod, classmethod, types.MethodType)):
            return f"{type(value).__name__}:{self.of(value.__func__)}"
        if isinstance(value, property):
            return ",".join(map(self.of, (value.fget, value.fset, value.fdel)))
        if isinstance(value, functools.cached_property):
            return self.of(value.func)
        if isinstance(
            value, (types.MemberDescriptorType, types.GetSetDescriptorType, types.WrapperDescriptorType)
        ):
            return f"{type(value).__name__}:{value.__name__}"
        if isinstance(value, types.ModuleType) and not _is_own(value.__name__):
            raise Unrecordable(f"what a method reads of module {value.__name__}")
        return value_text(value)

    def _function(self, fn: types.FunctionType) -> str:
        if _is_own(fn.__module__) or id(fn) in self._seen:
            return f"function:{qualified(fn)}"
        self._seen.add(id(fn))
        parts = [qualified(fn), code_text(fn.__code__)]
        parts += [self.of(each) for each in fn.__defaults__ or ()]
        parts += [f"{name}={self.of(value)}" for name, value in sorted((fn.__kwdefaults__ or {}).items())]
        for name in sorted(set(_names(fn.__code__)) & fn.__globals__.keys()):
            parts.append(f"{name}={self.of(fn.__globals__[name])}")
        for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
            try:
                parts.append(f"{name}={self.of(cell.cell_contents)}")
            except ValueError:
                parts.append(f"{name} is empty")
        return "\n".join(parts)

    def _fields(self, cls: type) -> Iterator[str]:
        """Defaults of a dataclass, of which its generated methods know only the names."""
        for field in vars(cls).get("__dataclass_fields__", {}).values():
            made = [
                each for each in (field.default, field.default_factory) if each is not dataclasses.MISSING
            ]
            yield f"{field.name}={','.join(map(self.of, made))}"


def _is_own(module: str | None) -> bool:
    return (module or "").partition(".")[0] in _OWN_MODULES


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)

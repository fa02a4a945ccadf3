"""What a signature is made of: arguments, results, sizes, workspaces and the author's other functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ferrule.errors import UserTypeError, UserValueError
from ferrule.signature_fields import (
    default_literal,
    dtype_name,
    flag,
    integer,
    is_empty,
    list_of,
    name_list,
    plain_default,
    size_texts,
    type_fields,
)


class _Required:
    """The default of an argument that has none; one object, also in copies and pickles."""

    def __repr__(self) -> str:
        return "required"

    def __reduce__(self) -> str:
        return "_NO_DEFAULT"


_NO_DEFAULT: Any = _Required()


@dataclass(frozen=True)
class Arg:
    """An argument of a native function.

    name: as callers and messages write it. kind: 'array', 'scalar', 'struct' (by value, from NumPy's structured scalars),
    'string' (str as UTF-8, bytes), 'pyobject' (any object, opaque to the function), 'callback' (a callable that the
    function calls) or 'pointers' (several arrays of one dtype). dtype: element type; that of an array or a struct may be
    structured, that of an array 'object'. shape: extents, ints or texts over symbols ('N', '2*N + 1'). order: 'C', 'F', 'inner' (unit stride along `inner_axis`) or 'any'. intent: 'in',
    'out' or 'inout'; arrays that are not 'in' must be writable and disjoint from all others. optional: None is taken and
    arrives as NULL. default: used where the caller gives nothing. strides: of orders 'inner' and 'any', in elements, as
    symbols that the function is told or checks; free where they are left out. params: what a callback takes, `Arg`s of
    the kinds 'scalar', 'array' (a view of native memory, valid during the call of the callback alone; writable unless its
    intent is 'in') and 'pyobject'. returns: what a callback gives, the dtype of a scalar, 'pyobject' or None.
    """

    name: str
    kind: str = "array"
    dtype: Any = "float64"
    shape: Any = ()
    order: str = "C"
    intent: str = "in"
    optional: bool = False
    default: Any = _NO_DEFAULT
    strides: Any = ()
    inner_axis: int | None = None
    params: Sequence[Arg] = ()
    returns: Any = None

    def _callback_fields(self) -> dict[str, Any]:
        if self.kind != "callback":
            if not is_empty(self.params) or self.returns is not None:
                raise UserValueError(
                    f"The {self.kind} '{self.name}' has params or returns; give it the kind 'callback'."
                )
            return {}
        params = list_of(f"The params of the callback '{self.name}'", self.params, "fr.Arg")
        for item in params:
            if not isinstance(item, Arg):
                raise UserTypeError(
                    f"The callback '{self.name}' has the parameter {item!r}, but a fr.Arg is expected."
                )
        fields: dict[str, Any] = {"params": [item._fields() for item in params]}
        if self.returns is not None:
            of_object = isinstance(self.returns, str) and self.returns == "pyobject"
            fields["returns"] = "object" if of_object else dtype_name(self.name, self.returns)
        return fields

    def _fields(self) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "name": self.name,
            "kind": self.kind,
            **type_fields(self.name, self.kind, self.dtype),
            **self._callback_fields(),
        }
        if flag(f"'optional' of '{self.name}'", self.optional):
            fields["optional"] = True
        if self.default is not _NO_DEFAULT:
            default = plain_default(self.name, self.default)
            fields["default"] = default_literal(self.name, self.kind, fields.get("dtype"), default)
        if self.kind != "array":
            for name, value in (("shape", self.shape), ("strides", self.strides)):
                if not is_empty(value):
                    raise UserValueError(f"The {self.kind} '{self.name}' has a {name}; make it an array.")
            if self.kind == "pointers":
                fields["intent"] = self.intent
            elif self.intent != "in":
                raise UserValueError(
                    f"The {self.kind} '{self.name}' has the intent '{self.intent}'; make it a return, or an array of "
                    "one element."
                )
            return fields
        fields["shape"] = size_texts(self.name, self.shape)
        fields["order"] = self.order
        fields["intent"] = self.intent
        strides = size_texts(self.name, self.strides)
        if strides:
            fields["strides"] = strides
        if self.inner_axis is not None:
            fields["inner_axis"] = integer(f"'inner_axis' of '{self.name}'", self.inner_axis)
        return fields


@dataclass(frozen=True)
class Return:
    """A result: a fresh array in C order whose extents are known before the call, or one value.

    kind: 'array', 'scalar', 'struct' (a value of a structured dtype) or 'pyobject' (an object that the function was given,
    by itself or by a callback). Arrays may have structured dtypes and 'object'.
    """

    name: str
    dtype: Any = "float64"
    shape: Any = ()
    kind: str = "array"

    def _fields(self) -> dict[str, Any]:
        fields = {"name": self.name, "kind": self.kind, **type_fields(self.name, self.kind, self.dtype)}
        if self.kind == "array":
            return {**fields, "shape": size_texts(self.name, self.shape)}
        if not is_empty(self.shape):
            raise UserValueError(f"The scalar return '{self.name}' has a shape; make it an array.")
        return fields


@dataclass(frozen=True)
class Symbol:
    """A size by name: its integer type, which calls check, and whether it may be negative."""

    name: str
    dtype: Any = "int64"
    nonnegative: bool = True

    def _fields(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "dtype": dtype_name(self.name, self.dtype),
            "nonnegative": flag(f"'nonnegative' of '{self.name}'", self.nonnegative),
        }


@dataclass(frozen=True)
class Workspace:
    """Memory that callers give once by `Kernel.set_workspace`: its bytes over symbols ('8*N*M') and its alignment."""

    name: str
    bytes: Any
    alignment: int = 64

    def _fields(self) -> dict[str, Any]:
        sizes = size_texts(self.name, self.bytes)
        if len(sizes) != 1:
            raise UserValueError(f"The workspace '{self.name}' has {len(sizes)} sizes; give its bytes.")
        alignment = integer(f"'alignment' of '{self.name}'", self.alignment)
        return {"name": self.name, "bytes": sizes[0], "alignment": alignment}


@dataclass(frozen=True)
class AuthorFunction:
    """A C function of the author beside `run`: its name, what it takes in order, and what it gives."""

    name: str
    parameters: Sequence[str] = ()
    result: str = "none"

    def _fields(self) -> dict[str, Any]:
        parameters = name_list(f"'parameters' of '{self.name}'", self.parameters)
        return {"name": self.name, "parameters": parameters, "result": self.result}

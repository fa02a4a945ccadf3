"""Element types as annotations: `fr.float64["N", "2*M"]`, alone or inside `typing.Annotated`."""

from __future__ import annotations

import inspect
import operator
import typing
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from ferrule.errors import UserTypeError, UserValueError

ORDERS = ("C", "F", "inner", "any")


@dataclass(frozen=True)
class SizeExpression:
    """An extent over named symbols, as text; arithmetic with ints and others makes larger ones."""

    text: str

    def _join(self, sign: str, other: Any, reflected: bool = False) -> Any:
        if not isinstance(other, (SizeExpression, int)):
            return NotImplemented
        left, right = f"({self.text})", f"({other.text})" if isinstance(other, SizeExpression) else str(other)
        if reflected:
            left, right = right, left
        return SizeExpression(f"{left} {sign} {right}")

    def __add__(self, other: Any) -> Any:
        return self._join("+", other)

    def __radd__(self, other: Any) -> Any:
        return self._join("+", other, True)

    def __sub__(self, other: Any) -> Any:
        return self._join("-", other)

    def __rsub__(self, other: Any) -> Any:
        return self._join("-", other, True)

    def __mul__(self, other: Any) -> Any:
        return self._join("*", other)

    def __rmul__(self, other: Any) -> Any:
        return self._join("*", other, True)

    def __floordiv__(self, other: Any) -> Any:
        return self._join("//", other)

    def __str__(self) -> str:
        return self.text


def symbol(name: str) -> SizeExpression:
    """A named size for annotations.

    >>> n = symbol("N")
    >>> str(2 * n + 1)
    '(2 * (N)) + 1'
    """
    if not isinstance(name, str):
        raise UserTypeError(f"The name of a size is a text, got {name!r}.")
    if not name.isidentifier():
        raise UserValueError(f"'{name}' is no name of a size; use letters, digits and underscores.")
    return SizeExpression(name)


@dataclass(frozen=True)
class ArrayType:
    """An annotated array: element type, extents as text, and layout class."""

    dtype: np.dtype[Any]
    extents: tuple[str, ...]
    order: str | None = None  # None: as the program's option says, else "C"

    def __str__(self) -> str:
        extents = ", ".join(f'"{extent}"' for extent in self.extents)
        return f"{self.dtype.name}[{extents}]"


@dataclass(frozen=True)
class ElementType:
    """An element type. Subscripted with extents it is the type of an array, alone that of a number.

    >>> str(float64["N", "2*M"])
    'float64["N", "2*M"]'
    """

    dtype: np.dtype[Any]
    order: str | None = None

    def __getitem__(self, extents: Any) -> ArrayType:
        items = extents if isinstance(extents, tuple) else (extents,)
        return ArrayType(self.dtype, tuple(_extent(item) for item in items), self.order)

    def __call__(self, *extents: Any, order: str | None = None) -> Any:
        """The type with another layout class: `fr.float64(order="F")["N"]`; with extents, that of an array."""
        if order is not None and order not in ORDERS:
            raise UserValueError(f"The order must be one of {', '.join(map(repr, ORDERS))}, got '{order}'.")
        element = ElementType(self.dtype, order)
        return element[extents] if extents else element

    @property
    def name(self) -> str:
        """NumPy's name."""
        return self.dtype.name

    def __str__(self) -> str:
        return self.dtype.name


def _extent(item: Any) -> str:
    if isinstance(item, (str, SizeExpression)):
        return str(item)
    try:
        if isinstance(item, bool):
            raise TypeError
        return str(operator.index(item))
    except TypeError:
        raise UserTypeError(
            f'An extent is an int or the text of a size such as "2*N", got {item!r}.'
        ) from None


def signature_of(fn: Callable[..., Any]) -> inspect.Signature:
    """The signature with annotations of parameters evaluated; UserTypeError where one cannot be."""
    signature, failed = _evaluated(fn)
    for name, error in failed.items():
        raise _unevaluable(fn, name, error) from error
    return signature


def is_annotated(fn: Callable[..., Any]) -> bool:
    """Whether some parameter has an annotation of Ferrule's, which fixes the type of an array or a number.

    Annotations that cannot be evaluated count where they speak of Ferrule, and are an error then; others, such as names
    that only a type checker imports, are none of ours.
    """
    signature, failed = _evaluated(fn)
    for name, error in failed.items():
        if _speaks_of_ferrule(str(signature.parameters[name].annotation), _namespace(fn)):
            raise _unevaluable(fn, name, error) from error
    return any(
        isinstance(resolve(parameter.annotation), (ArrayType, ElementType))
        for parameter in signature.parameters.values()
    )


def _evaluated(fn: Callable[..., Any]) -> tuple[inspect.Signature, dict[str, Exception]]:
    """The signature, and why the annotations that are still text in it could not be evaluated, by parameter."""
    signature = inspect.signature(fn)
    parameters, failed = [], {}
    for name, parameter in signature.parameters.items():
        if isinstance(parameter.annotation, str):
            try:
                parameter = parameter.replace(annotation=eval(parameter.annotation, _namespace(fn)))
            except Exception as error:
                failed[name] = error
        parameters.append(parameter)
    return signature.replace(parameters=parameters), failed


def _namespace(fn: Callable[..., Any]) -> dict[str, Any]:
    plain = inspect.unwrap(fn)
    known = {each.__name__: each for each in getattr(plain, "__type_params__", ())}
    return {**getattr(plain, "__globals__", {}), **known}


def _speaks_of_ferrule(text: str, names: dict[str, Any]) -> bool:
    import ast

    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError:
        return False
    used = [names.get(node.id) for node in ast.walk(tree) if isinstance(node, ast.Name)]
    return any(
        isinstance(value, (ArrayType, ElementType))
        or (isinstance(value, ModuleType) and value.__name__.partition(".")[0] == "ferrule")
        for value in used
    )


def _unevaluable(fn: Callable[..., Any], name: str, error: Exception) -> UserTypeError:
    return UserTypeError(f"The annotation of '{name}' in {fn.__name__}() cannot be evaluated: {error}.")


def resolve(annotation: Any) -> Any:
    """The part of an annotation that Ferrule reads: its own inside Annotated, else the annotation itself."""
    if typing.get_origin(annotation) is typing.Annotated:
        for item in annotation.__metadata__:
            if isinstance(item, (ArrayType, ElementType)):
                return item
        return resolve(typing.get_args(annotation)[0])
    return annotation


def annotations_text(fn: Callable[..., Any]) -> str:
    """What the annotations mean, as text that is the same in every process; '' where they fix no array's type."""
    if not is_annotated(fn):
        return ""
    kinds = {name: resolve(parameter.annotation) for name, parameter in signature_of(fn).parameters.items()}
    return repr(
        {name: kind.__qualname__ if isinstance(kind, type) else repr(kind) for name, kind in kinds.items()}
    )


bool_ = ElementType(np.dtype(np.bool_))
int8, int16, int32, int64 = (ElementType(np.dtype(f"int{bits}")) for bits in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (ElementType(np.dtype(f"uint{bits}")) for bits in (8, 16, 32, 64))
float16, float32, float64 = (ElementType(np.dtype(f"float{bits}")) for bits in (16, 32, 64))
complex64, complex128 = (ElementType(np.dtype(f"complex{bits}")) for bits in (64, 128))

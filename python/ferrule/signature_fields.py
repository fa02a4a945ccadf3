"""Python values as the fields of a signature's JSON: lists, flags, sizes, element types, structs, defaults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ferrule.dtypes import SizeExpression
from ferrule.errors import UserTypeError, UserValueError


def list_of(what: str, value: Any, of: str) -> list[Any]:
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise UserTypeError(f"{what} is {value!r}, but a list of {of} is expected.")
    return list(value)


def name_list(what: str, value: Any) -> list[str]:
    items = list_of(what, value, "names")
    for item in items:
        if not isinstance(item, str):
            raise UserTypeError(f"{what} holds {item!r}; it is a flat list of names.")
    return items


def flag(what: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise UserTypeError(f"{what} is {value!r}; it is True or False.")
    return bool(value)


def integer(what: str, value: Any) -> int:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise UserTypeError(f"{what} is {value!r}, but an int is expected.")
    return int(value)


_ML_DTYPES = ("bfloat16", "float8_e4m3fn", "float8_e5m2")
_KINDS = ("array", "scalar", "struct", "string", "pyobject", "callback", "pointers")


def _made_dtype(owner: str, dtype: Any) -> Any:
    """A NumPy dtype in native byte order, or the name of one that only ml_dtypes has."""
    if isinstance(dtype, str) and dtype in _ML_DTYPES:
        return dtype
    plain = dtype if isinstance(dtype, type) else getattr(dtype, "dtype", dtype)
    try:
        made = np.dtype(plain)
    except TypeError:
        raise UserTypeError(
            f"'{owner}' has the dtype {dtype!r}, which is no element type; give 'float64' or np.float64."
        ) from None
    if not made.isnative and made.names is None:
        raise UserTypeError(
            f"'{owner}' has the dtype {made} of foreign byte order; declare it in native order."
        )
    return made


def dtype_name(owner: str, dtype: Any) -> str:
    """NumPy's name of an element type, given as text, NumPy dtype or type, or a dtype object of this package."""
    made = _made_dtype(owner, dtype)
    if isinstance(made, str):
        return made
    if made.names is not None:
        return "record"
    name: str = made.name
    largest = {"f": 8, "c": 16}.get(made.kind, 8)
    if name not in _ML_DTYPES and (made.kind not in "biufcO" or made.itemsize > largest):
        raise UserTypeError(
            f"'{owner}' has the dtype {made}, which is no element type; give 'float64' or np.float64."
        )
    return name


def _fields_of(owner: str, prefix: str, dtype: np.dtype[Any], offset: int) -> list[dict[str, Any]]:
    """The numbers of a structured dtype by name and place, nested structs flattened."""
    if dtype.names is not None:
        fields = []
        for name in dtype.names:
            of_field = dtype.fields[name]  # type: ignore[index]
            fields += _fields_of(
                owner, f"{prefix}.{name}" if prefix else name, of_field[0], offset + of_field[1]
            )
        return fields
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        count = int(np.prod(shape))
        if base.names is None:
            (field,) = _fields_of(owner, prefix, base, offset)
            return [{**field, "count": count * field["count"]}]
        return [
            field
            for i in range(count)
            for field in _fields_of(owner, f"{prefix}[{i}]", base, offset + i * base.itemsize)
        ]
    if dtype.kind == "S":  # char[n]
        return [{"name": prefix, "offset": offset, "dtype": "uint8", "count": dtype.itemsize}]
    if dtype.hasobject or dtype.kind not in "biufcV" or (dtype.kind == "V" and dtype.name not in _ML_DTYPES):
        raise UserTypeError(
            f"'{owner}': the field '{prefix}' has the dtype {dtype}; structs hold numbers and bytes."
        )
    return [{"name": prefix, "offset": offset, "dtype": dtype_name(f"{owner}.{prefix}", dtype), "count": 1}]


def _dtype_literal(dtype: np.dtype[Any]) -> Any:
    """Plain values from which numpy.dtype makes the type again."""
    if dtype.subdtype is not None:
        return (_dtype_literal(dtype.subdtype[0]), dtype.subdtype[1])
    if dtype.names is None:
        return dtype.str if dtype.kind == "S" else dtype.name
    return {
        "names": list(dtype.names),
        "formats": [_dtype_literal(dtype.fields[name][0]) for name in dtype.names],  # type: ignore[index]
        "offsets": [dtype.fields[name][1] for name in dtype.names],  # type: ignore[index]
        "itemsize": dtype.itemsize,
    }


def type_fields(owner: str, kind: str, dtype: Any) -> dict[str, Any]:
    """What an argument or return of this kind says of its elements."""
    if kind not in _KINDS:
        raise UserValueError(
            f"'{owner}' has the kind {kind!r}; the kinds are {', '.join(map(repr, _KINDS))}."
        )
    if kind in ("string", "pyobject", "callback"):
        return {}
    if kind == "struct":
        made = _made_dtype(owner, dtype)
        if isinstance(made, str) or made.names is None:
            raise UserTypeError(f"The struct '{owner}' has the dtype {made}; give a structured numpy.dtype.")
    name = dtype_name(owner, dtype)
    fields: dict[str, Any] = {} if kind == "struct" else {"dtype": name}
    if name == "record":
        made = _made_dtype(owner, dtype)
        fields["record"] = {
            "bytes": made.itemsize,
            "literal": repr(_dtype_literal(made)),
            "fields": _fields_of(owner, "", made, 0),
        }
    return fields


def size_texts(owner: str, sizes: Any) -> list[str]:
    """Extents or strides as text; one alone need not stand in a tuple."""
    alone = isinstance(sizes, (str, bytes, set, frozenset, Mapping)) or not isinstance(sizes, Iterable)
    texts = []
    for size in (sizes,) if alone else sizes:
        if isinstance(size, (bool, np.bool_)) or not isinstance(size, (int, np.integer, str, SizeExpression)):
            raise UserTypeError(
                f"'{owner}' has the size {size!r}; sizes are ints, names or expressions such as '2*N'."
            )
        texts.append(str(int(size)) if isinstance(size, (int, np.integer)) else str(size))
    return texts


def is_empty(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and not value


def plain_default(owner: str, default: Any) -> Any:
    """A default as a value of Python's own types, whose text is a literal."""
    value = default.item() if isinstance(default, np.generic) else default
    if value is None or isinstance(value, bool):
        return value
    kinds: tuple[Any, ...] = (int, float, complex, bytes)
    for kind in kinds:
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, str):
        return str.__str__(value)
    raise UserTypeError(f"'{owner}' has the default {default!r}; defaults are numbers, texts or None.")


def default_literal(owner: str, kind: str, dtype: Any, default: Any) -> str:
    """A default as the text of a Python literal. Raises for one that no call could take."""
    if kind != "scalar" or default is None:
        return repr(default)
    wanted = "float32" if dtype in ("float16", "bfloat16") else str(dtype)
    numbers = {"b": (bool,), "i": (int,), "u": (int,), "f": (int, float), "c": (int, float, complex)}
    expected = numbers[np.dtype(wanted).kind]
    if not isinstance(default, expected) or (isinstance(default, bool) and expected != (bool,)):
        raise UserTypeError(f"'{owner}' has the default {default!r}, which is no {dtype}.")
    if isinstance(default, int) and np.dtype(wanted).kind in "iu":
        limits = np.iinfo(wanted)
        if not limits.min <= default <= limits.max:
            raise UserValueError(f"'{owner}' has the default {default}, which {dtype} does not hold.")
    elif isinstance(default, int):
        try:
            float(default)
        except OverflowError:
            raise UserValueError(
                f"'{owner}' has a default of {len(str(abs(default)))} digits, which {dtype} does not hold."
            ) from None
    text = repr(default).replace("inf", "1e999")  # a literal that is read back as an infinity
    if "nan" in text:
        raise UserValueError(
            f"'{owner}' has the default {default!r}; a NaN has no literal, so give it in the calls."
        )
    return text


def check_literals(item: Mapping[str, Any]) -> None:
    """Refuses texts of a JSON file that stand for Python values and are none of theirs."""
    owner = item["name"]
    for text in [item["default"]] if "default" in item else []:
        default_literal(
            owner, item["kind"], item.get("dtype"), plain_default(owner, _read_literal(owner, text))
        )
    if "record" in item:
        text = item["record"]["literal"]
        try:
            dtype = np.dtype(_read_literal(owner, text))
        except (TypeError, ValueError) as error:
            raise UserValueError(
                f"Signature JSON: '{owner}' has the struct {text}, which is no dtype."
            ) from error
        own = {"bytes": dtype.itemsize, "literal": text, "fields": _fields_of(owner, "", dtype, 0)}
        if own != item["record"]:
            raise UserValueError(f"Signature JSON: '{owner}' has the struct {text}, whose fields are others.")


def _read_literal(owner: str, text: str) -> Any:
    import ast

    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise UserValueError(
            f"Signature JSON: '{owner}' has the text {text!r}, which is no literal."
        ) from None

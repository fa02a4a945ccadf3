"""What callers of an author's C or C++ function may rely on: `fr.Signature`, made of `fr.Arg`, `fr.Return`, `fr.Symbol`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ferrule.dtypes import ArrayType, SizeExpression
from ferrule.errors import UserTypeError, UserValueError


class _Required:
    """The default of an argument that has none; one object, also in copies and pickles."""

    def __repr__(self) -> str:
        return "required"

    def __reduce__(self) -> str:
        return "_NO_DEFAULT"


_NO_DEFAULT: Any = _Required()


def _listed(what: str, value: Any, of: str) -> list[Any]:
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise UserTypeError(f"{what} is {value!r}, but a list of {of} is expected.")
    return list(value)


def _names(what: str, value: Any) -> list[str]:
    items = _listed(what, value, "names")
    for item in items:
        if not isinstance(item, str):
            raise UserTypeError(f"{what} holds {item!r}; it is a flat list of names.")
    return items


def _flag(what: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise UserTypeError(f"{what} is {value!r}; it is True or False.")
    return bool(value)


def _integer(what: str, value: Any) -> int:
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


def _dtype_name(owner: str, dtype: Any) -> str:
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
    return [{"name": prefix, "offset": offset, "dtype": _dtype_name(f"{owner}.{prefix}", dtype), "count": 1}]


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


def _type_fields(owner: str, kind: str, dtype: Any) -> dict[str, Any]:
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
    name = _dtype_name(owner, dtype)
    fields: dict[str, Any] = {} if kind == "struct" else {"dtype": name}
    if name == "record":
        made = _made_dtype(owner, dtype)
        fields["record"] = {
            "bytes": made.itemsize,
            "literal": repr(_dtype_literal(made)),
            "fields": _fields_of(owner, "", made, 0),
        }
    return fields


def _sizes(owner: str, sizes: Any) -> list[str]:
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


def _is_empty(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and not value


def _plain(owner: str, default: Any) -> Any:
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


def _literal(owner: str, kind: str, dtype: Any, default: Any) -> str:
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
            if not _is_empty(self.params) or self.returns is not None:
                raise UserValueError(
                    f"The {self.kind} '{self.name}' has params or returns; give it the kind 'callback'."
                )
            return {}
        params = _listed(f"The params of the callback '{self.name}'", self.params, "fr.Arg")
        for item in params:
            if not isinstance(item, Arg):
                raise UserTypeError(
                    f"The callback '{self.name}' has the parameter {item!r}, but a fr.Arg is expected."
                )
        fields: dict[str, Any] = {"params": [item._fields() for item in params]}
        if self.returns is not None:
            of_object = isinstance(self.returns, str) and self.returns == "pyobject"
            fields["returns"] = "object" if of_object else _dtype_name(self.name, self.returns)
        return fields

    def _fields(self) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "name": self.name,
            "kind": self.kind,
            **_type_fields(self.name, self.kind, self.dtype),
            **self._callback_fields(),
        }
        if _flag(f"'optional' of '{self.name}'", self.optional):
            fields["optional"] = True
        if self.default is not _NO_DEFAULT:
            default = _plain(self.name, self.default)
            fields["default"] = _literal(self.name, self.kind, fields.get("dtype"), default)
        if self.kind != "array":
            for name, value in (("shape", self.shape), ("strides", self.strides)):
                if not _is_empty(value):
                    raise UserValueError(f"The {self.kind} '{self.name}' has a {name}; make it an array.")
            if self.kind == "pointers":
                fields["intent"] = self.intent
            elif self.intent != "in":
                raise UserValueError(
                    f"The {self.kind} '{self.name}' has the intent '{self.intent}'; make it a return, or an array of "
                    "one element."
                )
            return fields
        fields["shape"] = _sizes(self.name, self.shape)
        fields["order"] = self.order
        fields["intent"] = self.intent
        strides = _sizes(self.name, self.strides)
        if strides:
            fields["strides"] = strides
        if self.inner_axis is not None:
            fields["inner_axis"] = _integer(f"'inner_axis' of '{self.name}'", self.inner_axis)
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
        fields = {"name": self.name, "kind": self.kind, **_type_fields(self.name, self.kind, self.dtype)}
        if self.kind == "array":
            return {**fields, "shape": _sizes(self.name, self.shape)}
        if not _is_empty(self.shape):
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
            "dtype": _dtype_name(self.name, self.dtype),
            "nonnegative": _flag(f"'nonnegative' of '{self.name}'", self.nonnegative),
        }


@dataclass(frozen=True)
class Workspace:
    """Memory that callers give once by `Kernel.set_workspace`: its bytes over symbols ('8*N*M') and its alignment."""

    name: str
    bytes: Any
    alignment: int = 64

    def _fields(self) -> dict[str, Any]:
        sizes = _sizes(self.name, self.bytes)
        if len(sizes) != 1:
            raise UserValueError(f"The workspace '{self.name}' has {len(sizes)} sizes; give its bytes.")
        alignment = _integer(f"'alignment' of '{self.name}'", self.alignment)
        return {"name": self.name, "bytes": sizes[0], "alignment": alignment}


@dataclass(frozen=True)
class AuthorFunction:
    """A C function of the author beside `run`: its name, what it takes in order, and what it gives."""

    name: str
    parameters: Sequence[str] = ()
    result: str = "none"

    def _fields(self) -> dict[str, Any]:
        parameters = _names(f"'parameters' of '{self.name}'", self.parameters)
        return {"name": self.name, "parameters": parameters, "result": self.result}


def _slots(value: Any) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, (tuple, list)):
        return [_slots(item) for item in value]
    raise UserTypeError(f"'user_args' holds {value!r}; it is made of names, '' and tuples of them.")


def _check_literals(item: Mapping[str, Any]) -> None:
    """Refuses texts of a JSON file that stand for Python values and are none of theirs."""
    owner = item["name"]
    for text in [item["default"]] if "default" in item else []:
        _literal(owner, item["kind"], item.get("dtype"), _plain(owner, _read_literal(owner, text)))
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


class Signature:
    """The interface of a native function, complete and checked when it is made; a value, equal by content.

    args: `fr.Arg`s in declared order; `fr.float64["N"]` and its like stand for one with a mapping from name.
    symbols: names or `fr.Symbol`s that sizes use; names in sizes need not be listed. returns: `fr.Return`s.
    arg_names: what may be given by position, arguments and symbols (which are then required); without it all
    arguments. user_args: nested tuples of names for `Kernel.user_call`, '' a slot whose value is never looked at.
    run: the C function's name (default: `name`). parameters: what it takes, in order: arguments, returns and
    symbols by name, 'x.strides[0]' for a stride in elements, 'x.length' for the bytes of a string or the number of
    pointers; default: all arguments, strings and pointers with their length, returns, symbols. result: what it
    gives: 'none', 'status' (an int, 0 for success) or the name of a scalar return. init, exit: `AuthorFunction`s
    that begin and end a handle's state; `init` takes persistent symbols and gives the state, a pointer, as its
    result 'state' or through the parameter 'state' (a void**); `run` and `exit` take it as the parameter 'state'.
    persistent: symbols that keep their value from `init` to `exit`. workspaces: `Workspace`s, parameters of `run`
    by name. statuses: texts by status other than 0. error: an `AuthorFunction` that takes what the program has
    recorded of its own errors, and clears the record: a 'text' (a char pointer, null for none) or a 'status'; its
    parameters are 'state' and 'status', what the function before it gave. error_check: whether statuses and
    recorded errors of calls are raised; `Kernel.error_check` says otherwise for one handle. release_gil: whether
    runs let other Python threads in; 'auto' lets long ones. may_alias: the function is right when a written array
    overlaps another. returns_tuple: even one return comes in a tuple. allow_return_override: callers may give the
    memory of a returned array by its name. coerce: 'asarray' takes lists and tuples for arrays that are only read,
    as copies, with a warning.

    Raises UserValueError or UserTypeError naming the argument for what contradicts itself.
    """

    __slots__ = ("_fields", "_json")

    def __init__(
        self,
        name: str,
        args: Sequence[Arg] | Mapping[str, ArrayType] = (),
        *,
        symbols: Sequence[Symbol | str] = (),
        returns: Sequence[Return] = (),
        arg_names: Sequence[str] | None = None,
        user_args: Any = None,
        run: str | None = None,
        parameters: Sequence[str] | None = None,
        result: str = "none",
        init: AuthorFunction | None = None,
        exit: AuthorFunction | None = None,
        error: AuthorFunction | None = None,
        persistent: Sequence[str] = (),
        workspaces: Sequence[Workspace] = (),
        statuses: Mapping[int, str] | None = None,
        may_alias: bool = False,
        returns_tuple: bool = False,
        strict_scalars: bool = False,
        error_check: bool = True,
        release_gil: bool | Literal["auto"] = "auto",
        allow_return_override: bool = False,
        coerce: str | None = None,
    ) -> None:
        if isinstance(args, Mapping):
            args = [self._mapped(key, kind) for key, kind in args.items()]
        fields: dict[str, Any] = {
            "schema": 1,
            "name": name,
            "args": [self._part("args", Arg, item) for item in _listed("'args'", args, "fr.Arg")],
            "symbols": [
                self._part("symbols", Symbol, Symbol(item) if isinstance(item, str) else item)
                for item in _listed("'symbols'", symbols, "names or fr.Symbol")
            ],
            "returns": [
                self._part("returns", Return, item) for item in _listed("'returns'", returns, "fr.Return")
            ],
            "run": {
                "name": run or "",
                "parameters": [] if parameters is None else _names("'parameters'", parameters),
                "result": result,
            },
            "options": {
                "may_alias": _flag("'may_alias'", may_alias),
                "returns_tuple": _flag("'returns_tuple'", returns_tuple),
                "strict_scalars": _flag("'strict_scalars'", strict_scalars),
            },
        }
        if release_gil != "auto":
            if not isinstance(release_gil, bool):
                raise UserTypeError(f"'release_gil' is {release_gil!r}; it is 'auto', True or False.")
            fields["options"]["release_gil"] = release_gil
        if not _flag("'error_check'", error_check):
            fields["options"]["error_check"] = False
        if _flag("'allow_return_override'", allow_return_override):
            fields["options"]["allow_return_override"] = True
        if coerce is not None:
            fields["options"]["coerce"] = coerce
        for field, function in (("init", init), ("exit", exit), ("error", error)):
            if function is not None:
                fields[field] = self._part(field, AuthorFunction, function)
        if kept := _names("'persistent'", persistent):
            fields["persistent"] = kept
        if given := _listed("'workspaces'", workspaces, "fr.Workspace"):
            fields["workspaces"] = [self._part("workspaces", Workspace, item) for item in given]
        if statuses is not None:
            if not isinstance(statuses, Mapping):
                raise UserTypeError(f"'statuses' is {statuses!r}, but a dict of texts by status is expected.")
            texts = {_integer("A status", key): text for key, text in statuses.items()}
            fields["statuses"] = [{"status": key, "text": texts[key]} for key in sorted(texts)]
        if arg_names is not None:
            fields["arg_names"] = _names("'arg_names'", arg_names)
        if user_args is not None:
            fields["user_args"] = _slots(user_args)
        self._take(json.dumps(fields, ensure_ascii=False))

    @staticmethod
    def _mapped(key: Any, kind: Any) -> Arg:
        if not isinstance(kind, ArrayType):
            raise UserTypeError(
                f"'args' holds {kind!r} for {key!r}, but a type such as fr.float64['N'] is expected."
            )
        return Arg(key, dtype=kind.dtype, shape=kind.extents, order=kind.order or "C")

    @staticmethod
    def _part(field: str, kind: type[Any], item: Any) -> dict[str, Any]:
        if not isinstance(item, kind):
            raise UserTypeError(f"'{field}' holds {item!r}, but a fr.{kind.__name__} is expected.")
        made: dict[str, Any] = item._fields()
        return made

    def _take(self, text: str) -> None:
        from ferrule import _compiler

        try:
            text.encode()
        except UnicodeEncodeError as error:
            around = error.object[max(0, error.start - 20) : error.end]
            raise UserValueError(
                f"The signature has a lone surrogate, which UTF-8 does not have, at the end of {around!r}."
            ) from None
        self._json = _compiler.complete_signature(text)
        self._fields = json.loads(self._json)

    @staticmethod
    def from_json(text: str) -> Signature:
        """A signature from what `to_json` gave, of this or an older schema. Raises UserValueError naming the field."""
        if not isinstance(text, str):
            raise UserTypeError(
                f"'text' is {type(text).__name__}, but the JSON text of a signature is expected."
            )
        made = Signature.__new__(Signature)
        made._take(text)
        for item in made._fields["args"]:
            _check_literals(item)
        for item in made._fields["returns"]:
            _check_literals(item)
        return made

    def to_json(self) -> str:
        """Canonical text: equal signatures give equal text."""
        text: str = self._json
        return text

    @property
    def name(self) -> str:
        """The program's name."""
        name: str = self._fields["name"]
        return name

    @property
    def args(self) -> tuple[str, ...]:
        """Names of the arguments in declared order."""
        return tuple(item["name"] for item in self._fields["args"])

    @property
    def symbols(self) -> tuple[str, ...]:
        """Names of the sizes, declared ones first."""
        return tuple(item["name"] for item in self._fields["symbols"])

    @property
    def returns(self) -> tuple[str, ...]:
        """Names of the results."""
        return tuple(item["name"] for item in self._fields["returns"])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Signature) and self._json == other._json

    def __hash__(self) -> int:
        return hash(self._json)

    def __reduce__(self) -> tuple[Any, ...]:
        return Signature.from_json, (self._json,)

    def __repr__(self) -> str:
        return f"<Signature {self.name}({', '.join(self.args)})>"

"""What callers of an author's C or C++ function may rely on: `fr.Signature`, made of `fr.Arg`, `fr.Return`, `fr.Symbol`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ferrule.dtypes import ArrayType
from ferrule.errors import UserTypeError, UserValueError
from ferrule.signature_fields import check_literals, flag, integer, list_of, name_list
from ferrule.signature_parts import Arg, AuthorFunction, Return, Symbol, Workspace


def _slots(value: Any) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, (tuple, list)):
        return [_slots(item) for item in value]
    raise UserTypeError(f"'user_args' holds {value!r}; it is made of names, '' and tuples of them.")


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
            "args": [self._part("args", Arg, item) for item in list_of("'args'", args, "fr.Arg")],
            "symbols": [
                self._part("symbols", Symbol, Symbol(item) if isinstance(item, str) else item)
                for item in list_of("'symbols'", symbols, "names or fr.Symbol")
            ],
            "returns": [
                self._part("returns", Return, item) for item in list_of("'returns'", returns, "fr.Return")
            ],
            "run": {
                "name": run or "",
                "parameters": [] if parameters is None else name_list("'parameters'", parameters),
                "result": result,
            },
            "options": {
                "may_alias": flag("'may_alias'", may_alias),
                "returns_tuple": flag("'returns_tuple'", returns_tuple),
                "strict_scalars": flag("'strict_scalars'", strict_scalars),
            },
        }
        if release_gil != "auto":
            if not isinstance(release_gil, bool):
                raise UserTypeError(f"'release_gil' is {release_gil!r}; it is 'auto', True or False.")
            fields["options"]["release_gil"] = release_gil
        if not flag("'error_check'", error_check):
            fields["options"]["error_check"] = False
        if flag("'allow_return_override'", allow_return_override):
            fields["options"]["allow_return_override"] = True
        if coerce is not None:
            fields["options"]["coerce"] = coerce
        for field, function in (("init", init), ("exit", exit), ("error", error)):
            if function is not None:
                fields[field] = self._part(field, AuthorFunction, function)
        if kept := name_list("'persistent'", persistent):
            fields["persistent"] = kept
        if given := list_of("'workspaces'", workspaces, "fr.Workspace"):
            fields["workspaces"] = [self._part("workspaces", Workspace, item) for item in given]
        if statuses is not None:
            if not isinstance(statuses, Mapping):
                raise UserTypeError(f"'statuses' is {statuses!r}, but a dict of texts by status is expected.")
            texts = {integer("A status", key): text for key, text in statuses.items()}
            fields["statuses"] = [{"status": key, "text": texts[key]} for key in sorted(texts)]
        if arg_names is not None:
            fields["arg_names"] = name_list("'arg_names'", arg_names)
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
            check_literals(item)
        for item in made._fields["returns"]:
            check_literals(item)
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

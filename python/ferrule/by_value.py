"""Python functions as values: what a pickle carries of a function that the loading process cannot import.

A function becomes the text of its definition, its defaults and annotations, the contents of its cells, and those of its
globals that the definition names; plain functions among these that cannot be imported either come along in the same way.
The text is read again in the loading process, so that another Python version compiles it, and capture finds it as source.
"""

from __future__ import annotations

import ast
import builtins
import functools
import importlib
import inspect
import json
import linecache
import pickle
import sys
import types
from typing import Any

import numpy as np

from ferrule import _rt

# Global arrays above this size do not travel in pickles.
_ARRAY_LIMIT = 1 << 20
_FACTORY = "__fr_factory__"
_FUNCTION = "__fr_function__"

# A bundle: for each function a JSON text of its names and source, with [defaults, keyword defaults, annotations, cells];
# for each dict of globals its content. The first function is the one that was asked for.
Bundle = tuple[list[tuple[str, list[Any]]], list[dict[str, Any]]]


class Reference:
    """What stands in a bundle for a module, a function of the bundle, or an empty cell."""

    def __init__(self, kind: str, name: str | int = "") -> None:
        self.kind = kind
        self.name = name

    def __reduce__(self) -> tuple[Any, ...]:
        return Reference, (self.kind, self.name)


def find(module: str, qualname: str) -> Any:
    """What a module has under a qualified name. Raises ImportError or AttributeError where it has none."""
    return functools.reduce(getattr, qualname.split("."), importlib.import_module(module))


def is_importable(value: Any) -> bool:
    """Whether another process gets this very object by importing its module; not what a script defines."""
    if value.__module__ in (None, "__main__", "__mp_main__"):
        return False
    try:
        return find(value.__module__, value.__qualname__) is value
    except (ImportError, AttributeError):
        return False


def to_bundle(fn: Any) -> Bundle:
    """The function as a value. Raises PicklingError where its source cannot be read or a global array is too large."""
    return _Writer().write(fn)


def from_bundle(bundle: Bundle) -> types.FunctionType:
    """The function of a bundle, with globals of its own."""
    return _Reader(bundle).function(0)


class _Writer:
    def __init__(self) -> None:
        self._functions: list[types.FunctionType] = []
        self._index: dict[int, int] = {}
        self._spaces: list[dict[str, Any]] = []
        self._space_of: dict[int, int] = {}

    def write(self, fn: types.FunctionType) -> Bundle:
        self._refer(fn)
        rows = []
        for function in self._functions:  # grows meanwhile
            rows.append(self._row(function))
        return rows, [dict(sorted(space.items())) for space in self._spaces]

    def _refer(self, fn: types.FunctionType) -> Reference:
        if id(fn) not in self._index:
            self._index[id(fn)] = len(self._functions)
            self._functions.append(fn)
        return Reference("function", self._index[id(fn)])

    def _row(self, fn: types.FunctionType) -> tuple[str, list[Any]]:
        node = _definition(fn)
        annotations = {_same(name): _same(value) for name, value in fn.__annotations__.items()}
        names = {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
        for annotation in annotations.values():
            if isinstance(annotation, str):
                names |= {name.id for name in ast.walk(ast.parse(annotation)) if isinstance(name, ast.Name)}
        if id(fn.__globals__) not in self._space_of:
            self._space_of[id(fn.__globals__)] = len(self._spaces)
            self._spaces.append({})
        number = self._space_of[id(fn.__globals__)]
        for name in sorted(names & fn.__globals__.keys()):
            self._spaces[number][_same(name)] = self._value(fn, name, fn.__globals__[name])
        free = fn.__code__.co_freevars
        cells = [
            self._value(fn, name, content) if has_content else Reference("empty")
            for name, (has_content, content) in zip(free, map(_content, fn.__closure__ or ()), strict=True)
        ]
        text = {
            "name": fn.__name__,
            "qualname": fn.__qualname__,
            "module": fn.__module__,
            "doc": fn.__doc__,
            "source": ast.unparse(node),
            "flags": fn.__code__.co_flags & _future_flags(),
            "free": list(free),
            "globals": number,
        }
        return json.dumps(text), [fn.__defaults__, fn.__kwdefaults__, annotations, cells]

    def _value(self, fn: types.FunctionType, name: str, value: Any) -> Any:
        if isinstance(value, types.ModuleType):
            return Reference("module", value.__name__)
        if isinstance(value, types.FunctionType) and not is_importable(value):
            return self._refer(value)
        if isinstance(value, np.ndarray) and value.nbytes > _ARRAY_LIMIT:
            raise pickle.PicklingError(
                f"'{fn.__qualname__}' cannot be pickled: its variable '{name}' is an array of {value.nbytes} bytes, more"
                f" than the {_ARRAY_LIMIT} that a pickle carries; pass it as an argument."
            )
        return _same(value)


class _Reader:
    def __init__(self, bundle: Bundle) -> None:
        self._rows, self._content = bundle
        self._spaces: list[dict[str, Any]] = [{} for _ in self._content]
        self._made: dict[int, types.FunctionType] = {}

    def function(self, index: int) -> types.FunctionType:
        if index in self._made:
            return self._made[index]
        text, (defaults, keyword_defaults, annotations, cells) = self._rows[index]
        row = json.loads(text)
        space = self._spaces[row["globals"]]
        closure = tuple(types.CellType() for _ in cells)
        made = types.FunctionType(_compiled(text), space, row["name"], defaults, closure)
        self._made[index] = made
        made.__kwdefaults__ = keyword_defaults
        made.__annotations__ = annotations
        made.__qualname__, made.__module__, made.__doc__ = row["qualname"], row["module"], row["doc"]
        for cell, content in zip(closure, cells, strict=True):
            if not (isinstance(content, Reference) and content.kind == "empty"):
                cell.cell_contents = self._value(content)
        if not space:
            space.update(__name__=row["module"], __builtins__=builtins)
            space.update((name, self._value(value)) for name, value in self._content[row["globals"]].items())
        return made

    def _value(self, value: Any) -> Any:
        if not isinstance(value, Reference):
            return value
        if value.kind == "module":
            return importlib.import_module(str(value.name))
        return self.function(int(value.name))


def _same(value: Any) -> Any:
    """The one object for equal strings, since a pickle of equal objects is another than that of one object."""
    return sys.intern(value) if type(value) is str else value


def _content(cell: types.CellType) -> tuple[bool, Any]:
    try:
        return True, cell.cell_contents
    except ValueError:
        return False, None


def _future_flags() -> int:
    from ferrule.capture.likeness import FUTURE

    return int(FUTURE) & ~inspect.CO_NESTED  # the flag of a feature that every version has


def _definition(fn: types.FunctionType) -> Any:
    """The definition without decorators, defaults and annotations, which are no part of the code."""
    from ferrule.capture import source
    from ferrule.capture.errors import Abort
    from ferrule.capture.likeness import class_of
    from ferrule.capture.private_names import write_out

    try:
        node: Any = source.definition(fn)
    except Abort as error:
        raise pickle.PicklingError(
            f"'{fn.__qualname__}' cannot be pickled, since '{fn.__module__}' does not have it under this name, and its source"
            f" is not there either: {error}"
        ) from error
    if node is None:
        raise pickle.PicklingError(f"'{fn.__qualname__}' cannot be pickled: it is no plain function.")
    arguments = node.args
    arguments.defaults = []
    arguments.kw_defaults = [None] * len(arguments.kwonlyargs)
    optional = [argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None]
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *optional):
        argument.annotation = None
    if isinstance(node, ast.FunctionDef):
        node.decorator_list, node.returns = [], None
    return write_out(node, class_of(fn))  # the text will be read outside of the class


def _compiled(text: str) -> types.CodeType:
    """The code of a function of a bundle, its text registered as the source of a file.

    A factory around the definition gives it its free names, and it has another name there, so that a function that calls
    itself finds the global.
    """
    row = json.loads(text)
    tree = ast.parse(row["source"])
    file = f"<ferrule {row['qualname']} {_rt.sha256_hex(text.encode())[:16]}>"
    linecache.cache[file] = (len(row["source"]), None, row["source"].splitlines(keepends=True), file)
    (statement,) = tree.body
    if isinstance(statement, ast.FunctionDef):
        statement.name = _FUNCTION
    elif isinstance(statement, ast.Expr):
        tree.body = [ast.copy_location(ast.Return(statement.value), statement)]
    factory = ast.parse(f"def {_FACTORY}({', '.join(row['free'])}): pass", file)
    factory.body[0].body = tree.body  # type: ignore[attr-defined]
    module = compile(factory, file, "exec", flags=row["flags"], dont_inherit=True)
    made = _code_in(_code_in(module))
    changes: dict[str, Any] = {"co_name": row["name"]}
    if hasattr(made, "co_qualname"):
        changes["co_qualname"] = row["qualname"]
    return made.replace(**changes)


def _code_in(code: types.CodeType) -> types.CodeType:
    return next(constant for constant in code.co_consts if isinstance(constant, types.CodeType))

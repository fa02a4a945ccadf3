"""Rewrites a function so that its control flow, calls and loads go through a dispatcher.

Source -> syntax tree -> exits lowered -> live names -> regions as nested functions -> code under the user's file name.
The bodies of `if`, `for` and `while` become functions that share the names of the function around them through cells;
the dispatcher, a free variable named `__fr__`, runs them, and reads and sets the names through those cells. Lines are
kept, and the nested functions bear the user's names, so that tracebacks and `errors.locations` show the user's source.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from types import CellType, CodeType, FunctionType
from typing import Any

from . import errors
from .expressions import DISPATCHER, PIECE
from .likeness import FUTURE, class_of, make_arguments, make_function
from .private_names import write_out
from .rewriter import Rewriter
from .source import definition

_FACTORY = "__fr_factory__"
_FUNCTION = "__fr_function__"


@dataclass(frozen=True)
class Template:
    """The rewritten code of one code object, to be joined with a function's own cells and defaults."""

    code: CodeType
    original: CodeType


_templates: dict[tuple[CodeType, str], Template | None] = {}


def convert(fn: FunctionType, dispatcher: Callable[[FunctionType], Any]) -> FunctionType | None:
    """The rewritten form of a function, sharing its globals, cells and defaults.

    `dispatcher(fn)` makes the object that it calls `__fr__`. None for generators and coroutines, which are run as they
    are. Raises an abort where the source cannot be read.
    """
    code = fn.__code__
    if errors.is_generated(code):
        return fn
    key = code, code.co_filename  # equal code of two files has other lines to show
    if key not in _templates:
        _templates[key] = _make_template(fn)
    template = _templates[key]
    if template is None:
        return None
    cells = dict(zip(code.co_freevars, fn.__closure__ or (), strict=True))
    cells[DISPATCHER] = CellType(dispatcher(fn))
    closure = tuple(cells[name] if name in cells else CellType() for name in template.code.co_freevars)
    rewritten = FunctionType(template.code, fn.__globals__, fn.__name__, fn.__defaults__, closure)
    rewritten.__kwdefaults__ = fn.__kwdefaults__
    rewritten.__qualname__ = fn.__qualname__
    rewritten.__module__ = fn.__module__
    return rewritten


def _make_template(fn: FunctionType) -> Template | None:
    node = definition(fn)
    if node is None:
        return None
    node = write_out(node, class_of(fn))
    code = fn.__code__
    rewriter = Rewriter()
    inner: ast.expr | ast.stmt
    if isinstance(node, ast.Lambda):
        inner = rewriter.lambda_(node, None)
        result: ast.stmt = ast.Return(value=inner)
        body = [result]
    else:
        inner = rewriter.function(node, None)
        # Under another name, so that a function that calls itself still finds the global.
        inner.name, inner.decorator_list, inner.returns = _FUNCTION, [], None
        body = [inner]
    _strip(inner.args)
    outer = [DISPATCHER, *code.co_freevars]
    factory = make_function(_FACTORY, make_arguments(*outer), body)
    ast.copy_location(factory, node)
    module = ast.fix_missing_locations(ast.Module(body=[factory], type_ignores=[]))
    flags = code.co_flags & FUTURE
    compiled = compile(module, code.co_filename, "exec", flags=flags, dont_inherit=True)
    made = next(const for const in _code_of(compiled, _FACTORY).co_consts if isinstance(const, CodeType))
    return Template(
        _finish(made, code.co_name, getattr(code, "co_qualname", code.co_name), piece=False), code
    )


def _code_of(code: CodeType, name: str) -> CodeType:
    return next(const for const in code.co_consts if isinstance(const, CodeType) and const.co_name == name)


def _finish(code: CodeType, name: str, qualname: str, piece: bool) -> CodeType:
    """Gives pieces the name of the function that they belong to, and registers all code for error locations."""
    consts = []
    for const in code.co_consts:
        if isinstance(const, CodeType):
            const = _finish_inner(const, name, qualname)
        consts.append(const)
    changes: dict[str, Any] = {"co_consts": tuple(consts), "co_name": name}
    if hasattr(code, "co_qualname"):
        changes["co_qualname"] = qualname
    code = code.replace(**changes)
    errors.register(code, piece)
    return code


def _finish_inner(code: CodeType, owner: str, qualname: str) -> CodeType:
    if code.co_name.startswith(PIECE) or (code.co_varnames and code.co_varnames[0].startswith(PIECE)):
        return _finish(code, owner, qualname, piece=True)
    if code.co_name in ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"):
        return _finish(code, code.co_name, f"{qualname}.<locals>.{code.co_name}", piece=True)
    return _finish(code, code.co_name, f"{qualname}.<locals>.{code.co_name}", piece=False)


def _strip(arguments: ast.arguments) -> None:
    """Drops defaults and annotations, which the function object keeps."""
    arguments.defaults = []
    arguments.kw_defaults = [None] * len(arguments.kwonlyargs)
    optional = [argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None]
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *optional):
        argument.annotation = None

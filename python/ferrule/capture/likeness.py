"""Compiles a definition in scopes like those around a function, and compares the two: whether a text is the function's."""

from __future__ import annotations
import __future__

import ast
import copy
import dis
import inspect
import re
from collections.abc import Iterator
from functools import reduce
from importlib.machinery import SourceFileLoader, SourcelessFileLoader
from types import CodeType, FunctionType
from typing import Any
from zipimport import zipimporter

from ferrule.values import code_text

Definition = ast.FunctionDef | ast.Lambda

FUTURE = reduce(
    lambda flags, name: flags | getattr(__future__, name).compiler_flag, __future__.all_feature_names, 0
)

_FACTORY, _FUNCTION = "__fr_factory__", "__fr_function__"
# From the beginning of a name alone: from each of its characters it would take the square of the length of a bytecode.
_MADE_NAME = re.compile(rf"(?<![\w.<>])[\w.<>]*{_FUNCTION}")
# Loaders that compile a module's text as it is.
_PLAIN_LOADERS = (SourceFileLoader, SourcelessFileLoader, zipimporter)


def class_of(fn: FunctionType) -> str | None:
    """The class in whose body a function, or the one around it, was defined, as it stands in mangled private names."""
    parts = _qualname(fn).split(".")
    for name, inner in zip(parts[-2::-1], parts[:0:-1], strict=True):
        if "<locals>" not in (name, inner):
            return str(name.lstrip("_")) or None
    return None


def _qualname(fn: FunctionType) -> str:
    """The name under which a function was defined, which functools.wraps does not change since Python 3.11."""
    return str(getattr(fn.__code__, "co_qualname", fn.__qualname__))


def exactly(fn: FunctionType, node: Definition, imported: set[str]) -> int:
    """How well a definition fits a function, in a module that imports these names: whether it compiles to its code. 0 where
    not, 1, 2 with all its lines."""
    made = _compiled(fn, node, imported)
    if made is None:
        return 0
    # Classes and, before Python 3.11, functions within it have their qualified names among the constants.
    text = _MADE_NAME.sub(lambda _: _qualname(fn), code_text(made))
    if text != code_text(fn.__code__):
        return 0
    return 2 if _lines(made) == _lines(fn.__code__) else 1


def _lines(code: CodeType) -> list[int | None]:
    return [line for _, _, line in code.co_lines()]


def is_rewritten(fn: FunctionType) -> bool:
    """Whether a function's module may have been compiled from another text, as pytest does to explain assertions."""
    loader = fn.__globals__.get("__loader__")
    return loader is not None and not isinstance(loader, type) and type(loader) not in _PLAIN_LOADERS


def within(fn: FunctionType, node: Definition, imported: set[str]) -> int:
    """The same for a function that does all that a definition does without its assertions, in this order, and more."""
    made = _compiled(fn, _WithoutAsserts().visit(copy.deepcopy(node)), imported)
    done = _actions(fn.__code__)
    return int(
        made is not None
        and _code_parameters(made) == _code_parameters(fn.__code__)
        and all(action in done for action in _actions(made))
    )


class _WithoutAsserts(ast.NodeTransformer):
    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        return ast.copy_location(ast.Pass(), node)


def _actions(code: CodeType) -> Iterator[str]:
    """What a code loads and computes, without locals and jumps."""
    for instruction in dis.get_instructions(code):
        value = instruction.argval
        if isinstance(value, CodeType):
            yield from _actions(value)
        elif instruction.opcode in (*dis.hasconst, *dis.hasname):
            if value is not None:
                yield repr(value)
        elif instruction.opname.startswith(("BINARY_", "COMPARE_", "CONTAINS_", "INPLACE_", "IS_", "UNARY_")):
            yield f"{instruction.opname} {instruction.argrepr}"


def _compiled(fn: FunctionType, node: Definition, imported: set[str]) -> CodeType | None:
    """The code of a definition in scopes like those around a function; None where it does not compile there."""
    made: ast.stmt
    if isinstance(node, ast.Lambda):
        made = ast.Expr(ast.Lambda(_bare(node.args), node.body))
    else:
        # Under another name, so that a function that calls itself still finds the global.
        made = make_function(_FUNCTION, _bare(node.args), node.body)
    ast.copy_location(made, node)
    made.lineno = first_line(node)
    scope = class_of(fn)
    if scope is not None:
        fields: dict[str, Any] = {"type_params": []}
        made = ast.ClassDef(name=scope, bases=[], keywords=[], body=[made], decorator_list=[], **fields)
        ast.copy_location(made, node)
    free = fn.__code__.co_freevars
    # The class is not to hide a global of its name from the function.
    hidden = [ast.Global(names=[scope])] if scope is not None and scope not in free else []
    factory = make_function(_FACTORY, make_arguments(*free), [*hidden, made])
    imports = [ast.Import(names=[ast.alias(name=name)]) for name in sorted(imported)]
    module = ast.Module(body=[*imports, ast.copy_location(factory, node)], type_ignores=[])
    try:
        compiled: CodeType = compile(
            ast.fix_missing_locations(module),
            fn.__code__.co_filename,
            "exec",
            flags=fn.__code__.co_flags & FUTURE,
            dont_inherit=True,
        )
    except (SyntaxError, ValueError):
        return None
    for _ in range(2 if scope is None else 3):
        compiled = next(const for const in compiled.co_consts if isinstance(const, CodeType))
    return compiled


def make_arguments(*names: str) -> ast.arguments:
    """Parameters without annotations and defaults."""
    return ast.arguments(
        posonlyargs=[], args=[ast.arg(arg=name) for name in names], kwonlyargs=[], kw_defaults=[], defaults=[]
    )


def make_function(name: str, arguments: ast.arguments, body: list[ast.stmt]) -> ast.FunctionDef:
    """The definition of a function."""
    fields: dict[str, Any] = {
        "name": name,
        "args": arguments,
        "body": body,
        "decorator_list": [],
        "type_params": [],
    }
    return ast.FunctionDef(**fields)


def _bare(arguments: ast.arguments) -> ast.arguments:
    """The same parameters without defaults and annotations, which the function object keeps."""

    def bare(names: list[ast.arg]) -> list[ast.arg]:
        return [ast.copy_location(ast.arg(arg=name.arg), name) for name in names]

    optional = [None if name is None else bare([name])[0] for name in (arguments.vararg, arguments.kwarg)]
    return ast.arguments(
        posonlyargs=bare(arguments.posonlyargs),
        args=bare(arguments.args),
        vararg=optional[0],
        kwonlyargs=bare(arguments.kwonlyargs),
        kw_defaults=[None] * len(arguments.kwonlyargs),
        kwarg=optional[1],
        defaults=[],
    )


def _code_parameters(code: CodeType) -> tuple[str, ...]:
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_varnames[:count]


def first_line(node: Definition) -> int:
    """The line on which a definition begins, which is that of its first decorator."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])

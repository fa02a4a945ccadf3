"""Finds the definition of a function in its source file."""

from __future__ import annotations

import ast
import inspect
import linecache
from types import CodeType, FunctionType

from . import errors

Definition = ast.FunctionDef | ast.Lambda

# What may stand at the beginning of a line within a definition although it is no deeper than the definition itself.
_CONTINUES = ("#", ")", "]", "}")


def has_source(fn: FunctionType) -> bool:
    """Whether the file of a function can be read."""
    return bool(linecache.getlines(fn.__code__.co_filename, fn.__globals__))


def definition(fn: FunctionType) -> Definition | None:
    """The syntax tree of a function's definition, new for each call, or None for what is no plain function (generators,
    coroutines).

    Raises an abort naming the function where the source cannot be had or does not match the function.
    """
    code = fn.__code__
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        return None
    lines = linecache.getlines(code.co_filename, fn.__globals__)
    if not lines:
        raise errors.unsupported(
            f"The source of '{fn.__qualname__}' cannot be read ('{code.co_filename}').",
            "Define the function in a file or a notebook, not through exec, python -c or the plain prompt.",
        )
    found = _in_block(lines, code) or _find(ast.parse("".join(lines), code.co_filename), code)
    if found is None:
        raise errors.unsupported(
            f"The source of '{fn.__qualname__}' at {code.co_filename}:{code.co_firstlineno} is no longer its definition.",
            "Import the module again after editing it.",
        )
    return found


def _in_block(lines: list[str], code: CodeType) -> Definition | None:
    """The definition from its own lines alone, which is quicker than to parse its file; None where that fails."""
    if code.co_name == "<lambda>":
        return None
    start = code.co_firstlineno - 1
    block = _block(lines[start:])
    try:
        # A block of its own keeps the columns of a definition that stands deeper.
        tree = ast.parse("if 1:\n" + block if block[:1].isspace() else "\n" + block, code.co_filename)
    except SyntaxError:
        return None
    ast.increment_lineno(tree, start - 1)
    return _find(tree, code)


def _block(lines: list[str]) -> str:
    """The first lines as far as they are one definition with its decorators, told by their indentation."""
    depth = None
    for position, line in enumerate(lines):
        text = line.lstrip()
        here = len(line) - len(text)
        if depth is None:
            if text.startswith(("def ", "async def ")):
                depth = here
        elif text and here <= depth and not text.startswith(_CONTINUES):
            return "".join(lines[:position])
    return "".join(lines)


def _find(tree: ast.Module, code: CodeType) -> Definition | None:
    if code.co_name == "<lambda>":
        return _find_lambda(tree, code)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.FunctionDef)
            and node.name == code.co_name
            and _first_line(node) == code.co_firstlineno
        ):
            return node if _parameters(node.args) == _code_parameters(code) else None
    return None


def _first_line(node: ast.FunctionDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _find_lambda(tree: ast.Module, code: CodeType) -> ast.Lambda | None:
    candidates = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Lambda)
        and node.lineno == code.co_firstlineno
        and _parameters(node.args) == _code_parameters(code)
    ]
    if len(candidates) > 1 and hasattr(code, "co_positions"):
        start = _start(code)
        candidates = [
            node for node in candidates if (node.body.lineno, node.body.col_offset) <= start
        ] or candidates
        inside = [
            node for node in candidates if start <= (node.body.end_lineno or 0, node.body.end_col_offset or 0)
        ]
        candidates = inside or candidates
    same = [node for node in candidates if _compiles_to(node, code)]
    found = same or candidates
    return found[-1] if found else None


def _start(code: CodeType) -> tuple[int, int]:
    """Line and column of the first instruction that stands for something in the body."""
    places = [
        (line, column)
        for line, end_line, column, end in code.co_positions()
        if line is not None and column is not None and (end_line, end) != (line, column)
    ]
    return min(places, default=(code.co_firstlineno, 0))


def _compiles_to(node: ast.Lambda, code: CodeType) -> bool:
    expression = ast.Expression(node)
    compiled = compile(expression, code.co_filename, "eval", dont_inherit=True)
    inner = next(const for const in compiled.co_consts if isinstance(const, CodeType))
    names = (inner.co_names + inner.co_freevars, inner.co_varnames)
    return set(names[0]) == set(code.co_names + code.co_freevars) and names[1] == code.co_varnames


def _parameters(arguments: ast.arguments) -> tuple[str, ...]:
    plain = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    plain += [argument.arg for argument in (arguments.vararg, arguments.kwarg) if argument is not None]
    return tuple(plain)


def _code_parameters(code: CodeType) -> tuple[str, ...]:
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_varnames[:count]

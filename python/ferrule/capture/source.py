"""Finds the definition of a function in its source file."""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Callable
from functools import partial
from types import CodeType, FunctionType

from . import errors
from .likeness import Definition, exactly, first_line, is_rewritten, within

# How well a definition fits, in a module that imports these names: 0 not, 1, 2 with all its lines.
_Fits = Callable[[Definition, "set[str]"], int]

# What may stand at the beginning of a line within a definition although it is no deeper than the definition itself.
_CONTINUES = ("#", ")", "]", "}")


def has_source(fn: FunctionType) -> bool:
    """Whether the file of a function can be read."""
    return bool(linecache.getlines(fn.__code__.co_filename, fn.__globals__))


def definition(fn: FunctionType) -> Definition | None:
    """The syntax tree of a function's definition, new for each call, or None for what is no plain function (generators,
    coroutines).

    The text is taken only if it compiles to the function's code, so that a file which was edited since is not taken for
    it. Raises an abort naming the function where the source cannot be had or does not match the function.
    """
    code = fn.__code__
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        return None
    lines = linecache.getlines(code.co_filename, fn.__globals__)
    found = _in_text(lines, code, partial(exactly, fn))
    if found is None:
        # The text that Python keeps may be older than the function, and have the size and time of the file.
        _forget(code.co_filename)
        lines = linecache.getlines(code.co_filename, fn.__globals__)
        found = _in_text(lines, code, partial(exactly, fn))
    if found is None and is_rewritten(fn):
        found = _in_text(lines, code, partial(within, fn))
    if found is not None:
        return found
    if not lines:
        raise errors.unsupported(
            f"The source of '{fn.__qualname__}' cannot be read ('{code.co_filename}').",
            "Define the function in a file or a notebook, not through exec, python -c or the plain prompt.",
        )
    raise errors.unsupported(
        f"The source of '{fn.__qualname__}' at {code.co_filename}:{code.co_firstlineno} is no longer its definition.",
        "Import the module again after editing it.",
    )


def _forget(file: str) -> None:
    kept = linecache.cache.get(file)
    if (
        kept is not None and len(kept) > 1 and kept[1] is not None
    ):  # it is no text without a file, as of a notebook
        linecache.cache.pop(file, None)


def _in_text(lines: list[str], code: CodeType, fits: _Fits) -> Definition | None:
    """The definition of a code in the lines of its file; None where there is none."""
    found = _in_block(lines, code, fits)
    if found is not None or not lines:
        return found
    try:
        tree = ast.parse("".join(lines), code.co_filename)
    except SyntaxError:
        return None
    return _find(tree, code, fits, _imports(tree))


def _imports(module: ast.Module) -> set[str]:
    """Names that a module's own statements import: Python compiles calls of their attributes in another way."""
    found: set[str] = set()
    todo: list[ast.AST] = [module]
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = {alias.asname or alias.name.partition(".")[0] for alias in node.names}
            found |= names - {"*"}
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.expr)):
            todo += ast.iter_child_nodes(node)
    return found


def _imports_at_the_margin(lines: list[str]) -> set[str]:
    """The same from the lines that begin with an import alone; nothing where they are not understood."""
    text = []
    for position, line in enumerate(lines):
        if line.startswith(("import ", "from ")):
            end = position + 1
            if "(" in line:
                while end < len(lines) and ")" not in lines[end - 1]:
                    end += 1
            text += lines[position:end]
    try:
        return _imports(ast.parse("".join(text)))
    except SyntaxError:
        return set()


def _in_block(lines: list[str], code: CodeType, fits: _Fits) -> Definition | None:
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
    return _find(tree, code, fits, _imports_at_the_margin(lines))


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


def _find(tree: ast.Module, code: CodeType, fits: _Fits, imported: set[str]) -> Definition | None:
    """The definition that fits, brought to its code's line: lines above it may have come or gone since."""

    def distance(node: Definition) -> int:
        return code.co_firstlineno - first_line(node)

    kind = ast.Lambda if code.co_name == "<lambda>" else ast.FunctionDef
    named = [
        node
        for node in ast.walk(tree)
        if isinstance(node, kind) and getattr(node, "name", code.co_name) == code.co_name
    ]
    best, how_well = None, 0
    for node in sorted(named, key=lambda node: abs(distance(node))):
        fit = fits(node, imported)
        if fit > how_well:
            best, how_well = node, fit
        if how_well == 2:
            break
    if best is not None:
        ast.increment_lineno(best, distance(best))
    return best

"""Every program that differs from a text in one element of its syntax, and texts that differ in nothing that counts."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Iterator
from typing import Any

_SWAPS: list[tuple[type[ast.AST], ...]] = [
    (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.FloorDiv, ast.Mod),
    (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq),
    (ast.And, ast.Or),
    (ast.USub, ast.UAdd),
    (ast.Is, ast.IsNot),
    (ast.In, ast.NotIn),
    (ast.BitAnd, ast.BitOr, ast.BitXor),
]
# What may stand in an attribute's, keyword's or text's place.
_WORDS = [
    ("sin", "cos", "tan"), ("sum", "max", "min", "mean"), ("float32", "float64", "int64"), ("zeros", "ones"),
    ("maximum", "minimum"), ("C", "F", "any", "inner"), ("sqrt", "exp", "log1p"), ("axis", "keepdims"),
    ("N", "M"), ("up", "down"), ("zeros_like", "ones_like"), ("floor", "ceil"), ("argmax", "argmin"),
]  # fmt: skip


def _constant(value: Any) -> Iterator[Any]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
        yield float(value)
    elif isinstance(value, float):
        yield value * 1.5
        yield -value
        if value.is_integer():
            yield int(value)
    elif isinstance(value, str):
        yield from _word(value)
    elif value is None:
        yield 1


def _word(text: str) -> Iterator[str]:
    for words in _WORDS:
        if text in words:
            yield from (word for word in words[:3] if word != text)


def _node(node: Any, names: list[str]) -> Iterator[Callable[[Any], None]]:
    """Each change of one node, as a function that makes it."""

    def set_(field: str, value: Any) -> Callable[[Any], None]:
        return lambda at: setattr(at, field, value)

    def swap(field: str, i: int, j: int) -> Callable[[Any], None]:
        def make(at: Any) -> None:
            part = getattr(at, field)
            part[i], part[j] = part[j], part[i]

        return make

    for field, value in ast.iter_fields(node):
        for kinds in _SWAPS:
            if isinstance(value, kinds):
                yield from (set_(field, kind()) for kind in kinds if not isinstance(value, kind))
            if isinstance(value, list) and len(value) == 1 and isinstance(value[0], kinds):
                yield from (set_(field, [kind()]) for kind in kinds if not isinstance(value[0], kind))
        if isinstance(value, list) and field in (
            "args",
            "elts",
            "comparators",
            "targets",
            "values",
            "keywords",
        ):
            yield from (swap(field, i, i + 1) for i in range(len(value) - 1))
    if isinstance(node, ast.Constant):
        yield from (set_("value", value) for value in _constant(node.value))
    elif isinstance(node, ast.Attribute):
        yield from (set_("attr", word) for word in _word(node.attr))
    elif isinstance(node, ast.keyword) and node.arg:
        yield from (set_("arg", word) for word in _word(node.arg))
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names:
        yield from (set_("id", names[(names.index(node.id) + k) % len(names)]) for k in (1, 2))
    elif isinstance(node, ast.Slice):
        yield from (
            set_(field, ast.Constant(1)) for field in ("lower", "upper") if getattr(node, field) is None
        )
        yield set_("step", ast.Constant(2))
    elif isinstance(node, ast.UnaryOp):
        yield lambda at: setattr(at, "op", ast.UAdd())
    elif isinstance(node, ast.IfExp):
        yield lambda at: (setattr(at, "body", at.orelse), None)[1]
    elif isinstance(node, ast.FunctionDef):
        yield from _signature(node)
    elif isinstance(node, ast.Try) and len(node.body) > 1:
        yield lambda at: at.orelse.insert(0, at.body.pop())
    if isinstance(node, ast.If) and node.orelse:
        yield lambda at: _exchange(at)
    for field in ("body", "orelse"):
        block = getattr(node, field, None)
        if isinstance(block, list) and block and not isinstance(node, (ast.Module, ast.ClassDef)):
            yield from (swap(field, i, i + 1) for i in range(len(block) - 1))
            if len(block) > 1:
                yield from (
                    (lambda at, i=i, field=field: getattr(at, field).pop(i)) for i in range(len(block))
                )


def _exchange(node: Any) -> None:
    node.body, node.orelse = node.orelse, node.body


def _signature(node: ast.FunctionDef) -> Iterator[Callable[[Any], None]]:
    """Other kinds of parameters: by name alone, by position alone, without its default."""
    if len(node.args.args) > 1:

        def by_name(at: Any) -> None:
            count = len(at.args.args)
            defaults = [None] * (count - len(at.args.defaults)) + at.args.defaults
            at.args.kwonlyargs.insert(0, at.args.args.pop())
            at.args.kw_defaults.insert(0, defaults.pop())
            at.args.defaults = [each for each in defaults if each is not None]

        def by_position(at: Any) -> None:
            at.args.posonlyargs.append(at.args.args.pop(0))

        yield by_name
        yield by_position
    if node.args.defaults:
        yield lambda at: at.args.defaults.pop(0)
    for option in ("bounds_check=False", "strict_scalars=True", "order='C'", "order='any'", "static='k'"):
        (keyword,) = ast.parse(f"f({option})", mode="eval").body.keywords  # type: ignore[attr-defined]

        def decorated(at: Any, keyword: ast.keyword = keyword) -> None:
            (decorator,) = at.decorator_list
            if not isinstance(decorator, ast.Call):
                decorator = ast.Call(decorator, [], [])
            decorator.keywords = [*(each for each in decorator.keywords if each.arg != keyword.arg), keyword]
            at.decorator_list = [decorator]

        if node.decorator_list:
            yield decorated


def mutants(text: str, names: list[str]) -> Iterator[tuple[str, str]]:
    """What was changed, and the text with this change alone. Names may stand in each other's place."""
    tree = ast.parse(text)
    plain = ast.unparse(tree)
    seen = {plain}
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.While)]
    endless = {id(part) for loop in loops for part in ast.walk(loop) if not isinstance(part, ast.Constant)}
    for position, node in enumerate(ast.walk(tree)):
        if id(node) in endless:  # as many of its changes would be
            continue
        for number, _ in enumerate(_node(node, names)):
            changed = copy.deepcopy(tree)
            at = list(ast.walk(changed))[position]
            list(_node(at, names))[number](at)
            ast.fix_missing_locations(changed)
            made = ast.unparse(changed)
            if made in seen:
                continue
            seen.add(made)
            line = getattr(node, "lineno", getattr(getattr(node, "value", None), "lineno", 0))
            yield f"{type(node).__name__} {line}.{number}", made


def same(text: str) -> Iterator[tuple[str, str]]:
    """Texts with the same meaning as far as anybody can see."""
    yield (
        "comments",
        "\n".join(f"{line}  # {i}" for i, line in enumerate(ast.unparse(ast.parse(text)).splitlines())),
    )
    yield "lines before", "# a comment\n\n\n" + text
    yield "blank lines", text.replace("\n", "\n\n")
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.body.insert(0, ast.Expr(ast.Constant(f"What {node.name} does.")))
    yield "docstrings", ast.unparse(tree)
    yield "another docstring", ast.unparse(tree).replace("What", "How")
    yield "parentheses", re.sub(r"return (.+)$", r"return (\1)", text, flags=re.M)
    yield (
        "an import that nothing uses",
        text.replace("import numpy as np", "import json\nimport numpy as np", 1),
    )
    yield "another function beside it", text + "\n\ndef unused(a):\n    return a\n"

"""Private names in a class's body, `__k`, as Python compiles them there: `_C__k`.

A definition that is read outside of its class keeps their meaning when each is written out. As in Python, this holds for
names, parameters, attributes, imports, and names that patterns, handlers, functions and classes bind; the keywords of calls
and of class patterns stay as they are. The body of a class within has that class's private names.
"""

from __future__ import annotations

import ast
from typing import Any


def write_out(node: Any, class_name: str | None) -> Any:
    """The definition with the private names of a class written out, in place. `class_name`: without leading underscores."""
    return _Private(class_name).visit(node)


class _Private(ast.NodeTransformer):
    def __init__(self, class_name: str | None) -> None:
        self._class_name = class_name

    def _mangled(self, name: Any) -> Any:
        if self._class_name is None or not isinstance(name, str):  # a handler or pattern need not bind one
            return name
        private = name.startswith("__") and not name.endswith("__") and "." not in name
        return f"_{self._class_name}{name}" if private else name

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self._mangled(node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.Attribute:
        node.attr = self._mangled(node.attr)
        self.generic_visit(node)
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.arg = self._mangled(node.arg)
        self.generic_visit(node)
        return node

    def _visit_named(self, node: Any) -> Any:
        node.name = self._mangled(node.name)
        return self.generic_visit(node)

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ExceptHandler = _visit_named
    visit_MatchAs = visit_MatchStar = _visit_named

    def visit_MatchMapping(self, node: ast.MatchMapping) -> Any:
        node.rest = self._mangled(node.rest)
        return self.generic_visit(node)

    def _visit_names(self, node: Any) -> Any:
        node.names = [self._mangled(name) for name in node.names]
        return node

    visit_Global = visit_Nonlocal = _visit_names

    def visit_alias(self, node: ast.alias) -> ast.alias:
        node.name, node.asname = self._mangled(node.name), self._mangled(node.asname)
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        node.module = self._mangled(node.module)
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        for part in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(part)
        # Before the class is renamed, which would change its own private names.
        inner = _Private(node.name.lstrip("_") or None)
        for statement in node.body:
            inner.visit(statement)
        node.name = self._mangled(node.name)
        return node

"""Which reads of a function's names may find them without a value.

Works on bodies whose exits are lowered. A read of a name that is not assigned on every way to it gets the attribute
`fr_unset`, as do the assignments `name += value` and the targets of `del` that read such a name. A function defined
within gets `fr_unsure`: the names of the functions around it that it may find so when it is called.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from .liveness import Names, Scope, assigned, plain_targets

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_OWN = "__fr_"  # prefix of the names that the rewrite makes, which are assigned where they are read

# The names assigned on every way to a place; None where no way leads to it.
Sure = Names | None


def mark_unset(scope: Scope, body: list[ast.stmt], unsure: Names) -> None:
    """Marks the reads of a function's body; `unsure` are names of functions around it that may have no value."""
    own = frozenset(name for name in scope.locals if not name.startswith(_OWN))
    reads = _Reads(own | (unsure - scope.locals), scope.nonlocals, _deleted(body))
    reads.block(body, scope.parameters)


def _meet(left: Sure, right: Sure) -> Sure:
    if left is None or right is None:
        return left if right is None else right
    return left & right


def _deleted(nodes: Iterable[ast.AST]) -> Names:
    return frozenset(
        part.id
        for node in nodes
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Del)
    )


class _Reads:
    """Walks statements in order. `names` are those to watch, `elsewhere` those of them that other functions assign,
    `deleted` all that a `del` takes away."""

    def __init__(self, names: Names, elsewhere: Names, deleted: Names) -> None:
        self.names = names
        self.elsewhere = elsewhere
        self.deleted = deleted

    def lost(self, nodes: Iterable[ast.AST]) -> Names:
        return _deleted(nodes) if self.deleted else frozenset()

    def block(self, statements: list[ast.stmt], sure: Sure) -> Sure:
        for statement in statements:
            sure = self.statement(statement, sure)
        return sure

    def statement(self, node: ast.stmt, sure: Sure) -> Sure:
        if sure is None:
            return None
        visit = getattr(self, f"_{type(node).__name__.lower()}", None)
        if visit is not None:
            result: Sure = visit(node, sure)
            return result
        self.read(node, sure)
        return self.bind(sure, assigned([node]))

    def bind(self, sure: Names, names: Iterable[str]) -> Names:
        return sure | (frozenset(names) - self.elsewhere)

    # -- statements

    def _if(self, node: ast.If, sure: Names) -> Sure:
        self.read(node.test, sure)
        return _meet(self.block(node.body, sure), self.block(node.orelse, sure))

    def _for(self, node: ast.For, sure: Names) -> Sure:
        self.read(node.iter, sure)
        sure -= self.lost([node])
        self.read(node.target, sure)
        self.block(node.body, self.bind(sure, plain_targets(node.target)))
        return sure

    def _while(self, node: ast.While, sure: Names) -> Sure:
        sure -= self.lost([node])
        self.read(node.test, sure)
        self.block(node.body, sure)
        return sure

    def _with(self, node: ast.With, sure: Names) -> Sure:
        for item in node.items:
            self.read(item.context_expr, sure)
            if item.optional_vars is not None:
                self.read(item.optional_vars, sure)
                sure = self.bind(sure, plain_targets(item.optional_vars))
        self.block(node.body, sure)
        # The manager may end the block early.
        return sure - self.lost(node.body)

    def _try(self, node: Any, sure: Names) -> Sure:
        behind = self.block(node.orelse, self.block(node.body, sure))
        interrupted = sure - self.lost(node.body)
        for handler in node.handlers:
            self.read(handler.type, interrupted)
            caught = self.bind(interrupted, [handler.name] if handler.name else [])
            left = self.block(handler.body, caught)
            behind = _meet(behind, left if left is None or not handler.name else left - {handler.name})
        before = sure - self.lost([node])
        final = self.block(node.finalbody, before)
        if behind is None or final is None:
            return None
        return (behind - self.lost(node.finalbody)) | final

    _trystar = _try

    def _match(self, node: ast.Match, sure: Names) -> Sure:
        self.read(node.subject, sure)
        behind: Sure = sure
        for case in node.cases:
            bound = self.bind(sure, assigned([case.pattern]))
            self.read(case.pattern, sure)
            self.read(case.guard, bound)
            behind = _meet(behind, self.block(case.body, bound))
        return behind

    def _return(self, node: ast.Return, sure: Names) -> Sure:
        self.read(node, sure)
        return None

    _raise = _return

    def _augassign(self, node: ast.AugAssign, sure: Names) -> Sure:
        self.read(node.value, sure)
        if not isinstance(node.target, ast.Name):
            self.read(node.target, sure)
            return sure
        self.mark(node, node.target.id, sure)
        return self.bind(sure, [node.target.id])

    def _delete(self, node: ast.Delete, sure: Names) -> Sure:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.mark(target, target.id, sure)
                sure -= {target.id}
            else:
                self.read(target, sure)
        return sure

    def _functiondef(self, node: ast.FunctionDef | ast.AsyncFunctionDef, sure: Names) -> Sure:
        for part in (*node.decorator_list, node.args):
            self.read(part, sure)
        node.fr_unsure = self.names - (sure - self.deleted)  # type: ignore[union-attr]
        return self.bind(sure, [node.name])

    _asyncfunctiondef = _functiondef

    def _classdef(self, node: ast.ClassDef, sure: Names) -> Sure:
        for part in (*node.decorator_list, *node.bases):
            self.read(part, sure)
        return self.bind(sure, [node.name])

    # -- expressions

    def mark(self, node: ast.AST, name: str, sure: Names) -> None:
        if name in self.names and name not in sure:
            node.fr_unset = True  # type: ignore[attr-defined]

    def read(self, node: ast.AST | None, sure: Names) -> None:
        """Marks the names that an expression, or a statement without a body, reads."""
        if node is None:
            return
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                self.mark(node, node.id, sure)
        elif isinstance(node, ast.Lambda):
            self.read(node.args, sure)
            parameters = [part.arg for part in ast.walk(node.args) if isinstance(part, ast.arg)]
            self.read(node.body, (sure - self.deleted) | frozenset(parameters))
        elif isinstance(node, _COMPREHENSIONS):
            self.read(node.generators[0].iter, sure)
            targets = (name for generator in node.generators for name in plain_targets(generator.target))
            inner = sure | frozenset(targets)
            for child in ast.iter_child_nodes(node):
                self.read(child, inner)
        else:
            for child in ast.iter_child_nodes(node):
                self.read(child, sure)

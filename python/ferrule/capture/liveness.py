"""Which names of a function are assigned where, and which are still needed at the entry and the end of its regions.

Works on bodies whose exits are lowered. Every `if`, `for` and `while` gets the attributes `fr_after` (names live behind
it) and `fr_entry` (names live where a branch or an iteration begins).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

Names = frozenset[str]


class Scope:
    """The names of one function: what it binds, and what functions defined in it read."""

    def __init__(self, arguments: ast.arguments, body: list[ast.stmt]) -> None:
        own = list(_own(body))
        self.parameters = frozenset(argument.arg for argument in _arguments(arguments))
        self.globals = frozenset(name for node in own if isinstance(node, ast.Global) for name in node.names)
        self.nonlocals = frozenset(
            name for node in own if isinstance(node, ast.Nonlocal) for name in node.names
        )
        self.locals = (self.parameters | assigned(body)) - self.globals - self.nonlocals
        # Read or bound by inner functions, which may run at any time.
        self.shared = frozenset(name for node in own for name in _free(node))
        # Rebound by inner functions: any region that calls one may change them.
        self.rebound = frozenset(name for node in own for name in _rebound(node)) & self.locals


def annotate(scope: Scope, body: list[ast.stmt]) -> None:
    """Writes the live names on the regions of a function's body."""
    _Liveness(scope.shared | scope.nonlocals).block(body, frozenset())


def assigned(statements: Iterable[ast.AST]) -> Names:
    """Names that statements bind in their own scope."""
    names: set[str] = set()
    for node in _own(statements):
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            names.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names.update(alias.asname or alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            names.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            names.add(node.rest)
    return frozenset(names)


def _arguments(arguments: ast.arguments) -> list[ast.arg]:
    optional = [argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *optional]


def _own(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Nodes that belong to the scope of the given ones: not the bodies of functions and classes defined in it, and not
    the targets of comprehensions."""
    stack = list(nodes)
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            stack += [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]
        elif isinstance(node, ast.Lambda):
            stack += [*node.args.defaults, *filter(None, node.args.kw_defaults)]
        elif isinstance(node, ast.ClassDef):
            stack += [*node.decorator_list, *node.bases]
        elif isinstance(node, _COMPREHENSIONS):
            yield from (child for child in _own(ast.iter_child_nodes(node)) if not _stores_plainly(child))
            yield from (part for part in ast.walk(node) if isinstance(part, ast.NamedExpr))
            yield from (part.target for part in ast.walk(node) if isinstance(part, ast.NamedExpr))
        else:
            stack += ast.iter_child_nodes(node)


def _stores_plainly(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _free(node: ast.AST) -> Names:
    """Names that a function or class defined at `node` takes from the scopes around it."""
    if isinstance(node, ast.ClassDef):
        parts = [part for child in node.body for part in ast.walk(child)]
        return frozenset(part.id for part in parts if isinstance(part, ast.Name))
    if not isinstance(node, _FUNCTIONS):
        return frozenset()
    body = [node.body] if isinstance(node, ast.Lambda) else node.body
    scope = Scope(node.args, body)  # type: ignore[arg-type]
    mentioned = frozenset(part.id for part in _own(body) if isinstance(part, ast.Name)) | _used(*body)
    return (mentioned | scope.nonlocals | scope.shared) - scope.locals - scope.globals


def _rebound(node: ast.AST) -> Names:
    """Names that a function defined at `node`, or one within it, declares nonlocal."""
    if not isinstance(node, _FUNCTIONS):
        return frozenset()
    return frozenset(name for part in ast.walk(node) if isinstance(part, ast.Nonlocal) for name in part.names)


def _used(*nodes: ast.AST | None) -> Names:
    """Names that the nodes may read when they run; more than they do is harmless."""
    names: set[str] = set()
    for node in nodes:
        if node is None:
            continue
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Store):
                names.add(node.id)
        elif isinstance(node, ast.Lambda):
            names |= _used(*node.args.defaults, *node.args.kw_defaults)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            names |= _used(*node.decorator_list, *node.args.defaults, *node.args.kw_defaults)
        elif isinstance(node, _COMPREHENSIONS):
            bound = {
                part.id for part in ast.walk(node) if isinstance(part, ast.Name) and _stores_plainly(part)
            }
            inner = _used(*ast.iter_child_nodes(node)) - bound
            names |= inner | _used(node.generators[0].iter)
        else:
            names |= _used(*ast.iter_child_nodes(node))
    return frozenset(names)


class _Liveness:
    """Walks statements backwards, writing live names on regions. What a block needs whatever is live behind it is found
    once, so that nested loops are walked a number of times that does not grow with their depth."""

    def __init__(self, always: Names) -> None:
        self.always = always
        self.needs: dict[tuple[int, Names], Names] = {}
        self.measuring = False

    def block(self, statements: list[ast.stmt], after: Names) -> Names:
        live = after | self.always
        for statement in reversed(statements):
            live = self.statement(statement, live) | self.always
        return live

    def statement(self, node: ast.stmt, after: Names) -> Names:
        if isinstance(node, ast.If):
            entry = self.block(node.body, after) | self.block(node.orelse, after)
            node.fr_after, node.fr_entry = after, entry  # type: ignore[attr-defined]
            return _used(node.test) | entry
        if isinstance(node, ast.For):
            targets = frozenset(
                n.id for n in ast.walk(node.target) if _stores_plainly(n) and isinstance(n, ast.Name)
            )
            body = [*_target_uses(node), *node.body]
            return _used(node.iter) | self.loop(node, body, after, targets, frozenset())
        if isinstance(node, ast.While):
            return self.loop(node, node.body, after, frozenset(), _used(node.test))
        if isinstance(node, ast.Try) or type(node).__name__ == "TryStar":
            return self.attempt(node, after)
        if isinstance(node, (ast.With, ast.AsyncWith)):
            live = self.block(node.body, after)
            bound = frozenset(
                item.optional_vars.id for item in node.items if isinstance(item.optional_vars, ast.Name)
            )
            return (live - bound) | _used(*node.items)
        if isinstance(node, ast.Match):
            cases = [self.block(case.body, after) | _used(case.pattern, case.guard) for case in node.cases]
            return after | _used(node.subject) | frozenset().union(*cases)
        if isinstance(node, ast.Return):
            return _used(node)
        if isinstance(node, ast.Raise):
            return _used(node) | self.always
        if isinstance(node, ast.Assign):
            killed = frozenset(name for target in node.targets for name in plain_targets(target))
            return (after - killed) | _used(*node.targets, node.value)
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            return (after - frozenset(plain_targets(node.target))) | _used(node.target, node.value)
        if isinstance(node, ast.AugAssign):
            target = frozenset(plain_targets(node.target))
            return after | target | _used(node.target, node.value)
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            return (after - {node.name}) | _used(node)
        return after | _used(node)

    def loop(
        self, node: ast.For | ast.While, body: list[ast.stmt], after: Names, bound: Names, test: Names
    ) -> Names:
        stop = getattr(node, "fr_stop", None)
        # Names that the next iteration needs are live at the end of this one: those beyond what the body itself needs
        # are in `entry` already.
        entry = after | test | ({stop} if stop else frozenset()) | (self.needed(node, body) - bound)
        if not self.measuring:
            node.fr_after = after  # type: ignore[union-attr]
            # `entry` also holds what is only live behind the loop; an iteration itself needs less.
            node.fr_entry = (self.block(body, entry) - bound) | test  # type: ignore[union-attr]
        return entry

    def needed(self, node: ast.stmt, body: list[ast.stmt]) -> Names:
        """The names live at the beginning of a loop's body if none were live behind it."""
        key = id(node), self.always
        if key not in self.needs:
            outer, self.measuring = self.measuring, True
            self.needs[key] = self.block(body, frozenset())
            self.measuring = outer
        return self.needs[key]

    def attempt(self, node: Any, after: Names) -> Names:
        final = self.block(node.finalbody, after)
        handlers = [self.block(handler.body, final) | _used(handler.type) for handler in node.handlers]
        caught: Names = frozenset().union(final, *handlers)
        outer, self.always = self.always, self.always | caught
        live = self.block(node.body, self.block(node.orelse, final))
        self.always = outer
        return live | caught


def _target_uses(node: ast.For) -> list[ast.stmt]:
    """Subscripts and attributes in a loop's target as a statement that uses them."""
    used = [part for part in ast.walk(node.target) if isinstance(part, (ast.Subscript, ast.Attribute))]
    return [ast.Expr(part) for part in used]


def plain_targets(target: ast.expr) -> Iterator[str]:
    """The names that an assignment to a target binds."""
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, (ast.Tuple, ast.List)):
        for item in target.elts:
            yield from plain_targets(item)
    elif isinstance(target, ast.Starred):
        yield from plain_targets(target.value)

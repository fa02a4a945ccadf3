"""Expressions of a syntax tree with their calls, loads, operators and comprehensions routed to the dispatcher.

New parts of a node have no place of their own: the caller gives them that of the node (ast.fix_missing_locations).
"""

from __future__ import annotations

import ast
from typing import Any

from .likeness import make_arguments
from .liveness import Scope

DISPATCHER = "__fr__"
PIECE = "__fr_piece"  # prefix of functions and parameters that are pieces of the function around them
_OWN = "__fr_"  # prefix of all names that the rewrite makes
# Calls that look at the frame of their caller stay as they are.
_FRAME_CALLS = {"super", "locals", "globals", "vars", "dir", "eval", "exec"}
# Those of them that read variables or attributes of which the rewrite sees nothing.
_READERS = {"globals", "vars", "eval", "exec"}


class Function:
    """A function that is being rewritten: its scope, where it stands, and the names each of its pieces binds."""

    def __init__(self, scope: Scope, outer: Function | None, first: str | None) -> None:
        self.scope = scope
        self.outer = outer
        self.first = first

    def is_local(self, name: str) -> bool:
        """Whether a name is bound by this function or by one around it in the same source."""
        function: Function | None = self
        while function is not None:
            if name in function.scope.globals:
                return False
            if name in function.scope.locals:
                return True
            function = function.outer
        return False


class ExpressionRewriter(ast.NodeTransformer):
    """Rewrites the expressions of one function, `function_`."""

    def __init__(self) -> None:
        self.function_: Function
        self.comprehension: list[frozenset[str]] = []  # what the comprehensions around an expression bind

    def route(self, name: str, arguments: list[ast.expr], where: ast.AST) -> ast.Call:
        route = ast.Attribute(value=load_name(DISPATCHER), attr=name, ctx=ast.Load())
        call = ast.copy_location(ast.Call(func=route, args=arguments, keywords=[]), where)
        # Python gives a method call the line on which its attribute ends.
        at = (call.lineno, call.col_offset)
        if isinstance(where, ast.Call) and isinstance(where.func, ast.Attribute):
            at = (where.func.end_lineno or call.lineno, max((where.func.end_col_offset or 1) - 1, 0))
        route.lineno = route.end_lineno = at[0]
        route.col_offset, route.end_col_offset = at[1], at[1] + 1
        return call

    def operand(self, node: ast.expr, where: ast.AST) -> ast.expr:
        """A parameterless function that evaluates an expression when it is needed."""
        parameters = make_arguments()
        parameters.vararg = ast.arg(arg=f"{PIECE}_unused__")
        return ast.copy_location(ast.Lambda(args=parameters, body=node), where)

    def visit_Call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Name) and node.func.id in _FRAME_CALLS:
            if node.func.id == "super" and not node.args and self.function_.first is not None:
                node.args = [load_name("__class__"), load_name(self.function_.first)]
                return node
            reads = node.func.id in _READERS and self.is_outside(node.func.id)
            whose = ast.Constant(node.func.id)
            self.generic_visit(node)
            return self.route("read_whole", [node, whose], node) if reads else node
        function = self.visit(node.func)
        arguments = [self.visit(argument) for argument in node.args]
        keywords = [self.visit(keyword) for keyword in node.keywords]
        call = self.route("call", [function, *arguments], node)
        call.keywords = keywords
        return call

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        index = node.slice
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        return self.route("getitem", [node.value, self._index(node.slice, index)], node)

    def _index(self, node: ast.expr, where: ast.AST) -> ast.expr:
        """An index as a value: slices become calls of slice, also inside tuples."""
        if isinstance(node, ast.Slice):
            parts = [part or ast.Constant(None) for part in (node.lower, node.upper, node.step)]
            return self.route("slice", parts, where)
        if isinstance(node, ast.Tuple):
            node.elts = [self._index(item, item) for item in node.elts]
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        if binds(node):
            return self.generic_visit(node)
        first, *rest = [self.visit(value) for value in node.values]
        route = "and_" if isinstance(node.op, ast.And) else "or_"
        return self.route(route, [first, *(self.operand(value, value) for value in rest)], node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        self.generic_visit(node)
        return self.route("not_", [node.operand], node) if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node: ast.Compare) -> Any:
        by_identity = isinstance(node.ops[0], (ast.Is, ast.IsNot)) and not any(
            isinstance(part, ast.Constant) and part.value is None for part in (node.left, *node.comparators)
        )
        chained = (len(node.ops) > 1 or by_identity) and not binds(node)
        of_sequences = len(node.ops) == 1 and not by_identity and _may_be_sequences(node)
        self.generic_visit(node)
        if of_sequences:
            operator = ast.Constant(type(node.ops[0]).__name__)
            return self.route("compare", [operator, node.left, node.comparators[0]], node)
        if not chained:
            return node
        names = ast.Constant(tuple(type(op).__name__ for op in node.ops))  # type: ignore[arg-type]
        operands = [self.operand(operand, operand) for operand in node.comparators]
        return self.route("chain", [names, node.left, *operands], node)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        if binds(node):
            return self.generic_visit(node)
        self.generic_visit(node)
        operands = [self.operand(node.body, node.body), self.operand(node.orelse, node.orelse)]
        return self.route("if_exp", [node.test, *operands], node)

    def _comprehension(self, node: Any) -> Any:
        bound = frozenset(
            part.id
            for generator in node.generators
            for part in ast.walk(generator.target)
            if isinstance(part, ast.Name)
        )
        first = self.visit(node.generators[0].iter)
        self.comprehension.append(bound)
        for position, generator in enumerate(node.generators):
            generator.iter = first if position == 0 else self.visit(generator.iter)
            generator.target = self.visit(generator.target)
            generator.ifs = [self.route("keeps", [self.visit(test)], test) for test in generator.ifs]
        for field in ("elt", "key", "value"):
            if hasattr(node, field):
                setattr(node, field, self.visit(getattr(node, field)))
        self.comprehension.pop()
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_Name(self, node: ast.Name) -> Any:
        if isinstance(node.ctx, ast.Load) and self.is_outside(node.id):
            return self.route("load", [node, ast.Constant(node.id)], node)
        unset = isinstance(node.ctx, ast.Load) and getattr(node, "fr_unset", False)
        return self.bound_read(node.id, node) if unset else node

    def bound_read(self, name: str, where: ast.AST) -> ast.Call:
        """The read of a name that may have no value."""
        return self.route("bound", [self.operand(load_name(name), where), ast.Constant(name)], where)

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        path = _path(node)
        if isinstance(node.ctx, ast.Load) and path is not None and self.is_outside(path.partition(".")[0]):
            return self.route("load", [node, ast.Constant(path)], node)
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            return self.route("attribute", [node.value, ast.Constant(node.attr)], node)
        return node

    def is_outside(self, name: str) -> bool:
        """Whether a name is a global, a builtin or a cell of the function that was given, not its own."""
        if any(name in bound for bound in self.comprehension) or name.startswith(_OWN):
            return False
        return not self.function_.is_local(name)


def binds(node: ast.AST) -> bool:
    """Whether an expression binds a name (:=), which an operand in a function of its own could not."""
    return any(isinstance(part, ast.NamedExpr) for part in ast.walk(node))


def _may_be_sequences(node: ast.Compare) -> bool:
    """Whether one comparison may be one of tuples or lists, or with what they hold."""
    if isinstance(node.ops[0], (ast.Is, ast.IsNot)):
        return False
    if isinstance(node.ops[0], (ast.In, ast.NotIn)):
        return True
    return not any(isinstance(part, (ast.Constant, ast.UnaryOp)) for part in (node.left, node.comparators[0]))


def _path(node: ast.expr) -> str | None:
    """'a.b.c' for attributes of a name."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = _path(node.value)
        return None if base is None else f"{base}.{node.attr}"
    return None


def load_name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def name_tuple(names: frozenset[str]) -> ast.Constant:
    return ast.Constant(tuple(sorted(names)))  # type: ignore[arg-type]

"""The syntax tree of a function with its control flow, calls and loads routed to the dispatcher.

Works on one function, whose private names are written out, and those nested in it. The bodies of regions become
functions ("pieces") that declare the names they share with the function around them nonlocal; names that are not live at
the ends of a piece are its own.
"""

from __future__ import annotations

import ast
from typing import Any

from .exits import lower_exits
from .expressions import PIECE, ExpressionRewriter, Function, binds, load_name, name_tuple
from .likeness import make_arguments, make_function
from .liveness import Scope, annotate, assigned
from .unset import mark_unset


class Rewriter(ExpressionRewriter):
    """Rewrites statements and expressions of one function, and of those nested in it."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces = 0
        # For the function and each piece around the current statement: names that it declares nonlocal, names that
        # its pieces declare nonlocal.
        self.levels: list[tuple[frozenset[str], set[str]]] = []

    def function(self, node: ast.FunctionDef, outer: Function | None) -> ast.FunctionDef:
        saved = getattr(self, "function_", None), self.levels, self.comprehension
        node.body = lower_exits(node.body)
        scope = Scope(node.args, node.body)
        annotate(scope, node.body)
        mark_unset(scope, node.body, getattr(node, "fr_unsure", frozenset()))
        self.function_ = Function(scope, outer, self._first_parameter(node.args))
        self.levels, self.comprehension = [], []
        node.body = self._level(node.body, scope.nonlocals, scope.parameters, scope.globals, node)
        self.function_, self.levels, self.comprehension = saved  # type: ignore[assignment]
        return node

    def lambda_(self, node: ast.Lambda, outer: Function | None) -> ast.Lambda:
        saved = getattr(self, "function_", None), self.levels, self.comprehension
        scope = Scope(node.args, [ast.Expr(node.body)])
        self.function_ = Function(scope, outer, self._first_parameter(node.args))
        self.levels, self.comprehension = [], []
        node.body = self.visit(node.body)
        self.function_, self.levels, self.comprehension = saved  # type: ignore[assignment]
        return node

    @staticmethod
    def _first_parameter(arguments: ast.arguments) -> str | None:
        positional = [*arguments.posonlyargs, *arguments.args]
        return positional[0].arg if positional else None

    def _level(
        self,
        body: list[ast.stmt],
        nonlocals: frozenset[str],
        parameters: frozenset[str],
        globals_: frozenset[str],
        where: ast.AST,
    ) -> list[ast.stmt]:
        """The statements of the function or a piece, behind the declarations that they need."""
        self.levels.append((nonlocals, set()))
        lines = self._block(body)
        _, wanted = self.levels.pop()
        head: list[ast.stmt] = []
        if nonlocals:
            head.append(ast.Nonlocal(names=sorted(nonlocals)))
        if globals_:
            head.append(ast.Global(names=sorted(globals_)))
        missing = sorted(wanted - nonlocals - parameters - globals_)
        if missing:
            # Binds the names here without an effect, so that pieces can share them.
            targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in missing]
            binding = ast.Assign(targets=targets, value=ast.Constant(None))
            head.append(ast.If(test=ast.Constant(False), body=[binding], orelse=[]))
        for statement in head:
            ast.copy_location(statement, where)
        return [*head, *lines] or [ast.copy_location(ast.Pass(), where)]

    def _block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for statement in statements:
            made = self.visit(statement)
            result += made if isinstance(made, list) else [] if made is None else [made]
        return result

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        node.decorator_list = [self.visit(item) for item in node.decorator_list]
        self._visit_defaults(node.args)
        if any(isinstance(part, (ast.Yield, ast.YieldFrom, ast.Await)) for part in ast.walk(node)):
            return node
        return self.function(node, self.function_)

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        self._visit_defaults(node.args)
        if any(isinstance(part, (ast.Yield, ast.YieldFrom, ast.Await)) for part in ast.walk(node)):
            return node
        return self.lambda_(node, self.function_)

    def _visit_defaults(self, arguments: ast.arguments) -> None:
        arguments.defaults = [self.visit(item) for item in arguments.defaults]
        arguments.kw_defaults = [None if item is None else self.visit(item) for item in arguments.kw_defaults]

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> Any:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        return node

    # -- regions

    def _piece(
        self, kind: str, body: list[ast.stmt], state: frozenset[str], where: ast.AST, item: str | None = None
    ) -> tuple[str, ast.stmt]:
        """A nested function that runs statements and shares the names of `state`."""
        self.pieces += 1
        name = f"{PIECE}_{kind}_{self.pieces}__"
        globals_ = assigned(body) & self.function_.scope.globals
        nonlocals = (assigned(body) | self.function_.scope.rebound) & state
        self.levels[-1][1].update(nonlocals - self.function_.scope.nonlocals)
        lines = self._level(body, nonlocals, frozenset(), globals_, where)
        function = make_function(name, make_arguments(*([item] if item else [])), lines)
        return name, ast.copy_location(function, where)

    def _state(self, node: ast.stmt, names: frozenset[str]) -> frozenset[str]:
        names |= self.function_.scope.rebound
        live: frozenset[str] = node.fr_after | node.fr_entry  # type: ignore[attr-defined]
        return (names & live) - self.function_.scope.globals

    def _call_piece(self, route: str, where: ast.stmt, arguments: list[ast.expr]) -> ast.stmt:
        call = self.route(route, arguments, where)
        # The line of a compound statement is its first.
        call.end_lineno, call.end_col_offset = where.lineno, where.col_offset + 1
        return ast.copy_location(ast.Expr(call), call)

    def visit_If(self, node: ast.If) -> Any:
        state = self._state(node, assigned([*node.body, *node.orelse]))
        test = self.visit(node.test)
        then, then_def = self._piece("then", node.body, state, node)
        arguments = [test, load_name(then), ast.Constant(None), name_tuple(state & node.fr_after)]  # type: ignore[attr-defined]
        definitions = [then_def]
        if node.orelse:
            orelse, orelse_def = self._piece("else", node.orelse, state, node.orelse[0])
            arguments[2] = load_name(orelse)
            definitions.append(orelse_def)
        return [*definitions, self._call_piece("if_", node, arguments)]

    def visit_For(self, node: ast.For) -> Any:
        names = assigned([node.target, *node.body])
        state = self._state(node, names)
        entry, after = node.fr_entry & state, node.fr_after & state  # type: ignore[attr-defined]
        iterable = self.visit(node.iter)
        item = f"{PIECE}_item__"
        bind = ast.copy_location(ast.Assign(targets=[node.target], value=load_name(item)), node.target)
        body, definition_ = self._piece("for", [bind, *node.body], state, node, item)
        stop = ast.Constant(node.fr_stop)  # type: ignore[attr-defined]
        arguments = [iterable, load_name(body), name_tuple(state), name_tuple(entry), name_tuple(after), stop]
        return [definition_, self._call_piece("for_", node, arguments)]

    def visit_While(self, node: ast.While) -> Any:
        tested = [ast.copy_location(ast.Return(value=node.test), node.test)]
        state = self._state(node, assigned([node.test, *node.body]))
        entry, after = node.fr_entry & state, node.fr_after & state  # type: ignore[attr-defined]
        test, test_def = self._piece("test", list(tested), state, node.test)
        body, body_def = self._piece("while", node.body, state, node)
        stop = ast.Constant(node.fr_stop)  # type: ignore[attr-defined]
        arguments = [
            load_name(test),
            load_name(body),
            name_tuple(state),
            name_tuple(entry),
            name_tuple(after),
            stop,
        ]
        return [test_def, body_def, self._call_piece("while_", node, arguments)]

    # -- other statements

    def _visit_blocks(self, node: Any) -> Any:
        """Visits expressions in place and blocks statement by statement."""
        for field, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                setattr(node, field, self._block(value))
            elif isinstance(value, list):
                setattr(
                    node, field, [self.visit(item) if isinstance(item, ast.AST) else item for item in value]
                )
            elif isinstance(value, ast.AST):
                setattr(node, field, self.visit(value))
        return node

    visit_Try = visit_TryStar = visit_With = visit_Match = _visit_blocks
    visit_ExceptHandler = visit_match_case = _visit_blocks

    def _leave(self, node: ast.AST) -> ast.AST:
        return node

    visit_MatchValue = visit_MatchClass = visit_MatchMapping = _leave

    def visit_Global(self, node: ast.Global) -> Any:
        return ast.copy_location(ast.Pass(), node)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> Any:
        return ast.copy_location(ast.Pass(), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return self.visit(ast.copy_location(ast.Assign(targets=[node.target], value=node.value), node))

    def visit_Assign(self, node: ast.Assign) -> Any:
        self.generic_visit(node)
        return self._with_global_stores(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        self.generic_visit(node)
        if not getattr(node, "fr_unset", False):
            return self._with_global_stores(node)
        assert isinstance(node.target, ast.Name)
        value = self.bound_read(node.target.id, node.target)
        target = ast.copy_location(ast.Name(node.target.id, ast.Store()), node.target)
        return [ast.copy_location(ast.Assign(targets=[target], value=value), node), node]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        """What is imported is an attribute of a module that may be bound anew."""
        lines: list[ast.stmt] = [node]
        for alias in node.names:
            name = alias.asname or alias.name
            whence = [ast.Constant(node.module or ""), ast.Constant(node.level), ast.Constant(alias.name)]
            value = self.route("imported", [load_name(name), *whence], node)
            lines.append(ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], value), node))
        return lines

    def visit_Delete(self, node: ast.Delete) -> Any:
        names = [target for target in node.targets if getattr(target, "fr_unset", False)]
        self.generic_visit(node)
        reads = [self.bound_read(target.id, target) for target in names]  # type: ignore[attr-defined]
        return [*(ast.copy_location(ast.Expr(read), node) for read in reads), node]

    def _with_global_stores(self, node: ast.stmt) -> Any:
        globals_ = self.function_.scope.globals
        if not globals_:
            return node
        stores = [
            self._call_piece("global_store", node, [load_name(name), ast.Constant(name)])
            for name in sorted(assigned([node]) & globals_)
        ]
        return [node, *stores]

    def visit_Assert(self, node: ast.Assert) -> Any:
        if not __debug__:
            return ast.copy_location(ast.Pass(), node)
        message = ast.Constant(None) if node.msg is None else self.operand(self.visit(node.msg), node)
        return self._call_piece("assert_", node, [self.visit(node.test), message])

    def visit_Raise(self, node: ast.Raise) -> Any:
        if node.exc is None:
            return node
        if binds(node.exc):
            node.exc = self.route("raising", [self.visit(node.exc)], node)
        else:
            node.exc = self.route("raising_made", [self.operand(self.visit(node.exc), node.exc)], node)
        if node.cause is not None:
            node.cause = self.visit(node.cause)
        return node

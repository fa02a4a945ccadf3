"""The syntax tree of a function with its control flow, calls and loads routed to the dispatcher.

Works on one function, whose private names are written out, and those nested in it. The bodies of regions become functions ("pieces") that declare the names
they share with the function around them nonlocal; names that are not live at the ends of a piece are its own. New parts
of a node have no place of their own: the caller gives them that of the node (ast.fix_missing_locations).
"""

from __future__ import annotations

import ast
from typing import Any

from .exits import lower_exits
from .likeness import make_arguments, make_function
from .liveness import Scope, annotate, assigned
from .unset import mark_unset

DISPATCHER = "__fr__"
PIECE = "__fr_piece"  # prefix of functions and parameters that are pieces of the function around them
_OWN = "__fr_"  # prefix of all names that the rewrite makes
# Calls that look at the frame of their caller stay as they are.
_FRAME_CALLS = {"super", "locals", "globals", "vars", "dir", "eval", "exec"}
# Those of them that read variables or attributes of which the rewrite sees nothing.
_READERS = {"globals", "vars", "eval", "exec"}


class _Function:
    """A function that is being rewritten: its scope, where it stands, and the names each of its pieces binds."""

    def __init__(self, scope: Scope, outer: _Function | None, first: str | None) -> None:
        self.scope = scope
        self.outer = outer
        self.first = first

    def is_local(self, name: str) -> bool:
        """Whether a name is bound by this function or by one around it in the same source."""
        function: _Function | None = self
        while function is not None:
            if name in function.scope.globals:
                return False
            if name in function.scope.locals:
                return True
            function = function.outer
        return False


class Rewriter(ast.NodeTransformer):
    """Rewrites statements and expressions of one function, and of those nested in it."""

    def __init__(self) -> None:
        self.function_: _Function
        self.pieces = 0
        self.comprehension: list[frozenset[str]] = []
        # For the function and each piece around the current statement: names that it declares nonlocal, names that
        # its pieces declare nonlocal.
        self.levels: list[tuple[frozenset[str], set[str]]] = []

    # -- functions

    def function(self, node: ast.FunctionDef, outer: _Function | None) -> ast.FunctionDef:
        saved = getattr(self, "function_", None), self.levels, self.comprehension
        node.body = lower_exits(node.body)
        scope = Scope(node.args, node.body)
        annotate(scope, node.body)
        mark_unset(scope, node.body, getattr(node, "fr_unsure", frozenset()))
        self.function_ = _Function(scope, outer, self._first_parameter(node.args))
        self.levels, self.comprehension = [], []
        node.body = self._level(node.body, scope.nonlocals, scope.parameters, scope.globals, node)
        self.function_, self.levels, self.comprehension = saved  # type: ignore[assignment]
        return node

    def lambda_(self, node: ast.Lambda, outer: _Function | None) -> ast.Lambda:
        saved = getattr(self, "function_", None), self.levels, self.comprehension
        scope = Scope(node.args, [ast.Expr(node.body)])
        self.function_ = _Function(scope, outer, self._first_parameter(node.args))
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
        call = self._route(route, arguments, where)
        # The line of a compound statement is its first.
        call.end_lineno, call.end_col_offset = where.lineno, where.col_offset + 1
        return ast.copy_location(ast.Expr(call), call)

    def visit_If(self, node: ast.If) -> Any:
        state = self._state(node, assigned([*node.body, *node.orelse]))
        test = self.visit(node.test)
        then, then_def = self._piece("then", node.body, state, node)
        arguments = [test, _load(then), ast.Constant(None), _names(state & node.fr_after)]  # type: ignore[attr-defined]
        definitions = [then_def]
        if node.orelse:
            orelse, orelse_def = self._piece("else", node.orelse, state, node.orelse[0])
            arguments[2] = _load(orelse)
            definitions.append(orelse_def)
        return [*definitions, self._call_piece("if_", node, arguments)]

    def visit_For(self, node: ast.For) -> Any:
        names = assigned([node.target, *node.body])
        state = self._state(node, names)
        entry, after = node.fr_entry & state, node.fr_after & state  # type: ignore[attr-defined]
        iterable = self.visit(node.iter)
        item = f"{PIECE}_item__"
        bind = ast.copy_location(ast.Assign(targets=[node.target], value=_load(item)), node.target)
        body, definition_ = self._piece("for", [bind, *node.body], state, node, item)
        stop = ast.Constant(node.fr_stop)  # type: ignore[attr-defined]
        arguments = [iterable, _load(body), _names(state), _names(entry), _names(after), stop]
        return [definition_, self._call_piece("for_", node, arguments)]

    def visit_While(self, node: ast.While) -> Any:
        tested = [ast.copy_location(ast.Return(value=node.test), node.test)]
        state = self._state(node, assigned([node.test, *node.body]))
        entry, after = node.fr_entry & state, node.fr_after & state  # type: ignore[attr-defined]
        test, test_def = self._piece("test", list(tested), state, node.test)
        body, body_def = self._piece("while", node.body, state, node)
        stop = ast.Constant(node.fr_stop)  # type: ignore[attr-defined]
        arguments = [_load(test), _load(body), _names(state), _names(entry), _names(after), stop]
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

    visit_Try = visit_TryStar = visit_With = visit_Match = _visit_blocks  # noqa: N815
    visit_ExceptHandler = visit_match_case = _visit_blocks  # noqa: N815

    def _leave(self, node: ast.AST) -> ast.AST:
        return node

    visit_MatchValue = visit_MatchClass = visit_MatchMapping = _leave  # noqa: N815

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
        value = self._bound(node.target.id, node.target)
        target = ast.copy_location(ast.Name(node.target.id, ast.Store()), node.target)
        return [ast.copy_location(ast.Assign(targets=[target], value=value), node), node]

    def visit_Delete(self, node: ast.Delete) -> Any:
        names = [target for target in node.targets if getattr(target, "fr_unset", False)]
        self.generic_visit(node)
        reads = [self._bound(target.id, target) for target in names]  # type: ignore[attr-defined]
        return [*(ast.copy_location(ast.Expr(read), node) for read in reads), node]

    def _with_global_stores(self, node: ast.stmt) -> Any:
        globals_ = self.function_.scope.globals
        if not globals_:
            return node
        stores = [
            self._call_piece("global_store", node, [_load(name), ast.Constant(name)])
            for name in sorted(assigned([node]) & globals_)
        ]
        return [node, *stores]

    def visit_Assert(self, node: ast.Assert) -> Any:
        if not __debug__:
            return ast.copy_location(ast.Pass(), node)
        message = ast.Constant(None) if node.msg is None else self._operand(self.visit(node.msg), node)
        return self._call_piece("assert_", node, [self.visit(node.test), message])

    def visit_Raise(self, node: ast.Raise) -> Any:
        if node.exc is None:
            return node
        if _binds(node.exc):
            node.exc = self._route("raising", [self.visit(node.exc)], node)
        else:
            node.exc = self._route("raising_made", [self._operand(self.visit(node.exc), node.exc)], node)
        if node.cause is not None:
            node.cause = self.visit(node.cause)
        return node

    # -- expressions

    def _route(self, name: str, arguments: list[ast.expr], where: ast.AST) -> ast.Call:
        route = ast.Attribute(value=_load(DISPATCHER), attr=name, ctx=ast.Load())
        call = ast.copy_location(ast.Call(func=route, args=arguments, keywords=[]), where)
        # Python gives a method call the line on which its attribute ends.
        at = (call.lineno, call.col_offset)
        if isinstance(where, ast.Call) and isinstance(where.func, ast.Attribute):
            at = (where.func.end_lineno or call.lineno, max((where.func.end_col_offset or 1) - 1, 0))
        route.lineno = route.end_lineno = at[0]
        route.col_offset, route.end_col_offset = at[1], at[1] + 1
        return call

    def _operand(self, node: ast.expr, where: ast.AST) -> ast.expr:
        """A parameterless function that evaluates an expression when it is needed."""
        parameters = make_arguments()
        parameters.vararg = ast.arg(arg=f"{PIECE}_unused__")
        return ast.copy_location(ast.Lambda(args=parameters, body=node), where)

    def visit_Call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Name) and node.func.id in _FRAME_CALLS:
            if node.func.id == "super" and not node.args and self.function_.first is not None:
                node.args = [_load("__class__"), _load(self.function_.first)]
                return node
            reads = node.func.id in _READERS and self._is_outside(node.func.id)
            whose = ast.Constant(node.func.id)
            self.generic_visit(node)
            return self._route("read_whole", [node, whose], node) if reads else node
        function = self.visit(node.func)
        arguments = [self.visit(argument) for argument in node.args]
        keywords = [self.visit(keyword) for keyword in node.keywords]
        call = self._route("call", [function, *arguments], node)
        call.keywords = keywords
        return call

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        index = node.slice
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        return self._route("getitem", [node.value, self._index(node.slice, index)], node)

    def _index(self, node: ast.expr, where: ast.AST) -> ast.expr:
        """An index as a value: slices become calls of slice, also inside tuples."""
        if isinstance(node, ast.Slice):
            parts = [part or ast.Constant(None) for part in (node.lower, node.upper, node.step)]
            return self._route("slice", parts, where)
        if isinstance(node, ast.Tuple):
            node.elts = [self._index(item, item) for item in node.elts]
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        if _binds(node):
            return self.generic_visit(node)
        first, *rest = [self.visit(value) for value in node.values]
        route = "and_" if isinstance(node.op, ast.And) else "or_"
        return self._route(route, [first, *(self._operand(value, value) for value in rest)], node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        self.generic_visit(node)
        return self._route("not_", [node.operand], node) if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node: ast.Compare) -> Any:
        by_identity = isinstance(node.ops[0], (ast.Is, ast.IsNot)) and not any(
            isinstance(part, ast.Constant) and part.value is None for part in (node.left, *node.comparators)
        )
        chained = (len(node.ops) > 1 or by_identity) and not _binds(node)
        of_sequences = len(node.ops) == 1 and not by_identity and _may_be_sequences(node)
        self.generic_visit(node)
        if of_sequences:
            operator = ast.Constant(type(node.ops[0]).__name__)
            return self._route("compare", [operator, node.left, node.comparators[0]], node)
        if not chained:
            return node
        names = ast.Constant(tuple(type(op).__name__ for op in node.ops))  # type: ignore[arg-type]
        operands = [self._operand(operand, operand) for operand in node.comparators]
        return self._route("chain", [names, node.left, *operands], node)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        if _binds(node):
            return self.generic_visit(node)
        self.generic_visit(node)
        operands = [self._operand(node.body, node.body), self._operand(node.orelse, node.orelse)]
        return self._route("if_exp", [node.test, *operands], node)

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
            generator.ifs = [self._route("keeps", [self.visit(test)], test) for test in generator.ifs]
        for field in ("elt", "key", "value"):
            if hasattr(node, field):
                setattr(node, field, self.visit(getattr(node, field)))
        self.comprehension.pop()
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension  # noqa: N815

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        """What is imported is an attribute of a module that may be bound anew."""
        lines: list[ast.stmt] = [node]
        for alias in node.names:
            name = alias.asname or alias.name
            whence = [ast.Constant(node.module or ""), ast.Constant(node.level), ast.Constant(alias.name)]
            value = self._route("imported", [_load(name), *whence], node)
            lines.append(ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], value), node))
        return lines

    def visit_Name(self, node: ast.Name) -> Any:
        if isinstance(node.ctx, ast.Load) and self._is_outside(node.id):
            return self._route("load", [node, ast.Constant(node.id)], node)
        unset = isinstance(node.ctx, ast.Load) and getattr(node, "fr_unset", False)
        return self._bound(node.id, node) if unset else node

    def _bound(self, name: str, where: ast.AST) -> ast.Call:
        """The read of a name that may have no value."""
        return self._route("bound", [self._operand(_load(name), where), ast.Constant(name)], where)

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        path = _path(node)
        if isinstance(node.ctx, ast.Load) and path is not None and self._is_outside(path.partition(".")[0]):
            return self._route("load", [node, ast.Constant(path)], node)
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            return self._route("attribute", [node.value, ast.Constant(node.attr)], node)
        return node

    def _is_outside(self, name: str) -> bool:
        """Whether a name is a global, a builtin or a cell of the function that was given, not its own."""
        if any(name in bound for bound in self.comprehension) or name.startswith(_OWN):
            return False
        return not self.function_.is_local(name)


def _binds(node: ast.AST) -> bool:
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


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _names(names: frozenset[str]) -> ast.Constant:
    return ast.Constant(tuple(sorted(names)))  # type: ignore[arg-type]

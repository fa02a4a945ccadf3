"""Lowers return, break and continue to assignments, so that every region of a function ends at its end.

Where one branch of an `if` surely leaves, the statements behind the `if` move into the other branch. Elsewhere flags
tell whether something has left; they stay Python constants when all branches agree. A lowered loop has the attribute
`fr_stop`: the name of the flag that ends it, or None.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

RETURN = "__fr_return__"  # the value to return
DONE = "__fr_done__"  # a return was executed
BREAK = "__fr_break_{}__"
CONTINUE = "__fr_continue_{}__"

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def lower_exits(body: list[ast.stmt]) -> list[ast.stmt]:
    """The body of a function with its exits lowered, in place; a return at the very end alone stays as it is."""
    if body and isinstance(body[-1], ast.Return):
        head, last = body[:-1], [body[-1]]
    else:
        head, last = body, []
    if not _returns(head):
        return [*_Lowering().block(head, ()), *last]
    if not _surely_leave(body):
        body = [*body, _at(ast.Return(value=None), body[-1])]
    lowered = _Lowering().block(body, ())
    result = ast.Return(value=ast.Name(RETURN, ast.Load()))
    return [_assign(DONE, False, body[0]), *lowered, _at(result, body[-1])]


class _Lowering:
    """Numbers the loops of one function. `loop` holds the numbers of the loops around a block, innermost last."""

    def __init__(self) -> None:
        self.loops = 0

    def block(self, statements: list[ast.stmt], loop: tuple[int, ...]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for position, statement in enumerate(statements):
            rest = statements[position + 1 :]
            if isinstance(statement, (ast.Return, ast.Break, ast.Continue)):
                return result + self.leave(statement, loop)
            if isinstance(statement, (ast.For, ast.While)):
                returns = _returns(statement.body)
                lowered, behind = self.loop(statement, loop)
                result += lowered
                return result + self.unless_left({ast.Return} if returns else set(), [*behind, *rest], loop)
            kinds = {type(leaving) for leaving in _exits(statement, bool(loop))}
            if kinds and isinstance(statement, ast.If):
                if _surely_leave(statement.body):
                    statement.orelse, rest = [*statement.orelse, *rest], []
                elif _surely_leave(statement.orelse):
                    statement.body, rest = [*statement.body, *rest], []
            result.append(self.inside(statement, loop))
            if kinds:
                return result + self.unless_left(kinds, rest, loop)
        return result

    def leave(self, statement: ast.stmt, loop: tuple[int, ...]) -> list[ast.stmt]:
        if isinstance(statement, ast.Break):
            return [_assign(BREAK.format(loop[-1]), True, statement)]
        if isinstance(statement, ast.Continue):
            return [_assign(CONTINUE.format(loop[-1]), True, statement)]
        assert isinstance(statement, ast.Return)
        value = statement.value or ast.Constant(None)
        store = _at(ast.Assign(targets=[ast.Name(RETURN, ast.Store())], value=value), statement)
        flags = [DONE, *(BREAK.format(number) for number in loop)]
        return [store, *(_assign(flag, True, statement) for flag in flags)]

    def unless_left(self, kinds: set[type], rest: list[ast.stmt], loop: tuple[int, ...]) -> list[ast.stmt]:
        """`rest`, lowered, run only if what is in front of it, which may leave by `kinds`, has not left."""
        if not kinds or not rest:
            return self.block(rest, loop)
        flags = [] if loop else [DONE]
        if loop and kinds & {ast.Return, ast.Break}:
            flags.append(BREAK.format(loop[-1]))
        if loop and ast.Continue in kinds:
            flags.append(CONTINUE.format(loop[-1]))
        tests: list[ast.expr] = [ast.Name(flag, ast.Load()) for flag in flags]
        left = tests[0] if len(tests) == 1 else ast.BoolOp(op=ast.Or(), values=tests)
        body = self.block(rest, loop)
        return [_at(ast.If(test=ast.UnaryOp(op=ast.Not(), operand=left), body=body, orelse=[]), rest[0])]

    def loop(
        self, statement: ast.For | ast.While, outer: tuple[int, ...]
    ) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """The lowered loop without its else clause, and the clause as statements to run behind it."""
        self.loops += 1
        number = self.loops
        kinds = {type(leaving) for child in statement.body for leaving in _exits(child, True)}
        behind = statement.orelse
        if behind and ast.Break in kinds:
            test = ast.UnaryOp(op=ast.Not(), operand=ast.Name(BREAK.format(number), ast.Load()))
            behind = [_at(ast.If(test=test, body=behind, orelse=[]), behind[0])]
        statement.orelse = []
        statement.body = self.block(statement.body, (*outer, number))
        if ast.Continue in kinds:
            statement.body.insert(0, _assign(CONTINUE.format(number), False, statement))
        stops = bool(kinds & {ast.Return, ast.Break})
        statement.fr_stop = BREAK.format(number) if stops else None  # type: ignore[union-attr]
        return ([_assign(BREAK.format(number), False, statement)] if stops else []) + [statement], behind

    def inside(self, statement: ast.stmt, loop: tuple[int, ...]) -> ast.stmt:
        """A statement with the blocks in it lowered."""
        if isinstance(statement, _SCOPES):
            return statement
        if _is_try(statement):
            kinds = {type(leaving) for child in statement.body for leaving in _exits(child, bool(loop))}
            statement.body = self.block(statement.body, loop)
            statement.orelse = self.unless_left(kinds, statement.orelse, loop)
            statement.finalbody = self.block(statement.finalbody, loop)
            for handler in statement.handlers:
                handler.body = self.block(handler.body, loop)
        elif isinstance(statement, ast.Match):
            for case in statement.cases:
                case.body = self.block(case.body, loop)
        elif isinstance(statement, ast.If):
            statement.body = self.block(statement.body, loop)
            statement.orelse = self.block(statement.orelse, loop)
        elif isinstance(statement, (ast.With, ast.AsyncWith)):
            statement.body = self.block(statement.body, loop)
        return statement


def _is_try(statement: ast.stmt) -> TypeGuard[ast.Try]:
    """Whether it is a try statement, with `except` or with `except*` (3.11)."""
    return isinstance(statement, ast.Try) or type(statement).__name__ == "TryStar"


def _exits(node: ast.AST, in_loop: bool) -> Iterator[ast.stmt]:
    """Statements within `node` that leave it: returns, and where in_loop breaks and continues of the loop around it."""
    if isinstance(node, ast.Return) or (in_loop and isinstance(node, (ast.Break, ast.Continue))):
        yield node
    elif isinstance(node, (ast.For, ast.While)):
        for child in node.body:
            yield from _exits(child, False)
        for child in node.orelse:
            yield from _exits(child, in_loop)
    elif not isinstance(node, (*_SCOPES, ast.expr)):
        for inner in ast.iter_child_nodes(node):
            yield from _exits(inner, in_loop)


def _returns(statements: list[ast.stmt]) -> bool:
    return any(True for statement in statements for _ in _exits(statement, False))


def _surely_leave(statements: list[ast.stmt]) -> bool:
    return any(_surely_leaves(statement) for statement in statements)


def _surely_leaves(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.If):
        return _surely_leave(statement.body) and _surely_leave(statement.orelse)
    return isinstance(statement, (ast.Return, ast.Break, ast.Continue, ast.Raise))


def _assign(name: str, value: bool, where: ast.stmt) -> ast.stmt:
    return _at(ast.Assign(targets=[ast.Name(name, ast.Store())], value=ast.Constant(value)), where)


def _at(node: ast.stmt, where: ast.AST) -> ast.stmt:
    """The node with the location of `where` on every new part of it."""
    return ast.fix_missing_locations(ast.copy_location(node, where))

"""Python's comparisons of tuples and lists, and `in`, where traced numbers decide them.

Python would ask each comparison of two items for its truth at once; the routes of the dispatcher take it as one that the
run decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .base import Number, holds_traced

_OPERATORS = {"Eq", "NotEq", "Lt", "LtE", "Gt", "GtE"}
_MEMBERSHIP = {"In", "NotIn"}


def decides(name: str, left: Any, right: Any) -> bool:
    """Whether a comparison, as `ast` names it, is one of those here."""
    if name in _MEMBERSHIP:
        if isinstance(left, Number) and isinstance(right, (set, frozenset, range)):
            return True
        return isinstance(right, (tuple, list)) and (isinstance(left, Number) or holds_traced((left, *right)))
    if name not in _OPERATORS:
        return False
    return any(isinstance(left, kind) and isinstance(right, kind) for kind in (tuple, list)) and holds_traced(
        (*left, *right)
    )


def compare(routes: Any, name: str, left: Any, right: Any) -> Any:
    """The comparison by the dispatcher's routes for `and`, `or` and the conditional expression."""
    if name in _MEMBERSHIP:
        found = _among(routes, left, right)
        return found if name == "In" else routes.not_(found)
    if name in ("Eq", "NotEq"):
        equal = _equal(routes, left, right)
        return equal if name == "Eq" else routes.not_(equal)
    return _ordered(routes, name, left, right)


def _among(routes: Any, item: Any, container: Any) -> Any:
    if isinstance(container, range):
        step = container.step
        low, high = (container[0], container[-1]) if container else (0, -1)
        low, high = min(low, high), max(low, high)
        return routes.and_(item >= low, lambda: item <= high, lambda: (item - low) % step == 0)
    return _any_of(routes, [_later(_same, routes, item, other) for other in container])


def _equal(routes: Any, left: Sequence[Any], right: Sequence[Any]) -> Any:
    if len(left) != len(right):
        return False
    pairs = [_later(_same, routes, *pair) for pair in zip(left, right, strict=True)]
    return routes.and_(pairs[0](), *pairs[1:]) if pairs else True


def _ordered(routes: Any, name: str, left: Sequence[Any], right: Sequence[Any]) -> Any:
    """The first items that differ decide, then the lengths."""
    if not left or not right:
        return routes.compare(name, len(left), len(right))
    return routes.if_exp(
        _same(routes, left[0], right[0]),
        lambda: _ordered(routes, name, left[1:], right[1:]),
        lambda: routes.compare(name, left[0], right[0]),
    )


def _same(routes: Any, left: Any, right: Any) -> Any:
    """Items are equal where they are one object, too; Python asks for the truth of what their comparison gives."""
    from .scalars import bool_

    return True if left is right else bool_(routes.compare("Eq", left, right))


def _any_of(routes: Any, tests: list[Callable[[], Any]]) -> Any:
    return routes.or_(tests[0](), *tests[1:]) if tests else False


def _later(test: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    return lambda: test(*arguments)

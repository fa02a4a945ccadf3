"""How what a program returns is put together from the numbers and arrays that its module gives.

A node is the number of a result; ["array", number] for a number that becomes an array of no dimension; ["tuple", nodes]
or ["list", nodes]; or ["dict", pairs of a key's literal and a node].
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

Node = Any


def is_flat(node: Node) -> bool:
    """Whether a module gives this by itself: one result, or a tuple of all of them in order."""
    if isinstance(node, int):
        return True
    kind, parts = node
    return kind == "tuple" and bool(parts) and parts == list(range(len(parts)))


def assembler(node: Node | None) -> Callable[[tuple[Any, ...]], Any] | None:
    """A function from the tuple of a module's results to what the program returns; None where nothing is to do."""
    if node is None:
        return None
    made = _with_keys(node)
    return lambda results: _assemble(made, results, {})


def _with_keys(node: Node) -> Node:
    """The node with the keys of its dicts for their literals, which are not read again at each call."""
    if isinstance(node, int) or node[0] == "array":
        return node
    kind, parts = node
    if kind == "dict":
        return kind, [(ast.literal_eval(key), _with_keys(part)) for key, part in parts]
    return kind, [_with_keys(part) for part in parts]


def _assemble(node: Node, results: tuple[Any, ...], zero_rank: dict[int, Any]) -> Any:
    if isinstance(node, int):
        return results[node]
    kind, parts = node
    if kind == "array":
        if parts not in zero_rank:
            zero_rank[parts] = np.array(results[parts])
        return zero_rank[parts]
    if kind == "dict":
        return {key: _assemble(part, results, zero_rank) for key, part in parts}
    made = [_assemble(part, results, zero_rank) for part in parts]
    return tuple(made) if kind == "tuple" else made

"""What is called: the rows of the table, each a call as source text, and the contenders that peers enter for them."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

COUNTS = (1, 3, 10, 30)
EXTENT = 4
FLOOR = "METH_FASTCALL no-op"
FERRULE = "Ferrule"

Given = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """One kind of call over `f` and the names of `given`; `done` says of a contender's call whether it took place."""

    name: str
    call: str
    given: Callable[[], Given]
    done: Callable[[Given, Any], bool]


@dataclass(frozen=True)
class Contender:
    """A callable for one row. `call` and `extra` replace the row's text and add names where the peer needs others."""

    row: str
    peer: str
    function: Callable[..., Any]
    call: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    works: bool = True  # False for what does nothing, or something else


def names(count: int) -> list[str]:
    return [f"a{i}" for i in range(count)]


def arrays(count: int) -> Given:
    """Small float64 arrays; the last one is written."""
    return {name: np.arange(1.0, 1.0 + EXTENT) for name in names(count)}


def wrote(name: str, value: float = EXTENT) -> Callable[[Given, Any], bool]:
    return lambda given, result: float(np.from_dlpack(given[name])[0]) == value


def gave(value: float) -> Callable[[Given, Any], bool]:
    return lambda given, result: isinstance(result, float) and result == value


def gave_array(given: Given, result: Any) -> bool:
    made = np.from_dlpack(result)
    return made.shape == (EXTENT,) and made[0] == EXTENT


def plus_one(x: float) -> float:
    return x + 1.0


def tensors(count: int) -> Given:
    import torch

    return {name: torch.arange(1.0, 1.0 + EXTENT, dtype=torch.float64) for name in names(count)}


def plural(count: int) -> str:
    return f"{count} array{'s' if count > 1 else ''}"


def all_rows() -> list[Row]:
    """The rows in the order of the table; those of torch where it is installed."""
    found = []
    for n in COUNTS:
        given = ", ".join(names(n))
        found.append(Row(plural(n), f"f({given})", lambda n=n: arrays(n), wrote(f"a{n - 1}")))
    for n in (3, 10):
        given = ", ".join(f"{name}={name}" for name in names(n))
        found.append(Row(f"{plural(n)} by name", f"f({given})", lambda n=n: arrays(n), wrote(f"a{n - 1}")))
    three = lambda: arrays(3)  # noqa: E731
    one = lambda: arrays(1)  # noqa: E731
    found += [
        Row("3 arrays by name, another order", "f(a2=a2, a0=a0, a1=a1)", three, wrote("a2")),
        Row(
            "3 arrays, 3 scalars",
            "f(a0, a1, a2, x, k, b)",
            lambda: arrays(3) | {"x": 0.5, "k": 3, "b": True},
            wrote("a2", 4.5),
        ),
        Row("nested tuples", "f(a0, (None, (a1, a2)))", three, wrote("a0")),
        Row("a scalar result", "f(a0)", one, gave(1.0)),
        Row("a fresh array", "f(a0)", one, gave_array),
        Row("a workspace", "f(a0)", one, wrote("a0")),
        Row("state", "f(a0)", one, wrote("a0", 1.0)),
        Row("a callback", "f(g, x)", lambda: {"g": plus_one, "x": 0.5}, gave(1.5)),
    ]
    if importlib.util.find_spec("torch") is not None:
        found.append(Row("3 torch tensors", "f(a0, a1, a2)", lambda: tensors(3), wrote("a2")))
        found.append(Row("a fresh torch tensor", "f(a0)", lambda: tensors(1), gave_array))
    return found

"""NumPy programs that must capture and give NumPy's answer, by topic.

A program is a plain function under `@program(...)`, which notes how to make its arguments for a size n. Each is captured
at one size and run at others; NumPy itself is the oracle.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

TOPICS = (
    "elementwise",
    "composed",
    "stores",
    "views",
    "reductions",
    "loops",
    "creation",
    "scalars",
    "helpers",
    "extents",
    "algorithms",
    "refused",
)


@dataclass(frozen=True)
class Program:
    """One program: arguments for size n come from make(rng, n); sizes are tried in order, the first one captures.

    refused: words of the Unsupported message that is expected instead of a result. most: how many specialisations the
    sizes may cost. exact: floats must be equal, and zeros have equal signs.
    """

    topic: str
    fn: Callable[..., Any]
    make: Callable[[np.random.Generator, int], tuple[Any, ...]]
    sizes: Sequence[int]
    refused: str | None
    most: int
    rtol: float
    exact: bool

    @property
    def name(self) -> str:
        """Topic and function."""
        return f"{self.topic}.{self.fn.__name__}"


PROGRAMS: list[Program] = []


def program(
    make: Callable[[np.random.Generator, int], tuple[Any, ...]],
    sizes: Sequence[int] = (7, 0, 1, 2, 33, 64),
    *,
    refused: str | None = None,
    most: int = 4,
    rtol: float = 1e-12,
    exact: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers a program."""

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        topic = fn.__module__.rpartition(".")[2]
        PROGRAMS.append(Program(topic, fn, make, tuple(sizes), refused, most, rtol, exact))
        return fn

    return register


def load() -> list[Program]:
    """All programs."""
    for topic in TOPICS:
        importlib.import_module(f"{__name__}.{topic}")
    return PROGRAMS

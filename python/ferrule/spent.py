"""What compilations took: seconds by part, and how many there were."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Spent:
    """Seconds of one specialisation, by part, and how many traces, compiler runs and store hits it took."""

    capture: float = 0.0
    emit: float = 0.0
    build: float = 0.0
    store: float = 0.0
    load: float = 0.0
    captures: int = 0
    compiles: int = 0
    hits: int = 0
    stages: dict[str, float] = field(default_factory=dict)

    def told(self) -> dict[str, Any]:
        """The figures as `stats` of Function and Kernel tell them."""
        return {
            "captures": self.captures,
            "compiles": self.compiles,
            "hits": self.hits,
            "seconds": {
                "capture": self.capture,
                "compile": self.emit + self.build + self.store,
                "load": self.load,
            },
            "compiler": self.build,
            "stages": dict(self.stages),
        }

    def add(self, other: Spent) -> None:
        """Add another's figures to these."""
        for name in ("capture", "emit", "build", "store", "load", "captures", "compiles", "hits"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for stage, seconds in other.stages.items():
            self.stages[stage] = self.stages.get(stage, 0.0) + seconds


def print_times(name: str, spent: Spent) -> None:
    """What FERRULE_TIME shows: one line a compilation on stderr."""
    parts: Mapping[str, float] = {
        "capture": spent.capture,
        **spent.stages,
        "compiler": spent.build,
        "store": spent.store,
        "load": spent.load,
    }
    text = " ".join(f"{part}={seconds * 1e3:.2f}" for part, seconds in parts.items())
    print(f"ferrule: {name}: ms {text}", file=sys.stderr)

"""Interleaved timing: every contender runs in turn, round after round, so that noise hits all alike."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Timing:
    """Seconds of one contender: least, median, largest of its rounds."""

    least: float
    median: float
    largest: float


def interleave(
    contenders: Mapping[str, Callable[[], object]], rounds: int, repeat: int = 1
) -> dict[str, Timing]:
    """Time each contender once a round (the mean of `repeat` calls), after one warm-up call each."""
    for call in contenders.values():
        call()
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, call in contenders.items():
            start = time.perf_counter()
            for _ in range(repeat):
                call()
            samples[name].append((time.perf_counter() - start) / repeat)
    return {name: Timing(min(s), statistics.median(s), max(s)) for name, s in samples.items()}


def table(timings: Mapping[str, Timing], reference: str, unit: str = "ms") -> str:
    """One line a contender: least and median time, and the ratio of leasts to the reference with its spread.

    The spread of a ratio runs from (least / reference median) to (median / reference least).
    """
    scale = {"ns": 1e9, "us": 1e6, "ms": 1e3, "s": 1.0}[unit]
    base = timings[reference]
    width = max(map(len, timings))
    lines = [f"{'':{width}}  {'least':>10} {'median':>10} {unit}   x {reference} (spread)"]
    for name, t in timings.items():
        ratio = t.least / base.least
        low, high = t.least / base.median, t.median / base.least
        lines.append(
            f"{name:{width}}  {t.least * scale:10.3f} {t.median * scale:10.3f}      {ratio:7.2f} ({low:.2f} - {high:.2f})"
        )
    return "\n".join(lines)


def child_figures(what: str, command: Sequence[str], root: Path, store: str) -> dict[str, float]:
    """The figures that a process of its own prints as its last line, in JSON; with `store`, and this checkout's package."""
    env = {**os.environ, "FERRULE_CACHE_DIR": store, "PYTHONPATH": str(root / "python")}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run([sys.executable, *command], env=env, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"The child for {what} failed:\n{done.stderr}")
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def machine() -> str:
    """One line that says where the figures come from."""
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as info:
            model = next(line.split(":", 1)[1].strip() for line in info if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{model}, Python {platform.python_version()}, {time.strftime('%Y-%m-%d')}"


def missing(name: str, error: BaseException) -> None:
    """Say on stderr that a peer takes no part, and why."""
    print(f"{name} takes no part: {type(error).__name__}: {error}", file=sys.stderr)

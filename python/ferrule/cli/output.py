"""What commands print: JSON, or tables and lines for people, with bold headings on a terminal."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Sequence
from typing import Any


def print_json(value: Any) -> None:
    """One JSON document."""
    print(json.dumps(value, indent=2, ensure_ascii=False))


def bold(text: str) -> str:
    """The text, bold where stdout is a terminal that can show it."""
    plain = not sys.stdout.isatty() or "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    return text if plain else f"\x1b[1m{text}\x1b[0m"


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = ()) -> None:
    """Columns as wide as their longest cell, those named in `right` to the right."""
    widths = [max(len(cell) for cell in column) for column in zip(headings, *rows)]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.rjust(width) if heading in right else cell.ljust(width)
            for heading, cell, width in zip(headings, cells, widths)
        ]
        return "  ".join(padded).rstrip()

    print(bold(line(headings)))
    for row in rows:
        print(line(row))


def print_facts(facts: Sequence[tuple[str, str]]) -> None:
    """A line for each name and value; further lines of a value begin below it."""
    width = max(len(name) for name, _ in facts)
    for name, value in facts:
        first, *rest = value.splitlines() or [""]
        print(f"{bold(name.ljust(width))}  {first}".rstrip())
        for more in rest:
            print(f"{'':{width}}  {more}")


def size_text(size: float) -> str:
    """Bytes for people: '15.5 KiB'."""
    if size < 1024:
        return f"{size:.0f} B"
    units = ("KiB", "MiB", "GiB", "TiB")
    power = min(len(units), int(math.log(size, 1024)))
    return f"{size / 1024**power:.1f} {units[power - 1]}"


def age_text(when: float) -> str:
    """How long ago a time was: '3 h'."""
    seconds = max(0.0, time.time() - when)
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def seconds_text(seconds: float) -> str:
    """Seconds with a fitting unit: '41.3 us'."""
    if seconds >= 1:
        return f"{seconds:.3g} s"
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} us"

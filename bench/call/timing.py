"""Timing in turn, and the tables of what came out."""

from __future__ import annotations

import statistics
import timeit
from collections.abc import Iterable

from rows import FERRULE, FLOOR, Contender, Row

MOST_CALLS = 20_000
Samples = dict[str, dict[str, list[float]]]  # row -> peer -> seconds of a call, one a round
COLUMNS = (
    FLOOR,
    "by hand",
    FERRULE,
    "@fr.program",
    "nanobind",
    "pybind11",
    "tvm-ffi",
    "Pythran",
    "numba",
    "cffi",
    "ctypes",
)


class Entry:
    """One contender in one row with its timer, whose calls were seen to take place."""

    def __init__(self, row: Row, contender: Contender) -> None:
        given = row.given() | dict(contender.extra)
        text = contender.call or row.call
        space = {f"given_{name}": value for name, value in given.items()} | {"given_f": contender.function}
        setup = "; ".join(f"{name} = given_{name}" for name in ["f", *given])  # locals, as in a user's loop
        result = eval(text, {"f": contender.function, **given})
        if contender.works and not row.done(given, result):
            raise AssertionError(f"'{contender.peer}' did not do what '{row.name}' asks, it gave {result!r}.")
        self.row, self.peer = row.name, contender.peer
        self.timer = timeit.Timer(text, setup, globals=space)
        self.timer.timeit(100)
        self.calls = 100

    def fit(self, seconds: float) -> None:
        """Choose the calls of a round so that they take about this long."""
        each = self.timer.timeit(100) / 100
        self.calls = max(20, min(MOST_CALLS, int(seconds / each)))

    def time(self) -> float:
        return self.timer.timeit(self.calls) / self.calls


def interleaved(entries: list[Entry], rounds: int, seconds: float) -> Samples:
    """Every contender once a round, those of one row one after another."""
    samples: Samples = {}
    for entry in entries:
        entry.fit(seconds)
        samples.setdefault(entry.row, {})[entry.peer] = []
    for _ in range(rounds):
        for entry in entries:
            samples[entry.row][entry.peer].append(entry.time())
    return samples


def ratio(own: list[float], other: list[float]) -> tuple[float, float, float]:
    """Median and quartiles of the ratios round by round."""
    each = sorted(a / b for a, b in zip(own, other, strict=True))
    if len(each) < 2:
        return each[0], each[0], each[0]
    low, middle, high = statistics.quantiles(each, n=4, method="inclusive")
    return middle, low, high


def spread(own: list[float], other: list[float] | None) -> str:
    if other is None or own is other:
        return ""
    middle, low, high = ratio(own, other)
    return f"{middle:.2f} ({low:.2f} - {high:.2f})"


def table(header: list[str], lines: Iterable[list[str]]) -> str:
    """Markdown whose columns are aligned, text to the left and figures to the right."""
    cells = [header, *lines]
    widths = [max(len(line[i]) for line in cells) for i in range(len(header))]
    widths = [max(width, 2) for width in widths]

    def row(line: list[str]) -> str:
        first, *rest = (
            f"{text:<{w}}" if i == 0 else f"{text:>{w}}" for i, (text, w) in enumerate(zip(line, widths))
        )
        return f"| {' | '.join([first, *rest])} |"

    rule = "|".join(["-" * (widths[0] + 2), *("-" * (w + 1) + ":" for w in widths[1:])])
    return "\n".join([row(header), f"|{rule}|", *map(row, cells[1:])])


def details(samples: dict[str, list[float]]) -> str:
    """One row's contenders: least and median ns, and the ratios to the no-op's and to Ferrule's."""
    floor, ferrule = samples.get(FLOOR), samples.get(FERRULE)
    lines = []
    for peer, own in samples.items():
        times = [f"{min(own) * 1e9:.0f}", f"{statistics.median(own) * 1e9:.0f}"]
        lines.append([peer, *times, spread(own, floor), spread(own, ferrule)])
    return table(["", "least ns", "median", "x no-op", "x Ferrule"], lines)


def summary(rows: list[Row], samples: Samples) -> str:
    """Two tables of rows by peers: least ns, and median ratios to Ferrule's kernel."""
    columns = [c for c in COLUMNS if any(c in samples.get(row.name, {}) for row in rows)]
    least, ratios = [], []
    for row in rows:
        given = samples[row.name]
        least.append([row.name, *(f"{min(given[c]) * 1e9:.0f}" if c in given else "" for c in columns)])
        if FERRULE in given:
            against = {c: ratio(own, given[FERRULE])[0] for c, own in given.items()}
            ratios.append([row.name, *(f"{against[c]:.2f}" if c in against else "" for c in columns)])
    header = ["no-op" if c == FLOOR else c for c in columns]
    return f"{table(['least ns', *header], least)}\n\n{table(['x Ferrule', *header], ratios)}"

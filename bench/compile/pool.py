"""Eight cold programs: compiled one after another, through `fr.compile_many`, and as compile="async" functions.

Each figure comes from a process of its own with an empty store. `first call` is the worst latency of a first call of a
compile="async" function over the same function in NumPy; it holds what waits for Python's lock. Milliseconds, least of the
rounds, then median.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent))

from harness import child_figures, machine  # noqa: E402

WAYS = ("one after another", "compile_many", "async")
LATENCY_TARGET_MS = 5.0


def smooth(a):
    return 0.25 * (a[2:] + 2.0 * a[1:-1] + a[:-2])


def waves(a):
    return np.sin(a) * np.exp(-a * a)


def spread(a):
    return np.sqrt(((a - a.mean()) ** 2).sum() / a.size)


def clipped(a):
    return np.where(a > 0.5, 0.5, a) + np.abs(a)


def scaled(a):
    return (a - a.min()) / (a.max() - a.min())


def steps(a):
    for _ in range(20):
        a = 0.5 * a * (3.0 - a * a)
    return a


def differences(a):
    return (a[1:] - a[:-1]) ** 2


def mixed(a):
    return a[::2].sum() + (a[1::2] * a[::2]).max()


def measure(way: str) -> dict[str, float]:
    """The figures of one way, in this process."""
    import ferrule as fr

    plain = (smooth, waves, spread, clipped, scaled, steps, differences, mixed)
    a = np.random.default_rng(0).random(1000)
    programs = [fr.program(compile="async" if way == "async" else "sync")(function) for function in plain]

    def seconds(function):
        start = time.perf_counter()
        function(a)
        return time.perf_counter() - start

    by_numpy = [min(seconds(function) for _ in range(3)) for function in plain]
    latencies = [0.0]
    begin = time.perf_counter()
    if way == "compile_many":
        fr.compile_many([(program, a) for program in programs])
    elif way == "async":
        latencies = [seconds(p) - s for p, s in zip(programs, by_numpy, strict=True)]
    for program in programs:
        program.compile(a)
    total = time.perf_counter() - begin
    stats = [program.stats() for program in programs]
    return {
        "total": total,
        "compiler": sum(s["compiler"] for s in stats),
        "compiles": sum(s["compiles"] for s in stats),
        "first": latencies[0],
        "latency": max(latencies),
    }


def child(way: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as store:
        return child_figures(f"'{way}'", [__file__, "--child", way], ROOT, store)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--child", choices=WAYS, help="measure one way in this process and print it")
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure(options.child)))
        return 0
    samples: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    for _ in range(options.rounds):
        for way in WAYS:
            samples[way].append(child(way))
    print(f"eight cold programs, ms (least / median of {options.rounds}); {machine()}")
    print(f"{'way':20}{'all':>18}{'compilers, summed':>20}{'first call':>18}{'worst call':>18}")
    for way, rows in samples.items():
        if any(row["compiles"] != 8 for row in rows):
            print(f"{way}: expected 8 compiles", file=sys.stderr)
            return 1

        def cell(name: str, width: int = 18, rows: list[dict[str, float]] = rows) -> str:
            values = [row[name] * 1e3 for row in rows]
            return f"{min(values):.1f} / {statistics.median(values):.1f}".rjust(width)

        print(f"{way:20}{cell('total')}{cell('compiler', 20)}{cell('first')}{cell('latency')}")
    plain, pooled = (min(row["total"] for row in samples[way]) for way in WAYS[:2])
    print(f"compile_many: {plain / pooled:.2f} times as fast")
    print(
        f"async first call over NumPy: target {LATENCY_TARGET_MS:.0f} ms, without what waits for Python's lock"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

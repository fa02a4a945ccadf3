"""From a decorated function to its first result: cold, in a warm process, in a second process; the compiler apart.

Each figure comes from a process of its own, in turn over the programs of examples/demo.py: `cold` has an empty store,
`warm process` has compiled another program before and finds this one in the store without its record (it traces, but
does not compile), `second process` finds the record. Milliseconds, least of the rounds, then median.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent))

from harness import child_figures, machine  # noqa: E402

PROGRAMS = ("diffuse", "shade", "fill_depressions")
TARGET_MS = 60.0
LOAD_TARGET_MS = 5.0

CHILD = r"""
import json, sys, time
start = time.perf_counter()
import numpy as np
numpy_at = time.perf_counter()
import ferrule as fr
imported_at = time.perf_counter()
sys.path.insert(0, sys.argv[1])
import demo
name, mode = sys.argv[2], sys.argv[3]
height = np.random.default_rng(0).random((64, 65))
arguments = {
    "diffuse": (height, 3, 0.02),
    "shade": (height, 74.0, 93.0, 315.0, 45.0),
    "fill_depressions": (height, 1, 1e-3),
}[name]
if mode == "warm process":
    if name == "shade":
        fr.program(demo.fill_depressions)(height, 1, 1e-3)
    else:
        fr.program(demo.shade)(height, 74.0, 93.0, 315.0, 45.0)
program = fr.program(getattr(demo, name))
if mode == "warm process":
    from ferrule import warm
    warm.record_key = lambda *a: None
begin = time.perf_counter()
program(*arguments)
first = time.perf_counter() - begin
stats = program.stats()
kernel = program.specialisations[0]
from ferrule import session
begin = time.perf_counter()
kernel.artifact.load()
load = time.perf_counter() - begin
steady = min(
    (lambda s: (program(*arguments), time.perf_counter() - s)[1])(time.perf_counter()) for _ in range(3)
)
print(json.dumps({
    "import": imported_at - numpy_at, "first": first - steady, "capture": stats["seconds"]["capture"],
    "stages": sum(stats["stages"].values()), "compiler": stats["compiler"], "load": load,
    "captures": stats["captures"], "compiles": stats["compiles"],
}))
"""


def child(name: str, mode: str, store: str) -> dict[str, float]:
    command = ["-c", CHILD, str(ROOT / "examples"), name, mode]
    return child_figures(f"'{name}' ({mode})", command, ROOT, store)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    samples: dict[tuple[str, str], list[dict[str, float]]] = {}
    for _ in range(options.rounds):
        for name in PROGRAMS:
            with tempfile.TemporaryDirectory() as store:
                for mode in ("cold", "warm process", "second process"):
                    samples.setdefault((name, mode), []).append(child(name, mode, store))
    print(f"decorated function to first result, ms (least / median of {options.rounds}); {machine()}")
    print(
        f"{'program':18}{'start':16}{'all':>14}{'capture':>14}{'stages':>14}{'compiler':>14}{'rest':>14}{'load()':>12}"
    )
    worst_rest = worst_load = 0.0
    for (name, mode), rows in samples.items():

        def cell(values: list[float], width: int = 14) -> str:
            return f"{min(values) * 1e3:.1f} / {statistics.median(values) * 1e3:.1f}".rjust(width)

        rest = [row["first"] - row["compiler"] for row in rows]
        loads = [row["load"] for row in rows]
        worst_rest = max(worst_rest, min(rest))
        worst_load = max(worst_load, min(loads))
        print(
            f"{name:18}{mode:16}{cell([r['first'] for r in rows])}{cell([r['capture'] for r in rows])}"
            f"{cell([r['stages'] for r in rows])}{cell([r['compiler'] for r in rows])}{cell(rest)}{cell(loads, 12)}"
        )
        expected = {"cold": (1, 1), "warm process": (1, 0), "second process": (0, 0)}[mode]
        wrong = [r for r in rows if (r["captures"], r["compiles"]) != expected]
        if wrong:
            print(f"{name}, {mode}: expected {expected} traces and compiles, got {wrong[0]}", file=sys.stderr)
            return 1
    imports = [row["import"] for rows in samples.values() for row in rows]
    print(f"import ferrule after numpy: {min(imports) * 1e3:.1f} / {statistics.median(imports) * 1e3:.1f} ms")
    print(
        f"everything but the C++ compiler: at most {worst_rest * 1e3:.1f} ms a program (target {TARGET_MS:.0f})"
    )
    print(f"artifact.load(): at most {worst_load * 1e3:.2f} ms (target {LOAD_TARGET_MS:.0f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())

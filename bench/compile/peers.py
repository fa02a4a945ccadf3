"""From a program's text to its first result, beside other compilers: cold, in a warm process, in a new process.

Five small programs (`peers/array_form.py`), each figure from a process of its own, the contenders in turn. `cold`: an empty
cache; `warm`: another program was compiled before in this process, and the cache lacks this one; `stored`: a new process finds
it in the contender's cache on disk (a built module for Pythran and Cython). Imports are made before and given apart. Ferrule
has the decorated NumPy function; numba that and loops; Cython typed loops; JAX and torch.compile their own arrays.
Milliseconds, least of the rounds; a ratio to Ferrule is the median of the rounds, with its range.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE.parent), str(HERE / "peers")]

from contenders import CONTENDERS, PROGRAMS  # noqa: E402
from harness import child_figures, machine  # noqa: E402

STARTS = ("cold", "warm", "stored")
Figures = dict[str, float]


def child(contender: str, program: str, start: str, cache: str) -> Figures:
    command = [str(HERE / "peers" / "contenders.py"), contender, program, start, cache]
    return child_figures(f"{contender}, {program}, {start}", command, ROOT, cache)


def gather(options: argparse.Namespace) -> dict[tuple[str, str, str], list[Figures]]:
    samples: dict[tuple[str, str, str], list[Figures]] = {}
    absent: dict[str, str] = {}
    for _ in range(options.rounds):
        for program in options.only or PROGRAMS:
            for contender in CONTENDERS:
                if contender in absent:
                    continue
                with tempfile.TemporaryDirectory() as kept, tempfile.TemporaryDirectory() as other:
                    for start in STARTS:
                        found = child(contender, program, start, other if start == "warm" else kept)
                        if "missing" in found:
                            absent[contender] = str(found["missing"])
                            break
                        samples.setdefault((contender, program, start), []).append(found)
    for contender, why in absent.items():
        print(f"{contender} is left out: {why}")
    return samples


def firsts(rows: list[Figures]) -> list[float]:
    return [row["first"] for row in rows if "first" in row]


def print_tables(samples: dict[tuple[str, str, str], list[Figures]], programs: list[str]) -> None:
    contenders = [name for name in CONTENDERS if any(key[0] == name for key in samples)]
    for start in STARTS:
        print(f"\n| {start}, least ms | " + " | ".join(programs) + " | x Ferrule |")
        print("|---|" + "---:|" * (len(programs) + 1))
        for contender in contenders:
            cells, ratios = [], []
            for program in programs:
                mine = firsts(samples[contender, program, start])
                own = firsts(samples["Ferrule", program, start])
                cells.append(f"{min(mine) * 1e3:.1f}" if mine else "")
                ratios += [a / b for a, b in zip(mine, own)]
            spread = f"{statistics.median(ratios):.1f} ({min(ratios):.1f} - {max(ratios):.1f})"
            print(
                f"| {contender} | " + " | ".join(cells) + f" | {'' if contender == 'Ferrule' else spread} |"
            )
    print("\n| import | least ms |\n|---|---:|")
    for contender in contenders:
        rows = [
            row["import"]
            for key, found in samples.items()
            if key[0] == contender
            for row in found
            if "import" in row
        ]
        print(f"| {contender} | {min(rows) * 1e3:.0f} |")


def empty_file_ms(rounds: int) -> tuple[float, float]:
    """What the C++ compiler takes for an empty file and for the emitted file of 'blend', with the flags of a build."""
    code = (
        "import json, sys, numpy as np, ferrule as fr, array_form\n"
        "a = np.ones(4)\n"
        "artifact = fr.program(array_form.blend).compile(a, a, 0.5)\n"
        "from ferrule.cli.entries import entries\n"
        "from pathlib import Path\n"
        "manifest = json.loads((Path(artifact.folder) / 'manifest.json').read_text())\n"
        "print(json.dumps({'command': manifest['body']['local']['command'], 'source': artifact.source}))"
    )
    with tempfile.TemporaryDirectory() as store:
        path = os.pathsep.join([str(ROOT / "python"), str(HERE / "peers")])
        env = {**os.environ, "FERRULE_CACHE_DIR": store, "PYTHONPATH": path}
        done = subprocess.run(
            [sys.executable, "-c", code], env=env, check=True, capture_output=True, text=True
        )
        found = json.loads(done.stdout)
        times: dict[str, list[float]] = {"empty": [], "emitted": []}
        for _ in range(rounds):
            for what, text in (("empty", ""), ("emitted", found["source"])):
                Path(store, "source.cpp").write_text(text)
                start = time.perf_counter()
                subprocess.run(found["command"], cwd=store, check=True, capture_output=True)
                times[what].append(time.perf_counter() - start)
    return min(times["empty"]) * 1e3, min(times["emitted"]) * 1e3


def print_targets(samples: dict[tuple[str, str, str], list[Figures]], rounds: int) -> None:
    own = {key: rows for key, rows in samples.items() if key[0] == "Ferrule"}
    warm = max(
        min(row["first"] / row["compiler"] for row in rows) for key, rows in own.items() if key[2] == "warm"
    )
    stored = max(min(firsts(rows)) for key, rows in own.items() if key[2] == "stored")
    load = max(min(row["load"] for row in rows) for key, rows in own.items())
    unchanged = max(min(row["unchanged"] for row in rows) for key, rows in own.items())
    empty, emitted = empty_file_ms(2 * rounds + 1)
    print("\n| target | measured |\n|---|---:|")
    print(f"| cold in a warm process at most twice the C++ compiler | {warm:.2f} |")
    print(
        f"| the emitted file at most 120 ms over an empty one | {emitted - empty:.0f} ({empty:.0f} -> {emitted:.0f}) |"
    )
    print(f"| load of a stored artifact at most 5 ms | {load * 1e3:.2f} |")
    print(f"| (first result of a stored program in a new process) | {stored * 1e3:.1f} |")
    print(f"| an unchanged compile() at most 50 us | {unchanged * 1e6:.0f} |")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", action="append", choices=PROGRAMS, help="a program; repeatable")
    parser.add_argument(
        "--venv", action="append", default=[], type=Path, help="an environment with peers; repeatable"
    )
    options = parser.parse_args()
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    os.environ["FERRULE_BENCH_PEERS"] = os.pathsep.join(
        str(each / "lib" / version / "site-packages") for each in options.venv
    )
    print(f"{machine()}, {options.rounds} rounds")
    samples = gather(options)
    print_tables(samples, options.only or list(PROGRAMS))
    print_targets(samples, options.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())

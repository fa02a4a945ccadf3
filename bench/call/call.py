"""What a call costs: ns of every kind of call, beside a no-op, code by hand and other binders, all in one interleaved run.

Every contender gets its own small arrays and does next to nothing with them; they run in turn, round after round, each in
a plain loop whose own cost is included. Peers that cannot be imported or built are named and left out. The tables are
Markdown.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import harness  # noqa: E402
import timing  # noqa: E402
from peers import add_venvs, enter  # noqa: E402
from rows import Row, all_rows  # noqa: E402


def chosen(only: list[str]) -> list[Row]:
    """The rows whose names hold one of these texts, all where there is none."""
    rows = all_rows()
    for text in only:
        if not any(text in row.name for row in rows):
            names = ", ".join(f"'{row.name}'" for row in rows)
            raise SystemExit(f"--only: no row has '{text}' in its name; there are {names}.")
    return [row for row in rows if not only or any(text in row.name for text in only)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=80)
    parser.add_argument("--milliseconds", type=float, default=0.5, help="of one contender in one round")
    parser.add_argument(
        "--only", action="append", default=[], metavar="ROW", help="rows that have this in their name"
    )
    parser.add_argument(
        "--venv", action="append", default=[], type=Path, help="an environment with peers; repeatable"
    )
    parser.add_argument("--summary", action="store_true", help="leave out the tables of the single rows")
    options = parser.parse_args()
    add_venvs(options.venv)
    rows = chosen(options.only)
    contenders = enter()
    entries = [timing.Entry(row, contender) for row in rows for contender in contenders.get(row.name, [])]
    samples = timing.interleaved(entries, options.rounds, options.milliseconds / 1e3)
    print(f"{harness.machine()}, {options.rounds} rounds\n")
    print(timing.summary(rows, samples))
    if not options.summary:
        for row in rows:
            print(f"\n### {row.name}: `{row.call}`\n")
            print(timing.details(samples[row.name]))
    return 0


if __name__ == "__main__":
    sys.exit(main())

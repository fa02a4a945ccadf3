"""What each contender of the row of 3 arrays refuses: it is called with one wrong array at a time. The table is Markdown."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import numpy as np  # noqa: E402
import timing  # noqa: E402
from peers import add_venvs, enter  # noqa: E402
from rows import EXTENT, Contender, Given, arrays, plural  # noqa: E402

GOOD = np.zeros(EXTENT)


def misaligned() -> np.ndarray[Any, Any]:
    return np.zeros(8 * EXTENT + 1, np.uint8)[1:].view(np.float64)


def read_only() -> np.ndarray[Any, Any]:
    array = np.zeros(EXTENT)
    array.flags.writeable = False
    return array


WRONG: dict[str, Given] = {
    "float32": {"a1": GOOD.astype(np.float32)},
    "byte order": {"a1": GOOD.astype(GOOD.dtype.newbyteorder())},
    "2 axes": {"a1": np.zeros((EXTENT, 1))},
    "strided": {"a1": np.zeros(2 * EXTENT)[::2]},
    "misaligned": {"a1": misaligned()},
    "other extent": {"a1": np.zeros(EXTENT + 1)},
    "read-only result": {"a2": read_only()},
    "overlap": {"a1": GOOD, "a2": GOOD},
}


def answer(contender: Contender, wrong: Given) -> str:
    given = arrays(3) | dict(contender.extra) | wrong
    try:
        eval(contender.call, {"f": contender.function, **given})
    except Exception:
        return "refused"
    return "taken"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--venv", action="append", default=[], type=Path, help="an environment with peers; repeatable"
    )
    options = parser.parse_args()
    add_venvs(options.venv)
    lines = []
    for contender in enter()[plural(3)]:
        if contender.works and not any(name in contender.extra for name in ("a1", "a2")):
            text = contender.call or "f(a0, a1, a2)"
            contender = Contender(contender.row, contender.peer, contender.function, text, contender.extra)
            if answer(contender, {}) != "taken":
                raise AssertionError(f"'{contender.peer}' refuses arrays that fit.")
            lines.append([contender.peer, *(answer(contender, wrong) for wrong in WRONG.values())])
    print(timing.table(["", *WRONG], lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Write docs/ops.md, the table of operations, from the rows of src/program/ops.def as the built compiler knows them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ferrule import _compiler as ir

PAGE = Path(__file__).resolve().parent.parent / "docs" / "ops.md"

HEAD = """\
# Operations

Written by `python tools/gen_ops_doc.py` from [src/program/ops.def](../src/program/ops.def). The first column is the
name in a Program's text, of the functor `fr::<name>` and for `elementwise` of the builder; the second what capture maps
to it under `numpy`. An operation without a name there is reached through other functions: `clip` and `select` through
`np.clip` and `np.where`, the parts of a number through `np.frexp` and `np.modf`, `bit_and` and its like through
`np.bitwise_and.reduce`.

"""


def table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [header, tuple("---" for _ in header), *rows]
    return "".join(
        "| " + " | ".join(cell.replace("|", "\\|").replace("*", "\\*") for cell in line) + " |\n"
        for line in lines
    )


def names(row: Any) -> str:
    return ", ".join(f"`{name}`" for name in row.numpy)


def text() -> str:
    """The whole page."""
    element = [(f"`{op.name}`", names(op), str(op.arity), op.doc) for op in ir.element_ops()]
    reduce = [(f"`{op.name}`", names(op), op.doc) for op in ir.reduce_ops()]
    return (
        HEAD
        + "## Element-wise\n\n"
        + table(("name", "NumPy", "operands", "value"), element)
        + "\n## Reductions\n\n"
        + table(("name", "NumPy", "value"), reduce)
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 where the page is out of date"
    )
    if not parser.parse_args().check:
        PAGE.write_text(text())
    elif PAGE.read_text() != text():
        print("docs/ops.md is out of date; run python tools/gen_ops_doc.py.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

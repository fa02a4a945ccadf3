"""Instructions of one call, by object file: loops of two lengths under valgrind's callgrind, and their difference.

They do not depend on load or clocks. Everything is built before; one process under valgrind then makes all the loops. Needs
valgrind with its headers (Debian package valgrind). The table is Markdown.
"""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import harness  # noqa: E402
import timing  # noqa: E402
from building import PEERS, extension  # noqa: E402
from rows import FERRULE, FLOOR, arrays, names  # noqa: E402

COUNTS = (1, 3, 10, 100)
FORMS = ("by position", "by name")
LENGTHS = (200, 1200)
PYTHON = "CPython"
NAMES = (FLOOR, "vectorcall no-op", "by hand", FERRULE, "@fr.program")


def callables() -> Iterator[tuple[str, int, Callable[..., Any]]]:
    """What is counted: name, arrays, callable."""
    from peers import byhand, of_ferrule

    module = byhand.arrays_module()
    for n in COUNTS:
        kernel, program = of_ferrule.of_arrays(n), of_ferrule.program_of_arrays(n)
        called = (module.noop, module.Nothing(), getattr(module, f"call{n}"), kernel, program)
        for name, f in zip(NAMES, called, strict=True):
            yield name, n, f


def loop(count: int, form: str) -> Callable[[Callable[..., Any], dict[str, Any], int], None]:
    """A function with a plain loop of calls over local names."""
    listed = ", ".join(name if form == FORMS[0] else f"{name}={name}" for name in names(count))
    fetched = "".join(f"    {name} = given['{name}']\n" for name in names(count))
    space: dict[str, Any] = {"repeat": itertools.repeat}
    exec(
        f"def loop(f, given, number):\n{fetched}    for _ in repeat(None, number):\n        f({listed})\n",
        space,
    )
    made: Callable[[Callable[..., Any], dict[str, Any], int], None] = space["loop"]
    return made


def count_all(mark: Callable[[str], None]) -> None:
    """Every loop once to warm it, then once of each length, with a mark after each."""
    for name, n, f in callables():
        given = arrays(n)
        for form in FORMS:
            timed = loop(n, form)
            timed(f, given, LENGTHS[0])
            for length in LENGTHS:
                mark("before")
                timed(f, given, length)
                mark(f"{name}|{n}|{form}|{length}")


def read(path: Path) -> tuple[str, Counter[str]]:
    """The mark of one of callgrind's files, and its instructions by object file; what callees took is theirs."""
    text, found, inside, skip = "", Counter[str](), "", False
    for line in path.read_text().splitlines():
        if line.startswith("desc: Trigger:"):
            text = line.split(":", 2)[2].strip().removeprefix("Client Request: ")
        elif line.startswith("ob="):
            inside = line[3:]
        elif line.startswith("calls="):
            skip = True
        elif line[:1].isdigit():
            if not skip:
                found[part(inside)] += int(line.split()[1])
            skip = False
    return text, found


def part(path: str) -> str:
    """What an object file is: the interpreter, the C library, a module. What is mapped from memory has no file."""
    name = Path(path).name
    if name.startswith(("python", "libpython")):
        return PYTHON
    if name.startswith(("libc.", "libc-", "ld-", "libm", "libpthread")):
        return "C library"
    return {"???": "no file"}.get(name, name.split(".")[0])


def collect(folder: Path) -> dict[tuple[str, str, str], Counter[str]]:
    """Instructions of one call for each callable, count of arrays and form."""
    totals: dict[tuple[str, str, str], dict[int, Counter[str]]] = {}
    for path in folder.iterdir():
        text, found = read(path)
        if text.count("|") == 3:
            name, n, form, length = text.split("|")
            totals.setdefault((name, n, form), {})[int(length)] = found
    few, many = LENGTHS
    each = {}
    for key, by_length in totals.items():
        more = Counter(by_length[many])
        more.subtract(by_length[few])
        each[key] = Counter({k: round(v / (many - few)) for k, v in more.items()})
    return each


def report(each: dict[tuple[str, str, str], Counter[str]]) -> str:
    """One table: a line for each callable and form, a column for each count of arrays."""
    lines = []
    for name in NAMES:
        for form in FORMS:
            cells = []
            for n in COUNTS:
                counts = each[name, str(n), form]
                split = [f"{v} {k}" for k, v in counts.most_common() if v > 0 and k != PYTHON]
                cells.append(f"{counts[PYTHON]} + {' + '.join(split)}")
            lines.append([f"{name}, {form}", *cells])
    return timing.table([f"{PYTHON} + others", *(f"{n} array{'s' if n > 1 else ''}" for n in COUNTS)], lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inside", action="store_true", help="what runs under valgrind")
    options = parser.parse_args()
    counter = extension("counter", [PEERS / "counter.c"])
    if options.inside:
        count_all(counter.mark)
        return 0
    count_all(lambda text: None)  # compiles everything, so that nothing is compiled under valgrind
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--compress-strings=no"]
        command += ["--compress-pos=no", sys.executable, str(Path(__file__).resolve()), "--inside"]
        done = subprocess.run(
            command, env={**os.environ, "PYTHONHASHSEED": "0"}, capture_output=True, text=True
        )
        if done.returncode != 0:
            print(done.stderr[-4000:], file=sys.stderr)
            return 1
        each = collect(Path(folder))
    print(f"{harness.machine()}\n\n{report(each)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What each stage makes of the golden programs, as text, through ferrule-opt; and what ferrule-opt says of bad input.

After a wanted change: FERRULE_GOLDEN_UPDATE=1 writes the texts anew; read the difference before you keep it.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
OPT = FOLDER.parents[1] / "build" / "release" / "ferrule-opt"
UPDATE = os.environ.get("FERRULE_GOLDEN_UPDATE") == "1"

# Each program with the stages at which it shows something.
TEXTS = [
    (name, stage)
    for name, stages in {
        "smooth": "lower inline emit",  # a chain becomes one nest
        "shift": "lower inline emit",  # overlap: the loop runs down, without a temporary
        "relax": "analyse lower inline place emit",  # pointers that a loop swaps, an arena
        "row_statistics": "lower join emit",  # reductions, strides as symbols
        "reshapes": "inline collapse emit",  # aliases, two axes become one
        "gather_rows": "lower emit reference",  # a branch, checks, an index known at run time
        "square_root": "lower inline emit",  # a while loop over scalars
    }.items()
    for stage in stages.split()
]


def opt(*arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(OPT), *arguments], input=text, capture_output=True, text=True, cwd=FOLDER)


@pytest.mark.parametrize(("name", "stage"), TEXTS, ids=lambda value: value)
def test_text_of_a_stage(name, stage):
    to = ("emit", "--reference") if stage == "reference" else (stage,)
    done = opt(f"{name}.fr", "--to", *to)
    assert (done.returncode, done.stderr) == (0, "")
    # The digest is over the compiler's own sources too.
    got, digests = re.subn(r'"[0-9a-f]{64}"', '"<digest>"', done.stdout)
    assert digests == (1 if stage in ("emit", "reference") else 0)
    path = FOLDER / "stages" / f"{name}.{stage}.txt"
    if UPDATE:
        path.write_text(got)
    assert got == path.read_text()


def test_every_text_belongs_to_a_case():
    assert {path.name for path in FOLDER.glob("stages/*")} == {f"{n}.{stage}.txt" for n, stage in TEXTS}


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.fr")), ids=lambda path: path.stem)
def test_program_text_round_trips(path):
    assert opt(path.name, "--to", "program").stdout == path.read_text()


def test_standard_input_is_read():
    text = (FOLDER / "shift.fr").read_text()
    assert opt("--to", "inline", text=text).stdout == opt("shift.fr", "--to", "inline").stdout
    assert opt("-", "--to", "inline", text=text).stdout == opt("shift.fr", "--to", "inline").stdout


def test_the_default_stage_is_the_last():
    assert opt("shift.fr").stdout == opt("shift.fr", "--to", "emit").stdout


def test_stages_are_listed_in_order():
    stages = opt("--list").stdout.split()
    assert stages == ["program", "analyse", "lower", "inline", "join", "order", "collapse", "place", "emit"]


def test_a_pass_that_is_off_changes_nothing():
    lowered = opt("smooth.fr", "--to", "lower").stdout
    assert opt("smooth.fr", "--to", "inline", "--off", "inline").stdout == lowered
    assert opt("smooth.fr", "--to", "join", "--off", "inline,join").stdout == lowered
    assert opt("smooth.fr", "--to", "join").stdout != lowered


def test_times_name_every_stage():
    done = opt("smooth.fr", "--times")
    times = re.findall(r"^(\w+) [0-9.e-]+ ms$", done.stderr, re.M)
    assert times == opt("--list").stdout.split()
    assert done.stdout == opt("smooth.fr").stdout


STAGES = "program, analyse, lower, inline, join, order, collapse, place, emit"
OPTIONAL = "inline, join, order, collapse"
REFUSED = {
    ("smooth.fr", "--to", "fuse"): f"'fuse' is no stage; the stages are {STAGES}.",
    ("smooth.fr", "--off", "fuse"): f"'fuse' cannot be left out; the passes that can are {OPTIONAL}.",
    ("smooth.fr", "--off", "place"): f"'place' cannot be left out; the passes that can are {OPTIONAL}.",
    ("smooth.fr", "--off", "lower"): f"'lower' cannot be left out; the passes that can are {OPTIONAL}.",
    ("missing.fr",): "The file 'missing.fr' cannot be read.",
}


@pytest.mark.parametrize("arguments", REFUSED, ids=" ".join)
def test_arguments_that_are_refused(arguments):
    done = opt(*arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"ferrule-opt: {REFUSED[arguments]}\n"


SHIFT = (FOLDER / "shift.fr").read_text()
WRONG = "The program text is wrong at"
ILLEGAL = "The program text is not a legal program. The program 'shift' breaks a rule:"
BAD_TEXTS = {
    "no program": ("nothing", f"{WRONG} 1:1: expected 'fr', got 'n'."),
    "empty": ("", f"{WRONG} 1:1: expected 'fr', got the end."),
    "cut short": (SHIFT[: SHIFT.index("store")], f"{WRONG} 13:3: expected an operation, got the end."),
    "unknown operation": (
        SHIFT.replace("= load %2", "= triple %2"),
        f"{WRONG} 12:8: unknown operation 'triple'.",
    ),
    "undefined value": (
        SHIFT.replace("store %1, %3", "store %1, %9"),
        f"{WRONG} 13:13: the value %9 is not defined before its use.",
    ),
    "wrong dtype": (
        SHIFT.replace("load %2 : i32[N - 1]", "load %2 : f64[N - 1]"),
        f"{ILLEGAL} a load reads a view of its dtype. Operation 'load' with operands (2) and results (3).",
    ),
    "wrong shape": (
        SHIFT.replace("load %2 : i32[N - 1]", "load %2 : i32[N]"),
        f"{ILLEGAL} a load has the view's shape. Operation 'load' with operands (2) and results (3).",
    ),
}


@pytest.mark.parametrize("case", BAD_TEXTS)
def test_texts_that_are_refused(case):
    text, message = BAD_TEXTS[case]
    done = opt(text=text)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"ferrule-opt: {message}\n")


def test_an_unknown_option_is_refused():
    done = opt("--fuse")
    assert done.returncode != 0
    assert "--fuse" in done.stdout + done.stderr

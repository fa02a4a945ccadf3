"""A C++ application on the public headers: compiled within the tree, and as a project that takes the libraries in."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest

import ferrule as fr

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "build" / "release" / "examples" / "cpp" / "cpp_example"


@fr.program
def halves(
    x: Annotated[np.ndarray[Any, Any], fr.float64["N"]], y: Annotated[np.ndarray[Any, Any], fr.float64["N"]]
) -> None:
    y[:] = x / 2


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([EXAMPLE, *map(str, arguments)], capture_output=True, text=True)


def test_it_compiles_once_and_calls(tmp_path: Path) -> None:
    for first_line in ("compiled", "found in the store"):
        done = run(tmp_path / "store")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.splitlines() == [
            first_line,
            "ramp(x: float64[N], y: float64[N])",
            "2 5 8 11 14 ",
            "refused: ramp(): 'N': x.shape[0] = 5, but y.shape[0] = 4.",
        ]


def test_it_calls_what_python_saved(tmp_path: Path) -> None:
    halves.compile(target="baseline").save(tmp_path / "halves.artifact")
    done = run(tmp_path / "store", tmp_path / "halves.artifact")
    assert done.stdout.splitlines()[1:] == [
        "0.5 1 1.5 2 2.5 ",
        "refused: halves(): 'N': x.shape[0] = 5, but y.shape[0] = 4.",
    ]


def test_failures_are_one_sentence(tmp_path: Path) -> None:
    assert run().returncode == 2
    done = run(tmp_path, tmp_path / "nothing")
    assert done.returncode == 1
    assert "nothing" in done.stderr
    assert done.stderr.count("\n") == 1


def test_another_project_finds_the_headers(tmp_path: Path) -> None:
    """As a subproject the library builds neither its tests nor Python modules; linking is shown above."""
    tools = Path(sys.executable).parent
    source = ROOT / "examples" / "cpp"
    configure = [
        tools / "cmake",
        "-S",
        source,
        "-B",
        tmp_path,
        "-G",
        "Ninja",
        "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
    ]
    subprocess.run(
        [*configure, f"-DCMAKE_MAKE_PROGRAM={tools / 'ninja'}"], check=True, stdout=subprocess.DEVNULL
    )
    commands = json.loads((tmp_path / "compile_commands.json").read_text())
    (command,) = (each["command"] for each in commands if each["file"] == str(source / "main.cpp"))
    words = shlex.split(command)
    assert any(re.fullmatch("-std=(c|gnu)[+][+]2[0a]", word) for word in words)
    own = [word for word in words if re.match("-W|-f(no-math|fp-)", word)]
    assert not own, "options of the libraries' own compilation reach the application's"
    subprocess.run([*words, "-Wshadow", "-Werror", "-fsyntax-only"], cwd=tmp_path, check=True)
    listed = [tools / "ninja", "-C", tmp_path, "-t", "targets", "all"]
    targets = subprocess.run(listed, check=True, capture_output=True, text=True).stdout
    assert "libferrule_rt.a" in targets
    assert not re.search(r"unit_|_rt\S*\.so", targets)


def test_the_page_shows_lines_of_the_example() -> None:
    shown = re.findall(r"```cpp\n(.*?)```", (ROOT / "docs" / "cpp.md").read_text(), re.S)
    source = (ROOT / "examples" / "cpp" / "main.cpp").read_text()
    assert shown
    for line in "".join(shown).splitlines():
        assert line in source


@pytest.mark.parametrize("header", ["ferrule.h", "runtime.h"])
def test_names_that_headers_list_exist(header: str) -> None:
    text = (ROOT / "include" / "ferrule" / header).read_text()
    names = [name for line in re.findall(r"^// ((?:\w+, )*\w+)  ", text, re.M) for name in line.split(", ")]
    assert len(names) > 3
    sources = "".join(
        (ROOT / "src" / found).read_text() for found in re.findall(r'#include "(?!ferrule/)([^"]+)"', text)
    )
    for name in names:
        assert re.search(rf"\b{name}\b", sources), name

"""The layout of abi.h: sizes, offsets and values are a promise to every module built before, so a change shows here.

Structs may grow at their end and enumerations may gain values: FERRULE_GOLDEN_UPDATE=1 then writes abi.txt anew.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
INCLUDE = FOLDER.parents[1] / "include"
GOLDEN = FOLDER / "abi.txt"


def abi_text() -> str:
    return re.sub(r"/\*.*?\*/", "", (INCLUDE / "ferrule" / "abi.h").read_text(), flags=re.S)


def structs() -> dict[str, list[str]]:
    """Each struct with its fields in order."""
    found = {}
    text = abi_text()
    for body, name in re.findall(r"^typedef struct (?:\w+ )?\{(.*?)^\} (\w+);", text, re.M | re.S):
        found[name] = fields(body)
    for name, body in re.findall(r"^struct (\w+) \{(.*?)^\};", text, re.M | re.S):
        found[name] = fields(body)
    return found


def fields(body: str) -> list[str]:
    names = []
    for declaration in filter(str.strip, body.split(";")):
        if pointer := re.search(r"\(\*(\w+)\)", declaration):
            names.append(pointer[1])
        else:
            names += [re.search(r"(\w+)\s*(?:\[\w*\])?\s*$", part)[1] for part in declaration.split(",")]
    return names


def enumerators() -> list[str]:
    bodies = re.findall(r"^enum \w+ \{(.*?)\};", abi_text(), re.M | re.S)
    return [name for body in bodies for name in re.findall(r"\b(FR_\w+)\b(?=\s*=)", body)]


@pytest.fixture(scope="module")
def layout(tmp_path_factory) -> str:
    """What a C++ compiler makes of the header: a line a struct, a field and an enumerator."""
    lines = ['#include "ferrule/abi.h"', "#include <stddef.h>", "#include <stdio.h>", "int main() {"]
    for struct, names in structs().items():
        lines.append(f'  printf("{struct} %zu\\n", sizeof({struct}));')
        for field in names:
            size = f"sizeof((({struct}*)0)->{field})"
            lines.append(f'  printf("  {field} %zu +%zu\\n", offsetof({struct}, {field}), {size});')
    lines += [f'  printf("{name} = %d\\n", (int){name});' for name in enumerators()]
    folder = tmp_path_factory.mktemp("abi")
    (folder / "layout.cpp").write_text("\n".join([*lines, "}", ""]))
    compiler = os.environ.get("CXX") or shutil.which("g++")
    command = [
        compiler,
        "-std=c++20",
        f"-I{INCLUDE}",
        str(folder / "layout.cpp"),
        "-o",
        str(folder / "layout"),
    ]
    subprocess.run(command, check=True)
    return subprocess.run([str(folder / "layout")], check=True, capture_output=True, text=True).stdout


def test_layout(layout):
    if os.environ.get("FERRULE_GOLDEN_UPDATE") == "1":
        GOLDEN.write_text(layout)
    assert layout == GOLDEN.read_text()


def test_structs_that_a_module_hands_out_begin_with_their_size():
    # Fixed for this major version, or made by the host.
    own = {"FrExpr", "FrGuard", "FrAliasPair", "FrFact", "FrStatusText", "FrString", "FrPointers"}
    for name, names in structs().items():
        if name == "FrModule":
            assert names[:2] == ["magic", "size"]
        elif name not in own:
            assert names[0] == "size", name


def test_every_value_is_written_out():
    bodies = re.findall(r"^enum \w+ \{(.*?)\};", abi_text(), re.M | re.S)
    written = [part for body in bodies for part in body.split(",") if part.strip()]
    assert [part for part in written if "=" not in part] == []
    assert len(written) == len(enumerators())

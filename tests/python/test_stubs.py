"""The stub of the native module names what the module has: classes, functions and their public members, both ways."""

from __future__ import annotations

import ast
import inspect
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ferrule
from ferrule import _rt

STUB = ast.parse((Path(ferrule.__file__).parent / "_rt.pyi").read_text())
CLASSES = {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef)}
FUNCTIONS = {node.name for node in STUB.body if isinstance(node, ast.FunctionDef)}
CONSTANTS = {
    node.target.id
    for node in STUB.body
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
}
TYPING_ONLY = {"__buffer__"}  # Python has it from 3.12 on; the buffer itself is older


def members(node: ast.ClassDef) -> set[str]:
    names = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
    return names | {
        item.target.id
        for item in node.body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    }


def public(owner: Any) -> set[str]:
    return {name for name in vars(owner) if not name.startswith("_")}


def test_the_module() -> None:
    stubbed = {*CLASSES, *FUNCTIONS, *CONSTANTS}
    assert {name for name in stubbed if not hasattr(_rt, name)} == set()
    assert public(_rt) - stubbed == set()


@pytest.mark.parametrize("name", CLASSES)
def test_classes(name: str) -> None:
    cls = getattr(_rt, name)
    stubbed = members(CLASSES[name])
    assert {member for member in stubbed - TYPING_ONLY if not hasattr(cls, member)} == set()
    assert public(cls) - stubbed == set()


def test_exported_names_exist() -> None:
    assert {name for name in ferrule.__all__ if not hasattr(ferrule, name)} == set()


# What nanobind makes has a metaclass and kinds of functions of its own; Python has __buffer__ from 3.12 on.
NANOBIND = ("Artifact", "Artifact.__init__", "Artifact.from_bytes", "Artifact.open", "Store", "Stop")


def test_parameters_and_defaults(tmp_path: Path) -> None:
    functions = [name for name, value in vars(_rt).items() if type(value).__name__ == "nb_func"]
    allowed = tmp_path / "allowed"
    allowed.write_text(
        "".join(f"ferrule._rt.{name}\n" for name in (*NANOBIND, *functions, "Array.__buffer__"))
    )
    package = Path(ferrule.__file__).parents[1]
    command = [sys.executable, "-m", "mypy.stubtest", "ferrule._rt", "--concise", "--allowlist", str(allowed)]
    command += ["--ignore-unused-allowlist"] if sys.version_info >= (3, 12) else []
    environment = {**os.environ, "MYPYPATH": str(package), "PYTHONPATH": str(package)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_inspect_says() -> None:
    assert str(inspect.signature(_rt.Kernel.set_workspace)) == "(self, name, buffer, /)"
    assert str(inspect.signature(_rt.Kernel.finalize)) == "(self, /)"
    assert str(inspect.signature(_rt.Kernel.initialize)) == "(self, /, *args, **kwargs)"

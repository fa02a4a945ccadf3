"""Compiles the hand-written modules of this folder and loads them as kernels, with nothing but the plain compiler."""

from __future__ import annotations

import functools
import subprocess
import tempfile
from pathlib import Path

from ferrule import _rt

HERE = Path(__file__).resolve().parent
_FOLDER = tempfile.TemporaryDirectory(prefix="ferrule-modules-")


@functools.cache
def module_path(file: str, *flags: str, name: str = "") -> Path:
    """The shared library of a source file of this folder."""
    stem = name or Path(file).stem
    folder = Path(tempfile.mkdtemp(dir=_FOLDER.name))
    compiler = ["g++", "-std=c++20"] if file.endswith(".cpp") else ["gcc", "-std=c11"]
    command = [*compiler, "-O1", "-fPIC", "-shared", f"-I{HERE.parents[1] / 'include'}", *flags]
    subprocess.run([*command, str(HERE / file), "-o", str(folder / f"{stem}.so")], check=True)
    return folder / f"{stem}.so"


def kernel(file: str, *flags: str) -> _rt.Kernel:
    """A kernel with a handle of its own."""
    return _rt.Kernel(module_path(file, *flags))

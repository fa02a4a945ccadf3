"""The peers in the order of the table: what they are called, and the function that enters their contenders."""

from __future__ import annotations

import site
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import harness
from rows import FERRULE, Contender

from . import binders, byhand, compilers, of_ferrule, plain, tvm

PEERS: dict[str, Callable[[], Iterator[Contender]]] = {
    "by hand": byhand.arrays_and_features,
    "by hand, tensors": byhand.tensors,
    "NumPy": byhand.numpy,
    FERRULE: of_ferrule.contenders,
    "nanobind": binders.of_nanobind,
    "pybind11": binders.of_pybind11,
    "tvm-ffi": tvm.contenders,
    "Pythran": compilers.of_pythran,
    "numba": compilers.of_numba,
    "cffi": plain.of_cffi,
    "ctypes": plain.of_ctypes,
}


def add_venvs(venvs: list[Path]) -> None:
    """Packages of other environments, after those of this one."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for venv in venvs:
        folder = venv / "lib" / version / "site-packages"
        if not folder.is_dir():
            raise SystemExit(f"--venv: '{folder}' is no folder; an environment of {version} is needed.")
        site.addsitedir(str(folder))


def enter() -> dict[str, list[Contender]]:
    """The contenders of each row, from every peer that is there; the others are named."""
    found: dict[str, list[Contender]] = {}
    for peer, contenders in PEERS.items():
        try:
            for contender in contenders():
                found.setdefault(contender.row, []).append(contender)
        except (ImportError, OSError) as error:
            harness.missing(peer, error)
    return found

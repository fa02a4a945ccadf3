"""Building peers once: what a build made is kept in `build/bench-call` under a key of everything that went into it."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PEERS = HERE / "peers"
ROOT = HERE.parents[1]
BUILD = ROOT / "build/bench-call"


def kept(name: str, inputs: str, make: Callable[[Path], None]) -> Path:
    """The folder that `make` filled for these inputs, by this Python; any changed C or C++ of `peers/` fills a new one."""
    texts = [file.read_bytes() for file in sorted(PEERS.iterdir()) if file.suffix in (".c", ".cpp", ".h")]
    key = hashlib.sha256(b"\0".join([*texts, sys.version.encode(), inputs.encode()])).hexdigest()[:16]
    folder = BUILD / f"{name}-{key}"
    if not folder.exists():
        BUILD.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=BUILD) as work:
            made = Path(work) / "made"
            made.mkdir()
            make(made)
            os.rename(made, folder)
    return folder


def run(command: list[str], **options: Any) -> None:
    """Run a command; a failure is an OSError with the end of what it said."""
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise OSError(f"'{command[0]}' failed: {(done.stderr or done.stdout).strip()[-2000:]}")


def shared(name: str, sources: list[Path], *flags: str, version: str = "", suffix: str = ".so") -> Path:
    """One shared library of C or C++ sources."""
    compiler = "g++" if any(source.suffix == ".cpp" for source in sources) else "gcc"
    command = [compiler, "-O2", "-fPIC", "-shared", *flags, *map(str, sources)]

    def make(folder: Path) -> None:
        run([*command, "-o", str(folder / f"{name}{suffix}")])

    return kept(name, "\0".join([version, *command]), make) / f"{name}{suffix}"


def load(name: str, path: Path) -> Any:
    """The Python module at this path, an extension or a text."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"'{path}' is no module of this Python.")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def extension(name: str, sources: list[Path], *flags: str, version: str = "") -> Any:
    """Build and import one Python extension; `version` is that of the headers it is built with."""
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    includes = [f"-I{sysconfig.get_path('include')}", *flags]
    return load(name, shared(name, sources, *includes, version=version, suffix=suffix))

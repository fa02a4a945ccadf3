"""Wheels: installed into an empty environment on a machine with a C++ compiler, they do what the README shows.

One for the Python of the suite; with FERRULE_WHEELS=all one for every supported Python that pyenv or PATH has. What one
of them compiled loads in the others, and in a program without Python, as the same entry and without a compiler.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OWN = "{}.{}".format(*sys.version_info[:2])
SUPPORTED = ("3.10", "3.11", "3.12", "3.13")
VERSIONS = SUPPORTED if os.environ.get("FERRULE_WHEELS") == "all" else (OWN,)
# What a machine with g++ has.
SYSTEM_LIBRARIES = {
    "linux-vdso",
    "libstdc++",
    "libm",
    "libgcc_s",
    "libc",
    "ld-linux-x86-64",
    "ld-linux-aarch64",
}

PROGRAM = """
from typing import Annotated
import numpy as np
import ferrule as fr

@fr.program
def scale(a: Annotated[np.ndarray, fr.float64["N"]], factor: float):
    a *= factor
"""
USE = """
import json, sys
import numpy as np
import ferrule as fr
artifact = fr.Artifact.open(sys.argv[1])
a = np.arange(3.0)
artifact.load()(a, 2.5)
print(json.dumps([artifact.key, a.tolist()]))
"""
IMPORT = """
import importlib, sys
import numpy as np
import ferrule as fr
found = importlib.import_module(fr.Artifact.open(sys.argv[1] + "/scale.so").module_name)
sys.path.insert(0, sys.argv[1])
import scale
a = np.arange(3.0)
found.kernel(a, 2.0)
scale.kernel(a, 2.0)
print(found.__file__ == scale.__file__, a.tolist())
"""


def run(command: list, **options) -> str:
    done = subprocess.run(command, text=True, capture_output=True, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-6000:]}"
    return done.stdout


def interpreter(version: str) -> str | None:
    """The interpreter of a version, or None; shims that only say how to install it are none."""
    found = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}"))
    for python in (*map(str, found), shutil.which(f"python{version}")):
        if python and subprocess.run([python, "-c", "import venv"], capture_output=True).returncode == 0:
            return python
    return None


class Installed:
    """An environment with nothing but the wheel and NumPy, and the bare environment variables of a new user."""

    def __init__(self, python: str, folder: Path, store: Path) -> None:
        self.folder = folder
        run([ROOT / "tools" / "wheel.sh", folder / "dist", python], cwd=ROOT)
        (self.wheel,) = (folder / "dist").glob("*.whl")
        run([python, "-m", "venv", folder / "env"])
        self.bin = folder / "env" / "bin"
        run([self.bin / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check", self.wheel])
        self.env = {"PATH": "/usr/bin:/bin", "HOME": str(folder / "home"), "FERRULE_CACHE_DIR": str(store)}

    def python(self, *words: str, **env: str) -> str:
        return run([self.bin / "python", *words], cwd=self.folder, env={**self.env, **env})


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("store") / "root"


@pytest.fixture(scope="module")
def installations(tmp_path_factory, store):
    """Makes the environment of a version when it is first asked for, or skips."""
    made: dict[str, Installed] = {}

    def get(version: str) -> Installed:
        if version not in made:
            python = sys.executable if version == OWN else interpreter(version)
            if python is None:
                pytest.skip(f"no Python {version}")
            made[version] = Installed(python, tmp_path_factory.mktemp(f"py{version}-"), store)
        return made[version]

    return get


@pytest.fixture(scope="module")
def artifact(installations, tmp_path_factory) -> tuple[Path, str]:
    """The saved artifact that the suite's Python made through the command of its wheel, and its key."""
    installed = installations(OWN)
    folder = tmp_path_factory.mktemp("made")
    (folder / "scale.py").write_text(PROGRAM)
    out = run(
        [
            installed.bin / "ferrule",
            "compile",
            "scale.py",
            "-o",
            "scale.artifact",
            "--folder",
            "files",
            "--json",
        ],
        cwd=folder,
        env=installed.env,
    )
    return folder / "scale.artifact", json.loads(out)[0]["key"]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_readme_example_runs(installations, version):
    installed = installations(version)
    readme = (ROOT / "README.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", readme, re.M | re.S)
    (installed.folder / "example.py").write_text("\n".join(blocks))
    installed.python("example.py")


@pytest.mark.parametrize("version", VERSIONS)
def test_modules_need_only_what_comes_with_the_compiler(installations, version):
    package = next((installations(version).folder / "env" / "lib").glob("python*/site-packages/ferrule"))
    modules = list(package.glob("*.so"))
    assert len(modules) == 2
    for module in modules:
        needed = {line.split()[0].split(".so")[0] for line in run(["ldd", module]).splitlines()}
        assert needed <= {*SYSTEM_LIBRARIES, *(f"/lib64/{name}" for name in SYSTEM_LIBRARIES)}


@pytest.mark.parametrize("version", VERSIONS)
def test_the_command_is_installed(installations, version):
    installed = installations(version)
    facts = json.loads(run([installed.bin / "ferrule", "info", "--json"], env=installed.env))
    assert facts["versions"]["python"].startswith(f"{version}.")
    assert facts["package"].startswith(str(installed.folder)) and facts["include"].startswith(
        facts["package"]
    )
    assert facts["compiler"]["command"] == ["/usr/bin/c++"]


@pytest.mark.parametrize("version", VERSIONS)
def test_an_artifact_loads_without_a_compiler(installations, artifact, version, tmp_path):
    file, key = artifact
    out = installations(version).python(
        "-c", USE, str(file), CXX="/nonexistent", FERRULE_CACHE_DIR=str(tmp_path / "empty")
    )
    assert json.loads(out) == [key, [0.0, 2.5, 5.0]]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_python_imports_its_file(installations, artifact, version):
    folder = artifact[0].parent / "files"
    out = installations(version).python("-c", IMPORT, str(folder), CXX="/nonexistent")
    assert out.split(maxsplit=1) == ["True", "[0.0, 4.0, 8.0]\n"]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_same_program_is_the_same_entry(installations, artifact, version):
    file, key = artifact
    out = installations(version).python("-m", "ferrule", "compile", str(file.parent / "scale.py"), "--json")
    (row,) = json.loads(out)
    assert (row["key"], row["compiled"]) == (key, False)


def test_a_program_without_python_loads_it(artifact, tmp_path):
    file, key = artifact
    build = ROOT / "build" / "release"
    sources = ["-I", ROOT / "src", "-I", ROOT / "include", ROOT / "tests/packaging/run_artifact.cpp"]
    libraries = [build / "libferrule_rt.a", build / "libferrule_fmt.a", "-lmd", "-ldl", "-pthread"]
    run(["c++", "-std=c++20", *sources, *libraries, "-o", tmp_path / "run"])
    for path in (file, file.parent / "files" / "scale.so"):
        out = run([tmp_path / "run", path], env={"PATH": "/nonexistent"})
        assert out.split() == [key, "2.5", "5", "7.5"]

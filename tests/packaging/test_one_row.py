"""A new element-wise operation is one row and one functor: both are written into a copy of the tree, which then knows it.

The copy is built without optimisation: a minute or two where ccache has not seen it, seconds where it has.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import one_row
import pytest

from ferrule import _compiler as ir

ROOT = Path(__file__).resolve().parents[2]

ROW = 'FR_ELEMENTWISE(isgreat, 1, FloatPredicate, 1, 0, "isgreat", "x is positive infinity.")\n'
FUNCTOR = """\
template <class T>
FR_INLINE bool isgreat(T x) {
  return x == FloatFacts<T>::inf;
}

"""


def insert_before(path: Path, anchor: str, text: str) -> None:
    whole = path.read_text()
    assert whole.count(anchor) == 1, f"'{anchor}' no longer marks a place in {path}"
    path.write_text(whole.replace(anchor, text + anchor))


def run(command: list[str], **options) -> None:
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-6000:]}"


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> Path:
    """A copy of the tree with the row and the functor, its compiler module built beside the Python files."""
    copy = tmp_path_factory.mktemp("tree")
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name)
    insert_before(copy / "src/program/ops.def", "FR_ELEMENTWISE(isfinite, ", ROW)
    insert_before(
        copy / "include/ferrule/rt/logic.h", "template <class T>\nFR_INLINE bool isfinite(", FUNCTOR
    )

    tools = Path(sys.executable).parent
    build = copy / "build" / "release"
    env = {**os.environ, "CCACHE_BASEDIR": str(copy), "CCACHE_NOHASHDIR": "1"}
    configure = [str(tools / "cmake"), "-S", str(copy), "-B", str(build), "-G", "Ninja"]
    for definition in (
        "CMAKE_BUILD_TYPE=Debug",
        "CMAKE_CXX_FLAGS_DEBUG=-O0",
        f"CMAKE_MAKE_PROGRAM={tools / 'ninja'}",
        f"Python_EXECUTABLE={sys.executable}",
        "FERRULE_TESTS=OFF",
    ):
        configure.append(f"-D{definition}")
    run(configure, env=env)
    run([str(tools / "ninja"), "-C", str(build), "-j2", "_compiler"], env=env)
    package = copy / "python" / "ferrule"
    shutil.copy(next((build / "python" / "bindings").glob("_compiler*.so")), package)
    # _rt knows no operation.
    shutil.copy(next((ROOT / "python" / "ferrule").glob("_rt*.so")), package)
    return copy


def test_the_row_is_new():
    assert one_row.OP not in {op.name for op in ir.element_ops()}


@pytest.mark.parametrize("facet", [facet.__name__ for facet in one_row.FACETS])
def test_one_row_and_one_functor_are_enough(tree, facet, tmp_path):
    env = {
        **os.environ,
        "PYTHONPATH": str(tree / "python"),
        "FERRULE_CACHE_DIR": str(tmp_path / "store"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    run([sys.executable, str(tree / "tests/packaging/one_row.py"), facet], env=env, cwd=tree)

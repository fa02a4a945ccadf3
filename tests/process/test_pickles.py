"""Artifacts and functions that travel: pickles between processes, and pools whose workers never compile."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# One line a start of the compiler, which gets none of the environment.
COMPILER = """#!/bin/sh
echo start >> "{log}"
exec g++ "$@"
"""

LIBRARY = """
import functools
import numpy as np
import ferrule as fr

SCALE = 3.0

def helper(a):
    return a * SCALE

@fr.program
def plain(a):
    return helper(a) + 1.0

class Model:
    def __init__(self, k):
        self.k = k

    @fr.program
    def method(self, a):
        return a * 5.0

    @staticmethod
    @fr.program
    def static(a):
        return a * 6.0

def logged(function):
    @functools.wraps(function)
    def call(*args):
        return function(*args)
    return call

@logged
@fr.program
def replaced(a):
    return a * 7.0

def hidden(function):
    return lambda *args: function(*args)

@hidden
@fr.program
def covered(a):
    return a * 8.0

def make(k):
    @fr.program
    def local(a):
        return a * k
    return local

class Private:
    @staticmethod
    @fr.program
    def names(a, *, factor=10.0):
        __twice = a + a
        return __twice * factor
"""


class Place:
    """A folder with scripts, and a compiler that counts its starts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.compiler = folder / "counting compiler"
        self.log = folder / "starts"
        self.compiler.write_text(COMPILER.format(log=self.log))
        self.compiler.chmod(0o755)

    @property
    def starts(self) -> int:
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0

    def environment(self, **env: str) -> dict[str, str]:
        return {
            **os.environ,
            "FERRULE_CACHE_DIR": str(self.folder / "store"),
            "CXX": str(self.compiler),
            "PYTHONPATH": os.pathsep.join((str(ROOT / "python"), os.environ.get("PYTHONPATH", ""))),
            **env,
        }

    def run(self, command: list[str], stdin: bytes = b"", **env: str) -> bytes:
        done = subprocess.run(
            command,
            input=stdin,
            cwd=self.folder,
            env=self.environment(**env),
            capture_output=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    def script(self, text: str, stdin: bytes = b"", name: str = "script.py", **env: str) -> bytes:
        (self.folder / name).write_text(textwrap.dedent(text))
        return self.run([sys.executable, name], stdin, **env)

    def code(self, text: str, stdin: bytes = b"", **env: str) -> bytes:
        return self.run([sys.executable, "-c", textwrap.dedent(text)], stdin, **env)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


READS = "import pickle, sys; f = pickle.load(sys.stdin.buffer); import numpy as np; print(f(np.arange(3.0)).tolist())"

ORIGINS = {
    "a module": ("import subject", "subject.plain", "[1.0, 4.0, 7.0]"),
    "a static method": ("import subject", "subject.Model.static", "[0.0, 6.0, 12.0]"),
    "below a decorator of the same name": (
        "import subject",
        "subject.replaced.__wrapped__",
        "[0.0, 7.0, 14.0]",
    ),
    "hidden by a decorator": (
        "import subject",
        "subject.covered.__closure__[0].cell_contents",
        "[0.0, 8.0, 16.0]",
    ),
    "a function": ("import subject", "subject.make(9.0)", "[0.0, 9.0, 18.0]"),
    "a lambda": ("import subject", "subject.fr.program(lambda a: a * subject.SCALE)", "[0.0, 3.0, 6.0]"),
    "a script": (LIBRARY, "plain", "[1.0, 4.0, 7.0]"),
    "a method of a script": (LIBRARY, "Model.static", "[0.0, 6.0, 12.0]"),
    "a function of a script": (LIBRARY, "make(9.0)", "[0.0, 9.0, 18.0]"),
    "private names of a class": (LIBRARY, "Private.names", "[0.0, 20.0, 40.0]"),
    "a plain function under its name": (
        "import subject",
        "subject.fr.program(subject.helper)",
        "[0.0, 3.0, 6.0]",
    ),
}

SENDS = """
import pickle, sys
import numpy as np
f = {expression}
if {called}:
    f(np.ones(2))
sys.stdout.buffer.write(pickle.dumps(f, {protocol}))
"""


@pytest.mark.parametrize("origin", ORIGINS)
def test_a_bare_process_calls_what_it_read(place: Place, origin: str) -> None:
    setup, expression, expected = ORIGINS[origin]
    (place.folder / "subject.py").write_text(LIBRARY)
    sent = {
        called: place.script(setup + SENDS.format(expression=expression, called=called, protocol=5))
        for called in (True, False)
    }
    before = place.starts
    other = {"FERRULE_CACHE_DIR": str(place.folder / "other"), "PYTHONHASHSEED": "7"}
    script = place.folder / "script.py"
    script.write_text("raise SystemExit('the source of the maker is not here any more')\n")
    path = os.pathsep.join((str(ROOT / "python"), str(place.folder)))
    assert place.code(READS, sent[True], PYTHONPATH=path, **other).decode().strip() == expected
    assert place.starts == before
    assert place.code(READS, sent[False], PYTHONPATH=path, **other).decode().strip() == expected
    assert place.starts > before


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_all_protocols(place: Place, protocol: int) -> None:
    sent = place.script(LIBRARY + SENDS.format(expression="plain", called=True, protocol=protocol))
    before = place.starts
    assert (
        place.code(READS, sent, FERRULE_CACHE_DIR=str(place.folder / "other")).decode().strip()
        == "[1.0, 4.0, 7.0]"
    )
    assert place.starts == before


@pytest.mark.parametrize(
    "expression", ["plain", "make(2.0)", "plain.specialisations[0]", "plain.compile(np.ones(2))"]
)
def test_pickles_are_byte_equal(place: Place, expression: str) -> None:
    """In other folders, from other stores and hash seeds, compiled or found in the store, and once more after a pickle."""
    called = expression in ("plain", "make(2.0)")
    text = LIBRARY + "plain(np.ones(2))" + SENDS.format(expression=expression, called=called, protocol=4)
    again = (
        "import pickle, sys; f = pickle.load(sys.stdin.buffer); sys.stdout.buffer.write(pickle.dumps(f, 4))"
    )
    sent = set()
    for seed, folder in enumerate(("one", "another")):
        (place.folder / folder).mkdir()
        for _ in range(2):
            env = {"PYTHONHASHSEED": str(seed), "FERRULE_CACHE_DIR": str(place.folder / folder)}
            sent.add(place.script(text, name=f"{folder}/script.py", **env))
    assert len(sent) == 1
    (first,) = sent
    assert place.code(again, first, FERRULE_CACHE_DIR=str(place.folder / "third")) == first
    assert str(place.folder).encode() not in first


def test_recursion_and_shared_helpers(place: Place) -> None:
    text = """
    import pickle, sys
    import numpy as np
    import ferrule as fr

    WEIGHTS = np.arange(3.0)

    def inner(a, n):
        return a if n == 0 else inner(a * 2.0, n - 1)

    @fr.program
    def first(a):
        return inner(a, 3) + WEIGHTS

    @fr.program
    def second(a):
        return second if a is None else first(a) + inner(a, 1)

    second(np.ones(3))
    sys.stdout.buffer.write(pickle.dumps((first, second)))
    """
    sent = place.script(text)
    read = """
    import pickle, sys
    import numpy as np
    first, second = pickle.load(sys.stdin.buffer)
    print(first(np.ones(3)).tolist(), second(np.ones(3)).tolist())
    assert second._fn.__globals__["second"] is second and second._fn.__globals__["first"] is first
    """
    assert place.code(read, sent).decode().strip() == "[8.0, 9.0, 10.0] [10.0, 11.0, 12.0]"


def test_reading_maps_and_reads_nothing(place: Place) -> None:
    sent = place.script(LIBRARY + SENDS.format(expression="plain", called=True, protocol=5))
    code = """
    import pickle, sys
    f = pickle.load(sys.stdin.buffer)
    assert "ferrule-module" not in open("/proc/self/maps").read()
    assert "ferrule._compiler" not in sys.modules
    import os
    assert not os.path.exists("never made")
    """
    place.code(code, sent, FERRULE_CACHE_DIR=str(place.folder / "never made"))


POOLS = {
    "spawn": """
from concurrent.futures import ProcessPoolExecutor
import multiprocessing
def pool(f, arrays):
    with ProcessPoolExecutor(4, mp_context=multiprocessing.get_context("spawn")) as executor:
        return list(executor.map(f, arrays))
""",
    "forkserver": """
from concurrent.futures import ProcessPoolExecutor
import multiprocessing
def pool(f, arrays):
    with ProcessPoolExecutor(4, mp_context=multiprocessing.get_context("forkserver")) as executor:
        return list(executor.map(f, arrays))
""",
    "joblib": """
import joblib
def pool(f, arrays):
    return joblib.Parallel(n_jobs=4, backend="loky")(joblib.delayed(f)(a) for a in arrays)
""",
    "distributed": """
import distributed
def pool(f, arrays):
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            return client.gather(client.map(f, arrays))
""",
}

USES_A_POOL = """
if __name__ == "__main__":
    import os, sys
    functions = [plain, Model.static, make(2.0), fr.program(lambda a: a * 4.0)]
    for f in functions:
        f(np.ones(2))
    made = len(open("starts").readlines())
    os.environ["FERRULE_CACHE_DIR"] = os.path.abspath("other")
    arrays = [np.full(3, float(i)) for i in range(8)]
    for f in functions:
        expected = [f(a).tolist() for a in arrays]
        got = [np.asarray(a).tolist() for a in pool(f, arrays)]
        assert got == expected, (f, got, expected)
    print(len(open("starts").readlines()) - made)
"""


BY_NAME_IN_A_POOL = """
if __name__ == "__main__":
    model = Model(2.0)
    model.method(np.ones(2)), replaced(np.ones(2))
    made = len(open("starts").readlines())
    assert [a.tolist() for a in pool(model.method, [np.ones(1)] * 4)] == [[5.0]] * 4
    assert [a.tolist() for a in pool(replaced, [np.ones(1)] * 4)] == [[7.0]] * 4
    print(len(open("starts").readlines()) - made)
"""


def test_workers_find_in_the_store_what_python_pickles_by_name(place: Place) -> None:
    """Bound methods and plain functions around a decorated one."""
    assert place.script(LIBRARY + POOLS["spawn"] + BY_NAME_IN_A_POOL).decode().split() == ["0"]


@pytest.mark.parametrize("kind", POOLS)
def test_workers_start_no_compiler(place: Place, kind: str) -> None:
    if kind in ("joblib", "distributed"):
        pytest.importorskip(kind)
    assert place.script(LIBRARY + POOLS[kind] + USES_A_POOL).decode().split() == ["0"]


def test_cloudpickle_carries_functions_of_all_origins(place: Place) -> None:
    pytest.importorskip("cloudpickle")
    sends = """
import cloudpickle, sys
functions = [plain, Model.static, replaced, covered, make(2.0), lambda a: plain(a)]
for f in functions:
    f(np.ones(2))
sys.stdout.buffer.write(cloudpickle.dumps(functions))
"""
    reads = """
    import pickle, sys
    functions = pickle.load(sys.stdin.buffer)
    import numpy as np
    print([f(np.ones(1)).tolist()[0] for f in functions])
    """
    sent = place.script(LIBRARY + sends)
    before = place.starts
    assert (
        place.code(reads, sent, FERRULE_CACHE_DIR=str(place.folder / "other")).decode().strip()
        == "[4.0, 6.0, 7.0, 8.0, 2.0, 4.0]"
    )
    assert place.starts == before


def test_ranks_start_no_compiler(place: Place) -> None:
    pytest.importorskip("mpi4py")
    import shutil

    launcher = shutil.which("mpiexec")
    if launcher is None:
        pytest.skip("no mpiexec")
    text = """
import os
from mpi4py import MPI
rank = MPI.COMM_WORLD.rank
if rank == 1:
    os.environ["FERRULE_CACHE_DIR"] = os.path.abspath("other")
f, made = None, 0
if rank == 0:
    f = plain
    f(np.ones(2))
    made = len(open("starts").readlines())
f = MPI.COMM_WORLD.bcast(f)
assert f(np.arange(3.0)).tolist() == [1.0, 4.0, 7.0]
MPI.COMM_WORLD.barrier()
if rank == 0:
    print(len(open("starts").readlines()) - made)
"""
    (place.folder / "script.py").write_text(LIBRARY + text)
    out = place.run([launcher, "-n", "2", sys.executable, "script.py"])
    assert out.decode().split() == ["0"]

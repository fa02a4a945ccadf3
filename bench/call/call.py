"""What a call costs: ns for 1, 3 and 10 float64 arrays, by position and by name, beside other ways to call native code.

Every contender gets the same small arrays and does next to nothing with them; they run in turn, round after round, each in
a plain loop whose own cost is included. Peers that cannot be imported or built are named and left out.
"""

from __future__ import annotations

import argparse
import ctypes
import shutil
import site
import subprocess
import sys
import sysconfig
import tempfile
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import harness  # noqa: E402
import numpy as np  # noqa: E402

COUNTS = (1, 3, 10)
INCLUDE = HERE.parents[1] / "include"


def build(sources: list[Path], output: Path, *flags: str) -> Path:
    """Compile one shared library."""
    compiler = "g++" if any(s.suffix == ".cpp" for s in sources) else "gcc"
    command = [
        compiler,
        "-O2",
        "-fPIC",
        "-shared",
        "-fvisibility=default",
        *flags,
        *map(str, sources),
        "-o",
        str(output),
    ]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return output


def extension(folder: Path, name: str, sources: list[Path], *flags: str) -> Any:
    """Build and import one Python extension."""
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    build(sources, folder / f"{name}{suffix}", f"-I{sysconfig.get_path('include')}", *flags)
    return __import__(name)


def add_byhand(folder: Path, calls: dict[int, dict[str, Any]]) -> None:
    module = extension(folder, "byhand", [HERE / "peers/byhand.c"], f"-I{np.get_include()}")
    for n in COUNTS:
        calls[n]["METH_FASTCALL no-op"] = module.noop
        calls[n]["vectorcall no-op"] = module.Nothing()
        calls[n]["NumPy C API by hand"] = getattr(module, f"call{n}")


def add_ferrule(folder: Path, calls: dict[int, dict[str, Any]]) -> None:
    from ferrule import _rt

    for n in COUNTS:
        path = build([HERE / "peers/kernel.c"], folder / f"kernel{n}.so", f"-I{INCLUDE}", f"-DN_ARRAYS={n}")
        kernel = _rt.Kernel(path)
        function = _rt.FunctionBase()
        function._add(kernel)
        calls[n]["ferrule Kernel"] = kernel
        calls[n]["ferrule Function"] = function
        guarded = _rt.FunctionBase()
        guarded._add(kernel, globals_guard=[(globals(), "COUNTS", COUNTS)])
        calls[n]["Function, 1 global"] = guarded


CAPTURED = """
from typing import Annotated
import numpy as np
import ferrule as fr
Vector = Annotated[np.ndarray, fr.float64["N"]]

@fr.program
def {name}({arguments}):
    out[...] = {value}
"""


def add_captured(folder: Path, calls: dict[int, dict[str, Any]]) -> None:
    """Decorated functions, which do a little work too: out = a0 + a1 + ..."""
    for n in COUNTS:
        names = [f"a{i}" for i in range(n - 1)]
        for row, annotation in (("@fr.program", ""), ("@fr.program, annotated", ": Vector")):
            name = f"captured{n}{'_annotated' if annotation else ''}"
            arguments = ", ".join(f"{argument}{annotation}" for argument in [*names, "out"])
            text = CAPTURED.format(name=name, arguments=arguments, value=" + ".join(names) or "4.0")
            (folder / f"{name}.py").write_text(text)
            calls[n][row] = getattr(__import__(name), name)


def add_numpy(folder: Path, calls: dict[int, dict[str, Any]]) -> None:
    calls[3]["np.add(a, b, out)"] = np.add


def add_numba(folder: Path, calls: dict[int, dict[str, Any]]) -> None:
    import numba

    space: dict[str, Any] = {}
    for n in COUNTS:
        names = [*(f"a{i}" for i in range(n - 1)), "out"]
        exec(f"def call{n}({', '.join(names)}):\n    out[0] = out.shape[0]", space)
        calls[n]["numba"] = numba.njit(space[f"call{n}"])


def add_nanobind(folder: Path, calls: dict[int, dict[str, Any]]) -> None:
    import nanobind

    root = Path(nanobind.__file__).parent
    flags = ["-std=c++17", "-fno-strict-aliasing", "-DNDEBUG", f"-I{root / 'include'}"]
    flags.append(f"-I{root / 'ext/robin_map/include'}")
    sources = [HERE / "peers/with_nanobind.cpp", root / "src/nb_combined.cpp"]
    module = extension(folder, "with_nanobind", sources, *flags)
    for n in COUNTS:
        calls[n]["nanobind ndarray"] = getattr(module, f"call{n}")


def add_ctypes(folder: Path, calls: dict[int, dict[str, Any]]) -> None:
    library = ctypes.CDLL(str(build([HERE / "peers/plain.c"], folder / "plain.so")))
    array = np.ctypeslib.ndpointer(np.float64, 1, flags="C_CONTIGUOUS")
    for n in COUNTS:
        function = getattr(library, f"call{n}")
        function.argtypes = [array] * n + [ctypes.c_int64]
        function.restype = None
        calls[n]["ctypes ndpointer"] = function


PEERS: list[Callable[[Path, dict[int, dict[str, Any]]], None]] = [
    add_byhand,
    add_ferrule,
    add_captured,
    add_numpy,
    add_numba,
    add_nanobind,
    add_ctypes,
]


def statement(name: str, count: int, by_name: bool) -> str | None:
    """The call as source text; None where the contender has no such form."""
    names = [*(f"a{i}" for i in range(count - 1)), "out"]
    if name == "ctypes ndpointer":
        return None if by_name else f"f({', '.join(names)}, 4)"
    if name.startswith("np.add"):
        return "f(a0, a1, out=out)" if by_name else "f(a0, a1, out)"
    return f"f({', '.join(f'{n}={n}' if by_name else n for n in names)})"


def measure(
    calls: dict[str, Any], count: int, by_name: bool, rounds: int, number: int
) -> dict[str, harness.Timing]:
    """Seconds a call, least, median and largest over the rounds."""
    arrays: dict[str, Any] = {f"a{i}": np.arange(4.0) for i in range(count - 1)}
    arrays["out"] = np.zeros(4)
    timers: dict[str, timeit.Timer] = {}
    for name, function in calls.items():
        text = statement(name, count, by_name)
        if text is not None:
            setup = "; ".join(
                f"{local} = given_{local}" for local in ["f", *arrays]
            )  # locals, as in a user's loop
            given = {f"given_{local}": value for local, value in arrays.items()} | {"given_f": function}
            timers[name] = timeit.Timer(text, setup, globals=given)
            timers[name].timeit(10)
    samples: dict[str, list[float]] = {name: [] for name in timers}
    for _ in range(rounds):
        for name, timer in timers.items():
            samples[name].append(timer.timeit(number) / number)
    return {n: harness.Timing(min(s), sorted(s)[len(s) // 2], max(s)) for n, s in samples.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--number", type=int, default=20_000, help="calls a round")
    parser.add_argument("--venv", type=Path, help="a virtual environment with the peers (numba, nanobind)")
    options = parser.parse_args()
    if options.venv is not None:
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        site.addsitedir(str(options.venv / "lib" / version / "site-packages"))
    calls: dict[int, dict[str, Any]] = {n: {} for n in COUNTS}
    folder = Path(tempfile.mkdtemp(prefix="ferrule-bench-"))
    sys.path.insert(0, str(folder))
    for add in PEERS:
        try:
            add(folder, calls)
        except (ImportError, OSError, subprocess.CalledProcessError) as error:
            harness.missing(add.__name__.removeprefix("add_"), error)
    print(harness.machine())
    for n in COUNTS:
        for by_name in (False, True):
            print(f"\n{n} array{'s' if n > 1 else ''}, by {'name' if by_name else 'position'}")
            timings = measure(calls[n], n, by_name, options.rounds, options.number)
            print(harness.table(timings, "METH_FASTCALL no-op", "ns"))
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())

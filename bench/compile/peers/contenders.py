"""One figure in a process of its own: `python contenders.py CONTENDER PROGRAM START CACHE` prints it as JSON.

`first` is the time from the program's text to its first result, the contender imported before. START is 'cold', 'warm' (after
another program, with a cache that does not have this one) or 'stored' (the cache has it).
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import inspect
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path += filter(None, os.environ.get("FERRULE_BENCH_PEERS", "").split(os.pathsep))

PROGRAMS = ("blend", "stencil", "wave", "normalise", "sweep")
OTHER = {name: PROGRAMS[(i + 2) % len(PROGRAMS)] for i, name in enumerate(PROGRAMS)}
TYPES = {
    "blend": "float64[], float64[], float64",
    "stencil": "float64[:,:], float64[:,:]",
    "wave": "float64[], float64[]",
    "normalise": "float64[:,:]",
    "sweep": "float64[]",
}

Call = Callable[..., Any]


def arguments(name: str) -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    vector, matrix = rng.random(1000), rng.random((40, 50))
    return {
        "blend": (vector, vector[::-1].copy(), 0.25),
        "stencil": (matrix, np.zeros_like(matrix)),
        "wave": (vector, vector[::-1].copy()),
        "normalise": (matrix,),
        "sweep": (vector,),
    }[name]


def expected(name: str) -> np.ndarray[Any, Any]:
    import array_form

    given = arguments(name)
    result = getattr(array_form, name)(*given)
    return np.asarray(result if result is not None else given[-1])


class Unsuited(Exception):
    """The contender cannot do the program, or is not here."""


def ferrule(cache: Path) -> Callable[[str], Call]:
    os.environ["FERRULE_CACHE_DIR"] = str(cache)
    import array_form

    import ferrule as fr

    return lambda name: fr.program(getattr(array_form, name))


def numba(cache: Path, form: str) -> Callable[[str], Call]:
    os.environ["NUMBA_CACHE_DIR"] = str(cache)
    from numba import njit

    functions = importlib.import_module(form)

    def make(name: str) -> Call:
        if form == "array_form" and name == "normalise":
            raise Unsuited("mean and std of an axis")
        return njit(cache=True)(getattr(functions, name))

    return make


def jax(cache: Path) -> Callable[[str], Call]:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_compilation_cache_dir", str(cache))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)

    def wave(a: Any, b: Any) -> Any:
        return jnp.where(a > b, jnp.sqrt(jnp.exp(-a * a) + 1.0), jnp.sin(b))

    def stencil(a: Any, out: Any) -> Any:
        inner = 0.25 * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
        return out.at[1:-1, 1:-1].set(inner)

    def sweep(a: Any) -> Any:
        step = lambda i, a: a.at[i].set(0.5 * (a[i - 1] + a[i + 1]))  # noqa: E731
        return jax.lax.fori_loop(1, a.shape[0] - 1, step, a)

    import array_form

    own = {"wave": wave, "stencil": stencil, "sweep": sweep}

    def make(name: str) -> Call:
        jitted = jax.jit(own.get(name) or getattr(array_form, name))
        return lambda *given: jitted(*given).block_until_ready()

    return make


def torch(cache: Path) -> Callable[[str], Call]:
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(cache)
    import torch

    def stencil(a: Any, out: Any) -> Any:
        out[1:-1, 1:-1] = 0.25 * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
        return out

    functions: dict[str, Call] = {
        "blend": lambda a, b, w: a * w + b * (1.0 - w),
        "stencil": stencil,
        "wave": lambda a, b: torch.where(a > b, torch.sqrt(torch.exp(-a * a) + 1.0), torch.sin(b)),
        "normalise": lambda a: (a - a.mean(dim=0)) / a.std(dim=0, correction=0),
    }

    def make(name: str) -> Call:
        if name not in functions:
            raise Unsuited("loops over elements are unrolled")
        compiled = torch.compile(functions[name])
        wrap = lambda x: torch.from_numpy(x) if isinstance(x, np.ndarray) else x  # noqa: E731
        return lambda *given: compiled(*map(wrap, given)).numpy()

    return make


def _import_file(name: str, path: Path) -> Any:
    loader = importlib.machinery.ExtensionFileLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def pythran(cache: Path) -> Callable[[str], Call]:
    import array_form
    import pythran

    os.chdir(cache)  # its set-up reads the project file of the current folder

    def make(name: str) -> Call:
        path = cache / f"{name}.so"
        if not path.exists():
            text = f"import numpy as np\n# pythran export {name}({TYPES[name]})\n{inspect.getsource(getattr(array_form, name))}"
            pythran.compile_pythrancode(
                name, text, output_file=str(path), extra_compile_args=["-O3", "-march=native"]
            )
        found: Call = getattr(_import_file(name, path), name)
        return found

    return make


def cython(cache: Path) -> Callable[[str], Call]:
    import sysconfig

    from Cython.Compiler.Main import CompilationOptions, compile

    include = [sysconfig.get_paths()["include"], np.get_include()]

    def make(name: str) -> Call:
        path = cache / f"{name}.so"
        if not path.exists():
            head, *functions = (HERE / "typed.pyx.txt").read_text().split("\n\n\n")
            body = next(text for text in functions if text.startswith(f"def {name}("))
            source = cache / f"{name}.pyx"
            source.write_text(f"{head}\n\n\n{body}\n")
            done = compile(
                str(source), CompilationOptions(language_level=3, output_file=str(cache / f"{name}.c"))
            )
            assert done.num_errors == 0
            command = [
                "gcc",
                "-O3",
                "-march=native",
                "-shared",
                "-fPIC",
                *(f"-I{folder}" for folder in include),
            ]
            subprocess.run([*command, str(cache / f"{name}.c"), "-o", str(path)], check=True)
        found: Call = getattr(_import_file(name, path), name)
        return found

    return make


CONTENDERS: dict[str, Callable[[Path], Callable[[str], Call]]] = {
    "Ferrule": ferrule,
    "numba, arrays": lambda cache: numba(cache, "array_form"),
    "numba, loops": lambda cache: numba(cache, "loop_form"),
    "JAX": jax,
    "torch.compile": torch,
    "Pythran": pythran,
    "Cython": cython,
}


def main() -> int:
    contender, name, start, cache = sys.argv[1:]
    begin = time.perf_counter()
    try:
        make = CONTENDERS[contender](Path(cache))
    except ImportError as error:
        print(json.dumps({"missing": str(error)}))
        return 0
    imported = time.perf_counter() - begin
    try:
        if start == "warm":
            make(OTHER[name])(*arguments(OTHER[name]))
    except Unsuited:
        make("blend")(*arguments("blend"))
    wanted, given = expected(name), arguments(name)
    try:
        begin = time.perf_counter()
        call = make(name)
        result = call(*given)
        first = time.perf_counter() - begin
    except Unsuited as error:
        print(json.dumps({"unsuited": str(error)}))
        return 0
    if not np.allclose(np.asarray(result if result is not None else given[-1]), wanted, rtol=1e-10):
        raise AssertionError(f"{contender} gives another result for '{name}'")
    figures = {"first": first, "import": imported}
    if contender == "Ferrule":
        stats = call.stats()  # type: ignore[attr-defined]
        figures["compiler"] = stats["compiler"]
        call.compile(*given)  # type: ignore[attr-defined]
        begin = time.perf_counter()
        for _ in range(100):
            call.compile(*given)  # type: ignore[attr-defined]
        figures["unchanged"] = (time.perf_counter() - begin) / 100
        begin = time.perf_counter()
        call.specialisations[0].artifact.load()  # type: ignore[attr-defined]
        figures["load"] = time.perf_counter() - begin
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())

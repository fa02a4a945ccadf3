"""numba and Pythran: the same small functions in Python, compiled just in time and ahead of time."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from building import kept, load, run
from rows import COUNTS, Contender, names, plural

from .byhand import aligned

VECTOR = "float64[]"
SPECS = {
    "scalars": f"{VECTOR}, {VECTOR}, {VECTOR}, float64, int64, bool",
    "nested": f"{VECTOR}, (None, ({VECTOR}, {VECTOR}))",
    "scalar_result": VECTOR,
    "fresh_array": VECTOR,
    "workspace": f"{VECTOR}, uint8[]",
    "state": f"{VECTOR}, int64[]",
}
TEXT = """
def scalars(a0, a1, a2, x, k, b):
    a2[0] = x + k + b
def nested(a0, rest):
    a0[0] = rest[1][0].shape[0]
def scalar_result(a0):
    return a0[0]
def fresh_array(a0):
    made = np.empty(a0.shape[0])
    made[0] = a0.shape[0]
    return made
def workspace(a0, w):
    w[0] = 1
    a0[0] = a0.shape[0]
def state(a0, s):
    s[0] += 1
    a0[0] = s[0]
"""


def text() -> str:
    """The functions, as a module of Python."""
    arrays = "".join(
        f"def call{n}({', '.join(names(n))}):\n    a{n - 1}[0] = a{n - 1}.shape[0]\n" for n in COUNTS
    )
    return f"import numpy as np\n{arrays}{TEXT}"


def common(peer: str, functions: dict[str, Any]) -> Iterator[Contender]:
    for n in COUNTS:
        yield Contender(plural(n), peer, functions[f"call{n}"])
    for n in (3, 10):
        yield Contender(f"{plural(n)} by name", peer, functions[f"call{n}"])
    yield Contender("3 arrays by name, another order", peer, functions["call3"])
    yield Contender("3 arrays, 3 scalars", peer, functions["scalars"])
    yield Contender("nested tuples", peer, functions["nested"])
    yield Contender("a scalar result", peer, functions["scalar_result"])
    yield Contender("a fresh array", peer, functions["fresh_array"])
    yield Contender("a workspace", peer, functions["workspace"], call="f(a0, w)", extra={"w": aligned(4096)})
    yield Contender("state", peer, functions["state"], call="f(a0, s)", extra={"s": np.zeros(1, np.int64)})


def of_numba() -> Iterator[Contender]:
    import numba

    space: dict[str, Any] = {}
    exec(text(), space)
    wanted = [*(f"call{n}" for n in COUNTS), *SPECS]
    yield from common("numba", {name: numba.njit(space[name]) for name in wanted})


def of_pythran() -> Iterator[Contender]:
    import pythran

    specs = {f"call{n}": ", ".join([VECTOR] * n) for n in COUNTS} | SPECS
    source = "".join(f"#pythran export {name}({spec})\n" for name, spec in specs.items()) + text()

    def make(folder: Path) -> None:
        (folder / "with_pythran.py").write_text(source)
        command = [sys.executable, "-m", "pythran.run", "with_pythran.py", "-o", "with_pythran.so"]
        root = str(
            Path(pythran.__file__).parents[1]
        )  # before the packages of this Python: it needs its setuptools
        run(command, cwd=folder, env={**os.environ, "PYTHONPATH": root})

    module = load(
        "with_pythran", kept("with_pythran", pythran.__version__ + source, make) / "with_pythran.so"
    )
    yield from common("Pythran", {name: getattr(module, name) for name in specs})

"""What the parts of the call interface cost: ns a call beside a METH_FASTCALL no-op with the same arguments.

Source kernels of small float64 arrays whose bodies do next to nothing, one feature at a time: 30 arrays, scalars, keywords
in and out of order, nested arguments by user_call, fresh results, a workspace, state, a callback, tensors of torch where it
is installed. All in turn, round after round, in one process.
"""

from __future__ import annotations

import argparse
import site
import subprocess
import sys
import tempfile
import timeit
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE))

import harness  # noqa: E402
import numpy as np  # noqa: E402

import call as plain  # noqa: E402
import ferrule as fr  # noqa: E402

Case = tuple[Any, str, dict[str, Any]]  # callable, the call as text over `f` and these names


def kernel(name: str, args: list[fr.Arg], body: str, **options: Any) -> Any:
    """A loaded source kernel whose parameters are its arguments and the size."""
    c_types = {"float64": "double", "int64": "long", "bool": "bool"}
    parameters = [f"{c_types[str(a.dtype)]}{'*' if a.kind == 'array' else ''} {a.name}" for a in args]
    text = f"void {name}({', '.join([*parameters, 'long n'])}) {{ {body} }}"
    return fr.compile_source(text, fr.Signature(name, args, **options)).load()


def arrays(count: int) -> list[fr.Arg]:
    return [fr.Arg(f"a{i}", shape="N", intent="inout" if i == count - 1 else "in") for i in range(count)]


def cases() -> dict[str, Case]:
    """Every feature with the call that uses it."""
    given = {f"a{i}": np.arange(4.0) for i in range(30)}
    three = {k: given[k] for k in ("a0", "a1", "a2")}
    found: dict[str, Case] = {}
    f3 = kernel("f3", arrays(3), "a2[0] = n;")
    found["3 arrays"] = (f3, "f(a0, a1, a2)", three)
    found["3 arrays by name"] = (f3, "f(a0=a0, a1=a1, a2=a2)", three)
    found["3 arrays by name, another order"] = (f3, "f(a2=a2, a0=a0, a1=a1)", three)
    names = ", ".join(given)
    found["30 arrays"] = (kernel("f30", arrays(30), "a29[0] = n;"), f"f({names})", given)
    scalars = [
        *arrays(3),
        *(fr.Arg(n, kind="scalar", dtype=t) for n, t in (("x", "float64"), ("k", "int64"), ("b", "bool"))),
    ]
    found["3 arrays, 3 scalars"] = (
        kernel("fs", scalars, "a2[0] = x + k + b;"), "f(a0, a1, a2, 0.5, 3, True)", three,
    )  # fmt: skip
    nested = kernel("fu", arrays(3), "a2[0] = n;", user_args=("a0", ("a1", "", ("a2",))))
    found["user_call, nested"] = (nested.user_call, "f(a0, (a1, None, (a2,)))", three)
    found["a scalar result"] = (
        fr.compile_source(
            "double fr1(double* a0, long n) { return a0[0]; }",
            fr.Signature("fr1", arrays(1), returns=[fr.Return("r", kind="scalar")], result="r"),
        ).load(),
        "f(a0)", three,
    )  # fmt: skip
    found["a fresh array"] = (
        fr.compile_source(
            "void fra(double* a0, double* r, long n) { r[0] = n; }",
            fr.Signature("fra", arrays(1), returns=[fr.Return("r", shape="N")]),
        ).load(),
        "f(a0)", three,
    )  # fmt: skip
    workspace = fr.compile_source(
        "void fw(double* a0, long n, char* w) { w[0] = 1; a0[0] = n; }",
        fr.Signature("fw", arrays(1), workspaces=[fr.Workspace("w", "8*N")], parameters=["a0", "N", "w"]),
    ).load()
    memory = np.zeros(4096 + 64, np.uint8)
    workspace.set_workspace("w", memory[-memory.ctypes.data % 64 :][:4096])
    found["a workspace"] = (workspace, "f(a0)", three)
    state = fr.compile_source(
        "static int it; int* open() { return &it; } void fst(int* s, double* a0, long n) { a0[0] = ++*s; }",
        fr.Signature(
            "fst", arrays(1), init=fr.AuthorFunction("open", [], "state"), parameters=["state", "a0", "N"]
        ),
    ).load()
    found["state"] = (state, "f(a0)", three)
    try:
        import torch

        found["3 torch tensors"] = (
            f3,
            "f(a0, a1, a2)",
            {k: torch.from_numpy(v.copy()) for k, v in three.items()},
        )
    except ImportError as error:
        harness.missing("torch", error)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--number", type=int, default=20_000, help="calls a round")
    parser.add_argument("--venv", type=Path, help="a virtual environment with torch")
    options = parser.parse_args()
    if options.venv is not None:
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        site.addsitedir(str(options.venv / "lib" / version / "site-packages"))
    with tempfile.TemporaryDirectory() as folder:
        sys.path.insert(0, folder)
        try:
            floor = plain.extension(
                Path(folder), "byhand", [HERE / "peers/byhand.c"], f"-I{np.get_include()}"
            ).noop
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"The floor could not be built: {error}", file=sys.stderr)
            return 1
        timers: dict[str, timeit.Timer] = {}
        for name, (function, text, given) in cases().items():
            for label, called in ((name, function), (f"{name}: no-op", floor)):
                space = {f"given_{k}": v for k, v in given.items()} | {"given_f": called}
                timers[label] = timeit.Timer(
                    text, "; ".join(f"{k} = given_{k}" for k in ["f", *given]), globals=space
                )
                timers[label].timeit(10)
        samples: dict[str, list[float]] = {name: [] for name in timers}
        for _ in range(options.rounds):
            for name, timer in timers.items():
                samples[name].append(timer.timeit(options.number) / options.number)
    print(harness.machine())
    print(f"{'':34}{'least':>10}{'median ns':>12}   x no-op (spread)")
    for name in cases_in(timers):
        own, none = samples[name], samples[f"{name}: no-op"]
        ratios = sorted(a / b for a, b in zip(own, none, strict=True))
        print(
            f"{name:34}{min(own) * 1e9:10.1f}{sorted(own)[len(own) // 2] * 1e9:12.1f}   "
            f"{ratios[len(ratios) // 2]:.2f} ({ratios[0]:.2f} - {ratios[-1]:.2f})"
        )
    return 0


def cases_in(timers: dict[str, timeit.Timer]) -> list[str]:
    return [name for name in timers if not name.endswith(": no-op")]


if __name__ == "__main__":
    sys.exit(main())

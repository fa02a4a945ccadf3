"""Ferrule: source kernels whose bodies do next to nothing, and decorated functions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from building import kept, load
from rows import COUNTS, EXTENT, FERRULE, Contender, names, plural

import ferrule as fr

from .byhand import aligned

C_TYPES = {"float64": "double", "int64": "long", "bool": "bool"}


def arrays(count: int, written: int) -> list[fr.Arg]:
    return [fr.Arg(f"a{i}", shape="N", intent="inout" if i == written else "in") for i in range(count)]


def kernel(name: str, args: list[fr.Arg], body: str, **options: Any) -> Any:
    """A loaded source kernel whose parameters are its arguments and the size."""
    parameters = [f"{C_TYPES[str(a.dtype)]}{'*' if a.kind == 'array' else ''} {a.name}" for a in args]
    text = f"void {name}({', '.join([*parameters, 'long n'])}) {{ {body} }}"
    return fr.compile_source(text, fr.Signature(name, args, **options)).load()


def of_arrays(count: int) -> Any:
    return kernel(f"call{count}", arrays(count, count - 1), f"a{count - 1}[0] = n;")


PROGRAM = """
from typing import Annotated
import numpy as np
import ferrule as fr
Vector = Annotated[np.ndarray, fr.float64["N"]]
TWO = 2.0

@fr.program
def f({parameters}):
    {body}
"""


def program(parameters: list[str], body: str) -> Any:
    """A decorated function, whose text stays in a file because its first call reads it."""
    text = PROGRAM.format(parameters=", ".join(parameters), body=body)

    def write(folder: Path) -> None:
        (folder / "program.py").write_text(text)

    path = kept("program", text, write) / "program.py"
    return load(path.parent.name.replace("-", "_"), path).f


def total(count: int, more: str) -> str:
    """The sum of all arrays but the last into the last one, and something more."""
    return f"a{count - 1}[...] = {' + '.join([*names(count - 1), more])}"


def program_of_arrays(count: int, annotation: str = "", more: str = "") -> Any:
    """Adds so much that the first element becomes the extent, as in the kernels."""
    parameters = [name + annotation for name in names(count)]
    return program(parameters, total(count, more or str(float(EXTENT - (count - 1)))))


def callback() -> Any:
    """A kernel that calls its first argument once."""
    args = [
        fr.Arg("g", kind="callback", params=[fr.Arg("x", kind="scalar")], returns="float64"),
        fr.Arg("x", kind="scalar"),
    ]
    source = """
#include "ferrule/rt/author.h"
double apply(fr_author::Callback<double(double)> g, double x) {
  const auto y = g(x);
  return y ? y.value : 0;
}"""
    signature = fr.Signature("apply", args, returns=[fr.Return("y", kind="scalar")], result="y")
    return fr.compile_source(source, signature).load()


def with_workspace() -> Any:
    signature = fr.Signature(
        "work", arrays(1, 0), workspaces=[fr.Workspace("w", "8*N")], parameters=["a0", "N", "w"]
    )
    made = fr.compile_source(
        "void work(double* a0, long n, char* w) { w[0] = 1; a0[0] = n; }", signature
    ).load()
    made.set_workspace("w", aligned(4096))
    return made


def with_state() -> Any:
    signature = fr.Signature(
        "count", arrays(1, 0), init=fr.AuthorFunction("open", [], "state"), parameters=["state", "a0", "N"]
    )
    source = "static long it; long* open() { it = 0; return &it; } void count(long* s, double* a0, long n) { a0[0] = ++*s; }"
    return fr.compile_source(source, signature).load()


def contenders() -> Iterator[Contender]:
    called = {n: of_arrays(n) for n in COUNTS}
    programs = {n: program_of_arrays(n) for n in COUNTS}
    for n in COUNTS:
        yield Contender(plural(n), FERRULE, called[n])
        yield Contender(plural(n), "@fr.program", programs[n])
    for n in (3, 10):
        yield Contender(f"{plural(n)} by name", FERRULE, called[n])
        yield Contender(f"{plural(n)} by name", "@fr.program", programs[n])
    yield Contender("3 arrays", "@fr.program, annotated", program_of_arrays(3, ": Vector"))
    guarded = program_of_arrays(3, more="TWO")
    yield Contender("3 arrays", "@fr.program, reads a global", guarded)
    yield Contender("3 arrays by name, another order", FERRULE, called[3])
    yield Contender("3 arrays by name, another order", "@fr.program", programs[3])
    types = (("x", "float64"), ("k", "int64"), ("b", "bool"))
    scalars = [*arrays(3, 2), *(fr.Arg(n, kind="scalar", dtype=t) for n, t in types)]
    yield Contender("3 arrays, 3 scalars", FERRULE, kernel("scalars", scalars, "a2[0] = x + k + b;"))
    adds = program([*names(3), "x", "k", "b"], total(3, "(x + k + b - 2.0)"))
    yield Contender("3 arrays, 3 scalars", "@fr.program", adds)
    nested = kernel("nested", arrays(3, 0), "a0[0] = n;", user_args=("a0", ("", ("a1", "a2"))))
    yield Contender("nested tuples", FERRULE, nested.user_call)
    signature = fr.Signature("first", arrays(1, 1), returns=[fr.Return("r", kind="scalar")], result="r")
    first = fr.compile_source("double first(double* a0, long n) { return a0[0]; }", signature).load()
    yield Contender("a scalar result", FERRULE, first)
    yield Contender("a scalar result", "@fr.program", program(["a0"], "return float(a0[0])"))
    signature = fr.Signature("fresh", arrays(1, 1), returns=[fr.Return("r", shape="N")])
    fresh = fr.compile_source("void fresh(double* a0, double* r, long n) { r[0] = n; }", signature).load()
    yield Contender("a fresh array", FERRULE, fresh)
    yield Contender("a fresh array", "@fr.program", program(["a0"], "return a0 + 3.0"))
    yield Contender("a workspace", FERRULE, with_workspace())
    yield Contender("state", FERRULE, with_state())
    yield Contender("a callback", FERRULE, callback())
    yield Contender("3 torch tensors", FERRULE, called[3])
    yield Contender("3 torch tensors", "@fr.program", programs[3])
    yield Contender("a fresh torch tensor", FERRULE, fresh)

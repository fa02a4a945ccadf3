"""Array loops over the functors of include/ferrule/rt, compiled with the flags of emitted code and called through ctypes.

One C++ file holds a loop for every row of the operation table and every dtype that its rule computes with, so that the
tests see the functors as emitted code does: inlined into a vectorised loop with a scalar tail.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
FLAGS = [
    "-std=c++20",
    "-O3",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=off",
    "-fPIC",
    "-shared",
]

SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
INTEGERS = SIGNED + UNSIGNED
FLOATS = ["float32", "float64"]
NUMBERS = INTEGERS + FLOATS
ALL = ["bool", *NUMBERS]

CPP = {name: f"{name}_t" for name in INTEGERS} | {"bool": "bool", "float32": "float", "float64": "double"}

COMPUTE_DTYPES = {
    "Same": ALL,
    "SameNoBool": NUMBERS,
    "Number": NUMBERS,
    "Integer": INTEGERS,
    "TrueDivide": FLOATS,
    "FloatPower": ["float64"],
    "Float": FLOATS,
    "FloatToI32": FLOATS,
    "Ldexp": FLOATS,
    "Rounding": ["bool", "int32", "uint64", *FLOATS],
    "Select": ALL,
    "Compare": ALL,
    "Logical": ["bool"],
    "Bitwise": ["bool", *INTEGERS],
    "Shift": INTEGERS,
    "BitCount": INTEGERS,
    "Predicate": ["bool", "int32", *FLOATS],
    "FloatPredicate": FLOATS,
}
RESULT = {
    "FloatToI32": "int32",
    "Compare": "bool",
    "Logical": "bool",
    "BitCount": "uint8",
    "Predicate": "bool",
    "FloatPredicate": "bool",
}

# Rows whose values are approximations, with the largest error promised in units in the last place of the true value.
TRANSCENDENTAL = [
    "cbrt",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "logaddexp",
    "logaddexp2",
    "hypot",
    "sin",
    "cos",
    "tan",
    "arcsin",
    "arccos",
    "arctan",
    "arctan2",
    "sinh",
    "cosh",
    "tanh",
    "arcsinh",
    "arccosh",
    "arctanh",
    "power",
    "float_power",
]


@dataclass(frozen=True)
class Loop:
    """One loop: `op` with operands of the given dtypes."""

    op: str
    operands: tuple[str, ...]
    result: str

    @property
    def symbol(self) -> str:
        return "__".join((self.op, *self.operands))

    def source(self) -> str:
        names = "xyz"[: len(self.operands)]
        parameters = ", ".join(f"const {CPP[d]}* __restrict {n}" for d, n in zip(self.operands, names))
        types = f"<{CPP[self.result]}>" if self.op == "cast" else ""
        symbol = f"{self.symbol}__{self.result}" if self.op == "cast" else self.symbol
        values = ", ".join(
            f"fr::truth({n}[i])" if d == "bool" else f"{n}[i]" for n, d in zip(names, self.operands)
        )
        return (
            f'extern "C" void {symbol}({parameters}, {CPP[self.result]}* __restrict out, int64_t n) {{\n'
            f"  for (int64_t i = 0; i < n; ++i) out[i] = fr::{self.op}{types}({values});\n}}\n"
        )


def table() -> list[tuple[str, int, str, str]]:
    """Rows of ops.def as (id, arity, rule, first NumPy name or '')."""
    text = (ROOT / "src/program/ops.def").read_text()
    rows = re.findall(r'^FR_ELEMENTWISE\((\w+), (\d), (\w+), [^,]*, [^"]*"([^"]*)"', text, re.M)
    return [(op, int(arity), rule, (numpy.split() or [""])[0]) for op, arity, rule, numpy in rows]


def table_loops() -> list[Loop]:
    loops = []
    for op, arity, rule, _ in table():
        for dtype in COMPUTE_DTYPES[rule]:
            result = RESULT.get(rule, dtype)
            if rule == "Ldexp":
                loops += [Loop(op, (dtype, k), result) for k in ("int32", "int64")]
            elif rule == "Select":
                loops.append(Loop(op, ("bool", dtype, dtype), result))
            else:
                loops.append(Loop(op, (dtype,) * arity, result))
            if rule == "Compare" and dtype == "int64":
                loops += [Loop(op, ("int64", "uint64"), "bool"), Loop(op, ("uint64", "int64"), "bool")]
    return loops


def cast_loops() -> list[Loop]:
    return [Loop("cast", (a,), b) for a in ALL for b in ALL if a != b]


@dataclass
class LoopLibrary:
    """A compiled set of loops; call it with a loop and one-dimensional arrays."""

    library: ctypes.CDLL

    def __call__(self, loop: Loop, *operands: np.ndarray) -> np.ndarray:
        arrays = [np.ascontiguousarray(a, dtype=d) for a, d in zip(operands, loop.operands)]
        out = np.zeros(arrays[0].shape, loop.result)
        symbol = f"{loop.symbol}__{loop.result}" if loop.op == "cast" else loop.symbol
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in (*arrays, out)]
        self.library[symbol](*pointers, ctypes.c_int64(out.size))
        return out


def compiler() -> str:
    found = os.environ.get("CXX") or shutil.which("g++")
    if not found:
        raise RuntimeError("These tests need a C++ compiler.")
    return found


def compile_loops(
    loops: list[Loop], folder: Path, *, cxx: str | None = None, march: str = "native", extra: str = ""
) -> LoopLibrary:
    """Compiles the loops, split into two files that build side by side, and `extra`, C++ text that stands in the first."""
    cxx = cxx or compiler()
    header = '#include "ferrule/rt/vmath.h"\n#include "ferrule/rt/reduce.h"\n'
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{Path(cxx).name}-{march}"
    jobs = []
    for part in range(2):
        source, output = folder / f"{stem}-{part}.cpp", folder / f"{stem}-{part}.o"
        source.write_text(
            header + "".join(loop.source() for loop in loops[part::2]) + (extra if part == 0 else "")
        )
        command = [
            cxx,
            *FLAGS[:-1],
            f"-march={march}",
            f"-I{ROOT / 'include'}",
            "-c",
            str(source),
            "-o",
            str(output),
        ]
        jobs.append((subprocess.Popen(command, stderr=subprocess.PIPE, text=True), output))
    for process, _ in jobs:
        _, errors = process.communicate()
        assert process.returncode == 0, errors
    library = folder / f"{stem}.so"
    subprocess.run([cxx, "-shared", *(str(o) for _, o in jobs), "-o", str(library), "-lm"], check=True)
    return LoopLibrary(ctypes.CDLL(str(library)))

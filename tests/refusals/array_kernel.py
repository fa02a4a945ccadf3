"""A function of arrays of float64[N, M] in every layout and direction: out_* = 2 * in_*, io_* += in_*. It gives how often
it has run."""

from __future__ import annotations

from typing import Any

import numpy as np

import ferrule as fr

LAYOUTS = {"c": "C", "f": "F", "inner": "inner", "any": "any"}
INTENTS = {"in": "in", "out": "out", "io": "inout"}
NAMES = [f"{intent}_{layout}" for layout in LAYOUTS for intent in INTENTS]
READ = [name for name in NAMES if name.startswith("in_")]
WRITTEN = [name for name in NAMES if name not in READ]

SOURCE = """
#include <stdint.h>
static int64_t runs = 0;
struct View { double* data; int64_t rows, columns; };
static void step(const double* in, int64_t i0, int64_t i1, View out, View io, int64_t n, int64_t m) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < m; ++j) {
      const double x = in[i * i0 + j * i1];
      out.data[i * out.rows + j * out.columns] = 2 * x;
      io.data[i * io.rows + j * io.columns] += x;
    }
}
int64_t layouts(const double* in_c, double* out_c, double* io_c, const double* in_f, double* out_f, double* io_f,
                const double* in_i, double* out_i, double* io_i, const double* in_a, double* out_a, double* io_a,
                const double* maybe, int64_t n, int64_t m, int64_t i, int64_t oi, int64_t ioi, int64_t a0, int64_t a1,
                int64_t o0, int64_t o1, int64_t io0, int64_t io1) {
  step(in_c, m, 1, {out_c, m, 1}, {io_c, m, 1}, n, m);
  step(in_f, 1, n, {out_f, 1, n}, {io_f, 1, n}, n, m);
  step(in_i, i, 1, {out_i, oi, 1}, {io_i, ioi, 1}, n, m);
  step(in_a, a0, a1, {out_a, o0, o1}, {io_a, io0, io1}, n, m);
  if (maybe) step(maybe, m, 1, {out_c, m, 1}, {io_c, m, 1}, n, m);
  return ++runs;
}"""


def signature() -> fr.Signature:
    args = [
        fr.Arg(f"{short}_{layout}", shape=("N", "M"), order=order, intent=intent)
        for layout, order in LAYOUTS.items()
        for short, intent in INTENTS.items()
    ]
    maybe = fr.Arg("maybe", shape=("N", "M"), optional=True, default=None)
    strides = [f"{short}_inner.strides[0]" for short in INTENTS]
    strides += [f"{short}_any.strides[{axis}]" for short in INTENTS for axis in (0, 1)]
    return fr.Signature(
        "layouts", [*args, maybe], returns=[fr.Return("runs", "int64", kind="scalar")], result="runs",
        parameters=[*NAMES, "maybe", "N", "M", *strides],
    )  # fmt: skip


def order_of(name: str) -> Any:
    return "F" if name.endswith("_f") else "C"


def good(shape: tuple[int, int] = (2, 3)) -> dict[str, Any]:
    given: dict[str, Any] = {
        name: np.asarray(np.arange(float(shape[0] * shape[1])).reshape(shape) + k, order=order_of(name))
        for k, name in enumerate(NAMES)
    }
    return {**given, "maybe": None}


def partner(name: str, short: str) -> str:
    """The argument of the same layout and another direction."""
    return f"{short}_{name.split('_')[1]}"

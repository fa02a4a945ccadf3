"""A function of a struct, texts, Python objects and callables, whose arguments user_call takes in nested tuples."""

from __future__ import annotations

from typing import Any

import numpy as np

import ferrule as fr

POINT = np.dtype([("x", "f8"), ("y", "i4"), ("z", "u4")])
SOURCE = """
#include "ferrule/rt/author.h"
struct P { double x; int32_t y; uint32_t z; };
static int64_t runs = 0;
int64_t kinds(P p, const char* s, int64_t bytes, const char* maybe, void* o, void* nothing,
              fr_author::Callback<double(double)> f, fr_author::Callback<int32_t(const double*)> g, double* x, int64_t* n,
              void** given, double* f_gave, int64_t* g_gave) {
  const double values[2] = {1.5, 2.5};
  *x = p.x + p.y + p.z;
  *n = bytes + (maybe ? 1000 : 0) + (nothing ? 10000 : 0);
  *given = o;
  ++runs;
  const auto a = f(1.5);
  if (!a) return runs;
  const auto b = g(values);
  if (!b) return runs;
  *f_gave = a.value;
  *g_gave = b.value;
  return runs;
}"""
ARGS = [
    fr.Arg("p", kind="struct", dtype=POINT),
    fr.Arg("s", kind="string"),
    fr.Arg("maybe", kind="string", optional=True, default=None),
    fr.Arg("o", kind="pyobject"),
    fr.Arg("nothing", kind="pyobject", optional=True, default=None),
    fr.Arg("f", kind="callback", params=[fr.Arg("x", kind="scalar")], returns="float64"),
    fr.Arg("g", kind="callback", params=[fr.Arg("x", shape=2, intent="in")], returns="int32"),
]
RETURNS = [
    fr.Return("runs", "int64", kind="scalar"), fr.Return("x", kind="scalar"), fr.Return("n", "int64", kind="scalar"),
    fr.Return("given", kind="pyobject"), fr.Return("f_gave", kind="scalar"), fr.Return("g_gave", "int64", kind="scalar"),
]  # fmt: skip
RUNS, X, BYTES, GIVEN, F, G = range(6)


def signature() -> fr.Signature:
    return fr.Signature(
        "kinds", ARGS, returns=RETURNS, result="runs",
        parameters=["p", "s", "s.length", "maybe", "o", "nothing", "f", "g", "x", "n", "given", "f_gave", "g_gave"],
        user_args=(("p", ("s", "maybe")), "", ("o", ("nothing", "f"), "g")),
    )  # fmt: skip


def point() -> Any:
    return np.array((1.5, 2, 3), POINT)


def good() -> dict[str, Any]:
    return {
        "p": point()[()],
        "s": "text",
        "maybe": None,
        "o": object(),
        "nothing": None,
        "f": float,
        "g": len,
    }

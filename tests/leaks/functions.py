"""Decorated functions that the cases call."""

from __future__ import annotations

from typing import Annotated

import numpy as np

import ferrule as fr


@fr.program
def plus(a, b):
    return a + b


@fr.program
def fill(out, value):
    out[:] = value


@fr.program
def same(a):
    a += 1.0
    return a


@fr.program
def tail(a):
    return a[1:]


@fr.program
def taken(a, i):
    return a * 2.0, a[i]


@fr.program
def looked_up(a, where):
    return a * 2.0, a[int(where[0]) * int(a[1]) * 100000]


@fr.program
def both(a):
    return {"sum": a.sum(), "all": [a * 2.0, a]}


@fr.program(static=("power",))
def raised(a, power):
    return a**power


@fr.program(on_recompile_limit="error", recompile_limit=1)
def once(a):
    return a + 1.0


@fr.program
def annotated(
    a: Annotated[np.ndarray, fr.float64["N"]], out: Annotated[np.ndarray, fr.float64["N"]], w: float = 2.0
):
    out[:] = w * a


WEIGHTS = np.arange(4.0)
FACTOR = 3.0


@fr.program(static=("power",))
def add_to(a, power):
    a += WEIGHTS**power * FACTOR


@fr.program
def with_globals(a):
    return a * WEIGHTS * FACTOR

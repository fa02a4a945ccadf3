"""Programs that the tests of the pool send to other processes."""

from typing import Annotated

import numpy as np

import ferrule as fr

SOURCE = 'extern "C" void scale(double* a, double by, long n) { for (long i = 0; i < n; ++i) a[i] *= by; }'
SIGNATURE = fr.Signature(
    "scale",
    [
        fr.Arg("a", "array", "float64", ("N",), intent="inout"),
        fr.Arg("by", "scalar", "float64"),
    ],
)


@fr.program
def plus_one(a):
    return a + 1.0


@fr.program
def smooth(a, b):
    a[1:-1] = 0.5 * (b[2:] + b[:-2])
    return a.sum()


@fr.program
def declared(a: Annotated[np.ndarray, fr.float64["N"]]):
    return a * 3.0


@fr.program
def refused(a):
    return a.tobytes()


@fr.program
def deep(a):
    for _ in range(3000):
        a = a * 1.0000001 + 0.5
    return a

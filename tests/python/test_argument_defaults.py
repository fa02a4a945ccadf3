"""Defaults of parameters that have no plain Python literal."""

from __future__ import annotations

import numpy as np
import pytest

import ferrule as fr
from ferrule import errors

Vector = fr.float64["N"]
SINGLE, SMALL, DOUBLE = np.float32(0.5), np.int8(3), np.float64(2.0)


def sampled(
    x,
    a=float("inf"),
    b=float("-inf"),
    c=float("nan"),
    d=DOUBLE,
    e=SINGLE,
    f=SMALL,
    s=(1.0, float("inf")),
    t=(float("nan"),),
):
    return x * a, x * b, x + c, x * d, x[0] * e, x + f, x * s[1], x + t[0]


def test_of_a_decorated_function():
    program = fr.program(sampled)
    for given in ((), (2.0, 3.0, 4.0), (2.0,)):
        for ours, numpys in zip(program(np.ones(2), *given), sampled(np.ones(2), *given), strict=True):
            np.testing.assert_array_equal(ours, numpys, strict=True)
    assert len(program.specialisations) == 1


def annotated(
    x: Vector, w: float = float("inf"), n: int = np.int32(3), v: fr.float32 = SINGLE, s=(1.0, float("-inf")), *,
    z: float = float("nan"),
):  # fmt: skip
    return np.minimum(x * w, 9.0) + n * v + s[0], x + z


def test_of_an_annotated_function():
    for call in (fr.program(annotated).compile().load(), fr.program(annotated)):
        for given in ((), (2.0,)):
            for ours, numpys in zip(
                call(np.ones(2), *given, z=1.0), annotated(np.ones(2), *given, z=1.0), strict=True
            ):
                np.testing.assert_array_equal(ours, numpys, strict=True)
    assert np.isnan(fr.program(annotated)(np.ones(2))[1]).all()
    with pytest.raises(errors.UserTypeError, match="'z' is missing"):
        fr.program(annotated).compile().load()(np.ones(2))

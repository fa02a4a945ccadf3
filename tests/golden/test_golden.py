"""Each golden program means what the NumPy function beside it means, at every size, and passes every stage to C++ text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ferrule import _compiler as ir

FOLDER = Path(__file__).parent


def random(*shape, dtype="float64"):
    values = np.random.default_rng(sum(shape) + 1).normal(scale=9, size=shape)
    return values.astype(dtype)


def smooth(a, out, w):
    out[1:-1, 1:-1] = (1 - 4 * w) * a[1:-1, 1:-1] + w * (
        a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]
    )


def shift(a):
    a[1:] = a[:-1]
    return (a,)


def row_statistics(a):
    return a.mean(axis=1), a.var(axis=1)


def relax(a, steps):
    other = a.copy()
    for _ in range(steps):
        other[1:-1] = 0.5 * (a[:-2] + a[2:])
        a, other = other, a
    return (a.copy(),)


def gather_rows(a, rows, out):
    for j in range(len(rows)):
        out[j] = a[rows[j]].sum()


def square_root(x):
    p = 1.0
    while abs(p * p - x) > 1e-12 * x:
        p = 0.5 * (p + x / p)
    return (p,)


def reshapes(a):
    flat = a.reshape(-1)
    flat[:] = flat * 2
    return a[:, 1::2].reshape(-1), flat


CASES = {
    smooth: [(random(n, m), random(n, m), 0.1) for n, m in [(2, 2), (3, 3), (3, 9), (10, 4)]],
    shift: [(random(n, dtype="int32"),) for n in (1, 2, 7, 33)],
    row_statistics: [(random(6, 8, dtype="float32")[::-2, ::3],), (random(3, 5, dtype="float32").T,)],
    relax: [(random(n), steps) for n in (2, 3, 8) for steps in (0, 1, 2, 5)],
    gather_rows: [(random(4, m), np.array([0, -1, 3, -4, 2]), np.zeros(5)) for m in (0, 1, 6)],
    square_root: [(2.0,), (1e10,), (0.25,)],
    reshapes: [(random(n, 4, dtype="int16"),) for n in (0, 1, 5)],
}


def program(function):
    return ir.parse_program((FOLDER / f"{function.__name__}.fr").read_text())


def copies(arguments):
    # Same strides, other memory.
    copied = []
    for value in arguments:
        if isinstance(value, np.ndarray):
            base = value.base if value.base is not None else value
            offset = value.__array_interface__["data"][0] - base.__array_interface__["data"][0]
            memory = bytearray(base.tobytes(order="A"))
            value = np.ndarray(value.shape, value.dtype, memory, offset, value.strides)
        copied.append(value)
    return copied


def test_every_file_has_a_function():
    assert {path.stem for path in FOLDER.glob("*.fr")} == {function.__name__ for function in CASES}


@pytest.mark.parametrize("function", CASES, ids=lambda function: function.__name__)
def test_means_what_numpy_means(function):
    golden = program(function)
    for arguments in CASES[function]:
        ours, theirs = copies(arguments), copies(arguments)
        got = ir.evaluate(golden, ours)
        expected = function(*theirs) or ()
        assert len(got) == len(expected)
        for left, right in zip([*got, *ours], [*expected, *theirs]):
            tolerance = 1e-5 if np.asarray(right).dtype == np.float32 else 1e-12
            np.testing.assert_allclose(left, right, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("function", CASES, ids=lambda function: function.__name__)
def test_passes_every_stage(function):
    emitted = ir.emit_source(program(function), keep_text=True)
    assert emitted["text"]["program"] == program(function).print()
    assert "ferrule_module_v1" in emitted["source"]

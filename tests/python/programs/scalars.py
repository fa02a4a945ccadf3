"""Numbers: Python ints and floats as arguments, sizes, results; functions of math and Python's own."""

from __future__ import annotations

import itertools
import math

import numpy as np

from . import program


@program(lambda rng, n: (n, 0.5 + n, np.float32(2.5), rng.standard_normal(n)))
def results_of_every_kind(n, w, s, x):
    return (
        n,
        w,
        s,
        n + 1,
        n * w,
        w / 2,
        n // 2,
        -n % 5,
        2 * s,
        len(x),
        x.size,
        x.shape[0] * 3,
        1.5,
        7,
        True,
        n > 3,
        s * x,
        math.pi,
    )


@program(lambda rng, n: (n, 0.5 + n, rng.standard_normal(n + 1)))
def functions_of_numbers(n, w, x):
    return (
        math.sqrt(w), math.sin(w) + math.exp(-w), math.floor(w), math.ceil(w), abs(-n), min(n, 5), max(n, 2, 9), min(w, 3.0), max(x[0], x[-1]),
        round(w), int(w * 2), float(n), float(x[0]), *divmod(n, 3), math.hypot(w, 1.0), math.atan2(w, 2.0), np.sqrt(w), np.sin(0.3 * n),
        abs(x[0]), min(abs(x[0]), 0.5), math.isnan(w), x[0].item(), np.float32(w), math.log(w), math.log(w, 2),
    )  # fmt: skip


@program(lambda rng, n: (rng.standard_normal(3), n))
def functions_over_generators(x, n):
    return (
        any(v > 1.0 for v in x), all(v > -9.0 for v in x), max(v * v for v in x), min(map(abs, x)),
        max((v for v in ()), default=x[0]), min(k for k in (n, 5, 7)), any(k > 3 for k in (n, 2)), sum(v for v in x),
        max((word for word in ("a", "bbb")), key=len) == "bbb", any(k > 3 for k in itertools.count()),
    )  # fmt: skip


@program(
    lambda rng, n: (rng.standard_normal(n), n, "square" if n < 10 else "cube", n % 2 == 1), (7, 4, 12, 33)
)
def chosen_by_static_values(x, n, shape, negate):
    if shape == "square":
        result = x * x
    elif shape == "cube":
        result = x**3
    else:
        raise ValueError(shape)
    if n % 2 == 1:
        result = result + n
    return -result if negate else result


@program(lambda rng, n: (rng.standard_normal((n, 3)), n), (7, 2, 3, 9))
def chosen_by_sizes(x, n):
    rows, columns = x.shape
    if rows == columns:
        return x - x.T
    if rows > columns and n >= 7:
        return x[:columns] * 2
    return x[:, :1] + rows


@program(lambda rng, n: (rng.standard_normal(n), rng.integers(0, n, n)), (7, 3, 20))
def elements_as_indices(x, k):
    result = np.zeros(len(x))
    for i in range(len(k)):
        result[k[i]] += x[i]
    return result, x[k[0]], x[: k[1] % 3], x[-1 - k[0]]


@program(lambda rng, n: (rng.standard_normal(n), rng.integers(-n, n, 3)), (7, 3, 20))
def elements_of_any_sign_as_bounds(x, k):
    return x[k[0]], x[k[1] :], x[: k[2]], x[k[0] : k[1]], x[k[2] :: -1]


@program(lambda rng, n: (rng.standard_normal(n + 3), n), (5, 0, 1))
def folds_of_generators(x, n):
    three = (x[0], x[1], x[2])
    return (
        any(v > 1.0 for v in three), all(v > 0.0 for v in three), min(v for v in three), max(map(abs, three)),
        max((v for v in three), default=0.0), sum((v * n for v in three), 1.0), any(k == len(three) for k in range(9)),
        max((v for v in ()), default=n),
    )  # fmt: skip


@program(lambda rng, n: (rng.standard_normal((n, n + 1)), n, n + 1), (7, 0, 1, 2, 4, 5), most=6)
def shapes_compared(x, n, m):
    assert x.shape == (n, m)
    if x.shape in [(0, 1), (1, 2)]:
        return x * 2
    if (n, m) > (4, 5):
        return x + 1
    if x.T.shape != x.shape[::-1]:
        raise ValueError
    return x if (x.size, 2) == (n * m, 2) else x * 3

"""Arrays made inside a program, with sizes that come from arguments."""

from __future__ import annotations

import numpy as np

from . import program

TABLE = np.array([0.25, 0.5, 1.0])
GRID = np.arange(6, dtype=np.float32).reshape(2, 3)


@program(lambda rng, n: (n, rng.standard_normal((n, 2)).astype(np.float32), 0.25), most=6)
def of_every_kind(n, like, step):
    table = np.full((n, 2), 7)
    table[:, 0] += np.arange(n)
    return (
        table, np.arange(0.0, 2.0, 0.25), np.arange(0.0, 2.0, step), np.eye(n, n + 1, k=1) + np.identity(n + 1)[:n], np.arange(n, 0, -2),
        np.arange(2, n), np.linspace(0.0, 1.0, n), np.linspace(-1.0, 1.0, 8, endpoint=False), np.ones(n, dtype=np.int16) * 3,
        np.full_like(like, 0.1) + np.ones_like(like), np.full(n, step) + np.zeros(n, bool), np.array([1, 2.5, step]),
        np.array([[1, 2], [3, 4]]) * n, np.arange(n)[:, None] // 2 == np.arange(3), np.zeros_like(like, dtype=np.int8), np.tri(n, 3),
        np.array([n, n + 1]), np.array([like[:, 0], like[:, 1]]), np.asarray([1, 2, 3]) + n, np.arange(n, dtype=np.float32),
        *np.meshgrid(np.arange(n), np.arange(3)),
    )  # fmt: skip


@program(lambda rng, n: (rng.standard_normal(n).astype(np.float32),), (7, 1, 12), rtol=1e-6)
def dtype_of_input(x):
    half = x.dtype.type(0.5)
    scratch = np.zeros(x.shape, dtype=x.dtype)
    scratch += half * x
    scale = np.abs(scratch).max() + np.finfo(x.dtype).eps
    return scratch / scale, scale


@program(lambda rng, n: (rng.standard_normal((n, 3)), rng.standard_normal((n, 2, 3)).astype(np.float32)))
def global_arrays(x, y):
    return (
        x * TABLE,
        TABLE.sum() + x,
        GRID[1] - x[:1],
        y + GRID,
        TABLE[:2],
        TABLE[1] * x,
        TABLE.max(),
        len(TABLE),
    )


@program(lambda rng, n: (rng.standard_normal(n), rng.standard_normal(n)), exact=True)
def woven(even, odd):
    both = np.zeros(4 * len(even))
    both[: 2 * len(even) : 2] = even
    both[1 : 2 * len(even) : 2] = odd
    both[: 2 * len(even) - 1 : -2] += odd
    both[-2 : 2 * len(even) - 1 : -2] = even
    return both


@program(
    lambda rng, n: (
        rng.integers(0, 256, (n, n, 3)).astype(np.uint8),
        rng.integers(0, 256, (n, n, 3)).astype(np.uint8),
    ),
    (5, 0, 1, 9),
    exact=True,
)
def images(a, b):
    exact = ((a.astype(np.uint16) + b + 1) >> 1).astype(np.uint8)
    grey = (77 * a[..., 0].astype(np.uint32) + 150 * a[..., 1] + 29 * a[..., 2]) >> 8
    return exact, (a + b) // 2, grey.astype(np.uint8)


@program(lambda rng, n: (rng.standard_normal(n),))
def known_content_is_private(x):
    weights = np.array([1.0, 2.0, 3.0])
    total = weights.sum()
    weights[1] = 5.0
    first = weights
    first *= 2
    return weights, total, x + weights[1], np.array(4.5) + x


@program(lambda rng, n: (rng.standard_normal((n, n + 1)), n, 2.5), (7, 0, 1, 2, 33), exact=True)
def open_and_dense_grids(x, n, end):
    rows, columns = np.mgrid[0:n, : x.shape[1]]
    i, j = np.ogrid[1 : n + 1, 0 : x.shape[1] : 2]
    line, steps = np.mgrid[2 : n + 2], np.ogrid[:n]
    mixed = np.mgrid[0:end:5j, n:0:-1]
    fixed = np.mgrid[0:2, 0:3]
    return (
        rows - columns,
        i * j,
        line,
        steps,
        mixed,
        fixed + n,
        x * (rows == columns),
        np.ogrid[0:end:3j, :n][0],
    )

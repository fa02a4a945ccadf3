"""Views: slices of every kind, axes moved, added and dropped, reshapes, flips, diagonals."""

from __future__ import annotations

import numpy as np

from . import program


def reals(rng, *shape):
    return rng.standard_normal(shape)


@program(lambda rng, n: (reals(rng, n), reals(rng, n, n + 1)), exact=True, most=6)
def slices(x, m):
    return (
        x[2:5], x[-3:], x[:-2], x[1:-1], x[::-1], x[::3], x[-2::-3], x[5:1], x[100:], x[-100:4], x[3:100:2], x[-1:0:-1],
        m[::-1, ::-1], m[100:0:-2, -1:0:-1], m[1:, :-1], m[:, 2::4], m[:0], m[..., 0], m[None, :, 0], m[:, None],
    )  # fmt: skip


@program(lambda rng, n: (reals(rng, n), 2, -3), exact=True)
def slices_with_ints(x, a, b):
    return x[a:], x[:b], x[a:b], x[b:], x[::a], x[::b], x[a : len(x) // 2], x[: len(x) - a]


@program(lambda rng, n: (reals(rng, n, 4, 3), reals(rng, 4, n)), exact=True)
def axes(block, plane):
    return (
        plane[np.newaxis, :, :, None] * block.transpose(2, 1, 0)[..., None], block[..., 0] + plane.T,
        np.swapaxes(block, 0, 1), np.moveaxis(block, -1, 0), np.moveaxis(block, (0, 1), (2, 0)), block.T,
        np.expand_dims(plane, (0, 2)), np.expand_dims(plane, 1).squeeze(axis=1), np.broadcast_to(plane[2], (2, len(block))),
        np.rot90(plane), np.rot90(plane, 2), np.rot90(plane, -1), np.transpose(block, (1, 2, 0)), plane.mT,
    )  # fmt: skip


@program(lambda rng, n: (reals(rng, n, 4, 3), reals(rng, 6 * n)), exact=True)
def reshapes(block, line):
    n = len(block)
    return (
        block.reshape(n, 12), block.reshape(n * 4, 3), block.reshape((-1, 3)), block.reshape(-1), np.moveaxis(block, -1, 0).reshape(3, -1),
        line.reshape(n, 2, 3), line.reshape(3, 2 * n)[::-1], np.ravel(block), block.T.flatten(), (block * 2)[1:].reshape(-1),
        (block + 1).T.reshape(12 * n), line[::2].reshape(n, 3), np.reshape(line, (2, -1)),
    )  # fmt: skip


@program(lambda rng, n: (reals(rng, n, n + 2), reals(rng, n, 3, n + 1)), (5, 0, 1, 2, 14), exact=True)
def flips_and_diagonals(m, block):
    return (
        np.flip(m), np.flip(m, 1), np.fliplr(m), np.flipud(m), np.diagonal(m), m.diagonal(1), np.diagonal(block, 0, 0, 2),
        np.diagonal(m, -1), np.tril(m), np.triu(m, 1), np.diag(m), np.diag(block[:, 0, 0]),
    )  # fmt: skip


@program(lambda rng, n: (reals(rng, n, 6),))
def slices_of_results(m):
    return (
        (m * 2)[1:, ::2].sum(axis=-1),
        (m + 1)[:, 0] - (m - 1)[..., -1],
        (m * m).T[::-1],
        (m - m.mean(axis=0))[:, 1:3],
    )


@program(lambda rng, n: (reals(rng, n, 4),))
def views_follow_their_base(m):
    fresh = m * 2.0
    row = fresh[1:]
    column = fresh.T[0]
    fresh += 1.0
    row[:, 1] = 9.0
    flat = fresh.reshape(-1)
    flat[:2] = -1.0
    return row, column, fresh, flat


@program(lambda rng, n: (reals(rng, n, 1, 3, 1), reals(rng, 1, n)), (5, 2, 3, 9))
def squeezed(a, b):
    return a.squeeze(), np.squeeze(a, axis=(1, 3)), b[0], np.atleast_2d(b[0]), np.squeeze(b, 0)


@program(lambda rng, n: (reals(rng, n),), exact=True)
def bounds_beyond_every_extent(x):
    return x[: 2**80], x[-(2**80) :], x[2**63 - 1 :], x[: -(2**63)], x[2**80 :: -1], x[: 2**61 + 1 : 2**61]

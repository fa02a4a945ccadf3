"""Reductions: sums, products, extremes, moments, truth; axes, keepdims, dtypes, initial, where."""

from __future__ import annotations

import numpy as np

from . import program


def reals(rng, *shape):
    return rng.standard_normal(shape)


@program(lambda rng, n: (reals(rng, n, 5, 3),))
def sums(b):
    return (
        b.sum(), b.sum(axis=0), b.sum(axis=-1), np.sum(b, axis=(0, 2)), np.sum(b, axis=1, keepdims=True), b.sum(keepdims=True),
        b.prod(axis=2), np.add.reduce(b), np.multiply.reduce(b, axis=1), b.sum(axis=(2, 1)), b[:, 0].sum(initial=2.0),
        b.sum(where=b > 0), b.sum(axis=1, where=b[:, :1] > 0),
    )  # fmt: skip


@program(
    lambda rng, n: (reals(rng, n, 3), rng.integers(-99, 99, (n, 3)).astype(np.int16)),
    (7, 1, 2, 33),
    exact=True,
)
def extremes(x, k):
    return (
        x.max(axis=0), x.min(), k.max(), np.ptp(k, axis=1), np.maximum.reduce(x, axis=1), np.abs(x).max(), k.max(axis=0, initial=50),
        np.amin(k, 0), np.minimum.reduce(k, axis=None), x.max(axis=1, keepdims=True) - x, np.max(x, where=x > 0, initial=0.0),
    )  # fmt: skip


@program(lambda rng, n: (reals(rng, n, 3),), (7, 0, 2), exact=True)
def extremes_of_nothing(x):
    return x.max(axis=1), x.max(axis=0, initial=-1.0), x[:0].min(axis=0, initial=3.0)


@program(
    lambda rng, n: (
        reals(rng, n, 3).astype(np.float32),
        rng.integers(-99, 99, (3, n), np.int8),
        rng.integers(0, 99, n, np.uint64),
        rng.random((n, 2)) < 0.5,
        np.array([n // 2, 0]),
    ),
    (7, 0, 1, 2),
    exact=True,
    most=1,
)
def extremes_beside_a_number(x, k, u, b, at):
    return (
        x.max(axis=0, initial=np.nan), x.min(initial=0.5), x.max(axis=0, initial=-0.5), k.min(axis=1, initial=5), k.max(axis=0, initial=-5),
        u.min(initial=50), u[: at[0]].max(initial=7), u[: at[1]].min(initial=7), b.max(axis=0, initial=False), b.min(initial=True),
        x[at[0] :, : at[1]].max(axis=0, initial=1.0), np.min(x, axis=0, initial=2.0, where=x > 0),
    )  # fmt: skip


@program(
    lambda rng, n: (
        reals(rng, n, 4) + 100.0,
        rng.integers(0, 9, (n, 4)),
        reals(rng, n, 4).astype(np.float32),
    ),
    (7, 2, 33),
    rtol=1e-5,
)
def moments(x, k, s):
    return (
        x.mean(), x.mean(axis=0), x.var(axis=0), np.std(x, axis=1), np.var(x, ddof=1), x.std(axis=0, ddof=1, keepdims=True), k.mean(axis=1),
        k.var(), s.mean(), s.mean(axis=0), s.var(axis=1), np.mean(s, dtype=np.float64), np.average(x, weights=x), np.mean(x, where=x > 100),
        np.var(x, axis=1, where=k > 2), np.average(x, axis=0),
    )  # fmt: skip


@program(lambda rng, n: (rng.random((n, 6)) < 0.8, reals(rng, n, 6)))
def truth(mask, x):
    return (
        mask.all(), np.any(mask, axis=0), (x > -2).all(axis=1), np.any(x > 2, axis=-1, keepdims=True), np.count_nonzero(x > 0),
        np.count_nonzero(mask, axis=1), np.logical_and.reduce(mask, axis=0), mask.sum(axis=1), (x > 0).mean(axis=1), mask.prod(axis=1),
        np.allclose(x, x), np.isclose(x, x + 1e-12), np.bitwise_or.reduce(mask, axis=1),
    )  # fmt: skip


@program(
    lambda rng, n: (
        rng.integers(-99, 99, (n, 3)).astype(np.int8),
        rng.integers(0, 255, (n, 3)).astype(np.uint8),
    ),
    exact=True,
)
def dtypes_of_sums(i8, u8):
    return (
        i8.sum(axis=0),
        u8.sum(),
        np.prod(i8, axis=1),
        i8.sum(axis=1, dtype=np.int8),
        u8.sum(dtype=np.float32),
        i8.min(axis=1, initial=7),
    )


@program(lambda rng, n: (reals(rng, n, 10) * 30,))
def softmax(scores):
    top = scores.max(axis=1, keepdims=True)
    powers = np.exp(scores - top)
    total = powers.sum(axis=1, keepdims=True)
    return powers / total, np.log(total[:, 0]) + top[:, 0]


@program(lambda rng, n: (reals(rng, n, 2, 8).astype(np.float32), reals(rng, 8).astype(np.float32)), rtol=1e-5)
def normalised(x, gain, epsilon=1e-5):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt(x.var(axis=-1, keepdims=True) + epsilon) * gain


@program(lambda rng, n: (reals(rng, n, 3), reals(rng, 5, 3)))
def pairs_of_points(a, b):
    gap = a[:, None, :] - b[None, :, :]
    return np.sqrt((gap**2).sum(axis=-1)), np.abs(gap).sum(axis=2), np.abs(gap).max(axis=2), np.trace(b[:3])


@program(lambda rng, n: (reals(rng, n, 4), np.zeros(n), np.zeros((1, 4)), np.zeros(4, np.float32)))
def into_outputs(x, a, b, c):
    x.sum(axis=1, out=a)
    np.sum(x, axis=0, keepdims=True, out=b)
    np.mean(x[:1], axis=0, out=c)

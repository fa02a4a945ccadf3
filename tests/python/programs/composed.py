"""Functions of NumPy that are made of several operations, and arrays cut into parts."""

from __future__ import annotations

import numpy as np

from . import program


def odd_floats(rng, n, dtype=np.float64):
    """Floats near each other, among which every special value occurs."""
    values = rng.integers(-2, 3, n) * 1.0 + rng.choice([0.0, 1e-9, 1e-4], n)
    values[::7], values[1::7], values[2::7] = np.nan, np.inf, -np.inf
    values[3::7], values[4::7] = 0.0, -0.0
    return values.astype(dtype)


@program(
    lambda rng, n: (odd_floats(rng, n), odd_floats(rng, n, np.float32), rng.integers(-128, 128, n, np.int8))
)
def closeness(x, y, k):
    return (
        np.isclose(x, y), np.isclose(y, x, equal_nan=True), np.isclose(x, 1.0, atol=0.5), np.isclose(k, k[::-1]),
        np.isclose(x > 0, y > 0), np.isclose(2, x), np.isclose(x, -1), np.isclose(k, np.int8(-128), 1.0), x == y,
    )  # fmt: skip


@program(lambda rng, n: (odd_floats(rng, n), odd_floats(rng, n), rng.integers(0, 9, n)), most=6)
def equality_of_arrays(x, y, k):
    return np.array([
        np.array_equal(x, y), np.array_equal(x, x), np.array_equal(x, x, equal_nan=True), np.array_equal(k, k + 0.0),
        np.array_equal(k, k[1:]), np.array_equal(k, k[:, None]), np.array_equiv(k, k[None]), np.array_equiv(k, k[:1]),
        np.array_equiv(k[None, 1:], k[None]), np.allclose(x, y), np.allclose(k, k + 1e-9),
    ])  # fmt: skip


@program(
    lambda rng, n: (odd_floats(rng, n), odd_floats(rng, n, np.float32), rng.integers(-9, 9, n, np.int32))
)
def of_one_number(x, y, k):
    return np.sinc(x[3::7]), np.sinc(y[4::7]), np.sinc(k), np.angle(x), np.angle(y, deg=True), np.angle(k)


@program(
    lambda rng, n: (odd_floats(rng, n), odd_floats(rng, n, np.float32), rng.integers(-9, 9, n, np.int16)),
    exact=True,
)
def infinities_and_complex_questions(x, y, k):
    found = np.zeros(len(x), bool)
    np.isposinf(x, found)
    return (
        np.isneginf(x), np.isposinf(y), np.isneginf(k), found, np.isreal(x), np.iscomplex(k), np.isreal(x[:1].sum()),
        np.real_if_close(y) + np.isrealobj(x) + np.iscomplexobj(x),
    )  # fmt: skip


@program(
    lambda rng, n: (rng.standard_normal((n, 4)), rng.integers(0, 9, (n, 3), np.uint8), rng.random(n) < 0.5),
    exact=True,
)
def differences(x, k, b):
    return (
        np.diff(x),
        np.diff(x, axis=0),
        np.diff(k, 2, 0),
        np.diff(b),
        np.diff(k, n=0),
        np.diff(k, axis=-1, n=3),
    )


@program(lambda rng, n: (odd_floats(rng, n, np.float32), rng.integers(-9, 9, n, np.int8), 3), exact=True)
def choices(x, k, m):
    return (
        np.select([x > 0, k > 0], [x, 1], 0), np.select([k > 3, k > m], [m, k]), np.select([k > 3], [7], m),
        np.select([x > 0, x < 0], [k, k * 2.5], default=np.nan), np.select((k == 0,), (True,), False),
        np.select([k[:, None] > k, k > 0], [k, k[:, None]], -1),
    )  # fmt: skip


@program(lambda rng, n: (rng.standard_normal((4, n)), rng.standard_normal((n, 6)), 2), exact=True, most=12)
def parts(x, y, m):
    first, second = np.split(x, 2)
    left, rest = np.hsplit(y, [m])
    a, b, c = np.array_split(y, 3)
    tops = np.vsplit(x, [1, -1])
    depth = np.dsplit(y[None], 3)
    p, q, *others = np.unstack(x)
    return (
        first * second, left, rest, a, b, c, *tops, *depth, p - q, others[0] + others[1], *np.array_split(y, [2, 1, 9]),
        np.unstack(y, axis=1)[m],
    )  # fmt: skip


@program(lambda rng, n: (rng.standard_normal((2, n, 3)), rng.integers(0, 9, n, np.int16)), exact=True)
def axes_by_name(x, k):
    shape = np.broadcast_shapes(k.shape, (5, 1), (1,))
    return (
        np.matrix_transpose(x), np.rollaxis(x, 2), np.rollaxis(x, 0, 3), np.rollaxis(x, -1, -2), np.atleast_3d(k),
        np.atleast_3d(x[0]), np.atleast_3d(k.sum()), np.zeros(shape, np.result_type(k, 1.5)) + k,
        np.zeros(len(k), np.result_type(k, np.float32, True)), k * np.isscalar(k[:1].sum()) + np.isscalar(k),
        k + np.iterable(k) + np.can_cast(k, np.int32) + np.can_cast(k, np.int8),
    )  # fmt: skip


@program(
    lambda rng, n: (rng.integers(-9999, 9999, n, np.int16), rng.integers(0, 2**62, n), rng.random(n)),
    exact=True,
)
def rounding_to_tens(k, m, x):
    return np.round(k, -2), m.round(-3), k.round(-5), np.round(k, 2), np.around(x * 1e6, -2)


@program(lambda rng, n: (odd_floats(rng, n), rng.integers(1, 9, n, np.int32)), exact=True)
def two_results(x, k):
    whole, part, power = np.empty(len(x)), np.full(len(x), 5.0), np.zeros(len(x), np.int64)
    np.modf(x, out=(part, whole), where=k > 4)
    mantissa, _ = np.frexp(x, out=(None, power))
    shown, large = np.where(k > 4, whole, 0), k > 2
    q, r = np.divmod(k, 3, k, where=large)
    np.divmod(r, 2, out=(r, None))
    return part, shown, power, mantissa, q, np.where(large, r, 0)

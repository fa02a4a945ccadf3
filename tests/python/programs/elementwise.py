"""Arithmetic by element: broadcasting, promotion, rounding, signs, powers, selection."""

from __future__ import annotations

import numpy as np

from . import program

SERIES = (1.0, -0.5, 1.0 / 3.0, -0.25)


def reals(rng, *shape):
    return rng.standard_normal(shape)


def odd_floats(rng, n):
    """Floats among which every special value occurs."""
    values = rng.uniform(-4.0, 4.0, n)
    values[::7], values[1::7], values[2::7] = np.nan, np.inf, -np.inf
    values[3::7], values[4::7] = 0.0, -0.0
    return values


def whole(rng, dtype, n):
    """Integers over the full range of a dtype."""
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)


@program(lambda rng, n: (reals(rng, n, 1), reals(rng, 3), reals(rng, 2, 1, 1), 0.75))
def spread_over_three_axes(column, row, stack, factor):
    return (column - factor) * row + stack / (1.0 + row * row), factor - column


@program(lambda rng, n: (reals(rng, n).astype(np.float32),))
def series_in_single(x):
    result = x * 0.0 + SERIES[-1]
    for weight in SERIES[-2::-1]:
        result = weight + x * result
    return result, x * 3, 2 - x, x / 7, x // 0.5, -x


@program(lambda rng, n: (whole(rng, np.int8, n), whole(rng, np.uint16, n), whole(rng, np.int64, n)))
def wrap_around(small, middle, large):
    return (
        small * small + 3,
        -small,
        abs(small),
        middle - 9,
        ~middle,
        large * large - 1,
        -large,
        small * 2 // 3,
    )


@program(lambda rng, n: (whole(rng, np.int32, n), rng.integers(-3, 4, n).astype(np.int32)))
def floor_division(a, b):
    with np.errstate(divide="ignore"):
        q, r = divmod(a, b)
        return a // b, a % b, q * b + r, np.fmod(a, b), a // -7, a % 5, 100 // b, np.remainder(a, 3)


@program(lambda rng, n: (odd_floats(rng, n), odd_floats(rng, n)[::-1]), exact=True)
def division_of_floats(x, y):
    with np.errstate(all="ignore"):
        return x / y, x // y, x % y, np.fmod(x, y), 3.0 // y, x % -2.5, 1.0 / x, np.reciprocal(y)


@program(lambda rng, n: (odd_floats(rng, n), odd_floats(rng, n)[::-1]), exact=True)
def extremes_of_pairs(x, y):
    return (
        np.maximum(x, y), np.minimum(x, y), np.fmax(x, y), np.fmin(x, 0.5), np.clip(x, -1.0, 2.0), np.clip(x, y, None),
        np.clip(x, None, 0.5), np.isnan(x), np.isinf(y), np.isfinite(x), np.signbit(x), np.copysign(x, y), np.sign(x),
        np.nan_to_num(x), np.nan_to_num(y, nan=7.0, posinf=1e9, neginf=-1e9), np.heaviside(x, 0.5),
    )  # fmt: skip


@program(lambda rng, n: (np.round(reals(rng, n) * 8) / 4,), exact=True)
def rounding(x):
    return (
        np.floor(x), np.ceil(x), np.trunc(x), np.rint(x), np.round(x), np.round(x, 1), x.round(2), np.round(x * 100, -1),
        np.fabs(x), abs(x), *np.modf(x), *np.frexp(x), np.ldexp(x, 3),
    )  # fmt: skip


@program(lambda rng, n: (reals(rng, n), rng.uniform(0.1, 3.0, n)))
def transcendental(x, p):
    return (
        np.exp(x) - np.expm1(x), np.log(p) + np.log1p(p) * np.log2(p) - np.log10(p), np.sin(x) * np.cos(x), np.tan(x * 0.3),
        np.arctan2(x, p), np.hypot(x, p), np.sqrt(p) + np.cbrt(x), np.tanh(x) + np.sinh(x) / np.cosh(x),
        np.arcsinh(x) + np.arctanh(np.tanh(x) * 0.9) + np.arccosh(1 + p), np.logaddexp(x, p), np.deg2rad(x), np.exp2(x),
    )  # fmt: skip


@program(lambda rng, n: (rng.uniform(0.2, 3.0, n), rng.integers(-4, 5, n), rng.integers(0, 4, n)))
def powers(x, k, m):
    return (
        x**2,
        x**-1,
        x**0.5,
        x**1,
        x**0,
        x**1.5,
        x**k,
        k**2,
        k**3,
        2.0**k,
        k**m,
        2**m,
        np.power(x, 3),
        np.square(k),
    )


@program(lambda rng, n: (whole(rng, np.uint32, n), rng.integers(0, 40, n)))
def bits(x, by):
    return (
        x & 255,
        x | 1,
        x ^ 0x5555,
        x << 3,
        x >> by,
        ~x,
        np.bitwise_count(x),
        np.left_shift(x, by),
        by & 6 | by >> 1,
    )


@program(lambda rng, n: (rng.random(n) < 0.5, rng.random(n) < 0.5, rng.integers(0, 3, n)))
def truth(a, b, k):
    return (
        a & b, a | ~b, a ^ b, a + b, a * b, np.logical_and(k, a), np.logical_or(k > 1, b), np.logical_xor(k, b),
        np.logical_not(k), a == b, a > b, k == a, a + 1, a * 0.5, (k > 0) & (k < 2) | a,
    )  # fmt: skip


@program(
    lambda rng, n: (
        whole(rng, np.int8, n),
        whole(rng, np.uint8, n),
        whole(rng, np.int32, n),
        whole(rng, np.uint64, n),
        reals(rng, n).astype(np.float32),
        reals(rng, n),
        rng.random(n) < 0.5,
    )
)
def promotion(i8, u8, i32, u64, f32, f64, flag):
    return (
        i8 + u8, u8 * i32, i32 + f32, i8 * f32, i32 + u64, u64 * f32, f32 - f64, flag * f32, flag + u8, i8 / u8.dtype.type(3),
        i8 < u64, u64 > i32, i8 == u8, u8 < 300, u8 == -1, i8 * 1.5, f32 * np.float64(2), f32 + np.float32(1), i32 / 2,
    )  # fmt: skip


@program(lambda rng, n: (reals(rng, n) * 50, rng.integers(-1000, 1000, n), reals(rng, n).astype(np.float32)))
def casts(x, k, s):
    return (
        x.astype(np.int32), x.astype(np.float32), k.astype(np.uint8), k.astype(np.int8).astype(np.float64), (k % 3).astype(bool),
        s.astype(np.float64), np.trunc(x * 0.01).astype(np.int16), (x > 0).astype(np.int64), np.float32(x), np.int64(s),
    )  # fmt: skip


@program(lambda rng, n: (reals(rng, n).astype(np.float32), reals(rng, n), rng.integers(-2, 3, n)))
def selection(s, x, k):
    steps = np.where(x < -1.0, -1.0, np.where(x > 1.0, 1.0, x))
    return (
        steps, np.where(s > 0, s, x), np.where(x > 0, 1, 0), np.where(x > 0, 1.0, 0), np.where(k, x, 0), np.where(s > 0, s, 0),
        np.where(x > 0, x, np.float32(0)), np.where(k > 0, k, -k),
    )  # fmt: skip


@program(lambda rng, n: (np.resize([0.0, -0.0, 1.0, -1.0], n),), exact=True)
def signs_of_zero(z):
    with np.errstate(all="ignore"):
        return z + 0.0, z - 0.0, 0.0 - z, -z, z * 0.0, 0 * z, np.sqrt(z), 1 / z, z + z, np.floor(z), z * -1


@program(lambda rng, n: (reals(rng, n), 0))
def stretched_where_a_maximum_is_one(x, k):
    return np.arange(abs(k) + 1) * 1.0 + x, np.zeros(max(k, 0) + 1) + x[::-1]

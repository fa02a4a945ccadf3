"""Writes: slices, elements, augmented, through views, overlapping, with casts, out= and where=."""

from __future__ import annotations

import numpy as np

from . import program


def reals(rng, *shape):
    return rng.standard_normal(shape)


@program(lambda rng, n: (reals(rng, n), reals(rng, n), reals(rng, n, 3)), exact=True)
def shift_within_one_array(up, down, table):
    up[1:] = up[:-1]
    down[:-2] = down[2:]
    table[1:, 1:] = table[:-1, :-1]


@program(lambda rng, n: (reals(rng, n), reals(rng, n, n)), (5, 0, 1, 2, 16))
def mirrored_sums(x, m):
    x += x[::-1]
    m += m.T
    m[::-1, ::-1] -= 0.5 * m


@program(lambda rng, n: (reals(rng, n, n), rng.integers(0, 9, (n, n))), (5, 0, 1, 2, 17), exact=True)
def transposed_in_place(m, k):
    m[...] = m.T
    k[:, :] = k.T[::-1]


@program(lambda rng, n: (reals(rng, n), reals(rng, n), reals(rng, n)))
def operators_in_place(x, y, z):
    x[1:-1] *= 2.0
    x[::2] -= 0.25
    y /= 4.0
    y **= 2
    y[1:] %= 0.7
    z //= 0.3
    z += x
    z[:] = z + y


@program(lambda rng, n: (rng.integers(-99, 99, n), rng.integers(1, 6, n)), exact=True)
def operators_on_integers(k, s):
    k //= 3
    k[1::2] <<= s[1::2]
    k[::3] &= 29
    k |= s
    k[:-1] ^= k[1:]
    s >>= 1
    s %= 3
    k -= True


@program(lambda rng, n: (reals(rng, 4, n, 3), reals(rng, n), reals(rng, 3)), exact=True)
def broadcast_into(block, column, row):
    block[0] = 5
    block[1] = row
    block[2] = column[:, None]
    block[3, :, 1:] = column[:, np.newaxis]
    block[3, ..., 0] = -column
    block[:, ::2, -1] = 0.5
    block[..., :1] = block[..., 2:]
    block[:2, :1] = block[2:, :1]


@program(
    lambda rng, n: (reals(rng, n) * 40, np.zeros(n, np.int16), np.zeros(n, np.float32), np.zeros(n, bool)),
    exact=True,
)
def casts_on_store(x, k, s, flag):
    k[:] = x
    s[:] = x * x
    s += x
    flag[:] = k
    k[1:] = k[:-1] * 1.5
    k[::2] = 7.9


@program(lambda rng, n: (reals(rng, n), reals(rng, n), np.full(n, 9.0)))
def outputs_of_ufuncs(x, y, z):
    scratch = np.empty_like(x)
    np.multiply(x, y, out=scratch)
    np.add(scratch, 1.0, scratch)
    np.sqrt(scratch, out=z, where=scratch > 0.0)
    np.negative(z[1:], z[1:])
    np.maximum(x, 0.0, out=x)
    return scratch


@program(lambda rng, n: (reals(rng, n, n), reals(rng, n, 2, 3), reals(rng, 2 * n)), (5, 1, 2, 12))
def through_views(square, blocks, line):
    n = len(square)
    square.reshape(-1)[:: n + 1] = 1.0
    columns = square.T
    columns[0] = -2.0
    last = square[-1]
    last += 10.0
    flat = blocks.reshape(n, 6)
    flat[:, 4:] *= 2.0
    turned = np.swapaxes(blocks, 0, 2)
    turned[1, :, 0] = 0.0
    middle = blocks[..., 1]
    middle[:, 0] -= 3.0
    np.moveaxis(blocks, 2, 0)[0] += 0.125
    line = line[:]
    line.shape = (n, 2)
    line[:, 1] = line[:, 0]
    np.flip(line, 0)[0] = 4.0


@program(lambda rng, n: (reals(rng, n), reals(rng, n)))
def names_for_one_array(x, y):
    first = second = np.zeros(len(x))
    first += x
    x[:] = y[:] = second + 1.0
    shared = x
    shared -= 0.5
    other = y
    other = other * 2.0
    copied = x.copy()
    copied *= 0.0
    tail = y[1:]
    tail -= 5.0
    tail = tail * 2.0
    tail[:] = 0.0
    return first, second, shared, other, copied, tail


@program(lambda rng, n: (reals(rng, 2 * n), reals(rng, 2 * n)), exact=True)
def exchanged_halves(a, b):
    half = len(a) // 2
    a[:half], a[half:] = a[half:].copy(), a[:half].copy()
    b[:half], b[half:] = b[half:], b[:half]


@program(
    lambda rng, n: (
        reals(rng, 3 * n)[::3],
        np.asfortranarray(reals(rng, n, 4)),
        reals(rng, 4, n).T[::-1],
        rng.integers(0, 9, (n, 4, 2)).astype(np.int32)[:, ::-1, 1],
        np.array(2.5),
    )
)
def every_layout(gaps, fortran, turned, picked, point):
    fortran += turned * point
    turned[1:] = fortran[:-1] - gaps[1:, None]
    gaps *= point
    picked[:, 1] += picked[:, 0]
    point[...] = point + 1.0
    return fortran + picked


@program(lambda rng, n: (lambda x: (x[:-1], x[1:], x))(reals(rng, n + 1)))
def overlapping_arguments(left, right, whole):
    left += right
    right[:] = left * 2.0
    whole[::2] -= 1.0
    left[:] = right
    return left + right


@program(lambda rng, n: (reals(rng, n + 3), 2), exact=True)
def single_elements(x, k):
    x[0] = x[-1] + x[k]
    x[-2] += 1.0
    x[k] = x[k - 1] * x[len(x) - 1]
    x[1] = 3
    return x[0], x[k] > 0.0


@program(lambda rng, n: (reals(rng, n, 4), reals(rng, n)), (6, 2, 3, 19))
def neighbours_averaged(grid, x):
    x[1:-1] = 0.5 * (x[:-2] + x[2:])
    x[2:] += x[:-2] * 0.25 + x[1:-1]
    grid[1:, 1:] = 0.25 * (grid[1:, 1:] + grid[:-1, 1:] + grid[1:, :-1] + grid[:-1, :-1])
    grid[:-1] -= grid[1:]
    np.copyto(x, x[::-1])


@program(lambda rng, n: (rng.standard_normal(n), rng.integers(-1, 2, n)), exact=True)
def results_where_a_mask_is_set(x, k):
    quotient = np.divide(x, k, out=np.empty(len(x)), where=k != 0)
    root = np.empty((2, len(x)))
    np.sqrt(x, out=root[0], where=x > 0)
    root[1] = np.where(x > 0, -root[0], root[1])
    low = np.empty(len(x), np.float32)
    np.copyto(low, 1.0, where=k > 0)
    return np.where(k != 0, quotient, 0.0), np.where(x > 0, root, 7.0), np.where(k > 0, low, 0)

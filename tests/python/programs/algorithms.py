"""Whole algorithms by elements, as people write them: searches, sorts, tables, checksums, sweeps, factorisations."""

from __future__ import annotations

import math

import numpy as np

from . import program


def letters(rng, n):
    return rng.integers(0, 4, n).astype(np.uint8)


@program(lambda rng, n: (letters(rng, n), letters(rng, n + 2)), (7, 0, 1, 2, 12), exact=True)
def aligned(s, t, match=2, mismatch=-1, gap=-2):
    scores = np.zeros((len(s) + 1, len(t) + 1), np.int32)
    distances = np.zeros((len(s) + 1, len(t) + 1), np.int64)
    scores[1:, 0] = gap * np.arange(1, len(s) + 1)
    scores[0, 1:] = gap * np.arange(1, len(t) + 1)
    distances[:, 0], distances[0, :] = np.arange(len(s) + 1), np.arange(len(t) + 1)
    best = scores[0, 0]
    row = column = 0
    for i in range(1, len(s) + 1):
        for j in range(1, len(t) + 1):
            diagonal = scores[i - 1, j - 1] + (match if s[i - 1] == t[j - 1] else mismatch)
            scores[i, j] = max(diagonal, scores[i - 1, j] + gap, scores[i, j - 1] + gap)
            if scores[i, j] > best:
                best = scores[i, j]
                row, column = i, j
            cost = 0 if s[i - 1] == t[j - 1] else 1
            distances[i, j] = min(
                distances[i - 1, j] + 1, distances[i, j - 1] + 1, distances[i - 1, j - 1] + cost
            )
    return scores, best, row, column, distances[len(s), len(t)]


@program(lambda rng, n: (rng.standard_normal((n, n)),), (5, 0, 1, 2, 9))
def factored_with_pivots(a):
    n = len(a)
    order, sign = np.arange(n), 1
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[best, k]):
                best = i
        if best != k:
            row = a[k].copy()
            a[k] = a[best]
            a[best] = row
            order[k], order[best] = order[best], order[k]
            sign = -sign
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= a[k + 1 :, k, None] * a[k, None, k + 1 :]
    return order, sign


@program(lambda rng, n: (n,), (30, 0, 1, 2, 3, 100))
def primes(n):
    is_prime = np.ones(n + 1, dtype=bool)
    is_prime[:2] = False
    i = 2
    while i * i <= n:
        if is_prime[i]:
            is_prime[i * i :: i] = False
        i += 1
    return is_prime, np.count_nonzero(is_prime)


@program(lambda rng, n: (rng.uniform(0, 10, n), 1e-12), (7, 0, 1, 20), exact=True)
def roots(x, tolerance, most=50):
    def cubic(v, target):
        return v**3 - 2 * v - target

    by_newton, by_halves, turns = np.empty_like(x), np.zeros_like(x), np.zeros(len(x), np.intp)
    for i, value in enumerate(x):
        y, turn = value, 0
        while True:
            z = 0.5 * (y + value / y)
            turn += 1
            if abs(z - y) <= tolerance * abs(z) or turn >= most:
                break
            y = z
        by_newton[i], turns[i] = z, turn
        low, high = 0.0, 2.4
        if cubic(low, value) * cubic(high, value) > 0:
            by_halves[i] = np.nan
            continue
        for _ in range(40):
            middle = (low + high) / 2
            if cubic(low, value) * cubic(middle, value) <= 0:
                high = middle
            else:
                low = middle
        by_halves[i] = (low + high) / 2
    return by_newton, turns, by_halves


def lorenz(y, sigma, rho, beta):
    slope = np.empty_like(y)
    slope[0] = sigma * (y[1] - y[0])
    slope[1] = y[0] * (rho - y[2]) - y[1]
    slope[2] = y[0] * y[1] - beta * y[2]
    return slope


def runge_kutta(f, y, h, *args, **named):
    k1 = f(y, *args, **named)
    k2 = f(y + h / 2 * k1, *args, **named)
    k3 = f(y + h / 2 * k2, *args, **named)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + f(y + h * k3, *args, **named))


@program(lambda rng, n: (rng.standard_normal((3, n)), 0.01, 4), (3, 0, 1, 8))
def trajectories(y, h, steps):
    path = np.zeros((steps + 1, *y.shape))
    path[0] = y
    for s in range(steps):
        y = runge_kutta(lorenz, y, h, 10.0, rho=28.0, beta=8 / 3)
        path[s + 1] = y
    return path, y


@program(lambda rng, n: (rng.integers(0, 255, n).astype(np.uint8), rng.standard_normal(n)), (9, 0, 1, 2, 30))
def medians(levels, x, reach=2):
    of_three = levels.copy()
    for i in range(1, len(levels) - 1):
        a, b, c = levels[i - 1], levels[i], levels[i + 1]
        if a > b:
            a, b = b, a
        if b > c:
            b, c = c, b
        if a > b:
            a, b = b, a
        of_three[i] = b
    running, window = np.full(len(x), np.nan), np.empty(2 * reach + 1)
    for i in range(reach, len(x) - reach):
        window[:] = x[i - reach : i + reach + 1]
        for place in range(1, len(window)):
            key, hole = window[place], place - 1
            while hole >= 0 and window[hole] > key:
                window[hole + 1] = window[hole]
                hole -= 1
            window[hole + 1] = key
        running[i] = window[reach]
    return of_three, running


@program(
    lambda rng, n: (rng.integers(0, 256, n).astype(np.uint8), np.uint64(14695981039346656037)), exact=True
)
def checksums(data, basis):
    table = np.zeros(256, np.uint32)
    for i in range(256):
        entry = np.uint32(i)
        for _ in range(8):
            entry = (entry >> 1) ^ np.uint32(0xEDB88320) if entry & 1 else entry >> 1
        table[i] = entry
    crc, bits = np.uint32(0xFFFFFFFF), 0
    for byte in data:
        crc = table[(crc ^ byte) & np.uint32(0xFF)] ^ (crc >> np.uint32(8))
        basis = (basis ^ np.uint64(byte)) * np.uint64(1099511628211)
        while byte:
            byte &= byte - np.uint8(1)
            bits += 1
    return ~crc, basis, bits


@program(lambda rng, n: (rng.uniform(-1, 2, n).astype(np.float32), 4), (9, 1, 2, 40))
def one_pass(x, bins):
    total, lost = np.float32(0), np.float32(0)
    mean = squares = np.float64(0)
    counts, outside, seen = np.zeros(bins, np.int64), 0, 0
    for value in x:
        y = value - lost
        rounded = total + y
        lost = (rounded - total) - y
        total = rounded
        seen += 1
        step = value - mean
        mean += step / seen
        squares += step * (value - mean)
        if value < 0 or value >= 1:
            outside += 1
            continue
        counts[int(value * bins)] += 1
    return total, lost, mean, squares, counts, outside


@program(
    lambda rng, n: (rng.integers(0, 2, n), np.sort(rng.integers(0, 50, n)), rng.integers(0, 50, 5)),
    exact=True,
)
def runs_and_searches(x, ordered, keys):
    values, lengths, found = np.empty(len(x), x.dtype), np.zeros(len(x), np.int64), np.full(keys.shape, -1)
    count = i = 0
    while i < len(x):
        j = i
        while j < len(x) and x[j] == x[i]:
            j += 1
        values[count], lengths[count] = x[i], j - i
        count += 1
        i = j
    for q in range(len(keys)):
        low, high = 0, len(ordered)
        while low < high:
            middle = (low + high) // 2
            if ordered[middle] < keys[q]:
                low = middle + 1
            else:
                high = middle
        if low < len(ordered) and ordered[low] == keys[q]:
            found[q] = low
    return values[:count], lengths[:count], found


@program(lambda rng, n: (rng.standard_normal((n + 2, n + 3)), 2 * n + 1, n + 2), (4, 0, 1, 7), exact=True)
def resampled(image, height, width):
    out = np.empty((height, width), image.dtype)
    rows, columns = image.shape
    for i in range(height):
        y = i * (rows - 1) / max(height - 1, 1)
        top = int(y)
        bottom, down = min(top + 1, rows - 1), y - top
        for j in range(width):
            x = j * (columns - 1) / max(width - 1, 1)
            left = math.floor(x)
            right, along = min(left + 1, columns - 1), x - left
            upper = (1 - along) * image[top, left] + along * image[top, right]
            out[i, j] = (1 - down) * upper + down * (
                (1 - along) * image[bottom, left] + along * image[bottom, right]
            )
    return out


@program(
    lambda rng, n: (rng.random((n, n + 1)) < 0.6, rng.uniform(0, 255, (n, n + 1))),
    (6, 0, 1, 2, 11),
    exact=True,
)
def swept(mask, grey):
    rows, columns = mask.shape
    labels = np.arange(1, rows * columns + 1).reshape(rows, columns) * mask
    changed, sweeps = True, 0
    while changed:
        changed = False
        sweeps += 1
        for i in range(rows):
            for j in range(columns):
                if not labels[i, j]:
                    continue
                least = labels[i, j]
                if i > 0 and 0 < labels[i - 1, j] < least:
                    least = labels[i - 1, j]
                if j + 1 < columns and 0 < labels[i, j + 1] < least:
                    least = labels[i, j + 1]
                if least != labels[i, j]:
                    labels[i, j] = least
                    changed = True
    dithered = np.zeros(grey.shape, np.uint8)
    for i in range(rows):
        for j in range(columns):
            new = 255 if grey[i, j] > 127 else 0
            error = grey[i, j] - new
            dithered[i, j] = new
            if j + 1 < columns:
                grey[i, j + 1] += error * 7 / 16
            if i + 1 < rows:
                grey[i + 1, j] += error * 9 / 16
    return labels, sweeps, dithered


def rows_of_a_matrix(rng, n):
    ends = np.concatenate([[0], np.cumsum(rng.integers(0, 4, n))]).astype(np.int32)
    entries = int(ends[-1])
    return ends, rng.integers(0, max(n, 1), entries), rng.standard_normal(entries), rng.standard_normal(n)


@program(rows_of_a_matrix, (7, 0, 1, 2, 20))
def ragged(ends, columns, entries, x):
    product, sums = np.zeros(len(ends) - 1), np.zeros(len(ends) - 1)
    longest = 0
    for i in range(len(product)):
        total = 0.0
        for k in range(ends[i], ends[i + 1]):
            total += entries[k] * x[columns[k]]
        row = entries[ends[i] : ends[i + 1]]
        product[i], sums[i] = total, row.sum()
        if len(row) > longest:
            longest = len(row)
    return product, sums, longest


@program(lambda rng, n: (rng.standard_normal(2**n), rng.standard_normal(2**n)), (3, 0, 1, 4))
def transformed(real, imaginary):
    n, j = len(real), 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j ^= bit
        if i < j:
            real[i], real[j] = real[j], real[i]
            imaginary[i], imaginary[j] = imaginary[j], imaginary[i]
    size = 2
    while size <= n:
        angle = -2 * math.pi / size
        for start in range(0, n, size):
            for k in range(size // 2):
                a, b = start + k, start + k + size // 2
                cosine, sine = math.cos(angle * k), math.sin(angle * k)
                re = cosine * real[b] - sine * imaginary[b]
                im = cosine * imaginary[b] + sine * real[b]
                real[b], imaginary[b] = real[a] - re, imaginary[a] - im
                real[a] += re
                imaginary[a] += im
        size *= 2


@program(lambda rng, n: (rng.integers(-(2**22), 2**22, n),), exact=True)
def calendar(days):
    shifted = days + 719468
    era = np.where(shifted >= 0, shifted, shifted - 146096) // 146097
    of_era = shifted - era * 146097
    year = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    names, leap = np.zeros(7, np.int64), 0
    for day in days:
        names[(day + 4) % 7] += 1
        y = 1970 + day // 365
        if y % 4 == 0 and (y % 100 != 0 or y % 400 == 0):
            leap += 1
    number = np.where(month < 10, month + 3, month - 9)
    return year + era * 400 + (number <= 2), number, of_year - (153 * month + 2) // 5 + 1, names, leap


@program(lambda rng, n: (rng.standard_normal(n),), (9, 1, 2, 16, 21))
def wavelets(x):
    out, n = x.copy(), len(x)
    while n > 1:
        half = n // 2
        sums = (out[0 : 2 * half : 2] + out[1 : 2 * half : 2]) / 2
        differences = (out[0 : 2 * half : 2] - out[1 : 2 * half : 2]) / 2
        out[:half] = sums
        out[half : 2 * half] = differences
        n = half
    return out

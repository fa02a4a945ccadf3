"""Loops: over ranges of traced bounds, rows and Python sequences; carried values; exchanged names; empty ranges."""

from __future__ import annotations

import numpy as np

from . import program

OFFSETS = [((0, 0), 0.25), ((0, 1), 0.125), ((1, 0), 0.5)]
FILTER = (4.0 / 5.0, -1.0 / 5.0, 4.0 / 105.0)


def reals(rng, *shape):
    return rng.standard_normal(shape)


def laplacian(f):
    return f[2:, 1:-1] + f[:-2, 1:-1] + f[1:-1, 2:] + f[1:-1, :-2] - 4.0 * f[1:-1, 1:-1]


@program(lambda rng, n: (reals(rng, n), 0.24, 11))
def rod(t, number, steps):
    for _ in range(steps):
        t[1:-1] += number * (t[2:] - 2.0 * t[1:-1] + t[:-2])


@program(lambda rng, n: (reals(rng, n, n + 2), 9 if n != 9 else 0), (6, 2, 9, 20))
def plate_between_two_buffers(plate, steps):
    old = plate
    new = plate.copy()
    for _ in range(steps):
        new[1:-1, 1:-1] = old[1:-1, 1:-1] + 0.2 * laplacian(old)
        old, new = new, old
    return old


@program(lambda rng, n: (reals(rng, n), reals(rng, n), 7), (6, 2, 33))
def three_buffers_in_turn(past, present, steps):
    future = np.zeros(len(present))
    for _ in range(steps):
        future[1:-1] = (
            2.0 * present[1:-1] - past[1:-1] + 0.3 * (present[2:] - 2.0 * present[1:-1] + present[:-2])
        )
        past, present, future = present, future, past
    return past, present


@program(lambda rng, n: (reals(rng, n, n), reals(rng, n, n - 1), reals(rng, n - 1, n), 6, 0.4), (7, 1, 2, 20))
def waves(p, u, v, steps, c):
    for step in range(steps):
        p[0, 0] = np.sin(0.3 * step)
        u -= c * (p[:, 1:] - p[:, :-1])
        v -= c * (p[1:, :] - p[:-1, :])
        p[:, :-1] -= c * u
        p[:, 1:] += c * u
        p[:-1, :] -= c * v
        p[1:, :] += c * v


@program(lambda rng, n: (reals(rng, n), 0.9, 0.1))
def recurrence(x, a, b):
    for i in range(1, len(x)):
        x[i] = a * x[i - 1] + b * x[i]


@program(lambda rng, n: (reals(rng, n), rng.uniform(3, 4, n), reals(rng, n), reals(rng, n)), (7, 1, 2, 33))
def tridiagonal(lower, diagonal, upper, right):
    n = len(diagonal)
    ratio = np.zeros(n)
    solution = right.copy()
    ratio[0] = upper[0] / diagonal[0]
    solution[0] /= diagonal[0]
    for i in range(1, n):
        pivot = diagonal[i] - lower[i] * ratio[i - 1]
        ratio[i] = upper[i] / pivot
        solution[i] = (solution[i] - lower[i] * solution[i - 1]) / pivot
    for i in range(n - 2, -1, -1):
        solution[i] -= ratio[i] * solution[i + 1]
    return solution


@program(lambda rng, n: (reals(rng, n, n + 1), reals(rng, n + 1, n + 2)), (5, 0, 1, 8))
def product_by_elements(a, b):
    rows, inner = a.shape
    columns = b.shape[1]
    product = np.zeros((rows, columns))
    for i in range(rows):
        for j in range(columns):
            total = 0.0
            for k in range(inner):
                total += a[i, k] * b[k, j]
            product[i, j] = total
    return product


@program(lambda rng, n: (reals(rng, n, n),), (6, 0, 1, 15))
def triangular(m):
    n = m.shape[0]
    before, after = np.zeros(n), np.zeros(n)
    for i in range(n):
        before[i] = m[i, :i].sum()
        after[i] = m[i + 1 :, i].sum()
        m[i, i + 1 :] -= before[i]
    return before, after


@program(lambda rng, n: (reals(rng, n, 6), reals(rng, n)))
def over_rows(rows, weights):
    total = np.zeros(6)
    for row, weight in zip(rows, weights):
        total += weight * row
    for index, row in enumerate(rows):
        row -= total
        row[0] = index
    for row in reversed(rows):
        total = total * 0.5 + row
    return total


@program(lambda rng, n: (reals(rng, n),), (7, 2, 3, 30))
def ranges_with_steps(x):
    n = len(x)
    for i in range(n - 2, -1, -1):
        x[i] += 0.5 * x[i + 1]
    for i in range(1, n, 3):
        x[i] *= -1.0
    for i in range(5, 5):
        x[i] = 100.0
    x[0] = i + n
    for i in range(n - 1, 0, -2):
        x[i] -= x[-i]
    return i


@program(lambda rng, n: (reals(rng, n + 1, n + 1), reals(rng, 3, n + 8)))
def over_constants(grid, signal):
    rows, columns = grid.shape
    result = np.zeros((rows - 1, columns - 1))
    for (down, right), weight in OFFSETS:
        result += weight * grid[down : rows - 1 + down, right : columns - 1 + right]
    n = signal.shape[-1]
    slope = np.zeros_like(signal)
    for reach, weight in enumerate(FILTER, start=1):
        slope[..., 4:-4] += weight * (
            signal[..., 4 + reach : n - 4 + reach] - signal[..., 4 - reach : n - 4 - reach]
        )
    return result, slope


@program(lambda rng, n: (reals(rng, n, n), reals(rng, n, 3)), (5, 0, 1, 12))
def pairs_of_columns(samples, targets):
    n = samples.shape[1]
    table = np.eye(n)
    for i in range(n):
        for j in range(i):
            table[i, j] = table[j, i] = (samples[:, i] * samples[:, j]).sum() / n
    for i in range(n - 1):
        table[i, i + 1 :] += targets[i, 0] * targets[i + 1 :, 1]
    return table


@program(lambda rng, n: (reals(rng, n, n), reals(rng, n, n), 3), (6, 1, 2, 14))
def relaxation_by_elements(x, source, sweeps):
    rows, columns = x.shape
    for _ in range(sweeps):
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                near = x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1]
                x[i, j] = 0.25 * (near + source[i, j])


@program(lambda rng, n: (reals(rng, n, n, n), rng.random((n, n, n)) < 0.8, 4), (5, 2, 3, 9))
def masked_box(field, inside, sweeps):
    other = np.empty_like(field)
    other[...] = field
    core = inside[1:-1, 1:-1, 1:-1]
    for _ in range(sweeps):
        mean = (
            field[2:, 1:-1, 1:-1] + field[:-2, 1:-1, 1:-1] + field[1:-1, 2:, 1:-1] + field[1:-1, :-2, 1:-1]
        ) / 4
        other[1:-1, 1:-1, 1:-1] = np.where(core, mean, field[1:-1, 1:-1, 1:-1])
        field, other = other, field
    return field


@program(lambda rng, n: (reals(rng, 4, n), 0.2, 0.3, -0.5, 0.25))
def filter_of_two_states(signals, b0, b1, a1, a2):
    first, second = np.zeros(4), np.zeros(4)
    filtered = np.empty(signals.shape)
    for t in range(signals.shape[1]):
        sample = signals[:, t]
        output = b0 * sample + first
        first = b1 * sample - a1 * output + second
        second = b0 * sample - a2 * output
        filtered[:, t] = output
    return filtered


@program(lambda rng, n: (reals(rng, n).astype(np.float32), np.float32(0.2)), (7, 1, 33), rtol=1e-5)
def running_average(signal, rate):
    smooth = np.empty_like(signal)
    state = signal[0]
    for i in range(signal.size):
        state = state + rate * (signal[i] - state)
        smooth[i] = state
    return smooth


@program(lambda rng, n: ((rng.random((n, n)) < 0.4).astype(np.uint8), 4), (6, 2, 17), exact=True)
def cells(cells, generations):
    for _ in range(generations):
        near = np.zeros_like(cells)
        near[1:-1, 1:-1] = cells[:-2, :-2] + cells[:-2, 1:-1] + cells[:-2, 2:] + cells[1:-1, :-2]
        near[1:-1, 1:-1] += cells[1:-1, 2:] + cells[2:, :-2] + cells[2:, 1:-1] + cells[2:, 2:]
        cells[:] = (near == 3) | (cells == 1) & (near == 2)


@program(
    lambda rng, n: (
        rng.uniform(1, 10, (n, n)) + np.where(rng.random((n, n)) < 0.5, np.inf, 0),
        np.zeros((n, n), np.int64),
    ),
    (6, 0, 1, 15),
)
def shortest_paths(distance, middle):
    n = len(distance)
    distance.reshape(-1)[:: n + 1] = 0.0
    for k in range(n):
        through = distance[:, k, None] + distance[None, k, :]
        middle[:] = np.where(through < distance, k, middle)
        distance[:] = np.minimum(distance, through)


@program(lambda rng, n: (reals(rng, n, 3), reals(rng, n, 3), rng.uniform(0.5, 1.5, n), 3, 0.01), rtol=1e-10)
def bodies(position, velocity, mass, steps, step):
    for _ in range(steps):
        gap = position[None, :, :] - position[:, None, :]
        inverse = ((gap**2).sum(axis=-1) + 0.01) ** -1.5
        velocity += step * (gap * (mass[None, :] * inverse)[:, :, None]).sum(axis=1)
        position += step * velocity
    return 0.5 * (mass * (velocity**2).sum(axis=1)).sum()


@program(lambda rng, n: (rng.integers(1, 2**63, n, dtype=np.uint64), 6))
def random_streams(state, rounds):
    total = np.zeros(state.shape)
    for _ in range(rounds):
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        total += ((state * np.uint64(0x2545F4914F6CDD1D)) >> 11).astype(np.float64) * 2.0**-53
    return total / rounds


@program(lambda rng, n: (reals(rng, n, n, 7), rng.uniform(0.1, 1, (n, n, 8)), 0.5), (5, 0, 1, 12))
def columns_of_a_field(field, diffusivity, step):
    levels = field.shape[2]
    upper = np.zeros_like(field)
    for k in range(levels):
        below = step * diffusivity[:, :, k] if k > 0 else 0.0 * diffusivity[:, :, k]
        above = step * diffusivity[:, :, k + 1] if k < levels - 1 else 0.0 * diffusivity[:, :, k]
        if k == 0:
            pivot = 1.0 + above
            upper[:, :, k] = -above / pivot
            field[:, :, k] = field[:, :, k] / pivot
        else:
            pivot = 1.0 + above + below + below * upper[:, :, k - 1]
            upper[:, :, k] = -above / pivot
            field[:, :, k] = (field[:, :, k] + below * field[:, :, k - 1]) / pivot
    for k in range(levels - 2, -1, -1):
        field[:, :, k] -= upper[:, :, k] * field[:, :, k + 1]


@program(lambda rng, n: (reals(rng, n),), (7, 2, 12))
def counters(x):
    place = 0
    total = 0
    for i in range(0, len(x) - 1, 2):
        x[place] += place
        place += 2
        total = total + i
    return place, total


@program(lambda rng, n: (reals(rng, n), n), (7, 0, 1, 2, 33))
def slices_of_ranges(x, n):
    s = 0.0
    for i in range(n)[::-1]:
        s = 0.5 * s + x[i]
    for i in range(len(x))[1:-1:2]:
        s += i * x[i]
    for i in range(n - 1, -1, -2)[::-1]:
        s = x[i] - 0.25 * s
    for i in range(2, n, 3)[1:]:
        s -= x[i]
    return s, len(range(n)[3:]), len(range(n)[:-2:2])


@program(lambda rng, n: (reals(rng, n), 5))
def memory_of_the_last_iteration(x, steps):
    last, total, pair, one = np.empty(len(x)), np.zeros(len(x)), np.empty((2, len(x))), np.empty(1)
    for i in range(steps):
        if i > 0:
            total += last * one - pair[1]
        last[...] = x * i
        pair[...] = last * 0.5
        one[0] = i + 2
    return total, last


@program(lambda rng, n: (reals(rng, n), 4))
def memory_of_the_last_turn(x, steps):
    last, seen, i = np.empty(len(x)), np.zeros((steps, len(x))), 0
    while i < steps:
        for row in range(i):
            seen[row] += last * row
        last[...] = x + i
        i += 1
    return seen


@program(lambda rng, n: (reals(rng, n), 4))
def choices_by_a_counter(x, steps):
    total, first = np.zeros(len(x)), np.empty(len(x))
    for i in range(steps):
        total[...] = np.where(i > 1, total + first, total)
        first[...] = np.where(i, x * i, first * 0.0 if i > 3 else x)
    return total, np.where(steps > 3, x, 0.0), np.where(len(x), x, total)


def mark(x, first, last):
    for i in range(len(x)):
        if i < first:
            x[i] += 1.0
        if i <= first - 1:
            x[i] += 2.0
        if i >= last:
            x[i] += 4.0
        if i > last - 1:
            x[i] += 8.0
        if i == last:
            x[i] += 16.0
        if i != first - 1:
            x[i] += 32.0


@program(lambda rng, n: (reals(rng, n), reals(rng, n), 1, n - 1), (5, 1, 2, 3, 12), most=5)
def conditions_that_one_end_of_a_loop_meets(x, y, one, most):
    mark(x, one, most)
    mark(y, most, one)


@program(lambda rng, n: (reals(rng, n), 4, np.array([n - 3, 1])), (9, 0, 1, 2, 3, 5, 20))
def counters_of_loops_over_nothing(x, n, k):
    up = down = every_third = nested = by_data = 0
    for _ in range(2, len(x)):
        up += 2
    for _ in range(len(x), n, -1):
        down -= 1
    for _ in range(n, len(x), 3):
        every_third += 1
    for i in range(3):
        for _ in range(n + i, len(x) - i):
            nested += 1
    for _ in range(k[1], k[0]):
        by_data += 1
    return up, down, every_third, nested, by_data, np.zeros(up)


@program(lambda rng, n: (reals(rng, n), np.array([n - 3, 1])), (9, 0, 1, 2, 3, 5))
def last_values_of_loops_over_nothing(x, k):
    i = size = last = inner = -7
    for i in range(k[1], k[0]):
        last = 2 * i
        for j in range(i, k[0], 2):
            inner = j
    for _ in range(2):
        for step in range(2, len(x)):
            size = step
    return i, size, last, inner


@program(lambda rng, n: (reals(rng, n), 3), (7, 0, 1, 2, 5))
def conditions_as_numbers(x, n):
    total = 0
    for i in range(len(x)):
        total += i > n
        total += (i % 2 == 0) * 2
        x[i] = (i > 1) + x[i] * (i == n)
        total -= -(i < n) + int(i == 2)
        total += (i > 1) & (i < 4)
        total += all([i > 1, i < 3]) + any((i == 0, i == n))
    return total


@program(lambda rng, n: (rng.integers(0, 6, n), rng.integers(0, 6, n), 3), (7, 0, 1, 2, 17))
def sequences_of_data(a, b, n):
    out = np.zeros((len(a), 6), bool)
    unequal = 0
    for i in range(len(a)):
        out[i, 0] = (a[i], b[i]) == (1, n)
        out[i, 1] = a[i] in (1, 2, n)
        out[i, 2] = (a[i], b[i]) < (b[i], n)
        out[i, 3] = a[i] not in {0, 5}
        out[i, 4] = i in (1, 3) or (i, 1) >= (n, a[i])
        out[i, 5] = a[i] in range(1, 6, 2)
        if (a[i], i) != (b[i], 2):
            unequal += 1
    return out, unequal

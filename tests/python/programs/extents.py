"""Arrays whose extents data decides: joined from two branches, shrinking and growing in loops, made of sizes read there."""

from __future__ import annotations

import numpy as np

from . import program


def signed(rng, n):
    """Values whose first is positive for even n, so that sizes in turn take both sides."""
    values = rng.standard_normal(n + 3)
    values[0] = 1.0 if n % 2 == 0 else -1.0
    return values


def counts(rng, n):
    return np.array([n % 4, (n + 2) % 3, 1])


BOTH = (7, 8, 0, 1, 33, 2)


@program(lambda rng, n: (signed(rng, n), rng.random(n), rng.random(n + 2)), BOTH)
def either_fresh(x, a, b):
    y = a * 2 if x[0] > 0 else b + 1
    return y, y.sum(), y * y


@program(lambda rng, n: (signed(rng, n),), BOTH)
def either_view(x):
    if x[0] > 0:
        y = x[1:]
    else:
        y = x[:-2]
    return y * 3, len(y)


@program(lambda rng, n: (signed(rng, n), rng.random(n + 1)), BOTH)
def view_or_fresh_written(x, a):
    if x[0] > 0:
        y = a[1:]
    else:
        y = np.zeros(3)
    y[:] = 7
    return y + 1


@program(lambda rng, n: (signed(rng, n), rng.random((n + 2, n + 4))), BOTH)
def either_stride(x, a):
    if x[0] > 0:
        y = a[::2, 1:]
    else:
        y = a.T[1:-1, ::-1]
    y += 1
    return y.copy(), y.shape[0]


@program(lambda rng, n: (signed(rng, n),), BOTH)
def one_of_three(x):
    if x[0] > 0:
        y = x[1:] * 2
    elif x[1] > 0:
        y = x[2:] * 3
    else:
        y = np.ones(5)
    return y, y - y.mean()


@program(lambda rng, n: (signed(rng, n),), BOTH)
def pairs_stay_equal(x):
    if x[0] > 0:
        a, b = x[1:], x[:-1]
    else:
        a, b = x[2:], x[:-2]
    return a - b, (a * b).sum()


@program(lambda rng, n: (signed(rng, n),), BOTH)
def set_on_one_side(x):
    if x[0] > 0:
        y = x[1:] + 1
    total = 0.0
    if x[0] > 0:
        total = y.sum()
    return total


@program(lambda rng, n: (signed(rng, n),), BOTH)
def returned_early(x):
    if x[0] > 0:
        return x[1:] + 1
    return x * 2


@program(lambda rng, n: (signed(rng, n), counts(rng, n)), (7, 8, 1, 2, 3, 6), most=6)
def size_read_in_a_branch(x, k):
    if x[0] > 0:
        n = k[0]
        y = np.ones(n)
    else:
        n = k[1]
        y = np.full(n + 1, 2.0)
    return y, y.sum()


@program(lambda rng, n: (signed(rng, n), counts(rng, n)), (7, 8, 1, 2, 3, 6), most=6)
def size_read_on_one_side(x, k):
    if x[0] > 0:
        n = k[0]
        y = np.ones(n)
    total = 1.0
    if x[0] > 0:
        total = y.sum()
    return total


@program(lambda rng, n: (signed(rng, n), counts(rng, n), n % 4), (7, 1, 3, 4, 6, 8), most=6)
def size_read_in_a_loop(x, k, steps):
    y = x * 2
    for i in range(steps):
        n = k[0] + i
        y = np.full(n, 3.0)
    return y, y.sum()


@program(lambda rng, n: (counts(rng, n), 1 + n % 4), (7, 1, 3, 4, 6), most=6)
def size_of_the_last_iteration(k, steps):
    for i in range(steps):
        y = np.full(k[0] + i, 3.0)
    return y, y.sum()


@program(lambda rng, n: (signed(rng, n), 1 + n % 3), BOTH, most=6)
def window_of_the_last_iteration(x, steps):
    for i in range(steps):
        y = x[i:] + 1
    return y, len(y)


@program(lambda rng, n: (rng.random(n + 6), n % 4, (n + 1) % 3), (7, 3, 4, 5, 33), most=6)
def two_loops_at_one_place(x, first, second):
    out = []
    for steps in (first, second):
        y = x
        for _ in range(steps):
            y = y[:-1]
        out.append(y)
    return out[0] * 2, out[1] * 3, len(out[0]), len(out[1])


@program(lambda rng, n: (rng.random(n + 6), counts(rng, n)), (7, 3, 4, 5, 33), most=6)
def two_loops_by_data(x, k):
    out = []
    for t in (0, 1):
        y = x
        for _ in range(k[t]):
            y = y[1:]
        out.append(y)
    out[0][:] = 100
    return out[1] + 1, len(out[1])


def shrunk(y, steps):
    for _ in range(steps):
        y = y[1:] - y[:-1]
    return y


@program(lambda rng, n: (rng.random(n + 6), counts(rng, n)), (7, 3, 4, 5, 33), most=6)
def helper_called_twice(x, k):
    a = shrunk(x, k[0])
    b = shrunk(x, k[1])
    return a, b, a.sum() + b.sum()


@program(lambda rng, n: (rng.random(n + 8), counts(rng, n)), (7, 3, 4, 5, 33), most=6)
def shrinks_in_two_depths(x, k):
    y = x
    for _ in range(k[0]):
        y = y[1:]
        for _ in range(k[1]):
            y = y[:-1]
    return y * 1.0, y.sum()


@program(lambda rng, n: (rng.random(n + 8), counts(rng, n)), (7, 3, 4, 5, 33), most=6)
def branch_in_a_loop(x, k):
    y = x
    for i in range(k[0]):
        if x[i] > 0.5:
            y = y[1:] * 2
        else:
            y = y[:-2] + 1
    return y, len(y)


@program(lambda rng, n: (signed(rng, n),), BOTH)
def loop_in_a_branch(x):
    if x[0] > 0:
        y = x
        while len(y) > 1 and y[0] > -1:
            y = y[1:] - y[:-1]
    else:
        y = x[:1]
    return y, y + y


@program(lambda rng, n: (signed(rng, n),), BOTH)
def while_makes_values(x):
    y = x * 1.0
    while len(y) > 2:
        y = y[::2] + 1
    return y, y.sum()


@program(lambda rng, n: (signed(rng, n),), BOTH)
def helper_with_early_return(x):
    def part(v):
        if v[0] > 0:
            return v[1:]
        return v[:2]

    a = part(x)
    b = part(-x)
    return a * 2, b * 3


@program(lambda rng, n: (rng.random(n + 8), counts(rng, n)), (7, 3, 4, 5, 33), most=6)
def kept_while_another_shrinks(x, k):
    y = x
    total = 0.0
    for _ in range(k[0]):
        z = y
        for _ in range(k[1]):
            y = y[:-1]
        total += z.sum() + len(z)
    return total, len(y)


@program(lambda rng, n: (rng.random(n + 8), counts(rng, n)), (7, 3, 4, 5, 33), most=6)
def shrink_apart(x, k):
    n = len(x)
    a = b = x
    for _ in range(k[0] + 1):
        a, b = a[:-1], b[: n - 1]
    return a * 2, b * 2, len(a), len(b)


@program(lambda rng, n: (rng.random((n + 8, 9)), counts(rng, n)), (7, 3, 4, 5, 33), most=6)
def fresh_or_strided(x, k):
    y = x + 1
    for _ in range(k[0] + 1):
        y = x.T[:3, ::2] if len(y) > 3 else y[:, 1:] * 2
    return y + 1, y.shape[1]


@program(lambda rng, n: (rng.random(n + 8), counts(rng, n)), (7, 3, 4, 5, 33), most=6)
def inner_loop_keeps_the_size(x, k):
    y = x
    for _ in range(k[0]):
        y = y[1:]
        z = y * 0
        for i in range(k[1]):
            z = z + y * i
        y = y + z
    return y, len(y)


@program(lambda rng, n: (rng.random(n + 8), counts(rng, n)), (7, 3, 4, 5, 33), most=6)
def sizes_read_in_two_depths(x, k):
    y = x
    for i in range(k[0]):
        if x[i] > 0.5:
            n = k[i % 3]
            y = np.full(n + 2, x[i])
        for j in range(k[1]):
            y = y[: k[j] + 1] + 1
    return y, y.sum()


@program(lambda rng, n: (signed(rng, n), rng.random((n + 2, 4))), BOTH)
def extent_of_one_axis(x, a):
    y = np.zeros((4, 4))
    if x[0] > 0:
        y = a + 1
    y[1:] *= 2
    return y, y.sum(axis=0), y.sum(axis=1)


@program(lambda rng, n: (signed(rng, n), rng.random(n + 2)), BOTH)
def both_in_a_tuple(x, a):
    pair = (a, a * 2) if x[0] > 0 else (x[1:], x[1:] + 1)
    return pair[0] + pair[1], len(pair[1])


@program(lambda rng, n: (rng.random(n + 1) - 0.7,), (7, 0, 1, 8, 33, 3, 4, 5))
def returned_from_a_shrinking_loop(x):
    y = x
    for _ in range(len(x)):
        if y[0] > 0:
            return y
        y = y[1:]
        if len(y) == 0:
            break
    return y * 2


@program(lambda rng, n: (rng.random(n + 4) - 0.5, n % 3), (7, 3, 1, 8, 33), most=6)
def list_of_shrinking_arrays(x, steps):
    parts = [x, x]
    for _ in range(steps):
        parts = [parts[0][1:], parts[1][:-1]]
    return parts[0] - parts[1]


@program(lambda rng, n: (rng.random(n) - 0.5,), (7, 0, 1, 8, 33))
def sizes_compared_in_a_loop(x):
    count = 0
    while len(x) > 0:
        if len(x) == 3:
            count += 10
        elif len(x) > 5:
            count += 1
        x = x[1:]
    return count, len(x)


@program(lambda rng, n: (rng.random(n + 4), counts(rng, n)), (7, 3, 4, 5, 33), most=6)
def two_loops_change_sizes_in_turn(x, k):
    a, b = x, x + 1
    i = 0
    while i < k[0]:
        a, b = b[:-1], a[1:]
        i += 1
    j = 0
    while j < k[1] and len(a) > 0:
        a = a * 2
        b = b[: len(b) // 2]
        j += 1
    return a, b, len(a), len(b)


@program(lambda rng, n: (rng.random(n + 4),), (7, 3, 1, 8, 33))
def two_names_of_one_value_shrink(x):
    y = z = x + 1
    while len(y) > 2:
        y, z = z[:-1], z[:-1]
        y = y[1:]
    return y, z, x


@program(lambda rng, n: (signed(rng, n), rng.random((n + 2, 4))), BOTH)
def axis_of_one_that_data_decides(x, a):
    y = np.zeros((3, 4))
    z = a[:1] * 2 if x[0] > 0 else a[1:2] + 1
    for row in range(3):
        y[row] = z
    return y


@program(lambda rng, n: (signed(rng, n), rng.random(n)), BOTH)
def sizes_alone(x, a):
    """Of arrays whose elements nothing reads."""
    y = (x[1:] if x[0] > 0 else x[:2]) * 2.0
    z = x
    for _ in range(3 if x[0] > 0 else 2):
        z = z[1:] if x[0] > 0 else z[:-1]
    return a + len(y), y.shape[0] + len(z)


@program(lambda rng, n: (signed(rng, n),), BOTH)
def what_the_test_of_a_loop_leaves(x):
    """Its end makes a size 0, and an index the only one there is."""
    y = x * 1.0
    while len(y) > 0:
        y = y[1:] * 1.0
    z = np.zeros(len(x))
    if x[0] > 0:
        y = y[1:] * 1.0
    k = len(x)
    for i in range(k, k + 1):
        z = np.zeros(i)
        if x[0] > 0:
            z = np.ones(k)
            break
    return y, z


@program(lambda rng, n: (signed(rng, n), rng.random((n + 1, n + 2))), BOTH)
def views_returned_from_a_loop(x, m):
    for i in range(len(x)):
        if x[i] > 0.5:
            return x[::-1], m[::-1], m.T, m[1:, :3], m[:, ::-2]
    return x, m, m, m, m


@program(lambda rng, n: (signed(rng, n), rng.random((n + 1, n + 2))), BOTH)
def views_set_for_some_data(x, m):
    if x[0] > 0:
        y, z = m[:, ::-1], m.T[:, 1:]
    total = 0.0
    if x[0] > 0:
        total = y.sum() + z.sum() + len(z)
    return total


@program(lambda rng, n: (signed(rng, n), rng.random(n + 3), n), BOTH)
def strided_parts_of_fresh_arrays(x, a, n):
    y = np.zeros(2 * n)[::2]
    z = 1.0 * a
    for _ in range(n):
        y = a
        z[1:] = 5.0
        z = (a[::-1] + a)[::-1]
    v = (a * 1.0)[::-1]
    if x[0] > 0:
        v = a
    return y * 1.0, z, v * 1.0


@program(lambda rng, n: (rng.random(n + 8), counts(rng, n)), (7, 3, 4, 5, 33), most=6)
def part_of_what_shrinks(x, k):
    y = x
    z = x
    for _ in range(k[0]):
        z = y[: len(y) // 2] * 1.0
        y = y[1:]
    return z, y.sum(), len(z)


@program(lambda rng, n: (rng.random(n + 8), counts(rng, n), 2 + n % 3), (7, 3, 4, 5, 33), most=6)
def part_set_in_the_loop_alone(x, k, steps):
    y = x
    for i in range(steps):
        if i == k[1]:
            return y[: len(y) // 2], y
        part = y[: len(y) // 2 + 1] + 1
        y = y[1:]
    return part, y


@program(lambda rng, n: (rng.random(n) - 0.3, rng.random(n), n, n % 3), (4, 5, 6, 3, 8), most=8)
def sizes_of_sizes(x, y, n, k):
    part = x
    for i in range(n, 0, -2):
        if i % 2 == 0:
            part = part[: n // 2] if not x.sum() > 1 else y[i:-1:3]
        else:
            return part[: len(x) // 2] + part[: len(x) // 2], x[:-1].copy()
    return (part[::2] if k == 2 or part.sum() < 0 else part), x


@program(lambda rng, n: (rng.random(2 * n + 6)[::2], n % 3), (8, 5, 3, 12), most=6)
def view_of_what_gets_other_strides(x, k):
    left = x if x.sum() <= 0 else x[::-1]
    while len(left) > 2:
        left = left[2:]
        seen = x[:]
        if k == 1:
            break
        x = np.zeros_like(x)
    return seen[1:] * 2.0, x


@program(lambda rng, n: (rng.random(n + 6), rng.random(n + 6)), (8, 5, 3, 12), most=6)
def part_of_memory_that_a_branch_makes(x, y):
    part = y
    if y.sum() > 0.1:
        x = np.minimum(x, y)
        x[:] -= 0.1
        part = x[2:]
        while len(x) > 2 and x.sum() < 4:
            x = x[1:] - x[:-1]
            part = part + part
    return x, part

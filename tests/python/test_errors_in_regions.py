"""Errors that a branch or loop certainly raises when it runs: only then, and only for the sizes that they are true of."""

from __future__ import annotations

import numpy as np
import pytest
from evaluated import evaluated


def adds(x, y, n, flag):
    z = x
    if flag[0] > 0:
        z = x + y
    return z


def stores(x, y, n, flag):
    z = 1 * x
    if flag[0] > 0:
        z[...] = y
    return z


def stretches(x, y, n, flag):
    z = x
    if flag[0] > 0:
        z = np.broadcast_to(y, x.shape)
    return z * 1.0


def reshapes(x, y, n, flag):
    z = y.reshape(1, -1)
    if flag[0] > 0:
        z = y.reshape(2, n)
    return z * 1.0


def raises_for_sizes(x, y, n, flag):
    if flag[0] > 0:
        if len(y) > 3:
            raise ValueError("too long")
        x = x + 1
    return x


def raises_for_an_int(x, y, n, flag):
    while flag[0] > 0:
        if n == 1:
            raise ValueError("not one")
        x = x + 1
        flag[0] -= 1
    return x


def raises_in_a_loop(x, y, n, flag):
    z = 0.0
    for _ in range(int(flag[0])):
        z += (x + y).sum()
    return z


def raises_in_a_loop_of_a_branch(x, y, n, flag):
    z = 0.0
    if flag[0] > 0:
        for _ in range(n):
            z += (x + y).sum()
    return z


def raises_in_a_while_loop(x, y, n, flag):
    z = 0.0
    while flag[0] > 0:
        z += (x + y).sum()
        flag[0] -= 1
    return z


def is_empty(x, y, n, flag):
    z = 0.0
    if flag[0] > 0:
        z = y[: n - 1].max()
    return z


def is_left_empty_or_refused(x, y, n, flag):
    z = x[1:] if flag[0] > 2 else x[:0]
    while flag[0] > 0:
        if z.size:
            raise ValueError("not empty")
        z = z[::2].copy()
        flag[0] -= 1
    return z


def surely_adds(x, y, n, flag):
    total, k = 0.0, 0
    while len(x) > k:
        total += (x + y).sum()
        k += 1
    return total


def surely_raises(x, y, n, flag):
    while len(x) > n:
        if flag[0] > 1:
            x = x + 1
        raise ValueError("no")
    return x


PROGRAMS = [
    adds,
    stores,
    stretches,
    reshapes,
    raises_for_sizes,
    raises_for_an_int,
    raises_in_a_loop,
    raises_in_a_loop_of_a_branch,
    raises_in_a_while_loop,
    is_empty,
    is_left_empty_or_refused,
    surely_adds,
    surely_raises,
]


def outcome(fn, sizes, n, flag):
    x, y = (np.arange(size) + 1.0 for size in sizes)
    try:
        return fn(x, y, n, np.full(1, flag))
    except Exception as error:
        return error


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_the_error_is_that_of_its_sizes_alone(fn):
    compiled = evaluated(fn)
    # The first call has the error in a branch that does not run.
    for sizes, n in (
        ((3, 4), 1),
        ((3, 3), 2),
        ((4, 1), 1),
        ((1, 4), 2),
        ((4, 4), 2),
        ((3, 4), 1),
        ((1, 1), 1),
    ):
        for flag in (0.0, 1.0, 3.0):
            expected, result = outcome(fn, sizes, n, flag), outcome(compiled, sizes, n, flag)
            where = f"{sizes}, {n}, {flag}: {expected!r}, got {result!r}"
            if isinstance(expected, Exception):
                assert isinstance(result, type(expected)), where
            else:
                assert not isinstance(result, Exception), where
                np.testing.assert_array_equal(result, expected, where)

"""An error that a branch or loop raises for certain, where data decides whether it runs: an error of the call that runs it."""

from __future__ import annotations

import linecache

import numpy as np
import pytest

import ferrule as fr


def shapes(x, k):
    y = x * 2
    if k[0] > 0:
        y = x[1:] - x  # fails
    return y


def length(x, k):
    return x - x[3:] if k[0] > 0 else x  # fails


def shorter(x):
    return x + x[2:]  # fails


def helper(x, k):
    total = x.sum()
    if k[0] > 0:
        total = shorter(x).sum()
    return total


def items(x, k):
    known = [1, 2]
    y = 0
    if k[0] > 0:
        y = known[5]  # fails
    return y


def element(x, k):
    y = np.zeros(3)
    z = 1.5
    if k[0] > 0:
        z = y[7]  # fails
    return z * x


def division(x, k):
    y = 1.0
    if k[0] > 0:
        y = 1 / 0  # fails
    return y


def loop(x, k):
    y = 0.0
    for _ in range(k[0]):
        y = (x[1:] + x).sum()  # fails
    return y


def while_loop(x, k):
    y = 0.0
    i = 0
    while i < k[0]:
        y = (x[1:] + x).sum()  # fails
        i += 1
    return y


def raising_loop(x, k):
    i = 0
    while i < k[0]:
        i += 1
        raise ValueError("no more")  # fails
    return i


def nested(x, k):
    y = 0.5
    if k[0] > 0:
        if k[1] > 5:
            y = 2.5
        else:
            y = (x + x[1:]).sum()  # fails
    return y


def stores(x, k):
    if k[0] > 0:
        x[1:] = x  # fails
    return x + 1


FUNCTIONS = [shapes, length, helper, items, element, division, loop, while_loop, raising_loop, nested, stores]


@pytest.mark.parametrize("fn", FUNCTIONS, ids=lambda fn: fn.__name__)
def test_only_the_call_that_runs_it_is_refused(fn):
    program = fr.program(fn)
    x = np.linspace(-1, 2, 6)
    idle, busy = np.array([0, 0]), np.array([2, 0])
    np.testing.assert_allclose(program(x.copy(), idle), fn(x.copy(), idle))
    with pytest.raises(Exception) as expected:
        fn(x.copy(), busy)
    with pytest.raises(fr.UserError) as refused:
        program(x.copy(), busy)
    assert isinstance(refused.value, expected.type)
    assert " ".join(str(expected.value).split()[:6]) in str(refused.value).replace(" for size", " for axis")
    line = (
        int(str(refused.value).rpartition(f"{__file__}:")[2].split()[0].rstrip(".)"))
        if fn is not helper
        else None
    )
    if line is not None:
        assert "# fails" in linecache.getline(__file__, line)
    np.testing.assert_allclose(program(x.copy(), idle), fn(x.copy(), idle))
    assert len(program.specialisations) == 1


def caught(x, k):
    y = x
    if k[0] > 0:
        try:
            y = x + x[1:]
        except ValueError:
            y = x * 5
    return y


def test_a_handler_of_the_program_comes_first():
    program = fr.program(caught)
    x = np.linspace(-1, 2, 6)
    for k in (np.array([0]), np.array([1])):
        np.testing.assert_array_equal(program(x, k), caught(x, k))


def wrong_type(x, k):
    y = x
    if k[0] > 0:
        y = x ^ x
    return y


def test_a_dtype_that_an_operation_does_not_take_is_refused_at_once():
    with pytest.raises(TypeError, match="bitwise_xor"):
        fr.program(wrong_type)(np.zeros(3), np.array([0]))


class Diverged(Exception):
    pass


def raises(x, k):
    assert k[0] != 1, "one is odd"
    if k[0] == 2:
        raise TypeError("two is of a wrong type")
    if k[0] == 3:
        raise AssertionError("three")
    if k[0] == 4:
        raise Diverged("four diverges")
    if k[0] == 5:
        raise IndexError("five is outside")
    if k[0] == 6:
        raise OverflowError
    return x + 1


def test_the_kind_of_a_raised_exception_is_kept():
    program = fr.program(raises)
    x = np.zeros(2)
    np.testing.assert_array_equal(program(x, np.array([0])), x + 1)
    kinds = {
        1: (AssertionError, "one is odd"),
        2: (TypeError, "two is of a wrong type"),
        3: (AssertionError, "three"),
        4: (RuntimeError, "Diverged: four diverges"),
        5: (IndexError, "five is outside"),
        6: (OverflowError, "OverflowError"),
    }
    for number, (kind, words) in kinds.items():
        with pytest.raises(kind, match=words) as refused:
            program(x, np.array([number]))
        assert isinstance(refused.value, fr.UserError)
    assert len(program.specialisations) == 1

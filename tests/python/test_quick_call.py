"""The shortest way of a call takes what the longer way takes, and refuses the same."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import ferrule as fr

SOURCE = """
void mixed(double a, const double* x, long n, double* y, bool flip, const float* z, int k, long rows, long columns) {
  for (long i = 0; i < rows; ++i)
    for (long j = 0; j < columns; ++j)
      y[i * columns + j] += (flip ? -a : a) * x[j] + z[i] + k + n;
}
void bump(double* y) { *y += 1; }
"""


@pytest.fixture(scope="module")
def mixed():
    signature = fr.Signature(
        "mixed",
        [
            fr.Arg("a", kind="scalar"),
            fr.Arg("x", shape="M"),
            fr.Arg("n", kind="scalar", dtype="int64"),
            fr.Arg("y", shape=("N", "M"), intent="inout"),
            fr.Arg("flip", kind="scalar", dtype="bool"),
            fr.Arg("z", dtype="float32", shape="N"),
            fr.Arg("k", kind="scalar", dtype="int32"),
        ],
        parameters=["a", "x", "n", "y", "flip", "z", "k", "N", "M"],
    )
    return fr.compile_source(SOURCE, signature).load()


@pytest.fixture(scope="module")
def bump():
    return fr.compile_source(SOURCE, fr.Signature("bump", [fr.Arg("y", shape=(), intent="inout")])).load()


def good():
    return [1.5, np.arange(3.0), 2, np.ones((2, 3)), True, np.arange(2, dtype=np.float32), 4]


def outcome(call, args):
    try:
        call(*args)
    except (TypeError, ValueError, OverflowError) as error:
        return type(error), str(error), args[3].tolist() if isinstance(args[3], np.ndarray) else None
    return None, None, args[3].tolist()


OTHERS = [
    None,
    0,
    1,
    3,
    -1,
    2**31,
    2**63,
    True,
    False,
    0.0,
    1.5,
    "x",
    [],
    np.float64(1),
    np.int64(1),
    np.bool_(True),
    np.zeros(()),
    np.zeros(0),
    np.zeros(3),
    np.zeros(3, np.float32),
    np.zeros(2, np.float32),
    np.zeros((2, 3)),
    np.zeros((3, 2)),
    np.zeros((2, 3), order="F"),
    np.zeros((0, 3)),
    np.zeros((1, 2, 3)),
    np.zeros((1, 1, 2, 3)),
    np.zeros((1, 1, 1, 2, 3)),
    np.zeros(6)[::2],
    np.zeros(3, ">f8"),
    np.dtype("float64"),
]


def test_good_call(mixed):
    args = good()
    assert mixed(*args) is None
    assert np.array_equal(args[3], 1 - 1.5 * np.arange(3.0) + np.arange(2.0)[:, None] + 6)


@pytest.mark.parametrize("position", range(7))
def test_wrong_things_in_each_place(mixed, position):
    for other in OTHERS:
        got, expected = good(), good()
        got[position] = expected[position] = other
        if position == 3 and isinstance(other, np.ndarray):
            got[3], expected[3] = other.copy("K"), other.copy("K")
        assert outcome(mixed, got) == outcome(mixed._call_unwatched, expected), (position, other)


@pytest.mark.parametrize("positions", list(itertools.combinations(range(7), 2)))
def test_numbers_in_two_places(mixed, positions):
    for number in (0, 1, True, 1.5):
        got, expected = good(), good()
        for i in positions:
            got[i] = expected[i] = number
        assert outcome(mixed, got) == outcome(mixed._call_unwatched, expected), (positions, number)


@pytest.mark.parametrize("number", [0, 7, -1, 2**62, True])
def test_no_int_is_an_array(bump, number):
    with pytest.raises(TypeError, match="'y'"):
        bump(number)


def test_no_int_is_an_array_of_a_program():
    @fr.program
    def double(y):
        y[...] *= 2.0

    y = np.ones(3)
    double(y)
    for number in (3, True):
        with pytest.raises((fr.Unsupported, TypeError)):
            double(number)
    double(y)
    assert y.tolist() == [4.0, 4.0, 4.0]


def test_ints_that_python_does_not_write_out_are_refused_by_their_size(mixed):
    @fr.program
    def add(y, n):
        y += n

    with pytest.raises(OverflowError, match="'n', an int of 16610 bits, does not fit into 64 bits"):
        add(np.ones(2), 10**5000)
    args = good()
    args[2] = 10**5000
    with pytest.raises(OverflowError, match="'n' = an int of 16610 bits is out of range for int64"):
        mixed(*args)

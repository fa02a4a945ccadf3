"""Reshapes whose shape is symbolic: one program for every number that divides, and NumPy's choice of view or copy."""

from __future__ import annotations

import numpy as np
import pytest
from evaluated import evaluated, run, values_for

import ferrule as fr
from ferrule import errors
from ferrule.capture import capture_annotated


def whole(size):
    return np.arange(1.0, size + 1.0)


def agree(compiled, make, *values):
    """The same result, exception and memory behind the array as NumPy."""
    ours, numpys = make(), make()
    try:
        expected = compiled.fn(numpys, *values)
    except ValueError as error:
        with pytest.raises(ValueError, match=r"can only specify|cannot reshape") as caught:
            compiled(ours, *values)
        assert str(error) in str(caught.value)
    else:
        np.testing.assert_array_equal(compiled(ours, *values), expected, strict=True)
    while ours.base is not None:
        ours, numpys = ours.base, numpys.base
    np.testing.assert_array_equal(ours, numpys)


def marked(a, *shape):
    """Elements that say whether the reshape was a view."""
    b = a.reshape(shape)
    b += 100.0
    return b * 2.0


def behind(a, n):
    return marked(a, n, -1)


def before(a, n):
    return marked(a, -1, n)


def between(a, n, m):
    return marked(a, n, -1, m)


def by_sizes(a, n):
    return a.reshape(2 * n, -1) + a.reshape(a.shape[0] * 2, -1)[0, 0]


def fresh(a, n):
    return (a + 1.0).reshape(n, -1)[::-1].reshape(-1, n)


SIZES = (24, 12, 24, 48, 0)


@pytest.mark.parametrize("fn", [behind, before])
def test_a_number_that_divides_makes_one_program(fn):
    compiled = evaluated(fn)
    for size in SIZES:
        for n in (3, 1, 2, 4, 6, 12):
            agree(compiled, lambda: whole(size), n)  # noqa: B023
    assert compiled.captures == 1


def test_between_two_numbers():
    compiled = evaluated(between)
    for n, m in ((2, 3), (3, 2), (1, 1), (4, 6), (24, 1), (1, 24), (8, 3)):
        agree(compiled, lambda: whole(24).reshape(4, 6), n, m)
        agree(compiled, lambda: whole(0).reshape(0, 6), n, m)
    assert compiled.captures == 1


def test_fresh_arrays_and_size_expressions():
    for fn, most in ((fresh, 3), (by_sizes, 1)):
        compiled = evaluated(fn)
        for n in (2, 3, 4, 6, 12, 1):
            agree(compiled, lambda: whole(96).reshape(4, 24), n)
        assert compiled.captures <= most


@pytest.mark.parametrize("n, size", [(5, 6), (0, 6), (0, 0), (-1, 6), (-3, 6), (7, 6)])
def test_what_numpy_refuses(n, size):
    agree(evaluated(behind), lambda: whole(size), n)
    compiled = evaluated(behind)
    agree(compiled, lambda: whole(6), 2)
    agree(compiled, lambda: whole(size), n)


@pytest.mark.parametrize("n, m", [(2**40, 2**40), (2**62, 4), (2**63 - 1, 2), (2**32, 2**32)])
def test_more_elements_than_64_bits_count(n, m):
    for fn in (lambda a, n, m: marked(a, n, m), between):
        agree(evaluated(fn), lambda: whole(24), n, m)
        agree(evaluated(fn), lambda: whole(0), n, m)


def test_a_negative_extent_is_the_unknown_one():
    compiled = evaluated(marked)
    fn = evaluated(lambda a, n: marked(a, n, 3))
    for n in (-1, -2, 4, -7):
        agree(fn, lambda: whole(12), n)
    assert compiled.captures == 0 and fn.captures == 2
    agree(evaluated(lambda a: marked(a, -2, 3)), lambda: whole(12))


def strided(rows, columns):
    return np.arange(2.0 * rows * columns).reshape(rows, 2 * columns)[:, ::2]


def turned(rows, columns):
    return whole(rows * columns).reshape(columns, rows).T


def three(rows, columns):
    return np.arange(2.0 * 2 * rows * columns).reshape(2, 2 * rows, columns)[:, :rows]


@pytest.mark.parametrize("make", [strided, turned, three])
@pytest.mark.parametrize("first", [3, 4, 8])
def test_numpys_choice_of_view_or_copy_at_every_number(make, first):
    compiled = evaluated(behind)
    for n in (first, 1, 2, 3, 4, 6, 8, 12, 24, 5):
        agree(compiled, lambda: make(4, 6), n)
    for shape in ((0, 6), (4, 0), (1, 6), (6, 1), (1, 1), (6, 4)):
        for n in (1, 2, 4, 6):
            agree(compiled, lambda: make(*shape), n)  # noqa: B023
    explicit = evaluated(lambda a, n, m: marked(a, n, m))
    for n in (first, 4, 6, 2, 24, 1):
        agree(explicit, lambda: make(4, 6), n, (48 if make is three else 24) // n)
    assert explicit.captures <= 4


def test_a_shape_of_two_numbers_makes_one_program():
    compiled = evaluated(lambda a, n, m: marked(a, n, m))
    for n in (4, 3, 6, 12, 24, 1):
        agree(compiled, lambda: whole(24).reshape(4, 6), n, 24 // n)
    agree(compiled, lambda: whole(0).reshape(4, 0), 0, 5)
    assert compiled.captures == 1
    agree(compiled, lambda: whole(24).reshape(4, 6), 5, 5)


Matrix = fr.float64["N", "M"]


def in_loops(a: Matrix, n: int):
    b = a.reshape(n, -1)
    for i in range(n):
        for j in range(b.shape[1]):
            b[i, j] += 10.0 * i + j
    return a.reshape(-1, n).sum(axis=0), b


def test_ahead_of_time():
    captured = capture_annotated(in_loops)
    for n in (1, 2, 3, 4, 6, 8, 24):
        ours, numpys = whole(24).reshape(4, 6), whole(24).reshape(4, 6)
        result = run(captured, values_for(captured, {"a": ours, "n": n}))
        for left, right in zip(result, in_loops(numpys, n), strict=True):
            np.testing.assert_array_equal(left, right, strict=True)
        np.testing.assert_array_equal(ours, numpys)
    assert captured.program.guards == ["0 <= n", "n != 0", "(N*M)%n == 0"]


def test_ahead_of_time_a_product_of_numbers_is_a_precondition():
    def pair(a: Matrix, n: int, m: int):
        return a.reshape(n, m) + 1.0

    assert capture_annotated(pair).program.guards == ["0 <= n", "0 <= m", "N*M == n*m"]


def test_a_shape_that_changes_within_a_call_is_refused():
    def rows(a, n):
        total = 0.0
        for i in range(1, n):
            total += a.reshape(i, -1)[0, 0]
        return total

    with pytest.raises(errors.Unsupported, match="A reshape to a shape that changes within a call"):
        evaluated(rows)(whole(12), 4)


def test_indexing_gives_another_object_whose_shape_can_be_set():
    def two_shapes(a):
        b, c, d = a[:], a[...], a.T
        b.shape = (2, -1)
        b[0] = 0.0
        return a, b, c, d, b.shape[0], a.shape[0], a[()]

    ours, numpys = whole(6), whole(6)
    for left, right in zip(evaluated(two_shapes)(ours), two_shapes(numpys), strict=True):
        np.testing.assert_array_equal(left, right)
        assert np.shape(left) == np.shape(right)


def test_a_shape_that_is_set_where_it_would_be_lost():
    def of_an_argument(a):
        a.shape = (2, 3)
        return a

    def in_a_branch(a):
        b = a * 2.0
        if a[0] > 5.0:
            b.shape = (2, 3)
        return b

    def in_a_loop(a, n):
        b = a * 2.0
        for _ in range(n):
            b.shape = (2, 3)
        return b

    def of_the_loop(a, n):
        for i in range(n):
            b = a + i
            b.shape = (2, 3)
            a[:3] += b.sum(axis=0)

    with pytest.raises(errors.Unsupported, match="The assignment to the shape of an argument"):
        evaluated(of_an_argument)(whole(6))
    for fn, values in ((in_a_branch, ()), (in_a_loop, (2,))):
        with pytest.raises(errors.Unsupported, match="made outside of this loop or branch"):
            evaluated(fn)(whole(6), *values)
    ours, numpys = whole(6), whole(6)
    evaluated(of_the_loop)(ours, 3)
    of_the_loop(numpys, 3)
    np.testing.assert_array_equal(ours, numpys)


def twice_turned(a, p, q):
    b = a[1:].reshape(p, -1)
    c = b.T.reshape(q, -1)
    b += 100.0
    c *= 2.0
    return b * 1.0, c * 1.0


def twice_flipped(a, p, q):
    b = (a * 1.0).reshape(p, -1)[::-1]
    c = b.reshape(q, -1)
    b += 100.0
    c *= 2.0
    return b * 1.0, c * 1.0


@pytest.mark.parametrize(
    "shape, p, q", [((4, 3, 4), 3, 4), ((2, 1), 1, 1), ((2, 3), 1, 3), ((3, 4), 2, 4), ((4, 6), 6, 9)]
)
@pytest.mark.parametrize("fn", [twice_turned, twice_flipped])
def test_a_reshape_of_a_reshape(fn, shape, p, q):
    size = int(np.prod(shape))
    for kind in (lambda: whole(size).reshape(shape), lambda: np.asfortranarray(whole(size).reshape(shape))):
        ours, numpys = kind(), kind()
        try:
            expected = fn(numpys, p, q)
        except ValueError:
            with pytest.raises(ValueError, match="cannot reshape"):
                evaluated(fn)(ours, p, q)
            continue
        for left, right in zip(evaluated(fn)(ours, p, q), expected, strict=True):
            np.testing.assert_array_equal(left, right, strict=True)
        np.testing.assert_array_equal(ours, numpys)


@pytest.mark.parametrize("shape", [(1, 1), (1,), (1, 1, 1)])
def test_a_reshape_of_one_element_is_a_view(shape):
    ours, numpys = np.ones(shape), np.ones(shape)
    for left, right in zip(evaluated(twice_flipped)(ours, 1, 1), twice_flipped(numpys, 1, 1), strict=True):
        np.testing.assert_array_equal(left, right, strict=True)

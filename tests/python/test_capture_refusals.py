"""Errors that NumPy or Python would raise are raised at capture, of the same kind, at the user's line."""

from __future__ import annotations

import numpy as np
import pytest
from evaluated import evaluated

from ferrule import errors
from ferrule.capture import capture


def vector(n=5):
    return np.arange(float(n))


OUTSIDE = vector()

CASES = {
    "shapes": (lambda x: x[1:] + x[:3], ValueError, "could not be broadcast together with shapes"),
    "store_shape": (
        lambda x: x.__setitem__(slice(0, 3), x[:2]),
        ValueError,
        "could not broadcast input array",
    ),
    "too_many_indices": (lambda x: x[0, 0], IndexError, "too many indices"),
    "out_of_bounds": (lambda x: x[7], IndexError, "index 7 is out of bounds for axis 0 with size 5"),
    "far_negative": (lambda x: x[-6], IndexError, "index -6 is out of bounds"),
    "two_ellipses": (lambda x: x[..., ...], IndexError, "single ellipsis"),
    "float_index": (lambda x: x[1.0], IndexError, "only integers, slices"),
    "string_index": (lambda x: x["a"], IndexError, "only integers, slices"),
    "zero_step": (lambda x: x[::0], ValueError, "slice step cannot be zero"),
    "axis": (lambda x: x.sum(axis=1), ValueError, "axis 1 is out of bounds"),
    "double_axis": (lambda x: x[None].sum(axis=(0, 0)), ValueError, "duplicate"),
    "reshape": (lambda x: x.reshape(2, 3), ValueError, "cannot reshape array of size 5"),
    "two_unknowns": (lambda x: x.reshape(-1, -1), ValueError, "one unknown"),
    "max_of_nothing": (lambda x: x[:0].max(), ValueError, "zero-size array to reduction operation max"),
    "truth": (lambda x: 1 if x > 0 else 2, ValueError, "ambiguous"),
    "squeeze": (lambda x: x.squeeze(0), ValueError, "not equal to one"),
    "bool_minus": (lambda x: (x > 0) - (x > 1), TypeError, "subtract"),
    "int_power": (lambda x: x.astype(np.int64) ** -1, ValueError, "negative integer powers"),
    "bits_of_floats": (lambda x: x & 1, TypeError, "bitwise_and"),
    "out_cast": (lambda x: np.add(x, 1, out=np.zeros(5, np.int64)), TypeError, "casting rule 'same_kind'"),
    "out_shape": (lambda x: np.add(x, 1, out=np.zeros(3)), ValueError, "non-broadcastable|broadcast"),
    "wide_int": (lambda x: x.astype(np.int8) + 1000, OverflowError, "1000 out of bounds for int8"),
    "linspace": (lambda x: np.linspace(0, 1, -len(x)), ValueError, "non-negative"),
    "negative_size": (lambda x: np.zeros(2 - len(x)), ValueError, "negative dimensions"),
    "range_step": (lambda x: list(range(0, len(x), 0)), ValueError, "zero"),
    "unsized": (lambda x: len(np.array(1.0)), TypeError, "unsized"),
    "readonly_diagonal": (
        lambda x: np.diagonal(np.zeros((3, 3))).__setitem__(0, 1.0),
        ValueError,
        "read-only",
    ),
    "readonly_broadcast": (lambda x: np.broadcast_to(x, (2, 5)).__setitem__(0, 1.0), ValueError, "read-only"),
    "element_of_array": (lambda x: x.__setitem__(0, x[:1]), ValueError, "sequence"),
    "deletion": (lambda x: x.__delitem__(0), ValueError, "cannot delete array elements"),
    "call": (lambda x: x(1), TypeError, "'ndarray' object is not callable"),
    "call_of_a_size": (lambda x: len(x)(1), TypeError, "'int' object is not callable"),
    "greatest_of_no_iteration": (
        lambda x: max(v for v in x[:0]),
        ValueError,
        "arg is an empty sequence",
    ),
    "integer_division": (lambda x: len(x) // (len(x) - 5), ZeroDivisionError, "zero"),
}


@pytest.mark.parametrize("name", CASES)
def test_is_refused_as_numpy_does(name):
    fn, kind, words = CASES[name]
    with pytest.raises(kind):
        fn(vector())
    x = vector()
    with pytest.raises(kind, match=words):
        capture(fn, (x,), {})
    assert (x == vector()).all()


def test_read_only_arguments():
    x = vector()
    x.flags.writeable = False

    def writes(x):
        x[0] = 1.0

    with pytest.raises(ValueError, match=r"read-only.*'x'"):
        capture(writes, (x,), {})
    assert capture(lambda x: x + 1, (x,), {}).results == 1


def test_an_index_that_only_the_run_knows_is_checked():
    def pick(x, k):
        return x[k[0]]

    run = evaluated(pick)
    assert run(vector(), np.array([3])) == 3.0
    assert run(vector(), np.array([-1])) == 4.0
    for place in (5, -6):
        with pytest.raises(IndexError):
            run(vector(), np.array([place]))


def test_a_store_of_extents_that_only_the_run_knows_is_checked():
    def store(x, k):
        x[: k[0]] = x[k[1] :] * 2.0

    run = evaluated(store)
    x = vector()
    run(x, np.array([3, 2]))
    assert (x == [4.0, 6.0, 8.0, 3.0, 4.0]).all()
    with pytest.raises(ValueError):
        run(vector(), np.array([3, 3]))


def test_extents_that_only_the_run_knows_are_checked():
    def add(x, k):
        return x[: k[0]] + x[k[1] :]

    run = evaluated(add)
    assert (run(vector(), np.array([3, 2])) == [2.0, 4.0, 6.0]).all()
    with pytest.raises(ValueError):
        run(vector(), np.array([3, 3]))


def test_a_value_of_the_data_cannot_be_an_axis():
    def total(x, k):
        return x[None].sum(axis=k[0])

    with pytest.raises(errors.Unsupported, match="known only at run time"):
        capture(total, (vector(), np.array([0])), {})


def test_nothing_is_known_of_a_number_outside_of_its_loop():
    def leak(x):
        kept = {}
        for i in range(len(x)):
            kept["last"] = x[i]
        return kept["last"]

    with pytest.raises((errors.UserError, errors.Unsupported)):
        capture(leak, (vector(40),), {})


def test_integer_power_with_a_negative_element_traps():
    def power(k, e):
        return k**e

    run = evaluated(power)
    assert (run(np.array([2, 3]), np.array([3, 2])) == [8, 9]).all()
    with pytest.raises(ValueError):
        run(np.array([2, 3]), np.array([1, -1]))


@pytest.mark.parametrize(
    "fn",
    [
        lambda x, n: n is 3,  # noqa: F632
        lambda x, n: n is not len(x),
        lambda x, n: (n > 2) is True,
        lambda x, n: 5 is len(x),  # noqa: F632
        lambda x, n: x[0].item() is 1.0,  # noqa: F632
    ],
)
def test_the_identity_of_a_number(fn):
    with pytest.raises(errors.Unsupported, match=r"The comparison of .* with 'is' is not"):
        capture(fn, (np.ones(5), 3), {})


def test_identity_that_needs_no_number():
    fn = evaluated(lambda x, n: (n is None, x[0] is None, n is not None, x.dtype is None, x[0] is 1.0))  # noqa: F632
    assert fn(np.ones(5), 3) == (False, False, True, False, False)


def test_methods_of_arrays_by_their_class():
    def by_class(x):
        np.ndarray.fill(x[1:], 2.0)
        return np.ndarray.sum(x, axis=0), np.ndarray.__add__(x, 1), np.ndarray.reshape(x, (-1, 1))

    ours, numpys = np.ones(5), np.ones(5)
    for left, right in zip(evaluated(by_class)(ours), by_class(numpys), strict=True):
        np.testing.assert_array_equal(left, right, strict=True)


@pytest.mark.parametrize(
    "name, fn",
    [
        ("memoryview", lambda x, n: memoryview(x)),
        ("id", lambda x, n: id(x) % 7),
        ("int.__add__", lambda x, n: int.__add__(n, 1)),
    ],
)
def test_functions_in_c_are_named(name, fn):
    with pytest.raises(
        errors.Unsupported, match=rf"test_capture_refusals\.py:\d+: '{name}' of a traced value"
    ):
        capture(fn, (np.ones(5), 3), {})


@pytest.mark.parametrize("fn", [lambda x: x.sum(bogus=1), lambda x: np.sum(x, bogus=1)])
def test_an_unknown_keyword_is_named(fn):
    with pytest.raises(
        errors.UserTypeError, match=r"\.py:\d+: this call got an unexpected keyword argument 'bogus'\."
    ):
        capture(fn, (np.ones(5),), {})


def test_the_truth_of_an_array():
    with pytest.raises(errors.UserValueError, match="The truth value of an array"):
        capture(lambda x: bool(x), (np.ones(5),), {})
    assert evaluated(lambda x: bool(x))(np.ones((1, 1))) is True


@pytest.mark.parametrize(
    "fn",
    [
        lambda x, n: x[range(n)],
        lambda x, n: x[range(2)],
        lambda x, n: x[[0, n]],
        lambda x, n: x[(0, 1), None],
        lambda x, n: x.__setitem__(range(n), 1.0),
        lambda x, n: x[np.arange(n)],
        lambda x, n: OUTSIDE[range(n)],
    ],
)
def test_sequences_as_indices_are_no_wrong_indices(fn):
    fn(vector(), 2)
    with pytest.raises(
        errors.Unsupported, match="An index that is an array or list of integers is not supported"
    ):
        capture(fn, (vector(), 2), {})


@pytest.mark.parametrize(
    "fn",
    [
        lambda x, n: {0.0: 1}.get(x[0], 2),
        lambda x, n: len({x[0], x[0]}),
        lambda x, n: hash(x[0]),
    ],
)
def test_numbers_of_the_run_are_no_keys(fn):
    with pytest.raises(
        errors.Unsupported, match=r"as a key or in a set is not supported. Compare it with '=='"
    ):
        capture(fn, (vector(), 2), {})


def test_sizes_are_keys():
    assert evaluated(lambda x, n: ({2: 1.0}[n], n in {2, 3}))(vector(), 2) == (1.0, True)


def test_numbers_get_new_axes():
    x = vector()
    run = evaluated(lambda x, n: (x[1][None], x[1][None, ..., None], np.expand_dims(x[1], 0), x[1][...]))
    assert [part.shape for part in run(x, 2)] == [(1,), (1, 1), (1,), ()]
    with pytest.raises(IndexError, match="invalid index to scalar variable"):
        evaluated(lambda x, n: x[1][0])(x, 2)

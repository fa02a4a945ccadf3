"""What initial=, where= and dtype= of reductions mean for every dtype, as functions and as methods of ufuncs."""

from __future__ import annotations

import numpy as np
import pytest
from evaluated import evaluated

from ferrule.errors import Unsupported

DTYPES = ["bool", "int8", "uint8", "int64", "uint64", "float32", "float64"]
MASK = np.array([[True, False, True], [False, False, True]])


def array(dtype):
    return np.array([[1, 0, 3], [5, 2, 7]]).astype(dtype)


def check(fn, *args):
    """Equal values and dtypes, or an error of the same kind."""
    try:
        expected = fn(*args)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError) as error:
        kinds = (TypeError, OverflowError, ValueError, ZeroDivisionError)
        kind = next(k for k in kinds if isinstance(error, k))
        with pytest.raises(kind):
            evaluated(fn)(*args)
        return
    ours = evaluated(fn)(*args)
    assert np.asarray(ours).dtype == np.asarray(expected).dtype
    np.testing.assert_array_equal(ours, expected)


UFUNCS = ["add", "multiply", "maximum", "minimum", "logical_and", "logical_or"]
BITS = ["bitwise_and", "bitwise_or", "bitwise_xor"]


def masked(ufunc):
    def fn(a, mask, initial):
        return ufunc.reduce(a, axis=1, where=mask, initial=initial)

    return fn


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UFUNCS + BITS)
def test_a_mask_with_an_initial_value(name, dtype):
    if name in BITS and dtype.startswith("float"):
        return
    for initial in (0, 1, 5, 2.5, np.float32(2.5), np.uint8(9), True):
        if name in BITS and not isinstance(initial, (int, np.uint8)):
            continue
        check(masked(getattr(np, name)), array(dtype), MASK, initial)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "uint64"])
@pytest.mark.parametrize("ufunc", [getattr(np, name) for name in BITS])
def test_a_mask_over_bits_needs_no_initial_value(ufunc, dtype):
    check(lambda a, mask: ufunc.reduce(a, axis=0, where=mask), array(dtype), MASK)
    check(lambda a, mask: ufunc.reduce(a, axis=None, where=mask), array(dtype), np.zeros_like(MASK))


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
def test_an_initial_value_takes_the_dtype_of_the_result(name):
    reduce = getattr(np, name)
    for values in ([2**62 + 1, 5], [-(2**62) - 1, 3]):
        for initial in (2.5, np.float32(1.5), np.float64(-7.9), 3, np.int8(-3)):
            check(lambda a, initial: reduce(a, initial=initial), np.array(values), initial)
    for initial in (300, -1, 2.5):
        check(lambda a, initial: reduce(a, initial=initial), array("uint8"), initial)
        check(lambda a, initial: reduce(a[:0], initial=initial), array("int8"), initial)


@pytest.mark.parametrize(
    "ufunc", [np.logical_and, np.logical_or, np.bitwise_and, np.bitwise_xor, np.bitwise_or]
)
def test_dtypes_that_a_ufunc_has_no_loop_for(ufunc):
    for dtype in (np.float64, np.float32):
        check(lambda a, dtype=dtype: ufunc.reduce(a, 0, dtype), array("int64"))
    check(lambda a: ufunc.reduce(a, 0, bool), array("bool"))


def test_extremes_in_another_dtype():
    check(lambda a: np.maximum.reduce(a, 0, np.float32), array("int8"))
    check(lambda a: np.minimum.reduce(a, 0, np.int64, None, True), array("uint8"))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "int64", "uint64", "float32"])
def test_the_array_for_the_result_takes_part_in_the_dtype(dtype):
    a = np.array([[100, 3], [77, 100]]).astype(dtype)
    for kind in ("int8", "int64", "uint64", "float32", "float64"):
        for name in ("sum", "prod", "max", "mean"):
            reduce = getattr(np, name)

            def into(a, out, reduce=reduce):
                reduce(a, axis=0, out=out)
                return out

            ours, theirs = np.zeros(2, kind), np.zeros(2, kind)
            evaluated(into)(a, ours)
            np.testing.assert_array_equal(ours, into(a, theirs), f"{name} into {kind}")
    large, out = np.full(4, 2**62), np.zeros((), np.float64)
    evaluated(lambda a, out: np.sum(a, out=out))(large, out)
    assert out == 2.0**64


def test_numbers_have_the_options_of_arrays():
    x = np.array([1.0, 2.0, 3.0])
    check(lambda x: np.sum(x[0], initial=3.0), x)
    check(lambda x: np.max(x[0], initial=9), x)
    check(lambda x: np.prod(x[0], initial=2, dtype=np.int8), x)
    check(lambda x: np.sum(x[0] > 0, initial=2), x)
    check(lambda x: [np.sum(x.sum(), axis=0), np.any(x[0] > 0, axis=-1), np.sum(x[0], keepdims=True)], x)
    check(lambda x: [x[0].max(initial=3), x[0].sum(0), x[0].prod(dtype=np.int8), x[0].any(), x[0].std()], x)
    check(lambda x: [np.var(x[0], ddof=1), np.std(x[0], ddof=2), x[0].var(ddof=0)], x)
    check(lambda x: np.mean(x[0], axis=0), x)
    check(lambda x: np.var(x[0], axis=0), x)
    for axis in (1, (0,), -2):
        check(lambda x, axis=axis: np.max(x[0], axis=axis), x)

    def into(x, out):
        np.sum(x[0], out=out)

    out = np.zeros(())
    evaluated(into)(x, out)
    assert out == 1.0
    for name in ("sum", "mean", "var"):
        reduce = getattr(np, name)
        with pytest.raises(Unsupported, match=f"'where' in '{name}' of a single number"):
            evaluated(lambda x, reduce=reduce: reduce(x[0], where=x[1] > 5))(x)


def test_arrays_of_no_dimension_have_one_axis():
    z = np.array(2.5)
    check(lambda z: [np.sum(z, axis=0), z.max(-1), np.add.reduce(z), np.ptp(z, axis=0), np.any(z, axis=0)], z)
    check(lambda z: np.count_nonzero(z, axis=0), z)
    for axis in (1, -2, (0,)):
        check(lambda z, axis=axis: np.sum(z, axis=axis), z)
    check(lambda z: np.mean(z, axis=0), z)


def test_weights_that_sum_to_zero():
    x = np.array([1.0, 2.0, 3.0])
    check(lambda x: np.average(x, weights=x), x)
    check(lambda x: np.average(x, weights=x - 2), x)
    check(lambda x: np.average(x[None], axis=0, weights=x[None]), x)
    check(lambda x: np.average(x[None], axis=0, weights=x[None] - 1), x)


def test_triangles_and_diagonals_of_every_rank():
    x = np.arange(1.0, 4.0)
    check(lambda x: np.triu(x, 1), x)
    check(lambda x: np.tril(x), x)
    for shape in ((), (1, 1, 3)):
        check(lambda x, shape=shape: np.diag(x[:1].reshape(()) if shape == () else x.reshape(shape)), x)
    check(lambda x: np.triu(x[0]), x)


def test_the_sum_of_python_adds_in_the_dtype_of_the_elements():
    for elements in ([250, 10], [[250, 10], [9, 9]]):
        for start in (0, 0.5, np.int64(3)):
            check(lambda x, start=start: sum(x, start), np.array(elements, np.uint8))
    check(lambda x: sum(x), np.array([True, True]))
    check(lambda x: sum(x), np.array([0.1, 0.2], np.float32))

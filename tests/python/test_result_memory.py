"""Memory of large results: used again when the last reference is gone, never before."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest

import ferrule as fr
from ferrule import _rt


@fr.program
def plus(a, b):
    return a + b


@pytest.fixture(autouse=True)
def nothing_kept():
    _rt._keep_result_memory(0)
    _rt._keep_result_memory(256 << 20)
    yield
    _rt._keep_result_memory(0)
    _rt._keep_result_memory(256 << 20)


def address(array):
    return array.__array_interface__["data"][0]


LARGE = np.ones(1 << 17)


def test_memory_is_used_again():
    first = plus(LARGE, LARGE)
    where = address(first)
    assert first.flags.owndata
    assert first.base is None
    assert type(first) is np.ndarray
    del first
    assert _rt._keep_result_memory(-1) == LARGE.nbytes
    second = plus(LARGE, 2 * LARGE)
    assert address(second) == where
    np.testing.assert_array_equal(second, 3.0)
    assert _rt._keep_result_memory(-1) == 0


def test_results_that_live_share_nothing():
    results = [plus(LARGE, i * LARGE) for i in range(6)]
    assert len({address(result) for result in results}) == 6
    for i, result in enumerate(results):
        np.testing.assert_array_equal(result, 1.0 + i)


@pytest.mark.parametrize(
    "view", [lambda a: a[1:], lambda a: a.reshape(2, -1), memoryview, lambda a: a.T, np.asarray]
)
def test_a_view_keeps_it(view):
    result = plus(LARGE, LARGE)
    kept = view(result)
    where = address(result)
    del result
    gc.collect()
    others = [plus(LARGE, 5 * LARGE) for _ in range(3)]
    assert where not in {address(other) for other in others}
    np.testing.assert_array_equal(np.asarray(kept).ravel()[-10:], 2.0)


def test_small_results_are_numpys():
    result = plus(LARGE[:10], LARGE[:10])
    del result
    assert _rt._keep_result_memory(-1) == 0


def test_it_can_be_resized():
    result = plus(LARGE, LARGE)
    result.resize(2 * LARGE.size, refcheck=False)
    np.testing.assert_array_equal(result[: LARGE.size], 2.0)
    np.testing.assert_array_equal(result[LARGE.size :], 0.0)
    result.resize(5, refcheck=False)
    np.testing.assert_array_equal(result, 2.0)
    del result
    gc.collect()
    np.testing.assert_array_equal(plus(LARGE, LARGE), 2.0)


def test_no_more_is_kept_than_allowed():
    _rt._keep_result_memory(3 * LARGE.nbytes)
    results = [plus(LARGE, LARGE) for _ in range(5)]
    del results
    assert _rt._keep_result_memory(-1) == 3 * LARGE.nbytes
    _rt._keep_result_memory(0)
    assert _rt._keep_result_memory(-1) == 0


def test_threads():
    failed = []

    def work(seed):
        for i in range(50):
            value = float(seed * 1000 + i)
            if not (plus(LARGE, value * LARGE) == 1.0 + value).all():
                failed.append((seed, i))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []

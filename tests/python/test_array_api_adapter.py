"""The adapter of tests/interchange is an array API module as far as the standard's tests of interchange need one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.array_api import make_strategies_namespace

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "interchange"))

import ferrule_array_api as xp

xps = make_strategies_namespace(xp)
ARRAYS = xps.arrays(xps.scalar_dtypes(), xps.array_shapes(min_dims=0, min_side=0, max_side=3))
ABSENT = st.just("absent")


def said(**keywords: Any) -> dict[str, Any]:
    return {name: value for name, value in keywords.items() if value != "absent"}


def values(array: Any) -> np.ndarray[Any, Any]:
    return np.asarray(array.memory)


@given(x=ARRAYS, copy=ABSENT | st.none() | st.booleans(), device=ABSENT | st.none() | st.just("cpu"))
@settings(deadline=None)
def test_arrays_come_back_on_their_device(x: Any, copy: Any, device: Any) -> None:
    y = xp.from_dlpack(x, **said(copy=copy, device=device))
    assert y.device == x.device
    np.testing.assert_array_equal(values(y), values(x))
    assert y.dtype == x.dtype
    if x.size:
        assert np.shares_memory(values(y), values(x)) is (copy is not True)


@given(x=ARRAYS, copy=ABSENT | st.none() | st.booleans(), version=ABSENT | st.tuples(st.integers(0, 2), st.just(0)),
       dl_device=ABSENT | st.just((1, 0)))  # fmt: skip
@settings(deadline=None)
def test_capsules_are_made_of_every_array(x: Any, copy: Any, version: Any, dl_device: Any) -> None:
    capsule = x.__dlpack__(**said(copy=copy, max_version=version, dl_device=dl_device))
    np.testing.assert_array_equal(values(xp.from_dlpack(capsule)), values(x))


def test_every_dtype_is_on_the_device() -> None:
    info = xp.__array_namespace_info__()
    for name, dtype in info.dtypes().items():
        assert getattr(xp, name) == dtype == xp.empty(3, dtype=dtype, device=info.default_device()).dtype
        assert xp.empty(3, dtype=dtype).__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError, match="device"):
        xp.from_dlpack(xp.zeros(3), device="gpu")


def test_comparisons_see_a_difference() -> None:
    assert xp.all(xp.asarray([1, 2]) == xp.asarray([1, 2])) and not xp.all(xp.asarray([1, 2]) == xp.zeros(2))
    assert xp.any(xp.full(2, 3.0) != xp.ones(2)) and xp.equal(xp.ones(()), 1)

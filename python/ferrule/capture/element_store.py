"""Numbers stored into arrays of integers: NumPy's errors for those that the dtype does not hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrule import _compiler as ir

from . import errors
from .elementwise import apply, require
from .numbers import Scalar
from .operands import cast_scalar
from .trace import Trace


def check_storable(value: Any, dtype: np.dtype[Any]) -> None:
    """An error for a number that NumPy refuses to store into an array of `dtype`; of the run, unless it is known.

    NumPy converts a number by way of Python's int. Arrays, also those of no dimension, are cast without a check, and so
    are NumPy's numbers where the array is unsigned. Python ints are checked by `assign`.
    """
    if dtype.kind not in "iu" or not isinstance(value, (float, np.generic, Scalar)):
        return
    if not isinstance(value, Scalar):
        _store_known(value, dtype)
        return
    kind = value.dtype
    if value.id in Trace.current().zero_rank or (dtype.kind == "u" and not value.weak):
        return
    if kind.kind == "f":
        _check_float(cast_scalar(value, np.dtype(np.float64)), dtype)
    elif kind.kind in "iu" and not np.can_cast(kind, dtype):
        _check_int(value, dtype)


def _store_known(value: Any, dtype: np.dtype[Any]) -> None:
    try:
        with np.errstate(all="ignore"):
            np.zeros(1, dtype)[0] = value
    except (ValueError, OverflowError) as error:
        raise errors.user_error(type(error), str(error)) from None


def _check_float(value: Any, dtype: np.dtype[Any]) -> None:
    require(apply("equal", (value, value)), "cannot convert float NaN to integer", ir.ErrorCode.VALUE)
    info = np.iinfo(dtype)
    # Fractions are cut off. Of the least of 64 bits less 1, float64 has no number.
    least = ("less_equal", float(info.min)) if info.min == -(2**63) else ("less", float(info.min) - 1.0)
    above = apply(least[0], (np.float64(least[1]), value))
    below = apply("less", (value, np.float64(float(int(info.max) + 1))))
    _require_range(apply("logical_and", (above, below)), dtype)


def _check_int(value: Scalar, dtype: np.dtype[Any]) -> None:
    info = np.iinfo(dtype)
    fine = apply("less_equal", (value, value.dtype.type(info.max)))
    if value.dtype.kind == "i":
        fine = apply("logical_and", (fine, apply("less_equal", (value.dtype.type(info.min), value))))
    _require_range(fine, dtype)


def _require_range(fine: Any, dtype: np.dtype[Any]) -> None:
    require(fine, f"a number is out of bounds for {dtype}", ir.ErrorCode.OVERFLOW)

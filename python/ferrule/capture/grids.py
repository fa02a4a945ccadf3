"""np.mgrid and np.ogrid, which are subscripted, of bounds that are known only at run time."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import creation, equidistant
from .base import holds_traced, unsupported
from .tracers import Int


def mgrid(index: Any) -> Any:
    """np.mgrid[index]: the coordinates of every point, one axis after another."""
    if not holds_traced(index):
        return np.mgrid[index]
    if not isinstance(index, tuple):
        return _range("mgrid", index)
    ranges = [_range("mgrid", item) for item in index]
    shape = tuple(values.shape[0] for values in ranges)
    result = creation.empty((len(ranges), *shape), _dtype(ranges))
    for axis, values in enumerate(ranges):
        result[axis] = _along(values, axis, len(ranges))
    return result


def ogrid(index: Any) -> Any:
    """np.ogrid[index]: the coordinates along each axis, for broadcasting."""
    if not holds_traced(index):
        return np.ogrid[index]
    if not isinstance(index, tuple):
        return _range("ogrid", index)
    ranges = [_range("ogrid", item) for item in index]
    dtype = _dtype(ranges)
    return tuple(_along(values.astype(dtype), axis, len(ranges)) for axis, values in enumerate(ranges))


def _range(name: str, item: Any) -> Any:
    if not isinstance(item, slice):
        raise unsupported(f"'np.{name}' of anything but slices")
    start, step = (0 if item.start is None else item.start), (1 if item.step is None else item.step)
    if isinstance(step, complex):
        return equidistant.linspace(start, item.stop, int(abs(step)))
    if not all(isinstance(value, (int, Int)) for value in (start, item.stop, step)):
        raise unsupported(f"'np.{name}' of bounds other than ints", "Use np.arange or np.linspace.")
    return equidistant.arange(start, item.stop, step)


def _dtype(ranges: list[Any]) -> np.dtype[Any]:
    return np.dtype(np.result_type(*(values.dtype for values in ranges)))


def _along(values: Any, axis: int, rank: int) -> Any:
    return values[tuple(slice(None) if k == axis else None for k in range(rank))]

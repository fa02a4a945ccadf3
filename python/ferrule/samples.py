"""Arguments without their data: what a capture needs of them, for another thread or process.

The stand-ins have the shapes, strides, types, alignment, overlaps and identities of the arrays, over memory of their own
that is never touched and so costs none. The arrays themselves are neither kept alive nor read.
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

_PLAIN = (int, float, complex, bool, str, bytes, type(None))
_NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0)


class _Other(Exception):
    """A value that may change, or that nothing can stand in for."""


@dataclass(frozen=True)
class _Reference:
    index: int


@dataclass(frozen=True)
class _Described:
    segment: int
    offset: int  # of the first element in it
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    writeable: bool


@dataclass(frozen=True)
class Sample:
    """Positional and named arguments, arrays by description. Picklable."""

    segments: tuple[int, ...]  # their bytes
    arrays: tuple[_Described, ...]
    positional: tuple[Any, ...]
    named: dict[str, Any]

    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with stand-ins for the arrays; what they hold is zero."""
        memory = [mmap.mmap(-1, size, mmap.MAP_PRIVATE | _NO_RESERVE) for size in self.segments]
        arrays = []
        for a in self.arrays:
            made: np.ndarray[Any, Any] = np.ndarray(a.shape, a.dtype, memory[a.segment], a.offset, a.strides)
            made.flags.writeable = a.writeable
            arrays.append(made)
        positional = tuple(_restored(value, arrays) for value in self.positional)
        return positional, {name: _restored(value, arrays) for name, value in self.named.items()}


def sample_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sample | None:
    """The description of arguments; None where one is neither an array nor a number, text or a collection of these."""
    found: dict[int, tuple[int, np.ndarray[Any, Any]]] = {}
    try:
        positional = tuple(_described(value, found) for value in args)
        named = {name: _described(value, found) for name, value in kwargs.items()}
    except _Other:
        return None
    segments, arrays = _laid_out([array for _, array in found.values()])
    return Sample(segments, arrays, positional, named)


def _described(value: Any, found: dict[int, tuple[int, np.ndarray[Any, Any]]]) -> Any:
    kind = type(value)
    if kind in _PLAIN or isinstance(value, np.generic):
        return value
    if kind is np.ndarray and not value.dtype.hasobject:
        index, _ = found.setdefault(id(value), (len(found), value))
        return _Reference(index)
    if kind is tuple or kind is list:
        return kind(_described(item, found) for item in value)
    if kind is dict and all(type(key) in _PLAIN for key in value):
        return {key: _described(item, found) for key, item in value.items()}
    raise _Other


def _restored(value: Any, arrays: Sequence[np.ndarray[Any, Any]]) -> Any:
    kind = type(value)
    if kind is _Reference:
        return arrays[value.index]
    if kind is tuple or kind is list:
        return kind(_restored(item, arrays) for item in value)
    if kind is dict:
        return {key: _restored(item, arrays) for key, item in value.items()}
    return value


def _laid_out(
    arrays: Sequence[np.ndarray[Any, Any]],
) -> tuple[tuple[int, ...], tuple[_Described, ...]]:
    """Segments for all memory that the arrays lie in, arrays that overlap in one of them, and where each array is."""
    bounds = [np.lib.array_utils.byte_bounds(array) if array.size else (0, 0) for array in arrays]
    ranges: list[list[int]] = []
    for low, high in sorted(bound for bound in bounds if bound[1]):
        if ranges and low < ranges[-1][1]:
            ranges[-1][1] = max(ranges[-1][1], high)
        else:
            ranges.append([low, high])
    made = []
    for array, (low, _) in zip(arrays, bounds, strict=True):
        address = array.__array_interface__["data"][0]
        segment = next((i for i, (start, end) in enumerate(ranges) if start <= low < end), 0)
        # A segment begins at a page; its range as far behind that as in the original.
        begin = ranges[segment][0] - ranges[segment][0] % mmap.PAGESIZE if array.size else address
        made.append(
            _Described(
                segment,
                int(address - begin),
                array.dtype,
                array.shape,
                array.strides,
                bool(array.flags.writeable),
            )
        )
    sizes = tuple(int(end - start + start % mmap.PAGESIZE) for start, end in ranges)
    return sizes or (mmap.PAGESIZE,), tuple(made)

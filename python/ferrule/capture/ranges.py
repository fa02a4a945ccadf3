"""Iterations of traced length: range, rows, zip, enumerate and reversed."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any


class TracedRange:
    """range over ints of which at least one is symbolic; the step's sign is decided. Never empty-checked here."""

    __slots__ = ("hi", "lo", "step")

    def __init__(self, lo: Any, hi: Any, step: Any = 1) -> None:
        self.lo = lo
        self.hi = hi
        self.step = step

    def length(self) -> Any:
        """The number of iterations, at least 0."""
        from . import scalars

        step = self.step
        if step > 0:
            return scalars.max_(0, (self.hi - self.lo + step - 1) // step)
        return scalars.max_(0, (self.lo - self.hi - step - 1) // -step)

    def __len__(self) -> int:
        return operator.index(self.length())

    def __iter__(self) -> Iterator[Any]:
        """Python demands the numbers one by one: the length becomes static."""
        return iter([self.lo + k * self.step for k in range(len(self))])

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return self._slice(key)
        length = self.length()
        if not (key >= -length and key < length):
            raise IndexError("range object index out of range")
        return self.lo + (key + length if key < 0 else key) * self.step

    def _slice(self, key: slice) -> TracedRange:
        from .numbers import make_int, to_expr
        from .slices import slice_term

        term = slice_term(key, to_expr(self.length()))
        assert term.step is not None and term.extent is not None
        first, step = self.lo + make_int(term.start) * self.step, make_int(term.step) * self.step
        return TracedRange(first, first + make_int(term.extent) * step, step)

    def __reversed__(self) -> Any:
        length = self.length()
        return TracedRange(self.lo + (length - 1) * self.step, self.lo - self.step, -self.step)


class TracedIter:
    """An iteration of traced length: item(k) gives the k-th value (rows, enumerate, zip and reversed of them)."""

    __slots__ = ("item", "length_")

    def __init__(self, length: Any, item: Callable[[Any], Any]) -> None:
        self.length_ = length
        self.item = item

    @property
    def length(self) -> Any:
        """The number of values, as an int."""
        return self.length_

    def __len__(self) -> int:
        return operator.index(self.length_)

    def __iter__(self) -> Iterator[Any]:
        """Python demands the values one by one: the length becomes static."""
        return iter([self.item(k) for k in range(len(self))])

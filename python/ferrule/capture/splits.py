"""Arrays cut into views along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrule import _compiler as ir

from . import errors, scalars
from .decide import Eq, decide
from .operands import as_array
from .shaping import moveaxis, normalize_axis
from .tracers import Array, to_expr


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """np.unstack: the rows of an axis, whose extent becomes static."""
    x = as_array(x)
    if not isinstance(x, Array) or not x.ndim:
        raise errors.user_error(ValueError, "Input array must be at least 1-d.")
    return tuple(moveaxis(x, axis, 0))


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """np.array_split: between indices, or into so many parts of nearly equal extents."""
    ary = as_array(ary)
    axis = normalize_axis(axis, ary.ndim)
    total = ary.shape[axis]
    if isinstance(indices_or_sections, (list, tuple, np.ndarray, Array)):
        points = [0, *indices_or_sections, total]
    else:
        sections = int(indices_or_sections)
        if sections <= 0:
            raise errors.user_error(ValueError, "number sections must be larger than 0.")
        each, extra = total // sections, total % sections
        points = [k * each + scalars.min_(k, extra) for k in range(sections + 1)]
    before = (slice(None),) * axis
    return [ary[(*before, slice(points[k], points[k + 1]))] for k in range(len(points) - 1)]


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """np.split: as array_split, but parts have to be equal."""
    ary = as_array(ary)
    if not isinstance(indices_or_sections, (list, tuple, np.ndarray, Array)):
        rest = to_expr(ary.shape[normalize_axis(axis, ary.ndim)] % int(indices_or_sections))
        if not decide(ir.Condition(Eq, rest, ir.Expr(0))):
            raise errors.user_error(ValueError, "array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


def split_along(name: str, rank: int, axis: int) -> Any:
    """np.hsplit, np.vsplit or np.dsplit: a split along one axis of arrays of at least `rank` axes."""

    def function(ary: Any, indices_or_sections: Any) -> list[Any]:
        ary = as_array(ary)
        if ary.ndim < rank:
            raise errors.user_error(ValueError, f"{name} only works on arrays of {rank} or more dimensions")
        return split(ary, indices_or_sections, min(axis, ary.ndim - 1))

    return function

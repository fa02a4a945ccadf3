"""The methods of ndarray on a traced Array."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import (
    constants,
    creation,
    elementwise,
    errors,
    moments,
    reductions,
    reshaping,
    rounding,
    scalars,
    shaping,
)
from .tracers import Array, unsupported


def _astype(
    self: Array, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
) -> Any:
    creation.check_order(order)
    kind = np.dtype(dtype)
    if not np.can_cast(self.dtype, kind, casting):  # type: ignore[arg-type]
        raise errors.user_error(
            TypeError,
            f"Cannot cast array data from {self.dtype!r} to {kind!r} according to the rule '{casting}'",
        )
    if kind == self.dtype:
        return creation.copy(self) if copy else self
    result = elementwise.cast(self, kind)
    return result if self.ndim else constants.array(result)


def _reshape(self: Array, *shape: Any, order: str = "C", copy: Any = None) -> Any:
    dims = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    return reshaping.reshape(self, dims, order, copy)


def _transpose(self: Array, *axes: Any) -> Any:
    if not axes or axes == (None,):
        return shaping.transpose(self)
    return shaping.transpose(self, axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes)


def _fill(self: Array, value: Any) -> None:
    self[...] = value


def _item(self: Array, *index: Any) -> Any:
    if not index:
        return scalars.to_python(scalars.element(self))
    key = index[0] if len(index) == 1 and isinstance(index[0], tuple) else index
    if len(key) == 1 and self.ndim != 1:
        return scalars.to_python(reshaping.ravel(self)[key[0]])
    return scalars.to_python(self[tuple(key)])


def _tolist(self: Array) -> Any:
    """Nested lists of Python numbers; the extents become static."""
    if self.ndim == 0:
        return scalars.to_python(self)
    return [row.tolist() if isinstance(row, Array) else scalars.to_python(row) for row in self]


def _refused(name: str) -> Any:
    def method(self: Array, *args: Any, **kwargs: Any) -> Any:
        raise unsupported(f"the method '{name}' of arrays")

    return method


_METHODS: dict[str, Any] = {
    **reductions.FUNCTIONS, **moments.FUNCTIONS,
    "astype": _astype, "copy": lambda self, order="C": creation.copy(self, order), "reshape": _reshape,
    "ravel": lambda self, order="C": reshaping.ravel(self, order),
    "flatten": lambda self, order="C": reshaping.flatten(self, order), "transpose": _transpose,
    "swapaxes": lambda self, axis1, axis2: shaping.swapaxes(self, axis1, axis2),
    "squeeze": lambda self, axis=None: shaping.squeeze(self, axis), "fill": _fill,
    "clip": lambda self, min=None, max=None, out=None, **options: rounding.clip(self, min, max, out, **options),
    "round": lambda self, decimals=0, out=None: rounding.round_decimals(self, decimals, out), "item": _item,
    "conj": lambda self: self, "conjugate": lambda self: self, "tolist": _tolist,
    "diagonal": lambda self, offset=0, axis1=0, axis2=1: shaping.diagonal(self, offset, axis1, axis2),
    "trace": lambda self, offset=0, axis1=0, axis2=1, dtype=None, out=None: shaping.trace_(self, offset, axis1, axis2, dtype, out),
}  # fmt: skip

_REFUSED = (
    "argmax", "argmin", "argpartition", "argsort", "byteswap", "choose", "compress", "cumprod", "cumsum", "dot", "dump",
    "dumps", "nonzero", "partition", "put", "repeat", "resize", "searchsorted", "setfield", "setflags", "sort", "take",
    "tobytes", "tofile", "view", "getfield", "to_device",
)  # fmt: skip

for _name, _method in _METHODS.items():
    setattr(Array, _name, _method)
for _name in _REFUSED:
    setattr(Array, _name, _refused(_name))

"""fr.Array under the names of the Python array API standard, as far as a suite needs them to test the interchange.

fr.Array carries memory and computes nothing, so what a suite does besides (to make arrays, to compare them) is NumPy's,
on the same memory. What is under test is passed on unchanged: `__dlpack__`, `__dlpack_device__` and `from_dlpack`.
"""

from __future__ import annotations

import builtins
import sys
from typing import Any

import numpy as np

import ferrule as fr

__array_api_version__ = "2024.12"

_NAMES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "complex64",
    "complex128",
)  # fmt: skip
bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64, complex64, complex128 = map(
    np.dtype, _NAMES
)
pi, e, inf, nan, newaxis = np.pi, np.e, np.inf, np.nan, None

_DEVICE = "cpu"


class Array:
    """An fr.Array, the device that it is on, and NumPy's operators on its memory."""

    def __init__(self, memory: fr.Array) -> None:
        self.memory = memory

    # What is under test.

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.memory.__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.memory.__dlpack_device__()

    # What is not.

    device = _DEVICE

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return sys.modules[__name__]

    @property
    def dtype(self) -> Any:
        return self.memory.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.memory.shape

    @property
    def ndim(self) -> int:
        return self.memory.ndim

    @property
    def size(self) -> int:
        return self.memory.size

    def __len__(self) -> int:
        return len(self.memory)

    def __getitem__(self, index: Any) -> Array:
        return _of(_values(self)[index])

    def __eq__(self, other: object) -> Any:
        return _of(_values(self) == _values(other))

    def __ne__(self, other: object) -> Any:
        return _of(_values(self) != _values(other))

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> builtins.bool:
        return builtins.bool(_values(self))

    def __int__(self) -> int:
        return int(_values(self))

    def __index__(self) -> int:
        return _values(self).__index__()

    def __float__(self) -> float:
        return float(_values(self))

    def __complex__(self) -> complex:
        return complex(_values(self))

    def __repr__(self) -> str:
        return f"Array({_values(self)!r})"


def _values(x: Any) -> Any:
    """The ndarray over the memory of an Array; anything else as it is."""
    return np.asarray(x.memory) if isinstance(x, Array) else x


def _of(values: Any) -> Array:
    return Array(fr.asarray(np.asarray(values)))


def _check(device: Any) -> None:
    if device not in (None, _DEVICE):
        raise ValueError(f"There is the device {_DEVICE!r} alone, not {device!r}.")


def from_dlpack(x: Any, /, *, device: Any = None, copy: builtins.bool | None = None) -> Array:
    return Array(fr.from_dlpack(x, device=device, copy=copy))


def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Array:
    _check(device)
    return Array(fr.Array.empty(shape, float64 if dtype is None else dtype))


def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Array:
    _check(device)
    return Array(fr.Array.zeros(shape, float64 if dtype is None else dtype))


def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Array:
    return full(shape, 1, dtype=float64 if dtype is None else dtype, device=device)


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Array:
    _check(device)
    made = Array(fr.Array.empty(shape, np.asarray(fill_value).dtype if dtype is None else dtype))
    _values(made)[...] = fill_value
    return made


def asarray(
    obj: Any, /, *, dtype: Any = None, device: Any = None, copy: builtins.bool | None = None
) -> Array:
    _check(device)
    return _of(np.asarray(_values(obj), dtype=dtype, copy=copy))


def reshape(x: Array, /, shape: tuple[int, ...], *, copy: builtins.bool | None = None) -> Array:
    return _of(np.reshape(_values(x), shape, copy=copy))


def all(x: Array, /, *, axis: Any = None, keepdims: builtins.bool = False) -> Array:
    return _of(np.all(_values(x), axis=axis, keepdims=keepdims))


def any(x: Array, /, *, axis: Any = None, keepdims: builtins.bool = False) -> Array:
    return _of(np.any(_values(x), axis=axis, keepdims=keepdims))


def isnan(x: Array, /) -> Array:
    return _of(np.isnan(_values(x)))


def isfinite(x: Array, /) -> Array:
    return _of(np.isfinite(_values(x)))


def equal(x1: Any, x2: Any, /) -> Array:
    return _of(np.equal(_values(x1), _values(x2)))


def iinfo(kind: Any, /) -> Any:
    return np.iinfo(kind.dtype if isinstance(kind, Array) else kind)


def finfo(kind: Any, /) -> Any:
    return np.finfo(kind.dtype if isinstance(kind, Array) else kind)


class _Info:
    """What the standard's inspection functions say of this namespace."""

    def capabilities(self) -> dict[str, Any]:
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> str:
        return _DEVICE

    def devices(self) -> list[str]:
        return [_DEVICE]

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        return {
            "real floating": float64, "complex floating": complex128, "integral": int64, "indexing": int64,
        }  # fmt: skip

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        _check(device)
        return {name: np.dtype(name) for name in _NAMES}


def __array_namespace_info__() -> _Info:  # noqa: N807
    return _Info()

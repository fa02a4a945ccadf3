"""Kernels that read an array of any type, rank and strides, and the number that each must give."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "modules"))

import kernels

TYPES = {
    "bool": ("uint8_t", "FR_BOOL"),
    "int8": ("int8_t", "FR_I8"),
    "int16": ("int16_t", "FR_I16"),
    "int32": ("int32_t", "FR_I32"),
    "int64": ("int64_t", "FR_I64"),
    "uint8": ("uint8_t", "FR_U8"),
    "uint16": ("uint16_t", "FR_U16"),
    "uint32": ("uint32_t", "FR_U32"),
    "uint64": ("uint64_t", "FR_U64"),
    "float16": ("_Float16", "FR_F16"),
    "float32": ("float", "FR_F32"),
    "float64": ("double", "FR_F64"),
    "complex64": ("float _Complex", "FR_C64"),
    "complex128": ("double _Complex", "FR_C128"),
}


def kernel(dtype: str = "float64", rank: int = 1) -> Any:
    """weigh(x) for a dtype and a rank of at most 3."""
    ctype, name = TYPES[dtype]
    return kernels.kernel("weigh.c", f"-DTYPE={ctype}", f"-DDTYPE={name}", f"-DRANK={rank}", "-Wno-overflow")


def weighed(array: Any) -> float:
    """What weigh() must give."""
    values = np.asarray(array).real.astype(np.float64).ravel()
    return float((values * np.arange(1.0, values.size + 1)).sum())


def sample(dtype: str, shape: Any) -> np.ndarray[Any, Any]:
    """Small whole numbers, which every dtype holds."""
    size = int(np.prod(shape))
    return (np.arange(size) % 7 % (2 if dtype == "bool" else 7)).astype(dtype).reshape(shape)

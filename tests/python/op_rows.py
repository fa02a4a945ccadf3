"""Rows of the table of operations as NumPy has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

# Rows without a function of their own.
SPELLED = {
    "clip": np.clip,
    "select": np.where,
    "frexp_mantissa": lambda x: np.frexp(x)[0],
    "frexp_exponent": lambda x: np.frexp(x)[1],
    "modf_fraction": lambda x: np.modf(x)[0],
    "modf_integer": lambda x: np.modf(x)[1],
}


def numpy_function(row: Any) -> Callable[..., Any]:
    """What NumPy computes for a row."""
    return getattr(np, row.numpy[0]) if row.numpy else SPELLED[row.name]

"""Capture: a NumPy function becomes a Program by being run on stand-ins."""

from ferrule.dtypes import is_annotated

from .annotations import capture_annotated
from .function import Captured, GlobalRead, Options, capture

__all__ = ["Captured", "GlobalRead", "Options", "capture", "capture_annotated", "is_annotated"]

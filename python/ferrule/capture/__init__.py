"""Capture: a NumPy function becomes a Program by being run on stand-ins."""

from typing import TYPE_CHECKING, Any

from ferrule.dtypes import is_annotated

from .function import Captured, GlobalRead, Options, capture

if TYPE_CHECKING:
    from .annotations import capture_annotated

__all__ = ["Captured", "GlobalRead", "Options", "capture", "capture_annotated", "is_annotated"]


def __getattr__(name: str) -> Any:
    # A first call without annotations does without its import.
    if name != "capture_annotated":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .annotations import capture_annotated

    return capture_annotated

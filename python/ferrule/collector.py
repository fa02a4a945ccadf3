"""Keeps Python's cycle collector out of a capture.

A capture makes tens of thousands of objects within some milliseconds. Beside NumPy's own, a full collection that they set
off takes as long as the capture itself and finds nothing.
"""

from __future__ import annotations

import gc
import threading
from types import TracebackType


class _Pause:
    """A context in which no automatic collection runs, in any thread; contexts may nest and overlap."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._depth = 0
        self._was_enabled = False

    def __enter__(self) -> None:
        with self._lock:
            if self._depth == 0:
                self._was_enabled = gc.isenabled()
                gc.disable()
            self._depth += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth == 0 and self._was_enabled:
                gc.enable()


paused = _Pause()

"""Keeps Python's cycle collector out of a capture.

A capture makes tens of thousands of objects within some milliseconds. Beside NumPy's own, a full collection that they set
off takes as long as the capture itself and finds nothing.
"""

from __future__ import annotations

import gc
import os
from types import TracebackType

from ferrule.locks import ProcessLock


class _Pause:
    """A context in which no automatic collection runs, in any thread; contexts may nest and overlap.

    Works through the thresholds, so that what a program's other threads say with `gc.disable()` and `gc.enable()` stands.
    """

    def __init__(self) -> None:
        self._lock = ProcessLock()
        self._depth = 0
        self._thresholds = gc.get_threshold()

    def __enter__(self) -> None:
        with self._lock():
            if self._depth == 0:
                self._thresholds = gc.get_threshold()
                gc.set_threshold(0, *self._thresholds[1:])
            self._depth += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock():
            if self._depth == 0:  # begun before a fork, which ended it
                return
            self._depth -= 1
            if self._depth == 0:
                self._restore()

    def _restore(self) -> None:
        # Other thresholds than the pause's are the user's, given meanwhile.
        if gc.get_threshold() == (0, *self._thresholds[1:]):
            gc.set_threshold(*self._thresholds)

    def end_in_child(self) -> None:
        """Ends the pauses of threads that a fork has left behind."""
        if self._depth > 0:
            self._depth = 0
            self._restore()


paused = _Pause()
os.register_at_fork(after_in_child=paused.end_in_child)

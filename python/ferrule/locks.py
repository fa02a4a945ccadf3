"""Locks for a process that may fork."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Any

_alive: weakref.WeakSet[ProcessLock] = weakref.WeakSet()


class ProcessLock:
    """Gives a lock that a forked child has anew: a thread that the fork left behind may have held its parent's.

    `with lock():` releases the one that it took, also where the fork comes in between.
    """

    __slots__ = ("__weakref__", "_lock", "_make")

    def __init__(self, make: Callable[[], Any] = threading.Lock) -> None:
        self._make = make
        self._lock = make()
        _alive.add(self)

    def __call__(self) -> Any:
        return self._lock


def _renew() -> None:
    for lock in _alive:
        lock._lock = lock._make()


os.register_at_fork(after_in_child=_renew)

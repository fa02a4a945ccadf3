"""Threads that compile in the background, and how many compilations run at once: by cores and by free memory.

The C++ compiler is a process of its own, so threads are enough. A process that ends stops what still compiles.
"""

from __future__ import annotations

import collections
import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator

from ferrule import _rt, session

Job = Callable[[_rt.Stop], None]

# Held while modules are imported: a fork meanwhile would leave them half imported in the child, for ever.
_importing = threading.RLock()


def _in_worker_process() -> bool:
    """Whether a pool of processes made this one: it has as many others beside it as the machine should take."""
    multiprocessing = sys.modules.get("multiprocessing")
    return multiprocessing is not None and multiprocessing.parent_process() is not None


def parallel_limit(running: int) -> int:
    """How many compilations may run at once, where `running` do now; at least 1."""
    if _in_worker_process():
        return 1
    cores, memory = _rt.usable_cores(), _rt.available_memory()
    by_memory = cores if memory is None else running + (memory - _rt.HEADROOM_BYTES) // _rt.COMPILER_BYTES
    return max(1, min(cores, by_memory))


class _State:
    """All that a fork leaves behind and the child begins anew."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.running = 0  # compilations
        self.queue: collections.deque[Job] = collections.deque()
        self.threads = 0
        self.stops: set[_rt.Stop] = set()
        self.ended = False
        self.watches_end = False


_state = _State()


@contextlib.contextmanager
def slot() -> Iterator[None]:
    """The context of one compilation; waits until cores and memory allow one more."""
    state = _state
    with state.changed:
        while state.running >= parallel_limit(state.running):
            state.changed.wait()
        state.running += 1
    try:
        yield
    finally:
        with state.changed:
            state.running -= 1
            state.changed.notify_all()


def submit(job: Job) -> bool:
    """Have a thread call job(stop), in turn; False where the process ends already.

    `stop` is set when the process ends. Then a job that has not begun is called with it set, to end what waits for it.
    """
    state = _state
    with state.changed:
        if state.ended:
            return False
        if not state.watches_end:
            # As concurrent.futures does: before Python waits for its threads, which ordinary exit functions come after.
            threading._register_atexit(_end)  # type: ignore[attr-defined]
            state.watches_end = True
        state.queue.append(job)
        if state.threads >= _rt.usable_cores():
            return True
        state.threads += 1
        try:
            threading.Thread(target=_work, args=(state,), name="ferrule-compile", daemon=False).start()
        except RuntimeError:  # no further thread can be had, or Python ends
            state.threads -= 1
            if state.threads == 0:
                state.queue.remove(job)
                return False
    return True


def _work(state: _State) -> None:
    with state.changed:  # held by who starts this thread: it gets Python's lock back at once and goes on
        pass
    with _importing:
        from ferrule import _compiler, capture

        assert _compiler and capture
    while True:
        stop = _rt.Stop()
        with state.changed:
            if not state.queue:
                state.threads -= 1
                return
            job = state.queue.popleft()
            state.stops.add(stop)
            if state.ended:
                stop.set()
        try:
            job(stop)
        finally:
            del job  # and the function with it
            with state.changed:
                state.stops.discard(stop)


def _end() -> None:
    with _state.changed:
        _state.ended = True
        for stop in _state.stops:
            stop.set()


def _begin_anew() -> None:
    """In a forked child: the threads are gone, and may have held a lock of the stores."""
    global _state
    _importing.release()
    if _state.threads or _state.running:
        session.leave_stores()
    _state = _State()


os.register_at_fork(before=_importing.acquire, after_in_parent=_importing.release, after_in_child=_begin_anew)

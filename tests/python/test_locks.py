"""A fork leaves locks held by threads that the child does not have: what guards a module is free there."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import pytest

from ferrule import collector, hooks, placement, session
from ferrule.locks import ProcessLock


def in_child(check: Callable[[], bool]) -> bool:
    """Whether a check holds in a forked child."""
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(0 if check() else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def is_free(lock: ProcessLock) -> bool:
    return bool(lock().acquire(blocking=False))


LOCKS = {
    "a lock": ProcessLock(),
    "a lock that nests": ProcessLock(threading.RLock),
    "stores": session._lock,
    "folders": placement._lock,
    "hooks": hooks._lock,
    "collector": collector.paused._lock,
}


@pytest.mark.parametrize("lock", LOCKS.values(), ids=LOCKS)
def test_a_child_does_not_wait_for_a_thread_of_its_parent(lock: ProcessLock) -> None:
    inside, done = threading.Event(), threading.Event()

    def hold() -> None:
        with lock():
            inside.set()
            done.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait(60)
    assert not is_free(lock)
    free = in_child(lambda: is_free(lock))
    done.set()
    thread.join()
    assert free


@pytest.mark.parametrize("make", [threading.Lock, threading.RLock])
def test_a_fork_inside_of_the_block_leaves_it_in_both(make: Callable[[], object]) -> None:
    lock = ProcessLock(make)

    def fork_inside() -> tuple[int, bool]:
        with lock():
            pid = os.fork()
        return pid, is_free(lock)

    pid, free = fork_inside()
    if pid == 0:
        os._exit(0 if free else 1)
    assert free
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0

"""The line on a terminal while compilations take long: which programs, and for how long already.

Nothing is shown within the first half second, on anything but a terminal, or with the setting `progress` off.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any, TextIO

_PATIENCE = 0.5  # seconds before the line appears
_TICK = 0.2  # seconds between two of its states

_changed = threading.Condition()  # guards what follows and the terminal
_running: dict[object, tuple[str, float]] = {}  # name and start of each compilation
_drawer: threading.Thread | None = None
_shown = False


def _forget() -> None:
    """The compilations of a parent process are its own, and so is the thread that draws."""
    global _changed, _drawer, _shown
    _changed = threading.Condition()
    _running.clear()
    _drawer = None
    _shown = False


os.register_at_fork(after_in_child=_forget)


def terminal() -> TextIO | None:
    """stderr, where it is a terminal that can go back to the begin of a line."""
    stream = sys.stderr
    try:
        usable = stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"
    except (AttributeError, ValueError):  # replaced by something else, or closed
        return None
    return stream if usable else None


@contextlib.contextmanager
def compiling(name: str, stream: TextIO, around: contextlib.AbstractContextManager[Any]) -> Iterator[None]:
    """Show on `stream` that `name` is being compiled within `around`, if that takes long. Several share the line."""
    global _drawer
    flight = object()
    with around:
        with _changed:
            _running[flight] = (name, time.monotonic())
            if _drawer is None:
                _drawer = threading.Thread(target=_draw, args=(stream,), name="ferrule-progress", daemon=True)
                _drawer.start()
        try:
            yield
        finally:
            with _changed:
                _running.pop(flight, None)
                # The line is gone before anybody else writes to the terminal.
                if not _running:
                    _write(stream, None)
                _changed.notify_all()


def _line(now: float, columns: int) -> str | None:
    """What to show; None while nothing has taken long."""
    slow = [(name, now - start) for name, start in _running.values() if now - start >= _PATIENCE]
    if not slow:
        return None
    names = ", ".join(f"'{name}'" for name, _ in slow[:3])
    more = f" and {len(slow) - 3} more" if len(slow) > 3 else ""
    text = f"ferrule: compiling {names}{more}, {max(spent for _, spent in slow):.1f} s"
    return text if len(text) < columns else text[: max(0, columns - 4)] + "..."


def _write(stream: TextIO, line: str | None) -> None:
    """Put the line where the last one was; None takes that away. Called with the lock."""
    global _shown
    if line is None and not _shown:
        return
    with contextlib.suppress(OSError, ValueError):  # the terminal has gone; the compilation goes on
        stream.write(f"\r\x1b[K{line or ''}")
        stream.flush()
    _shown = line is not None


def _draw(stream: TextIO) -> None:
    global _drawer
    with _changed:
        while _running:
            _write(stream, _line(time.monotonic(), shutil.get_terminal_size().columns))
            _changed.wait(_TICK if _shown else _PATIENCE)
        _drawer = None

"""What happens around calls and compilations: hooks, profiling and calls that only check their arguments.

While nobody has registered a hook or set one of the settings `check`, `profile` and `do_not_execute`, a call takes none of
this.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ferrule import _rt
from ferrule.config import setting, watch
from ferrule.errors import UserTypeError
from ferrule.locks import ProcessLock

Hook = Callable[..., contextlib.AbstractContextManager[Any]]

_lock = ProcessLock()
_calls: list[Hook] = []
_compiles: list[Hook] = []


@dataclass(frozen=True)
class Timing:
    """Calls of one name while `profile` was set: how many, and their seconds in all, least and most."""

    calls: int
    total: float
    least: float
    most: float


_timings: dict[str, Timing] = {}


class Registration:
    """A hook that is registered, until remove() or the end of a `with` block."""

    def __init__(self, remove: Callable[[], None]) -> None:
        self._remove: Callable[[], None] | None = remove

    def remove(self) -> None:
        """Take the hook back; a second time does nothing."""
        with _lock():
            remove, self._remove = self._remove, None
        if remove is not None:
            remove()

    def __enter__(self) -> Registration:
        return self

    def __exit__(self, *raised: object) -> None:
        self.remove()


def _require(hook: Any) -> None:
    if not callable(hook):
        raise UserTypeError(f"A hook is a function that gives a context manager, got {type(hook).__name__}.")


def around_calls(hook: Hook) -> Registration:
    """Call `hook(callee, args, kwargs)` before every call of a Kernel or Function; the call runs in the context manager
    that it returns, and what that raises is raised."""
    _require(hook)
    with _lock():
        _calls.append(hook)
    watch(1)

    def remove() -> None:
        with _lock():
            _calls.remove(hook)
        watch(-1)

    return Registration(remove)


def around_calls_of(kernel: Any, hook: Hook) -> Registration:
    """The same for the calls of one Kernel."""
    _require(hook)
    if not isinstance(kernel, _rt.Kernel):
        raise UserTypeError(f"A Kernel is expected, got {type(kernel).__name__}.")
    hooks = kernel.__dict__.setdefault("_hooks", [])
    with _lock():
        hooks.append(hook)
        kernel._watched = True

    def remove() -> None:
        with _lock():
            hooks.remove(hook)
            kernel._watched = bool(hooks)

    return Registration(remove)


def around_compiles(hook: Hook) -> Registration:
    """Call `hook(name)` before everything between a captured program, or an author's source, and its artifact."""
    _require(hook)
    with _lock():
        _compiles.append(hook)

    def remove() -> None:
        with _lock():
            _compiles.remove(hook)

    return Registration(remove)


@contextlib.contextmanager
def _nested(hooks: Iterator[Hook], *about: Any) -> Iterator[None]:
    """The context of all hooks, the first outermost. A contextlib.ExitStack would refer to what a hook raises, and so
    keep the arguments of the call until a collection."""
    hook = next(hooks, None)
    if hook is None:
        yield
    else:
        with hook(*about), _nested(hooks, *about):
            yield


@contextlib.contextmanager
def compiling(name: str) -> Iterator[None]:
    """The context of a compilation: all hooks, the first registered outermost."""
    with _nested(iter([*_compiles]), name):
        yield


def timings() -> dict[str, Timing]:
    """What `profile` has recorded, by the names of the callees."""
    with _lock():
        return dict(_timings)


def reset_timings() -> None:
    """Forget what `profile` has recorded."""
    with _lock():
        _timings.clear()


def call(callee: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The call of a Kernel or Function that somebody watches."""
    own = callee.__dict__.get("_hooks", ())
    with _nested(iter([*_calls, *own]), callee, args, kwargs):
        if setting("do_not_execute"):
            callee._check(*args, **kwargs)
            return None
        if not setting("profile"):
            return _run(callee, args, kwargs)
        start = time.perf_counter()
        try:
            return _run(callee, args, kwargs)
        finally:
            _record(str(getattr(callee, "name", None) or callee.__name__), time.perf_counter() - start)


def _run(callee: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if isinstance(callee, _rt.FunctionBase) and setting("check"):
        return callee._call_checked(args, kwargs)  # type: ignore[attr-defined]
    return callee._call_unwatched(*args, **kwargs)


def _record(name: str, seconds: float) -> None:
    with _lock():
        known = _timings.get(name)
        if known is None:
            _timings[name] = Timing(1, seconds, seconds, seconds)
        else:
            _timings[name] = Timing(
                known.calls + 1, known.total + seconds, min(known.least, seconds), max(known.most, seconds)
            )

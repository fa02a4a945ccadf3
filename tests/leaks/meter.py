"""What calls leave behind: references, objects, memory and descriptors after many of them, against as many before.

Python's collector is off meanwhile, so that garbage which only it would find counts as left behind.
"""

from __future__ import annotations

import ctypes
import gc
import itertools
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import ferrule as fr

# The most that each reading may grow by, however many calls there are. A leak of one block or object a call is beyond
# it from 200 calls on.
MOST = {
    "references": 8,
    "objects": 16,
    "blocks": 64,
    "heap": 64 << 10,
    "resident": 4 << 20,
    "mappings": 8,
    "descriptors": 0,
}
LEAST_CALLS = 200
SHARED = (
    None, True, False, Ellipsis, (), "", b"", int, float, complex, str, tuple, dict, list, memoryview, TypeError, ValueError,
    np.ndarray, np.float64, np.void, np.dtype("f8"), np.dtype("i8"), np.dtype("O"), fr.Array, fr.Error, fr.UserError,
)  # fmt: skip


@dataclass
class Call:
    """A call that is made again and again, and what its references are counted of besides its arguments."""

    function: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    watched: tuple[Any, ...] = ()

    def __call__(self) -> Any:
        return self.function(*self.args, **self.kwargs)

    def own(self) -> list[Any]:
        """Objects that nothing but the call refers to: those that Python may share are left out."""
        given = [*self.args, *self.kwargs.values(), *self.watched]
        given += [item for value in given if type(value) in (list, tuple) for item in value]
        return [
            value for value in given if value is not None and not isinstance(value, (int, float, str, bytes))
        ]


def call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Call:
    """The call function(*args, **kwargs)."""
    return Call(function, args, kwargs)


class _Mallinfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")]  # fmt: skip


_mallinfo = ctypes.CDLL(None).mallinfo2
_mallinfo.restype = _Mallinfo


def _heap_bytes() -> int:
    info = _mallinfo()
    return int(info.uordblks + info.hblkhd)


def _resident_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _mapping_count() -> int:
    with open("/proc/self/maps") as file:
        return sum(1 for _ in file)


def _references(objects: list[Any]) -> list[int]:
    sys._clear_type_cache()  # it refers to None in empty places
    return [sys.getrefcount(value) for value in objects]


def _readings() -> dict[str, int]:
    """Begins with the objects that are there; then Python gives up what it keeps of dead ones: memory for the next, names
    of attributes, some thousands of each."""
    objects = len(gc.get_objects())
    gc.collect()
    sys._clear_type_cache()
    return {
        "objects": objects,
        "descriptors": len(os.listdir("/proc/self/fd")),
        "mappings": _mapping_count(),
        "resident": _resident_bytes(),
        "heap": _heap_bytes(),
        "blocks": sys.getallocatedblocks(),
    }


def _repeat(made: Call, calls: int, raises: type[BaseException] | None) -> None:
    function, args, kwargs = made.function, made.args, made.kwargs
    if raises is None:
        for _ in itertools.repeat(None, calls):
            function(*args, **kwargs)
        return
    for _ in itertools.repeat(None, calls):
        try:
            function(*args, **kwargs)
        except raises:
            continue
        raise AssertionError("The call did not fail.")


def growth(made: Call, calls: int, raises: type[BaseException] | None = None) -> dict[str, int]:
    """By how much each reading is larger after `calls` calls than before them; with `raises` every call must fail so.

    'references' is the largest change of any object. A reference that the first call took and that is still held makes
    it large too.
    """
    assert calls >= LEAST_CALLS
    own = made.own()
    watched = [*own, made.function, *{type(value) for value in own}, *SHARED]
    gc.freeze()  # collections look at what the calls make alone
    gc.disable()
    try:
        untouched = _references(own)
        _repeat(made, calls // 10, raises)
        for _ in range(3):  # caches of the interpreter fill once, a leak goes on
            changes = _change(made, calls, raises, watched)
            if not excess(changes):
                break
        if _references(own) != untouched:
            changes["references"] = calls
    finally:
        gc.enable()
        gc.unfreeze()
    return changes


def _change(made: Call, calls: int, raises: type[BaseException] | None, watched: list[Any]) -> dict[str, int]:
    for _ in range(2):  # collections also stop looking at tuples and dicts of plain values, a level each time
        _readings()
    before, counts = _readings(), _references(watched)
    _repeat(made, calls, raises)
    counted, after = _references(watched), _readings()
    changes = {name: after[name] - before[name] for name in after}
    changes["references"] = max(abs(a - b) for a, b in zip(counted, counts, strict=True))
    return changes


def excess(changes: dict[str, int]) -> dict[str, int]:
    """The changes that are larger than calls may leave behind."""
    return {name: by for name, by in changes.items() if by > MOST[name]}

"""Calls in a process of their own, on shared memory: a crash of the native code becomes an exception."""

from __future__ import annotations

import ctypes
import mmap
import os
import pickle
import signal
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ferrule.errors import Unsupported, UserRuntimeError


class _Segment(NamedTuple):
    """Bytes [low, high) of this process, and their copy in memory that a child shares."""

    low: int
    high: int
    shared: mmap.mmap
    offset: int  # of `low` in `shared`; keeps the alignment to a page

    def write_back(self) -> None:
        source = (ctypes.c_char * (self.high - self.low)).from_buffer(self.shared, self.offset)
        ctypes.memmove(self.low, source, self.high - self.low)


def _bounds(array: np.ndarray[Any, Any]) -> tuple[int, int]:
    low, high = np.lib.array_utils.byte_bounds(array)
    return int(low), int(high)


def _segments(arrays: Sequence[np.ndarray[Any, Any]]) -> list[_Segment]:
    """Shared copies of all memory that the arrays lie in; arrays that overlap are in one of them."""
    ranges: list[list[int]] = []
    for low, high in sorted(_bounds(array) for array in arrays if array.size):
        if ranges and low <= ranges[-1][1]:
            ranges[-1][1] = max(ranges[-1][1], high)
        else:
            ranges.append([low, high])
    made = []
    for low, high in ranges:
        offset = low % mmap.PAGESIZE
        shared = mmap.mmap(-1, offset + high - low)
        shared[offset : offset + high - low] = ctypes.string_at(low, high - low)
        made.append(_Segment(low, high, shared, offset))
    return made


def _moved(array: np.ndarray[Any, Any], segments: Sequence[_Segment]) -> np.ndarray[Any, Any]:
    """The same array over the shared copy of its memory."""
    if array.size == 0:
        return array
    address = array.__array_interface__["data"][0]
    segment = next(s for s in segments if s.low <= address < s.high)
    view: np.ndarray[Any, Any] = np.ndarray(
        array.shape, array.dtype, segment.shared, segment.offset + address - segment.low, array.strides
    )
    view.flags.writeable = array.flags.writeable
    return view


def _described(result: Any, given: Sequence[Any]) -> Any:
    """A result for the pipe: arguments by their number, everything else as it is."""
    if isinstance(result, tuple):
        return "tuple", [_described(item, given) for item in result]
    for index, argument in enumerate(given):
        if result is argument:
            return "argument", index
    return "value", result


def _assembled(described: Any, given: Sequence[Any]) -> Any:
    kind, value = described
    if kind == "tuple":
        return tuple(_assembled(item, given) for item in value)
    return given[value] if kind == "argument" else value


def safe_call(kernel: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Call a kernel in a child process; what it writes into arrays and what it returns are those of a plain call.

    A call that crashes raises UserRuntimeError naming the signal and leaves every array as it was; so does one that is
    refused. Views of arguments come back as arrays of their own. State that the program keeps stays in the child.
    """
    if not hasattr(os, "fork"):
        raise Unsupported("safe_call() needs os.fork.")
    given = [*args, *kwargs.values()]
    arrays = [value for value in given if isinstance(value, np.ndarray)]
    segments = _segments(arrays)
    moved = [_moved(value, segments) if isinstance(value, np.ndarray) else value for value in given]
    positional, named = moved[: len(args)], dict(zip(kwargs, moved[len(args) :], strict=True))
    read_end, write_end = os.pipe()
    try:
        child = os.fork()
    except OSError:
        os.close(read_end)
        os.close(write_end)
        raise
    if child == 0:
        _run_in_child(kernel, positional, named, moved, write_end)
    os.close(write_end)
    try:
        with os.fdopen(read_end, "rb") as pipe:
            message = pipe.read()
    finally:
        _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) or not message:
        what = (
            signal.Signals(os.WTERMSIG(status)).name
            if os.WIFSIGNALED(status)
            else f"exit status {os.WEXITSTATUS(status)}"
        )
        raise UserRuntimeError(
            f"{kernel.name}(): the call ended with {what} in its own process; the arrays are as before."
        )
    ok, value = pickle.loads(message)
    if not ok:
        try:
            raise value
        finally:
            del value  # whose traceback has this frame, with the arguments and their copies
    for segment in segments:
        if any(a.flags.writeable and a.size and segment.low <= _bounds(a)[0] < segment.high for a in arrays):
            segment.write_back()
    return _assembled(value, given)


def _run_in_child(
    kernel: Any, positional: Sequence[Any], named: Mapping[str, Any], moved: Sequence[Any], write_end: int
) -> None:
    status = 1
    try:
        try:
            message = pickle.dumps((True, _described(kernel(*positional, **named), moved)))
        except Exception as error:
            message = pickle.dumps((False, error))
        with os.fdopen(write_end, "wb") as pipe:
            pipe.write(message)
        status = 0
    finally:
        os._exit(status)  # nothing of the parent's is to be ended here

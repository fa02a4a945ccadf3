"""Calls in a process of their own: a crash of the native code becomes an exception."""

from __future__ import annotations

import ctypes
import mmap
import os
import pickle
import signal
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ferrule import _rt
from ferrule.errors import Error, Unsupported, UserRuntimeError, UserTypeError


class _Range(NamedTuple):
    """Bytes [low, high) of this process that a call may write."""

    low: int
    high: int
    after: mmap.mmap  # shared with the child, which puts there what the call has made of them
    before: bytes | None  # what they were, where the child's writes are seen here without further ado

    def write_back(self) -> None:
        ctypes.memmove(self.low, _address_of(self.after), self.high - self.low)

    def restore(self) -> None:
        if self.before is not None and ctypes.string_at(self.low, self.high - self.low) != self.before:
            ctypes.memmove(self.low, self.before, self.high - self.low)


def _address_of(shared: mmap.mmap) -> Any:
    return (ctypes.c_char * len(shared)).from_buffer(shared)


def _is_array_like(value: Any) -> bool:
    kind = type(value)
    if hasattr(kind, "__dlpack__") or hasattr(kind, "__array_interface__"):
        return True
    try:
        memoryview(value).release()
    except (TypeError, BufferError, ValueError):
        return hasattr(value, "__array_interface__")
    return True


def _arrays(values: Sequence[Any], held: list[Any]) -> Iterator[tuple[int, int]]:
    """Bounds of the writable memory of all arrays, those in lists and tuples too; `held` keeps what was borrowed."""
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _arrays(value, held)
        elif isinstance(value, np.ndarray):
            if value.flags.writeable and value.size:
                low, high = np.lib.array_utils.byte_bounds(value)
                yield int(low), int(high)
        elif not isinstance(value, np.generic) and _is_array_like(value):
            try:
                array = _rt.asarray(value)
            except Error:
                continue  # what cannot be borrowed here is refused by the call too, with the reason
            if array.readonly or not array.size:
                continue
            held.append(array)
            steps = [(extent - 1) * stride for extent, stride in zip(array.shape, array.strides, strict=True)]
            first = _rt._address(array)
            yield (
                first + sum(step for step in steps if step < 0),
                first + sum(step for step in steps if step > 0) + array.itemsize,
            )


def _shared_mappings() -> list[tuple[int, int]] | None:
    """Where this process sees what others write, as in files that are mapped. None where the system does not say."""
    try:
        with open("/proc/self/maps") as file:
            lines = [line.split(None, 2) for line in file]
    except OSError:
        return None
    bounds = [line[0].split("-") for line in lines if line[1][3] == "s"]
    return [(int(low, 16), int(high, 16)) for low, high in bounds]


def _ranges(bounds: Iterator[tuple[int, int]]) -> list[_Range]:
    """The bounds as ranges without overlap, made before the child is."""
    merged: list[list[int]] = []
    for low, high in sorted(bounds):
        if merged and low <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], high)
        else:
            merged.append([low, high])
    mappings = _shared_mappings()
    made = []
    for low, high in merged:
        seen = mappings is None or any(first < high and low < last for first, last in mappings)
        before = ctypes.string_at(low, high - low) if seen else None
        made.append(_Range(low, high, mmap.mmap(-1, high - low), before))
    return made


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
    refused, raises or is interrupted, which ends the child. Views of arguments come back as arrays of their own. State
    that the program keeps and what it writes behind bare addresses stay in the child.
    """
    if not hasattr(os, "fork"):
        raise Unsupported("safe_call() needs os.fork.")
    given = [*args, *kwargs.values()]
    held: list[Any] = []
    ranges = _ranges(_arrays(given, held))
    done = False
    try:
        message, status = _ask_child(lambda: _answer(kernel, args, kwargs, given, ranges))
        done, value = _outcome(kernel, message, status)
    finally:
        if not done:
            for each in ranges:
                each.restore()
    if not done:
        try:
            raise value
        finally:
            del value  # whose traceback has this frame, with the arguments
    for each in ranges:
        each.write_back()
    return _assembled(value, given)


def _outcome(kernel: Any, message: bytes, status: int) -> tuple[bool, Any]:
    """Whether the call returned, and its result or exception. Raises UserRuntimeError where it did neither."""
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
    return ok, value


def _failure(kernel: Any, error: BaseException) -> bytes:
    """An exception for the pipe, or what it says where no pickle carries it."""
    try:
        message = pickle.dumps((False, error))
        pickle.loads(message)
    except Exception:
        text = "".join(traceback.format_exception_only(error)).strip().rstrip(".")
        message = pickle.dumps((False, UserRuntimeError(f"{kernel.name}(): the call raised {text}.")))
    return message


def _success(kernel: Any, result: Any, given: Sequence[Any]) -> bytes:
    try:
        return pickle.dumps((True, _described(result, given)))
    except Exception as error:
        raise UserTypeError(
            f"{kernel.name}(): the result cannot come back from the process of safe_call(): {error}."
        ) from None


def _answer(
    kernel: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    given: Sequence[Any],
    ranges: Sequence[_Range],
) -> bytes:
    """The call, in the child."""
    try:
        message = _success(kernel, kernel(*args, **kwargs), given)
    except BaseException as error:  # a callback may raise anything
        return _failure(kernel, error)
    for each in ranges:
        ctypes.memmove(_address_of(each.after), each.low, each.high - each.low)
    return message


def _ask_child(answer: Callable[[], bytes]) -> tuple[bytes, int]:
    """What a child process answers, nothing if it ends before, and its status. An interruption ends the child."""
    read_end, write_end = os.pipe()
    with os.fdopen(read_end, "rb") as source, os.fdopen(write_end, "wb") as sink:
        child, ended = -1, False
        try:
            child = os.fork()
            if child == 0:
                sink.write(answer())
                sink.close()
                os._exit(0)  # nothing of the parent's is to be ended here
            sink.close()
            message = source.read()
            _, status = os.waitpid(child, 0)
            ended = True
        finally:
            if child == 0:
                os._exit(1)
            if child > 0 and not ended:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
    return message, status

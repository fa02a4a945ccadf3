"""A row of a table of refusals, and what must hold after each: every argument is as before, nothing is held, the kernel
did not run, and the next good call works."""

from __future__ import annotations

import array
import ctypes
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from exporters import UNVERSIONED, VERSIONED, Exporter, WithInterface, Wrapped

import ferrule as fr
from ferrule import errors

TYPE, VALUE = errors.UserTypeError, errors.UserValueError
OVERFLOW, BUFFER, RUNTIME = errors.UserOverflowError, errors.UserBufferError, errors.UserRuntimeError

Arguments = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """`make` gives what stands for `argument`; `text` is the whole sentence after 'f(): '."""

    argument: str
    what: str
    make: Callable[[], Any]
    error: type[Exception]
    text: str


@dataclass(frozen=True)
class Taken:
    """What is accepted by rule in place of `argument`, and the value that the function sees."""

    argument: str
    what: str
    make: Callable[[], Any]
    value: Any = None


def table(rows: list[Any]) -> Any:
    """One test a row, with an id such as 'in_c-byte_order'."""
    ids = [f"{row.argument}-{row.what}" for row in rows]
    assert len(set(ids)) == len(ids), [name for name in ids if ids.count(name) > 1]
    return pytest.mark.parametrize("row", [pytest.param(row, id=name) for row, name in zip(rows, ids)])


def error_of(call: Callable[[], Any]) -> tuple[type[BaseException], str]:
    """Class and text of what a call raises; the exception itself, which holds frames and arguments, is gone."""
    try:
        call()
    except Exception as error:
        return type(error), str(error)
    raise AssertionError("it was accepted")


def contents(value: Any) -> Any:
    """All that could change of an argument."""
    if isinstance(value, np.ndarray):
        plain = value.view(np.ndarray)
        data: Any = plain.tobytes()
        if plain.dtype.hasobject:
            data = repr(plain) if plain.dtype.names else [id(item) for item in plain.ravel()]
        return value.shape, value.strides, value.flags.writeable, value.dtype, data
    if isinstance(value, (Exporter, WithInterface, Wrapped)):
        takes = isinstance(value, Exporter) and value.name in (VERSIONED, UNVERSIONED)
        held = value.made - value.deleted if takes else 0
        return contents(value.array), held
    if isinstance(value, (list, tuple)):
        return [(id(item), references(item), contents(item)) for item in value]
    if isinstance(value, (bytes, bytearray, array.array, ctypes.Array)):
        return bytes(value)
    if isinstance(value, np.generic):
        return value.tobytes()
    if isinstance(value, fr.Array):
        return np.asarray(value).tobytes()
    return None


def references(value: Any) -> int:
    """0 for what everybody shares."""
    shared = value is None or value is Ellipsis or isinstance(value, (int, str, bytes, type, np.bool_))
    return 0 if shared else sys.getrefcount(value)


def snapshot(arguments: Arguments) -> Any:
    return {name: (id(value), references(value), contents(value)) for name, value in arguments.items()}


def let_go(value: Any) -> None:
    """Raises BufferError where a buffer of the value is still held."""
    if isinstance(value, bytearray):
        value.append(1)
    elif isinstance(value, array.array):
        value.append(value[0])
    elif isinstance(value, memoryview):
        value.release()


def check_refused(
    kernel: Any, good: Callable[[], Arguments], row: Row, *, name: str, by_position: bool = True
) -> None:
    """`kernel` gives how often it has run, by itself or as the first of its results."""

    def runs() -> int:
        result = kernel(**good())
        return int(result[0] if isinstance(result, tuple) else result)

    given = {**good(), row.argument: row.make()}
    ran = runs()
    before = snapshot(given)
    expected = (row.error, f"{name}(): {row.text}")
    assert error_of(lambda: kernel(**given)) == expected
    assert snapshot(given) == before
    if by_position:
        assert error_of(lambda: kernel(*given.values())) == expected
        assert snapshot(given) == before
    let_go(given[row.argument])
    assert runs() == ran + 1


class Index:
    """An integer by __index__, or what that gives or raises instead."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __index__(self) -> Any:
        if isinstance(self.value, type):
            raise self.value("no integer")
        return self.value


# Makers of what is wrong with an array, of float64 elements unless told otherwise.


def read_only(given: Any) -> Any:
    given.flags.writeable = False
    return given


def misaligned(shape: Any, dtype: Any = "f8", order: Any = "C", past: int = 1) -> Any:
    """Whose first byte lies `past` bytes after a multiple of 64."""
    item = np.dtype(dtype).itemsize
    block = np.zeros(int(np.prod(shape)) * item + 64 + past, "u1")
    start = -block.ctypes.data % 64 + past
    return block[start : start + int(np.prod(shape)) * item].view(dtype).reshape(shape, order=order)


class Subclass(np.ndarray):
    pass


class Raising:
    """DLPack methods that raise, or give what they should not."""

    def __init__(self, capsule: Any = RuntimeError, device: Any = (1, 0)) -> None:
        self.capsule = capsule
        self.device = device

    @staticmethod
    def _give(value: Any) -> Any:
        if isinstance(value, type):
            raise value("no tensor")
        return value

    def __dlpack__(self, **_: Any) -> Any:
        return self._give(self.capsule)

    def __dlpack_device__(self) -> Any:
        return self._give(self.device)


class RaisingInterface:
    def __init__(self, interface: Any) -> None:
        self.interface = interface

    @property
    def __array_interface__(self) -> Any:
        if isinstance(self.interface, type):
            raise self.interface("no array")
        return self.interface


def used(given: Any) -> Any:
    """An exporter whose only capsule was taken."""
    exporter = Exporter(given, same_capsule=True)
    np.from_dlpack(exporter)
    return exporter


def released() -> memoryview:
    view = memoryview(bytearray(48))
    view.release()
    return view

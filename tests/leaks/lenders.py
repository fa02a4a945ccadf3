"""Exporters that keep nothing of their own, whatever is asked of them: one tensor, and a new capsule each time."""

from __future__ import annotations

import ctypes
from typing import Any

import exporters
import numpy as np


class Lender(exporters.Exporter):
    """An Exporter whose tensor is made once. `made` and `deleted` count what was lent and given back."""

    def __init__(self, array: np.ndarray[Any, Any], **fields: Any) -> None:
        super().__init__(array, **fields)
        self._tensor = super().tensor()
        self._struct = super().managed()
        self.made = 0

    def tensor(self) -> exporters.Tensor:
        return self._tensor if hasattr(self, "_tensor") else super().tensor()

    def managed(self) -> Any:
        self.made += 1
        return self._struct

    def capsule(self) -> Any:
        return exporters._new(ctypes.addressof(self.managed()), self.name, None)


class Raising:
    """An object whose attribute `name` raises."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name == self._name:
            raise RuntimeError("no " + name)
        raise AttributeError(name)


class Giving:
    """An object whose __dlpack__ gives `value`, or raises it where it is an exception."""

    def __init__(self, value: Any, device: Any = (1, 0)) -> None:
        self.value = value
        self.device = device

    def __dlpack__(self, **_: Any) -> Any:
        if isinstance(self.value, type):
            raise self.value("refused")
        return self.value

    def __dlpack_device__(self) -> Any:
        return self.device


class Interface:
    """An object with nothing but __array_interface__, made anew each time it is asked, with entries replaced."""

    def __init__(self, array: np.ndarray[Any, Any], **entries: Any) -> None:
        self.array = array
        self.entries = entries

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return {**self.array.__array_interface__, **self.entries}

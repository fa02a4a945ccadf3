"""Hand-made exporters for the tests of array interchange: DLPack tensors, capsules and C exchange tables in ctypes, with
every field as a test wants it, and counters of what is released."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ferrule as fr

CPU, CUDA, CUDA_HOST, METAL, ROCM_HOST, CUDA_MANAGED = 1, 2, 3, 8, 11, 13
READ_ONLY, IS_COPIED = 1, 2
VERSIONED, UNVERSIONED = b"dltensor_versioned", b"dltensor"

CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", Device),
        ("ndim", ctypes.c_int32),
        ("dtype", DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class ManagedVersioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

_api = ctypes.pythonapi
_new = _api.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_pointer = _api.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_name = _api.PyCapsule_GetName
_name.restype, _name.argtypes = ctypes.c_char_p, [ctypes.py_object]
_set_name = _api.PyCapsule_SetName
_set_name.restype, _set_name.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]

_names: list[bytes] = []  # a capsule keeps the pointer of its name
_exporters: list[Any] = []  # and a tensor those of its extents and its deleter


def capsule_name(capsule: Any) -> str:
    return str(_name(capsule).decode())


def versioned_of(capsule: Any) -> ManagedVersioned:
    """The struct in a capsule that nobody took."""
    return ManagedVersioned.from_address(_pointer(capsule, VERSIONED))


def unversioned_of(capsule: Any) -> Managed:
    return Managed.from_address(_pointer(capsule, UNVERSIONED))


def take(capsule: Any) -> Callable[[], None]:
    """Take the tensor of a capsule as a consumer does; the function that gives it back."""
    name = VERSIONED if capsule_name(capsule) == "dltensor_versioned" else UNVERSIONED
    address = _pointer(capsule, name)
    struct = (ManagedVersioned if name == VERSIONED else Managed).from_address(address)
    _set_name(capsule, b"used_dltensor_versioned" if name == VERSIONED else b"used_dltensor")
    deleter = Deleter(struct.deleter)
    return lambda: deleter(address)


def sizes(values: Sequence[int] | None) -> Any:
    if values is None:
        return None
    return ctypes.cast((ctypes.c_int64 * max(len(values), 1))(*values), ctypes.POINTER(ctypes.c_int64))


class Exporter:
    """An object with __dlpack__ over an ndarray's memory, with any field of the tensor replaced.

    made counts the tensors, deleted calls of their deleter, asked those of __dlpack__.
    """

    def __init__(
        self,
        array: np.ndarray[Any, Any],
        *,
        versioned: bool = True,
        version: tuple[int, int] = (1, 3),
        flags: int = 0,
        name: bytes | None = None,
        same_capsule: bool = False,
        deleter: bool = True,
        device: tuple[int, int] = (CPU, 0),
        **fields: Any,
    ) -> None:
        self.array = array
        self.versioned = versioned
        self.version = version
        self.flags = flags
        self.name = name if name is not None else (VERSIONED if versioned else UNVERSIONED)
        self.same_capsule = same_capsule
        self.device = device
        self.fields = fields
        self.asked = 0
        self.made = 0
        self.deleted = 0
        self.keep: list[Any] = []
        self._capsule: Any = None
        self._deleter = Deleter(self._delete) if deleter else None
        _exporters.append(self)

    def _delete(self, _: int | None) -> None:
        self.deleted += 1

    def tensor(self) -> Tensor:
        array, fields = self.array, dict(self.fields)
        item = array.itemsize
        values: dict[str, Any] = {
            "data": array.ctypes.data,
            "device": fields.pop("tensor_device", self.device),
            "dtype": (CODES[array.dtype.kind], 8 * item, 1),
            "shape": array.shape,
            "strides": [stride // item for stride in array.strides],
            "byte_offset": 0,
        }
        values.update(fields)
        values.setdefault("ndim", array.ndim)
        shape, strides = sizes(values["shape"]), sizes(values["strides"])
        self.keep += [shape, strides]
        return Tensor(
            values["data"], Device(*values["device"]), values["ndim"], DataType(*values["dtype"]), shape, strides,
            values["byte_offset"],
        )  # fmt: skip

    def managed(self) -> Any:
        deleter = ctypes.cast(self._deleter, ctypes.c_void_p) if self._deleter is not None else None
        if self.versioned:
            struct: Any = ManagedVersioned(*self.version, None, deleter, self.flags, self.tensor())
        else:
            struct = Managed(self.tensor(), None, deleter)
        self.keep.append(struct)
        self.made += 1
        return struct

    def capsule(self) -> Any:
        if self.same_capsule and self._capsule is not None:
            return self._capsule
        _names.append(self.name)
        self._capsule = _new(ctypes.addressof(self.managed()), _names[-1], None)
        return self._capsule

    def __dlpack__(self, **_: Any) -> Any:
        self.asked += 1
        return self.capsule()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


class Wrapped:
    """The DLPack methods of another object, and nothing else of it."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


class WithInterface:
    """An object with nothing but __array_interface__, with entries replaced (None removes one)."""

    def __init__(self, array: np.ndarray[Any, Any], **entries: Any) -> None:
        self.array = array
        interface = {**array.__array_interface__, **entries}
        self.__array_interface__ = {key: value for key, value in interface.items() if value is not Ellipsis}


_Allocate = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_FromObject = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))
_ToObject = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))
_Borrow = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Tensor))
_Stream = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))


class Exchange(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("from_object", ctypes.c_void_p),
        ("to_object", ctypes.c_void_p),
        ("borrow", ctypes.c_void_p),
        ("stream", ctypes.c_void_p),
    ]


_tables: list[Any] = []  # tables live as long as the process


def exchange_capsule(
    *,
    borrow: bool = True,
    major: int = 1,
    previous: int | None = None,
    calls: list[str] | None = None,
    adopt: Callable[[np.ndarray[Any, Any]], Any] | None = None,
) -> Any:
    """A table whose functions read Exporter objects, in its capsule; `calls` collects which of them ran.

    `adopt` makes an object of what is handed over, which it sees as an ndarray; None leaves that entry out.
    """
    log = calls if calls is not None else []
    taken = functions_of(fr.Array)[3]

    def from_object(obj: Exporter, out: Any) -> int:
        log.append("own")
        out[0] = ctypes.addressof(obj.managed())
        return 0

    def lend(obj: Exporter, out: Any) -> int:
        log.append("borrow")
        out[0] = obj.tensor()
        return 0

    def take(managed: int, out: Any) -> int:
        log.append("take")
        array = ctypes.c_void_p()
        assert taken(managed, ctypes.byref(array)) == 0
        owner = ctypes.cast(array, ctypes.py_object).value
        ctypes.pythonapi.Py_DecRef(ctypes.py_object(owner))
        assert adopt is not None
        made = adopt(np.asarray(owner))
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(made))
        out[0] = id(made)
        return 0

    own, lent, adopted = _FromObject(from_object), _Borrow(lend), _ToObject(take)
    table = Exchange(
        major, 3, previous, None, ctypes.cast(own, ctypes.c_void_p),
        None if adopt is None else ctypes.cast(adopted, ctypes.c_void_p),
        ctypes.cast(lent, ctypes.c_void_p) if borrow else None, None,
    )  # fmt: skip
    _tables.extend([table, own, lent, adopted])
    return _new(ctypes.addressof(table), b"dlpack_exchange_api", None)


def table_address(capsule: Any) -> int:
    return int(_pointer(capsule, b"dlpack_exchange_api"))


def exchanging(capsule: Any, **attributes: Any) -> type[Exporter]:
    """A class of exporters with a C exchange table."""
    return type("Exchanging", (Exporter,), {"__dlpack_c_exchange_api__": capsule, **attributes})


def functions_of(cls: type) -> Any:
    """The table of a class and its functions, as a C++ library would call them."""
    table = Exchange.from_address(_pointer(cls.__dlpack_c_exchange_api__, b"dlpack_exchange_api"))  # type: ignore[attr-defined]
    return (
        table,
        _Allocate(table.allocate),
        _FromObject(table.from_object),
        _ToObject(table.to_object),
        _Borrow(table.borrow),
        _Stream(table.stream),
    )

"""Arrays of others as arguments, and fr.Array as theirs: every protocol, every refusal, capsules that nobody takes."""

from __future__ import annotations

import array
import ctypes
import tempfile
import zlib

import exporters
import functions as f
import numpy as np
import subjects as s
from arguments import x
from cases import MIDDLE, bad, good
from lenders import Giving, Interface, Lender, Raising
from meter import call

import ferrule as fr

VERSIONED = (1, 0)
FEW = 2_000  # calls of exporters in Python


class Silent(list):
    """Takes notes of nothing."""

    def append(self, item):
        pass


def table_class(**options):
    capsule = exporters.exchange_capsule(calls=Silent(), **options)
    return type("Exchanging", (Lender,), {"__dlpack_c_exchange_api__": capsule})


def doubles(n=4):
    return array.array("d", range(n))


def view(n=4):
    return memoryview(x(n))


def own(n=4):
    return fr.asarray(x(n))


def strided():
    return own(8)[::2]


def read_only():
    a = x()
    a.flags.writeable = False
    return fr.asarray(a)


def used_capsule():
    capsule = Lender(x()).capsule()
    exporters._set_name(capsule, b"used_dltensor_versioned")
    return capsule


def packed(**entries):
    return Interface(x(), **entries)


def take_table(function, *args):
    out = ctypes.c_void_p()
    if function(*args, ctypes.byref(out)) != 0:
        raise RuntimeError("refused")
    return out.value


def round_trip(a, from_object, to_object):
    managed = take_table(from_object, a)
    made = take_table(to_object, managed)
    ctypes.pythonapi.Py_DecRef(ctypes.c_void_p(made))


def new_tensor(allocate, prototype, out, set_error):
    if allocate(ctypes.addressof(prototype), ctypes.addressof(out), None, set_error) != 0:
        raise RuntimeError("refused")
    managed = exporters.ManagedVersioned.from_address(out.value)
    exporters.Deleter(managed.deleter)(out.value)


SetError = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)


def table():
    return exporters.functions_of(fr.Array)


def allocation(bits=64):
    shape = exporters.sizes((3,))
    prototype = exporters.Tensor(
        None, exporters.Device(1, 0), 1, exporters.DataType(2, bits, 1), shape, None, 0
    )
    return call(new_tensor, table()[1], prototype, ctypes.c_void_p(), SetError(lambda *_: None))


def mapping(**options):
    file = tempfile.NamedTemporaryFile()  # noqa: SIM115 the case keeps it
    file.truncate(4096)
    made = call(fr.Array.map, file.name, "float64", (4,), **options)
    made.watched = (file,)
    return made


ARGUMENTS = [
    good("fr.Array", lambda: call(s.axpy(), own(), own())),
    good("a strided fr.Array", lambda: call(s.weigh(), strided(), None)),
    good("memoryview", lambda: call(s.axpy(), view(), view())),
    good("array.array", lambda: call(s.axpy(), doubles(), doubles())),
    good("more buffers than fit on the stack", lambda: call(s.weigh(), view(), doubles())),
    good("an exporter", lambda: call(s.axpy(), Lender(x()), Lender(x())), FEW),
    good("an exporter without versions", lambda: call(s.weigh(), Lender(x(), versioned=False), None), FEW),
    good("an exporter with a table", lambda: call(s.weigh(), table_class()(x()), None), FEW),
    good("an exporter with a table that is written", lambda: call(s.scale(), table_class()(x()), 1.0), FEW),
    good("an exporter with a table that does not borrow", lambda: call(s.weigh(), table_class(borrow=False)(x()), None), FEW),
    good("__array_interface__", lambda: call(s.axpy(), packed(), packed()), MIDDLE),
    good("a decorated function of an exporter", lambda: call(f.fill, Lender(x()), 2.0), FEW),
    bad("fr.Array of another dtype", lambda: call(s.axpy(), fr.asarray(x().astype("f4")), x()), TypeError, "float32"),
    bad("fr.Array of another rank", lambda: call(s.axpy(), own()[None], x()), ValueError, "rank"),
    bad("fr.Array that is read-only", lambda: call(s.axpy(), x(), read_only()), ValueError, "read-only"),
    bad("a memoryview of another dtype", lambda: call(s.axpy(), memoryview(b"1234"), x()), TypeError, "uint8"),
    bad("a memoryview of another extent", lambda: call(s.axpy(), view(3), view(4)), ValueError, "shape"),
    bad("array.array of another dtype", lambda: call(s.axpy(), array.array("f", [1]), x()), TypeError, "float32"),
    bad("a memoryview that was released", lambda: call(s.axpy(), released(), x()), BufferError, "released", MIDDLE),
    bad("a buffer without an element type", lambda: call(s.axpy(), memoryview(np.zeros(3, "M8[s]").view("V8")), x()), TypeError, "buffer format", MIDDLE),
    bad("a written exporter, then an error", lambda: call(s.axpy(), Lender(x()), x(5)), ValueError, "shape", FEW),
    bad("an exporter of another dtype", lambda: call(s.weigh(), Lender(x().astype("f4")), None), TypeError, "float32", FEW),
    bad("an exporter of a read-only tensor", lambda: call(s.scale(), Lender(x(), flags=1), 1.0), ValueError, "read-only", FEW),
    bad("an exporter that copied", lambda: call(s.scale(), Lender(x(), flags=2), 1.0), BufferError, "copied", FEW),
    bad("an exporter of another version", lambda: call(s.weigh(), Lender(x(), version=(2, 0)), None), BufferError, "version", FEW),
    bad("an exporter on a device", lambda: call(s.weigh(), Lender(x(), device=(2, 0)), None), BufferError, "CUDA", FEW),
    bad("an exporter whose tensor is on a device", lambda: call(s.weigh(), Lender(x(), tensor_device=(2, 0)), None), BufferError, "CUDA", FEW),
    bad("an exporter without data", lambda: call(s.weigh(), Lender(x(), data=None), None), BufferError, "no data", FEW),
    bad("an exporter of a negative extent", lambda: call(s.weigh(), Lender(x(), shape=(-1,)), None), BufferError, "negative", FEW),
    bad("an exporter of odd elements", lambda: call(s.weigh(), Lender(x(), dtype=(17, 4, 1)), None), BufferError, "code 17", FEW),
    bad("an exporter that raises", lambda: call(s.weigh(), Giving(ValueError), None), BufferError, "refused", MIDDLE),
    bad("an exporter that gives no capsule", lambda: call(s.weigh(), Giving([]), None), BufferError, "list", MIDDLE),
    bad("an exporter that gives a used capsule", lambda: call(s.weigh(), Giving(used_capsule()), None), BufferError, "used", MIDDLE),
    bad("an exporter that gives another capsule", lambda: call(s.weigh(), Giving(exporters.exchange_capsule()), None), BufferError, "named", MIDDLE),
    bad("an exporter whose device is none", lambda: call(s.weigh(), Giving([], device="cpu"), None), BufferError, "__dlpack_device__", MIDDLE),
    bad("an exporter that interrupts", lambda: call(s.weigh(), Giving(KeyboardInterrupt), None), KeyboardInterrupt, "", MIDDLE),
    bad("an attribute that raises", lambda: call(s.weigh(), Raising("__dlpack__"), None), BufferError, "no __dlpack__", MIDDLE),
    bad("an interface that raises", lambda: call(s.weigh(), Raising("__array_interface__"), None), BufferError, "array interface", MIDDLE),
    bad("an interface without a type", lambda: call(s.weigh(), packed(typestr=None), None), TypeError, "typestr", MIDDLE),
    bad("an interface with a mask", lambda: call(s.weigh(), packed(mask=1), None), TypeError, "mask", MIDDLE),
    bad("an interface of other byte order", lambda: call(s.weigh(), packed(typestr=">f8"), None), TypeError, "byte order", MIDDLE),
    bad("an interface with a list for a shape", lambda: call(s.weigh(), packed(shape=[4]), None), TypeError, "'shape'", MIDDLE),
    bad("an interface beyond 64 bits", lambda: call(s.weigh(), packed(shape=(1 << 70,)), None), BufferError, "64 bits", MIDDLE),
    bad("an interface without data", lambda: call(s.weigh(), packed(data=None), None), TypeError, "'data'", MIDDLE),
]  # fmt: skip


def released():
    made = view()
    made.release()
    return made


IMPORTS = [
    good("asarray", lambda: call(fr.asarray, x())),
    good("asarray of a buffer", lambda: call(fr.asarray, doubles()), MIDDLE),
    good("asarray of an interface", lambda: call(fr.asarray, packed()), MIDDLE),
    good("from_dlpack", lambda: call(fr.from_dlpack, x()), MIDDLE),
    good("from_dlpack of fr.Array", lambda: call(fr.from_dlpack, own()), MIDDLE),
    good("from_dlpack of an exporter", lambda: call(fr.from_dlpack, Lender(x())), FEW),
    good("from_dlpack of a capsule", lambda: call(lambda a: fr.from_dlpack(a.__dlpack__(max_version=VERSIONED)), own()), MIDDLE),
    good("from_dlpack with a copy", lambda: call(fr.from_dlpack, Lender(x(), flags=2), copy=True), FEW),
    bad("asarray of a list", lambda: call(fr.asarray, [1.0]), TypeError, "no array"),
    bad("asarray of dates", lambda: call(fr.asarray, np.zeros(3, "M8[s]")), TypeError, "dtype"),
    bad("asarray of what raises", lambda: call(fr.asarray, Raising("__dlpack__")), BufferError, "no __dlpack__", MIDDLE),
    bad("from_dlpack of a list", lambda: call(fr.from_dlpack, [1.0]), AttributeError, "__dlpack__", MIDDLE),
    bad("from_dlpack of a used capsule", lambda: call(fr.from_dlpack, used_capsule()), BufferError, "used", MIDDLE),
    bad("from_dlpack for a device", lambda: call(fr.from_dlpack, x(), device="cuda"), BufferError, "cpu", MIDDLE),
    bad("from_dlpack of a copy that may not be", lambda: call(fr.from_dlpack, Lender(x(), flags=2), copy=False), BufferError, "copied", FEW),
    bad("from_dlpack of a bad tensor", lambda: call(fr.from_dlpack, Lender(x(), shape=(-1,))), BufferError, "negative", FEW),
    bad("from_dlpack of what raises", lambda: call(fr.from_dlpack, Giving(ValueError)), BufferError, "refused", MIDDLE),
]  # fmt: skip

EXPORTS = [
    good("np.asarray", lambda: call(np.asarray, own()), MIDDLE),
    good("memoryview of fr.Array", lambda: call(memoryview, own())),
    good("np.from_dlpack", lambda: call(np.from_dlpack, own()), MIDDLE),
    good("a capsule that nobody takes", lambda: call(own().__dlpack__, max_version=VERSIONED), MIDDLE),
    good("a capsule without a version that nobody takes", lambda: call(own().__dlpack__), MIDDLE),
    good("a capsule with a copy", lambda: call(own().__dlpack__, copy=True, max_version=VERSIONED), MIDDLE),
    good("the array interface", lambda: call(getattr, own(), "__array_interface__"), MIDDLE),
    good("the table, there and back", lambda: call(round_trip, own(), table()[2], table()[3]), FEW),
    good("memory by the table", allocation, FEW),
    bad("a buffer that is read-only", lambda: call((ctypes.c_char * 32).from_buffer, read_only()), TypeError, "", MIDDLE),
    bad("a capsule that is read-only", lambda: call(read_only().__dlpack__), BufferError, "read-only", MIDDLE),
    bad("a capsule on a device", lambda: call(own().__dlpack__, dl_device=(2, 0)), BufferError, "not where", MIDDLE),
    bad("a capsule on a stream", lambda: call(own().__dlpack__, stream=1), ValueError, "stream", MIDDLE),
    bad("a capsule with an unknown option", lambda: call(own().__dlpack__, other=1), TypeError, "other", MIDDLE),
    bad("a strided buffer for bytes", lambda: call(zlib.crc32, strided()), BufferError, "strides", MIDDLE),
    bad("the table, with a list", lambda: call(take_table, table()[2], [1.0]), TypeError, "Array is expected", FEW),
    bad("odd memory by the table", lambda: allocation(bits=7), RuntimeError, "refused", FEW),
]  # fmt: skip

ARRAYS = [
    good("empty", lambda: call(fr.Array.empty, (3, 4)), MIDDLE),
    good("zeros", lambda: call(fr.Array.zeros, 1 << 15, "int32"), MIDDLE),
    good("copy", lambda: call(own().copy), MIDDLE),
    good("slices", lambda: call(own().__getitem__, (slice(1, None), None)), MIDDLE),
    good("elements", lambda: call(own().__getitem__, 2), MIDDLE),
    good("shape and strides", lambda: call(lambda a: (a.shape, a.strides, a.dtype, a.T, a.nbytes, a.size), own()), MIDDLE),
    good("the text of an array", lambda: call(repr, own()), MIDDLE),
    good("a mapped file", lambda: mapping(mode="r+"), FEW),
    good("a mapped file that is read", mapping, FEW),
    bad("a shape that is none", lambda: call(fr.Array.empty, "3"), TypeError, "integer", MIDDLE),
    bad("a negative shape", lambda: call(fr.Array.zeros, (-1,)), ValueError, "", MIDDLE),
    bad("a dtype that is none", lambda: call(fr.Array.empty, 3, "float63"), TypeError, "", MIDDLE),
    bad("memory beyond all", lambda: call(fr.Array.empty, 1 << 58), MemoryError, "", MIDDLE),
    bad("an element that is not there", lambda: call(own().__getitem__, 9), IndexError, "9", MIDDLE),
    bad("an index that is none", lambda: call(own().__getitem__, "a"), TypeError, "integers", MIDDLE),
    bad("an array that is not to be made so", lambda: call(fr.Array), TypeError, "is made by", MIDDLE),
    bad("a file that is not there", lambda: call(fr.Array.map, "/nowhere/at/all", "float64", 3), OSError, "", FEW),
    bad("a file that is too short", lambda: mapping(offset=4090), ValueError, "", FEW),
    bad("a file with a mode that is none", lambda: mapping(mode="x"), ValueError, "mode", FEW),
]  # fmt: skip

CASES = [*ARGUMENTS, *IMPORTS, *EXPORTS, *ARRAYS]

"""What a call says of arguments from other libraries that do not fit: the exact sentence, and that nothing was touched."""

from __future__ import annotations

import array
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "modules"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

import exporters
import kernels
from exporters import CUDA, METAL, READ_ONLY, Exporter, WithInterface, Wrapped

from ferrule import _rt, errors

N = 4
TYPE, VALUE, BUFFER = errors.UserTypeError, errors.UserValueError, errors.UserBufferError


class Failing:
    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __dlpack__(self, **_: Any) -> Any:
        raise self.error

    def __dlpack_device__(self) -> Any:
        return (1, 0)


class Speechless(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even this")


class Unreachable:
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"no {name}")


def released() -> memoryview:
    view = memoryview(bytes(8 * N))
    view.release()
    return view


def odd() -> np.ndarray[Any, Any]:
    return np.zeros(8 * N + 1, "u1")[1:].view("f8")


def frozen() -> np.ndarray[Any, Any]:
    out = np.full(N, 7.0)
    out.flags.writeable = False
    return out


def packed() -> np.ndarray[Any, Any]:
    start = -(block := np.zeros(100, "u1")).ctypes.data % 8
    return np.ndarray(N, "f8", block[start:].data, 0, (9,))


# (argument, what is given for it, class, sentence after "add3(): ")
REFUSALS: list[tuple[str, Any, type[Exception], str]] = [
    ("a", Wrapped(np.ones(N, "i4")), TYPE, "'a' has dtype int32, but float64 is expected; convert it to float64 first."),
    ("a", array.array("f", [1.0] * N), TYPE, "'a' has dtype float32, but float64 is expected; convert it to float64 first."),
    ("b", bytearray(8 * N), TYPE, "'b' has dtype uint8, but float64 is expected; convert it to float64 first."),
    ("out", b"bytes" * 8, TYPE, "'out' has dtype uint8, but float64 is expected; the program writes it, so make an array of that dtype."),
    ("b", Wrapped(np.ones((N, 1))), VALUE, "'b' has rank 2 and shape (4, 1), but rank 1 and shape (N,) are expected."),
    ("b", Wrapped(np.array(1.0)), VALUE, "'b' has rank 0 and shape (), but rank 1 and shape (N,) are expected."),
    ("b", Exporter(np.zeros((1,) * 64)), VALUE, f"'b' has rank 64 and shape ({', '.join('1' * 64)}), but rank 1 and shape (N,) are expected."),
    ("b", Exporter(np.zeros(1), ndim=65), BUFFER, "'b' has rank 65, but at most 64 axes can be exchanged."),
    ("b", Wrapped(np.ones(N + 1)), VALUE, "'N': a.shape[0] = 4, but b.shape[0] = 5."),
    ("b", memoryview(np.ones(2 * N))[::2], VALUE, "'b' must be contiguous in C order with strides (8,) bytes, but its strides are (16,) bytes; pass "
     "numpy.ascontiguousarray(b), or declare order='any'."),
    ("a", Wrapped(odd()), VALUE, "'a' is not aligned: it begins 1 byte past a multiple of 8, the alignment of its elements; pass a.copy()."),
    ("a", WithInterface(packed()), VALUE, "'a' has stride 9 bytes along axis 0, which is no multiple of its item size 8; pass a.copy()."),
    ("out", Wrapped(frozen()), VALUE, "'out' is read-only, but the program writes to it; pass a writable array."),
    ("out", Exporter(np.full(N, 7.0), flags=READ_ONLY), VALUE, "'out' is read-only, but the program writes to it; pass a writable array."),
    ("out", Exporter(np.full(N, 7.0), versioned=False), VALUE, "'out' is read-only, but the program writes to it; pass a writable array."),
    ("out", memoryview(bytes(8 * N)).cast("d"), VALUE, "'out' is read-only, but the program writes to it; pass a writable array."),
    ("out", _rt.asarray(frozen()), VALUE, "'out' is read-only, but the program writes to it; pass a writable array."),
    ("a", Wrapped(np.ones(N, ">f8")), BUFFER, "'a' cannot be read through DLPack: DLPack only supports native byte order."),
    ("a", memoryview(np.ones(N, ">f8")), TYPE, "'a' has the buffer format '>d' in foreign byte order, but native order is expected."),
    ("a", WithInterface(np.ones(N), typestr=">f8"), TYPE, "'a' has an __array_interface__ that has the typestr '>f8' in foreign byte order, but native order is expected."),
    ("a", WithInterface(np.ones(N), mask=np.ones(N)), TYPE, "'a' has an __array_interface__ that has a mask, which would be ignored."),
    ("a", WithInterface(np.ones(N), data=None), TYPE, "'a' has an __array_interface__ that lacks the entry 'data'."),
    ("a", WithInterface(np.ones(N), shape=(10**9,), data=(0, False)), BUFFER, "'a' has an __array_interface__ that has elements, but no address."),
    ("a", Exporter(np.ones(N), device=(CUDA, 1)), BUFFER, "'a' is on CUDA device 1 (DLPack device type 2), but memory of the host is expected."),
    ("a", Exporter(np.ones(N), tensor_device=(METAL, 0)), BUFFER, "'a' is on Metal device 0 (DLPack device type 8), but memory of the host is expected."),
    ("a", Exporter(np.ones(N), device=(99, 0)), BUFFER, "'a' is on device 0 of the unknown DLPack device type 99, but memory of the host is expected."),
    ("a", Exporter(np.ones(N), dtype=(2, 32, 4)), BUFFER, "'a' has a DLPack element type that no kernel takes: code 2, bits 32, lanes 4."),
    ("a", Exporter(np.ones(N), version=(2, 1)), BUFFER, "'a' has DLPack version 2.1, but version 1 is expected."),
    ("a", Exporter(np.ones(N), name=b"tensor"), BUFFER, "'a' gave a capsule named 'tensor', but 'dltensor' or 'dltensor_versioned' is expected."),
    ("a", Exporter(np.ones(N), name=b"used_dltensor"), BUFFER, "'a' gave a capsule that was used already ('used_dltensor')."),
    ("a", Failing(RuntimeError("no tensor.")), BUFFER, "'a' cannot be read through DLPack: no tensor."),
    ("a", Failing(ValueError()), BUFFER, "'a' cannot be read through DLPack: ValueError."),
    ("a", Failing(Speechless()), BUFFER, "'a' cannot be read through DLPack: Speechless."),
    ("a", Unreachable(), BUFFER, "'a' cannot be read through DLPack: no __dlpack__."),
    ("a", released(), BUFFER, "'a' cannot be read through the buffer protocol: operation forbidden on released memoryview object."),
    ("a", np.ones(N).__dlpack__(), TYPE, "'a' is a PyCapsule, but an array of dtype float64 is expected; pass ferrule.from_dlpack(a)."),
    ("a", np.ndarray, TYPE, "'a' is a type, but an array of dtype float64 is expected."),
    ("a", (1.0 for _ in range(N)), TYPE, "'a' is a generator, but an array of dtype float64 is expected."),
]  # fmt: skip


@pytest.mark.parametrize("by_name", [False, True])
@pytest.mark.parametrize(
    ("name", "bad", "kind", "sentence"),
    REFUSALS,
    ids=[f"{r[0]}-{type(r[1]).__name__}-{r[3][:30]}" for r in REFUSALS],
)
def test_sentences(name: str, bad: Any, kind: type[Exception], sentence: str, by_name: bool) -> None:
    add3 = kernels.kernel("add3.c")
    given = {"a": np.arange(float(N)), "b": np.ones(N), "out": np.full(N, 7.0)}
    out = given["out"]
    given[name] = bad
    before = bad.array.tobytes() if isinstance(bad, Exporter) else b""
    with pytest.raises(errors.UserError) as info:
        add3(**given) if by_name else add3(*given.values())
    assert (type(info.value), str(info.value)) == (kind, f"add3(): {sentence}")
    assert (out == 7.0).all()
    if isinstance(bad, Exporter):
        assert bad.array.tobytes() == before
        assert bad.deleted == (
            0 if bad.name not in (exporters.VERSIONED, exporters.UNVERSIONED) else bad.made
        )
    if isinstance(bad, Failing):
        assert info.value.__cause__ is bad.error
        assert bad.error.__traceback__ is not None


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError])
def test_what_is_no_failure_of_an_exporter_passes(error: type[BaseException]) -> None:
    add3 = kernels.kernel("add3.c")
    with pytest.raises(error) as info:
        add3(Failing(error()), np.ones(N), np.ones(N))
    assert type(info.value) is error


def test_sentences_of_the_third_of_five_arguments_name_it() -> None:
    """The position in the call does not matter, nor what the others are."""
    add3 = kernels.kernel("add3.c")
    lent = Exporter(np.ones(N)), array.array("d", [1.0] * N)
    for bad, text in (
        (Wrapped(np.ones(N, "f4")), "'out' has dtype float32"),
        (Wrapped(np.ones(9)), r"a\.shape\[0\] = 4, but out\.shape\[0\] = 9"),
    ):
        with pytest.raises((TypeError, ValueError), match=text):
            add3(*lent, bad)
    assert lent[0].deleted == lent[0].made == 2
    lent[1].append(1.0)


def test_overlap_of_foreign_arrays_is_seen() -> None:
    shift = kernels.kernel("noalias.c")
    base = np.arange(8.0)
    for a, out in (
        (Wrapped(base[:-1]), Wrapped(base[1:])),
        (memoryview(base)[:-1], base[1:]),
        (_rt.asarray(base)[:-1], Wrapped(base[1:])),
    ):
        with pytest.raises(ValueError, match="'out' is written and shares memory with 'a'"):
            shift(a, out)
    assert base.tolist() == list(range(8))

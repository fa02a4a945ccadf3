"""errno, the floating-point flags, the rounding mode and flush-to-zero are the caller's own, whatever they are."""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ferrule as fr

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers of <fenv.h> are x86's")

LIBM = ctypes.CDLL("libm.so.6", use_errno=True)
NEAREST, DOWN, UP, ZERO = 0, 0x400, 0x800, 0xC00
ALL_FLAGS = 0x3D  # invalid, division by zero, overflow, underflow, inexact
FLUSH = 0x8040  # flush to zero, denormals are zero


@pytest.fixture(scope="module")
def control() -> Any:
    """control(mode, flags, mxcsr bits) sets the state of this thread; state() reads it."""
    source = """
    #include <cfenv>
    #include <cerrno>
    #include <xmmintrin.h>
    void control(int mode, int flags, int flush, int error) {
      fesetround(mode);
      feclearexcept(FE_ALL_EXCEPT);
      feraiseexcept(flags);
      _mm_setcsr((_mm_getcsr() & ~0x8040u) | unsigned(flush));
      errno = error;
    }"""
    args = [fr.Arg(name, kind="scalar", dtype="int32") for name in ("mode", "flags", "flush", "error")]
    return fr.compile_source(source, fr.Signature("control", args)).load()


@pytest.fixture(scope="module")
def state() -> Any:
    source = """
    #include <cfenv>
    #include <cerrno>
    #include <xmmintrin.h>
    void state(int* mode, int* flags, int* flush, int* error) {
      *error = errno;
      *mode = fegetround();
      *flags = fetestexcept(FE_ALL_EXCEPT);
      *flush = int(_mm_getcsr() & 0x8040u);
    }"""
    names = ("mode", "flags", "flush", "error")
    signature = fr.Signature("state", returns=[fr.Return(name, "int32", kind="scalar") for name in names])
    return fr.compile_source(source, signature).load()


@pytest.fixture(autouse=True)
def restored(control: Any) -> Iterator[None]:
    yield
    control(NEAREST, 0, 0, 0)


@fr.program
def mixed(a: Any, b: Any) -> Any:
    return np.sqrt(a) + np.exp(b) / 3.0, (a * b).sum(), np.floor(a)


@fr.program
def indexed(a: Any, i: Any) -> Any:
    return a[i]


MODES = [NEAREST, DOWN, UP, ZERO]


@pytest.mark.parametrize("flush", [0, FLUSH])
@pytest.mark.parametrize("mode", MODES)
def test_a_call_leaves_the_state_as_it_was(control: Any, state: Any, mode: int, flush: int) -> None:
    for n in (0, 1, 8, 100, 1 << 17):
        a, b = np.full(n, 2.0), np.linspace(-700, 700, n) if n else np.zeros(0)
        mixed(a, b)
        for flags in (0, ALL_FLAGS, 4, 1):
            control(mode, flags, flush, 34)
            for _ in range(2):
                mixed(a, b)
            after = state()
            control(NEAREST, 0, 0, 0)
            assert (after[0], after[2]) == (mode, flush)
            assert after[1] & flags == flags


def test_no_error_is_made_of_what_was_set_before(control: Any) -> None:
    a = np.arange(100.0)
    expected = mixed(a, a)
    with np.errstate(all="raise"):
        for flags, error in ((ALL_FLAGS, 0), (0, 34), (ALL_FLAGS, 12), (1, 33)):
            control(NEAREST, flags, 0, error)
            got = mixed(a, a)
            for mine, plain in zip(got, expected, strict=True):
                np.testing.assert_array_equal(mine, plain)
            control(NEAREST, flags, 0, error)
            with pytest.raises(IndexError):
                indexed(a, 100)
            control(NEAREST, flags, 0, error)
            with pytest.raises(TypeError, match="foreign byte order"):
                mixed(a.astype(">f8"), a)


def test_a_refused_call_and_a_failed_run_leave_it(control: Any, state: Any) -> None:
    a = np.arange(8.0)
    indexed(a, 3)
    for mode in MODES:
        for bad, kind in (((a, 8), IndexError), ((a.astype(">f8"), 1), TypeError)):
            control(mode, 0, FLUSH, 34)
            try:
                indexed(*bad)
            except kind:
                after = state()
            control(NEAREST, 0, 0, 0)
            assert (after[0], after[2]) == (mode, FLUSH)


def test_errno_is_no_status(control: Any) -> None:
    """A run that leaves errno set has not failed."""
    source = "#include <cerrno>\nint fails(int error) { errno = error; return 0; }"
    signature = fr.Signature("fails", [fr.Arg("error", kind="scalar", dtype="int32")], result="status")
    fails = fr.compile_source(source, signature).load()
    for error in (0, 2, 12, 33, 34):
        assert fails(error) is None

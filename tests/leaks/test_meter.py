"""The meter sees each kind of leak: what follows leaks on purpose."""

from __future__ import annotations

import ctypes
import mmap
import os

import meter
import numpy as np
import pytest

import ferrule as fr

CALLS = 300


@pytest.fixture(scope="module")
def leaking():
    """each(keep, x, bytes): calls keep(x), and forgets a block of that many bytes."""
    source = """
    #include <stdlib.h>
    #include "ferrule/rt/author.h"
    void each(fr_author::Callback<void(void*)> keep, void* x, long bytes) {
      if (bytes > 0) *static_cast<volatile char*>(malloc(bytes)) = 1;
      keep(x);
    }"""
    args = [
        fr.Arg("keep", kind="callback", params=[fr.Arg("x", kind="pyobject")]),
        fr.Arg("x", kind="pyobject"),
    ]
    args.append(fr.Arg("bytes", kind="scalar", dtype="int64", default=0))
    return fr.compile_source(source, fr.Signature("each", args)).load()


def measured(leaking, keep, bytes=0):
    return meter.excess(meter.growth(meter.call(leaking, keep, np.ones(3), bytes), CALLS))


def test_calls_that_keep_nothing(leaking):
    assert measured(leaking, lambda x: None) == {}


def test_a_list_of_arguments(leaking):
    kept = []
    assert "references" in measured(leaking, kept.append)
    assert len(kept) > CALLS


def test_an_argument_that_is_kept_once(leaking):
    kept = {}
    assert measured(leaking, lambda x: kept.update(last=x)) == {"references": CALLS}


def test_a_reference_that_nobody_gives_back(leaking):
    take = ctypes.pythonapi.Py_IncRef
    take.argtypes, take.restype = [ctypes.py_object], None
    assert "references" in measured(leaking, take)


def test_a_reference_to_none(leaking):
    take = ctypes.pythonapi.Py_IncRef
    take.argtypes, take.restype = [ctypes.py_object], None
    assert "references" in measured(leaking, lambda x: take(None))


def test_objects_and_their_blocks(leaking):
    kept = []
    assert {"objects", "blocks"} <= set(measured(leaking, lambda x: kept.append([x.sum()])))


def test_a_cache_that_fills_once(leaking):
    kept = []
    assert measured(leaking, lambda x: kept.append([1]) if len(kept) < CALLS else None) == {}


def test_cycles(leaking):
    def cycle(x):
        made = []
        made.append(made)

    assert "objects" in measured(leaking, cycle)


def test_native_memory(leaking):
    assert list(measured(leaking, lambda x: None, 1024)) == ["heap"]


def test_resident_memory(leaking):
    kept = []
    assert {"heap", "resident"} <= set(measured(leaking, lambda x: kept.append(b"x" * (64 << 10))))


def test_mappings(leaking):
    kept = []
    assert "mappings" in measured(leaking, lambda x: kept.append(mmap.mmap(-1, mmap.PAGESIZE)))


def test_descriptors(leaking):
    kept = []
    try:
        assert "descriptors" in measured(leaking, lambda x: kept.append(os.dup(0)))
    finally:
        for descriptor in kept:
            os.close(descriptor)


def test_a_call_that_does_not_fail(leaking):
    with pytest.raises(AssertionError, match="did not fail"):
        meter.growth(meter.call(leaking, lambda x: None, None), CALLS, ValueError)

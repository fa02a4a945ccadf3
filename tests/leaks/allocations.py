"""Prints how often each row's calls allocate, as JSON. To be run with PYTHONMALLOC=malloc and the counter preloaded."""

from __future__ import annotations

import array
import ctypes
import gc
import json

import functions as f
import numpy as np
import subjects as s
from arguments import mapped, x

import ferrule as fr

CALLS = 10_000


def rows():
    """name: (callable, arguments, names of the last of them)."""
    blend = s.blend()
    return {
        "a kernel": (blend, (x(), x(), 2.5, 1 << 40, 7, True), ()),
        "a kernel by name": (blend, (x(), x(), 2.5, 3, 7, True), ("x", "y", "a", "k", "i", "b")),
        "a kernel in another order": (blend, (x(), True, x(), 7, 2.5, 3), ("b", "y", "i", "a", "k")),
        "a kernel with defaults": (blend, (x(), x()), ()),
        "a kernel of NumPy's scalars": (
            blend,
            (x(), x(), np.float64(2), np.int64(3), np.int32(7), np.bool_(True)),
            (),
        ),
        "a kernel of a strided array": (s.stretch(), (np.zeros((4, 6))[::2, ::3],), ()),
        "a kernel of a memmap": (blend, (mapped(), x()), ()),
        "a kernel of fr.Array": (blend, (fr.asarray(x()), fr.asarray(x())), ()),
        "a kernel of buffers": (blend, (memoryview(x()), array.array("d", x())), ()),
        "a kernel of a struct": (
            s.hold(),
            (np.zeros(3, s.POINT), np.zeros(1, s.POINT)[0], "t\u00e9xt", None),
            (),
        ),
        "a kernel by user_call": (s.shift().user_call, ((np.zeros((3, 4)), (1, 2)), 2.0), ()),
        "a kernel with memory for its result": (s.scaled(), (x(), x()), ("out",)),
        "a function": (f.fill, (x(), 2.5), ()),
        "a function by name": (f.fill, (2.5, x()), ("value", "out")),
        "a function of a static argument and a global": (f.add_to, (x(), 2), ()),
        "a function that returns its argument": (f.same, (x(),), ()),
        "an annotated function": (f.annotated, (x(), x(), 2.5), ()),
        "an annotated function with a default": (f.annotated, (x(), x()), ("a", "out")),
        "(a number as a result)": (s.axpy(), (x(), x()), ()),
        "(a tuple)": (tuple, (bytearray(1),), ()),
        "(native memory)": (s.sums(), ([x(), x()], 2, 4), ()),
    }


def main():
    count = ctypes.PyDLL(None).allocations_of_calls
    count.argtypes, count.restype = [ctypes.py_object] * 3 + [ctypes.c_long], ctypes.c_long
    found = {}
    for name, row in rows().items():
        count(*row, 10)
        gc.collect()  # and nothing dead is kept that could be taken instead
        found[name] = count(*row, CALLS)
    print(json.dumps(found))


if __name__ == "__main__":
    main()

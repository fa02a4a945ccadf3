"""Every kind of result, of calls that succeed and of calls that fail after memory for it was made."""

from __future__ import annotations

import functions as f
import numpy as np
import subjects as s
from arguments import objects, point, points, read_only, x
from cases import COSTLY, MIDDLE, bad, good
from meter import call

import ferrule as fr

LARGE = 1 << 15  # doubles: memory that is used again
HUGE = np.broadcast_to(np.zeros(1), 1 << 45)  # of no memory


def whole(n=4):
    return np.arange(n, dtype=np.int32)


def overlapping():
    memory = x(8)
    return call(s.scaled(), memory[:4], out=memory[2:6])


SOURCE_KERNELS = [
    good("a small array", lambda: call(s.scaled(), x()), MIDDLE),
    good("a large array", lambda: call(s.scaled(), x(LARGE)), COSTLY),
    good("an array without elements", lambda: call(s.scaled(), x(0)), MIDDLE),
    good("the caller's memory", lambda: call(s.scaled(), x(), out=x())),
    good("no memory of the caller", lambda: call(s.scaled(), x(), out=None), MIDDLE),
    good("several results", lambda: call(s.fresh(), x()), MIDDLE),
    good("several large results", lambda: call(s.fresh(), x(LARGE)), COSTLY),
    good("structs as results", lambda: call(s.middle(), points()), MIDDLE),
    good("an object as a result", lambda: call(s.pick(), object())),
    good("objects in an array as a result", lambda: call(s.swapped(), objects()), MIDDLE),
    good("None as a result", lambda: call(s.pick(), None)),
    good("dynamic memory and a view", lambda: call(s.positive(), whole(), 1, 2), MIDDLE),
    good("a large dynamic array", lambda: call(s.positive(), whole(LARGE), 1, 2), COSTLY),
    good("a view of another library's array", lambda: call(s.positive(), fr.asarray(whole()), 1, 2), MIDDLE),
    bad("a status", lambda: call(s.scaled(), x(), 2.0, 3), RuntimeError, "too much", MIDDLE),
    bad("a status with a large array", lambda: call(s.scaled(), x(LARGE), 2.0, 3), RuntimeError, "too much", COSTLY),
    bad("a status with several results", lambda: call(s.fresh(), x(), 5), RuntimeError, "status 5", MIDDLE),
    good("a kernel that records errors", lambda: call(s.halved(), x()), MIDDLE),
    bad("an error that the program records", lambda: call(s.halved(), x(), 1), RuntimeError, "went wrong", MIDDLE),
    bad("a recorded error with a large array", lambda: call(s.halved(), x(LARGE), 1), RuntimeError, "wrong", COSTLY),
    bad("a status with the caller's memory", lambda: call(s.scaled(), x(), status=3, out=x()), RuntimeError, "too much"),
    bad("memory of another dtype", lambda: call(s.scaled(), x(), out=np.zeros(4, "f4")), TypeError, "float32", MIDDLE),
    bad("memory of another shape", lambda: call(s.scaled(), x(), out=x(5)), ValueError, "shape"),
    bad("memory that is read-only", lambda: call(s.scaled(), x(), out=read_only(x())), ValueError, "read-only"),
    bad("memory that is strided", lambda: call(s.scaled(), x(), out=x(8)[::2]), ValueError, "contiguous"),
    bad("memory that overlaps", overlapping, ValueError, "shares memory"),
    bad("memory that is a list", lambda: call(s.scaled(), x(), out=[1.0]), TypeError, "a list"),
    bad("memory that a kernel does not take", lambda: call(s.fresh(), x(), p=x()), TypeError, "allow_return_override"),
    bad("dynamic memory that nobody has", lambda: call(s.positive(), whole(), 1, 1 << 50), MemoryError, "", MIDDLE),
    bad("an argument after dynamic memory", lambda: call(s.positive(), whole(), "1", 2), TypeError, "integer", MIDDLE),
]  # fmt: skip

PROGRAMS = [
    good("a fresh array", lambda: call(f.plus, x(), x()), MIDDLE),
    good("a large fresh array", lambda: call(f.plus, x(LARGE), x(LARGE)), COSTLY),
    good("the argument itself", lambda: call(f.same, x())),
    good("a view of an argument", lambda: call(f.tail, x()), MIDDLE),
    good("an array and a number", lambda: call(f.taken, x(), 2), MIDDLE),
    good("a dict of results", lambda: call(f.both, x()), MIDDLE),
    good("results for fr.Array", lambda: call(f.plus, fr.asarray(x()), fr.asarray(x())), MIDDLE),
    good("the argument itself, an fr.Array", lambda: call(f.same, fr.asarray(x())), MIDDLE),
    good("a view of an fr.Array", lambda: call(f.tail, fr.asarray(x())), MIDDLE),
    bad("an index out of bounds at capture", lambda: call(f.taken, x(), 9), IndexError, "9", 200),
    bad("an index out of bounds", lambda: call(f.looked_up, x(), whole()[2:]), IndexError, "200000", MIDDLE),
    bad(
        "an index out of bounds with a large array",
        lambda: call(f.looked_up, x(LARGE), whole()[2:]),
        IndexError,
        "",
        COSTLY,
    ),
]

CALLBACKS = [
    good("an object that a callback made", lambda: call(s.rows(), np.ones((2, 3)), lambda row, o: [point()]), MIDDLE),
    bad("a callback that raises beside an object", lambda: call(
        s.rows(), np.ones((2, 3)), lambda row, o: {}[0], object()), KeyError, "0", MIDDLE),
]  # fmt: skip

CASES = [*SOURCE_KERNELS, *PROGRAMS, *CALLBACKS]

"""ctypes and cffi over one file of plain C: neither takes names, tuples or sizes from arrays, so the calls say more."""

from __future__ import annotations

import contextlib
import ctypes
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from building import extension, kept, shared
from rows import COUNTS, EXTENT, Contender, names, plural, plus_one

from .byhand import aligned

DECLARED = {
    **{f"call{n}": f"void call{n}({', '.join(f'double *{a}' for a in names(n))}, int64_t n)" for n in COUNTS},
    "scalars": "void scalars(double *a0, double *a1, double *a2, int64_t n, double x, int64_t k, bool b)",
    "scalar_result": "double scalar_result(double *a0, int64_t n)",
    "fresh_array": "void fresh_array(double *a0, double *r, int64_t n)",
    "workspace": "void workspace(double *a0, int64_t n, char *w)",
    "state": "void state(double *a0, int64_t *s)",
    "callback": "double callback(double (*g)(double), double x)",
}
BODIES = {
    **{f"call{n}": f"a{n - 1}[0] = n;" for n in COUNTS},
    "scalars": "a2[0] = x + k + b;",
    "scalar_result": "return a0[0];",
    "fresh_array": "r[0] = n;",
    "workspace": "w[0] = 1; a0[0] = n;",
    "state": "a0[0] = ++*s;",
    "callback": "return g(x);",
}
TEXT = "#include <stdbool.h>\n#include <stdint.h>\n" + "".join(
    f"{DECLARED[name]} {{ {BODIES[name]} }}\n" for name in DECLARED
)


def of_ctypes() -> Iterator[Contender]:
    def write(folder: Path) -> None:
        (folder / "plain.c").write_text(TEXT)

    library = ctypes.CDLL(str(shared("plain", [kept("plain-c", TEXT, write) / "plain.c"])))
    array = np.ctypeslib.ndpointer(np.float64, 1, flags="C_CONTIGUOUS")
    written = np.ctypeslib.ndpointer(np.float64, 1, flags="C_CONTIGUOUS, WRITEABLE")
    size = ctypes.c_int64

    def function(name: str, *types: Any, result: Any = None) -> Any:
        found = library[name]  # a new object each time, with argument types of its own
        found.argtypes, found.restype = types, result
        return found

    for n in COUNTS:
        call = f"f({', '.join(names(n))}, {EXTENT})"
        f = function(f"call{n}", *[array] * (n - 1), written, size)
        yield Contender(plural(n), "ctypes", f, call=call)
    f = function("scalars", array, array, written, size, ctypes.c_double, size, ctypes.c_bool)
    yield Contender("3 arrays, 3 scalars", "ctypes", f, call=f"f(a0, a1, a2, {EXTENT}, x, k, b)")
    f = function("scalar_result", array, size, result=ctypes.c_double)
    yield Contender("a scalar result", "ctypes", f, call=f"f(a0, {EXTENT})")
    f = function("fresh_array", array, written, size)
    yield Contender("a fresh array", "ctypes", filling(f))
    bytes_ = np.ctypeslib.ndpointer(np.uint8, 1, flags="C_CONTIGUOUS, WRITEABLE")
    f = function("workspace", written, size, bytes_)
    yield Contender("a workspace", "ctypes", f, call=f"f(a0, {EXTENT}, w)", extra={"w": aligned(4096)})
    f = function("state", written, ctypes.POINTER(size))
    yield Contender("state", "ctypes", f, call="f(a0, s)", extra={"s": ctypes.pointer(size(0))})
    kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
    f = function("callback", kind, ctypes.c_double, result=ctypes.c_double)
    yield Contender("a callback", "ctypes", f, call="f(T(g), x)", extra={"T": kind})
    yield Contender("a callback", "ctypes, wrapped before", f, extra={"g": kind(plus_one)})
    f = function("call3", *[ctypes.c_void_p] * 3, size)
    addresses = ", ".join(f"{name}.data_ptr()" for name in names(3))
    yield Contender("3 torch tensors", "ctypes, addresses alone", f, call=f"f({addresses}, {EXTENT})")


def filling(function: Any) -> Any:
    """How a result comes back from C: memory made in Python first."""

    def fresh(a0: Any) -> Any:
        made = np.empty_like(a0)
        function(a0, made, len(made))
        return made

    return fresh


def of_cffi() -> Iterator[Contender]:
    import cffi

    ffi = cffi.FFI()
    ffi.cdef("".join(f"{declared};\n" for declared in DECLARED.values()))
    ffi.set_source("with_cffi", TEXT)

    def write(folder: Path) -> None:
        with contextlib.redirect_stdout(io.StringIO()):  # it says what it writes
            ffi.emit_c_code(str(folder / "with_cffi.c"))

    source = kept("cffi-c", cffi.__version__ + TEXT, write) / "with_cffi.c"
    module = extension("with_cffi", [source], version=cffi.__version__)
    lib, made = module.lib, module.ffi
    # "b" is the function that looks at an array, "T" the type that is parsed once; what is written must be writable
    extra = {"b": made.from_buffer, "T": made.typeof("double[]")}

    def array(name: str, written: bool = False, kind: str = "T") -> str:
        return f"b({kind}, {name}{', True' if written else ''})"

    for n in COUNTS:
        given = ", ".join([*(array(a) for a in names(n - 1)), array(f"a{n - 1}", True)])
        yield Contender(
            plural(n), "cffi", getattr(lib, f"call{n}"), call=f"f({given}, {EXTENT})", extra=extra
        )
    given = f"{array('a0')}, {array('a1')}, {array('a2', True)}"
    call = f"f({given}, {EXTENT}, x, k, b_)"
    yield Contender("3 arrays, 3 scalars", "cffi", lib.scalars, call=call, extra={**extra, "b_": True})
    call = f"f({array('a0')}, {EXTENT})"
    yield Contender("a scalar result", "cffi", lib.scalar_result, call=call, extra=extra)
    fill, view, double = lib.fresh_array, made.from_buffer, extra["T"]
    filled = filling(lambda a, r, n: fill(view(double, a), view(double, r, True), n))
    yield Contender("a fresh array", "cffi", filled)
    more = {**extra, "w": aligned(4096), "C": made.typeof("char[]")}
    call = f"f({array('a0', True)}, {EXTENT}, {array('w', True, 'C')})"
    yield Contender("a workspace", "cffi", lib.workspace, call=call, extra=more)
    more = {**extra, "s": made.new("int64_t *")}
    yield Contender("state", "cffi", lib.state, call=f"f({array('a0', True)}, s)", extra=more)
    more = {"c": made.callback, "T": made.typeof("double(*)(double)")}
    yield Contender("a callback", "cffi", lib.callback, call="f(c(T, g), x)", extra=more)
    before = {"g": made.callback("double(double)", plus_one)}
    yield Contender("a callback", "cffi, wrapped before", lib.callback, extra=before)

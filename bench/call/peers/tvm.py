"""apache-tvm-ffi: ndarrays through `__dlpack__`, tensors of torch through the C exchange table, its own tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from building import PEERS, shared
from rows import COUNTS, Contender, all_rows, names, plural

from .byhand import aligned


def contenders() -> Iterator[Contender]:
    import tvm_ffi
    from tvm_ffi import libinfo
    from tvm_ffi.utils.kwargs_wrapper import make_kwargs_wrapper

    includes = [f"-I{path}" for path in libinfo.include_paths()]
    flags = ["-std=c++17", "-fvisibility=hidden", *includes]
    path = shared("with_tvm_ffi", [PEERS / "with_tvm_ffi.cpp"], *flags, version=tvm_ffi.__version__)
    module = tvm_ffi.load_module(path)

    def own(count: int) -> dict[str, Any]:
        """The tensors of the library over the arrays that a row has."""
        given = {row.name: row.given for row in all_rows()}[plural(count)]()
        return {name: tvm_ffi.from_dlpack(array) for name, array in given.items()}

    for n in COUNTS:
        f = module[f"call{n}"]
        yield Contender(plural(n), "tvm-ffi", f)
        yield Contender(plural(n), "tvm-ffi, its own tensors", f, extra=own(n))
    for n in (3, 10):
        f = make_kwargs_wrapper(module[f"call{n}"], names(n))
        yield Contender(f"{plural(n)} by name", "tvm-ffi", f)
    f = make_kwargs_wrapper(module["call3"], names(3))
    yield Contender("3 arrays by name, another order", "tvm-ffi", f)
    yield Contender("3 arrays, 3 scalars", "tvm-ffi", module["scalars"])
    yield Contender("a scalar result", "tvm-ffi", module["scalar_result"])
    yield Contender("a fresh array", "tvm-ffi", module["fresh_array"])
    extra = {"w": aligned(4096)}
    yield Contender("a workspace", "tvm-ffi", module["workspace"], call="f(a0, w)", extra=extra)
    yield Contender("state", "tvm-ffi", module["counter"]())
    yield Contender("a callback", "tvm-ffi", module["callback"])
    yield Contender("3 torch tensors", "tvm-ffi", module["call3"])
    yield Contender("nested tuples", "tvm-ffi", module["nested"])
    yield Contender("a fresh torch tensor", "tvm-ffi", module["fresh_tensor"])

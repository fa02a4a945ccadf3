"""The floor, and what an author writes by hand with the C APIs of Python, NumPy and DLPack."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from building import PEERS, extension
from rows import COUNTS, FLOOR, Contender, all_rows, plural

NUMPY = f"-I{np.get_include()}"


def aligned(size: int) -> np.ndarray[Any, Any]:
    """Bytes at a multiple of 64, a workspace."""
    memory = np.zeros(size + 64, np.uint8)
    return memory[-memory.ctypes.data % 64 :][:size]


def arrays_module() -> Any:
    return extension("byhand_arrays", [PEERS / "byhand_arrays.c"], NUMPY, version=np.__version__)


def arrays_and_features() -> Iterator[Contender]:
    module = arrays_module()
    features = extension("byhand_features", [PEERS / "byhand_features.c"], NUMPY, version=np.__version__)
    for row in all_rows():
        yield Contender(row.name, FLOOR, module.noop, works=False)
    nothing = module.Nothing()
    for row in ("3 arrays", "3 arrays by name"):
        yield Contender(row, "a vectorcall no-op", nothing, works=False)
    for n in COUNTS:
        yield Contender(plural(n), "by hand", getattr(module, f"call{n}"))
    for n in (3, 10):
        yield Contender(f"{plural(n)} by name", "by hand", getattr(module, f"call{n}"))
    yield Contender("3 arrays by name, another order", "by hand", module.call3)
    yield Contender("3 arrays, 3 scalars", "by hand", features.scalars)
    yield Contender("nested tuples", "by hand", features.nested)
    yield Contender("a scalar result", "by hand", features.scalar_result)
    yield Contender("a fresh array", "by hand", features.fresh_array)
    yield Contender("a workspace", "by hand", features.Handle(aligned(4096)))
    yield Contender("state", "by hand", features.Handle())
    yield Contender("a callback", "by hand", features.callback)
    yield Contender("a callback", "Python, g(x)", lambda: None, call="g(x)")


def tensors() -> Iterator[Contender]:
    import torch
    from torch.utils.cpp_extension import include_paths

    includes = [f"-I{path}" for path in include_paths()]
    module = extension("byhand_torch", [PEERS / "byhand_torch.cpp"], *includes, version=torch.__version__)
    module.use(torch.Tensor)
    yield Contender("3 torch tensors", "by hand", module.call3)


def numpy() -> Iterator[Contender]:
    yield Contender("3 arrays", "np.add", np.add, works=False)
    yield Contender("3 arrays by name", "np.add", np.add, call="f(a0, a1, out=a2)", works=False)
    yield Contender("a fresh array", "np.empty_like", np.empty_like, works=False)

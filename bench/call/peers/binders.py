"""nanobind and pybind11: arrays, tensors, tuples, results, objects and std::function."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from building import PEERS, extension
from rows import COUNTS, Contender, plural

from .byhand import aligned


def common(peer: str, module: Any) -> Iterator[Contender]:
    """What both modules have under the same names."""
    for n in COUNTS:
        yield Contender(plural(n), peer, getattr(module, f"call{n}"))
    for n in (3, 10):
        yield Contender(f"{plural(n)} by name", peer, getattr(module, f"call{n}"))
    yield Contender("3 arrays by name, another order", peer, module.call3)
    yield Contender("3 arrays, 3 scalars", peer, module.scalars)
    yield Contender("nested tuples", peer, module.nested)
    yield Contender("a scalar result", peer, module.scalar_result)
    yield Contender("a fresh array", peer, module.fresh_array)
    yield Contender("a workspace", peer, module.workspace, call="f(a0, w)", extra={"w": aligned(4096)})
    yield Contender("state", peer, module.Counter().count)
    yield Contender("a callback", peer, module.callback)


def of_nanobind() -> Iterator[Contender]:
    import nanobind

    root = Path(nanobind.__file__).parent
    flags = ["-std=c++17", "-fvisibility=hidden", "-fno-strict-aliasing", "-DNDEBUG"]
    flags += [f"-I{root / 'include'}", f"-I{root / 'ext/robin_map/include'}"]
    sources = [PEERS / "with_nanobind.cpp", root / "src/nb_combined.cpp"]
    module = extension("with_nanobind", sources, *flags, version=nanobind.__version__)
    yield from common("nanobind", module)
    yield Contender("3 torch tensors", "nanobind", module.call3)
    yield Contender("a fresh torch tensor", "nanobind", module.fresh_tensor)


def of_pybind11() -> Iterator[Contender]:
    import pybind11

    flags = ["-std=c++17", "-fvisibility=hidden", "-DNDEBUG", f"-I{pybind11.get_include()}"]
    module = extension("with_pybind11", [PEERS / "with_pybind11.cpp"], *flags, version=pybind11.__version__)
    yield from common("pybind11", module)
    yield Contender("3 torch tensors", "pybind11", module.call3_converting)

"""Ferrule: array programs as native modules, called at the cost of a C function."""

import importlib
from typing import TYPE_CHECKING, Any

from ferrule._rt import Array, asarray, from_dlpack
from ferrule.api import Function, program
from ferrule.artifact import Artifact
from ferrule.config import config
from ferrule.dtypes import (
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    symbol,
    uint8,
    uint16,
    uint32,
    uint64,
)
from ferrule.errors import (
    BuildError,
    Error,
    IncompatibleArtifact,
    InternalError,
    Unsupported,
    UserError,
)
from ferrule.kernel import Kernel

if TYPE_CHECKING:
    from ferrule.ir import Program, ProgramBuilder, compile_program
    from ferrule.pool import compile_many, compile_source_async
    from ferrule.signature import Signature
    from ferrule.signature_parts import Arg, AuthorFunction, Return, Symbol, Workspace
    from ferrule.source import compile_source
    from ferrule.store import Store

# Not needed to call a compiled program: a warm start does not pay for them.
_LATER = {
    "Signature": "ferrule.signature",
    **dict.fromkeys(("Arg", "AuthorFunction", "Return", "Symbol", "Workspace"), "ferrule.signature_parts"),
    **dict.fromkeys(("Program", "ProgramBuilder", "compile_program"), "ferrule.ir"),
    "compile_many": "ferrule.pool",
    "compile_source": "ferrule.source",
    "Store": "ferrule.store",
    "compile_source_async": "ferrule.pool",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'ferrule' has no attribute {name!r}")
    value = getattr(importlib.import_module(_LATER[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})


__version__ = "0.1.0"

__all__ = [
    "Arg",
    "Array",
    "Artifact",
    "AuthorFunction",
    "BuildError",
    "Error",
    "Function",
    "IncompatibleArtifact",
    "InternalError",
    "Kernel",
    "Program",
    "ProgramBuilder",
    "Return",
    "Signature",
    "Store",
    "Symbol",
    "Unsupported",
    "UserError",
    "Workspace",
    "asarray",
    "bool_",
    "compile_many",
    "compile_program",
    "compile_source",
    "compile_source_async",
    "complex64",
    "complex128",
    "config",
    "float16",
    "float32",
    "float64",
    "from_dlpack",
    "int8",
    "int16",
    "int32",
    "int64",
    "program",
    "symbol",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

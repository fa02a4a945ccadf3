"""Programs without a Python function: the builder that capture uses, the types that it takes, and text.

>>> builder = ProgramBuilder("doubled")
>>> n = Expr.symbol(builder.add_symbol("N", SymbolKind.Extent, True))
>>> x = builder.array_argument("x", "float64", [n])
>>> builder.result(builder.elementwise(operation("add"), [x, x]))
>>> kernel = compile_program(builder.finish()).load()
>>> kernel(np.arange(3.0))
array([0., 2., 4.])
"""

from __future__ import annotations

from typing import Any

from ferrule import session
from ferrule._compiler import (
    Condition,
    Expr,
    Layout,
    Parameter,
    Program,
    ProgramBuilder,
    Relation,
    SymbolKind,
    ValueKind,
    element_ops,
    parse_program,
    reduce_ops,
)
from ferrule.artifact import Artifact
from ferrule.config import setting
from ferrule.errors import UserTypeError, UserValueError, nearest
from ferrule.session import BuildSettings
from ferrule.spent import Spent, print_times

__all__ = [
    "Condition",
    "Expr",
    "Layout",
    "Parameter",
    "Program",
    "ProgramBuilder",
    "Relation",
    "SymbolKind",
    "ValueKind",
    "compile_program",
    "element_ops",
    "operation",
    "parse_program",
    "reduce_ops",
]


def operation(name: str) -> Any:
    """The element-wise operation or reduction of this name, for `ProgramBuilder.elementwise` and `reduce`."""
    known = {row.name: row.op for row in (*reduce_ops(), *element_ops())}
    if name not in known:
        raise UserValueError(
            f"'{name}' is no operation{nearest(str(name), known, 'docs/ops.md lists them.')}"
        )
    return known[name]


def compile_program(
    program: Program,
    *,
    target: str | None = None,
    build: str | None = None,
    strict_scalars: bool | None = None,
    adapter: str | None = None,
) -> Artifact:
    """Compile a Program and return it as an Artifact, from the store where it is there already.

    The options are those of `Function.compile`; what is not given comes from the configuration. Arguments may overlap.
    Raises BuildError where the C++ compiler fails.
    """
    if not isinstance(program, Program):
        raise UserTypeError(f"'program' is {type(program).__name__}, but a Program is expected.")
    settings = BuildSettings.current(target, build)
    spent = Spent()
    value = session.compile_program(
        program,
        settings,
        spent,
        strict_scalars=setting("strict_scalars", strict_scalars),
        alias_version=True,
        adapter=adapter,
    )
    if setting("time"):
        print_times(program.name, spent)
    return Artifact(value, tuple(session.site_table(program.sites)))

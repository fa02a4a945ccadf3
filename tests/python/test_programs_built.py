"""Programs that were built, not captured: the public builder, its compilation, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ferrule as fr
from ferrule import ir


def doubled(name: str = "doubled") -> fr.Program:
    builder = fr.ProgramBuilder(name)
    n = ir.Expr.symbol(builder.add_symbol("N", ir.SymbolKind.Extent, True))
    x = builder.array_argument("x", "float64", [n])
    builder.result(builder.elementwise(ir.operation("add"), [x, x]))
    return builder.finish()


def test_a_built_program_becomes_an_artifact_and_a_kernel() -> None:
    program = doubled()
    artifact = fr.compile_program(program)
    kernel = artifact.load()
    for n in (0, 1, 5):
        np.testing.assert_array_equal(kernel(np.arange(float(n))), 2 * np.arange(float(n)))
    with pytest.raises(TypeError, match=r"doubled\(\): 'x' has dtype float32, but float64 is expected"):
        kernel(np.ones(3, np.float32))
    assert fr.compile_program(ir.parse_program(program.print())) == artifact
    assert kernel.program.print() == program.print()


def test_options_and_configuration_decide_the_artifact() -> None:
    program = doubled()
    release = fr.compile_program(program)
    debug = fr.compile_program(program, build="debug")
    with fr.config(build="debug"):
        assert fr.compile_program(program) == debug != release
    assert fr.compile_program(program, target="baseline") != release
    assert fr.compile_program(program, strict_scalars=True) != release


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"target": "avx"}, ValueError, "must be one of 'native', 'baseline', 'multi', 'reference'"),
        ({"build": "fast"}, ValueError, "must be one of 'release', 'debug'"),
        ({"strict_scalars": 1}, TypeError, "must be True or False"),
        ({"adapter": "x"}, ValueError, "must have the form 'module:qualname'"),
    ],
)
def test_options_are_checked(options: dict[str, Any], error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        fr.compile_program(doubled(), **options)


def test_what_is_no_program_or_operation() -> None:
    with pytest.raises(TypeError, match="'program' is str, but a Program is expected"):
        fr.compile_program("fr 1")
    with pytest.raises(ValueError, match="'add_' is no operation; did you mean 'add'"):
        ir.operation("add_")


def test_names_of_operations_mean_one_each() -> None:
    names = [row.name for row in (*ir.element_ops(), *ir.reduce_ops())]
    assert len({*names}) == len(names)

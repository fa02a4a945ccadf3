"""The same refusals from a program that was captured from Python, whose arguments are annotated."""

# ruff: noqa: F821, UP037

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import test_arrays
import test_protocols
from rows import TYPE, Row, check_refused, table

import ferrule as fr

COUNTER = np.zeros(1, np.int64)
NAMES = ("in_c", "out_c")


@pytest.fixture(scope="module")
def program() -> Any:
    @fr.program
    def layouts(
        in_c: fr.float64["N", "M"], out_c: fr.float64["N", "M"], counter: fr.int64[1], flag: fr.int32
    ):
        out_c[:, :] = flag * in_c
        counter[0] += 1
        return counter[0]

    return layouts


def good() -> dict[str, Any]:
    arrays = {"in_c": np.ones(test_arrays.SHAPE), "out_c": np.zeros(test_arrays.SHAPE)}
    return {**arrays, "counter": COUNTER, "flag": 2}


ARRAYS = [
    *test_arrays.OBJECTS, *test_arrays.ELEMENTS, *test_arrays.SIZES, *test_arrays.MEMORY, *test_arrays.STRIDES,
    *test_protocols.RAISES, *test_protocols.LIES, *test_protocols.INTERFACES, *test_protocols.CONTENT,
]  # fmt: skip
SCALARS = [
    Row("flag", "float", lambda: 2.0, TYPE, "'flag' is a float, but an integer of type int32 is expected; pass int(flag)."),
    Row("flag", "bool", lambda: True, TYPE, "'flag' is a bool, but an integer of type int32 is expected; pass int(flag)."),
    Row("flag", "None", lambda: None, TYPE, "'flag' is None, but an integer of type int32 is expected."),
    Row("flag", "masked", lambda: np.ma.masked, TYPE,
        "'flag' is a masked array, whose mask would be ignored; pass flag.filled(value)."),
]  # fmt: skip


@table([*(row for row in ARRAYS if row.argument in NAMES), *SCALARS])
def test_refused(program: Any, row: Row) -> None:
    check_refused(program, good, row, name="layouts")


@pytest.mark.parametrize("shape", [(0, 3), (2, 3), (5, 1)])
def test_good_calls_go_on(program: Any, shape: tuple[int, int]) -> None:
    given = {**good(), "in_c": np.full(shape, 3.0), "out_c": np.zeros(shape)}
    before = int(COUNTER[0])
    assert program(**given) == before + 1
    np.testing.assert_array_equal(given["out_c"], 6)

"""The promotion table and the dtype rules of the operations against NumPy's own, over all pairs."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from op_rows import numpy_function

from ferrule import _compiler as ir
from ferrule.errors import Unsupported, UserTypeError

DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
]  # fmt: skip
REAL = DTYPES[:-2]
WEAK = {"bool": True, "int64": 1, "float64": 1.0}
ROWS = ir.element_ops()


def operand(dtype, weak):
    return WEAK[dtype] if weak else np.ones(2, dtype)


def numpy_result(row, operands):
    """The dtype that NumPy gives, or None where it raises TypeError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return numpy_function(row)(*operands).dtype.name
        except TypeError:
            return None


def check(row, operands):
    expected = numpy_result(row, [operand(*each) for each in operands])
    try:
        _, result, weak = ir.infer(row.op, operands)
    except UserTypeError:
        assert expected is None
        return
    except Unsupported:
        # Refused for now: what is computed in half precision or with complex numbers.
        half = any(dtype == "float16" for dtype, _ in operands) or expected == "float16"
        assert half or any(dtype.startswith("complex") for dtype, _ in operands)
        return
    assert not weak
    assert result == expected


@pytest.mark.parametrize("left", DTYPES)
def test_pairs_of_dtypes(left):
    for right in DTYPES:
        assert ir.promote([(left, False), (right, False)]) == (np.promote_types(left, right).name, False)


@pytest.mark.parametrize("dtype", DTYPES)
def test_python_numbers(dtype):
    for weak, value in WEAK.items():
        expected = np.result_type(np.ones(2, dtype), value).name
        assert ir.promote([(dtype, False), (weak, True)]) == (expected, False)
        assert ir.promote([(weak, True), (dtype, False)]) == (expected, False)


def test_three_operands():
    for strong in itertools.product(DTYPES, repeat=2):
        for weak, value in WEAK.items():
            expected = np.result_type(*(np.ones(2, dtype) for dtype in strong), value).name
            assert ir.promote([(strong[0], False), (weak, True), (strong[1], False)]) == (expected, False)


def test_python_numbers_alone_stay_weak():
    assert ir.promote([("bool", True), ("int64", True)]) == ("int64", True)
    assert ir.promote([("float64", True), ("int64", True)]) == ("float64", True)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_dtypes_of_an_operation(row):
    for dtypes in itertools.product(DTYPES, repeat=min(row.arity, 2)):
        strong = [(dtype, False) for dtype in dtypes]
        check(
            row,
            [("bool", False), *strong]
            if row.name == "select"
            else strong + strong[:1] * (row.arity - len(strong)),
        )


@pytest.mark.parametrize("row", [row for row in ROWS if row.arity == 2], ids=lambda row: row.name)
def test_python_numbers_in_an_operation(row):
    for dtype, weak in itertools.product(REAL, WEAK):
        check(row, [(dtype, False), (weak, True)])
        check(row, [(weak, True), (dtype, False)])


def test_python_numbers_in_selections():
    clip, select = (next(row for row in ROWS if row.name == name) for name in ("clip", "select"))
    for dtype, weak in itertools.product(REAL, WEAK):
        check(clip, [(dtype, False), (weak, True), (weak, True)])
        check(select, [("bool", False), (dtype, False), (weak, True)])


def test_mixed_signs_of_64_bits_compare_exactly():
    for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
        assert ir.infer(name, [("int64", False), ("uint64", False)]) == (["int64", "uint64"], "bool", False)
        assert ir.infer(name, [("uint64", False), ("int8", False)]) == (["uint64", "int64"], "bool", False)


@pytest.mark.parametrize("row", ir.reduce_ops(), ids=lambda row: row.name)
def test_dtypes_of_a_reduction(row):
    for dtype in REAL:
        if dtype == "float16":
            with pytest.raises(Unsupported if row.rule != "Bitwise" else UserTypeError):
                ir.infer_reduction(row.op, dtype)
        elif row.numpy:
            assert (
                ir.infer_reduction(row.op, dtype) == getattr(np, row.numpy[0])(np.ones(2, dtype)).dtype.name
            )
        else:
            ufunc = getattr(np, row.combine)
            try:
                expected = ufunc.reduce(np.ones(2, dtype)).dtype.name
            except TypeError:
                with pytest.raises(UserTypeError):
                    ir.infer_reduction(row.op, dtype)
            else:
                assert ir.infer_reduction(row.op, dtype) == expected


def test_every_numpy_name_exists():
    for row in [*ROWS, *ir.reduce_ops()]:
        for name in row.numpy:
            assert callable(getattr(np, name)), name


def test_wrong_operands():
    with pytest.raises(UserTypeError, match="'add' takes 2 operands, got 1"):
        ir.infer("add", [("int8", False)])
    with pytest.raises(UserTypeError, match="'subtract' is not defined for bool, bool"):
        ir.infer("subtract", [("bool", False), ("bool", False)])

"""ProgramBuilder from Python, with the reference evaluator as the machine, against NumPy."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from op_rows import numpy_function

from ferrule import _compiler as ir
from ferrule.errors import (
    Unsupported,
    UserIndexError,
    UserOverflowError,
    UserRuntimeError,
    UserTypeError,
    UserValueError,
)

ROWS = {row.name: row for row in ir.element_ops()}
DTYPES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float32",
    "float64",
]
# rt/vmath.h promises a few units in the last place of the true value; the rest gives NumPy's bits.
APPROXIMATE = {
    "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "cbrt", "cos", "cosh", "exp", "exp2", "expm1",
    "float_power", "hypot", "log", "log10", "log1p", "log2", "logaddexp", "logaddexp2", "power", "sin", "sinh", "tan", "tanh",
}  # fmt: skip


def extents(builder, *names):
    return [ir.Expr.symbol(builder.add_symbol(name, ir.SymbolKind.Extent, True)) for name in names]


def sample(dtype, seed, count=64):
    random = np.random.default_rng(seed)
    if dtype == "bool":
        return random.integers(0, 2, count).astype(bool)
    if dtype.startswith("float"):
        values = random.normal(scale=3, size=count).astype(dtype)
        values[:8] = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5]
        return random.permutation(values)
    info = np.iinfo(dtype)
    values = random.integers(info.min, info.max, count, dtype=dtype, endpoint=True)
    values[: count // 2] = random.integers(0, 8, count // 2)
    values[:3] = [info.min, info.max, 0]
    return random.permutation(values)


def run_elementwise(row, arrays):
    builder = ir.ProgramBuilder(row.name)
    (n,) = extents(builder, "N")
    operands = [builder.array_argument(f"x{i}", array.dtype.name, [n]) for i, array in enumerate(arrays)]
    builder.result(builder.elementwise(row.op, operands))
    return ir.evaluate(builder.finish(), arrays)[0]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("row", ROWS.values(), ids=lambda row: row.name)
def test_element_operations_give_numpys_values(row, dtype):
    function = numpy_function(row)
    arrays = [sample(dtype, seed) for seed in range(row.arity)]
    if row.name == "select":
        arrays[0] = sample("bool", 9)
    elif row.name == "ldexp":
        arrays[1] = np.random.default_rng(5).integers(-40, 40, 64).astype("int32")
    elif row.name == "power" and np.dtype(dtype).kind in "iu":
        arrays[1] = np.random.default_rng(5).integers(0, 9, 64).astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = function(*arrays)
        except TypeError:
            with pytest.raises(UserTypeError):
                run_elementwise(row, arrays)
            return
        if expected.dtype == "float16":
            with pytest.raises(Unsupported):
                run_elementwise(row, arrays)
            return
        got = run_elementwise(row, arrays)
    assert got.dtype == expected.dtype
    if row.name in APPROXIMATE and got.dtype.kind == "f":
        np.testing.assert_allclose(got, expected, rtol=16 * np.finfo(got.dtype).eps, atol=0)
    else:
        np.testing.assert_array_equal(got, expected)
        if got.dtype.kind == "f":
            np.testing.assert_array_equal(
                np.signbit(got[~np.isnan(got)]), np.signbit(expected[~np.isnan(expected)])
            )


@pytest.mark.parametrize("source", DTYPES)
@pytest.mark.parametrize("target", DTYPES)
def test_casts_give_numpys_values(source, target):
    array = sample(source, 3)
    builder = ir.ProgramBuilder("cast")
    (n,) = extents(builder, "N")
    builder.result(builder.cast(builder.array_argument("x", source, [n]), target))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = array.astype(target)
    np.testing.assert_array_equal(ir.evaluate(builder.finish(), [array])[0], expected)


@pytest.mark.parametrize("row", ir.reduce_ops(), ids=lambda row: row.name)
@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions(row, dtype):
    function = getattr(np, row.numpy[0]) if row.numpy else getattr(np, row.combine).reduce
    array = (
        sample(dtype, 1, 60) if dtype[0] != "f" else np.random.default_rng(1).normal(size=60).astype(dtype)
    ).reshape(3, 4, 5)
    for axes in [(0,), (1,), (0, 2), (0, 1, 2)]:
        builder = ir.ProgramBuilder("reduce")
        shape = extents(builder, "N", "M", "K")
        argument = builder.array_argument("x", dtype, shape)
        if not row.numpy and dtype[0] == "f":
            with pytest.raises(UserTypeError):
                builder.reduce(row.op, argument, list(axes))
            continue
        builder.result(builder.reduce(row.op, argument, list(axes)))
        got = ir.evaluate(builder.finish(), [array])[0]
        expected = function(array, axis=axes)
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=64 * np.finfo(dtype).eps if dtype[0] == "f" else 0)


def test_strided_arguments_and_returned_views():
    builder = ir.ProgramBuilder("flip")
    n, m = extents(builder, "N", "M")
    strides = [ir.Expr.symbol(builder.add_symbol(f"s{i}", ir.SymbolKind.Stride, False)) for i in range(2)]
    a = builder.array_argument("a", "float64", [n, m], strides, ir.Layout.Any)
    flipped = builder.window(a, [m, n], [(n - ir.Expr(1), [(1, -1)]), (ir.Expr(0), [(0, 1)])])
    builder.store(flipped, builder.elementwise("multiply", [flipped, builder.number(2)]))
    builder.result(flipped)
    builder.result_argument(0)
    builder.result_none()
    program = builder.finish()
    base = np.arange(60.0).reshape(6, 10)
    array = base[::-2, 1::3]
    expected = 2 * array
    view, same, nothing = ir.evaluate(program, [array])
    assert same is array
    assert nothing is None
    np.testing.assert_array_equal(array, expected)
    np.testing.assert_array_equal(view, array[::-1].T)
    assert np.shares_memory(view, base)


def test_results_are_numpys_and_pythons_scalars():
    builder = ir.ProgramBuilder("scalars")
    (n,) = extents(builder, "N")
    a = builder.array_argument("a", "int8", [n])
    k = builder.scalar_argument("k", "int64", weak=True)
    builder.result(builder.reduce("sum", a, [0]))
    builder.result(builder.elementwise("add", [k, builder.size(n)]))
    total, count = ir.evaluate(builder.finish(), [np.full(300, 100, "int8"), 7])
    assert type(total) is np.int64
    assert total == 30000
    assert type(count) is int
    assert count == 307


def test_refused_constants():
    builder = ir.ProgramBuilder("constants")
    (n,) = extents(builder, "N")
    a = builder.array_argument("a", "uint8", [n])
    with pytest.raises(UserOverflowError, match="Python integer 300 out of bounds for uint8"):
        builder.elementwise("add", [a, builder.number(300)])
    with pytest.raises(UserOverflowError, match="more than 64 bits"):
        builder.number(2**64)
    builder.result(builder.elementwise("less", [a, builder.number(300)]))
    builder.result(builder.elementwise("equal", [builder.number(-1), a]))
    less, equal = ir.evaluate(builder.finish(), [np.array([0, 255], "uint8")])
    assert less.all()
    assert not equal.any()


def test_constants_beyond_int64():
    builder = ir.ProgramBuilder("large")
    (n,) = extents(builder, "N")
    a = builder.array_argument("a", "uint64", [n])
    builder.result(builder.elementwise("subtract", [builder.number(2**64 - 1), a]))
    assert ir.evaluate(builder.finish(), [np.array([1], "uint64")])[0][0] == 2**64 - 2


def test_a_region_is_used_once():
    builder = ir.ProgramBuilder("regions")
    (n,) = extents(builder, "N")
    builder.array_argument("a", "float64", [n])
    builder.open_region()
    body = builder.close_region()
    variable = builder.add_symbol("i", ir.SymbolKind.Loop, True)
    assert builder.for_loop(variable, 0, n, 1, [], body) == []
    with pytest.raises(UserRuntimeError, match="one operation only"):
        builder.for_loop(variable, 0, n, 1, [], body)


def test_traps_and_wrong_arguments():
    builder = ir.ProgramBuilder("element")
    n, m = extents(builder, "N", "M")
    a, rows = builder.array_argument("a", "float64", [n]), builder.array_argument("rows", "int64", [m])
    builder.guard(ir.Condition(ir.Relation.Le, ir.Expr(1), m), "rows.shape[0] >= 1")
    at = ir.Expr.symbol(builder.symbolize(builder.load(builder.window(rows, [], [(0, [])])), "row", False))
    builder.set_site(builder.add_site("user.py", 12, "f", "index"))
    builder.check(ir.Condition(ir.Relation.Lt, at, n), ir.ErrorCode.INDEX)
    builder.result(builder.load(builder.window(a, [], [(at, [])])))
    program = builder.finish()
    assert program.guards == ["rows.shape[0] >= 1"]
    data = np.arange(4.0)
    assert ir.evaluate(program, [data, np.array([3])]) == [3.0]
    with pytest.raises(UserIndexError, match=r"user.py:12"):
        ir.evaluate(program, [data, np.array([4])])
    with pytest.raises(UserValueError, match=r"'rows.shape\[0\] >= 1' does not hold"):
        ir.evaluate(program, [data, np.array([], dtype="int64")])
    with pytest.raises(UserTypeError, match="'rows' must have dtype int64, got int32"):
        ir.evaluate(program, [data, np.array([1], "int32")])
    with pytest.raises(UserTypeError, match="takes 2 arguments, got 1"):
        ir.evaluate(program, [data])


def test_programs_print_and_parse():
    builder = ir.ProgramBuilder("p")
    (n,) = extents(builder, "N")
    a = builder.array_argument("a", "float64", [n])
    builder.store(a, builder.elementwise("sqrt", [a]))
    program = builder.finish()
    text = program.print()
    again = ir.parse_program(text)
    again.verify()
    assert str(again) == text
    with pytest.raises(UserValueError, match="wrong at 1:4"):
        ir.parse_program("fr two")

"""Transcendental functors stay within their promised error of the true value over the whole range, give the exact special
values, and give one value for an element wherever it stands, whatever the compiler and the vector width."""

from __future__ import annotations

import shutil

import mpmath
import numpy as np
import pytest
import rt_loops as rt

# Largest error in units in the last place of the true value, for float64 and float32. logaddexp loses accuracy where its
# result is small against its operands; there the unit is that of the larger operand.
LIMIT = 4.0
LOOPS = [loop for loop in rt.table_loops() if loop.op in rt.TRANSCENDENTAL and loop.result in rt.FLOATS]
NUMPY_NAMES = {op: name for op, _, _, name in rt.table()}
MPMATH = {
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "exp2": lambda x: mpmath.power(2, x),
    "log2": lambda x: mpmath.log(x, 2),
    "arcsin": mpmath.asin,
    "arccos": mpmath.acos,
    "arctan": mpmath.atan,
    "arctan2": mpmath.atan2,
    "arcsinh": mpmath.asinh,
    "arccosh": mpmath.acosh,
    "arctanh": mpmath.atanh,
    "power": mpmath.power,
    "float_power": mpmath.power,
    "logaddexp": lambda x, y: max(x, y) + mpmath.log1p(mpmath.exp(-abs(x - y))),
    "logaddexp2": lambda x, y: max(x, y) + mpmath.log1p(mpmath.power(2, -abs(x - y))) / mpmath.log(2),
}
# Where the function is interesting: (low, high) of uniform samples, beside samples over all exponents.
RANGES = {
    "exp": [(-750, 715), (-1, 1), (-110, 95)],
    "exp2": [(-1080, 1030), (-1, 1), (-155, 130)],
    "expm1": [(-50, 715), (-1, 1), (-20, 90)],
    "log": [(0, 4), (0.6, 1.6), (0.99, 1.01)],
    "log2": [(0, 4), (0.6, 1.6), (0.99, 1.01)],
    "log10": [(0, 4), (0.6, 1.6), (0.99, 1.01)],
    "log1p": [(-1, 2), (-0.5, 0.5), (-0.01, 0.01)],
    "sin": [(-10, 10), (-1e5, 1e5), (-1e9, 1e9)],
    "cos": [(-10, 10), (-1e5, 1e5), (-1e9, 1e9)],
    "tan": [(-10, 10), (-1e5, 1e5), (-1e9, 1e9)],
    "arcsin": [(-1, 1), (0.49, 0.51), (0.999, 1.0)],
    "arccos": [(-1, 1), (0.49, 0.51), (0.999, 1.0)],
    "arctan": [(-1, 1), (-4, 4), (0.4, 0.45)],
    "arctan2": [(-1, 1), (-4, 4)],
    "sinh": [(-1, 1), (-711, 711), (-90, 90)],
    "cosh": [(-1, 1), (-711, 711), (-90, 90)],
    "tanh": [(-1, 1), (-25, 25)],
    "arcsinh": [(-1, 1), (-100, 100)],
    "arccosh": [(1, 2), (1, 100)],
    "arctanh": [(-1, 1), (-0.1, 0.1)],
    "power": [(0, 4), (-30, 30)],
    "float_power": [(0, 4), (-30, 30)],
    "logaddexp": [(-1, 1), (-30, 30)],
    "logaddexp2": [(-1, 1), (-30, 30)],
}


def edge_values(dtype: str) -> np.ndarray:
    info = np.finfo(dtype)
    values = [
        0.0,
        info.smallest_subnormal,
        info.smallest_normal,
        info.max,
        np.inf,
        0.5,
        1.0,
        1.5,
        2.0,
        3.0,
        10.0,
        0.1,
        1e-5,
    ]
    values += [np.nextafter(np.array(1, dtype), np.array(v, dtype)) for v in (0, 2)] + [
        info.eps,
        info.smallest_normal * 3 / 4,
    ]
    values += [
        np.pi / 4,
        np.pi / 2,
        np.pi,
        100.0,
        700.0,
        709.78,
        710.47,
        88.72,
        89.41,
        1e15,
        1e22,
        2.0**52,
        2.0**120,
        1e-30,
    ]
    values += [
        6381956970095103.0 * 2.0**797 if dtype == "float64" else 16367173.0 * 2.0**72,
        2.0**0.5,
        0.5**0.5,
    ]
    return np.array([*values, *(-v for v in values), np.nan]).astype(dtype)


def samples(loop: rt.Loop, n: int) -> list[np.ndarray]:
    """Arguments: all combinations of edges, values over all exponents, values in the interesting ranges."""
    dtype = loop.result
    rng = np.random.default_rng(len(loop.symbol))
    bits = f"uint{8 * np.dtype(dtype).itemsize}"
    edges = edge_values(dtype)
    grid = np.meshgrid(*[edges] * len(loop.operands), indexing="ij")
    columns = []
    for g in grid:
        any_bits = rng.integers(0, 2 ** (8 * np.dtype(dtype).itemsize), n, dtype=bits).view(dtype)
        parts = [
            np.ravel(g),
            any_bits,
            (rng.standard_normal(n) * 10.0 ** rng.integers(-8, 8, n)).astype(dtype),
        ]
        parts += [rng.uniform(low, high, n).astype(dtype) for low, high in RANGES.get(loop.op, [(-4, 4)])]
        columns.append(np.concatenate(parts))
    if loop.op in ("power", "float_power"):  # results near the ends of the range
        x = rng.uniform(0, 50, n).astype(dtype)
        y = (rng.uniform(-1080, 1030, n) / np.log2(x)).astype(dtype)
        columns = [np.concatenate([columns[0], x]), np.concatenate([columns[1], y])]
    return columns


def error_in_ulp(loop: rt.Loop, got: np.ndarray, want: np.ndarray, operands: list[np.ndarray]) -> np.ndarray:
    """`want` in extended precision; infinity where one is NaN or infinite and the other is not."""
    dtype = np.dtype(loop.result)
    info = np.finfo(dtype)
    with np.errstate(all="ignore"):
        nearest = want.astype(dtype)
        size = np.abs(want)
        if loop.op.startswith("logaddexp"):
            size = np.maximum(size, np.maximum(*np.abs(operands)))
        unit = np.spacing(np.minimum(size, info.max / 2).astype(dtype)).astype(np.longdouble)
        unit = np.where(size >= np.longdouble(2) ** (info.maxexp - 1), 2 * unit, unit)
        overflow = np.longdouble(2) ** info.maxexp
        as_number = np.where(np.isinf(got), np.copysign(overflow, got), got.astype(np.longdouble))
        target = np.where(np.isinf(want), np.copysign(overflow, want), want)
        error = np.abs(as_number - np.clip(target, -overflow, overflow)) / unit
        error = np.where(np.isnan(got) != np.isnan(want), np.inf, np.where(np.isnan(want), 0, error))
        wrong_sign = (nearest == 0) & (got == 0) & (np.signbit(nearest) != np.signbit(got))
    return np.where(wrong_sign, np.inf, error)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return rt.compile_loops(LOOPS, tmp_path_factory.mktemp("rt_math"))


def extended(loop: rt.Loop, operands: list[np.ndarray]) -> np.ndarray:
    function = getattr(np, NUMPY_NAMES[loop.op])
    with np.errstate(all="ignore"):
        return function(*(o.astype(np.longdouble) for o in operands))


def describe(operands, got, want, error):
    worst = np.argsort(error)[::-1][:4]
    return [(tuple(o[i] for o in operands), got[i], want[i], float(error[i])) for i in worst]


@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.symbol)
def test_error_is_within_the_limit(library, loop):
    operands = samples(loop, 8000)
    got, want = library(loop, *operands), extended(loop, operands)
    error = error_in_ulp(loop, got, want, operands)
    assert error.max() <= LIMIT, describe(operands, got, want, error)


@pytest.mark.parametrize(
    "loop", [loop for loop in LOOPS if loop.result == "float64"], ids=lambda loop: loop.symbol
)
def test_error_against_multiple_precision(library, loop):
    rng = np.random.default_rng(7)
    operands = samples(loop, 100)
    chosen = rng.permutation(len(operands[0]))[:400]
    operands = [o[chosen] for o in operands]
    function = MPMATH.get(loop.op) or getattr(mpmath, loop.op)
    got, nearest = library(loop, *operands), extended(loop, operands)
    usable = (
        np.isfinite(nearest)
        & np.isfinite(got)
        & np.all([np.isfinite(o) for o in operands], axis=0)
        & (nearest != 0)
    )
    assert usable.sum() > 50
    with mpmath.workprec(1200 if loop.op in ("sin", "cos", "tan") else 200):
        for i in np.flatnonzero(usable):
            arguments = [mpmath.mpf(float(o[i])) for o in operands]
            true = function(*arguments)
            size = max([abs(true), *map(abs, arguments)]) if loop.op.startswith("logaddexp") else abs(true)
            unit = mpmath.mpf(2) ** max(mpmath.floor(mpmath.log(size, 2)) - 52, -1074)
            error = abs(mpmath.mpf(float(got[i])) - true) / unit
            assert error <= LIMIT, (arguments, got[i], float(error))


@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.symbol)
def test_value_does_not_depend_on_its_place(library, loop):
    rng = np.random.default_rng(3)
    operands = [o[rng.permutation(len(o))[:80]] for o in samples(loop, 60)]
    whole = library(loop, *operands)
    for n in range(1, 68):
        for offset in (0, 1, 3, 8):
            part = library(loop, *(o[offset : offset + n] for o in operands))
            assert part.tobytes() == whole[offset : offset + n].tobytes(), (n, offset)


OTHER_BUILDS = [("g++", "x86-64-v3"), ("g++", "x86-64"), (shutil.which("clang++") or "clang++-16", "native")]


@pytest.mark.parametrize(("cxx", "march"), OTHER_BUILDS, ids=["v3", "generic", "clang"])
def test_other_builds_give_the_same_bits(library, tmp_path, cxx, march):
    if not shutil.which(cxx):
        pytest.skip(f"'{cxx}' is not installed.")
    other = rt.compile_loops(LOOPS, tmp_path, cxx=cxx, march=march)
    for loop in LOOPS:
        operands = samples(loop, 500)
        one, two = library(loop, *operands), other(loop, *operands)
        same = (one == two) & (np.signbit(one) == np.signbit(two)) | np.isnan(one) & np.isnan(two)
        assert same.all(), (loop.symbol, [o[~same][:3] for o in operands], one[~same][:3], two[~same][:3])


def both(library, op: str, *operands) -> list[np.ndarray]:
    loops = [loop for loop in LOOPS if loop.op == op]
    return [library(loop, *(np.atleast_1d(np.asarray(o, loop.result)) for o in operands)) for loop in loops]


def test_exact_cases(library):
    powers = np.arange(-126.0, 128.0)
    for got in both(library, "exp2", powers):
        assert (got == np.exp2(powers)).all()
    for got in both(library, "log2", np.exp2(powers)):
        assert (got == powers).all()
    for got in both(library, "log10", 10.0 ** np.arange(11)):
        assert (got == np.arange(11)).all()
    base, exponent = (a.ravel() for a in np.meshgrid(np.arange(-40.0, 41.0), np.arange(0.0, 11.0)))
    for got in both(library, "power", base, exponent):
        exact = base.astype(int).astype(object) ** exponent.astype(int)
        representable = np.array([abs(v) <= 2 ** (np.finfo(got.dtype).nmant + 1) for v in exact])
        assert (got[representable] == exact[representable].astype(got.dtype)).all()
    roots = np.arange(-100.0, 101.0)
    for got in both(library, "cbrt", roots**3):
        assert (got == roots).all()
    for got in both(library, "hypot", [3.0, 5.0, 8.0, 0.0, -0.0], [4.0, 12.0, 15.0, 0.0, -7.0]):
        assert got.tolist() == [5.0, 13.0, 17.0, 0.0, 7.0]
    for op in ("exp", "cosh", "cos"):
        for got in both(library, op, [0.0, -0.0]):
            assert got.tolist() == [1.0, 1.0]


def test_special_values_of_power(library):
    values = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        2.0,
        -2.0,
        0.5,
        -0.5,
        3.0,
        -3.0,
        2.5,
        np.inf,
        -np.inf,
        np.nan,
        1e300,
        -1e300,
        2.0**53,
    ]
    x, y = (a.ravel() for a in np.meshgrid(values, values))
    for loop in (loop for loop in LOOPS if loop.op == "power"):
        with np.errstate(all="ignore"):
            operands = [x.astype(loop.result), y.astype(loop.result)]
            want = np.power(operands[0].astype(np.longdouble), operands[1].astype(np.longdouble)).astype(
                loop.result
            )
        got = library(loop, *operands)
        special = ~np.isfinite(want) | (want == 0) | (np.abs(want) == 1)
        same = (got == want) & (np.signbit(got) == np.signbit(want)) | np.isnan(got) & np.isnan(want)
        assert same[special].all(), [
            (a, b, g, w) for a, b, g, w, s in zip(*operands, got, want, same) if not s
        ][:5]

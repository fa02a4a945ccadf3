"""Every functor that needs no approximation gives NumPy's values and bits, for every dtype, on edge values and random data."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import rt_loops as rt
from op_rows import SPELLED

EXACT = [
    loop
    for loop in rt.table_loops()
    if loop.op not in rt.TRANSCENDENTAL or (loop.op == "power" and loop.result in rt.INTEGERS)
]
NUMPY_NAMES = {op: name for op, _, _, name in rt.table()}
REFERENCE = {
    **SPELLED,
    "clip": lambda x, low, high: np.minimum(np.maximum(x, low), high),
    "fabs": np.fabs,
}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return rt.compile_loops(EXACT + rt.cast_loops(), tmp_path_factory.mktemp("rt_ops"))


def edge_values(dtype: str) -> np.ndarray:
    if dtype == "bool":
        return np.array([False, True])
    if dtype in rt.INTEGERS:
        info = np.iinfo(dtype)
        bits = info.bits
        near = [
            0,
            1,
            2,
            3,
            5,
            7,
            10,
            63,
            64,
            bits - 2,
            bits - 1,
            bits,
            bits + 1,
            100,
            info.max,
            info.max - 1,
            info.max // 2,
        ]
        values = (
            near
            + [-v for v in near]
            + [info.min, info.min + 1, info.min // 2, 2 ** (bits // 2), 2**53 + 1, 2**62]
        )
        return np.array(sorted({v for v in values if info.min <= v <= info.max}), dtype)
    info = np.finfo(dtype)
    tiny, small = info.smallest_subnormal, info.smallest_normal
    ints = [
        2.0**k + d
        for k in (7, 8, 15, 16, 23, 24, 31, 32, 52, 53, 62, 63, 64)
        for d in (-1.0, -0.5, 0.0, 0.5, 1.0)
    ]
    values = [
        0.0,
        tiny,
        2 * tiny,
        small,
        small - tiny,
        0.1,
        0.5,
        0.49999997,
        0.9999999,
        1.0,
        1.0 + info.eps,
        1.5,
        2.0,
        2.5,
        3.0,
    ]
    values += [
        7.5,
        100.0,
        1e10,
        1e20,
        3e9,
        info.max,
        info.max / 2,
        np.inf,
        300.0,
        256.7,
        127.9,
        0.2,
        6.0,
        *ints,
    ]
    return np.array([*values, *(-v for v in values), np.nan]).astype(dtype)


def random_values(dtype: str, n: int, rng: np.random.Generator) -> np.ndarray:
    if dtype == "bool":
        return rng.integers(0, 2, n).astype(bool)
    if dtype in rt.INTEGERS:
        info = np.iinfo(dtype)
        wide = rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
        low = max(int(info.min), -20)
        return np.where(rng.random(n) < 0.5, wide, rng.integers(low, 20, n).astype(dtype))
    any_bits = rng.integers(
        0, 2 ** (8 * np.dtype(dtype).itemsize), n, dtype=f"uint{8 * np.dtype(dtype).itemsize}"
    ).view(dtype)
    moderate = (rng.standard_normal(n) * 10.0 ** rng.integers(-3, 6, n)).astype(dtype)
    whole = rng.integers(-50, 50, n).astype(dtype) / np.asarray(2, dtype)
    return np.choose(rng.integers(0, 3, n), [any_bits, moderate, whole]).astype(dtype)


def operands_of(loop: rt.Loop) -> list[np.ndarray]:
    """All combinations of edge values, then random ones."""
    rng = np.random.default_rng(len(loop.symbol))
    sets = [edge_values(d) for d in loop.operands]
    if len(sets) == 3:
        sets = [s[:: max(1, len(s) // 20)] for s in sets]
        sets = [np.append(s, np.asarray(np.nan, s.dtype)) if s.dtype.kind == "f" else s for s in sets]
    grid = [np.ravel(a) for a in np.meshgrid(*sets, indexing="ij")]
    columns = [np.concatenate([g, random_values(d, 3001, rng)]) for g, d in zip(grid, loop.operands)]
    if loop.op == "ldexp":
        columns[1] = np.concatenate([columns[1], rng.integers(-1200, 1200, 3001).astype(columns[1].dtype)])
        columns[0] = np.concatenate([columns[0], random_values(loop.operands[0], 3001, rng)])
        if loop.operands[1] == "int64":  # NumPy's own int64 exponents pass through a C long, then an int
            columns[1] = np.clip(columns[1], -(2**31), 2**31 - 1)
    if loop.op == "power":
        columns[1] = columns[1] & columns[1].dtype.type(63)
    return columns


def reference_of(loop: rt.Loop, operands: list[np.ndarray]) -> np.ndarray:
    function = REFERENCE.get(loop.op) or getattr(np, NUMPY_NAMES[loop.op])
    if loop.result == "bool" and loop.operands[0] == "bool" and loop.op in ("floor", "ceil", "trunc"):
        return operands[0]
    with np.errstate(all="ignore"):
        return np.asarray(function(*operands)).astype(loop.result)


def assert_same_bits(
    got: np.ndarray, want: np.ndarray, operands: list[np.ndarray], what: str, zero_signs: bool = True
) -> None:
    if got.dtype.kind == "f":
        same = (got == want) & ((np.signbit(got) == np.signbit(want)) | ~np.bool_(zero_signs)) | np.isnan(
            got
        ) & np.isnan(want)
    else:
        same = got == want
    bad = np.flatnonzero(~same)
    shown = [(tuple(o[i] for o in operands), got[i], want[i]) for i in bad[:5]]
    assert bad.size == 0, f"{what}: {bad.size} of {got.size} differ, (operands, got, want): {shown}"


@pytest.mark.parametrize("loop", EXACT, ids=lambda loop: loop.symbol)
def test_functor_has_numpys_values(library, loop):
    operands = operands_of(loop)
    # The sign of a zero chosen among equal zeros depends on NumPy's vector width for these two.
    zero_signs = loop.op not in ("fmax", "fmin")
    assert_same_bits(
        library(loop, *operands), reference_of(loop, operands), operands, loop.symbol, zero_signs
    )


@pytest.mark.parametrize("loop", rt.cast_loops(), ids=lambda loop: f"{loop.operands[0]}-{loop.result}")
def test_cast_has_numpys_values(library, loop):
    operands = operands_of(loop)
    with np.errstate(all="ignore"):
        want = operands[0].astype(loop.result)
    assert_same_bits(library(loop, *operands), want, operands, loop.symbol)


LANES = [
    loop for loop in EXACT if loop.operands[-1] in ("int8", "int32", "uint64", "float32", "float64", "bool")
]


@pytest.mark.parametrize("loop", LANES, ids=lambda loop: loop.symbol)
def test_value_does_not_depend_on_its_place(library, loop):
    rng = np.random.default_rng(1)
    values = [random_values(d, 67, rng) for d in loop.operands]
    if loop.op == "power":
        values[1] = values[1] & values[1].dtype.type(63)
    whole = library(loop, *values)
    for n, offset in itertools.product((1, 2, 7, 15, 16, 17, 31, 33, 66), (0, 1)):
        part = library(loop, *(v[offset : offset + n] for v in values))
        assert part.tobytes() == whole[offset : offset + n].tobytes(), (n, offset)


def test_every_row_is_tested():
    assert {op for op, *_ in rt.table()} == {loop.op for loop in EXACT} | set(rt.TRANSCENDENTAL)

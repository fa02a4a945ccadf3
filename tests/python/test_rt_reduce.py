"""Reductions: NumPy's values, an error like pairwise summation, and bits that depend on the extent alone."""

from __future__ import annotations

import ctypes
import math
import shutil

import numpy as np
import pytest
import rt_loops as rt

CASES = [(op, dtype) for op in ("sum", "prod") for dtype in ("int64", "float32", "float64")]
CASES += [(op, dtype) for op in ("max", "min") for dtype in ("bool", "int8", "uint32", "float32", "float64")]
CASES += [
    ("bit_and", "bool"),
    ("bit_and", "uint64"),
    ("bit_or", "int16"),
    ("bit_xor", "int64"),
    ("any", "bool"),
    ("all", "bool"),
]
FLOAT_CASES = [("sum", "float32"), ("sum", "float64"), ("prod", "float64"), ("max", "float64")]
NUMPY = {
    "sum": np.sum,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
    "any": np.any,
    "all": np.all,
    "bit_and": np.bitwise_and.reduce,
    "bit_or": np.bitwise_or.reduce,
    "bit_xor": np.bitwise_xor.reduce,
}
SIZES = [0, 1, 2, 7, 31, 32, 33, 63, 64, 65, 255, 257, 1000, 2047, 2048, 2049, 4096, 6145, 30011]


def source(cases) -> str:
    text = []
    for op, dtype in cases:
        t, r, load = (
            rt.CPP[dtype],
            f"fr::reduction::{op}<{rt.CPP[dtype]}>",
            "fr::truth" if dtype == "bool" else "",
        )
        text.append(f"""
extern "C" void {op}_{dtype}_flat(const {t}* __restrict x, {t}* __restrict out, int64_t n, int64_t) {{
  *out = fr::reduce<{r}>(n, [&](int64_t i) {{ return {load}(x[i]); }});
}}
extern "C" void {op}_{dtype}_outer(const {t}* __restrict x, {t}* __restrict out, int64_t n, int64_t) {{
  *out = fr::reduce_outer<{r}>(n, [&](int64_t i) {{ return {load}(x[i]); }});
}}
extern "C" void {op}_{dtype}_rows(const {t}* __restrict x, {t}* __restrict out, int64_t n, int64_t m) {{
  fr::reduce_rows<{r}>(n, m, [&](int64_t i, int64_t j) {{ return {load}(x[i * m + j]); }},
                       [&](int64_t j, {t} v) {{ out[j] = v; }});
}}""")
    return "\n".join(text)


class Reductions:
    def __init__(self, folder, cases, **options):
        self.library = rt.compile_loops([], folder, extra=source(cases), **options).library

    def __call__(self, op: str, form: str, x: np.ndarray) -> np.ndarray:
        n, m = x.shape if form == "rows" else (x.size, 1)
        out = np.zeros(m, x.dtype)
        function = self.library[f"{op}_{x.dtype}_{form}"]
        function(*(ctypes.c_void_p(a.ctypes.data) for a in (x, out)), ctypes.c_int64(n), ctypes.c_int64(m))
        return out if form == "rows" else out[0]


@pytest.fixture(scope="module")
def reductions(tmp_path_factory):
    return Reductions(tmp_path_factory.mktemp("rt_reduce"), CASES)


def values(op: str, dtype: str, shape, rng: np.random.Generator) -> np.ndarray:
    if dtype == "bool":
        return rng.random(shape) < (0.9999 if op == "all" else 0.0001 if op == "any" else 0.5)
    if dtype in rt.INTEGERS:
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    x = rng.standard_normal(shape)
    return (1 + 1e-3 * x if op == "prod" else x).astype(dtype)


@pytest.mark.parametrize(("op", "dtype"), CASES)
def test_values_and_agreement_of_the_three_forms(reductions, op, dtype):
    rng = np.random.default_rng(5)
    for n in SIZES:
        x = values(op, dtype, n, rng)
        flat, outer = reductions(op, "flat", x), reductions(op, "outer", x)
        assert flat.tobytes() == outer.tobytes(), n
        if n == 0 and op in ("max", "min"):
            continue  # an error that is raised before
        if dtype in rt.FLOATS and op in ("sum", "prod"):
            exact = math.fsum(x.astype(float)) if op == "sum" else float(np.prod(x.astype(np.longdouble)))
            scale = np.abs(x.astype(float)).sum() if op == "sum" else abs(exact) * max(n, 1)
            assert abs(float(flat) - exact) <= 4 * np.finfo(dtype).eps * scale, n
        else:
            want = NUMPY[op](x, dtype=dtype) if op in ("sum", "prod") else NUMPY[op](x)
            assert flat == want, n
    for shape in [(0, 3), (1, 1), (3, 5), (33, 64), (31, 65), (2049, 3), (70, 257), (5000, 17)]:
        x = values(op, dtype, shape, rng)
        columns = [reductions(op, "flat", np.ascontiguousarray(x[:, j])) for j in range(shape[1])]
        assert reductions(op, "rows", x).tobytes() == np.array(columns, dtype).tobytes(), shape


def test_wide_rows_have_the_same_bits(reductions):
    x = np.random.default_rng(6).standard_normal((300, 700))  # more than a mebibyte: the wide blocks
    columns = [reductions("sum", "flat", np.ascontiguousarray(x[:, j])) for j in range(700)]
    assert (reductions("sum", "rows", x) == columns).all()


@pytest.mark.parametrize("dtype", rt.FLOATS)
def test_few_elements_have_numpys_bits(reductions, dtype):
    rng = np.random.default_rng(8)
    for n in range(8):
        x = (rng.standard_normal((n, 50)) * 10.0 ** rng.integers(-4, 5, (n, 50))).astype(dtype)
        assert (reductions("sum", "rows", x) == x.sum(axis=0)).all()
        assert reductions("sum", "flat", np.ascontiguousarray(x[:, 0])) == x[:, 0].sum()
    assert reductions("sum", "flat", np.array([1e8, 1, -1e8], dtype)) == np.array([1e8, 1, -1e8], dtype).sum()


@pytest.mark.parametrize("dtype", rt.FLOATS)
def test_long_sums_are_accurate(reductions, dtype):
    for n in (10**6, 70001):
        x = np.full(n, 0.1, dtype)
        exact = n * float(x[0])
        for got in (reductions("sum", "flat", x), reductions("sum", "rows", x[:, None])[0]):
            assert (
                abs(float(got) - exact) <= 1e-6 * exact
                if dtype == "float32"
                else abs(got - exact) <= 1e-14 * exact
            )


@pytest.mark.parametrize("dtype", rt.FLOATS)
def test_special_values(reductions, dtype):
    def run(op, x):
        x = np.array(x, dtype)
        return [reductions(op, "flat", x), reductions(op, "outer", x), reductions(op, "rows", x[:, None])[0]]

    inf, nan = np.inf, np.nan
    big = float(np.finfo(dtype).max)
    for x, want in [([inf, -inf], nan), ([inf, 1], inf), ([big, big, -big], inf), ([], 0), ([-0.0], 0)]:
        for got in run("sum", x):
            np.testing.assert_equal(float(got), float(want))
            assert np.isnan(got) or not np.signbit(got)
    assert all(np.isnan(got) for got in run("prod", [0, inf]))
    assert run("prod", []) == [1, 1, 1]
    for n in (1, 15, 16, 17, 31, 33, 65, 2050):
        assert run("max", [-inf] * n) == [-inf] * 3
        assert run("min", [inf] * n) == [inf] * 3
        assert run("max", [-1.0] * n) == [-1.0] * 3
        for place in range(0, n, max(1, n // 33)):
            x = np.arange(float(n))
            x[place] = nan
            assert all(np.isnan(got) for op in ("max", "min") for got in run(op, x)), (n, place)


BUILDS = [("g++", "x86-64"), ("g++", "x86-64-v3"), (shutil.which("clang++") or "clang++-16", "native")]


@pytest.mark.parametrize(("cxx", "march"), BUILDS, ids=["generic", "v3", "clang"])
def test_other_builds_give_the_same_bits(reductions, tmp_path, cxx, march):
    if not shutil.which(cxx):
        pytest.skip(f"'{cxx}' is not installed.")
    other = Reductions(tmp_path, FLOAT_CASES, cxx=cxx, march=march)
    rng = np.random.default_rng(9)
    for op, dtype in FLOAT_CASES:
        for n in (1, 33, 1000, 6145):
            x = values(op, dtype, n, rng)
            assert reductions(op, "flat", x).tobytes() == other(op, "flat", x).tobytes(), (op, dtype, n)
        x = values(op, dtype, (2100, 70), rng)
        assert reductions(op, "rows", x).tobytes() == other(op, "rows", x).tobytes(), (op, dtype)

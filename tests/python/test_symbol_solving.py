"""Extents and symbols: ranks, fixed extents, sizes solved from several arrays, given by the caller, or by nobody."""

# ruff: noqa: B023 - calls that are to be refused are made at once
from __future__ import annotations

import itertools
from typing import Annotated, Any

import numpy as np
import pytest

import ferrule as fr

as_strided = np.lib.stride_tricks.as_strided


def load(source: str, name: str, args: list[Any] = [], **options: Any) -> Any:  # noqa: B006
    return fr.compile_source(source, fr.Signature(name, args, **options)).load()


def refused(call: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(fr.UserError, match=text) as caught:
        call()
    assert isinstance(caught.value, kind)
    assert "\n" not in str(caught.value)


# -- ranks and fixed extents


@pytest.fixture(scope="module")
def ranks() -> Any:
    """ranks(a0, ..., a4, runs): arrays of rank 0 to 4, each optional; counts its runs."""
    sizes = ("N", "M", "K", "L")
    args = [
        fr.Arg(f"a{rank}", dtype="float32", shape=sizes[:rank], order="any", optional=True)
        for rank in range(5)
    ]  # each tells the sizes where those before it are None
    args.append(fr.Arg("runs", dtype="int64", shape=(), intent="inout"))
    source = "void ranks(const float*, const float*, const float*, const float*, const float*, long* runs) { ++*runs; }"
    return load(source, "ranks", args, parameters=[f"a{rank}" for rank in range(5)] + ["runs"])


@pytest.mark.parametrize("declared", range(5))
def test_every_pair_of_ranks(ranks: Any, declared: int) -> None:
    names = ("N", "M", "K", "L")[:declared]
    expected = f"({', '.join(names)}{',' if declared == 1 else ''})"
    for given, extent in itertools.product((0, 1, 2, 3, 4, 5, 33, 64), (0, 1, 2)):
        if extent == 2 and given > 5:
            continue
        shape = (extent,) * given
        x, runs = np.zeros(shape, "f4"), np.zeros((), np.int64)
        if given == declared:
            ranks(**{f"a{declared}": x}, runs=runs)
            assert runs == 1
            continue
        with pytest.raises(ValueError) as caught:
            ranks(**{f"a{declared}": x}, runs=runs)
        assert str(caught.value) == (
            f"ranks(): 'a{declared}' has rank {given} and shape {shape}, but rank {declared} and shape {expected} are"
            " expected."
        )
        assert runs == 0


def test_fixed_extents() -> None:
    source = "void fixed(const double* x, double* y, const double* z) { for (int i = 0; i < 10; ++i) y[i] = x[i] + z[i % 3]; }"
    args = [fr.Arg("x", shape=10), fr.Arg("y", shape=(10,), intent="inout"), fr.Arg("z", shape=(1, 3))]
    kernel = load(source, "fixed", args)

    @fr.program
    def annotated(
        x: Annotated[np.ndarray, fr.float64[10]],
        y: Annotated[np.ndarray, fr.float64[10]],
        z: Annotated[np.ndarray, fr.float64[1, 3]],
    ) -> None:
        y[...] = x + z[0, 0]

    for call in (kernel, annotated):
        good = {"x": np.ones(10), "y": np.zeros(10), "z": np.ones((1, 3))}
        call(**good)
        assert (good["y"] == 2).all()
        for name in ("x", "y"):
            for shape in ((5,), (11,), (9,), (0,), (1,), (1 << 20,)):
                refused(lambda: call(**good | {name: np.ones(shape)}), ValueError, rf"'{name}' has shape \({shape[0]},\), but \(10,\) is expected")  # fmt: skip
            for shape in ((2, 5), (10, 1), (1, 10), ()):
                refused(lambda: call(**good | {name: np.ones(shape)}), ValueError, rf"'{name}' has rank {len(shape)} .* shape \(10,\) are expected")  # fmt: skip
        for shape in ((3, 1), (1, 2), (1, 4), (2, 3), (0, 3)):
            text = ", ".join(map(str, shape))
            refused(lambda: call(**good | {"z": np.ones(shape)}), ValueError, rf"'z' has shape \({text}\), but \(1, 3\) is expected")  # fmt: skip
        assert (good["y"] == 2).all()


# -- one symbol, several sources


@pytest.fixture(scope="module")
def five() -> Any:
    """five(a, b, c, d, n, out): five uses of the symbol N, two of M, all arrays at other places of the shapes."""
    args = [
        fr.Arg("a", shape="N"),
        fr.Arg("b", shape=("M", "N"), dtype="int32"),
        fr.Arg("c", shape=("N", "N"), order="any"),
        fr.Arg("d", shape=("2*N", "M")),
        fr.Arg("out", shape="N", intent="inout"),
    ]
    source = "void five(const double*, const int*, const double*, const double*, double* out, long n, long m) { for (long i = 0; i < n; ++i) out[i] = m; }"
    return load(source, "five", args)


@fr.program
def five_annotated(
    a: Annotated[np.ndarray, fr.float64["N"]],
    b: Annotated[np.ndarray, fr.int32["M", "N"]],
    c: Annotated[np.ndarray, fr.float64(order="any")["N", "N"]],
    d: Annotated[np.ndarray, fr.float64["2*N", "M"]],
    out: Annotated[np.ndarray, fr.float64["N"]],
) -> None:
    out[...] = b.shape[0]


SHAPES = {"a": (8,), "b": (3, 8), "c": (8, 8), "d": (16, 3), "out": (8,)}


def arrays(**shapes: Any) -> dict[str, np.ndarray[Any, Any]]:
    return {name: np.zeros(shape, "i4" if name == "b" else "f8") for name, shape in (SHAPES | shapes).items()}


@pytest.mark.parametrize("function", ["five", "five_annotated"])
def test_sources_that_differ_are_both_named(function: str, request: pytest.FixtureRequest) -> None:
    call = request.getfixturevalue("five") if function == "five" else five_annotated
    for n, m in itertools.product((0, 1, 8, 1000), (0, 1, 3)):
        given = arrays(a=(n,), b=(m, n), c=(n, n), d=(2 * n, m), out=(n,))
        call(**given)
        assert (given["out"] == m).all()
    for name, shape, text in [
        ("a", (5,), r"'N': a\.shape\[0\] = 5, but b\.shape\[1\] = 8"),
        ("a", (9,), r"'N': a\.shape\[0\] = 9, but b\.shape\[1\] = 8"),
        ("b", (3, 5), r"'N': a\.shape\[0\] = 8, but b\.shape\[1\] = 5"),
        ("c", (5, 8), r"'N': a\.shape\[0\] = 8, but c\.shape\[0\] = 5"),
        ("c", (8, 1), r"'N': a\.shape\[0\] = 8, but c\.shape\[1\] = 1"),
        ("d", (16, 4), r"'M': b\.shape\[0\] = 3, but d\.shape\[1\] = 4"),
        ("d", (15, 3), r"d\.shape\[0\] = 15, not 2\*N = 16 with N = 8"),
        ("d", (8, 3), r"d\.shape\[0\] = 8, not 2\*N = 16 with N = 8"),
        ("out", (7,), r"'N': a\.shape\[0\] = 8, but out\.shape\[0\] = 7"),
        ("out", (0,), r"'N': a\.shape\[0\] = 8, but out\.shape\[0\] = 0"),
        ("out", (1 << 20,), r"'N': a\.shape\[0\] = 8, but out\.shape\[0\] = 1048576"),
    ]:
        given = arrays(**{name: shape})
        refused(lambda: call(**given), ValueError, text)
        refused(lambda: call(*given.values()), ValueError, text)
        assert not given["out"].any()


@pytest.mark.parametrize("function", ["five", "five_annotated"])
def test_a_size_that_the_caller_gives_is_compared(function: str, request: pytest.FixtureRequest) -> None:
    call = request.getfixturevalue("five") if function == "five" else five_annotated
    for name, source, right in (("N", r"a\.shape\[0\]", 8), ("M", r"b\.shape\[0\]", 3)):
        for value in (right, np.int32(right), np.uint64(right), np.array(right)):
            given = arrays()
            call(**given, **{name: value})
            assert (given["out"] == 3).all()
        for wrong in (right - 1, right + 1, 0, -right, 2**31 + right, 2**32 + right, -(2**63)):
            given = arrays()
            text = f"'{name}': {source} = {right}, but {name} = {wrong} was given"
            refused(lambda: call(**given, **{name: wrong}), ValueError, text)
            refused(lambda: call(*given.values(), **{name: wrong}), ValueError, text)
            assert not given["out"].any()
        for no_size in (float(right), str(right), None, True, np.True_, np.float64(right), np.array([right])):
            refused(
                lambda: call(**arrays(), **{name: no_size}),
                TypeError,
                f"'{name}' is .*, but an integer",
            )
        for large in (2**63, 2**64 + right, -(2**63) - 1, 2**200, np.uint64(2**63)):
            refused(
                lambda: call(**arrays(), **{name: large}),
                OverflowError,
                f"'{name}' = .*{int(large)}",
            )


# -- divisibility and systems of sizes

COUNTS = [fr.Return("n", "int64", kind="scalar"), fr.Return("m", "int64", kind="scalar")]


def solver(*shapes: str) -> Any:
    args = [fr.Arg(name, shape=shape) for name, shape in zip("ABC", shapes, strict=False)]
    return load("void sizes(long* n, long* m, long N, long M) { *n = N; *m = M; }", "sizes", args, returns=COUNTS,
                parameters=["n", "m", "N", "M"])  # fmt: skip


@pytest.mark.parametrize(
    ("shapes", "forward"),
    [
        (("2*N", "M"), lambda n, m: (2 * n, m)),
        (("2*N+1", "3*M+N"), lambda n, m: (2 * n + 1, 3 * m + n)),
        (("N+M", "N-M"), lambda n, m: (n + m, n - m)),
        (("2*N+M", "N+2*M"), lambda n, m: (2 * n + m, n + 2 * m)),
        (("3*N+5*M", "2*N+3*M"), lambda n, m: (3 * n + 5 * m, 2 * n + 3 * m)),
    ],
)
def test_sizes_are_solved_exactly(shapes: tuple[str, str], forward: Any) -> None:
    kernel = solver(*shapes)
    solutions = {
        forward(n, m): (n, m) for n, m in itertools.product(range(20), repeat=2) if min(forward(n, m)) >= 0
    }
    for lengths in itertools.product(range(14), repeat=2):
        given = [np.zeros(length) for length in lengths]
        if lengths in solutions:
            assert kernel(*given) == solutions[lengths]
            assert kernel(*given, N=solutions[lengths][0], M=solutions[lengths][1]) == solutions[lengths]
            refused(lambda: kernel(*given, N=solutions[lengths][0] + 1), ValueError, "'N'")
        else:
            with pytest.raises(ValueError) as caught:
                kernel(*given)
            text = str(caught.value)
            assert "'A'" in text or "A.shape[0]" in text or "B.shape[0]" in text, text
            if "M" in shapes[0] and "N" in shapes[1]:  # neither array alone is to blame
                assert "A.shape[0]" in text, text
                assert "B.shape[0]" in text, text


def test_a_third_array_is_compared_with_the_solution() -> None:
    kernel = solver("N+M", "N-M", "N*M")
    assert kernel(np.zeros(7), np.zeros(3), np.zeros(10)) == (5, 2)
    for length in (0, 9, 11):
        refused(lambda: kernel(np.zeros(7), np.zeros(3), np.zeros(length)), ValueError, rf"C\.shape\[0\] = {length}")  # fmt: skip


def test_annotated_functions_divide() -> None:
    @fr.program
    def halves(
        a: Annotated[np.ndarray, fr.float64["2*N"]], out: Annotated[np.ndarray, fr.float64["N"]]
    ) -> None:
        n = out.shape[0]
        out[...] = a[:n] + a[n:]

    out = np.zeros(4)
    halves(np.arange(8.0), out)
    np.testing.assert_array_equal(out, [4, 6, 8, 10])
    refused(
        lambda: halves(np.arange(7.0), out),
        ValueError,
        r"'N': a\.shape\[0\] = 7 \(2\*N\), but out\.shape\[0\] = 4",
    )
    refused(
        lambda: halves(np.arange(7.0), out[:3]),
        ValueError,
        r"'a' has shape \(7,\), .*: no 'N' makes 2\*N = 7",
    )
    refused(
        lambda: halves(np.arange(10.0), out),
        ValueError,
        r"'N': a\.shape\[0\] = 10 \(2\*N\), but out\.shape\[0\] = 4",
    )
    np.testing.assert_array_equal(out, [4, 6, 8, 10])


# -- optional arrays


def test_a_size_comes_from_whichever_array_is_given() -> None:
    args = [fr.Arg("a", shape="N", optional=True), fr.Arg("b", shape=("M", "N"), optional=True),
            fr.Arg("c", shape="N", dtype="int32", optional=True)]  # fmt: skip
    kernel = load("void sizes(long* n, long* m, long N, long M) { *n = N; *m = M; }", "sizes", args, returns=COUNTS,
                  parameters=["n", "m", "N", "M"])  # fmt: skip
    for n, m in ((0, 0), (1, 2), (5, 3), (1000, 1)):
        a, b, c = np.zeros(n), np.zeros((m, n)), np.zeros(n, "i4")
        assert kernel(a, b, c) == (n, m)
        assert kernel(a) == kernel(None, None, c) == kernel(c=c, N=n) == (n, 0)
        assert kernel(b=b) == kernel(None, b, c) == kernel(None, b, N=n) == (n, m)
        assert kernel(N=n, M=m) == (n, m)
        refused(lambda: kernel(None, b, np.zeros(n + 1, "i4")), ValueError, rf"'N': b\.shape\[1\] = {n}, but c\.shape\[0\] = {n + 1}")  # fmt: skip
        refused(lambda: kernel(c=c, N=n + 1), ValueError, rf"'N': c\.shape\[0\] = {n}, but N = {n + 1} was given")  # fmt: skip
    assert kernel() == (0, 0)
    refused(lambda: kernel(N=-1), ValueError, "'N'.* -1")


# -- large extents


@pytest.mark.parametrize("extent", [2**31 - 1, 2**31, 2**31 + 5, 2**32, 2**32 + 5, 2**40 + 1])
def test_extents_beyond_32_bits(extent: int) -> None:
    source = "void sizes(long* n, long* m, long N, long M) { *n = N; *m = M * 2; }"
    args = [fr.Arg(name, dtype="uint8", shape=size, order="any") for name, size in (("v", "N"), ("w", "M"))]
    kernel = load(source, "sizes", args, returns=COUNTS, parameters=["n", "m", "N", "M"])
    v = as_strided(np.zeros(1, "u1"), (extent,), (0,))
    assert kernel(v, v) == (extent, 2 * extent)
    assert kernel(v, v, N=extent, M=extent) == (extent, 2 * extent)
    for other in {extent % 2**32, extent % 2**31, extent - 2**32} - {extent}:
        refused(lambda: kernel(v, v, N=other), ValueError, rf"v\.shape\[0\] = {extent}, but N = {other}")

    length = fr.program(lambda v: (v.shape[0], v.shape[0] * 2, len(v)))
    for _ in range(2):
        assert length(as_strided(np.zeros(1, "u1"), (extent,), (0,))) == (extent, 2 * extent, extent)


# -- sizes that only results have


def zeros_of(dtype: str = "float64") -> Any:
    c_type = {"float64": "double", "uint8": "unsigned char"}[dtype]
    source = f"void zeros_of({c_type}* out, long k) {{ for (long i = 0; i < k; ++i) out[i] = 0; }}"
    return load(source, "zeros_of", symbols=["K"], returns=[fr.Return("out", dtype, shape="K")])


def test_a_size_that_only_the_result_has() -> None:
    kernel = zeros_of()
    for size in (0, 1, 4, 17, 100_000):
        result = kernel(K=size)
        assert result.shape == (size,)
        assert not result.any()
    refused(lambda: kernel(), TypeError, "'K' must be given by keyword")
    refused(lambda: kernel(4), TypeError, "1 arguments are given by position, but at most 0")
    for size in (-1, -(2**31), -(2**63)):
        refused(lambda: kernel(K=size), ValueError, f"'K' is {size}, but it must not be negative")
    for no_size in (4.0, "4", None, np.ones(4)):
        refused(lambda: kernel(K=no_size), TypeError, "'K' is")
    refused(lambda: kernel(K=2**63), OverflowError, "'K' = 9223372036854775808 is out of range for int64")


@pytest.mark.parametrize("size", [2**62, 2**63 - 1])
def test_a_result_of_absurd_size(size: int) -> None:
    kernel = zeros_of("uint8")
    with pytest.raises(MemoryError, match=str(size)) as caught:
        kernel(K=size)
    assert isinstance(caught.value, fr.UserError)
    assert kernel(K=3).shape == (3,)
    doubles = zeros_of()
    with pytest.raises(
        ValueError, match=r"zeros_of\(\): A result of shape \(\d+,\) cannot be made: array is too big"
    ):  # as NumPy
        doubles(K=size)
    with pytest.raises(MemoryError, match=str(2**59)):
        doubles(K=2**59)
    assert doubles(K=3).shape == (3,)


@pytest.mark.parametrize("shape", ["N*4611686018427387904", "N*N*N"])
def test_a_size_beyond_64_bits_is_not_shown_wrapped(shape: str) -> None:
    source = "void sized(const double* a, const double* b, long n) {}"
    kernel = load(source, "sized", [fr.Arg("a", shape="N", order="any"), fr.Arg("b", shape=shape)])
    a = np.lib.stride_tricks.as_strided(np.ones(1), (2**31,), (0,))
    with pytest.raises(
        ValueError, match=r"b\.shape\[0\] = 0, not .* = more than 64 bits hold with N = 2147483648"
    ):
        kernel(a, np.ones(0))


# -- names


@pytest.fixture(scope="module")
def two() -> Any:
    source = "void two(const double* a, const double* b, long n) {}"
    return load(source, "two", [fr.Arg("a", shape="N"), fr.Arg("b", shape="N")])


def test_names_that_do_not_fit(two: Any) -> None:
    a = np.ones(3)
    signature = r"the signature is two\(a: float64\[N\], b: float64\[N\]\)"
    for call, text in [
        (lambda: two(a, a, n=5), rf"there is no argument 'n'; {signature}"),
        (lambda: two(a, b=a, n=5), rf"there is no argument 'n'; {signature}"),
        (lambda: two(a, a, **{"": 1}), rf"there is no argument ''; {signature}"),
        (lambda: two(a, a, **{"é": 1}), rf"there is no argument 'é'; {signature}"),
        (lambda: two(a, a=a), rf"'a' is given twice, by position and by name; {signature}"),
        (lambda: two(a, a, b=a), rf"'b' is given twice, by position and by name; {signature}"),
        (lambda: two(), rf"'a' is missing; {signature}"),
        (lambda: two(b=a), rf"'a' is missing; {signature}"),
        (lambda: two(a), rf"'b' is missing; {signature}"),
        (lambda: two(a, N=3), rf"'b' is missing; {signature}"),
        (
            lambda: two(a, a, a),
            rf"3 arguments are given by position, but at most 2 are expected; {signature}",
        ),
        (lambda: two(*[a] * 300), "300 arguments are given by position"),
    ]:
        refused(call, TypeError, text)
    assert two(a, a, N=3) is None
    assert two(**{"".join(["a"]): a, "".join(["b"]): a}) is None


def test_names_that_do_not_fit_an_annotated_function() -> None:
    @fr.program
    def two(a: Annotated[np.ndarray, fr.float64["N"]], b: Annotated[np.ndarray, fr.float64["N"]]) -> None:
        b[...] = a

    a, b = np.ones(3), np.zeros(3)
    for _ in range(2):
        for call, text in [
            (lambda: two(a, b, n=5), r"there is no argument 'n'; the signature is two\(a: .*, b: "),
            (lambda: two(a, a=a), "'a' is given twice"),
            (lambda: two(), "'a' is missing"),
            (lambda: two(a), "'b' is missing"),
            (lambda: two(a, b, a), "3 arguments are given by position, but at most 2"),
        ]:
            refused(call, TypeError, text)
        assert not b.any()
    two(a, b, N=3)
    assert b.all()

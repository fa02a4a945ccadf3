"""Arrays of any strides: read in logical order, written without touching neighbours, refused where density is declared."""

# ruff: noqa: B023 - calls that are to be refused are made at once
from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import numpy as np
import pytest

import ferrule as fr

Array = np.ndarray[Any, Any]
DTYPES = {"uint8": "uint8_t", "int16": "int16_t", "float32": "float", "complex128": "double _Complex"}
SIZES = ("N", "M", "K")
FILL = 99  # what lies around the elements of a view


def double_source(c_type: str) -> str:
    """double1..double3(x, y): y = x + x over any strides."""
    strides = [f"long {array}{axis}" for array in "xy" for axis in range(3)]
    return f"""
    #include <cstdint>
    template <class T> void loop(const T* x, T* y, const long* n, const long* s, const long* t) {{
      for (long i = 0; i < n[0]; ++i) for (long j = 0; j < n[1]; ++j) for (long k = 0; k < n[2]; ++k) {{
        const T v = x[i * s[0] + j * s[1] + k * s[2]];
        y[i * t[0] + j * t[1] + k * t[2]] = static_cast<T>(v + v);
      }}
    }}
    using T = {c_type};
    void double1(const T* x, T* y, long n, {strides[0]}, {strides[3]}) {{
      const long e[] = {{n, 1, 1}}, s[] = {{x0, 0, 0}}, t[] = {{y0, 0, 0}};
      loop(x, y, e, s, t);
    }}
    void double2(const T* x, T* y, long n, long m, {", ".join(strides[:2])}, {", ".join(strides[3:5])}) {{
      const long e[] = {{n, m, 1}}, s[] = {{x0, x1, 0}}, t[] = {{y0, y1, 0}};
      loop(x, y, e, s, t);
    }}
    void double3(const T* x, T* y, long n, long m, long k, {", ".join(strides)}) {{
      const long e[] = {{n, m, k}}, s[] = {{x0, x1, x2}}, t[] = {{y0, y1, y2}};
      loop(x, y, e, s, t);
    }}"""


@functools.cache
def loaded(dtype: str, rank: int) -> Any:
    shape = SIZES[:rank]
    args = [
        fr.Arg("x", dtype=dtype, shape=shape, order="any"),
        fr.Arg("y", dtype=dtype, shape=shape, order="any", intent="out"),
    ]
    strides = [f"{array}.strides[{axis}]" for array in "xy" for axis in range(rank)]
    signature = fr.Signature(f"double{rank}", args, parameters=["x", "y", *shape, *strides])
    return fr.compile_source(double_source(DTYPES[dtype]), signature).load()


def view_of(shape: tuple[int, ...], steps: tuple[int, ...], order: tuple[int, ...], dtype: str) -> tuple[Array, Array]:  # fmt: skip
    """Fresh memory of FILL, and a view of it with the shape: of these steps, its axes in this order in memory."""
    block = [abs(step) * extent + 2 for extent, step in zip(shape, steps, strict=True)]
    base = np.full([block[axis] for axis in order], FILL, dtype)
    view = base.transpose(np.argsort(order))
    for axis, (extent, step) in enumerate(zip(shape, steps, strict=True)):
        cut = slice(1, 1 + extent * step, step) if step > 0 else slice(extent * -step, 0, step)
        view = view[(slice(None),) * axis + (cut,)]
    assert view.shape == shape
    return base, view


def layouts(rank: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Steps of the axes, and their order in memory."""
    steps = (1, 2, -1, -3) if rank < 3 else (1, -1, 2)
    return itertools.product(itertools.product(steps, repeat=rank), itertools.permutations(range(rank)))


SHAPES = {
    1: [(0,), (1,), (2,), (15,), (16,), (17,), (1000,)],
    2: [(0, 3), (3, 0), (1, 1), (1, 7), (7, 1), (3, 4), (5, 33)],
    3: [(2, 0, 4), (1, 2, 1), (2, 3, 4), (3, 1, 17)],
}


def check_all_layouts(double: Callable[[Array, Array], Any], dtype: str, rank: int) -> None:
    numbers = np.random.default_rng(rank)
    for shape in SHAPES[rank]:
        for steps, order in layouts(rank):
            source_base, source = view_of(shape, steps, order, dtype)
            source[...] = numbers.integers(1, 40, shape)
            other = numbers.permutation(rank)
            base, target = view_of(shape, steps[::-1], tuple(int(axis) for axis in other), dtype)
            before = source_base.copy()
            double(source, target)
            np.testing.assert_array_equal(target, source + source)
            np.testing.assert_array_equal(source_base, before)
            target[...] = FILL
            assert (base == FILL).all()


@pytest.mark.parametrize(
    ("dtype", "rank"),
    [*((dtype, 1) for dtype in DTYPES), ("int16", 2), ("float32", 2), ("float32", 3), ("complex128", 3)],
)
def test_every_layout_is_read_in_logical_order_and_written_alone(dtype: str, rank: int) -> None:
    check_all_layouts(loaded(dtype, rank), dtype, rank)


ANY = fr.float64(order="any")


@fr.program
def double1(x: Annotated[np.ndarray, ANY["N"]], y: Annotated[np.ndarray, ANY["N"]]) -> None:
    y[...] = x + x


@fr.program
def double2(x: Annotated[np.ndarray, ANY["N", "M"]], y: Annotated[np.ndarray, ANY["N", "M"]]) -> None:
    y[...] = x + x


@fr.program
def double3(
    x: Annotated[np.ndarray, ANY["N", "M", "K"]], y: Annotated[np.ndarray, ANY["N", "M", "K"]]
) -> None:
    y[...] = x + x


@pytest.mark.parametrize("double", [double1, double2, double3])
def test_annotated_functions_of_any_layout(double: Any) -> None:
    check_all_layouts(double, "float64", int(double.__name__[-1]))
    assert len(double.specialisations) == 1


@pytest.mark.parametrize("rank", [1, 2])
def test_plain_functions(rank: int) -> None:
    @fr.program(recompile_limit=100)
    def double(x: Any, y: Any) -> None:
        y[...] = x + x

    check_all_layouts(double, "float64", rank)


@fr.program
def rowsum(x: Any) -> Any:
    return x.sum(axis=1)


@fr.program
def first_is_one(x: Any) -> None:
    x[0] = 1


def test_slices_of_columns_are_not_dense() -> None:
    x = np.arange(12.0).reshape(3, 4)
    for _ in range(2):
        np.testing.assert_array_equal(rowsum(x), x.sum(axis=1))
        np.testing.assert_array_equal(rowsum(x[:, :2]), [1, 9, 17])
        np.testing.assert_array_equal(rowsum(x[::-1, 1::2]), [20, 12, 4])
    z = np.zeros((2, 2))
    first_is_one(z[:, 0])
    np.testing.assert_array_equal(z, [[1, 0], [0, 0]])
    first_is_one(z[1, ::-1])
    np.testing.assert_array_equal(z, [[1, 0], [0, 1]])


# -- declared to be dense


@pytest.fixture(scope="module")
def dense() -> dict[str, Any]:
    """Kernels over arrays in C and in F order, read and written."""
    text = "void dense(const double* x, double* y, long n, long m) { for (long i = 0; i < n * m; ++i) y[i] = x[i]; }"
    kernels = {}
    for order in "CF":
        args = [
            fr.Arg("x", shape=("N", "M"), order=order),
            fr.Arg("y", shape=("N", "M"), order=order, intent="inout"),
        ]
        kernels[order] = fr.compile_source(text, fr.Signature("dense", args)).load()
    return kernels


NOT_C = {
    "transposed": lambda x: x.T,
    "rows reversed": lambda x: x[::-1],
    "columns reversed": lambda x: x[:, ::-1],
    "every other column": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "fewer columns": lambda x: np.repeat(x, 2, axis=1)[:, : x.shape[1]],
    "every other row": lambda x: np.repeat(x, 2, axis=0)[::2],
    "F order": np.asfortranarray,
    "broadcast": lambda x: np.broadcast_to(x[:1], x.shape),
}


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("make", NOT_C.values(), ids=list(NOT_C))
def test_a_dense_order_is_not_taken_for_another(dense: dict[str, Any], order: str, make: Any) -> None:
    given = make(np.arange(16.0).reshape(4, 4))
    given = given if order == "C" else given.T
    good = np.full((4, 4), 7.0, order=order)
    strides = ", ".join(map(str, good.strides))
    got = ", ".join(map(str, given.strides))
    sentence = rf"must be contiguous in {order} order with strides \({strides}\) bytes, but its strides are \({got}\)"
    before = given.copy()
    with pytest.raises(ValueError, match=f"'x' {sentence}"):
        dense[order](given, good)
    if given.flags.writeable:
        with pytest.raises(ValueError, match=f"'y' {sentence}"):
            dense[order](np.ones((4, 4), order=order), given)
    np.testing.assert_array_equal(given, before)
    assert (good == 7).all()


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1), (1, 0), (0, 4), (4, 0), (0, 0)])
def test_short_axes_have_both_orders(dense: dict[str, Any], shape: tuple[int, int]) -> None:
    numbers = np.arange(float(np.prod(shape)))
    for order, x_order, y_order in itertools.product("CF", repeat=3):
        x, y = numbers.reshape(shape).copy(order=x_order), np.zeros(shape, order=y_order)
        dense[order](x, y)
        np.testing.assert_array_equal(y, x)


def strange(shape: tuple[int, ...]) -> Iterator[Array]:
    """Arrays whose strides mean nothing, since their axes have one element or the array has none."""
    for values in itertools.product((0, 3, -8, 1 << 40), repeat=len(shape)):
        axes = [8 if extent > 1 else value for extent, value in zip(shape, values, strict=True)]
        yield np.lib.stride_tricks.as_strided(np.ones(8), shape, axes)


@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (3, 1), (0, 3), (3, 0), (0, 0)])
def test_strides_that_mean_nothing_are_not_looked_at(dense: dict[str, Any], shape: tuple[int, int]) -> None:
    for order in "CF":
        for x in strange(shape):
            y = np.zeros(shape, order=order)
            dense[order](x, y)
            assert (y == 1).all()
            dense[order](np.full(shape, 2.0, order=order), x)
            assert (x == 2).all()


def test_one_specialisation_serves_both_orders() -> None:
    plain = fr.program(lambda x: x * 2.0)
    for shape in ((1, 5), (5, 1), (1, 1), (4, 6)):
        x = np.arange(float(np.prod(shape))).reshape(shape)
        np.testing.assert_array_equal(plain(x), x * 2)
        if 1 in shape:
            np.testing.assert_array_equal(plain(np.asfortranarray(x)), x * 2)
            np.testing.assert_array_equal(plain(x.T.copy().T), x * 2)
    line = np.arange(5.0)
    assert len(plain.specialisations) == 1
    plain(line)
    plain(np.asfortranarray(line))
    assert len(plain.specialisations) == 2
    for order in "CF":
        declared = fr.program(order=order)(annotated_double)
        for x in (np.ones((1, 4)), np.ones((4, 1)), np.ones((4, 1), order="F"), np.ones((2, 3), order=order)):
            np.testing.assert_array_equal(declared(x), x + x)
        assert len(declared.specialisations) == 1


def annotated_double(x: Annotated[np.ndarray, fr.float64["N", "M"]]) -> Any:
    return x + x


def test_axes_of_one_element() -> None:
    cut = np.arange(3.0).reshape(1, 3)[:, :2]
    assert cut.strides == (24, 8)
    product = fr.program(lambda a, b: a * b)
    np.testing.assert_array_equal(product(np.ones((1, 2)), np.ones((1, 2))), 1)
    np.testing.assert_array_equal(product(cut, cut), cut * cut)
    assert len(product.specialisations) == 1
    column, row = np.arange(4.0)[:, None], np.arange(4.0)[None, :]
    np.testing.assert_array_equal(product(column, row), np.outer(column, row))


def test_a_matrix_product_of_a_column_and_a_row() -> None:
    text = """
    void matmul(const double* a, const double* b, double* c, long n, long k, long m) {
      for (long i = 0; i < n * m; ++i) {
        c[i] = 0;
        for (long j = 0; j < k; ++j) c[i] += a[i / m * k + j] * b[j * m + i % m];
      }
    }"""
    signature = fr.Signature(
        "matmul", [fr.Arg("a", shape=("N", "K")), fr.Arg("b", shape=("K", "M"))],
        returns=[fr.Return("c", shape=("N", "M"))], parameters=["a", "b", "c", "N", "K", "M"],
    )  # fmt: skip
    matmul = fr.compile_source(text, signature).load()
    column = np.arange(12.0).reshape(4, 3)[:, :1].copy()
    rows = np.arange(8.0).reshape(2, 4)
    np.testing.assert_array_equal(matmul(column, rows[:1]), np.outer(column, rows[0]))
    np.testing.assert_array_equal(matmul(rows[:1], column), rows[:1] @ column)
    np.testing.assert_array_equal(matmul(rows[:1, :1], rows[1:]), rows[:1, :1] @ rows[1:])
    np.testing.assert_array_equal(matmul(rows.reshape(1, 8)[:, :4], rows.reshape(8, 1)[4:]), [[38]])


# -- stride zero


@fr.program
def total(x: Any) -> Any:
    return x.sum()


@fr.program
def maximum_of(x: Any) -> Any:
    return x.max()


def filling(y: Any) -> None:
    y[...] = 5.0


@pytest.fixture(scope="module")
def any_order() -> Any:
    return loaded("float32", 2)


def test_one_element_that_is_read_many_times(any_order: Any) -> None:
    assert total(np.broadcast_to(2.0, (5,))) == 10.0
    assert maximum_of(np.zeros(2000)[:, None]) == 0.0
    assert total(np.broadcast_to(np.arange(3.0)[:, None], (3, 1000))) == 3000.0
    huge = np.lib.stride_tricks.as_strided(np.ones(1, "f4"), (3, 1 << 40), (4, 0))[:, :4]
    for shape in ((3, 5), (1, 5), (5, 1), (0, 3)):
        for source in (
            np.float32(2),
            np.arange(shape[1], dtype="f4"),
            np.arange(shape[0], dtype="f4")[:, None],
        ):
            x, y = np.broadcast_to(source, shape), np.zeros(shape, "f4")
            any_order(x, y)
            np.testing.assert_array_equal(y, x + x)
    np.testing.assert_array_equal(huge[:1].sum(), 4)


OVERLAPPING = [((3,), (0,)), ((3, 4), (0, 4)), ((3, 4), (16, 0)), ((3, 4), (4, 4)), ((3, 4), (0, 0)), ((4, 3), (8, 4)),
               ((3, 4), (-4, 4)), ((5,), (2,)), ((5,), (-2,)), ((3, 1), (0, 4))]  # fmt: skip


@pytest.mark.parametrize(("shape", "strides"), OVERLAPPING)
def test_written_elements_that_share_memory_are_refused(any_order: Any, shape: Any, strides: Any) -> None:
    memory = np.arange(64, dtype="f4")
    y = np.lib.stride_tricks.as_strided(memory[16:], shape, strides)
    if len(shape) == 2:
        texts = [", ".join(map(str, numbers)) for numbers in (shape, strides)]
        with pytest.raises(
            ValueError,
            match=rf"'y' is written, but elements of it share memory: shape \({texts[0]}\), strides \({texts[1]}\) bytes",
        ):
            any_order(np.ones(shape, "f4"), y)
    fill = fr.program(filling)
    made = set()
    for _ in range(3):
        with pytest.raises(
            ValueError, match=r"'y' (is written, but elements of it share memory|has the stride .?2 )"
        ):
            fill(y)
        made.add(len(fill.specialisations))
    assert len(made) == 1  # a refused call makes no specialisation of its own
    np.testing.assert_array_equal(memory, np.arange(64))


def test_disjoint_strides_are_no_overlap(any_order: Any) -> None:
    for shape, strides in (
        ((3, 4), (16, 4)),
        ((4, 3), (4, 16)),
        ((3, 4), (-32, 8)),
        ((1, 4), (0, 4)),
        ((3, 0), (0, 0)),
    ):
        y = np.lib.stride_tricks.as_strided(np.zeros(64, "f4")[32:], shape, strides)
        any_order(np.ones(shape, "f4"), y)
        assert (y == 2).all()


# -- fields of records and odd addresses


@pytest.mark.parametrize("dtype", DTYPES)
def test_fields_of_records(dtype: str) -> None:
    double = loaded(dtype, 1)
    item = np.dtype(dtype).itemsize
    for pad in range(1, 2 * item + 1):
        records = np.zeros(9, [("pad", f"V{pad}"), ("b", dtype)])
        field, target = records["b"], np.zeros(9, dtype)
        field[:] = np.arange(9)
        if pad % item == 0:
            double(field, target)
            np.testing.assert_array_equal(target, field + field)
            double(target, field)
            np.testing.assert_array_equal(field, target + target)
            continue
        for name, call in (("x", lambda: double(field, target)), ("y", lambda: double(target, field))):
            before = records.copy()
            with pytest.raises(ValueError, match=f"'{name}' (has stride {item + pad} bytes .* item size {item}|is not aligned)"):  # fmt: skip
                call()
            np.testing.assert_array_equal(records, before)
            assert not target.any()


def odd(size: int, dtype: str, past: int) -> Array:
    """An array that begins so many bytes past a multiple of 64."""
    item = np.dtype(dtype).itemsize
    memory = np.zeros(size * item + 128, np.uint8)
    start = -memory.ctypes.data % 64 + past
    return memory[start : start + size * item].view(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1, 2, 7, 8, 17, 1000])
def test_alignment_asked_is_that_of_the_item(dtype: str, size: int) -> None:
    double = loaded(dtype, 1)
    alignment = np.dtype(dtype).alignment
    for past in range(17):
        x, y = odd(size, dtype, past), odd(size, dtype, past)
        x[:] = np.arange(size) % 50
        good = np.zeros(size, dtype)
        if past % alignment == 0:
            double(x, y)
            np.testing.assert_array_equal(y, x + x)
            continue
        for name, call in (("x", lambda: double(x, good)), ("y", lambda: double(good, y))):
            with pytest.raises(ValueError, match=f"'{name}' is not aligned"):
                call()
        assert not good.any()
        assert not y.any()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("size", [1, 3, 8, 33])
def test_functions_at_any_address(dtype: str, size: int) -> None:
    def triple(x: Any) -> Any:
        return x * 3

    native = fr.program(triple)
    for past in range(17):
        x = odd(size, dtype, past)
        x[:] = np.arange(size)
        if past % np.dtype(dtype).itemsize == 0:
            np.testing.assert_array_equal(native(x), x * 3)
            continue
        with pytest.raises(ValueError, match="'x' is not aligned: it begins"):
            native(x)
    assert len(native.specialisations) == 1


# -- arrays without elements


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (0, 0), (2, 0, 4), (0, 1, 1)])
@pytest.mark.parametrize("dtype", ["float64", "int32", "bool", "uint16"])
def test_empty_arrays(shape: tuple[int, ...], dtype: str) -> None:
    def both(x: Any, y: Any) -> Any:
        y[...] = x
        return x + x, x.sum(), x.sum(axis=0)

    native = fr.program(both)
    memory = np.zeros(64, np.uint8)
    frozen = np.zeros(shape, dtype)
    frozen.flags.writeable = False
    for x in (
        np.zeros(shape, dtype),
        frozen,
        np.zeros(shape, dtype, order="F"),
        np.ndarray(shape, dtype, memory, 1, (5,) * len(shape)),
        np.lib.stride_tricks.as_strided(np.zeros(1, dtype), shape, (0,) * len(shape)),
        np.lib.stride_tricks.as_strided(np.zeros(1, dtype), shape, (-(1 << 40),) * len(shape)),
    ):
        y = np.zeros(shape, dtype)
        for mine, numpys in zip(native(x, y), both(x, y), strict=True):
            np.testing.assert_array_equal(mine, numpys, strict=True)
    assert len(native.specialisations) == 1


@pytest.mark.parametrize("order", ["C", "F", "inner", "any"])
def test_arrays_without_elements_have_every_layout(order: str) -> None:
    def more(a: Any) -> Any:
        return a + 1.0

    more.__annotations__["a"] = fr.float64(order=order)["N", "M"]
    program = fr.program(more)
    wide = np.zeros((6, 8))
    for a in (
        wide[:0],
        wide[:, :0],
        wide[:0, ::2],
        wide[::2, ::-3][:, :0],
        wide.T[:0],
        wide[:0, 3:][:, ::-1],
    ):
        assert program(a).shape == a.shape
    for a in (wide[:1, :1], wide[::2, ::3][:1, 1:2]):
        assert program(a).shape == (1, 1)

"""Arrays of another dtype or byte order: refused for every pair, in every place, before anything runs."""

# ruff: noqa: B023 - calls that are to be refused are made at once
from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import pytest

import ferrule as fr

C_TYPES = {
    "bool": "bool", "int8": "int8_t", "int16": "int16_t", "int32": "int32_t", "int64": "int64_t", "uint8": "uint8_t",
    "uint16": "uint16_t", "uint32": "uint32_t", "uint64": "uint64_t", "float16": "uint16_t", "float32": "float",
    "float64": "double", "complex64": "float _Complex", "complex128": "double _Complex",
}  # fmt: skip
SIZES = (0, 1, 3, 16, 17, 1000)


@pytest.fixture(scope="module")
def copies() -> Any:
    """copies(from_T, to_T, ..., runs): copies for each T where both are given, and counts its runs."""
    parameters, body, args = [], [], []
    for name, c_type in C_TYPES.items():
        parameters += [f"const {c_type}* from_{name}", f"{c_type}* to_{name}"]
        body.append(
            f"if (from_{name} && to_{name}) for (long i = 0; i < n; ++i) to_{name}[i] = from_{name}[i];"
        )
        args += [
            fr.Arg(f"from_{name}", dtype=name, shape="N", optional=True),
            fr.Arg(f"to_{name}", dtype=name, shape="N", intent="inout", optional=True),
        ]
    source = f"""
    #include <cstdint>
    void copies({", ".join(parameters)}, const double* last, int64_t* runs, long n) {{
      ++*runs;
      {" ".join(body)}
    }}"""
    args += [fr.Arg("last", shape="N"), fr.Arg("runs", dtype="int64", shape=1, intent="inout")]
    return fr.compile_source(source, fr.Signature("copies", args)).load()


# A copy would lose the writes.
ADVICE_FOR_WRITTEN = "the program writes it, so make an array of that dtype."


def given_by_position(values: dict[str, Any], **more: Any) -> list[Any]:
    """All arguments of `copies` in order, None where none is given."""
    names = [f"{way}_{name}" for name in C_TYPES for way in ("from", "to")]
    return [*(values.get(name) for name in names), more["last"], more["runs"]]


def refused(copies: Any, values: dict[str, Any], sentence: str) -> None:
    """Neither way of calling runs the kernel or touches an array."""
    last = np.zeros(next(iter(values.values())).shape[0])
    runs = np.zeros(1, np.int64)
    before = {name: value.tobytes() for name, value in values.items()}
    for call in (
        lambda: copies(**values, last=last, runs=runs),
        lambda: copies(*given_by_position(values, last=last, runs=runs)),
    ):
        with pytest.raises(fr.UserError) as caught:
            call()
        assert isinstance(caught.value, TypeError)
        assert str(caught.value) == f"copies(): {sentence}"
    assert runs[0] == 0
    assert {name: value.tobytes() for name, value in values.items()} == before


@pytest.mark.parametrize("declared", C_TYPES)
def test_every_pair_of_dtypes_in_both_directions(copies: Any, declared: str) -> None:
    for given in C_TYPES:
        for size in SIZES:
            source, target = np.arange(size).astype(given), np.ones(size, declared)
            if given == declared:
                runs = np.zeros(1, np.int64)
                values = {f"from_{declared}": source, f"to_{declared}": target}
                copies(**values, last=np.zeros(size), runs=runs)
                copies(*given_by_position(values, last=np.zeros(size), runs=runs))
                np.testing.assert_array_equal(target, source)
                assert runs[0] == 2
                continue
            sentence = f"has dtype {given}, but {declared} is expected"
            loses = given.startswith("complex") and not declared.startswith("complex")
            advice = "" if loses else f"; pass from_{declared}.astype('{declared}')"
            refused(
                copies,
                {f"to_{declared}": target, f"from_{declared}": source},
                f"'from_{declared}' {sentence}{advice}.",
            )
            refused(copies, {f"to_{declared}": source}, f"'to_{declared}' {sentence}; {ADVICE_FOR_WRITTEN}")


@pytest.mark.parametrize("dtype", [name for name in C_TYPES if np.dtype(name).itemsize > 1])
def test_foreign_byte_order(copies: Any, dtype: str) -> None:
    foreign = np.dtype(dtype).newbyteorder()
    advice = f"has dtype {foreign.str} in foreign byte order, but native {dtype} is expected; "
    for size in SIZES:
        swapped = np.arange(size).astype(foreign)
        refused(
            copies, {f"from_{dtype}": swapped}, f"'from_{dtype}' {advice}pass from_{dtype}.astype('{dtype}')."
        )
        refused(copies, {f"to_{dtype}": swapped}, f"'to_{dtype}' {advice}{ADVICE_FOR_WRITTEN}")


@pytest.mark.parametrize("text", [">i1", ">u1", ">b1", "<i1", "=u1", "|b1"])
def test_one_byte_has_no_order(copies: Any, text: str) -> None:
    name = np.dtype(text).name
    for size in SIZES:
        source, target = np.arange(size).astype(np.dtype(text)), np.ones(size, name)
        copies(
            **{f"from_{name}": source, f"to_{name}": target},
            last=np.zeros(size),
            runs=np.zeros(1, np.int64),
        )
        np.testing.assert_array_equal(target, source)


OTHERS = [[("a", "f8")], [("a", "u1")], "O", "U3", "S3", "S8", "M8[s]", "m8[s]", "V8", "V1", "g", "G"]


@pytest.mark.parametrize("other", OTHERS, ids=str)
def test_elements_that_are_no_numbers(copies: Any, other: Any) -> None:
    for declared in C_TYPES:
        for size in (0, 1, 17):
            strange = np.zeros(size, other)
            for way in ("from", "to"):
                name = f"{way}_{declared}"
                runs, target = np.zeros(1, np.int64), np.ones(size)
                with pytest.raises(TypeError, match=f"'{name}' has dtype .*, but {declared} is expected"):
                    copies(**{name: strange}, last=target, runs=runs)
                assert runs[0] == 0
                np.testing.assert_array_equal(strange, np.zeros(size, other))


# -- decorated functions


@fr.program
def annotated(
    bool_: Annotated[np.ndarray, fr.bool_["N"]],
    int8: Annotated[np.ndarray, fr.int8["N"]],
    int16: Annotated[np.ndarray, fr.int16["N"]],
    int32: Annotated[np.ndarray, fr.int32["N"]],
    int64: Annotated[np.ndarray, fr.int64["N"]],
    uint8: Annotated[np.ndarray, fr.uint8["N"]],
    uint16: Annotated[np.ndarray, fr.uint16["N"]],
    uint32: Annotated[np.ndarray, fr.uint32["N"]],
    uint64: Annotated[np.ndarray, fr.uint64["N"]],
    float32: Annotated[np.ndarray, fr.float32["N"]],
    float64: Annotated[np.ndarray, fr.float64["N"]],
) -> Any:
    int32[:] = int32 * 2
    float32 *= 2
    float64 += bool_
    return int8 + int16, int64 + 1, uint8 + uint16, uint32 + 1, uint64 + 1


PROGRAMS = {name if name != "bool" else "bool_": name for name in C_TYPES if name not in ("float16", "complex64", "complex128")}  # fmt: skip


def given(size: int) -> dict[str, np.ndarray[Any, Any]]:
    return {name: np.arange(size).astype(dtype) for name, dtype in PROGRAMS.items()}


@pytest.mark.parametrize("name", PROGRAMS)
def test_annotated_functions_refuse_every_other_dtype(name: str) -> None:
    for other in [*C_TYPES, ">f8", ">i4", ">c8", *OTHERS]:
        if other == PROGRAMS[name]:
            continue
        for size in (0, 1, 17):
            values = given(size)
            values[name] = np.zeros(size, other)
            before = {key: value.copy() for key, value in values.items()}
            for call in (lambda: annotated(**values), lambda: annotated(*values.values())):
                with pytest.raises(fr.UserError, match=rf"annotated\(\): '{name}' has dtype .*{PROGRAMS[name]}") as caught:  # fmt: skip
                    call()
                assert isinstance(caught.value, TypeError)
            for key, value in values.items():
                np.testing.assert_array_equal(value, before[key])
    values = given(5)
    annotated(**values)
    np.testing.assert_array_equal(values["float32"], [0, 2, 4, 6, 8])


def test_another_dtype_of_a_plain_function_is_another_program() -> None:
    """Without annotations nothing is declared: what NumPy does with the dtype is done, never a conversion of the output."""

    def scale(y: Any) -> None:
        y *= 2

    native = fr.program(scale)
    for dtype in PROGRAMS.values():
        for size in (0, 1, 17):
            mine, numpys = np.arange(size).astype(dtype), np.arange(size).astype(dtype)
            if dtype == "bool":
                with pytest.raises(TypeError):
                    scale(numpys)
                with pytest.raises(TypeError):
                    native(mine)
                continue
            native(mine)
            scale(numpys)
            np.testing.assert_array_equal(mine, numpys, strict=True)
    for foreign in (">f8", ">i4", ">f4"):
        y = np.arange(3).astype(foreign)
        with pytest.raises(TypeError, match=r"'y'.* byte order"):
            native(y)
        np.testing.assert_array_equal(y, [0, 1, 2])


def test_a_loaded_kernel_keeps_the_dtype_of_its_sample() -> None:
    kernel = fr.program(lambda y: np.multiply(y, 2, y)).compile(np.ones(3, np.float32)).load()
    y = np.array([1, 2, 3])
    with pytest.raises(TypeError, match="'y' has dtype int64, but float32 is expected"):
        kernel(y)
    np.testing.assert_array_equal(y, [1, 2, 3])

"""Faults that were found in source kernels and in the arguments of decorated functions."""

from __future__ import annotations

import enum
import threading

import numpy as np
import pytest

import ferrule as fr


class Mode(enum.IntEnum):
    ONE = 1
    THREE = 3


class Length(float):
    pass


@fr.program
def shifted(a, n):
    return a + n


@pytest.mark.parametrize("number", [Mode.THREE, Length(2.5), True])
def test_subclasses_of_numbers_are_values_of_their_own(number):
    made = len(shifted.specialisations)
    for _ in range(3):
        np.testing.assert_array_equal(shifted(np.zeros(3), number), np.zeros(3) + number)
    assert len(shifted.specialisations) == made + 1


def test_an_optional_array_tells_a_size_only_where_no_other_does():
    args = [fr.Arg("a", shape="N", optional=True), fr.Arg("b", shape="2*N")]
    signature = fr.Signature(
        "f", args, returns=[fr.Return("n", "int64", kind="scalar")], result="n", parameters=["N"]
    )
    kernel = fr.compile_source("long f(long n) { return n; }", signature).load()
    assert kernel(None, np.zeros(6)) == 3
    assert kernel(np.zeros(3), np.zeros(6)) == 3
    with pytest.raises(ValueError, match=r"a\.shape\[0\] = 4"):
        kernel(np.zeros(4), np.zeros(6))


@pytest.mark.parametrize(
    ("dtype", "default", "text"),
    [
        ("int8", 300, "300, which int8 does not hold"),
        ("uint16", -1, "-1, which uint16 does not hold"),
        ("float64", "abc", "'abc', which is no float64"),
        ("int64", 2.0, "2.0, which is no int64"),
        ("bool", 1, "1, which is no bool"),
        ("float64", True, "True, which is no float64"),
        ("float64", float("nan"), "a NaN has no literal"),
        ("complex128", complex(0, float("nan")), "a NaN has no literal"),
    ],
)
def test_defaults_that_no_call_could_take(dtype, default, text):
    with pytest.raises(fr.UserError, match=text):
        fr.Arg("x", kind="scalar", dtype=dtype, default=default)._fields()


@pytest.mark.parametrize("default", [float("inf"), -float("inf"), -0.0, 1e-320, 3])
def test_defaults_of_floats(default):
    signature = fr.Signature(
        "f",
        [fr.Arg("x", kind="scalar", default=default)],
        returns=[fr.Return("r", kind="scalar")],
        result="r",
    )
    result = fr.compile_source("double f(double x) { return x; }", signature).load()()
    assert result == default
    assert np.signbit(result) == np.signbit(float(default))


def test_packing_that_the_author_leaves_on():
    text = "#pragma pack(1)\nstruct P { signed char a; double b; };\nint f() { return sizeof(P); }"
    signature = fr.Signature("f", returns=[fr.Return("n", "int32", kind="scalar")], result="n")
    assert fr.compile_source(text, signature).load()() == 9


def test_a_size_of_absurd_length():
    for text in ("-" * 50_000 + "N", "(" * 50_000 + "N" + ")" * 50_000):
        with pytest.raises(fr.UserError, match="too long"):
            fr.Signature("f", [fr.Arg("x", shape=text)])


STATE = """
#include "ferrule/rt/author.h"
static int it;
int* open(int n) { return &it; }
double f(int* s, fr_author::Callback<double(double)> cb, double x) { auto r = cb(x); return r ? r.value : -1; }
"""


def test_initialize_checks_like_a_call():
    text = "static int it; int* open(int n) { return &it; } void f(int* s, double* x, int n) {}"
    signature = fr.Signature(
        "f", [fr.Arg("x", shape="N")], symbols=[fr.Symbol("N", "int32")], parameters=["state", "x", "N"],
        init=fr.AuthorFunction("open", ["N"], "state"), persistent=["N"],
    )  # fmt: skip
    kernel = fr.compile_source(text, signature).load()
    with pytest.raises(ValueError, match="N <= 2147483647"):
        kernel.initialize(N=2**32 + 3)
    with pytest.raises(ValueError, match=r"'N' is -1, but it must not be negative"):
        kernel.initialize(N=-1)
    for wrong in (True, 3.0, "3"):
        with pytest.raises(TypeError, match="'N' is"):
            kernel.initialize(N=wrong)
    kernel.initialize(N=3)
    kernel(np.zeros(3))


def within(seconds, function):
    """The result of a function that must not hang."""
    results = []
    thread = threading.Thread(target=lambda: results.append(function()), daemon=True)
    thread.start()
    thread.join(seconds)
    assert results, "it hangs"
    return results[0]


def test_a_callback_may_initialise_its_kernel():
    args = [fr.Arg("cb", kind="callback", params=(fr.Arg("v", kind="scalar"),), returns="float64"),
            fr.Arg("x", kind="scalar")]  # fmt: skip
    signature = fr.Signature(
        "f", args, returns=[fr.Return("r", kind="scalar")], result="r", symbols=[fr.Symbol("N", "int32")],
        persistent=["N"],
        parameters=["state", "cb", "x"], init=fr.AuthorFunction("open", ["N"], "state"),
    )  # fmt: skip
    kernel = fr.compile_source(STATE, signature).load()
    assert within(30, lambda: kernel(lambda v: (kernel.initialize(N=3), v)[1], 1.5, N=3)) == 1.5


def test_a_callback_cannot_replace_a_workspace_in_use():
    text = """
    #include "ferrule/rt/author.h"
    double f(fr_author::Callback<double(double)> cb, double x, char* w) { auto r = cb(x); return r ? r.value : -1; }
    """
    args = [fr.Arg("cb", kind="callback", params=(fr.Arg("v", kind="scalar"),), returns="float64"),
            fr.Arg("x", kind="scalar")]  # fmt: skip
    signature = fr.Signature(
        "f", args, returns=[fr.Return("r", kind="scalar")], result="r", parameters=["cb", "x", "w"],
        workspaces=[fr.Workspace("w", "8", 1)],
    )  # fmt: skip
    kernel = fr.compile_source(text, signature).load()
    kernel.set_workspace("w", bytearray(8))

    def replace(value):
        with pytest.raises(RuntimeError, match="another call is using the workspaces"):
            kernel.set_workspace("w", bytearray(8))
        return value

    assert within(30, lambda: kernel(replace, 2.5)) == 2.5
    kernel.set_workspace("w", bytearray(8))


@pytest.mark.parametrize(
    ("dtype", "parameter", "fits"),
    [
        ("int64", "long", True), ("int64", "long long", True), ("int64", "unsigned long", True), ("int64", "int", False),
        ("int64", "double", False), ("int32", "int", True), ("int32", "long", True), ("int32", "short", False),
        ("float64", "double", True), ("float64", "float", False), ("float64", "long", False), ("float32", "double", True),
        ("float32", "const float&", True), ("bool", "bool", True), ("bool", "int", True), ("int8", "bool", False),
        ("int8", "signed char", True), ("uint8", "unsigned char", True), ("uint64", "int", False),
    ],
)  # fmt: skip
def test_a_narrower_parameter_does_not_compile(dtype, parameter, fits):
    signature = fr.Signature(
        "f",
        [fr.Arg("x", kind="scalar", dtype=dtype)],
        returns=[fr.Return("r", dtype, kind="scalar")],
        result="r",
    )
    c_type = {"int64": "long", "int32": "int", "int8": "signed char", "uint8": "unsigned char", "uint64": "unsigned long",
              "float64": "double", "float32": "float", "bool": "bool"}[dtype]  # fmt: skip
    text = f"{c_type} f({parameter} x) {{ return x; }}"
    if fits:
        assert fr.compile_source(text, signature).load()(1) == 1 if dtype != "bool" else True
        return
    with pytest.raises(fr.BuildError, match="cannot convert"):
        fr.compile_source(text, signature)


def test_a_narrower_size_does_not_compile():
    signature = fr.Signature("f", [fr.Arg("x", shape="N")])
    fr.compile_source("void f(double* x, unsigned long n) {}", signature)
    with pytest.raises(fr.BuildError, match="cannot convert"):
        fr.compile_source("void f(double* x, int n) {}", signature)
    fr.compile_source(
        "void f(double* x, int n) {}",
        fr.Signature("f", [fr.Arg("x", shape="N")], symbols=[fr.Symbol("N", "int32")]),
    )


def test_a_wider_result_does_not_compile():
    signature = fr.Signature("f", returns=[fr.Return("r", "int32", kind="scalar")], result="r")
    assert fr.compile_source("short f() { return 7; }", signature).load()() == 7
    for text in ("double f() { return 2.7; }", "long f() { return 7; }"):
        with pytest.raises(fr.BuildError, match="cannot convert"):
            fr.compile_source(text, signature)


FRAME_NAMES = [
    "state",
    "call",
    "run",
    "run_alias",
    "init",
    "leave",
    "exit",
    "persistent",
    "x0",
    "module_facts",
    "args",
]
LONG = [fr.Return("r", "int64", kind="scalar")]


def test_functions_with_the_names_that_the_frame_has_inside():
    text = "\n".join(f"long {name}() {{ return {place}; }}" for place, name in enumerate(FRAME_NAMES))
    for name in ("state", "call", "run", "init", "x0"):
        kernel = fr.compile_source(text, fr.Signature(name, returns=LONG, result="r")).load()
        assert kernel() == FRAME_NAMES.index(name)


@pytest.mark.parametrize(
    "helper", ["static long {} = 5;", "struct {} {{ long n; }};", "namespace {} {{ long n; }}"]
)
def test_other_things_with_these_names(helper):
    text = "\n".join(helper.format(name) for name in FRAME_NAMES)
    signature = fr.Signature("f", [fr.Arg("a", shape="N")], returns=LONG, result="r")
    kernel = fr.compile_source(f"{text}\nlong f(double* a, long n) {{ return n; }}", signature).load()
    assert kernel(np.zeros(3)) == 3


def test_init_and_exit_with_these_names():
    text = "static int it; int* init() { return &it; } void leave(int*) {} long state(int* p) { return p == &it; }"
    signature = fr.Signature(
        "state", returns=LONG, result="r", parameters=["state"], init=fr.AuthorFunction("init", [], "state"),
        exit=fr.AuthorFunction("leave", ["state"]),
    )  # fmt: skip
    kernel = fr.compile_source(text, signature).load()
    assert kernel() == 1
    kernel.finalize()

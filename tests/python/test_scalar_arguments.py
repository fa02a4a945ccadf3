"""Numbers as arguments: ranges, kinds, exactness, and what an argument gives does not depend on earlier calls."""

# ruff: noqa: B023 - calls that are to be refused are made at once
from __future__ import annotations

import itertools
import math
import random
import subprocess
import sys
from typing import Annotated, Any

import numpy as np
import pytest

import ferrule as fr

C_TYPES = {
    "bool": "bool", "int8": "int8_t", "int16": "int16_t", "int32": "int32_t", "int64": "int64_t", "uint8": "uint8_t",
    "uint16": "uint16_t", "uint32": "uint32_t", "uint64": "uint64_t", "float32": "float", "float64": "double",
    "complex64": "float _Complex", "complex128": "double _Complex",
}  # fmt: skip
INTS = [name for name in C_TYPES if "int" in name]
FLOATS = ["float32", "float64"]


def echo_source() -> str:
    """echo(one scalar of each type) gives them back."""
    takes = [f"{c_type} in_{name}" for name, c_type in C_TYPES.items()]
    gives = [f"{c_type}* out_{name}" for name, c_type in C_TYPES.items()]
    body = " ".join(f"*out_{name} = in_{name};" for name in C_TYPES)
    return f"#include <cstdint>\nvoid echo({', '.join(takes + gives)}) {{ {body} }}"


def echo_kernel(**options: Any) -> Any:
    args = [
        fr.Arg(name, kind="scalar", dtype=name, default=False if name == "bool" else 0) for name in C_TYPES
    ]
    returns = [fr.Return(f"out_{name}", name, kind="scalar") for name in C_TYPES]
    return fr.compile_source(echo_source(), fr.Signature("echo", args, returns=returns, **options)).load()


@pytest.fixture(scope="module")
def echo() -> Any:
    kernel = echo_kernel()

    def call(name: str, value: Any) -> Any:
        """What came back, given by name and by position alike."""
        place = [*C_TYPES].index(name)
        named = kernel(**{name: value})[place]
        before = [False if other == "bool" else 0 for other in [*C_TYPES][:place]]
        positional = kernel(*before, value)[place]
        assert type(named) is type(positional)
        assert named.tobytes() == positional.tobytes()
        return named

    return call


@fr.program
def annotated(
    int8: fr.int8, int16: fr.int16, int32: fr.int32, int64: fr.int64, uint8: fr.uint8, uint16: fr.uint16,
    uint32: fr.uint32, uint64: fr.uint64, float32: fr.float32, float64: fr.float64, flag: fr.bool_,
    unused: Annotated[np.ndarray, fr.float64["N"]],
) -> Any:  # fmt: skip
    return int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64, flag


def echo_annotated(name: str, value: Any) -> Any:
    names = [*INTS, *FLOATS, "bool"]
    given: dict[str, Any] = dict.fromkeys([*INTS, *FLOATS], 0) | {"flag": False, "unused": np.zeros(1)}
    given["flag" if name == "bool" else name] = value
    return annotated(**given)[names.index(name)]


@pytest.fixture(params=["source", "annotated"])
def call(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue("echo") if request.param == "source" else echo_annotated


def refused(call: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(fr.UserError, match=text) as caught:
        call()
    assert isinstance(caught.value, kind)
    assert "\n" not in str(caught.value)


def shown(name: str) -> str:
    return "(flag|bool)" if name == "bool" else name


class Index:
    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


@pytest.mark.parametrize("name", INTS)
def test_integers_to_their_limits_and_no_further(call: Any, name: str) -> None:
    limits = np.iinfo(name)
    low, high = int(limits.min), int(limits.max)
    inside = {low, low + 1, 0, 1, high // 2, high // 2 + 1, high - 1, high}
    for value in inside:
        spellings = [value, Index(value), np.array(value, name), np.dtype(name).type(value)]
        spellings += [
            kind(value) for kind in (np.int64, np.uint64) if np.iinfo(kind).min <= value <= np.iinfo(kind).max
        ]
        for given in spellings:
            got = call(name, given)
            assert got == value
            assert got.dtype == name
    beyond = {low - 1, high + 1, low - 2**31, high + 2**32, 2**64 + max(low, 0), -(2**64), 2**200, -(2**200)}
    for value in beyond:
        text = rf"'{name}' = .* is out of range for {name}"
        for given in (value, Index(value)):
            refused(lambda: call(name, given), OverflowError, text)
        for kind in (np.int64, np.uint64):
            if np.iinfo(kind).min <= value <= np.iinfo(kind).max:
                refused(lambda: call(name, kind(value)), OverflowError, text)
                refused(lambda: call(name, np.array(value, kind)), OverflowError, text)


NO_INTEGERS = [2.5, 2.0, math.nan, math.inf, np.float32(3), np.float64(3), np.float16(3), np.longdouble(3), np.array(2.0), 1j,
               np.complex64(1), "3", b"3", None, [3], (3,), {}, object(), int, np.array([3]), np.array([[3]]), np.array([]),
               True, False, np.True_, np.False_, np.array(True), np.datetime64(3, "s"), np.timedelta64(3, "s"),
               np.array(3, "m8[s]"), np.array(3, object), np.void(b"abcd"), np.str_("3"), range(3)]  # fmt: skip


@pytest.mark.parametrize("value", NO_INTEGERS, ids=lambda value: type(value).__name__)
def test_what_is_no_integer(call: Any, value: Any) -> None:
    for name in INTS:
        refused(
            lambda: call(name, value),
            TypeError,
            rf"'{name}' is .*, but an integer of type {name} is expected",
        )


NO_BOOLS = [0, 1, 2, 1.0, np.int8(1), np.uint8(0), np.float64(1), "x", "", None, [], [True], np.array([True]), np.array(1),
            object(), 1j, Index(1), np.str_("True")]  # fmt: skip


@pytest.mark.parametrize("value", NO_BOOLS, ids=lambda value: type(value).__name__)
def test_what_is_no_bool(call: Any, value: Any) -> None:
    refused(lambda: call("bool", value), TypeError, r"'(flag|bool)' is .*, but a bool is expected")


@pytest.mark.parametrize("value", [True, False])
def test_bools(call: Any, value: bool) -> None:
    for given in (value, np.bool_(value), np.array(value)):
        assert call("bool", given) == value
        for name in INTS + FLOATS:  # documented: a bool is no number, NumPy's no more than Python's
            refused(lambda: call(name, given), TypeError, rf"'{name}' is ")


NO_REALS = ["1", b"1", None, [1.0], (1.0,), {}, object(), float, 1j, np.complex64(1), np.complex128(1), np.array(1j),
            np.array([1.0]), np.array([[1.0]]), np.array([]), np.longdouble(1), np.datetime64(3, "s"), np.array(1.0, object),
            True, np.True_]  # fmt: skip


@pytest.mark.parametrize("value", NO_REALS, ids=lambda value: type(value).__name__)
def test_what_is_no_real_number(call: Any, value: Any) -> None:
    for name in FLOATS:
        refused(
            lambda: call(name, value),
            TypeError,
            rf"'{name}' is .*, but a real number of type {name} is expected",
        )


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_real_numbers_by_value(call: Any) -> None:
    numbers = [
        0.0,
        -0.0,
        1.5,
        0.1,
        1e300,
        -1e300,
        5e-324,
        math.inf,
        -math.inf,
        math.nan,
        2.0**53 + 2,
        1e38,
        3.5e38,
    ]
    for name, number in itertools.product(FLOATS, numbers):
        expected = np.dtype(name).type(number)
        for given in (number, np.float64(number), np.array(number), np.float32(number), np.float16(number) if abs(number) < 1e4 else number):  # fmt: skip
            got = call(name, given)
            assert got.dtype == name
            exact = (
                expected
                if given is number or isinstance(given, (np.float64, np.ndarray))
                else np.dtype(name).type(given)
            )
            assert got.tobytes() == exact.tobytes() or (np.isnan(got) and np.isnan(exact)), (name, given)
    assert call("float64", np.float32(0.1)) == 0.10000000149011612
    for given in (3, np.int64(3), np.array(3), np.uint8(3), np.array(3.0)):
        assert call("float64", given) == 3.0
        assert call("float32", given) == 3.0
    refused(lambda: call("float64", 10**400), OverflowError, "'float64' = 1.* is out of range for float64")


def test_complex_numbers(echo: Any) -> None:
    for name in ("complex64", "complex128"):
        for given in (1 + 2j, 3, 2.5, np.int8(3), np.float32(0.5), np.complex64(1 - 1j), np.complex128(2j), np.array(1j), complex(-0.0, math.inf)):  # fmt: skip
            got = echo(name, given)
            assert got.dtype == name
            assert got == np.dtype(name).type(given)
        for bad in ("1", None, True, np.True_, [1j], np.array([1j]), object()):
            refused(
                lambda: echo(name, bad),
                TypeError,
                rf"'{name}' is .*, but a complex number of type {name} is expected",
            )


def test_strict_scalars_take_their_own_kind_alone() -> None:
    strict = echo_kernel(strict_scalars=True)
    good = dict.fromkeys(INTS, 0) | {
        "float32": 0.0,
        "float64": 0.0,
        "complex64": 0j,
        "complex128": 0j,
        "bool": True,
    }
    strict(**good)
    for name, bad in [("float64", 1), ("float64", np.float64(1)), ("float64", np.array(1.0)), ("int32", np.int32(1)),
                      ("int32", Index(1)), ("int32", np.array(1)), ("complex128", 1.0), ("bool", np.True_), ("int32", True)]:  # fmt: skip
        refused(
            lambda: strict(**good | {name: bad}),
            TypeError,
            f"'{name}' is .*strict_scalars forbids conversions",
        )


@pytest.mark.parametrize("value", [0, 2**63 - 1, 2**63, 2**64 - 1])
def test_unsigned_integers_of_64_bits_return_exactly(call: Any, value: int) -> None:
    for given in (value, np.uint64(value), np.array(value, np.uint64), Index(value)):
        assert int(call("uint64", given)) == value


MIXED = {
    "a": ("float32", 1.5),
    "b": ("float64", 2.25),
    "c": ("float32", -3.0),
    "d": ("int8", -1),
    "e": ("int64", 2**40),
}
ORDERS = [random.Random(seed).sample("abcde", 5) for seed in range(10)]


def test_scalars_of_mixed_width_in_any_order() -> None:
    functions, signatures = [], []
    for k, order in enumerate(ORDERS):
        parameters = ", ".join(f"{C_TYPES[MIXED[name][0]]} {name}" for name in order)
        functions.append(f"double g{k}({parameters}) {{ return a + b + c + d + e; }}")
        args = [fr.Arg(name, kind="scalar", dtype=MIXED[name][0]) for name in order]
        signatures.append(fr.Signature(f"g{k}", args, returns=[fr.Return("r", kind="scalar")], result="r"))
    source = "#include <cstdint>\n" + "\n".join(functions)
    for order, signature in zip(ORDERS, signatures, strict=True):
        kernel = fr.compile_source(source, signature).load()
        values = {name: MIXED[name][1] for name in order}
        assert kernel(*values.values()) == kernel(**values) == 1099511627775.75


def test_a_hundred_scalars() -> None:
    """More than registers hold: widths alternate, so that a wrong slot gives another sum."""
    types = [[*C_TYPES][1 + k % 10] for k in range(100)]
    parameters = ", ".join(f"{C_TYPES[dtype]} x{k}" for k, dtype in enumerate(types))
    body = " + ".join(f"{k + 1.0} * x{k}" for k in range(100))
    args = [fr.Arg(f"x{k}", kind="scalar", dtype=dtype) for k, dtype in enumerate(types)]
    signature = fr.Signature("many", args, returns=[fr.Return("r", kind="scalar")], result="r")
    kernel = fr.compile_source(
        f"#include <cstdint>\ndouble many({parameters}) {{ return {body}; }}", signature
    ).load()
    values = [k % 7 for k in range(100)]
    expected = float(sum((k + 1) * value for k, value in enumerate(values)))
    assert kernel(*values) == expected
    assert kernel(**{f"x{k}": values[k] for k in reversed(range(100))}) == expected


# -- the type of a result

HISTORY = """
import sys
import numpy as np
import ferrule as fr

@fr.program
def g(v):
    return v + v

for text in sys.argv[1:]:
    given = eval(text)
    expected = given + given
    for _ in range(2):
        got = g(given)
        assert type(got) is type(expected) and got == expected, (text, got)
"""
VALUES = ["1", "1.0", "np.float32(1)", "np.int8(3)", "np.float64(2)", "np.int64(2)", "-0.0", "2**40"]


def test_the_type_of_a_result_does_not_depend_on_history(tmp_path: Any) -> None:
    script = tmp_path / "history.py"
    script.write_text(HISTORY)
    for order in (VALUES, VALUES[::-1], VALUES[3:] + VALUES[:3]):
        done = subprocess.run([sys.executable, script, *order], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_the_type_of_a_result_in_one_process() -> None:
    values = [eval(text) for text in VALUES]
    for order in itertools.permutations(values[:4]):
        g = fr.program(lambda v: v * 3)
        for value in (*order, *order):
            got = g(value)
            assert type(got) is type(value * 3)
            assert got == value * 3


# -- None


def test_an_optional_array_of_a_function() -> None:
    @fr.program
    def p(x: Any, w: Any = None) -> Any:
        return x if w is None else x + w

    x, w = np.arange(3.0), np.ones(3)
    for _ in range(4):
        np.testing.assert_array_equal(p(x), x)
        np.testing.assert_array_equal(p(x, w), x + w)
    for _ in range(2):
        np.testing.assert_array_equal(p(x, w=None), x)
        np.testing.assert_array_equal(p(x, None), x)
    assert len(p.specialisations) == 2


def test_none_is_taken_only_where_it_is_declared() -> None:
    kinds = {"x": fr.Arg("x", shape="N"), "y": fr.Arg("y", shape="N", intent="inout"), "n": fr.Arg("n", kind="scalar", dtype="int32"),
             "v": fr.Arg("v", kind="scalar"), "b": fr.Arg("b", kind="scalar", dtype="bool"), "t": fr.Arg("t", kind="string"),
             "w": fr.Arg("w", shape="N", optional=True)}  # fmt: skip
    source = "void takes(const double* x, double* y, int n, double v, bool b, const char* t, long, const double* w, long) { y[0] += w ? 1 : 2; }"
    kernel = fr.compile_source(source, fr.Signature("takes", [*kinds.values()])).load()
    given = {"x": np.ones(2), "y": np.zeros(2), "n": 1, "v": 1.0, "b": True, "t": "", "w": np.ones(2)}
    for _ in range(2):
        kernel(**given)
        kernel(**given | {"w": None})
    assert given["y"][0] == 6
    for name in "xynvbt":
        refused(lambda: kernel(**given | {name: None}), TypeError, f"'{name}' is None, but ")
        refused(lambda: kernel(*(given | {name: None}).values()), TypeError, f"'{name}' is None, but ")
    assert given["y"][0] == 6

    @fr.program
    def declared(x: Annotated[np.ndarray, fr.float64["N"]], n: fr.int32) -> Any:
        return x + n

    for arguments, name in (((None, 1), "x"), ((np.ones(2), None), "n")):
        refused(lambda: declared(*arguments), TypeError, f"'{name}' is None")

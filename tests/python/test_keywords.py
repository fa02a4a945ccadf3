"""Every keyword that NumPy documents for a function of the table: NumPy's answer or a refusal, never another answer."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest
from evaluated import evaluated

from ferrule.capture.table import TRACED
from ferrule.errors import Unsupported, UserTypeError

A = np.array([[4.0, -1.5, 2.25], [0.5, 3.0, -2.0]])
WHOLE = np.array([[4, -1, 2], [1, 3, -2]])
# Values unlike the defaults, for each name of a parameter; each is tried alone.
VALUES: dict[str, list[Any]] = {
    "dtype": [np.float32, np.int64, np.bool_],
    "casting": ["no", "equiv", "safe", "unsafe"],
    "order": ["C", "F", "A", "K"],
    "subok": [False, True],
    "where": ["mask", False],
    "out": ["out", "out32", "outint"],
    "signature": ["d->d", "dd->d", (None, np.float64)],
    "axis": [0, -1, (0, 1)],
    "keepdims": [True],
    "initial": [2.0, 100],
    "copy": [False, True],
    "like": [A],
    "device": ["cpu", "gpu"],
    "ndmin": [3],
    "shape": [(2,), 3],
    "ddof": [1],
    "correction": [1],
    "mean": [1.0],
    "weights": [A * 0 + 2.0],
    "returned": [True],
    "ndmax": [0],
    "decimals": [1, -1],
    "endpoint": [False],
    "retstep": [True],
    "num": [4],
    "k": [1, -1],
    "N": [3],
    "M": [2],
    "offset": [1],
    "axis1": [1],
    "axis2": [0],
    "axes": [(1, 0)],
    "nan": [1.0],
    "posinf": [1.0],
    "neginf": [1.0],
    "equal_nan": [True],
    "rtol": [0.5],
    "atol": [2.0],
    "min": [0.0],
    "max": [1.0],
    "a_min": [0.0],
    "a_max": [1.0],
    "sparse": [True],
    "indexing": ["ij"],
    "stop": [5.0],
    "start": [1.0],
    "step": [0.5],
    "fill_value": [2.0],
    "deg": [True],
    "n": [2],
    "prepend": [0.0],
    "append": [0.0],
    "tol": [10],
    "default": [2.0],
}
# Positional arguments of those whose parameters are not arrays of one shape.
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "zeros": (3,), "ones": (3,), "empty": (3,), "identity": (3,), "eye": (3,), "tri": (3,), "full": (3, 2.5),
    "full_like": ("x", 2.5), "arange": (4.0,), "linspace": (0.0, 2.0), "broadcast_to": ("x", (2, 2, 3)),
    "reshape": ("x", (3, 2)), "swapaxes": ("x", 0, 1), "moveaxis": ("x", 0, 1), "expand_dims": ("x", 0),
    "clip": ("x", 0.0, 1.0), "astype": ("x", np.float32), "copyto": ("out", "x"), "where": ("mask", "x", "x"),
    "ldexp": ("x", "i"), "diag": ("x",), "meshgrid": ("row", "row"), "array_equal": ("x", "x"), "array_equiv": ("x", "x"),
    "array_split": ("x", 2), "can_cast": (np.float32, np.float64), "dsplit": ("x", 1), "hsplit": ("x", 1), "split": ("x", 1),
    "vsplit": ("x", 1), "select": ([A > 0], [A]), "rollaxis": ("x", 1, 0),
}  # fmt: skip
INTEGERS = {"bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "invert", "bitwise_not",
            "bitwise_invert", "bitwise_left_shift", "bitwise_right_shift", "bitwise_count", "gcd", "lcm"}  # fmt: skip


def public(function: Any) -> str | None:
    """The name of a function of the table under numpy; None for others."""
    if isinstance(function, type) or inspect.ismodule(function):
        return None
    name = getattr(function, "__name__", "")
    return name if getattr(np, name, None) is function else None


# Settings of the process are refused whatever they are.
SETTINGS = {"seterr", "seterrcall", "setbufsize", "set_printoptions"}
NAMES = sorted({name for name in map(public, TRACED) if name is not None} - SETTINGS)


def parameters(function: Any) -> list[str]:
    return [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]


def given(name: str, function: Any) -> tuple[Any, ...]:
    if name in ARGUMENTS:
        return ARGUMENTS[name]
    array = "i" if name in INTEGERS else "x"
    return (array,) * getattr(function, "nin", 2 if name in ("isclose", "allclose") else 1)


def calls() -> list[Any]:
    found = []
    for name in NAMES:
        function = getattr(np, name)
        taken = list(inspect.signature(function).parameters)[: len(given(name, function))]
        for keyword in parameters(function):
            if keyword in taken:
                continue
            assert keyword in VALUES, (name, keyword)
            for position, _ in enumerate(VALUES[keyword]):
                found.append(pytest.param(name, keyword, position, id=f"{name}-{keyword}-{position}"))
    return found


def arrays() -> dict[str, Any]:
    return {"x": A.copy(), "i": WHOLE.copy(), "row": A[0].copy(), "mask": A > 0, "out": np.full(A.shape, 7.0)}


def outputs(result: Any, kind: str) -> Any:
    """Arrays for out= of the shapes of a result."""
    dtype = {"out": None, "out32": np.float32, "outint": np.int64}[kind]
    many = result if isinstance(result, tuple) else (result,)
    made = tuple(np.full(np.shape(r), 7, np.asarray(r).dtype if dtype is None else dtype) for r in many)
    return made if isinstance(result, tuple) else made[0]


@pytest.mark.parametrize(("name", "keyword", "position"), calls())
def test_a_keyword_is_honoured_or_refused(name: str, keyword: str, position: int) -> None:
    function = getattr(np, name)
    value = VALUES[keyword][position]
    pattern = given(name, function)

    def call(x: Any, i: Any, row: Any, mask: Any, out: Any, into: Any, second: Any = None) -> Any:
        named = {"x": x, "i": i, "row": row, "mask": mask, "out": out}
        args = [named[item] if isinstance(item, str) else item for item in pattern]
        if keyword == "out":
            given_out = into if second is None else (into, second)
        elif isinstance(value, str) and value == "mask":
            given_out = mask
        else:
            given_out = value
        options = {keyword: given_out}
        if keyword == "where" and function is not np.copyto and (isinstance(function, np.ufunc)):
            options["out"] = into
        result = function(*args, **options)
        return (result, out) if function is np.copyto else result

    with np.errstate(all="ignore"):
        plain = arrays()
        fresh = function(*[plain[item] if isinstance(item, str) else item for item in pattern])
    kind = value if keyword == "out" else "out"
    into = []
    for _ in range(2):
        made = outputs(fresh, kind) if fresh is not None else None
        many = made if isinstance(made, tuple) else (made,)
        into.append(dict(zip(("into", "second"), many, strict=False)))
    expected: Any
    try:
        with np.errstate(all="ignore"):
            expected = call(**arrays(), **into[0])
    except (TypeError, ValueError, IndexError) as error:
        expected = error
    try:
        actual = evaluated(call)(**arrays(), **into[1])
    except Unsupported as error:
        assert keyword in str(error) or name in str(error) or "shape" in str(error), str(error)
        return
    except (TypeError, ValueError, IndexError) as error:
        assert isinstance(expected, Exception), error
        return
    assert not isinstance(expected, Exception), f"NumPy raises {expected!r}, got {actual!r}"
    agree(actual, expected, name == "empty" or name == "empty_like")


def agree(actual: Any, expected: Any, only_kind: bool) -> None:
    if isinstance(expected, (tuple, list)):
        assert len(actual) == len(expected)
        for one, other in zip(actual, expected, strict=True):
            agree(one, other, only_kind)
        return
    if expected is None or type(expected) in (bool, int, float):
        assert actual == expected or (math.isnan(expected) and math.isnan(actual))
        return
    one, other = np.asarray(actual), np.asarray(expected)
    assert (one.dtype, one.shape) == (other.dtype, other.shape)
    if not only_kind:
        np.testing.assert_allclose(one, other, rtol=1e-6, equal_nan=True)


@pytest.mark.parametrize("name", NAMES)
def test_a_keyword_that_numpy_does_not_have_is_refused_at_its_line(name: str) -> None:
    function = getattr(np, name)
    pattern = given(name, function)

    def call(x: Any, i: Any, row: Any, mask: Any, out: Any) -> Any:
        named = {"x": x, "i": i, "row": row, "mask": mask, "out": out}
        args = [named[item] if isinstance(item, str) else item for item in pattern]
        return function(*args, no_such_keyword=1)

    with pytest.raises((UserTypeError, Unsupported), match=r"test_keywords\.py:\d+: .*no_such_keyword"):
        evaluated(call)(**arrays())


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.sum(no_such_keyword=1),
        lambda x: x.astype(np.float32, no_such_keyword=1),
        lambda x: x[0, 0].sum(no_such_keyword=1),
        lambda x: x[0, 0].mean(no_such_keyword=1),
        lambda x: x[0, 0].round(no_such_keyword=1),
        lambda x: x[0, 0].clip(0, 1, no_such_keyword=1),
        lambda x: np.add.reduce(x, no_such_keyword=1),
        lambda x: np.float32(x, no_such_keyword=1),
        lambda x: sum(x[0], no_such_keyword=1),
        lambda x: max(x[0, 0], 1, no_such_keyword=1),
        lambda x: min(x[0], no_such_keyword=1),
    ],
)
def test_methods_and_builtins_refuse_such_keywords_too(call: Any) -> None:
    with pytest.raises((UserTypeError, Unsupported), match=r"test_keywords\.py:\d+: .*no_such_keyword"):
        evaluated(call)(A)


def test_a_default_is_for_one_argument() -> None:
    with pytest.raises(UserTypeError, match="Cannot specify a default for max"):
        evaluated(lambda x: max(x[0, 0], x[0, 1], default=1.0))(A)


@pytest.mark.parametrize("order", ["F", "Q"])
def test_an_order_of_astype_is_refused(order: str) -> None:
    with pytest.raises(Unsupported, match=f"in the order '{order}'"):
        evaluated(lambda x: x.astype(np.float32, order=order))(A)

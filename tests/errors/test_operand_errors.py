"""Arguments that arithmetic cannot take, and ints at the limit: the error names the argument."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ferrule import errors
from ferrule.capture import capture
from ferrule.capture.operands import MAX_RANK

X = np.ones(3)
OPERATIONS = [
    lambda a, b: a * b,
    lambda a, b: b * a,
    lambda a, b: a.sum() * b,
    lambda a, b: a[0].item() * b,
    lambda a, b: a + b,
    lambda a, b: np.add(a, b),
    lambda a, b: max(a[0], b),
]


@pytest.mark.parametrize("fn", OPERATIONS)
@pytest.mark.parametrize("value", ["x", b"x", None])
def test_no_number(fn, value):
    with pytest.raises(errors.UserTypeError) as info:
        capture(fn, (X, value), {})
    kind = "None" if value is None else type(value).__name__
    assert "The argument 'b' is" in str(info.value)
    assert kind in str(info.value)


def test_a_tuple_is_no_number():
    with pytest.raises(errors.UserTypeError, match=r"The argument 'b' is of type tuple\."):
        capture(lambda a, b: a[0].item() * b, (X, (1, 2)), {})


@pytest.mark.parametrize(
    "fn", [lambda a, n: a[n], lambda a, n: a[n:], lambda a, n: a.reshape(n, -1), lambda a, n: np.zeros(n)]
)
def test_an_int_at_the_limit_is_named(fn):
    with pytest.raises((OverflowError, IndexError, ValueError)) as info:
        capture(fn, (X, -(2**63)), {})
    text = str(info.value)
    assert "does not fit in 64 bits" not in text or f"The argument 'n' is {-(2**63)}: " in text
    assert "-9223372036854775808" in text or "negative" in text


def test_more_axes_than_a_module_takes():
    header = Path(__file__).parents[2] / "include" / "ferrule" / "abi.h"
    assert f"#define FR_MAX_RANK {MAX_RANK}\n" in header.read_text()
    capture(lambda a: a + 1, (np.ones((1,) * MAX_RANK),), {})
    with pytest.raises(errors.Unsupported, match="The argument 'a' has 33 axes; at most 32 are supported"):
        capture(lambda a: a + 1, (np.ones((1,) * 33),), {})
    with pytest.raises(errors.Unsupported, match="An array of 33 axes, more than 32, as the result"):
        capture(lambda a: a[None] + 1, (np.ones((1,) * MAX_RANK),), {})

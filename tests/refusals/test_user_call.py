"""Arguments in nested tuples (user_call): wrong nesting, and wrong values within it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kinds_kernel import RUNS, SOURCE, good, point, signature
from rows import TYPE, error_of, snapshot

import ferrule as fr


@pytest.fixture(scope="module")
def kernel() -> Any:
    return fr.compile_source(SOURCE, signature()).load()


USER_CALL: list[tuple[str, Callable[[dict[str, Any]], tuple[Any, ...]], str]] = [
    ("nothing", lambda g: (), "user_call has 0 values, but 3 are expected."),
    ("too_few", lambda g: ((g["p"], ("s", None)),), "user_call has 1 value, but 3 are expected."),
    ("too_many", lambda g: ((g["p"], ("s", None)), 0, (None, (None, float), len), 1), "user_call has 4 values, but 3 are expected."),
    ("None_for_a_tuple", lambda g: (None, 0, (None, (None, float), len)), "arg 0 is None, but a tuple is expected."),
    ("list_for_a_tuple", lambda g: ([g["p"], ("s", None)], 0, (None, (None, float), len)), "arg 0 is a list, but a tuple is expected."),
    ("struct_for_a_tuple", lambda g: (g["p"], 0, (None, (None, float), len)), "arg 0 is a void, but a tuple is expected."),
    ("array_for_a_tuple", lambda g: ((g["p"], np.ones(2)), 0, (None, (None, float), len)), "arg 0[1] is an ndarray, but a tuple is expected."),
    ("str_for_a_tuple", lambda g: ((g["p"], "st"), 0, (None, (None, float), len)), "arg 0[1] is a str, but a tuple is expected."),
    ("empty_tuple", lambda g: ((), 0, (None, (None, float), len)), "arg 0 has 0 values, but 2 are expected."),
    ("too_few_within", lambda g: ((g["p"], ("s",)), 0, (None, (None, float), len)), "arg 0[1] has 1 value, but 2 are expected."),
    ("too_many_within", lambda g: ((g["p"], ("s", None, 1)), 0, (None, (None, float), len)), "arg 0[1] has 3 values, but 2 are expected."),
    ("too_few_in_the_last", lambda g: ((g["p"], ("s", None)), 0, (None, (None,), len)), "arg 2[1] has 1 value, but 2 are expected."),
    ("deeper", lambda g: ((g["p"], ("s", None)), 0, (None, ((None,), float), (len,))), "'g' is a tuple, but a callable is expected."),
    ("wrong_value", lambda g: ((g["p"], (3, None)), 0, (None, (None, float), len)), "'s' is an int, but str or bytes is expected."),
    ("wrong_value_in_the_last", lambda g: ((g["p"], ("s", None)), 0, (None, (None, 3), len)), "'f' is an int, but a callable is expected."),
]  # fmt: skip


@pytest.mark.parametrize(
    "make, sentence", [pytest.param(make, s, id=f"user_call-{what}") for what, make, s in USER_CALL]
)
def test_user_call_is_refused(kernel: Any, make: Any, sentence: str) -> None:
    given = good()
    values = make(given)
    ran = kernel(**good())[RUNS]
    before = snapshot({**given, "values": values})
    assert error_of(lambda: kernel.user_call(*values)) == (TYPE, f"kinds(): {sentence}")
    assert snapshot({**given, "values": values}) == before
    assert kernel.user_call((given["p"], ("s", None)), object(), (None, (None, float), len))[RUNS] == ran + 1


def test_user_call_takes_any_subclass_of_tuple(kernel: Any) -> None:
    nested = type("Nested", (tuple,), {})
    result = kernel.user_call(nested((point(), ("text", None))), None, (Ellipsis, nested((None, float)), len))
    assert result[1:] == (6.5, 4, Ellipsis, 1.5, 2)


def test_user_call_without_a_layout() -> None:
    plain = fr.compile_source("void plain() {}", fr.Signature("plain")).load()
    expected = (TYPE, "plain(): the signature has no user_args; call it by position or by name.")
    assert error_of(lambda: plain.user_call(1)) == expected

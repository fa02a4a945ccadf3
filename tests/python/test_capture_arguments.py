"""Arguments of a capture: kinds, defaults, refusals."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from ferrule import errors
from ferrule.capture import Options, capture
from ferrule.values import value_text


def identity(x):
    return x


def test_kinds_of_arguments():
    def many(a, n, w, s, flag, word, nothing, kind, *, last=2.5):
        return a * w

    captured = capture(many, (np.zeros(3), 4, 0.5, np.float32(2), True, "up", None, np.float64), {})
    found = {info.name: (info.kind, info.weak) for info in captured.arguments}
    assert found == {
        "a": ("array", False),
        "n": ("scalar", True),
        "w": ("scalar", True),
        "s": ("scalar", False),
        "flag": ("static", False),
        "word": ("static", False),
        "nothing": ("static", False),
        "kind": ("static", False),
        "last": ("scalar", True),
    }
    assert captured.arguments[-1].keyword_only


def test_static_names():
    def scaled(x, n):
        return x * n

    captured = capture(scaled, (np.zeros(3), 4), {}, Options(static=("n",)))
    assert captured.arguments[1].kind == "static"
    with pytest.raises(errors.UserError, match="'m' is static"):
        capture(scaled, (np.zeros(3), 4), {}, Options(static=("m",)))


@pytest.mark.parametrize(
    "value, error, words",
    [
        ([1.0, 2.0], TypeError, "np.asarray"),
        ({"a": 1}, TypeError, "dict"),
        ([np.zeros(2)], errors.Unsupported, "list of arrays"),
        ((np.zeros(2), 1), errors.Unsupported, "tuple of arrays"),
        (np.zeros(3, ">f8"), TypeError, "byte order"),
        (np.zeros(3, object), errors.Unsupported, "object"),
        (np.zeros(3, "U4"), errors.Unsupported, "<U4"),
        (np.zeros(3, "M8[s]"), errors.Unsupported, "datetime64"),
        (np.zeros(3, complex), errors.Unsupported, "complex128"),
        (np.zeros(3, np.float16), errors.Unsupported, "float16"),
        (np.ma.zeros(3), TypeError, "masked"),
        (1j, errors.Unsupported, "complex"),
        (2**70, OverflowError, "64 bits"),
    ],
)
def test_refused_arguments(value, error, words):
    with pytest.raises(error, match=words) as caught:
        capture(identity, (value,), {})
    assert "'x'" in str(caught.value)


def test_a_call_that_does_not_fit_is_a_type_error():
    with pytest.raises(TypeError, match=r"identity\(\) missing 1 required positional argument: 'x'"):
        capture(identity, (), {})
    with pytest.raises(TypeError, match="unexpected keyword argument 'y'"):
        capture(identity, (), {"x": 1, "y": 2})


def test_any_number_of_arguments_is_unsupported():
    def gathered(*arrays):
        return arrays[0]

    with pytest.raises(errors.Unsupported, match="'arrays'"):
        capture(gathered, (np.zeros(2),), {})


def test_results():
    def several(a, n):
        return a, a[1:], a + 1, n, 2.5, None, np.float32(3)

    captured = capture(several, (np.zeros(4), 3), {})
    assert captured.returns_tuple and captured.results == 7
    assert not capture(identity, (np.zeros(3),), {}).returns_tuple

    def keyed(a):
        return {a.shape: a}

    def named(a):
        return [a, ("text", a)]

    def made(a):
        return (item for item in a)

    for fn in (keyed, named, made):
        with pytest.raises(errors.Unsupported, match=rf"^{__file__}:\d+: .*result") as caught:
            capture(fn, (np.zeros(2),), {})
        assert f":{fn.__code__.co_firstlineno + 1}: " in str(caught.value)


TABLE = np.arange(5.0)
RATE = 0.25
WORDS = {"fast": 2.0}


def test_globals_are_noted():
    def uses_globals(x):
        return x * RATE * WORDS["fast"] + TABLE[0]

    captured = capture(uses_globals, (np.zeros(3),), {})
    read = {item.name: item.value for item in captured.globals_read}
    assert read["RATE"] == 0.25 and read["WORDS"] == {"fast": 2.0}
    hidden = captured.hidden
    assert [(info.name, info.hidden is TABLE) for info in hidden] == [("TABLE", True)]
    owner, name = hidden[0].path
    assert owner[name] is TABLE


def test_a_global_array_first_met_in_a_loop_is_declared_at_the_start():
    def looped(x, n):
        for i in range(n):
            x[i] += TABLE[i]

    assert [info.name for info in capture(looped, (np.zeros(5), 5), {}).hidden] == ["TABLE"]


def test_content_of_global_arrays_is_not_baked_in():
    def summed(x):
        return x + TABLE.sum()

    assert capture(summed, (np.zeros(3),), {}).hidden


TABLES = {"rate": 2.0, "base": np.arange(3.0)}
ROWS = [np.arange(3.0)]


def test_arrays_in_a_global_dict_are_fetched_at_the_call():
    def uses_tables(x):
        return x * TABLES["rate"] + TABLES["base"]

    captured = capture(uses_tables, (np.zeros(3),), {})
    assert [info.path for info in captured.hidden] == [(TABLES, "base")]
    assert [(item.owner is TABLES, item.name) for item in captured.globals_read] == [
        (False, "TABLES"),
        (True, "rate"),
    ]

    def uses_rows(x):
        return x + ROWS[0]

    with pytest.raises(errors.Unsupported, match="list 'ROWS'"):
        capture(uses_rows, (np.zeros(3),), {})


def test_writing_a_global_array_is_an_error():
    def writes(x):
        TABLE[0] = 1.0
        return x

    with pytest.raises(ValueError, match="'TABLE' cannot be written"):
        capture(writes, (np.zeros(3),), {})
    assert TABLE[0] == 0.0


def test_helpers_are_read_like_globals_and_their_text_does_not_depend_on_lines():
    def helper(x):
        return x + 1

    def outer(x):
        return helper(x)

    reads = capture(outer, (np.zeros(2),), {}).globals_read
    assert [(read.name, read.value) for read in reads] == [("helper", helper)]

    source = "def f(x):\n    return x * {}\n"
    texts = []
    for lines, factor in ((0, 2.0), (7, 2.0), (0, 3.0)):
        space: dict = {}
        exec(compile("\n" * lines + source.format(factor), f"<{lines}>", "exec"), space)
        texts.append(value_text(space["f"]))
    assert texts[0] == texts[1] != texts[2]


def test_methods_and_partials_capture_as_functions():
    def power(base, x):
        return base * x

    half = functools.partial(power, 0.5)

    def uses(x):
        return half(x)

    assert capture(uses, (np.zeros(2),), {}).results == 1

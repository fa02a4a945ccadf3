"""What a program that cannot be captured says: the user's line, the construct, and what to write instead."""

# ruff: noqa: RUF043
from __future__ import annotations

import inspect
import math
import re
import traceback

import numpy as np
import pytest

import ferrule as fr
from ferrule import errors
from ferrule.capture import capture

X = np.linspace(-1.0, 1.0, 5)


def line_of(fn, text):
    """The line of a function's source that holds a text."""
    lines, start = inspect.getsourcelines(fn)
    return start + next(i for i, line in enumerate(lines) if text in line)


def failure(fn, *arguments):
    with pytest.raises(errors.Error) as caught:
        capture(fn, arguments or (X.copy(),), {})
    return caught.value


def check(error, kind, fn, text, *words):
    """The error is of a kind, begins with the line of `text`, and has the words."""
    message = str(error)
    assert isinstance(error, kind), type(error)
    assert message.startswith(f"{__file__}:{line_of(fn, text)}: "), message
    for word in words:
        assert word in message, message
    assert "__fr_" not in message and message.endswith("."), message


def unsupported_function(x):
    y = x + 1
    return np.interp(y, y, y)


def strings_and_arrays(x):
    mode = "low"
    if x[0] > 0:  # decides
        mode = "high"
    return x, mode


def two_dtypes(x):
    for i in range(len(x)):
        y = x[i] if x[i] > 0 else np.float32(0)  # two
        x[i] = y


def list_in_a_loop(x):
    rows = []
    for i in range(len(x)):  # grows
        rows.append(x[i])
    return rows


def dict_in_a_loop(x):
    sums = {"s": 0.0}
    for row in x:  # grows
        sums["s"] += row
    return sums["s"]


def list_in_a_branch(x):
    seen = []
    if x[0] > 0:  # changes
        seen.append(1)
    return x * len(seen)


def container_of_an_object(x):
    class Box:
        pass

    box = Box()
    box.value = 0.0
    for i in range(len(x)):  # changes
        box.value = box.value + x[i]
    return box.value


def type_changes(x):
    state = "start"
    for i in range(len(x)):
        state = (state, x[i])  # becomes
    return x


def global_of_a_value(x):
    global KEPT
    KEPT = x + 1  # stored
    return x


def endless_python_loop(x):
    k = 1
    while k > 0:  # endless
        k += 1
    return x


def endless_recursion(x):
    return x if x[0] > 0 else endless_recursion(x * 2)  # again


def ambiguous_truth(x):
    if x > 0:  # truth
        return x
    return -x


def index_by_a_list(x):
    table = [1.0, 2.0, 3.0, 4.0, 5.0]
    for i in range(len(x)):
        x[i] = table[i]  # needs


def value_of_a_number(x):
    shape = [0] * int(x[0])  # needs
    return x + len(shape)


def membership(x):
    return 3.0 in x  # member


def rows_as_bools(x):
    return all(x[None])  # rows


def bytes_of_an_array(x):
    return bytes(x)  # bytes


def text_of_a_number(x):
    print("%.2f" % x[0])  # noqa: UP031  text


def sorted_by_data(x):
    return sorted(v for v in x)  # order


def iterated_by_numpy(x):
    return list(np.nditer(x))  # iterated


def joined_by_index(x):
    return np.r_[x, 1.0]  # joined


CASES = [
    (
        membership,
        errors.Unsupported,
        "# member",
        ["'in' of an array is not supported. Write (array == value).any()"],
    ),
    (
        rows_as_bools,
        errors.Unsupported,
        "# rows",
        ["'all' of Python over rows is not supported. Use", "'.all()'"],
    ),
    (
        bytes_of_an_array,
        errors.Unsupported,
        "# bytes",
        ["where Python needs the value of an integer is not supported"],
    ),
    (text_of_a_number, errors.Unsupported, "UP031", ["asks for by 'float()', is not supported."]),
    (sorted_by_data, errors.Unsupported, "# order", ["'sorted' of values", "'if', 'while' or np.where"]),
    (
        iterated_by_numpy,
        errors.Unsupported,
        "# iterated",
        ["'np.nditer' is not supported. Write a loop over np.ndindex"],
    ),
    (joined_by_index, errors.Unsupported, "# joined", ["'np.r_' is not supported"]),
    (unsupported_function, errors.Unsupported, "return np.interp", ["'np.interp'"]),
    (strings_and_arrays, errors.Unsupported, "# decides", ["'mode'", "'high'", "'low'"]),
    (two_dtypes, errors.Unsupported, "# two", ["conditional expression", "float64", "float32"]),
    (list_in_a_loop, errors.Unsupported, "# grows", ["'rows'", "array"]),
    (dict_in_a_loop, errors.Unsupported, "# grows", ["'sums'"]),
    (list_in_a_branch, errors.Unsupported, "# changes", ["'seen'"]),
    (container_of_an_object, errors.Unsupported, "# changes", ["'box'"]),
    (type_changes, errors.Unsupported, "for i in", ["'state'", "before the loop"]),
    (global_of_a_value, errors.Unsupported, "# stored", ["global 'KEPT'", "Return"]),
    (endless_python_loop, errors.Unsupported, "# endless", ["while loop"]),
    (endless_recursion, errors.Unsupported, "# again", ["recursion"]),
    (ambiguous_truth, ValueError, "# truth", ["ambiguous", "any()"]),
    (index_by_a_list, errors.Unsupported, "# needs", ["integer"]),
    (value_of_a_number, errors.Unsupported, "# needs", ["run time"]),
]


@pytest.mark.parametrize(
    ("fn", "kind", "text", "words"), [pytest.param(*case, id=case[0].__name__) for case in CASES]
)
def test_names_the_line_and_the_construct(fn, kind, text, words):
    check(failure(fn), kind, fn, text, *words)


def test_globals_stay_clean_after_a_refused_store():
    failure(global_of_a_value)
    assert "KEPT" not in globals()


def helper(y):
    return np.interp(y, y, y)  # inner


def calls_a_helper(x):
    scaled = x * 2
    return helper(scaled)  # outer


def test_a_helper_names_both_lines():
    error = failure(calls_a_helper)
    check(error, errors.Unsupported, helper, "# inner", "'np.interp'")
    assert f"Called from {__file__}:{line_of(calls_a_helper, '# outer')}, in 'calls_a_helper'." in str(error)


def test_inside_regions_the_line_is_that_of_the_statement():
    def nested(x):
        for i in range(len(x)):
            if x[i] > 0:
                while x[i] > 1:
                    x[i] = np.interp(x[i], x, x)  # deep

    check(failure(nested), errors.Unsupported, nested, "# deep")


def test_tracebacks_end_at_the_user():
    error = failure(calls_a_helper)
    entries = [(e.filename, e.lineno) for e in traceback.extract_tb(error.__traceback__)]
    own = [line for file, line in entries if file == __file__]
    assert own[-2:] == [line_of(calls_a_helper, "# outer"), line_of(helper, "# inner")]
    assert entries[-1][0] == __file__


def test_lines_of_both_sides_are_named():
    error = failure(strings_and_arrays)
    assert f"'high' at line {line_of(strings_and_arrays, 'mode = ' + chr(34) + 'high')}" in str(error)


def test_a_handler_of_the_user_does_not_swallow_what_steers_a_capture():
    def swallows(x):
        try:
            y = np.interp(x, x, x)  # refused
        except Exception:
            y = x
        return y

    check(failure(swallows), errors.Unsupported, swallows, "# refused")


def test_a_handler_of_the_user_may_catch_what_numpy_raises():
    def catches(x, y):
        try:
            return x + y
        except ValueError:
            return x

    capture(catches, (np.ones(3), np.ones(4)), {})


def test_an_error_raised_by_the_program_keeps_its_type():
    def refuses(x):
        if len(x) > 3:
            raise LookupError("too long")  # raised
        return x

    with pytest.raises(LookupError, match="^too long$") as caught:
        capture(refuses, (X,), {})
    assert traceback.extract_tb(caught.value.__traceback__)[-1].lineno == line_of(refuses, "# raised")


def test_functions_without_source_are_refused_by_name():
    scope = {}
    exec("def made(x):\n    return x + 1\n", scope)
    with pytest.raises(
        errors.Unsupported, match=r"The source of 'made' cannot be read .*Define the function in a file"
    ):
        capture(scope["made"], (X,), {})


def test_numbers_that_are_not_known_have_a_text_under_any_format(capfd):
    def prints(x):
        print(f"{x[0]:.2f} {x[1]} {len(x):03d}")

    capture(prints, (X,), {})
    assert capfd.readouterr().out.endswith(" 005\n")


def test_values_of_a_closed_region_are_refused():
    def leaks(x):
        kept = np.empty(1, dtype=object) if False else Holder()
        for i in range(len(x)):
            kept.take(x[i])
        return kept.value

    class Holder:
        __slots__ = ("value",)

        def take(self, value):
            self.value = value

    error = failure(leaks)
    assert re.search("loop or branch|container", str(error))


def raising(x, n):
    for i in range(n):
        if x[i] < 0.0:
            raise ValueError(f"negative at {i} of {len(x)}: {x[i]:.3f}, " + str(i + n))
    assert x.sum() < 9.0, "{} elements of {}".format(n, x.shape)  # noqa: UP032
    return x[0]


def test_messages_that_are_made_for_all_runs_name_what_only_the_run_knows():
    fn = fr.program(raising)
    assert fn(np.ones(4), 2) == 1.0
    assert fn(np.ones(5), 3) == 1.0
    with pytest.raises(errors.UserValueError) as caught:
        fn(np.array([1.0, -1.0, 1.0]), 3)
    assert (
        f"ValueError: negative at {{i}} of {{x.shape[0]}}: {{float64 number}}, {{n + i}} ({__file__}:"
        in str(caught.value)
    )
    with pytest.raises(
        errors.UserRuntimeError, match=r"\{n\} elements of \(5,\)|\{n\} elements of \(x.shape\[0\],\)"
    ):
        fn(np.full(5, 9.0), 5)
    assert len(fn.specialisations) == 1


def test_messages_that_are_certain_have_their_numbers():
    def certain(x, n):
        if n > 3:
            raise ValueError(f"{n} of {len(x)}")
        return x

    with pytest.raises(ValueError, match="^7 of 5$"):
        fr.program(certain)(np.ones(5), 7)


@pytest.mark.parametrize("kind", [ValueError, OverflowError, ZeroDivisionError, RuntimeError])
def test_what_data_raises_is_of_its_kind(kind):
    def f(x):
        if x[0] > 0.0:
            raise kind("no")
        return x

    with pytest.raises(kind, match=rf"f\(\): {kind.__name__}: no"):
        fr.program(f)(np.ones(3))


@pytest.mark.parametrize(
    "name, fn", [("sorted", lambda x: sorted([x[0], x[1]])), ("list", lambda x: list(filter(None, [x[0]])))]
)
def test_a_function_in_c_that_asks_for_the_truth_of_a_value(name, fn):
    assert f"'{name}' of values that change within a call is not supported." in str(failure(fn))


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: [v for v in (x[0], x[1]) if v > 0],
        lambda x: {k: 1 for k in range(2) if x[k]},
        lambda x: sum(1 for k in range(2) for v in (x[k],) if k and v > 0),
    ],
)
def test_the_condition_of_a_comprehension(fn):
    assert "The 'if' of a comprehension whose value changes within a call is not supported." in str(
        failure(fn)
    )


def test_the_message_of_an_assertion_over_a_python_float():
    def f(x):
        total = 0.0
        for i in range(len(x)):
            total += math.sqrt(x[i])
        assert total < 5.0, "too much"
        return total

    with pytest.raises(RuntimeError, match=r"f\(\): too much \("):
        fr.program(f)(np.full(9, 4.0))

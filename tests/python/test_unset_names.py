"""Names that only some data sets: reads of them raise Python's UnboundLocalError where they have no value."""

# ruff: noqa: B007, F821, F841
from __future__ import annotations

import numpy as np
import pytest
from evaluated import evaluated

from ferrule import errors
from ferrule.capture import capture


def one_side(x):
    if x[0] > 0:
        y = x[1]
    return y


def other_side(x):
    if x[0] > 0:
        pass
    else:
        y = x[1]
    return y + 1


def nested(x):
    if x[0] > 0:
        if x[1] > 0:
            y = 1.0
    else:
        y = 2.0
    return y + 1


def same_test_again(x):
    if x[0] > 0:
        y = x[1]
    z = 0.0
    if x[0] > 0:
        z = y * 2
    return z


def other_test(x):
    if x[0] > 0:
        y = x[1]
    z = 0.0
    if x[1] > 0:
        z = y * 2
    return z


def elif_chain(x):
    if x[0] > 1:
        y = 1
    elif x[0] > 0:
        y = 2
    elif x[1] > 0:
        y = 3
    return y


def in_loop(x):
    for i in range(len(x)):
        if x[i] > 0:
            y = i
    return y


def previous_iteration(x):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 0:
            s += last
        last = x[i]
    return s


def in_while(x):
    k = x[0]
    while k > 0:
        y = k
        k -= 1
    return y


def found_in_loop(x):
    for i in range(len(x)):
        if x[i] > 0:
            y = i
            break
    else:
        return -1
    return y


def not_found_in_loop(x):
    for i in range(len(x)):
        if x[i] > 0:
            y = i
            break
    return y


def after_continue(x):
    for i in range(len(x)):
        if x[i] <= 0:
            continue
        y = x[i]
    return y


def augmented(x):
    if x[0] > 0:
        y = 1.5
    y += x[1]
    return y


def augmented_in_loop(x):
    if x[0] > 0:
        n = 0
    for i in range(len(x)):
        n += 1
    return n


def deleted_in_branch(x):
    y = x[0] * 2
    if x[0] > 0:
        del y
    return y


def deleted_behind(x):
    if x[0] > 0:
        y = 1
    del y
    return x[1]


def deleted_in_loop(x):
    y = 0.0
    for i in range(len(x)):
        if x[i] > 1:
            del y
        else:
            y = x[i]
    return y


def set_again(x):
    if x[0] > 0:
        y = 1.0
    if x[1] > 0:
        y = 2.0
    return y


def array(x):
    if x[0] > 0:
        y = x + 1
    return y * 2


def written(x):
    if x[0] > 0:
        y = np.zeros(2)
    y[0] = x[1]
    return y


def pair(x):
    if x[0] > 0:
        y = (x[0], 3)
    a, b = y
    return a * b


def text(x):
    if x[0] > 0:
        y = "sum"
    return x.sum() if y == "sum" else x.max()


def inner_function(x):
    if x[0] > 0:
        y = 2.0

    def g():
        return y * x[1]

    return g()


def early_return(x):
    if x[0] > 0:
        return 1.0
    if x[1] > 0:
        y = 3.0
    return y


def read_before(x):
    if x[0] > 0:
        return later
    later = 1.0
    return later


def conditional_expression(x):
    if x[0] > 0:
        y = 2.0
    return y if x[1] > 0 else -1.0


def short_circuit(x):
    if x[0] > 0:
        y = 2.0
    return bool(x[0] > 0 and y > 1)


def comprehension(x):
    if x[0] > 0:
        y = 2.0
    return sum([y * k for k in range(3)])


FUNCTIONS = [
    one_side, other_side, nested, same_test_again, other_test, elif_chain, in_loop, previous_iteration, in_while,
    found_in_loop, not_found_in_loop, after_continue, augmented, augmented_in_loop, deleted_in_branch, deleted_behind,
    deleted_in_loop, set_again, array, written, pair, text, inner_function, early_return, read_before,
    conditional_expression, short_circuit, comprehension,
]  # fmt: skip

DATA = [(1.0, 1.0), (-1.0, 1.0), (1.0, -1.0), (-1.0, -1.0), (2.0, 3.0), (-2.0, 2.5), (0.0, 0.0, 1.0)]


def outcome(fn, x):
    try:
        return fn(x)
    except NameError:  # an UnboundLocalError, but in a function within
        return UnboundLocalError


@pytest.mark.parametrize("fn", FUNCTIONS, ids=lambda fn: fn.__name__)
def test_a_name_without_a_value_is_an_error_where_python_has_one(fn):
    ours = evaluated(fn)
    seen = set()
    for values in DATA:
        x = np.array(values)
        expected, found = outcome(fn, x.copy()), outcome(ours, x.copy())
        if expected is UnboundLocalError or found is UnboundLocalError:
            assert found is expected, values
        else:
            np.testing.assert_array_equal(found, expected)
        seen.add(expected is UnboundLocalError)
    if fn not in (same_test_again, found_in_loop, short_circuit):
        assert seen == {False, True}, "the data shows one side only"
    assert ours.captures <= 2


def test_the_message_names_the_variable_and_the_line():
    with pytest.raises(errors.UserUnboundLocalError, match=r"test_unset_names.py:17 .*'y'"):
        evaluated(one_side)(np.array([-1.0, 1.0]))


def test_a_name_that_no_data_sets_is_an_error_at_capture():
    def never(x):
        if len(x) > 5:
            y = 1
        return y

    with pytest.raises(errors.UserUnboundLocalError, match="cannot access local variable 'y'"):
        evaluated(never)(np.zeros(2))
    assert evaluated(never)(np.zeros(6)) == 1


def test_a_size_decides_with_a_guard():
    def sized(x, n):
        if n > 3:
            y = 1.0
        return x[0] + y

    ours = evaluated(sized)
    assert ours(np.ones(2), 4) == 2.0
    with pytest.raises(UnboundLocalError):
        ours(np.ones(2), 3)
    assert "check %" not in str(ours.specialisations[0][1].program)


def test_a_while_loop_over_sizes_is_guarded():
    def counted(x, n):
        k = 0
        while k < n:
            y = x[k]
            k += 1
        return y

    ours = evaluated(counted)
    assert ours(np.arange(4.0), 3) == 2.0
    with pytest.raises(UnboundLocalError):
        ours(np.arange(4.0), 0)


def test_a_name_that_is_not_read_behind_costs_nothing():
    def plain(x):
        if x[0] > 0:
            y = x[1]
            x[0] = y
        for i in range(len(x)):
            z = x[i] * 2
            x[i] = z
        return x

    text = str(capture(plain, (np.ones(3),), {}).program)
    assert "check %" not in text
    assert "bool" not in text.partition("if")[2]


def test_a_name_set_on_both_sides_is_not_checked():
    def both(x):
        if x[0] > 0:
            y = x[1]
        else:
            y = 0.0
        return y

    assert "check %" not in str(capture(both, (np.ones(2),), {}).program)


def test_a_name_is_checked_once_on_a_way():
    def often(x):
        if x[0] > 0:
            y = x[1]
        s = y + 1
        for i in range(len(x)):
            s = s + y * x[i]
        return s

    assert str(capture(often, (np.ones(2),), {}).program).count("check %") == 1


def test_nested_loops_take_time_that_grows_with_their_number(tmp_path):
    from ferrule.capture import liveness

    def statements(depth):
        import ast

        lines = ["def f(x):"]
        for level in range(depth):
            lines.append("    " * (level + 1) + f"for i{level} in range(3):")
        lines.append("    " * (depth + 1) + "x[0] = " + " + ".join(f"i{level}" for level in range(depth)))
        function = ast.parse("\n".join(lines)).body[0]
        count = 0
        original = liveness._Liveness.statement

        def counted(self, node, after):
            nonlocal count
            count += 1
            return original(self, node, after)

        liveness._Liveness.statement = counted
        try:
            liveness.annotate(liveness.Scope(function.args, function.body), function.body)
        finally:
            liveness._Liveness.statement = original
        return count

    assert statements(16) <= 2 * statements(8) + 8


def zero_trips_int(x):
    s = 0
    for i in range(len(x)):
        s += x[i]
    return s


def zero_trips_float(x):
    s = 0.0
    for row in x:
        s = s + row
    return s


def zero_trips_while(x):
    s, k = 0, 0
    while k < len(x):
        s += x[k]
        k += 1
    return s


def zero_trips_nested(x):
    s = 0
    for i in range(len(x)):
        for j in range(i, len(x)):
            s += x[i] * x[j]
    return s


@pytest.mark.parametrize("fn", [zero_trips_int, zero_trips_float, zero_trips_while, zero_trips_nested])
def test_a_number_keeps_its_type_where_no_iteration_runs(fn):
    ours = evaluated(fn)
    for size in (3, 0, 1):
        x = np.arange(float(size)) + 1
        expected, found = fn(x), ours(x)
        assert found == expected
        assert type(found) is type(expected)
    assert ours.captures == 2

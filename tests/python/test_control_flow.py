"""Control flow over traced values: captured once, run at several sizes and on other data, against Python itself."""

# ruff: noqa: B007, SIM102, SIM201
from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from evaluated import evaluated

from ferrule import errors
from ferrule.capture import capture


def vector(*values: float) -> Callable[[], tuple[Any, ...]]:
    """Arguments: one array of given numbers."""
    return lambda: (np.array(values, float),)


def random(*sizes: int, more: tuple[Any, ...] = ()) -> Callable[[], tuple[Any, ...]]:
    """Arguments: arrays of given sizes, the same at every call, and more."""
    return lambda: (*(np.random.default_rng(n + k).standard_normal(n) for k, n in enumerate(sizes)), *more)


def numbers(*values: int) -> Callable[[], tuple[Any, ...]]:
    """Arguments: Python numbers."""
    return lambda: values


def early_return(x):
    if x[0] > 0:
        return x * 2
    if x[1] > 0:
        return x * 3
    return -x


def early_in_loop(x):
    for i in range(len(x)):
        if x[i] > 1.0:
            return i
    return -1


def nested_break(x, y):
    c = 0
    for i in range(len(x)):
        for j in range(len(y)):
            if x[i] + y[j] > 1.5:
                break
            if y[j] < -1:
                continue
            c += 1
    return c


def while_else(n):
    k = 0
    while k < n:
        k += 3
        if k == 9:
            break
    else:
        k = 100
    return k


def for_else(x):
    for i in range(len(x)):
        if x[i] > 5.0:
            break
    else:
        return 0.0
    return x[i]


def exchange(a, b, n):
    for _ in range(n):
        a, b = (b, a)
    a[0] = 7.0
    return a


def exchange_fresh(x, n):
    a = x + 1
    b = x * 2
    for _ in range(n):
        a[1:-1] = b[2:] + b[:-2]
        a, b = (b, a)
    return (a, b)


def counts_by_two(x):
    k = 0
    for i in range(len(x) // 2):
        x[k] = x[k + 1]
        k += 2
    return k


def pick_by_size(a, b, n):
    if n > 3:
        y = a
    else:
        y = b
    y[0] = 5.0


def pick_by_data(a, b):
    y = a if a[0] > b[0] else b
    y[0] = 5.0
    return y


def raises_by_data(x):
    if x[0] < 0:
        raise ValueError("negative")
    return np.sqrt(x)


def raises_in_a_loop(x):
    for i in range(len(x)):
        if x[i] > 100.0:
            raise ValueError("large")
        x[i] += 1


def asserts_by_data(x):
    assert x[0] < 100, "too large"
    return x + 1


def first_iteration_apart(x):
    s = None
    for i in range(len(x)):
        if s is None:
            s = x[i]
        else:
            s = s + x[i]
    return s


def maximum_from_none(x):
    m = None
    for i in range(len(x)):
        m = x[i] if m is None else max(m, x[i])
    return m


def triangle(x):
    n = len(x)
    c = 0
    for i in range(n):
        for j in range(i, n):
            c += j - i
    return c


def four_deep(x):
    n = len(x)
    s = 0.0
    for a in range(n):
        for b in range(n):
            for c in range(n):
                for d in range(n):
                    if x[a] > x[b]:
                        s += x[c]
                    elif x[b] > x[c]:
                        s -= x[d]
                    else:
                        s *= 0.5
    return s


def chained_conditions(x):
    c = 0
    for i in range(len(x)):
        if 0 < x[i] < 1 or (x[i] > 2 and (not x[i] == 3)):
            c += 1
    return c


def carries_a_tuple(x):
    st = (0.0, 1.0)
    for i in range(len(x)):
        a, b = st
        st = (b, a + x[i])
    return st


def returns_tuples(x):
    if x[0] > 0:
        return (x.sum(), 1.0)
    return (x.max(), 2.0)


def closure_counts(x):
    count = 0

    def add(v):
        nonlocal count
        count = count + v

    for i in range(len(x)):
        add(x[i])
    return count


def last_values(n):
    for i in range(n):
        j = 2 * i + 1
    return (i, j)


def temporaries(x):
    for i in range(len(x)):
        t = x[i] * 2
        u = x[i:] + t
        x[i] = u.sum()


def drop_heads(x, n):
    y = x
    for _ in range(n):
        y = y[1:]
    return y.sum()


def shrink_together(x, z):
    while len(x) > 2:
        x = x[1:]
        z = z[1:]
        w = x + z
        x = w
    return x


def list_at_capture(x):
    out = []
    for k in range(3):
        out.append(x * k)
    return sum(out)


def long_python_loop(x):
    w = []
    for k in range(40):
        w.append(k * 0.5)
    s = 0.0
    for k in range(40):
        s = s + w[k]
    return x * s


def return_through_finally(x):
    try:
        for i in range(len(x)):
            x[i] += 1
        if x[0] > 0:
            return x.sum()
    finally:
        x[0] = 0
    return 1.0


def leaves_from_both_sides(x):
    for i in range(len(x)):
        if x[i] > 0:
            if x[i] > 1:
                return x[i]
            x[i] = 3
        else:
            continue
        x[i] *= 2
    return 0.0


def remainders(n, m):
    s = 0
    for i in range(1, n):
        if i % m == 0:
            s += i
        else:
            s -= 1
    return s


def flag_from_data(x):
    found = False
    for v in x:
        if v > 1:
            found = True
    return found


def while_over_data(x):
    k = 0
    while k < len(x) and x[k] < 1.0:
        x[k] = 0
        k += 1
    return k


def collatz_steps(n):
    c = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        c += 1
    return c


def halve_until(x):
    v = x[0]
    while True:
        v = v * 0.5
        if v < 0.01:
            break
    return v


def symbolic_step(x, s):
    for i in range(0, len(x), s):
        x[i] = 1.0
    return i


def counts_down(x):
    for i in range(len(x) - 1, 0, -1):
        x[i] = x[i - 1]
    return i


def number_of_both_sides(x):
    s = x[1]
    z = s * 2
    t = (z, 1)
    if x[0] > 0:
        y = s * 2
        t = (s * 2, 1)
    else:
        y = z
    return y + t[0], x[1] if s > 0 and s > 0 else 0.5


def array_of_one_side(x):
    y = np.zeros(len(x))
    if x.sum() > 0:
        y = x * 2
    return y + 1


def number_of_no_iteration_by_data(x, n):
    s, i, t, u = 1, 7, 2, 3
    for i in range(int(x[0])):
        t = s
        s = 2
        u = i * 2 + n
    return s, i, t, u


def lengths_of_what_shrinks(x, n):
    v, w = 1.0 * x, x
    s = t = c = 0
    for i in range(n):
        s = len(v)
        c = c + len(v) - len(w)
        v, w = v[1:], w[2:]
        t = len(w) + i
    return s, t, c


def default_of_no_iteration(x, n):
    r = -1.0
    for i in range(n):
        r = x[i]
    return r


def reversed_and_zipped(x, y):
    for i, (a, b) in enumerate(zip(x, reversed(y))):
        x[i] = a + b


def match_on_strings(x, mode):
    match mode:
        case "a":
            return x + 1
        case "b" | "c":
            y = x * 2
        case _:
            raise ValueError(mode)
    return y


def walrus_in_a_test(x):
    s = 0.0
    for i in range(len(x)):
        if (v := x[i]) > 0:
            s += v
    return s


def generators_at_capture(x):
    return sum(x[i] for i in range(3)) + max(v for v in (1.0, 2.0))


def deletes_a_temporary(x):
    for i in range(len(x)):
        t = x[i]
        x[i] = t + 1
        del t


def both_sides_assign(x):
    for i in range(len(x)):
        if x[i] > 0:
            a = 1.0
            b = x[i]
        else:
            a = 2.0
            b = -x[i]
        x[i] = a * b


def assigned_where_used(x):
    if x[0] > 0:
        t = 2.0
    for i in range(len(x)):
        if x[0] > 0:
            x[i] = t


# Each with arguments to run on, of which the first captures, and how many specialisations they may cost.
CASES: list[tuple[Callable[..., Any], list[Callable[[], tuple[Any, ...]]], int]] = [
    (early_return, [vector(1, 2), vector(-1, 2), vector(-1, -2)], 1),
    (early_in_loop, [vector(0, 2, 3), vector(0, 0), vector(5), vector()], 2),
    (nested_break, [random(6, 6), random(9, 4), random(1, 1)], 1),
    (while_else, [numbers(10), numbers(4), numbers(0), numbers(12)], 1),
    (for_else, [vector(1, 2), vector(1, 9, 3)], 1),
    (exchange, [random(4, 4, more=(3,)), random(4, 4, more=(2,)), random(4, 4, more=(0,))], 2),
    (exchange_fresh, [random(6, more=(3,)), random(9, more=(4,)), random(4, more=(0,))], 2),
    (counts_by_two, [random(8), random(5), random(2)], 1),
    (pick_by_size, [random(4, 4, more=(5,)), random(4, 4, more=(2,)), random(6, 6, more=(9,))], 2),
    (pick_by_data, [random(4, 4), random(5, 5), random(3, 3)], 1),
    (first_iteration_apart, [random(5), random(2), random(9)], 1),
    (maximum_from_none, [random(5), random(1), random(9)], 1),
    (triangle, [random(5), random(1), random(0)], 2),
    (four_deep, [random(3), random(4)], 1),
    (chained_conditions, [vector(0.5, 3.0, 2.5, -1.0), random(30)], 1),
    (carries_a_tuple, [random(5), random(1)], 1),
    (returns_tuples, [vector(1, 2), vector(-1, 2)], 1),
    (closure_counts, [random(5), random(2)], 1),
    (last_values, [numbers(4), numbers(9), numbers(1)], 1),
    (temporaries, [random(5), random(1)], 1),
    (drop_heads, [random(9, more=(3,)), random(9, more=(0,))], 2),
    (shrink_together, [random(9, 9), random(5, 5)], 1),
    (list_at_capture, [random(4), random(0)], 1),
    (long_python_loop, [random(4), random(2)], 1),
    (return_through_finally, [vector(1, 2), vector(-5, 2)], 1),
    (leaves_from_both_sides, [vector(-1, 0.5, 2), vector(0.5, -1, 0.2)], 1),
    (remainders, [numbers(10, 3), numbers(20, 4)], 1),
    (flag_from_data, [vector(1, 2), vector(0, 0)], 1),
    (while_over_data, [vector(0, 0, 2, 0), vector(0, 0), vector(5)], 1),
    (collatz_steps, [numbers(27), numbers(1)], 1),
    (halve_until, [vector(5), vector(0.001, 2)], 1),
    (symbolic_step, [random(9, more=(2,)), random(9, more=(3,)), random(4, more=(1,))], 1),
    (counts_down, [random(5), random(8)], 1),
    (number_of_both_sides, [vector(1, 2), vector(-1, 3), vector(2, -1)], 1),
    (array_of_one_side, [vector(1, 2), vector(-1, -2, -3)], 1),
    (number_of_no_iteration_by_data, [lambda: (np.zeros(2), 4), lambda: (np.full(2, 3.0), 5)], 1),
    (lengths_of_what_shrinks, [random(7, more=(3,)), random(9, more=(1,))], 1),
    (default_of_no_iteration, [random(5, more=(3,)), random(5, more=(1,))], 1),
    (reversed_and_zipped, [random(5, 5), random(8, 8)], 1),
    (match_on_strings, [lambda: (np.ones(3), "a"), lambda: (np.ones(3), "c")], 2),
    (walrus_in_a_test, [random(9), random(1)], 1),
    (generators_at_capture, [random(9), random(3)], 1),
    (deletes_a_temporary, [random(4), random(1)], 1),
    (both_sides_assign, [random(9), random(1)], 1),
    (assigned_where_used, [vector(1, 2), vector(-1, 2)], 1),
]


@pytest.mark.parametrize(
    ("fn", "calls", "most"), [pytest.param(*case, id=case[0].__name__) for case in CASES]
)
def test_gives_the_answer_of_python(fn, calls, most):
    compiled = evaluated(fn)
    for make in calls:
        expected_arguments, arguments = make(), make()
        expected = fn(*expected_arguments)
        result = compiled(*arguments)
        compare(expected, result)
        compare(expected_arguments, arguments)
    assert compiled.captures <= most, [c.program.guards for _, c in compiled.specialisations]


def compare(expected: Any, result: Any) -> None:
    if isinstance(expected, tuple):
        assert isinstance(result, tuple) and len(result) == len(expected)
        for left, right in zip(expected, result, strict=True):
            compare(left, right)
    elif isinstance(expected, (np.ndarray, np.generic, int, float)):
        assert np.asarray(result).dtype == np.asarray(expected).dtype
        np.testing.assert_allclose(result, expected, rtol=1e-12)
    else:
        assert result == expected


@pytest.mark.parametrize(
    ("fn", "good", "bad", "message"),
    [
        (raises_by_data, vector(1, 2), vector(-1, 2), "ValueError: negative"),
        (raises_in_a_loop, vector(1, 2), vector(1, 200), "ValueError: large"),
        (asserts_by_data, vector(1), vector(200), "too large"),
    ],
)
def test_failures_by_data_are_traps(fn, good, bad, message):
    compiled = evaluated(fn)
    compare(fn(*good()), compiled(*good()))
    with pytest.raises(errors.UserError, match=message):
        compiled(*bad())
    assert compiled.captures == 1


def test_a_condition_over_arguments_takes_the_sides_of_the_sample():
    def fn(x, n, scale):
        if n != len(x):
            raise ValueError("length")
        return x * 2 if scale is None else x * scale

    compiled = evaluated(fn)
    compare(np.ones(3) * 2, compiled(np.ones(3), 3, None))
    compare(np.ones(5) * 2, compiled(np.ones(5), 5, None))
    assert compiled.captures == 1
    with pytest.raises(ValueError, match="length"):
        compiled(np.ones(3), 4, None)
    compare(np.ones(3) * 0.5, compiled(np.ones(3), 3, 0.5))
    assert compiled.captures == 2


def test_a_loop_that_is_empty_in_the_sample_is_guarded():
    def fn(x):
        total = 0.0
        for i in range(len(x) - 3):
            total += x[i]
        return total

    compiled = evaluated(fn)
    assert compiled(np.ones(2)) == 0.0 and compiled(np.ones(3)) == 0.0
    assert compiled.captures == 1
    assert compiled(np.ones(9)) == 6.0 and compiled(np.ones(5)) == 2.0
    assert compiled.captures == 2


def test_regions_do_not_grow_with_their_depth():
    """Loops in each other are traced a bounded number of times each, not twice for every loop around them."""
    runs = itertools.count()

    def fn(x, n):
        total = 0.0
        for a in range(n):
            for b in range(n):
                for c in range(n):
                    for d in range(n):
                        for e in range(n):
                            next(runs)
                            if x[a] > x[b]:
                                total += x[c] * x[d]
                            else:
                                total = total - x[e] * x[a]
        return total

    compiled = evaluated(fn)
    assert compiled(np.ones(4), 2) == fn(np.ones(4), 2)
    traced = next(runs) - 2**5
    assert traced <= 12


def test_side_effects_on_containers_are_undone_where_a_loop_is_unrolled_after_all():
    def fn(x):
        weights = []
        for k in range(40):
            weights.append(0.5 * k)
        return x * weights[39] + len(weights)

    compare(fn(np.ones(3)), evaluated(fn)(np.ones(3)))


def test_an_outer_array_written_in_a_loop_keeps_its_views():
    def fn(x, n):
        work = x + 1.0
        head = work[:2]
        for i in range(n):
            work[i] = 10.0 * i
        return head, work

    compiled = evaluated(fn)
    for n in (3, 1, 0):
        compare(fn(np.arange(4.0), n), compiled(np.arange(4.0), n))


def test_a_branch_that_writes_one_of_two_arrays():
    def fn(a, b):
        for i in range(len(a)):
            target = a if a[i] < 0.5 else b
            target[i] = -1.0

    compiled = evaluated(fn)
    for size in (6, 1, 3):
        expected, arguments = random(size, size)(), random(size, size)()
        fn(*expected)
        compiled(*arguments)
        compare(expected, arguments)


def test_a_carried_int_keeps_its_sign():
    """Without that, every slice of the loop would be clamped at run time."""

    def fn(x):
        stride = 1
        while stride < len(x):
            x[stride:] += x[:-stride]
            stride *= 2

    compiled = evaluated(fn)
    for size in (7, 1, 2, 33):
        expected, arguments = random(size)(), random(size)()
        fn(*expected)
        compiled(*arguments)
        compare(expected, arguments)
    text = str(compiled.specialisations[0][1].program)
    assert "check (" not in text and "min(" not in text


def test_a_sign_that_changes_is_not_assumed():
    def fn(x):
        k = len(x) - 1
        while k > -3:
            x[k] += 1.0
            k -= 2
        return k

    compiled = evaluated(fn)
    for size in (6, 4, 9):
        expected, arguments = random(size)(), random(size)()
        assert fn(*expected) == compiled(*arguments)
        compare(expected, arguments)


class Model:
    def __init__(self, rate, weights):
        self.rate = rate
        self.weights = weights
        self.inner = None

    def step(self, x):
        return x * self.rate + self.weights + (0.0 if self.inner is None else self.inner.rate)


def test_attributes_of_static_arguments_are_noted():
    model = Model(2.0, np.arange(3.0))
    model.inner = Model(5.0, None)
    captured = capture(Model.step, (model, np.ones(3)), {})
    noted = {(id(read.owner), read.name): read.value for read in captured.globals_read}
    assert noted[id(model), "rate"] == 2.0
    assert noted[id(model.inner), "rate"] == 5.0
    assert [info.path for info in captured.hidden] == [(model, "weights")]


def test_objects_made_by_the_program_are_not_noted():
    def fn(x):
        model = Model(3.0, x)
        return model.step(x)

    captured = capture(fn, (np.ones(3),), {})
    assert {read.name for read in captured.globals_read} <= {"Model", "capture", "np"}


def test_a_write_to_a_carried_array_reaches_the_array_that_the_loop_began_with():
    def fn(x, n):
        origin = x + 1.0
        current = origin
        for i in range(n):
            current[0] = 7.0 + i
            current = current * 2.0
        return origin, current

    compiled = evaluated(fn)
    for n in (3, 1, 0):
        compare(fn(np.arange(4.0), n), compiled(np.arange(4.0), n))


def test_lists_of_arrays_are_carried_item_by_item():
    def fn(x, n):
        buffers = [x, x * 2.0]
        for i in range(n):
            buffers = [buffers[1], buffers[0]]
            buffers[0][0] = i
        return buffers[0], buffers[1]

    compiled = evaluated(fn)
    for n in (3, 0):
        compare(fn(np.arange(4.0), n), compiled(np.arange(4.0), n))


def test_names_of_one_array_stay_so_where_the_loop_has_no_iteration():
    def fn(x, n):
        origin = x + 1.0
        current = origin
        for _ in range(n):
            current = current * 2.0
        current[0] = 100.0
        return origin, current

    compiled = evaluated(fn)
    for n in (3, 0, 1):
        compare(fn(np.arange(4.0), n), compiled(np.arange(4.0), n))


# Arguments, views of them and fresh arrays under one name.


def made(name, a, b):
    if name == "argument":
        return a
    if name == "view":
        return a[1:]
    if name == "reversed view":
        return a[::-1]
    return a * 2.0 if name == "fresh array" else (a * 2.0)[1:]


def by_size(a, b, x, n, origin):
    r = made(origin, a, b)
    for i in range(n):
        if i % 2:
            r = r + 1
    return r


def by_data(a, b, x, n, origin):
    r = made(origin, a, b)
    for i in range(x.shape[0]):
        if x[i] > 0:
            r = r + x[i]
    return r


def both_sides(a, b, x, n, origin):
    r = s = made(origin, a, b)
    for i in range(n):
        if x[0] > i:
            r = r + s
        elif i % 3 == 1:
            s = r
        else:
            r = -r
    return r, s


def in_a_while_loop(a, b, x, n, origin):
    r = made(origin, a, b)
    i = 0
    while i < n:
        if i % 2:
            r = r * 2
        i += 1
    return r


def while_data(a, b, x, n, origin):
    r = made(origin, a, b)
    while x[0] > 0:
        if x[0] > 1:
            r = r + 1
        x[0] -= 1
    return r


def by_expression(a, b, x, n, origin):
    r = made(origin, a, b)
    for i in range(n):
        r = r + 1 if i % 2 else r
        r = r if x[0] > i else r * 2
    return r


def twice_nested(a, b, x, n, origin):
    r = made(origin, a, b)
    for i in range(n):
        for j in range(i):
            if (i + j) % 2:
                if x[0] > j:
                    r = r + j
    return r


def written_behind(a, b, x, n, origin):
    r = made(origin, a, b)
    for i in range(n):
        if x[0] > i:
            r = r + 1
        r[0] = i
    r[1] = 7.0
    return r


def left_early(a, b, x, n, origin):
    r = made(origin, a, b)
    for i in range(x.shape[0]):
        if x[i] < 0:
            break
        if x[i] > 1:
            continue
        r = r + 1
    return r


def buffers_of_branches(a, b, x, n, origin):
    r = made(origin, a, b)
    if x[0] > 0:
        t = r.copy()
        t[0] = 9.0
        r = t
    elif x[0] < 0:
        r = r * 2
        r[1] = 4.0
    return r


def in_tuples(a, b, x, n, origin):
    r = (made(origin, a, b), b)
    for i in range(n):
        if x[0] > i:
            r = (r[0] + 1, r[1])
    return r


JOINS = [
    by_size, by_data, both_sides, in_a_while_loop, while_data, by_expression, twice_nested, written_behind, left_early,
    buffers_of_branches, in_tuples,
]  # fmt: skip


@pytest.mark.parametrize("fn", JOINS)
@pytest.mark.parametrize(
    "origin", ["argument", "view", "reversed view", "fresh array", "view of a fresh array"]
)
def test_an_argument_joins_with_a_fresh_array(fn, origin):
    data = [[2.0, -1.0, 1.0], [-1.0, 2.0, 3.0], [0.0, 0.0, 0.0], [1.0, 1.0, 5.0]]
    for order in ((3, 0, 1, 5), (0, 1, 2), (1, 4)):
        compiled = evaluated(fn)
        for n, x in zip(order, data, strict=False):
            arguments = [(np.arange(4.0), np.arange(4.0) * 3.0, np.array(x), n, origin) for _ in range(2)]
            compare(fn(*arguments[0]), compiled(*arguments[1]))
            compare(arguments[0][:3], arguments[1][:3])


table_of_a_test = np.arange(4.0)


def test_arrays_that_must_not_be_written_join_too():
    def fn(a, x):
        r = table_of_a_test
        s = np.broadcast_to(a[0], (4,))
        t = a
        for i in range(x.shape[0]):
            if x[i] > 0:
                r = r + 1
                s = s + t
            else:
                t = r
        return r, s.sum(), t

    compiled = evaluated(fn)
    for x in ([1.0, -1.0, 2.0], [-1.0, -1.0], [0.0, 3.0]):
        a = np.arange(4.0) + 5.0
        a.flags.writeable = False
        compare(fn(a, np.array(x)), compiled(a, np.array(x)))


def test_a_write_to_a_join_with_what_must_not_be_written_is_refused():
    def fn(x):
        r = table_of_a_test
        if x[0] > 0:
            r = r + 1
        r[0] = 5.0
        return r

    with pytest.raises(ValueError, match="cannot be written"):
        evaluated(fn)(np.ones(2))


def halves_until_short(a, b):
    t = b
    while len(t) > 2:
        t = t[1:]
    return 1.0 * t[1:-1] if a[0] > 0 else 2.0 * a[:-2]


@pytest.mark.parametrize("first", [1, 2, 3, 5])
def test_extents_that_the_end_of_a_loop_makes_equal(first):
    run = evaluated(halves_until_short)
    for size in (first, 1, 5, 3, 2):
        for sign in (1, -1):
            x = np.full(size, float(sign))
            np.testing.assert_array_equal(run(x, x), halves_until_short(x, x))

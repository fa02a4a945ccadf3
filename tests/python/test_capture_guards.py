"""Which guards a capture leaves: what was decided by the sample, no more, in the user's names."""

from __future__ import annotations

import numpy as np
import pytest

from ferrule.capture import Options, capture


def guards(fn, *args, **kwargs):
    return capture(fn, args, kwargs, Options()).program.guards


def zeros(*shape):
    return np.zeros(shape)


def test_nothing_is_guarded_where_nothing_was_decided():
    def double(x, n, w):
        return x * w + n

    assert guards(double, zeros(5), 3, 0.5) == []


def test_equality_is_guarded_when_it_is_needed():
    def both(a, b):
        return a[0] + b[0], a + b

    assert guards(both, zeros(4), zeros(4)) == [
        "1 <= a.shape[0]",
        "1 <= b.shape[0]",
        "a.shape[0] == b.shape[0]",
    ]


def test_one_guard_for_an_interior_slice():
    def interior(x):
        return x[1:-1]

    assert guards(interior, zeros(9)) == ["2 <= x.shape[0]"]


def test_weaker_bounds_of_one_size_are_left_out():
    def wide(x):
        return x[1:-1].sum() + x[3:-3].sum()

    assert guards(wide, zeros(9)) == ["6 <= x.shape[0]"]


def test_the_empty_side_is_guarded_as_such():
    def interior(x):
        return x[1:-1]

    assert guards(interior, zeros(1)) == ["x.shape[0] <= 1"]


def test_broadcasting_guards_only_the_rule_that_applied():
    def scaled(x, w):
        return x * w

    assert guards(scaled, zeros(5, 3), zeros(5, 1)) == ["x.shape[0] == w.shape[0]", "w.shape[1] == 1"]


def test_a_predicate_is_guarded_not_the_value():
    def pick(x, n):
        if n > 3:
            return x + 1.0
        return x - 1.0

    assert guards(pick, zeros(2), 7) == ["4 <= n"]
    assert guards(pick, zeros(2), 3) == ["n <= 3"]


def test_an_axis_makes_an_int_static():
    def total(x, axis):
        return x.sum(axis=axis)

    assert guards(total, zeros(2, 3), 1) == ["axis == 1"]


def test_sizes_of_zero_and_one_are_not_special():
    def double(x):
        return x + x

    assert guards(double, zeros(0)) == [] == guards(double, zeros(1))


def test_proved_bounds_leave_no_guard():
    def tail(x, k):
        return x[: len(x)], x[0 : len(x) // 2]

    assert guards(tail, zeros(8), 1) == []


def test_guards_compare_sources_by_their_names():
    def matched(a, b):
        assert a.shape == b.shape
        return a * b

    assert guards(matched, zeros(2, 3), zeros(2, 3)) == [
        "a.shape[0] == b.shape[0]",
        "a.shape[1] == b.shape[1]",
    ]


def test_data_is_never_read():
    class Untouchable(np.ndarray):
        pass

    secret = np.full(3, np.nan).view(Untouchable)

    def positive(x):
        return x + 1

    capture(positive, (secret,), {})
    assert np.isnan(secret).all()


@pytest.mark.parametrize("order, layout", [("C", "C"), ("F", "F")])
def test_layout_classes(order, layout):
    def double(x):
        return x * 2

    x = np.zeros((4, 5), order=order)
    assert capture(double, (x,), {}).arguments[0].layout == layout


def test_strided_layouts():
    def double(x):
        return x * 2

    grid = np.zeros((6, 8))
    inner = capture(double, (grid[:, :5],), {}).arguments[0]
    assert (inner.layout, inner.inner_axis) == ("inner", 1)
    assert capture(double, (grid[::2, ::2],), {}).arguments[0].layout == "any"
    assert capture(double, (grid[:1, ::2],), {}).arguments[0].layout == "any"
    assert capture(double, (grid[:, :1][:1],), {}).arguments[0].layout == "C"

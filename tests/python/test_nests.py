"""Nested branches and loops: their parts are traced a number of times that grows with the depth, not by a factor a level."""

from __future__ import annotations

import importlib.util
from functools import partial

import nests
import numpy as np
import pytest
from evaluated import evaluated

from ferrule.capture import capture
from ferrule.capture.trace import Trace

DEPTHS = (3, 5, 8)


def load(tmp_path, kind, depth):
    path = tmp_path / f"nest_{depth}.py"
    path.write_text(nests.source(kind, depth))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


@pytest.fixture
def opened(monkeypatch):
    """Counts the traces of bodies, sides and tests."""
    counted = []
    open_region = Trace.open_region

    def counting(trace, params):
        counted.append(1)
        return open_region(trace, params)

    monkeypatch.setattr(Trace, "open_region", counting)
    return counted


@pytest.mark.parametrize("kind", nests.KINDS)
def test_traces_grow_with_the_depth(tmp_path, opened, kind):
    counts = {}
    for depth in DEPTHS:
        fn = load(tmp_path, kind, depth)
        opened.clear()
        capture(fn, (np.ones(20), 3), {})
        counts[depth] = len(opened)
    # A factor of 2 a level would be 32 times as many.
    assert all(counts[depth] <= counts[3] * (depth / 3) ** 3 for depth in DEPTHS), counts


@pytest.mark.parametrize("kind", nests.KINDS)
def test_answers_are_those_of_python(tmp_path, kind):
    for depth in (1, 2, 4):
        fn = load(tmp_path, kind, depth)
        compiled = evaluated(fn)
        for x in (
            [1.0, 2, 1, 0.5, 2, -1],
            [2.0, 0, 1, 1, -1, 0],
            [-1.0, 2, 6, 1, 0, 0],
            [1.0, 1, 8, 4, -2, 0],
        ):
            left, right = np.array(x), np.array(x)
            expected, result = fn(left, 2), compiled(right, 2)
            assert np.ndim(result) == 0 and result == expected, f"{depth}, {x}\n{nests.source(kind, depth)}"
            assert (left == right).all()


# -- what was found elsewhere --------------------------------------------------------------------------------------------------


def by_number(x, n):
    found = ()
    for z in (1.5, 2):
        s = 0
        for _ in range(n):
            s = s + z
        found = (*found, s)
    return found


def by_number_in_while(x, n):
    found = ()
    for z in (1.5, 2):
        s = i = 0
        while x[i] > 0:
            i += 1
            s = s + z
        found = (*found, s)
    return found


def by_number_in_nest(x, n):
    found = ()
    for z in (1.5, 2):
        s = 0
        for _ in range(n):
            for _ in range(n):
                if x[0] > 0:
                    s = z
        found = (*found, s)
    return found


def by_value_of_number(x, n):
    found = ()
    for z in (1, 2):
        s = 0
        for _ in range(n):
            s = s + 1.5 if z == 1 else s + 1
        found = (*found, s)
    return found


def by_size(x, n):
    found = ()
    for z in (x, x[:-3]):
        s = 0
        for _ in range(n):
            s = s + 1.5 if len(z) > 2 else s + 1
        found = (*found, s)
    return found


def by_argument(x, n):
    found = ()
    for z in (n, n - 2):
        s = 0
        for _ in range(n):
            s = s + 1.5 if z > 2 else s + 1
        found = (*found, s)
    return found


def by_test(x, n):
    found = ()
    for z in (n > 2, n > 3):
        s = 0
        for _ in range(n):
            s = s + 1.5 if z else s + 1
        found = (*found, s)
    return found


def by_items(x, n):
    found = ()
    for z in (x, np.arange(3)):
        s = 0
        for element in z:
            s = s + element
        found = (*found, s)
    return found


def by_closure(x, n):
    found = ()
    for z in (1.5, 2):

        def add(s, z=z):
            return s + z

        s = 0
        for _ in range(n):
            s = add(s)
        found = (*found, s)
    return found


def by_partial(x, n):
    found = ()
    for z in (1.5, 2):
        add = partial(lambda a, b: a + b, z)
        s = 0
        for _ in range(n):
            s = add(s)
        found = (*found, s)
    return found


class _Holder:
    def __init__(self, value):
        self.value = value


def by_attribute(x, n):
    found = ()
    held = _Holder(1.5)
    for z in (1.5, 2):
        held.value = z
        s = 0
        for _ in range(n):
            s = s + held.value
        found = (*found, s)
    return found


def by_item_of_a_list(x, n):
    found = ()
    held = [1.5]
    for z in (1.5, 2):
        held[0] = z
        s = 0
        for _ in range(n):
            s = s + held[0]
        found = (*found, s)
    return found


@pytest.mark.parametrize(
    "fn",
    [
        by_number,
        by_number_in_while,
        by_number_in_nest,
        by_value_of_number,
        by_size,
        by_argument,
        by_test,
        by_items,
        by_closure,
        by_partial,
        by_attribute,
        by_item_of_a_list,
    ],
)
def test_types_do_not_rest_on_another_visit_of_a_loop(fn):
    x = np.array([1.0, 2.0, 3.0, 0.0, -1.0])
    expected, result = fn(x, 3), evaluated(fn)(x, 3)
    assert result == expected
    assert [np.asarray(item).dtype for item in result] == [np.asarray(item).dtype for item in expected]

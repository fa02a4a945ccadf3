"""FunctionBase: which specialisation runs, what counts as a miss, and how it stands in for a Python function."""

from __future__ import annotations

import gc
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "modules"))

import kernels

from ferrule import _rt, errors


class Function(_rt.FunctionBase):
    """Answers a miss with what it was given."""

    def _miss(self, args, kwargs):
        return ("miss", args, kwargs)


def total(ctype, dtype, rank=1):
    return kernels.kernel("typed.c", f"-DTYPE={ctype}", f"-DDTYPE={dtype}", f"-DRANK={rank}")


@pytest.fixture
def totals():
    function = Function()
    assert function._add(total("double", "FR_F64")) == 0
    assert function._add(total("int32_t", "FR_I32")) == 1
    assert function._add(total("double", "FR_F64", 2)) == 2
    return function


def test_tries_each_specialisation_and_then_misses(totals):
    for _ in range(3):
        assert totals(np.arange(4.0)) == 6
        assert totals(np.arange(5, dtype="i4")) == 10
        assert totals(x=np.ones((2, 3))) == 6
    x = np.ones(3, "f4")
    assert totals(x) == ("miss", (x,), {})
    assert totals(x=x) == ("miss", (), {"x": x})
    assert totals() == ("miss", (), {})
    assert totals([1.0], key=2) == ("miss", ([1.0],), {"key": 2})
    assert totals(np.arange(4.0)) == 6


def test_a_miss_leaves_no_error_behind(totals):
    for bad in (None, [1.0], np.ones(3, ">f8"), np.ma.masked_array([1.0]), np.ones(8)[::2], 3, "x"):
        assert totals(bad)[0] == "miss"
    before = sys.getrefcount(totals)
    for _ in range(100):
        totals(None)
    assert sys.getrefcount(totals) == before


def test_an_empty_function_misses_and_the_base_says_so():
    assert Function()(1, a=2) == ("miss", (1,), {"a": 2})
    with pytest.raises(NotImplementedError, match="FunctionBase"):
        _rt.FunctionBase()(1)


def test_clear_and_list(totals):
    assert [k.name for k in totals._specialisations()] == ["total"] * 3
    totals._clear()
    assert totals._specialisations() == []
    assert totals(np.arange(4.0))[0] == "miss"


def test_errors_of_a_run_are_not_misses():
    function = Function()
    function._add(kernels.kernel("parallel.c"))
    index = np.array([0, 9])
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        function(index, np.int64(5))


def test_scalars_match_exactly():
    function = Function()
    function._add(kernels.kernel("scalars.c"))
    assert function(**defaults(), k=2, w=0.5)[10:12] == (2, 0.5)
    assert function(k=2, w=0.5)[0] == "miss"  # a default counts as if it were given: False is no np.bool_
    for kwargs in (
        {"k": 2.0},
        {"k": True},
        {"k": np.int64(2)},
        {"k": 2**70},
        {"w": 1},
        {"w": np.float64(1.0)},
        {"w": True},
        {"i32": 3},
        {"i32": np.int64(3)},
        {"f32": 0.5},
        {"f64": np.array(0.5)},
        {"b": True},
        {"b": np.int8(1)},
    ):
        assert function(**defaults() | kwargs)[0] == "miss", kwargs
    assert function(**defaults() | {"i32": np.int32(9)})[2] == 9
    assert function(**defaults() | {"b": np.True_})[0] == np.True_
    assert function(**defaults() | {"i64": np.longlong(8)})[3] == 8


def defaults():
    """Strong scalars by their own type; what the literals of the descriptor are not."""
    return {
        "b": np.False_,
        "i8": np.int8(1),
        "i32": np.int32(2),
        "i64": np.int64(3),
        "u8": np.uint8(4),
        "u64": np.uint64(5),
        "f32": np.float32(0.5),
        "f64": np.float64(0.25),
        "c64": np.complex64(1j),
        "c128": np.complex128(2j),
    }


def test_overlap_that_no_entry_allows_is_a_miss():
    function = Function()
    function._add(kernels.kernel("noalias.c"))
    v = np.arange(6.0)
    assert function(v[1:], v[:-1])[0] == "miss"
    np.testing.assert_array_equal(v, np.arange(6.0))
    assert function(v[::2], v[1::2]) is None


def test_a_guard_that_fails_is_a_miss():
    function = Function()
    function._add(kernels.kernel("extents.c"))
    a, c = np.zeros(8), np.zeros(10, np.int64)
    assert function(a, np.zeros((4, 3), "f4"), c) == 4003
    assert function(a, np.zeros((4, 0), "f4"), c)[0] == "miss"
    assert function(a, np.zeros((3, 3), "f4"), c)[0] == "miss"


def test_annotated_raises_and_converts():
    function = Function()
    function._annotated = True
    function._add(kernels.kernel("scalars.c"))
    assert function(i32=np.int64(9), f64=np.float32(0.5))[2] == 9
    with pytest.raises(errors.UserTypeError, match="'i32' is a float"):
        function(i32=2.0)
    with pytest.raises(TypeError, match="there is no argument 'key'"):
        function(key=1)
    with pytest.raises(ValueError, match="before the first"):
        function._annotated = False


def scaled(space, **more):
    function = Function()
    table = np.array([10.0, 20.0])
    space["table"] = table
    function._add(
        kernels.kernel("static_hidden.c"),
        globals_guard=((space, "mode", space["mode"]),),
        hidden=((space, "table"),),
        statics={"axis": (0, 1.5)},
        **more,
    )
    return function


def test_statics_globals_and_hidden_arrays():
    space = {"mode": "fast"}
    function = scaled(space)
    x = np.ones(3)
    assert function(x, (0, 1.5), K=2) == 60
    assert function(x, (0, 2.5), K=2)[0] == "miss"
    assert function(x, (False, 1.5), K=2)[0] == "miss"
    assert function(x, K=2)[0] == "miss"
    space["mode"] = "".join(["fa", "st"])  # equal, not identical
    assert function(x, (0, 1.5), K=2) == 60
    space["mode"] = "slow"
    assert function(x, (0, 1.5), K=2)[0] == "miss"
    space["mode"] = "fast"
    space["table"] = np.array([1.0, 2.0, 3.0])
    assert function(x, (0, 1.5), K=3) == 9
    assert function(x, (0, 1.5), K=4)[0] == "miss"
    space["table"] = [1.0]
    assert function(x, (0, 1.5), K=1)[0] == "miss"
    del space["table"]
    assert function(x, (0, 1.5), K=1)[0] == "miss"


@pytest.mark.parametrize("change", ["other value", "deletion", "another dict version"])
def test_a_guarded_global_is_seen_at_every_call(change):
    space = {"mode": "fast", "other": 0}
    function = Function()
    function._add(total("double", "FR_F64"), globals_guard=((space, "mode", space["mode"]),))
    x = np.arange(4.0)
    for turn in range(3):
        assert [function(x), function(x=x)] == [6, 6]
        mode = space["mode"]
        if change == "other value":
            space["mode"] = turn
        elif change == "deletion":
            del space["mode"]
        else:
            space["other"] = turn
            assert function(x) == 6
            continue
        assert [function(x)[0], function(x=x)[0]] == ["miss", "miss"]
        space["mode"] = mode


def test_hidden_arrays_keep_their_reference_counts():
    space = {"mode": 1}
    function = scaled(space)
    table = space["table"]
    before = sys.getrefcount(table)
    for _ in range(100):
        function(np.ones(3), (0, 1.5), K=2)
        function(np.ones(3), (0, 1.5), K=7)
    assert sys.getrefcount(table) == before


def test_values_that_look_equal_but_are_not():
    for guarded, other in ((0.0, -0.0), (1, True), (1, 1.0), ((1, 0.0), (1, -0.0)), (float("nan"), 0.0)):
        space = {"mode": guarded}
        function = scaled(space)
        assert function(np.ones(3), (0, 1.5), K=1) == 30
        space["mode"] = other
        assert function(np.ones(3), (0, 1.5), K=1)[0] == "miss", (guarded, other)
    space = {"mode": float("nan")}
    function = scaled(space)
    space["mode"] = float("nan")
    assert function(np.ones(3), (0, 1.5), K=1) == 30


def test_closure_cells_are_variables_too():
    mode = 1

    def reader():
        return mode

    cell = reader.__closure__[0]
    function = Function()
    space = {"table": np.array([10.0])}
    guard = ((cell, None, 1),)
    function._add(kernels.kernel("static_hidden.c"), guard, ((space, "table"),), {"axis": 0})
    assert function(np.ones(2), 0, K=1) == 20
    mode = 2
    assert function(np.ones(2), 0, K=1)[0] == "miss"


def test_defaults_may_be_left_out():
    space = {"mode": 1}
    function = scaled(space, defaults={"axis": (0, 1.5)})
    assert function(np.ones(2), K=1) == 20


def test_an_error_while_comparing_is_raised():
    class Odd:
        def __eq__(self, other):
            raise KeyError("odd")

        __hash__ = None

    space = {"mode": Odd()}
    function = scaled(space)
    space["mode"] = Odd()
    with pytest.raises(KeyError, match="odd"):
        function(np.ones(2), (0, 1.5), K=1)


def test_wrong_arguments_of_add():
    function = Function()
    kernel = kernels.kernel("static_hidden.c")
    for match, args, kwargs in (
        ("is a Kernel", (3,), {}),
        ("static argument 'axis' is not given", (kernel,), {}),
        ("no argument of", (kernel,), {"statics": {"axes": 1}}),
        ("dict or in a closure", (kernel,), {"statics": {"axis": 0}, "hidden": ((3, "x"),)}),
        ("tuple of 3", (kernel,), {"statics": {"axis": 0}, "globals_guard": ((3, "x"),)}),
        ("hidden variables are given", (kernel,), {"statics": {"axis": 0}, "hidden": (({}, "x"),) * 2}),
    ):
        with pytest.raises(TypeError, match=match):
            function._add(*args, **kwargs)
    assert function._specialisations() == []


def test_call_one_raises_its_refusal(totals):
    assert totals._call(1, (np.arange(3, dtype="i4"),), {}) == 3
    assert totals._call(0, (), {"x": np.ones(2)}) == 2
    with pytest.raises(TypeError, match="'x' has dtype float32"):
        totals._call(1, (np.ones(3, "f4"),), {})
    with pytest.raises(IndexError):
        totals._call(9, (), {})


def test_binds_as_a_method():
    class Model:
        add = Function()

        def __init__(self):
            self.calls = 0

    model = Model()
    assert model.add(3) == ("miss", (model, 3), {})
    assert Model.add is Model.__dict__["add"]
    assert Model.add(model) == ("miss", (model,), {})


def test_attributes_weak_references_and_cycles(totals):
    totals.__wrapped__ = len
    totals.__doc__ = "text"
    assert totals.__wrapped__ is len
    gone = weakref.ref(totals)
    function = Function()
    function.me = function
    gone = weakref.ref(function)
    del function
    gc.collect()
    assert gone() is None


def test_a_subclass_takes_the_fast_way():
    # A class made by a `class` statement has the vectorcall flag (bit 11), unless it defines __call__ itself.
    assert Function.__flags__ & (1 << 11)

    class Slow(_rt.FunctionBase):
        def __call__(self, *args):
            return "own"

    assert Slow()(1) == "own"


def test_miss_may_add_and_call_again():
    class Compiling(_rt.FunctionBase):
        def _miss(self, args, kwargs):
            return self._call(self._add(total("double", "FR_F64")), args, kwargs)

    function = Compiling()
    assert function(np.ones(3)) == 3
    assert function(np.ones(4)) == 4
    assert len(function._specialisations()) == 1


def test_cleared_while_it_is_tried():
    function = Function()
    space = {}

    class Clears:
        def __eq__(self, other):
            function._clear()
            gc.collect()
            return True

        __hash__ = None

    space["mode"] = Clears()
    space["table"] = np.array([10.0])
    function._add(
        kernels.kernel("static_hidden.c"), ((space, "mode", Clears()),), ((space, "table"),), {"axis": 0}
    )
    assert function(np.ones(2), 0, K=1) == 20
    assert function._specialisations() == []

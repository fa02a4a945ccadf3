"""New results are arrays of the library that the arguments are of."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest
from exporters import exchange_capsule, exchanging

import ferrule as fr


@fr.program
def twice(a):
    return a * 2.0


@fr.program
def several(a, b):
    return {"sum": a + b, "parts": [a, a.sum()]}


@fr.program(recompile_limit=100)
def same(a):
    return a & a if a.dtype == bool else a * 1


@fr.program
def itself(a):
    return a


@fr.program
def second(a, b):
    return b


@fr.program
def tail(a, b):
    return a[1:]


@fr.program
def second_plus(a, b, c):
    return a + b + c


class Tensor:
    """An array of a library of its own, over an ndarray."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.fixture
def library(monkeypatch):
    module = types.ModuleType("a_library")
    module.from_dlpack = lambda x: Tensor(np.from_dlpack(x))
    monkeypatch.setitem(sys.modules, "a_library", module)
    monkeypatch.setattr(Tensor, "__module__", "a_library.inner")
    return module


@pytest.mark.usefixtures("library")
def test_a_library_with_from_dlpack():
    for _ in range(3):  # the first call is another way
        result = twice(Tensor(np.arange(3.0)))
        assert type(result) is Tensor
        np.testing.assert_array_equal(result.array, [0, 2, 4])


@pytest.mark.usefixtures("library")
def test_structured_results_and_arguments_among_them():
    given, other = Tensor(np.arange(3.0)), np.ones(3)
    for _ in range(3):
        result = several(given, other)
        assert type(result["sum"]) is Tensor
        np.testing.assert_array_equal(result["sum"].array, [1, 2, 3])
        assert result["parts"][0] is given
        assert result["parts"][1] == 3.0


def test_an_array_namespace_comes_first(library):
    class Named(Tensor):
        def __array_namespace__(self):
            space = types.SimpleNamespace()
            space.from_dlpack = lambda x: ("named", np.from_dlpack(x).tolist())
            return space

    for _ in range(2):
        assert twice(Named(np.arange(2.0))) == ("named", [0.0, 2.0])


def test_without_from_dlpack_they_are_ndarrays():
    for _ in range(2):
        assert type(twice(Tensor(np.arange(3.0)))) is np.ndarray
        assert type(twice(np.arange(3.0))) is np.ndarray


def test_ferrules_own_array_gives_ndarrays():
    for _ in range(2):
        result = twice(fr.asarray(np.arange(3.0)))
        assert type(result) is np.ndarray
        np.testing.assert_array_equal(result, [0, 2, 4])


def test_source_kernels():
    signature = fr.Signature("half", [fr.Arg("a", shape="N")], returns=[fr.Return("r", shape="N")])
    text = "void half(double* a, double* r, long n) { for (long i = 0; i < n; ++i) r[i] = a[i] / 2; }"
    kernel = fr.compile_source(text, signature).load()
    assert type(kernel(np.ones(3))) is np.ndarray
    assert type(kernel(memoryview(np.ones(3)))) is np.ndarray
    assert type(kernel(fr.asarray(np.ones(3)))) is np.ndarray


@pytest.mark.usefixtures("library")
def test_source_kernels_with_a_library():
    signature = fr.Signature("half", [fr.Arg("a", shape="N")], returns=[fr.Return("r", shape="N")])
    text = "void half(double* a, double* r, long n) { for (long i = 0; i < n; ++i) r[i] = a[i] / 2; }"
    result = fr.compile_source(text, signature).load()(Tensor(np.ones(3)))
    assert type(result) is Tensor
    np.testing.assert_array_equal(result.array, 0.5)


def test_torch():
    torch = pytest.importorskip("torch")
    for _ in range(2):
        result = twice(torch.arange(3, dtype=torch.float64))
        assert isinstance(result, torch.Tensor)
        assert result.tolist() == [0, 2, 4]


class TestTable:
    """A library whose arrays have a C exchange table: one new array is handed over through it, without Python."""

    @pytest.fixture
    def kind(self):
        calls = []
        kind = exchanging(exchange_capsule(calls=calls, adopt=lambda array: kind(array)))
        kind.calls = calls
        return kind

    @pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float32", "float64"])
    @pytest.mark.parametrize("shape", [(), (0,), (1,), (9,), (3, 4), (2, 0, 3)])
    def test_new_arrays(self, kind, dtype, shape):
        array = np.ones(shape, dtype)
        for _ in range(2):  # the first call is another way
            result = same(kind(array))
            if shape == ():
                assert result == array
                continue
            assert type(result) is kind and result.array.dtype == dtype and result.array.shape == shape
            np.testing.assert_array_equal(result.array, array)
        assert (kind.calls[-1] == "take") == (shape != ())

    def test_what_is_given_comes_back_itself(self, kind):
        a, plain = kind(np.arange(3.0)), np.arange(3.0)
        for _ in range(2):
            assert itself(a) is a
            assert second(a, plain) is plain
        assert "take" not in kind.calls

    def test_read_only_views_are_not_handed_over_as_writable(self, kind):
        frozen = np.arange(3.0)
        frozen.flags.writeable = False
        for _ in range(2):
            result = tail(frozen, kind(np.ones(2)))
            assert type(result) is np.ndarray and not result.flags.writeable
        assert "take" not in kind.calls

    def test_the_memory_lives_as_long_as_what_was_made(self, kind):
        twice(kind(np.arange(1000.0)))
        held = [twice(kind(np.arange(1000.0) + n)) for n in range(5)]
        for n, made in enumerate(held):
            np.testing.assert_array_equal(made.array, 2 * (np.arange(1000.0) + n))

    def test_the_first_array_of_a_library_decides(self, kind):
        calls = []
        other = exchanging(exchange_capsule(calls=calls, adopt=lambda array: other(array)))
        for _ in range(2):
            assert type(second_plus(np.ones(2), kind(np.ones(2)), other(np.ones(2)))) is kind
            assert type(second_plus(fr.Array.zeros(2), other(np.ones(2)), kind(np.ones(2)))) is other

    def test_a_table_without_the_entry_is_passed_over(self):
        kind = exchanging(exchange_capsule())
        for _ in range(2):
            assert type(twice(kind(np.ones(2)))) is np.ndarray

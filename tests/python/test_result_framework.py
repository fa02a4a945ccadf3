"""New results are arrays of the library that the arguments are of."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest

import ferrule as fr


@fr.program
def twice(a):
    return a * 2.0


@fr.program
def several(a, b):
    return {"sum": a + b, "parts": [a, a.sum()]}


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

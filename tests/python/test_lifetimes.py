"""Nothing is remembered by address or identity: arrays that come and go, references, threads, functions that outlive
their modules."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import pytest

import ferrule as fr

DTYPES = ["float64", "float32", "int64", "int16", "uint8"]


@fr.program
def twice(a: Any) -> Any:
    return a + a


@pytest.fixture(scope="module")
def sum_of() -> Any:
    source = "double sum_of(const double* a, double s, long n) { double r = 0; for (long i = 0; i < n; ++i) r += s * a[i]; return r; }"
    args = [fr.Arg("a", shape="N"), fr.Arg("s", kind="scalar", default=1.0)]
    signature = fr.Signature("sum_of", args, returns=[fr.Return("r", kind="scalar")], result="r")
    return fr.compile_source(source, signature).load()


def test_arrays_that_take_the_place_of_others(sum_of: Any) -> None:
    numbers, addresses = np.random.default_rng(1), set()
    for step in range(1000):
        n = int(numbers.choice((0, 1, 7, 8, 9, 100)))
        a = numbers.integers(0, 9, n).astype(DTYPES[step % len(DTYPES)])
        addresses.add(a.ctypes.data)
        np.testing.assert_array_equal(twice(a), a + a, strict=True)
        if a.dtype == np.float64:
            assert sum_of(a) == a.sum()
        else:
            with pytest.raises(TypeError, match="'a' has dtype"):
                sum_of(a)
        if n == 8:  # the same object with another meaning
            a.shape = (2, 4)
            np.testing.assert_array_equal(twice(a), a + a, strict=True)
        del a
    assert len(addresses) < 1000  # some were reused


FAILURES: list[Callable[[Any, dict[str, Any]], Any]] = [
    lambda f, v: f(v["wrong dtype"]), lambda f, v: f(v["swapped"]), lambda f, v: f(v["other rank"]),
    lambda f, v: f(v["strided"]), lambda f, v: f(v["odd"]), lambda f, v: f(v["list"]), lambda f, v: f(v["text"]),
    lambda f, v: f(v["object"]), lambda f, v: f(v["masked"]), lambda f, v: f(v["good"], v["text"]), lambda f, v: f(v["good"], v["list"]),
    lambda f, v: f(v["good"], v["big"]), lambda f, v: f(v["good"], N=v["big"]), lambda f, v: f(v["good"], N=v["object"]),
    lambda f, v: f(v["good"], unknown=v["object"]), lambda f, v: f(v["good"], a=v["good"]), lambda f, v: f(), lambda f, v: f(s=v["object"]),
    lambda f, v: f(*[v["good"]] * 9), lambda f, v: f(v["memory"]), lambda f, v: f(v["lender"]), lambda f, v: f(v["raising"]),
]  # fmt: skip


class Lender:
    """Lends an array of another dtype."""

    def __init__(self) -> None:
        self.array = np.ones(3, "i4")

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


class Raising:
    def __dlpack__(self, **_: Any) -> Any:
        raise RuntimeError("no tensor")

    def __dlpack_device__(self) -> Any:
        return (1, 0)


@fr.program
def annotated(a: Annotated[np.ndarray, fr.float64["N"]], s: fr.float64 = 1.0) -> Any:
    return a * s


def made() -> dict[str, Any]:
    return {
        "good": np.arange(3.0), "wrong dtype": np.ones(3, "f4"), "swapped": np.ones(3, ">f8"), "other rank": np.ones((3, 1)),
        "strided": np.ones(6)[::2], "odd": np.zeros(25, "u1")[1:].view("f8"), "list": [1.0, 2.0], "text": "text " * 9,
        "object": object(), "masked": np.ma.ones(3), "big": 10**400, "memory": memoryview(b"12345678"), "lender": Lender(),
        "raising": Raising(), "float": 2.5, "name": "".join(["wei", "ght"]), "mapped": np.ones(3, "f8").view(np.recarray),
        "fr": fr.asarray(np.ones(3)),
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["kernel", "annotated"])
def test_references_are_as_before(sum_of: Any, kind: str) -> None:
    call = sum_of if kind == "kernel" else annotated
    values = made()
    held = list(values.values())

    def round_of_calls() -> None:
        call(values["good"])
        call(values["good"], values["float"])
        call(a=values["good"], s=values["float"])
        call(s=values["float"], a=values["good"], N=3)
        call(values["fr"])
        for fails in FAILURES:
            with pytest.raises(fr.UserError):
                fails(call, values)

    for _ in range(300):  # until caches of Python and of the messages have what they keep
        round_of_calls()
    gc.collect()
    before, blocks = [sys.getrefcount(value) for value in held], sys.getallocatedblocks()
    rounds = 2000  # what is kept is a few hundred blocks however many rounds there are
    for _ in range(rounds):
        round_of_calls()
    gc.collect()
    assert [sys.getrefcount(value) for value in held] == before
    assert abs(sys.getallocatedblocks() - blocks) < 0.75 * rounds


def test_references_of_functions_that_capture() -> None:
    function = fr.program(lambda a, n=2: a * n)
    a, strange, text = np.ones(3), np.ones(3, ">f8"), "text " * 9
    values = [a, strange, text]
    for _ in range(3):
        function(a)
        for bad in (strange, text):
            with pytest.raises((fr.UserError, fr.Unsupported)):
                function(bad)
    gc.collect()
    before, made_before = [sys.getrefcount(value) for value in values], len(function.specialisations)
    for _ in range(30):
        function(a)
        for bad in (strange, text):
            with pytest.raises((fr.UserError, fr.Unsupported)):
                function(bad)
    gc.collect()
    assert [sys.getrefcount(value) for value in values] == before
    assert len(function.specialisations) == made_before


def test_arguments_are_free_after_a_call(sum_of: Any) -> None:
    for call in (sum_of, annotated, twice):
        for _ in range(3):
            a = np.ones(3)
            gone = weakref.ref(a)
            call(a)
            del a
            assert gone() is None
            wrong = np.ones((3, 2, 1, 1), ">f8")
            gone = weakref.ref(wrong)
            with pytest.raises(TypeError):
                call(wrong)
            del wrong
            gc.collect()
            assert gone() is None


@pytest.mark.parametrize("kind", ["kernel", "function"])
def test_two_threads_and_one_callable(sum_of: Any, kind: str) -> None:
    wrong: list[Any] = []
    start = threading.Barrier(2)

    def work(seed: int) -> None:
        arrays = [np.arange(float(n)) + seed for n in (3, 8, 17, 64)]
        sums = [float(a.sum()) for a in arrays]
        start.wait()
        for step in range(10_000):
            k, scale = step % 4, float(step % 7 - 3)
            if kind == "kernel":
                got = sum_of(arrays[k], scale, N=len(arrays[k])) if step % 3 else sum_of(s=scale, a=arrays[k])
                if got != scale * sums[k]:
                    wrong.append((seed, step, got))
            else:
                got = annotated(arrays[k], scale)
                if got.shape != arrays[k].shape or got[-1] != arrays[k][-1] * scale:
                    wrong.append((seed, step, got))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 50)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert wrong == []


# -- names and modules


def helper_of(fields: str, expression: str) -> str:
    return f"struct Helper {{ {fields} }};\nstatic Helper make(double x) {{ return {expression}; }}\n"


FIRST = helper_of("double a;", "{x + 1}") + "double k(double x) { return make(x).a; }"
SECOND = helper_of("int pad[9]; double b;", "{{}, x * 10}") + "double k(double x) { return make(x).b; }"
NUMBER = fr.Signature("k", [fr.Arg("x", kind="scalar")], returns=[fr.Return("r", kind="scalar")], result="r")


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_equal_names_of_kernels_and_of_their_types(order: tuple[int, int]) -> None:
    artifacts = [fr.compile_source(source, NUMBER) for source in (FIRST, SECOND)]
    loaded = {which: artifacts[which].load() for which in order}
    for _ in range(3):
        assert (loaded[0](2.0), loaded[1](2.0)) == (3.0, 20.0)
    wrong: list[float] = []

    def work(which: int) -> None:
        for step in range(2000):
            x = float(step)
            if loaded[which](x) != (x + 1, x * 10)[which]:
                wrong.append(x)

    threads = [threading.Thread(target=work, args=(which,)) for which in (0, 1, 0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_two_functions_of_one_name() -> None:
    def made(factor: int) -> Any:
        if factor == 1:

            @fr.program
            def k(x: Any) -> Any:
                return x + 1

        else:

            @fr.program
            def k(x: Any) -> Any:
                return x * 10

        return k

    first, second = made(1), made(2)
    for given in (2, np.full(3, 2.0), 2.0, np.float32(2)):
        for _ in range(3):
            np.testing.assert_array_equal(first(given), given + 1)
            np.testing.assert_array_equal(second(given), given * 10)
    assert first.__name__ == second.__name__ == "k"


def test_the_function_alone_is_kept() -> None:
    artifact, other = (fr.compile_source(source, NUMBER) for source in (FIRST, SECOND))
    function, sibling = artifact.load(), other.load()
    call = function.__call__
    for name in [name for name in sys.modules if name == "k" or name.startswith("ferrule_k")]:
        del sys.modules[name]
    del artifact, other, sibling
    gc.collect()
    assert function(2.0) == 3.0
    del function
    gc.collect()
    assert call(2.0) == 3.0


def test_a_loaded_function_outlives_the_decorated_one() -> None:
    program = fr.program(lambda a: a + 41.0)
    kernel = program.compile(np.ones(2)).load()
    specialised = program.specialisations[0]
    del program
    gc.collect()
    for kept in (kernel, specialised):
        np.testing.assert_array_equal(kept(np.ones(2)), 42.0)

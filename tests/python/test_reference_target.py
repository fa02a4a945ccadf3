"""Target 'reference': the evaluator runs the program behind the same artifact, call interface and errors."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest

import ferrule as fr


def mixed(a: Any, n: int, w: float = 2.0) -> Any:
    """Every kind of result: fresh, a size that data decides, a number, an argument, a view, None."""
    b = np.zeros_like(a)
    kept = a
    for _ in range(n):
        b[1:] = a[1:] * w + b[:-1]
        if b[-1] > 20:
            kept = kept[1:]
    return b, kept * 1.0, b.sum(), a, a[1:], None, a.shape[0]


def same(got: Any, expected: Any) -> None:
    for left, right in zip(got, expected, strict=True):
        assert type(left) is type(right)
        if isinstance(left, np.ndarray):
            assert left.dtype == right.dtype
        np.testing.assert_array_equal(left, right)


reference = fr.program(mixed, target="reference")
native = fr.program(mixed)


@pytest.mark.parametrize("size", [4, 1, 2, 7])
@pytest.mark.parametrize("steps", [0, 1, 3])
def test_results_are_numpys(size: int, steps: int) -> None:
    a = np.arange(float(size))
    got = reference(a, steps)
    same(got, mixed(a, steps))
    same(native(a, steps), got)
    assert got[3] is a
    assert np.shares_memory(got[4], a) == (size > 1)


def test_layouts_and_overlap() -> None:
    def shift(x: Any, y: Any) -> None:
        y[1:] = x[:-1] + y[1:]

    evaluated = fr.program(shift, target="reference")
    for view in (lambda m: m, lambda m: m.T, lambda m: m[::-1, ::2], lambda m: m[1:, 1:]):
        whole = np.arange(30.0).reshape(5, 6)
        expected = whole.copy()
        shift(view(expected), view(expected))
        evaluated(view(whole), view(whole))
        np.testing.assert_array_equal(whole, expected)
    buffer = np.arange(10.0)
    expected = buffer.copy()
    shift(expected[:-1], expected[1:])
    evaluated(buffer[:-1], buffer[1:])
    np.testing.assert_array_equal(buffer, expected)


def totals(x: Any) -> Any:
    return (
        x.sum(),
        x.sum(axis=0),
        x.sum(axis=1),
        x.mean(),
        x.prod(axis=0),
        x.min(axis=1),
        np.add.reduce(x, axis=1),
    )


@pytest.mark.parametrize("shape", [(3, 4), (1, 1), (2, 40), (40, 2)])
def test_signs_of_zero_in_reductions(shape: tuple[int, int]) -> None:
    x = np.full(shape, -0.0)
    expected = totals(x)
    for target in ("native", "reference"):
        for got, wanted in zip(fr.program(totals, target=target)(x), expected, strict=True):
            np.testing.assert_array_equal(np.signbit(got), np.signbit(wanted))


def pick(a: Any, i: Any) -> Any:
    if a[0] < 0:
        raise ValueError("negative")
    return a[i[0]]


@pytest.mark.parametrize(("first", "index"), [(1.0, 9), (1.0, -9), (-1.0, 0)])
def test_errors_are_those_of_native_code(first: float, index: int) -> None:
    said = []
    for target in ("native", "reference"):
        with pytest.raises((IndexError, ValueError)) as caught:
            fr.program(pick, target=target)(np.full(3, first), np.array([index]))
        said.append((type(caught.value), str(caught.value)))
    assert said[0] == said[1]
    assert Path(__file__).name in said[0][1]


def ends_of_ones(a: Any) -> Any:
    ones = np.ones(int(a[0]))
    ones[0] = 2.0
    return ones[0] + ones[-1]


@pytest.mark.parametrize(
    ("size", "bytes_"), [(2.0**57, f"{2**60}"), (2.0**60, "more than 2**63"), (2.0**61, "more than 2**63")]
)
def test_arrays_beyond_all_memory_are_native_errors(size: float, bytes_: str) -> None:
    for target in ("native", "reference"):
        ends = fr.program(ends_of_ones, target=target)
        assert ends(np.array([3.0])) == 3
        with pytest.raises(MemoryError) as caught:
            ends(np.array([size]))
        assert str(caught.value) == f"ends_of_ones(): {bytes_} bytes of memory cannot be had."


def test_arguments_are_checked_alike() -> None:
    @fr.program(target="reference")
    def total(
        a: Annotated[np.ndarray[Any, Any], fr.float64["N"]],
        b: Annotated[np.ndarray[Any, Any], fr.float64["N"]],
    ) -> Any:
        return (a * b).sum()

    assert total(np.ones(3), np.full(3, 2.0)) == 6
    with pytest.raises(ValueError, match=r"'N': a.shape\[0\] = 3, but b.shape\[0\] = 4"):
        total(np.ones(3), np.ones(4))
    with pytest.raises(TypeError, match="'a' has dtype float32"):
        total(np.ones(3, "f4"), np.ones(3))


def test_the_artifact_keeps_the_contract() -> None:
    a = np.arange(5.0)
    artifact = reference.compile(a, 2)
    assert json.loads(artifact.manifest)["options"]["target"] == "reference"
    assert json.loads(artifact.manifest)["needs"]["features"] == []
    assert artifact != native.compile(a, 2)
    assert native.compile(a, 2, target="reference") == artifact
    assert reference.compile(a, 2) == artifact
    code = (
        "import sys, pickle, numpy as np; artifact = pickle.loads(sys.stdin.buffer.read()); kernel = artifact.load();"
        "loaded = 'ferrule._compiler' in sys.modules; result = kernel(np.arange(5.0), 2, 2.0);"
        "print(loaded, 'ferrule._compiler' in sys.modules, result[2])"
    )
    done = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(artifact), capture_output=True)
    assert done.stdout.decode().split() == ["False", "True", str(mixed(a, 2)[2])], done.stderr.decode()


def test_looking_inside() -> None:
    kernel = reference.compile(np.ones(2), 1).load()
    assert kernel.ir("program").startswith("fr 1")
    assert '"program mixed' in kernel.source()
    assert "the evaluator runs the operations one by one" in kernel.explain()
    with pytest.raises(
        ValueError, match=r"'inline' is no stage of 'mixed', .* its stages are program, analyse, lower, emit"
    ):
        kernel.ir("inline")


def test_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    doubled = fr.program(lambda a: a * 2)
    with fr.config(target="reference"):
        assert doubled(np.ones(2)).tolist() == [2, 2]
    monkeypatch.setenv("FERRULE_TARGET", "reference")
    kernel = fr.program(mixed).compile(np.ones(2), 1).load()
    assert "evaluator" in kernel.explain()


def test_source_kernels_cannot_be_evaluated() -> None:
    text = "void one(double* x) { x[0] = 1; }"
    signature = fr.Signature("one", [fr.Arg("x", shape="1", intent="out")])
    with pytest.raises(
        ValueError, match="'target' is 'reference' for 'one', but only programs can be evaluated"
    ):
        fr.compile_source(text, signature, target="reference")
    with fr.config(target="reference"):
        assert fr.compile_source(text, signature) == fr.compile_source(text, signature, target="native")


def test_threads_share_it_and_the_interpreter_lock_is_released() -> None:
    @fr.program(target="reference")
    def long(a: Any, n: int) -> Any:
        for _ in range(n):
            a = a * 0.5 + 1.0
        return a

    a = np.arange(50.0)
    assert "FR_MODULE_RELEASES_GIL" in long.compile(a, 1).source  # no estimate tells how long it takes
    expected = long.__wrapped__(a, 40)
    results: list[Any] = []
    workers = [threading.Thread(target=lambda: results.append(long(a, 40))) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(results) == 4
    for result in results:
        np.testing.assert_array_equal(result, expected)

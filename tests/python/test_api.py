"""The decorated function as an object: options, methods, records, fallback, checking, several threads."""

from __future__ import annotations

import inspect
import os
import pickle
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest

import ferrule as fr
from ferrule.config import SETTINGS as KNOWN_SETTINGS
from ferrule.config import check_environment

ROOT = Path(__file__).resolve().parent.parent.parent


def double(a: Any, factor: float = 2.0) -> Any:
    """Doubles, or more."""
    return a * factor


def test_behaves_as_the_plain_function() -> None:
    program = fr.program(double)
    assert program.__name__ == "double"
    assert program.__doc__ == double.__doc__
    assert program.__wrapped__ is double
    assert inspect.signature(program) == inspect.signature(double)
    np.testing.assert_array_equal(program(np.arange(3.0)), [0.0, 2.0, 4.0])
    np.testing.assert_array_equal(program(a=np.arange(3.0), factor=3.0), [0.0, 3.0, 6.0])


def test_methods_bind_their_instance() -> None:
    class Scale:
        def __init__(self, factor: float) -> None:
            self.factor = factor

        @fr.program
        def apply(self, a: Any) -> Any:
            return a * self.factor

        @staticmethod
        @fr.program
        def plain(a: Any) -> Any:
            return a + 1.0

    np.testing.assert_array_equal(Scale(3.0).apply(np.ones(2)), [3.0, 3.0])
    np.testing.assert_array_equal(Scale(4.0).apply(np.ones(2)), [4.0, 4.0])
    np.testing.assert_array_equal(Scale.plain(np.ones(2)), [2.0, 2.0])


def test_another_size_runs_the_same_module_another_dtype_does_not() -> None:
    program = fr.program(double)
    for n in (5, 0, 1, 33, 1000):
        program(np.ones(n))
    assert len(program.specialisations) == 1
    program(np.ones(3, np.float32))
    program(np.ones((3, 2)))
    assert len(program.specialisations) == 3
    assert len(program.why_recompiled()) == 3


def test_overlapping_arguments_give_numpys_answer_and_disjoint_ones_keep_the_fast_module() -> None:
    def shift(a: Any, b: Any) -> None:
        a[:] = b * 2.0

    program = fr.program(shift)
    memory = np.arange(10.0)
    expected = memory.copy()
    shift(expected[1:], expected[:-1])
    program(memory[1:], memory[:-1])
    np.testing.assert_array_equal(memory, expected)
    target = np.zeros(4)
    program(target, np.ones(4))
    np.testing.assert_array_equal(target, np.full(4, 2.0))
    assert len(program.specialisations) == 2
    program(memory[1:], memory[:-1])
    program(target, np.ones(4))
    assert len(program.specialisations) == 2


def test_a_rebound_global_and_a_rebound_helper_are_seen(tmp_path: Path) -> None:
    namespace: dict[str, Any] = {"np": np}
    path = tmp_path / "rebound.py"
    path.write_text(
        "FACTOR = 2.0\n\ndef helper(a):\n    return a * FACTOR\n\ndef main(a):\n    return helper(a) + 1.0\n"
    )
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    program = fr.program(namespace["main"])
    assert program(np.ones(1))[0] == 3.0
    namespace["FACTOR"] = 5.0
    assert program(np.ones(1))[0] == 6.0
    namespace["helper"] = namespace["np"].negative
    assert program(np.ones(1))[0] == 0.0


def test_recompile_limit_warns_once_or_raises() -> None:
    program = fr.program(recompile_limit=2)(double)
    with pytest.warns(RuntimeWarning, match="recompile_limit") as caught:
        for dtype in (np.float64, np.float32, np.int64, np.int32):
            program(np.ones(2, dtype))
    assert len(caught) == 1
    strict = fr.program(recompile_limit=1, on_recompile_limit="error")(double)
    strict(np.ones(2))
    with pytest.raises(fr.UserError, match="recompile_limit"):
        strict(np.ones(2, np.float32))
    none = fr.program(recompile_limit=0, on_recompile_limit="error")(double)
    with pytest.raises(fr.UserError) as caught_error:
        none(np.ones(2))
    assert str(caught_error.value) == "'double' has 0 specialisations, which is its recompile_limit."


def test_fallback_runs_python_once_warned() -> None:
    def unsupported(a: Any) -> Any:
        return np.fft.fft(a)

    with pytest.raises(fr.Unsupported):
        fr.program(unsupported)(np.ones(4))
    program = fr.program(fallback="python")(unsupported)
    with pytest.warns(RuntimeWarning, match="runs as Python"):
        np.testing.assert_array_equal(program(np.ones(4)), np.fft.fft(np.ones(4)))
    np.testing.assert_array_equal(program(np.ones(4)), np.fft.fft(np.ones(4)))
    assert "runs as Python" in program.explain()


def test_fallback_is_for_the_kinds_of_arguments_that_are_unsupported() -> None:
    program = fr.program(fallback="python")(double)
    program(np.ones(2))
    with pytest.warns(RuntimeWarning, match="runs as Python: .*'complex128' is not supported") as caught:
        for _ in range(2):
            np.testing.assert_array_equal(program(np.ones(2) * 1j), np.full(2, 2j))
    assert len(caught) == 1
    program(np.ones(2, np.float32))
    program(np.ones(3))
    assert len(program.specialisations) == 2
    told = program.explain().split("\n")
    assert told[0].startswith("'double' runs as Python for <c16[1]C: ") and "complex128" in told[0]
    assert "specialisation 1 for <f4[1]C" in told


def test_each_reason_for_a_fallback_is_told_once() -> None:
    program = fr.program(fallback="python", recompile_limit=3)(double)
    with pytest.warns(RuntimeWarning) as caught:
        for dtype in ("c8", "c16", "c8", "f2", "c16"):
            program(np.ones(2, dtype))
    assert len(caught) == 3
    # After so many kinds every other one is taken to be unsupported too.
    program(np.ones(2))
    assert program.specialisations == []


def test_fallback_of_other_libraries_arrays_goes_by_their_dtype() -> None:
    class Foreign:
        def __init__(self, array: Any) -> None:
            self.array, self.dtype = array, array.dtype
            self.__array_interface__ = array.__array_interface__

        def __mul__(self, other: Any) -> str:
            return "Python's"

    program = fr.program(fallback="python")(double)
    with pytest.warns(RuntimeWarning, match="complex64"):
        assert program(Foreign(np.ones(2, np.complex64))) == "Python's"
    np.testing.assert_array_equal(program(Foreign(np.ones(2))), np.full(2, 2.0))


def test_only_what_is_unsupported_falls_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ferrule import session

    monkeypatch.setenv("FERRULE_CACHE_DIR", str(tmp_path))  # without a record of it
    program = fr.program(fallback="python")(double)
    for kind in (fr.InternalError, fr.BuildError, fr.UserError):

        def fail(*_: Any, kind: Any = kind, **__: Any) -> Any:
            raise kind("a reason")

        with monkeypatch.context() as context, pytest.raises(kind, match="a reason"):
            context.setattr(session, "compile_program", fail)
            program(np.ones(2))
    np.testing.assert_array_equal(program(np.ones(2)), np.full(2, 2.0))
    assert "runs as Python" not in program.explain()


def test_check_compares_every_call() -> None:
    program = fr.program(check=True)(double)
    for n in (3, 4):
        np.testing.assert_array_equal(program(np.ones(n)), np.full(n, 2.0))
    assert program.stats()["specialisations"] == 1


def test_check_reports_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    program = fr.program(check=True)(double)
    program(np.ones(2))
    monkeypatch.setattr(program, "_fn", lambda a, factor=2.0: a * factor + 1.0)
    with pytest.raises(fr.UserError, match=r"'double': the result at \(0,\) is 2.0, NumPy gives 3.0\."):
        program(np.ones(2))


def test_annotated_functions_compile_ahead_of_time() -> None:
    @fr.program
    def scale(a: Annotated[np.ndarray, fr.float64["N", "2*N"]], factor: float) -> None:
        a *= factor

    artifact = scale.compile()
    kernel = artifact.load()
    a = np.ones((2, 4))
    kernel(a, 3.0)
    np.testing.assert_array_equal(a, np.full((2, 4), 3.0))
    with pytest.raises(TypeError, match="float32"):
        scale(np.ones((2, 4), np.float32), 1.0)
    with pytest.raises(ValueError, match="N"):
        scale(np.ones((2, 5)), 1.0)
    assert len(scale.specialisations) == 1


def test_order_is_the_layout_of_annotations_without_one() -> None:
    def trace(a: Annotated[np.ndarray, fr.float64["N", "M"]]) -> Any:
        return a * 1.0

    columns = np.asfortranarray(np.ones((2, 3)))
    with pytest.raises(ValueError, match="order"):
        fr.program(trace)(columns)
    np.testing.assert_array_equal(fr.program(order="F")(trace)(columns), columns)
    with pytest.raises(
        TypeError, match=r"'order' is the layout of annotated arrays, and double\(\) has none\. Leave it out"
    ):
        fr.program(order="F")(double)(columns)


def test_artifacts_pickle_and_are_equal() -> None:
    artifact = fr.program(double).compile(np.ones(3))
    again = pickle.loads(pickle.dumps(artifact))
    assert again == artifact and hash(again) == hash(artifact)
    np.testing.assert_array_equal(again.load()(np.ones(2), 2.0), [2.0, 2.0])


def test_artifact_saves_and_opens(tmp_path: Path) -> None:
    artifact = fr.program(double).compile(np.ones(3))
    artifact.save(tmp_path / "double.fra")
    np.testing.assert_array_equal(fr.Artifact.open(tmp_path / "double.fra").load()(np.ones(1), 4.0), [4.0])


def test_looking_inside() -> None:
    program = fr.program(double)
    program(np.ones(3))
    kernel = program.specialisations[0]
    assert "extern" in kernel.source() and kernel.source() == kernel.ir("emit")
    assert kernel.ir("program").startswith("fr 1")
    assert "nest" in kernel.ir("lower")
    assert "inline" in program.explain()
    assert "ret" in kernel.assembly()
    whole = program.stats()
    assert kernel.stats() == {name: value for name, value in whole.items() if name != "specialisations"}
    loaded = kernel.artifact.load().stats()
    assert (loaded["captures"], loaded["compiles"], loaded["hits"]) == (0, 0, 0)
    assert loaded["seconds"]["load"] > 0 and {*loaded} == {*kernel.stats()}
    with pytest.raises(ValueError, match="'nowhere' is no stage; the stages are program, "):
        kernel.ir("nowhere")


def test_threads_share_one_specialisation() -> None:
    program = fr.program(double)
    barrier = threading.Barrier(6)
    results: list[Any] = []

    def work(k: int) -> None:
        barrier.wait()
        results.append((k, program(np.full(100, float(k)))))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(program.specialisations) == 1
    for k, result in results:
        np.testing.assert_array_equal(result, np.full(100, 2.0 * k))


CHILD = """
import json, sys
import numpy as np
import ferrule as fr
sys.path.insert(0, sys.argv[1])
import subject
program = fr.program(subject.main)
result = program(np.arange(4.0), 3)
compiler = "ferrule._compiler" in sys.modules
slow = [name for name in ("pathlib", "fractions", "numpy.ma", "ferrule.capture.annotations") if name in sys.modules]
print(json.dumps({**{k: program.stats()[k] for k in ("captures", "compiles", "hits")}, "compiler": compiler, "slow": slow,
                  "result": result.tolist()}))
"""

SUBJECT = """
import helper
SCALE = 2.0
def main(a, steps):
    for _ in range(steps):
        a = helper.add(a) * SCALE
    return a
"""


def run_child(folder: Path, store: Path) -> dict[str, Any]:
    import json

    env = {**os.environ, "FERRULE_CACHE_DIR": str(store), "PYTHONPATH": str(ROOT / "python")}
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(folder)], env=env, capture_output=True, text=True, check=True
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_a_new_process_neither_traces_nor_compiles_until_something_changes(tmp_path: Path) -> None:
    folder, store = tmp_path / "code", tmp_path / "store"
    folder.mkdir()
    (folder / "subject.py").write_text(SUBJECT)
    (folder / "helper.py").write_text("def add(a):\n    return a + 1.0\n")
    first = run_child(folder, store)
    assert (first["captures"], first["compiles"]) == (1, 1)
    assert first["slow"] == [], "imports that a first call without annotations does without"
    second = run_child(folder, store)
    assert (second["captures"], second["compiles"], second["hits"]) == (0, 0, 1)
    assert not second["compiler"]
    assert second["result"] == first["result"]
    (folder / "helper.py").write_text("# a comment and other lines\n\n\ndef add(a):\n    return a + 1.0\n")
    moved = run_child(folder, store)
    assert (moved["captures"], moved["compiles"]) == (0, 0)
    (folder / "helper.py").write_text("def add(a):\n    return a + 5.0\n")
    edited = run_child(folder, store)
    assert (edited["captures"], edited["compiles"]) == (1, 1)
    assert edited["result"] != first["result"]
    (folder / "subject.py").write_text(SUBJECT.replace("2.0", "3.0"))
    assert run_child(folder, store)["captures"] == 1


def test_a_damaged_record_is_a_miss(tmp_path: Path) -> None:
    folder, store = tmp_path / "code", tmp_path / "store"
    folder.mkdir()
    (folder / "subject.py").write_text(SUBJECT)
    (folder / "helper.py").write_text("def add(a):\n    return a + 1.0\n")
    first = run_child(folder, store)
    for record in (store / "v1" / "warm").iterdir():
        record.write_bytes(record.read_bytes()[:-20] + b"rubbish")
    again = run_child(folder, store)
    assert again["captures"] == 1 and again["result"] == first["result"]


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        (
            {"target": "avx"},
            ValueError,
            "'target' is 'avx', but must be one of 'native', 'baseline', 'multi', 'reference'.",
        ),
        ({"order": "K"}, ValueError, "'order' is 'K', but must be one of 'C', 'F', 'inner', 'any'."),
        ({"check": 1}, TypeError, "'check' is 1, but must be True or False."),
        ({"recompile_limit": "2"}, TypeError, "'recompile_limit' is '2', but must be an int."),
        ({"compile": "later"}, ValueError, "'compile' is 'later', but must be 'sync' or 'async'."),
        ({"num_threads": 4}, NotImplementedError, "'num_threads' is 4"),
        ({"num_threads": True}, TypeError, "'num_threads' is True, but must be an int or None."),
        ({"num_threads": 1.0}, TypeError, "'num_threads' is 1.0, but must be an int or None."),
        ({"num_threads": 0}, ValueError, "'num_threads' is 0, but must be at least 1."),
        ({"autotune": True}, NotImplementedError, "autotune is not supported yet; leave it at False."),
        ({"autotune": "min"}, ValueError, "'autotune' is 'min', but must be False, True or 'max'."),
        ({"fallback": "numpy"}, ValueError, "'fallback' is 'numpy', but must be one of None, 'python'."),
        ({"static": 5}, TypeError, "'static' is 5, but must be the name of an argument, or several."),
        ({"static": (1,)}, TypeError, "'static' holds 1, but must hold names of arguments."),
    ],
)
def test_options_are_checked(options: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        fr.program(**options)(double)
    assert text in str(caught.value)


def test_settings_come_from_the_innermost_place(monkeypatch: pytest.MonkeyPatch) -> None:
    from ferrule.config import setting

    assert setting("recompile_limit") == 16
    monkeypatch.setenv("FERRULE_RECOMPILE_LIMIT", "5")
    assert setting("recompile_limit") == 5
    with fr.config(recompile_limit=7):
        assert setting("recompile_limit") == 7
        assert setting("recompile_limit", 9) == 9
    assert setting("recompile_limit") == 5
    with pytest.raises(TypeError, match="'recompile_limits' is no setting; did you mean 'recompile_limit'"):
        fr.config(recompile_limits=3).__enter__()


def test_unknown_options_are_refused_with_the_nearest_name() -> None:
    with pytest.raises(TypeError, match=r"^'fallbak' is no option of a program; did you mean 'fallback'\?$"):
        fr.program(fallbak="python")(double)
    with pytest.raises(
        TypeError, match=r"^'xyz' is no option of a program; the options are static, order, .*check\.$"
    ):
        fr.program(double, xyz=1)


@pytest.mark.parametrize("text", ["x", "-1", "0", "1.5", "2 ", "+3", "1_0", "9" * 30, str(2**31)])
def test_numbers_of_threads_in_the_environment_are_checked(text: str) -> None:
    with pytest.raises(ValueError) as caught:
        check_environment({"FERRULE_NUM_THREADS": text})
    assert str(caught.value) == (
        f"FERRULE_NUM_THREADS is '{text}', but must be a whole number from 1 to 2147483647; unset it for the default."
    )


def test_the_environment_is_checked_by_the_import() -> None:
    environment = {**os.environ, "FERRULE_RESULT_MEMORY": "-1"}
    done = subprocess.run(
        [sys.executable, "-c", "import ferrule"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "FERRULE_RESULT_MEMORY is '-1', but must be a whole number from 0 to" in done.stderr


@pytest.mark.parametrize(
    ("name", "meant"), [("CHECKS", "CHECK"), ("THREADS", "NUM_THREADS"), ("PASES_OFF", "PASSES_OFF")]
)
def test_names_in_the_environment_that_nearly_are_settings_are_warned_of(name: str, meant: str) -> None:
    with pytest.warns(RuntimeWarning) as caught:
        check_environment({f"FERRULE_{name}": "1"})
    assert [str(warning.message) for warning in caught] == [
        f"FERRULE_{name} has no effect, as no setting has this name; did you mean FERRULE_{meant}?"
    ]


def test_environments_that_nothing_is_wrong_with_are_silent() -> None:
    names = {f"FERRULE_{name.upper()}": "anything" for name in KNOWN_SETTINGS}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_environment(
            {
                **names,
                "FERRULE_NUM_THREADS": "4",
                "FERRULE_RESULT_MEMORY": "0",
                "FERRULE_DUMP": "all",
                "PATH": "/bin",
            }
        )
        check_environment({"FERRULE_NUM_THREADS": "", "FERRULE_FUZZ": "1", "FERRULE_SOMETHING_ELSE": "1"})


@pytest.mark.parametrize(
    ("settings", "error", "text"),
    [
        ({"cache_dir": 3}, TypeError, "'cache_dir' is 3, but must be a text or None."),
        ({"cache_dir": b"a"}, TypeError, "'cache_dir' is b'a', but must be a text or None."),
        (
            {"compiler": "g++\0"},
            ValueError,
            "'compiler' is 'g++\\x00', but a text without zero bytes is expected.",
        ),
        ({"cache_levels": None}, TypeError, "'cache_levels' is None, but must be a text."),
        ({"cache_levels": ["/a"]}, TypeError, "'cache_levels' is ['/a'], but must be a text."),
        ({"build_folder": None}, TypeError, "'build_folder' is None, but must be a text."),
        ({"cache_limit": -1}, ValueError, "'cache_limit' is -1, but must be from 0 to 2**63 - 1."),
        ({"cache_limit": 2**63}, ValueError, "but must be from 0 to 2**63 - 1."),
        ({"recompile_limit": True}, TypeError, "'recompile_limit' is True, but must be an int."),
    ],
)
def test_settings_are_checked(settings: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        fr.config(**settings).__enter__()
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("check", "maybe", "FERRULE_CHECK: 'maybe' is no truth value; use 1 or 0."),
        ("recompile_limit", "few", "FERRULE_RECOMPILE_LIMIT: 'few' is no whole number."),
        ("cache_limit", "inf", "FERRULE_CACHE_LIMIT: 'inf' is no size; use bytes"),
        ("cache_limit", "-1G", "FERRULE_CACHE_LIMIT: 'cache_limit' is -1073741824, but must be from 0"),
        ("target", "avx", "FERRULE_TARGET: 'target' is 'avx', but must be one of"),
    ],
)
def test_variables_of_the_environment_are_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, text: str
) -> None:
    from ferrule.config import setting

    monkeypatch.setenv(f"FERRULE_{name.upper()}", value)
    with pytest.raises((ValueError, NotImplementedError)) as caught:
        setting(name)
    assert text in str(caught.value)


def test_paths_are_settings(tmp_path: Path) -> None:
    from ferrule.config import setting

    with fr.config(cache_dir=tmp_path, build_folder=tmp_path):
        assert setting("cache_dir") == setting("build_folder") == str(tmp_path)


def test_dump_and_time_print_stages(tmp_path: Path) -> None:
    script = "import numpy as np, ferrule as fr, sys; sys.path.insert(0, sys.argv[1]); import s; fr.program(s.f)(np.ones(3))"
    (tmp_path / "s.py").write_text("def f(a):\n    return a + 1.0\n")
    env = {
        **os.environ,
        "FERRULE_CACHE_DIR": str(tmp_path / "store"),
        "PYTHONPATH": str(ROOT / "python"),
        "FERRULE_DUMP": "lower",
        "FERRULE_TIME": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], env=env, capture_output=True, text=True, check=True
    )
    assert "-- lower" in done.stderr and "nest" in done.stderr
    assert "ferrule: f: ms capture=" in done.stderr and "compiler=" in done.stderr


DUMPED = """
import numpy as np, ferrule as fr, sys
sys.path.insert(0, sys.argv[1])
import s
fr.program(s.f)(np.ones(3)), fr.program(s.g)(np.ones(3))
fr.compile_source("extern \\"C\\" void h(double* a) { a[0] = 1; }", fr.Signature("h", [fr.Arg("a", shape=[1], intent="out")]))
"""


def test_stages_are_seen_of_what_the_store_holds(tmp_path: Path) -> None:
    text = 'import ferrule as fr\ndef f(a):\n    return a + 1.0\ndef g(a: fr.float64["N"]):\n    return a + 2.0\n'
    (tmp_path / "s.py").write_text(text)
    env = {**os.environ, "FERRULE_CACHE_DIR": str(tmp_path / "store"), "PYTHONPATH": str(ROOT / "python")}

    def run(**more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", DUMPED, str(tmp_path)]
        return subprocess.run(command, env={**env, **more}, capture_output=True, text=True)

    assert run().stderr == ""
    dumped = run(FERRULE_DUMP="lower,emit").stderr
    assert dumped.count("-- lower\n") == 2 and dumped.count("-- emit\n") == 3
    assert run().stderr == ""
    timed = run(FERRULE_TIME="1").stderr
    assert [line.split()[1] for line in timed.splitlines()] == ["f:", "g:", "h:"]
    refused = run(FERRULE_DUMP="lowr").stderr
    assert "UserValueError: 'lowr' is no stage; the stages are program, analyse, lower, " in refused


@pytest.mark.parametrize("compiler", ["/nonexistent", "/bin/true"])
def test_a_compiler_that_does_not_exist_or_work(tmp_path: Path, compiler: str) -> None:
    script = (
        "import numpy as np, ferrule as fr, sys; sys.path.insert(0, sys.argv[1]); import s\n"
        "a = np.ones(3)\n"
        "try:\n    fr.program(s.f)(a)\n"
        "except fr.BuildError as error:\n    print(error, a.tolist())\n"
    )
    (tmp_path / "s.py").write_text("def f(a):\n    a += 1.0\n")
    env = {
        **os.environ,
        "FERRULE_CACHE_DIR": str(tmp_path / "store"),
        "PYTHONPATH": str(ROOT / "python"),
        "CXX": compiler,
    }
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], env=env, capture_output=True, text=True, check=True
    )
    assert compiler in done.stdout and "[1.0, 1.0, 1.0]" in done.stdout


def by_element(index: Any, a: Any) -> Any:
    return a[index[0]]


def by_int(index: Any, a: Any) -> Any:
    return a[int(index[0])]


@pytest.mark.parametrize("fn", [by_element, by_int])
@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint8, np.uint64])
def test_elements_as_indices_are_checked_whatever_their_type(fn: Any, dtype: Any) -> None:
    program = fr.program(fn)
    a = np.array([1.0, 2.0, 3.0])
    for index in (0, 2, -1, -3):
        if index >= 0 or np.dtype(dtype).kind == "i":
            assert program(np.array([index], dtype), a) == a[index]
    with pytest.raises(IndexError, match="index 3 is out of bounds for size 3"):
        program(np.array([3], dtype), a)
    if np.dtype(dtype).kind == "i":
        with pytest.raises(IndexError, match="an index is out of bounds"):
            program(np.array([-4], dtype), a)
    elif dtype is np.uint64:
        for huge in (2**63, 2**64 - 1):
            with pytest.raises((IndexError, OverflowError), match=r"out of bounds|does not fit"):
                program(np.array([huge], dtype), a)


def shifted(a: Any, b: Any) -> None:
    b[1:] = a[:-1] + 1.0


def test_interleaved_views_are_no_overlap() -> None:
    program = fr.program(shifted)
    memory = np.arange(10.0)
    expected = memory.copy()
    program(memory[::2], memory[1::2])
    shifted(expected[::2], expected[1::2])
    np.testing.assert_array_equal(memory, expected)


def down_by(a: Any, lo: Any, hi: Any, step: Any) -> Any:
    total = 0
    for i in range(lo, hi, step):
        a[i] += 1.0
        total += i
    return total


@pytest.mark.parametrize("bounds", [(5, 0, -2), (5, -1, -1), (0, 5, -1), (0, 5, 2), (4, 4, -1), (5, 0, 1)])
def test_loops_with_the_step_as_an_argument(bounds: tuple[int, int, int]) -> None:
    program = fr.program(down_by)
    for _ in range(2):
        a, b = np.zeros(6), np.zeros(6)
        assert program(a, *bounds) == down_by(b, *bounds)
        np.testing.assert_array_equal(a, b)
    with pytest.raises(ValueError, match="must not be zero"):
        fr.program(down_by)(np.zeros(6), 0, 5, 0)


def last_index(n: Any) -> Any:
    i = -5
    for i in range(n):  # noqa: B007
        pass
    return i


def last_product(a: Any, n: Any) -> Any:
    for i in range(n):
        z = a[i] * 2.0
    return z


def test_names_behind_a_loop_without_iterations() -> None:
    program = fr.program(last_index)
    for n in (3, 0, 5, 1, 0):
        assert program(n) == last_index(n)
    product = fr.program(last_product)
    a = np.arange(4.0)
    assert product(a, 3) == 4.0
    with pytest.raises((UnboundLocalError, fr.Error)):
        product(a, 0)


def test_random_numbers_and_clocks_are_refused() -> None:
    for fn in (
        lambda a: a + np.random.rand(3),
        lambda a: a + np.random.default_rng(0).random(),
        lambda a: a + time.time(),
    ):
        with pytest.raises(fr.Unsupported, match="whose answer changes from call to call"):
            fr.program(fn)(np.ones(3))


class Settings:
    factor = 1.0

    def __init__(self, factor: float) -> None:
        self.factor = factor


KIND: Any = np.float32
FUNCTION: Any = np.sqrt
SETTINGS = Settings(2.0)


def reads_names(a: Any) -> Any:
    return FUNCTION(a).astype(KIND) * SETTINGS.factor


def test_types_functions_and_objects_bound_anew_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    program = fr.program(reads_names)
    module = sys.modules[__name__]
    for name, value in (
        ("KIND", np.float64),
        ("FUNCTION", np.square),
        ("SETTINGS", Settings(3.0)),
        ("FUNCTION", np.negative),
    ):
        expected = reads_names(np.ones(2))
        result = program(np.ones(2))
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result, expected)
        monkeypatch.setattr(module, name, value)
    np.testing.assert_array_equal(program(np.ones(2)), reads_names(np.ones(2)))
    monkeypatch.setattr(SETTINGS, "factor", 9.0)
    np.testing.assert_array_equal(program(np.ones(2)), reads_names(np.ones(2)))


STATIC_CHILD = """
import json, sys
import numpy as np
import ferrule as fr
sys.path.insert(0, sys.argv[1])
import static
program = fr.program(static="n")(static.main)
print(json.dumps([program(np.zeros(2), int(sys.argv[2])).tolist(), program.stats()["captures"]]))
"""


def test_static_values_are_part_of_a_record(tmp_path: Path) -> None:
    import json

    (tmp_path / "static.py").write_text("def main(a, n):\n    return a + n\n")
    env = {
        **os.environ,
        "FERRULE_CACHE_DIR": str(tmp_path / "store"),
        "PYTHONPATH": str(ROOT / "python"),
    }
    answers = []
    for n in ("3", "5", "3", "5"):
        done = subprocess.run(
            [sys.executable, "-c", STATIC_CHILD, str(tmp_path), n],
            env=env,
            capture_output=True,
            text=True,
            check=True,
        )
        answers.append(json.loads(done.stdout))
    assert answers == [[[3.0, 3.0], 1], [[5.0, 5.0], 1], [[3.0, 3.0], 0], [[5.0, 5.0], 0]]


def clipped(a: Any) -> Any:
    return (
        np.clip(a, 0, 300),
        np.clip(a, -500, 100),
        a.clip(-500, 70000),
        np.clip(a, a_min=3, a_max=None),
        np.clip(a, None, 70000),
    )


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.float32])
def test_bounds_of_clip_may_lie_beyond_the_type(dtype: Any) -> None:
    for expected, result in zip(clipped(_ints(dtype)), fr.program(clipped)(_ints(dtype)), strict=True):
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result, expected)
    with pytest.raises(OverflowError):
        fr.program(lambda a: np.clip(a, 70000, 70001))(np.zeros(2, np.uint8))


def _ints(dtype: Any) -> Any:
    return np.array([1, 100, 0, 127, 3]).astype(dtype)


def test_compile_does_not_switch_checking_off(monkeypatch: pytest.MonkeyPatch) -> None:
    program = fr.program(check=True)(double)
    program.compile(np.ones(2))
    monkeypatch.setattr(program, "_fn", lambda a, factor=2.0: a * factor + 1.0)
    with pytest.raises(fr.UserError, match="NumPy gives"):
        program(np.ones(2))


def test_compile_for_another_target_keeps_the_other_options() -> None:
    unchecked = fr.program(bounds_check=False)(by_element)
    sample = np.zeros(1, np.int64), np.ones(3)
    for target in ("native", "baseline"):
        assert "set_error" not in unchecked.compile(*sample, target=target).source
        assert "set_error" in fr.program(by_element).compile(*sample, target=target).source

    @fr.program(order="F")
    def columns(a: Annotated[np.ndarray, fr.float64["N", "M"]]) -> None:
        a *= 2.0

    for target in ("native", "baseline"):
        a = np.asfortranarray(np.ones((2, 3)))
        columns.compile(target=target).load()(a)
        np.testing.assert_array_equal(a, np.full((2, 3), 2.0))

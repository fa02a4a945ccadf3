"""Functions as objects in a process: copies, pickles, forks, the cycle collector, warnings that are errors, annotations."""

from __future__ import annotations

import copy
import gc
import linecache
import os
import pickle
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ferrule as fr
from ferrule import carried, collector
from ferrule.errors import UserValueError

PACKAGES = str(Path(fr.__file__).resolve().parents[1])  # of the package under test


@fr.program
def twice(a: Any) -> Any:
    return a * 2.0


class Model:
    @fr.program
    def run(self, a: Any) -> Any:
        return a * 3.0

    @staticmethod
    @fr.program(check=True)
    def static(a: Any) -> Any:
        return a * 4.0


def child(text: str, folder: Path, *arguments: str, flags: tuple[str, ...] = (), **env: str) -> str:
    """What a new process prints; with a store of the folder's own."""
    done = subprocess.run(
        [sys.executable, "-B", *flags, "-c", textwrap.dedent(text), *arguments],
        env={
            **os.environ,
            "FERRULE_CACHE_DIR": str(folder / "store"),
            "PYTHONPATH": os.pathsep.join((PACKAGES, str(folder))),
            **env,
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# -- copies and pickles


@pytest.mark.parametrize(
    "function", [twice, Model.run, Model.static], ids=["plain", "method", "static method"]
)
def test_copies_and_pickles_are_the_function(function: Any) -> None:
    assert copy.copy(function) is function
    assert copy.deepcopy({"f": function})["f"] is function
    assert pickle.loads(pickle.dumps(function)) is function


def test_a_pickle_taken_after_others_were_loaded_brings_as_much() -> None:
    def brought() -> list[tuple[str, str]]:
        return sorted(each.identity for each in carried.from_bytes(twice.__reduce__()[1][-1]))

    twice(np.ones(3))
    first = brought()
    assert first
    for _ in range(3):
        pickle.loads(pickle.dumps(twice))
        assert brought() == first
    twice(np.ones(3, np.float32))
    assert len(brought()) == len(first) + 1


TABLE = np.zeros(200_000)


def test_a_function_that_no_module_has_is_pickled_with_its_source() -> None:
    offset = 1.5
    for function in (fr.program(lambda a: a + offset), fr.program(twice.__wrapped__)):
        again = pickle.loads(pickle.dumps(function))
        assert again is not function
        np.testing.assert_array_equal(again(np.ones(3)), function(np.ones(3)))
        assert pickle.dumps(again) == pickle.dumps(function)


def test_a_function_of_a_notebook_cell_is_pickled_with_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "K = 2.0\n@fr.program\ndef cell(a):\n    return a * K\n"
    monkeypatch.setitem(linecache.cache, "<cell>", (len(text), None, text.splitlines(True), "<cell>"))
    space: dict[str, Any] = {"fr": fr, "__name__": "__main__"}
    exec(compile(text, "<cell>", "exec"), space)
    sent = pickle.dumps(space["cell"])
    monkeypatch.delitem(linecache.cache, "<cell>")
    again = pickle.loads(sent)
    for dtype in (np.float64, np.float32):
        np.testing.assert_array_equal(again(np.ones(2, dtype)), np.full(2, 2.0, dtype))


def test_a_function_whose_globals_do_not_pickle_still_has_a_token() -> None:
    lock = threading.Lock()
    function = fr.program(lambda a: (lock, a + 1.0)[1])
    assert function.__dask_tokenize__() != function.__dask_tokenize__()
    with pytest.raises(TypeError, match="lock"):
        pickle.dumps(function)


def test_a_function_without_its_source_is_not_pickled() -> None:
    space: dict[str, Any] = {"fr": fr}
    exec("f = fr.program(lambda a: a + 1.0)", space)
    with pytest.raises(pickle.PicklingError, match=r"'<lambda>' cannot be pickled.* cannot be read"):
        pickle.dumps(space["f"])


def test_a_large_global_array_does_not_travel() -> None:
    function = fr.program(lambda a: a + TABLE)
    with pytest.raises(
        pickle.PicklingError, match="'TABLE' is an array of 1600000 bytes, more than the 1048576"
    ):
        pickle.dumps(function)


SUBJECT = """
import ferrule as fr

@fr.program
def f(a, k):
    return a * k + 1.0

@fr.program
def g(a: fr.float64["N"]):
    return a * 5.0
"""

SENDS = """
import pickle, sys
import numpy as np
import subject
subject.f(np.arange(3.0), 2), subject.g(np.arange(3.0))
open(sys.argv[1], "wb").write(pickle.dumps((subject.f, subject.g)))
"""

RECEIVES = """
import pickle, sys
import numpy as np
f, g = pickle.load(open(sys.argv[1], "rb"))
print(f(np.arange(3.0), 3).tolist(), g(np.arange(3.0)).tolist(), f.stats()["captures"], g.stats()["captures"])
print("ferrule._compiler" in sys.modules)
"""


def test_a_pickle_brings_its_artifacts_to_a_store_that_lacks_them(tmp_path: Path) -> None:
    (tmp_path / "subject.py").write_text(SUBJECT)
    file = str(tmp_path / "pickled")
    child(SENDS, tmp_path, file)
    answer = child(RECEIVES, tmp_path, file, FERRULE_CACHE_DIR=str(tmp_path / "other"))
    assert answer.split("\n") == ["[1.0, 4.0, 7.0] [0.0, 5.0, 10.0] 0 0", "False"]


def test_a_pickle_of_a_function_that_was_edited_since_is_a_miss(tmp_path: Path) -> None:
    (tmp_path / "subject.py").write_text(SUBJECT)
    file = str(tmp_path / "pickled")
    child(SENDS, tmp_path, file)
    (tmp_path / "subject.py").write_text(SUBJECT.replace("+ 1.0", "+ 2.0").replace("5.0", "6.0"))
    answer = child(RECEIVES, tmp_path, file, FERRULE_CACHE_DIR=str(tmp_path / "other"))
    assert answer.split("\n")[0] == "[2.0, 5.0, 8.0] [0.0, 6.0, 12.0] 1 1"


# -- annotations

ANNOTATED = """
import numpy as np
import ferrule as fr
KIND = {kind}
@fr.program
def f({parameters}):
    return {body}
"""

CALL = """
import numpy as np
import subject
try:
    print(subject.f({arguments}), subject.f.stats()["captures"])
except Exception as error:
    print(type(error).__name__)
"""

CHANGES = {
    "rank": [
        ('a: fr.float64["N"]', "None", "a * 2", "np.ones(2)", "[2. 2.] 1"),
        ('a: fr.float64["N", "M"]', "None", "a * 2", "np.ones((1, 2))", "[[2. 2.]] 1"),
    ],
    "size": [
        ('a: fr.float64["N", "M"]', "None", "a * 2", "np.ones((1, 2))", "[[2. 2.]] 1"),
        ('a: fr.float64["N", "N"]', "None", "a * 2", "np.ones((1, 2))", "UserValueError"),
    ],
    "element type": [
        ('a: fr.int64["N"]', "None", "a * 2", "np.ones(2, int)", "[2 2] 1"),
        ('a: fr.float32["N"]', "None", "a * 2", "np.ones(2, np.float32)", "[2. 2.] 1"),
    ],
    "number": [
        ('a: fr.float64["N"], k: float', "None", "k // 2", "np.ones(2), 3", "1.0 1"),
        ('a: fr.float64["N"], k: int', "None", "k // 2", "np.ones(2), 3", "1 1"),
    ],
    "layout": [
        ('a: fr.float64(order="F")["N", "M"]', "None", "a * 2", "np.ones((1, 2), order='F')", "[[2. 2.]] 1"),
        (
            'a: fr.float64(order="C")["N", "M"]',
            "None",
            "a * 2",
            "np.ones((2, 2), order='F')",
            "UserValueError",
        ),
    ],
    "global": [
        ("a: KIND", 'fr.float64["N"]', "a * 2", "np.ones(2)", "[2. 2.] 1"),
        ("a: KIND", 'fr.float64["N", "M"]', "a * 2", "np.ones((1, 2))", "[[2. 2.]] 1"),
    ],
    "global in text": [
        ("a: 'KIND'", 'fr.float64["N"]', "a * 2", "np.ones(2)", "[2. 2.] 1"),
        ("a: 'KIND'", 'fr.int64["N"]', "a * 2", "np.ones(2, int)", "[2 2] 1"),
    ],
    "none": [
        ("a: KIND", 'fr.float64["N"]', "a * 2", "np.ones(2)", "[2. 2.] 1"),
        ("a: KIND", "object", "a * 2", "np.ones((1, 2))", "[[2. 2.]] 1"),
    ],
}


@pytest.mark.parametrize("name", CHANGES)
def test_another_annotation_is_another_program_in_a_new_process(name: str, tmp_path: Path) -> None:
    for parameters, kind, body, arguments, expected in CHANGES[name]:
        text = ANNOTATED.format(parameters=parameters, kind=kind, body=body)
        (tmp_path / "subject.py").write_text(text)
        assert child(CALL.format(arguments=arguments), tmp_path) == expected
    again = child(CALL.format(arguments=arguments), tmp_path)
    assert again == expected.replace(" 1", " 0") or expected == "UserValueError"


# -- threads, forks and the collector


def test_a_pause_of_the_collector_leaves_what_the_user_says() -> None:
    before = gc.get_threshold()
    try:
        with collector.paused:
            assert gc.get_threshold()[0] == 0
            with collector.paused:
                gc.disable()
        assert not gc.isenabled()
        assert gc.get_threshold() == before
        with collector.paused:
            gc.enable()
        assert gc.isenabled()
        with collector.paused:
            gc.set_threshold(123, 4, 5)
        assert gc.get_threshold() == (123, 4, 5)
    finally:
        gc.enable()
        gc.set_threshold(*before)


def test_a_fork_during_a_capture_of_another_thread_leaves_the_child_whole() -> None:
    before = gc.get_threshold()
    inside, done = threading.Event(), threading.Event()

    def hold() -> None:
        with collector.paused, twice._lock():
            inside.set()
            done.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait(60)
    pid = os.fork()
    if pid == 0:
        good = gc.get_threshold() == before and twice._lock().acquire(blocking=False)
        with collector.paused:
            good = good and gc.get_threshold()[0] == 0
        os._exit(0 if good and gc.get_threshold() == before else 1)
    done.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert gc.get_threshold() == before


# -- stores that cannot be used

STRICT = """
import numpy as np
import subject
x = np.arange(3.0)
try:
    subject.f(x, 2)
except RuntimeWarning as warning:
    print(subject.f.stats()["compiles"], "is not used" in str(warning))
print(subject.f(x, 2).tolist())
"""


def test_a_warning_that_is_an_error_comes_before_the_compiler(tmp_path: Path) -> None:
    (tmp_path / "subject.py").write_text(SUBJECT)
    (tmp_path / "file").write_text("")
    answer = child(
        STRICT, tmp_path, flags=("-W", "error"), FERRULE_CACHE_DIR=str(tmp_path / "file" / "below")
    )
    assert answer.split("\n") == ["0 True", "[1.0, 3.0, 5.0]"]


def test_a_cache_folder_that_is_no_text_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FERRULE_CACHE_DIR", str(tmp_path / "x\udcff"))
    with pytest.raises(UserValueError, match="is no text in UTF-8; set FERRULE_CACHE_DIR"):
        fr.program(lambda a: a - 1.5)(np.ones(2))


@pytest.mark.parametrize(("name", "text"), [("missing", "it does not exist"), ("", "it is no file")])
def test_an_artifact_that_is_not_there(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(UserValueError, match=text):
        fr.Artifact.open(tmp_path / name)


@pytest.mark.parametrize("dtype", ["bool", "int32", "float32", "float64"])
def test_a_probe_with_empty_arrays_learns_the_type_and_compiles_nothing(dtype):
    """As task schedulers do, before or after the first real call."""

    @fr.program
    def scaled(a):
        return a.T * 2

    expected = np.ones((0, 0), dtype).T * 2
    for sample in (np.ones((3, 4), dtype), np.ones((0, 0), dtype)):
        program = fr.program(scaled.__wrapped__)
        program(sample)
        made = program.stats()["specialisations"]
        for shape in ((0, 0), (1, 1), (5, 2)):
            result = program(np.ones(shape, dtype))
            assert result.dtype == expected.dtype and result.shape == shape[::-1]
        assert program.stats()["specialisations"] == made == 1
        assert program.specialisations[0].artifact.load()(np.ones((0, 0), dtype)).dtype == expected.dtype


CONSTANTS = """
import numpy as np, sys
import ferrule as fr

G, T, D, Z = np.ones(3), (np.ones(3), 2.0), {"w": np.ones(3), "k": 3.0}, np.array(2.0)


class Holder:
    w = np.ones(3)


@fr.program
def of_a_global(a: fr.float64["N"]):
    return a + G


@fr.program
def of_a_tuple(a: fr.float64["N"]):
    return a + T[0] * T[1] * len(T) / 2


@fr.program
def of_a_dict(a: fr.float64["N"]):
    return a + D["w"] * D["k"]


@fr.program
def of_a_class(a: fr.float64["N"]):
    return a + Holder.w


@fr.program
def of_no_dimension(a: fr.float64["N"]):
    return a + Z


a = np.arange(3.0)
for function, array in zip((of_a_global, of_a_tuple, of_a_dict, of_a_class, of_no_dimension), (G, T[0], D["w"], Holder.w, Z)):
    assert (function(a) == function.__wrapped__(a)).all()
    kept = array.copy()
    array[...] = 9.0
    try:
        print("no error", function(a))
    except ValueError as error:
        assert "has changed since the program was compiled" in str(error), error
    array[...] = kept
    assert (function(a) == function.__wrapped__(a)).all()
print(sum(f.stats()["captures"] for f in (of_a_global, of_a_class)))
"""


def test_arrays_that_annotated_programs_have_copied_may_not_change(tmp_path: Path) -> None:
    """Nor after a start from records."""
    (tmp_path / "constants.py").write_text(CONSTANTS)
    assert child("import constants", tmp_path) == "2"
    assert child("import constants", tmp_path) == "0"

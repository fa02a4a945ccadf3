"""What new processes find in the store, and what they must not: edited helpers, files and installations, other settings."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEAD = "import numpy as np\nimport ferrule as fr\nx = np.arange(1.0, 4.0)\n"
TOLD = "\nprint(f(x).tolist(), f.stats()['captures'], f.stats()['compiles'])\n"


@pytest.fixture
def run(tmp_path: Path) -> Any:
    """Runs a script in a new process with a store of the test's own; what it printed."""

    def start(script: Path | str, *words: str, **env: str) -> Any:
        own = {"FERRULE_CACHE_DIR": str(tmp_path / "store"), "PYTHONPATH": str(ROOT / "python")}
        return subprocess.Popen(
            [sys.executable, "-B", str(script), *words],
            env={**os.environ, **own, **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def read(process: Any) -> str:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        return str(out.strip())

    def run_one(script: Path | str, *words: str, **env: str) -> str:
        return read(start(script, *words, **env))

    run_one.start, run_one.read = start, read  # type: ignore[attr-defined]
    return run_one


def write(file: Path, text: str, like: os.stat_result | None = None) -> os.stat_result:
    """Writes a file, with the times of an earlier one if it is given."""
    file.write_text(text)
    if like is not None:
        os.utime(file, ns=(like.st_atime_ns, like.st_mtime_ns))
        assert file.stat().st_size == like.st_size and file.stat().st_mtime_ns == like.st_mtime_ns
    return file.stat()


@pytest.mark.parametrize("edited", ["helper", "deeper"])
def test_a_helper_in_another_file_is_edited(run: Any, tmp_path: Path, edited: str) -> None:
    main = tmp_path / "main.py"
    main.write_text(f"{HEAD}import helper\n@fr.program\ndef f(a):\n    return a * helper.number(a)\n{TOLD}")
    texts = {
        "helper": "import deeper\ndef number(a):\n    return deeper.inner(a) * 1.0\n",
        "deeper": "def inner(a):\n    return 1.0\n",
    }
    stats = {name: write(tmp_path / f"{name}.py", text) for name, text in texts.items()}
    assert run(main) == "[1.0, 2.0, 3.0] 1 1"
    assert run(main) == "[1.0, 2.0, 3.0] 0 0"
    # Size and time are as before: the content decides.
    write(tmp_path / f"{edited}.py", texts[edited].replace("1.0", "2.0"), stats[edited])
    assert run(main) == "[2.0, 4.0, 6.0] 1 1"
    write(tmp_path / f"{edited}.py", texts[edited], stats[edited])
    assert run(main) == "[1.0, 2.0, 3.0] 0 0"


def test_an_edit_that_keeps_size_and_time_is_seen(run: Any, tmp_path: Path) -> None:
    text = f"{HEAD}K = 2.0\n@fr.program\ndef f(a):\n    return a * 3.0 + K\n{TOLD}"
    stat = write(tmp_path / "main.py", text)
    assert run(tmp_path / "main.py") == "[5.0, 8.0, 11.0] 1 1"
    write(tmp_path / "main.py", text.replace("3.0", "4.0"), stat)
    assert run(tmp_path / "main.py") == "[6.0, 10.0, 14.0] 1 1"
    write(tmp_path / "main.py", text.replace("K = 2.0", "K = 1.0"), stat)
    assert run(tmp_path / "main.py") == "[4.0, 7.0, 10.0] 1 1"


def test_an_edit_within_a_process_that_keeps_size_and_time_is_seen(run: Any, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(
        "import importlib, os, sys\nimport numpy as np\nimport subject\nprint(subject.f(np.ones(2)).tolist())\n"
        "stat = os.stat(subject.__file__)\ntext = open(subject.__file__).read()\n"
        "open(subject.__file__, 'w').write(text.replace('3.0', '4.0'))\n"
        "os.utime(subject.__file__, ns=(stat.st_atime_ns, stat.st_mtime_ns))\n"
        "print(importlib.reload(subject).f(np.ones(2)).tolist())\n"
    )
    (tmp_path / "subject.py").write_text("import ferrule as fr\n@fr.program\ndef f(a):\n    return a * 3.0\n")
    assert run(tmp_path / "main.py") == "[3.0, 3.0]\n[4.0, 4.0]"


def test_each_build_mode_has_an_entry(run: Any, tmp_path: Path) -> None:
    main = tmp_path / "main.py"
    main.write_text(f"{HEAD}@fr.program\ndef f(a):\n    return a * 7.0\n{TOLD}")
    modes = ("debug", "release", "debug", "release")
    assert [run(main, FERRULE_BUILD=mode)[-3:] for mode in modes] == ["1 1", "1 1", "0 0", "0 0"]


def test_an_object_is_not_known_by_its_address(run: Any, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(
        f"{HEAD}"
        "def made(k):\n    class Of:\n        def __init__(self):\n            self.k = k\n    of = Of()\n"
        "    @fr.program\n    def f(a):\n        return a * of.k\n    return f, id(of)\n"
        "seen = set()\nrepeated = 0\n"
        "for k in range(1, 60):\n    f, address = made(float(k % 4))\n    repeated += address in seen\n"
        "    seen.add(address)\n    assert f(x).tolist() == (x * float(k % 4)).tolist(), k\n    del f\n"
        "    import gc; gc.collect()\n"
        "print(repeated > 0)\n"
    )
    assert run(tmp_path / "main.py") == "True"


def test_processes_with_other_constants_share_a_store(run: Any, tmp_path: Path) -> None:
    main = tmp_path / "main.py"
    main.write_text(
        f"{HEAD}import sys\nR = float(sys.argv[1])\n@fr.program\ndef f(a):\n    return a * R\n{TOLD}"
    )
    for _ in range(2):
        running = [run.start(main, number) for number in ("3", "5", "3", "5")]
        answers = [run.read(each).partition("]")[0] for each in running]
        assert answers == ["[3.0, 6.0, 9.0", "[5.0, 10.0, 15.0"] * 2


def test_another_environment_finds_what_is_there(run: Any, tmp_path: Path) -> None:
    """A virtual environment in another folder, a script in another folder: a module depends on neither."""
    import numpy as np

    text = f"{HEAD}@fr.program\ndef f(a):\n    return a * 9.0\n{TOLD}"
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "main.py").write_text(text)
    assert run(tmp_path / "one" / "main.py") == "[9.0, 18.0, 27.0] 1 1"
    assert run(tmp_path / "two" / "main.py") == "[9.0, 18.0, 27.0] 0 0"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    done = subprocess.run(
        [tmp_path / "venv" / "bin" / "python", tmp_path / "two" / "main.py"],
        env={
            **os.environ,
            "FERRULE_CACHE_DIR": str(tmp_path / "store"),
            "PYTHONPATH": f"{ROOT / 'python'}:{Path(np.__file__).parents[1]}",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[9.0, 18.0, 27.0] 0 0"


@pytest.mark.parametrize("file", ["capture/elementwise.py", "dtypes.py"])
def test_an_edited_installation_traces_again(run: Any, tmp_path: Path, file: str) -> None:
    package = tmp_path / "python" / "ferrule"
    shutil.copytree(ROOT / "python" / "ferrule", package, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "include").symlink_to(ROOT / "include")
    (tmp_path / "main.py").write_text(f"{HEAD}@fr.program\ndef f(a):\n    return np.sin(a) * 0.0\n{TOLD}")
    path = {"PYTHONPATH": str(tmp_path / "python")}
    assert [run(tmp_path / "main.py", **path)[-3:] for _ in range(2)] == ["1 1", "0 0"]
    with open(package / file, "a") as source:
        source.write("\n# edited\n")
    assert run(tmp_path / "main.py", **path)[-3:] == "1 0"


def test_errors_name_the_line_and_the_folder_of_now(run: Any, tmp_path: Path) -> None:
    text = (
        f"{HEAD}from helper import at\n@fr.program\ndef f(a, i):\n    return a + at(a, i)\n"
        "f(x, np.zeros(1, np.int64))\nprint(f.stats()['captures'])\n"
        "try:\n    f(x, np.array([7]))\nexcept IndexError as error:\n    print(error)\n"
    )
    helper = "def at(a, i):\n    return a[i[0]]\n"
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()

    def told(folder: str, before_main: str = "", before_helper: str = "") -> tuple[str, str]:
        (tmp_path / folder / "main.py").write_text(before_main + text)
        (tmp_path / folder / "helper.py").write_text(before_helper + helper)
        captures, error = run(tmp_path / folder / "main.py").splitlines()
        return captures, error.replace(str(tmp_path), "")

    at = "f(): index 7 is out of bounds for size 3 (/{0}/helper.py:{2} (called at /{0}/main.py:{1}))."
    assert told("one") == ("1", at.format("one", 7, 2))
    assert told("one", before_main="# a comment\n") == ("1", at.format("one", 8, 2))
    assert told("one", before_helper="\n\n") == ("1", at.format("one", 7, 4))
    assert told("one") == ("1", at.format("one", 7, 2))
    assert told("two") == ("0", at.format("two", 7, 2))

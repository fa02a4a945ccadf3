"""Which C++ compiler is used and for what target, and what works without any."""

import json
import keyword
import os
import platform
import shutil
import subprocess
import sys

import numpy as np
import pytest
from toolchains import GCC, SOURCE, TWICE, entries, stub, who

import ferrule as fr
from ferrule import _rt

LEVELS = 3 if platform.machine() == "x86_64" else 1


@pytest.fixture(autouse=True)
def own_store(tmp_path, monkeypatch):
    monkeypatch.setenv("FERRULE_CACHE_DIR", str(tmp_path / "store"))
    monkeypatch.delenv("CXX", raising=False)


def test_the_order_of_discovery(tmp_path):
    folder = tmp_path / "bin"
    made = []
    for name in ("clang++", "g++", "c++"):
        made.append(stub(folder / name))
        assert who(tmp_path, PATH=str(folder))["command"] == [str(made[-1])]
    assert who(tmp_path, PATH=str(folder), CXX="g++")["command"] == [str(folder / "g++")]
    assert who(tmp_path, "clang++", PATH=str(folder), CXX="g++")["command"] == [str(folder / "clang++")]
    assert "No C++ compiler was found" in who(tmp_path, PATH="/nonexistent")


@pytest.mark.parametrize("name", ["with space", "qu'ote\"", "größe", "$(touch x)", "-dash", "a;b"])
def test_compilers_and_sources_in_odd_folders(tmp_path, name, monkeypatch):
    folder = tmp_path / name
    folder.mkdir()
    (folder / "my c++").symlink_to(GCC)
    monkeypatch.setenv("FERRULE_CACHE_DIR", str(folder / "store"))
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setenv("CXX", str(folder / "my c++"))
    a = np.ones(3)
    fr.compile_source(SOURCE, TWICE).load()(a)
    assert a.tolist() == [2.0, 2.0, 2.0]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted({name})


@pytest.mark.parametrize("name", ["new", "template", "int", "größe", "n" * 200, "_", "main", "printf"])
def test_programs_with_odd_names(name, tmp_path):
    assert not keyword.iskeyword(name)
    (tmp_path / "odd.py").write_text(
        f"import numpy as np\nimport ferrule as fr\n\n@fr.program\ndef {name}(x):\n    return x + 1\n\n"
        f"print({name}(np.ones(2)))\n"
    )
    done = subprocess.run([sys.executable, tmp_path / "odd.py"], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[2. 2.]\n", "")


@pytest.mark.parametrize("mode", ["release", "debug"])
def test_the_recorded_flags_are_those_of_the_mode(mode, tmp_path, monkeypatch):
    monkeypatch.setenv("CXXFLAGS", "-fstack-protector-strong")
    with fr.config(build=mode):
        fr.compile_source(SOURCE, TWICE)
    (entry,) = entries(tmp_path / "store")
    command = json.loads((entry / "manifest.json").read_text())["body"]["local"]["command"]
    assert [word for word in command if word.startswith("-O")] == ["-O3" if mode == "release" else "-O0"]
    assert [word for word in command if "stack-protector" in word] == ["-fstack-protector-strong"]
    forbidden = {
        "-ffast-math",
        "-Ofast",
        "-march=native",
        "-ffinite-math-only",
        "-funsafe-math-optimizations",
    }
    assert not forbidden & set(command)
    assert "-ffp-contract=off" in command


def test_native_is_resolved_and_in_the_key(tmp_path):
    keys = set()
    for cpu in ("znver3", "znver2"):
        wrapper = stub(tmp_path / f"{cpu}++", native=f'cc1plus "-march={cpu}"', compiles=f'exec "{GCC}" "$@"')
        shutil.copy(wrapper, tmp_path / "c++")  # the same path and size: only the answer differs
        with fr.config(compiler=str(tmp_path / "c++")):
            artifact = fr.compile_source(SOURCE, TWICE)
        ingredients = dict(json.loads(artifact.manifest)["ingredients"])
        assert ingredients["target"] == f"native {cpu}" and f"-march={cpu}" in ingredients["flags"]
        keys.add(artifact.key)
    assert len(keys) == 2


def test_a_compiler_that_is_replaced_while_the_process_runs(tmp_path):
    keys = []
    for version in ("stub 1.0", "stub 2.0"):
        works = {"native": 'cc1plus "-march=x86-64"', "compiles": f'exec "{GCC}" "$@"'}
        stub(tmp_path / "new", version=version, **works).rename(tmp_path / "c++")
        for _ in range(2):
            with fr.config(compiler=str(tmp_path / "c++")):
                keys.append(fr.compile_source(SOURCE, TWICE).key)
    assert keys[0] == keys[1] != keys[2] == keys[3]


@pytest.mark.parametrize(
    "requested", ["env {name}", "'{folder}/my g++'", '"{folder}/my g++" -m64', r"{folder}/my\ g++"]
)
@pytest.mark.parametrize("way", ["CXX", "setting"])
def test_a_compiler_of_several_words(requested, way, tmp_path, monkeypatch):
    (tmp_path / "my g++").symlink_to(GCC)
    words = requested.format(name="g++", folder=tmp_path)
    if way == "CXX":
        monkeypatch.setenv("CXX", words)
    with fr.config(compiler=words if way == "setting" else None):
        x = np.ones(1)
        fr.compile_source(SOURCE, TWICE).load()(x)
    assert x.tolist() == [2.0]
    (entry,) = entries(tmp_path / "store")
    command = json.loads((entry / "manifest.json").read_text())["body"]["local"]["command"]
    assert command[:2] in (
        [shutil.which("env"), "g++"],
        [str(tmp_path / "my g++"), "-m64"],
        [str(tmp_path / "my g++"), "-std=c++20"],
    )


def test_a_relative_path_is_of_the_folder_it_was_named_in(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "c++").symlink_to(GCC)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CXX", "here/c++")
    fr.compile_source(SOURCE, TWICE)
    (entry,) = entries(tmp_path / "store")
    command = json.loads((entry / "manifest.json").read_text())["body"]["local"]["command"]
    assert command[0] == str(tmp_path / "here" / "c++")
    monkeypatch.chdir("/")
    assert error_of_missing() == "The C++ compiler 'here/c++' was not found; set CXX or install g++."


def error_of_missing():
    with pytest.raises(fr.BuildError) as caught:
        fr.compile_source(f"// another\n{SOURCE}", TWICE)
    return str(caught.value)


@pytest.mark.parametrize(("target", "modules"), [("native", 1), ("baseline", 1), ("multi", LEVELS)])
def test_the_compiler_is_asked_once_and_not_for_each_level(target, modules, tmp_path):
    log = tmp_path / "starts"
    (tmp_path / "c++").write_text(f'#!/bin/sh\necho "$*" >> "{log}"\nexec "{GCC}" "$@"\n')
    (tmp_path / "c++").chmod(0o755)
    for n in range(2):
        with fr.config(compiler=str(tmp_path / "c++"), target=target):
            fr.compile_source(f"// {n}\n{SOURCE}", TWICE)
        started = log.read_text().splitlines()
        compiled = [line for line in started if "module.so" in line]
        assert len(compiled) == (n + 1) * modules
        assert (
            len(started) - len(compiled) <= 7
        )  # version, triplet, three programs, and two for what native means


def test_each_compiler_keeps_its_own_warm_record(tmp_path):
    for argument in ("x", 'x: fr.float64["N"]'):
        (tmp_path / "user.py").write_text(
            f"import numpy as np\nimport ferrule as fr\n\n@fr.program\ndef f({argument}):\n    return x * 5\n\n"
            "f(np.ones(2))\nprint(f.stats()['captures'], f.specialisations[0].artifact.key)\n"
        )
        (tmp_path / "other++").unlink(missing_ok=True)
        (tmp_path / "other++").symlink_to(GCC)
        told = [
            subprocess.run(
                [sys.executable, tmp_path / "user.py"],
                env={**os.environ, "CXX": compiler},
                capture_output=True,
                text=True,
                check=True,
            ).stdout.split()
            for compiler in (GCC, str(tmp_path / "other++"), GCC, str(tmp_path / "other++"))
        ]
        assert [captures for captures, _ in told] == ["1", "1", "0", "0"]
        assert told[0][1] == told[2][1] != told[1][1] == told[3][1]


@pytest.mark.parametrize("argument", ["x", 'x: fr.float64["N"]'])
def test_a_stored_entry_needs_no_compiler(argument, tmp_path):
    (tmp_path / "user.py").write_text(
        f"import numpy as np\nimport ferrule as fr\n\n@fr.program\ndef f({argument}):\n    return x * 5\n\n"
        "print(f(np.ones(2)))\n"
    )
    for env in ({}, {"CXX": "/nonexistent"}, {"FERRULE_COMPILER": "none"}, {"PATH": "/nonexistent"}):
        done = subprocess.run(
            [sys.executable, tmp_path / "user.py"], env={**os.environ, **env}, capture_output=True, text=True
        )
        assert (done.stdout, done.stderr) == ("[5. 5.]\n", "")


def test_the_recorded_needs_are_features_of_the_host():
    artifact = fr.compile_source(SOURCE, TWICE)
    manifest = json.loads(artifact.manifest)
    assert set(manifest["needs"]["features"]) <= set(_rt.host_features())
    assert not artifact._value.unmet_needs()


@pytest.mark.parametrize(("target", "modules"), [("native", 1), ("baseline", 1), ("multi", LEVELS)])
def test_what_was_compiled_here_is_found_here(target, modules, tmp_path):
    (tmp_path / "user.py").write_text(
        "import numpy as np\nimport ferrule as fr\n\n@fr.program\ndef f(x):\n    return x * 5\n\nf(np.ones(2))\n"
        "stats = f.stats()\nprint(stats['captures'], stats['compiles'], stats['hits'])\n"
    )
    told = [
        subprocess.run(
            [sys.executable, tmp_path / "user.py"],
            env={**os.environ, "FERRULE_TARGET": target},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for _ in range(2)
    ]
    assert told == [["1", str(modules), "0"], ["0", "0", "1"]]

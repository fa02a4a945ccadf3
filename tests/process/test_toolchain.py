"""Which C++ compiler is used and for what target, what a failing one is told as, and what works without any."""

import json
import keyword
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ferrule as fr
from ferrule import _rt
from ferrule.signature import Arg, Signature

GCC = shutil.which("g++")
CLANGS = [path for n in range(14, 20) if (path := shutil.which(f"clang++-{n}"))]
SOURCE = "void twice(double* x, long n) { for (long i = 0; i < n; ++i) x[i] *= 2; }\n"
LEVELS = 3 if platform.machine() == "x86_64" else 1
TWICE = Signature("twice", [Arg("x", shape="N", intent="inout")])

WHO = """
import json, sys
from ferrule import _rt
print(json.dumps(_rt.describe_toolchain(sys.argv[1], sys.argv[2], _rt.Store(sys.argv[3]))))
"""


def polynomial(x, y):
    y[1:] = 3.0 * x[:-1] ** 2 - x[1:] / 7.0
    return np.exp(-y).sum() + (x > 0.5).sum()


@pytest.fixture(autouse=True)
def own_store(tmp_path, monkeypatch):
    monkeypatch.setenv("FERRULE_CACHE_DIR", str(tmp_path / "store"))
    monkeypatch.delenv("CXX", raising=False)


def who(tmp_path, requested="", target="native", **env):
    command = [sys.executable, "-c", WHO, requested, target, str(tmp_path / "who")]
    done = subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr.splitlines()[-1]


def stub(path, native='cc1plus "-march=znver3" "-mavx2"', compiles="exit 9"):
    """A compiler that answers what Ferrule asks, and does `compiles` where it should compile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f"""#!/bin/sh
case "$*" in
*--version*) echo 'stub 1.0';;
*-dumpmachine*) echo x86_64-linux-gnu;;
*-print-prog-name*) echo none;;
*-###*) echo '{native}';;
*--help=target*) ;;
*) {compiles};;
esac
"""
    )
    path.chmod(0o755)
    return path


def entries(root):
    return list(root.glob("v1/??/*"))


def error_of(compiler, tmp_path):
    with fr.config(compiler=str(compiler)), pytest.raises(fr.BuildError) as caught:
        fr.compile_source(SOURCE, TWICE)
    assert entries(tmp_path / "store") == []
    return str(caught.value)


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


@pytest.mark.parametrize("compiler", CLANGS)
@pytest.mark.parametrize("target", ["native", "baseline", "multi"])
def test_clang_builds_what_gcc_builds(compiler, target):
    x = np.linspace(-1, 2, 103)
    results = {}
    for cxx in (GCC, compiler):
        with fr.config(compiler=cxx, target=target):
            artifact = fr.program(polynomial).compile(x, x.copy(), target=target)
            y = np.zeros_like(x)
            results[cxx] = artifact.key, artifact.load()(x, y), y
    (one, sum_one, y_one), (other, sum_other, y_other) = results.values()
    assert sum_one == sum_other and y_one.tobytes() == y_other.tobytes()
    assert one != other
    y = np.zeros_like(x)
    np.testing.assert_allclose(sum_one, polynomial(x, y), rtol=1e-14)


@pytest.mark.skipif(not CLANGS, reason="no clang++")
def test_clang_names_no_native(tmp_path):
    told = who(tmp_path, CLANGS[0])
    assert told["kind"] == "clang" and "clang" in told["version"]
    assert not any("native" in flag for flag in told["target_flags"])


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


def test_a_failing_compiler_is_named_with_its_command_and_status(tmp_path):
    wrapper = stub(tmp_path / "c++", compiles="echo 'source.cpp:1:1: error: no luck' >&2; exit 3")
    text = error_of(wrapper, tmp_path)
    assert "failed with exit status 3: source.cpp:1:1: error: no luck" in text
    assert f"{wrapper} -std=c++20" in text
    kept = text.split("kept in '")[1].split("'")[0]
    assert "void twice" in Path(kept).read_text()


def test_a_compiler_killed_by_a_signal(tmp_path):
    assert "was killed by signal 11" in error_of(stub(tmp_path / "c++", compiles="kill -11 $$"), tmp_path)


def test_a_long_output_is_shortened_to_its_first_error(tmp_path):
    noise = "i=0; while [ $i -lt 20000 ]; do echo noise; i=$((i+1)); done; echo 'x.h:3: error: it'; exit 1"
    text = error_of(stub(tmp_path / "c++", compiles=noise), tmp_path)
    assert "x.h:3: error: it" in text and len(text) < 2000 and text.count("\n") == 0


def test_a_compiler_that_is_missing(tmp_path):
    text = error_of(tmp_path / "none", tmp_path)
    assert text == f"The C++ compiler '{tmp_path / 'none'}' was not found; set CXX or install g++."


def test_a_header_that_is_missing_is_an_error_at_the_authors_line(tmp_path):
    with pytest.raises(fr.BuildError, match=r"no_such_header\.h"):
        fr.compile_source(f"#include <no_such_header.h>\n{SOURCE}", TWICE)


def test_a_compiler_that_hangs_ends_at_the_time_limit(tmp_path):
    wrapper = stub(tmp_path / "c++", compiles="exec sleep 1000")
    with fr.config(compiler=str(wrapper)), pytest.raises(fr.BuildError, match=r"did not end within 0\.2 s"):
        fr.compile_source(SOURCE, TWICE, time_limit=0.2)


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

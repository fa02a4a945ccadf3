"""Clang beside g++: the same results, and answers of its own."""

import numpy as np
import pytest
from toolchains import CLANGS, GCC, SOURCE, TWICE, stub, who

import ferrule as fr
from ferrule import _rt

CLANG_ANSWERS = {
    "version": "Debian clang version 16.0.6 (15~deb12u1)",
    "native": '"/usr/lib/llvm-16/bin/clang" "-cc1" "-triple" "x86_64-pc-linux-gnu" "-target-cpu" "znver3" '
    '"-target-feature" "+sse4.2" "-target-feature" "-avx512f" "-target-feature" "+cx8" "-o" "x"',
}


def polynomial(x, y):
    y[1:] = 3.0 * x[:-1] ** 2 - x[1:] / 7.0
    return np.exp(-y).sum() + (x > 0.5).sum()


@pytest.fixture(autouse=True)
def own_store(tmp_path, monkeypatch):
    monkeypatch.setenv("FERRULE_CACHE_DIR", str(tmp_path / "store"))
    monkeypatch.delenv("CXX", raising=False)


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


@pytest.mark.parametrize("compiler", CLANGS)
def test_clang_names_no_native(compiler, tmp_path):
    told = who(tmp_path, compiler)
    assert told["kind"] == "clang" and "clang" in told["version"]
    assert not any("native" in flag for flag in told["target_flags"])
    assert set(told["features"]) <= set(_rt.host_features())


@pytest.mark.parametrize("mode", ["release", "debug"])
@pytest.mark.parametrize("compiler", [GCC, *CLANGS])
def test_equal_bytes_from_any_folder(compiler, mode, tmp_path, monkeypatch):
    built = []
    for name in ("one", "another folder with a longer name"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv("TMPDIR", str(tmp_path / name))
        with fr.config(compiler=compiler, build=mode, cache_dir=str(tmp_path / name / "store")):
            built.append(fr.compile_source(SOURCE, TWICE).module_bytes())
    assert built[0] == built[1]
    assert str(tmp_path).encode() not in built[0]


def test_clangs_answers_are_understood(tmp_path):
    folder = tmp_path / "bin"
    driver = stub(folder / "clang", compiles="exit 1")
    compiler = stub(folder / "clang++", program=driver, **CLANG_ANSWERS)
    told = who(tmp_path, str(compiler))
    assert told["kind"] == "clang" and told["version"] == CLANG_ANSWERS["version"]
    assert told["march"] == "znver3"
    assert told["target_flags"] == ["-march=znver3", "-msse4.2", "-mno-avx512f"]
    assert told["features"] == ["sse4.2"]


def test_a_new_clang_behind_a_wrapper_is_another_compiler(tmp_path):
    driver = stub(tmp_path / "bin" / "clang", compiles="exit 1")
    wrapper = stub(tmp_path / "ccache", program=driver, **CLANG_ANSWERS)
    first = who(tmp_path, f"{wrapper} clang++")
    assert first["command"] == [str(wrapper), "clang++"]
    assert who(tmp_path, f"{wrapper} clang++") == first
    driver.write_text(driver.read_text() + "# the next version\n")
    assert who(tmp_path, f"{wrapper} clang++")["identity"] != first["identity"]


def test_clang_gets_its_own_words_for_debugging(tmp_path):
    compiler = stub(tmp_path / "clang++", compiles="exit 1", **CLANG_ANSWERS)
    with fr.config(compiler=str(compiler), build="debug"), pytest.raises(fr.BuildError) as caught:
        fr.compile_source(SOURCE, TWICE)
    words = str(caught.value).split("the command was '")[1].split("'")[0].split()
    assert "-gno-record-command-line" in words and "-gno-record-gcc-switches" not in words

"""What a C++ compiler that fails, hangs or vanishes is told as."""

from pathlib import Path

import numpy as np
import pytest
from toolchains import CLANGS, GCC, SOURCE, TWICE, entries, stub

import ferrule as fr


@pytest.fixture(autouse=True)
def own_store(tmp_path, monkeypatch):
    monkeypatch.setenv("FERRULE_CACHE_DIR", str(tmp_path / "store"))
    monkeypatch.delenv("CXX", raising=False)


def error_of(compiler, tmp_path):
    with fr.config(compiler=str(compiler)), pytest.raises(fr.BuildError) as caught:
        fr.compile_source(SOURCE, TWICE)
    assert entries(tmp_path / "store") == []
    return str(caught.value)


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


@pytest.mark.parametrize("compiler", [GCC, *CLANGS])
def test_real_errors_are_told_with_the_authors_place(compiler, tmp_path):
    sorts = "#include <algorithm>\n#include <list>\nvoid twice(double*, long) {\n"
    sorts += "  std::list<int> l; std::sort(l.begin(), l.end()); }\n"
    with fr.config(compiler=compiler):
        for source, flags, expected in (
            ("void twice(double* x, long n) {\n  x[0] = missing; }\n", [], r":2:\d+: error: .*missing"),
            ("void gone();\nvoid twice(double* x, long n) { gone(); }\n", [], r"gone"),
            (SOURCE, ["-lno-such-library"], r"cannot find -lno-such-library"),
            (f"#include <omp.h>\n{SOURCE}", ["-nostdinc"], r":1:\d+: fatal error: .*omp\.h"),
            (sorts, [], r"stl_algo\.h:\d+:\d+: error: .* \(required from [^ ]*:4:\d+\)"),
        ):
            with pytest.raises(fr.BuildError, match=f"failed with exit status 1: [^;]*{expected}"):
                fr.compile_source(source, TWICE, flags=flags, standard_library="<list>" in source)
    assert entries(tmp_path / "store") == []


@pytest.mark.parametrize(
    ("printed", "told"),
    [
        (
            "x.o: in f:\\n/usr/bin/ld: final link failed: No space left",
            "/usr/bin/ld: final link failed: No space left",
        ),
        ("c++: internal compiler error: Killed\\nhelp", "c++: internal compiler error: Killed"),
        (r"x.cpp:1:1: error: gr\303\266\303\237e \377", "x.cpp:1:1: error: größe ?"),
        (r"\033[1mx.cpp:1:1: \033[31merror: \033[0mred", "x.cpp:1:1: error: red"),
    ],
)
def test_what_compilers_print_becomes_one_line(printed, told, tmp_path):
    text = error_of(stub(tmp_path / "c++", compiles=f"printf '{printed}\\n' >&2; exit 1"), tmp_path)
    assert f"failed with exit status 1: {told}; the source is kept" in text


def test_a_compiler_that_only_warns_works(tmp_path):
    warns = f"echo 'x.cpp:1:1: warning: beware of the error: it is near' >&2; exec '{GCC}' \"$@\""
    with fr.config(compiler=str(stub(tmp_path / "c++", native='cc1plus "-march=x86-64"', compiles=warns))):
        fr.compile_source(SOURCE, TWICE)
    (entry,) = entries(tmp_path / "store")
    assert "beware" in (entry / "log.txt").read_text()


def test_a_compiler_that_is_missing(tmp_path):
    text = error_of(tmp_path / "none", tmp_path)
    assert text == f"The C++ compiler '{tmp_path / 'none'}' was not found; set CXX or install g++."


def test_a_compiler_that_vanishes_after_it_was_asked(tmp_path):
    path = tmp_path / "c++"
    text = error_of(stub(path, native=f'cc1plus "-march=znver3"\'; rm "{path}"; echo \''), tmp_path)
    assert text.startswith(f"The C++ compiler '{path}' could not be started (No such file or directory)")


def test_a_compiler_that_vanishes_between_two_programs(tmp_path):
    path = stub(tmp_path / "c++", native='cc1plus "-march=x86-64"', compiles=f'exec "{GCC}" "$@"')
    with fr.config(compiler=str(path)):
        artifact = fr.compile_source(SOURCE, TWICE)
        path.unlink()
        with pytest.raises(fr.BuildError, match="was not found; set CXX"):
            fr.compile_source(f"// another\n{SOURCE}", TWICE)
        x = np.ones(1)
        artifact.load(rebuild=False)(x)
    assert x.tolist() == [2.0]


def test_a_header_that_is_missing_is_an_error_at_the_authors_line(tmp_path):
    with pytest.raises(fr.BuildError, match=r"no_such_header\.h"):
        fr.compile_source(f"#include <no_such_header.h>\n{SOURCE}", TWICE)


def test_a_compiler_that_hangs_ends_at_the_time_limit(tmp_path):
    wrapper = stub(tmp_path / "c++", compiles="exec sleep 1000")
    with fr.config(compiler=str(wrapper)), pytest.raises(fr.BuildError, match=r"did not end within 0\.2 s"):
        fr.compile_source(SOURCE, TWICE, time_limit=0.2)

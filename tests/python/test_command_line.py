"""The command `ferrule`: what each command does, prints as text and as JSON, and refuses."""

import dataclasses
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ferrule as fr
from ferrule.cli import differences, main
from ferrule.cli.entries import find

PROGRAMS = """
from typing import Annotated
import numpy as np
import ferrule as fr

@fr.program
def weighed(a, *, out, w=2.0):
    out[:] = a * w
    return a.sum()

@fr.program
def scale(a: Annotated[np.ndarray, fr.float64["N"]], factor: float):
    a *= factor

def plain(a):
    return a
"""
SOURCE = "void twice(double* x, long n) { for (long i = 0; i < n; ++i) x[i] *= 2; }\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Programs, a source kernel with its signature, an array, and a store of their own."""
    folder = tmp_path_factory.mktemp("commands")
    (folder / "some programs.py").write_text(PROGRAMS)
    (folder / "nothing.py").write_text("x = 1\n")
    (folder / "twice.cpp").write_text(SOURCE)
    signature = fr.Signature("twice", [fr.Arg("x", shape="N", intent="inout")])
    (folder / "twice.json").write_text(signature.to_json())
    np.save(folder / "a.npy", np.arange(4.0))
    return folder


@pytest.fixture
def command(folder, monkeypatch, capsys):
    """Runs one command in the folder: its status, stdout and stderr."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("FERRULE_CACHE_DIR", str(folder / "store"))
    monkeypatch.setattr(sys, "path", list(sys.path))

    def run(*words):
        modules = set(sys.modules)
        try:
            status = main(words)
        finally:
            for name in set(sys.modules) - modules:
                if not name.startswith("ferrule"):
                    del sys.modules[name]
        out, err = capsys.readouterr()
        return status, out, err

    return run


@pytest.fixture
def answer(command):
    """Runs one command with --json and reads its answer."""

    def run(*words):
        status, out, err = command(*words, "--json")
        assert (status, err) == (0, "")
        return json.loads(out)

    return run


@pytest.fixture
def refusal(command):
    """Runs one command that must fail with one line on stderr, which it returns."""

    def run(*words):
        status, out, err = command(*words)
        assert (status, out) == (1, "")
        assert err.count("\n") == 1
        return err

    return run


PROGRAM_FILE = "some programs.py"


def test_compile_takes_the_annotated_programs_of_a_file(answer):
    (row,) = answer("compile", PROGRAM_FILE)
    assert (row["name"], row["target"], row["mode"]) == ("scale", "native", "release")
    assert row["bytes"] > 1000
    (again,) = answer("compile", PROGRAM_FILE)
    assert again["key"] == row["key"] and not again["compiled"]


def test_compile_takes_a_sample(answer, command):
    (row,) = answer("compile", f"{PROGRAM_FILE}:weighed", "float64[3]", "out=float64[3]", "w=1.5")
    assert row["name"] == "weighed"
    _, out, _ = command("compile", f"{PROGRAM_FILE}:weighed", "float64[3]", "out=float64[3]", "w=1.5")
    assert "in the store" in out and row["key"][:12] in out


def test_compile_writes_an_artifact_that_runs(answer, folder):
    (row,) = answer("compile", f"{PROGRAM_FILE}:scale", "--target", "baseline", "-o", "scale.artifact")
    assert row["output"] == str(folder / "scale.artifact") and row["target"] == "baseline"
    answer("run", "scale.artifact", "a.npy", "factor=3.0", "--save", "a=b.npy")
    assert np.load(folder / "b.npy").tolist() == [0.0, 3.0, 6.0, 9.0]


def test_compile_takes_source_text_with_a_signature(answer, folder):
    (row,) = answer("compile", "twice.cpp", "--signature", "twice.json", "-o", "twice.artifact")
    assert row["name"] == "twice"
    answer("run", "twice.artifact", "a.npy", "--save", "x=b.npy")
    assert np.load(folder / "b.npy").tolist() == [0.0, 2.0, 4.0, 6.0]


def test_run_calls_with_made_arrays(answer, folder):
    words = ("run", f"{PROGRAM_FILE}:weighed", "int64[5]", "out=int64[5]", "w=3", "--save", "out=out.npy")
    first = answer(*words, "--repeat", "3", "-o", "sum.npy")
    assert set(first["seconds"]) == {"best", "median", "calls"} and first["seconds"]["calls"] == 3
    total = first["results"][0]["value"]
    assert np.load(folder / "out.npy").sum() == 3 * total == 3 * np.load(folder / "sum.npy")
    assert answer(*words)["results"] == first["results"]


def test_run_prints_results(command):
    assert command("run", f"{PROGRAM_FILE}:weighed", "a.npy", "out=float64[4]")[:2] == (0, "6.0\n")


def test_info_tells_compiler_store_and_settings(answer, command, folder):
    facts = answer("info")
    assert facts["compiler"]["command"][0].startswith("/")
    assert "native" not in " ".join(facts["compiler"]["target_flags"])
    assert facts["store"]["root"] == str(folder / "store")
    assert facts["versions"]["numpy"] == np.__version__
    assert facts["settings"]["target"] == "native"
    assert str(folder / "store") in command("info")[1]


def test_info_works_without_a_compiler(answer, monkeypatch):
    monkeypatch.setenv("CXX", "/nonexistent/c++")
    assert "'/nonexistent/c++' was not found" in answer("info")["compiler"]["error"]


def test_ls_lists_entries(answer, command):
    (made,) = answer("compile", f"{PROGRAM_FILE}:scale")
    rows = answer("cache", "ls", "--name", "scale")
    assert made["key"] in {row["key"] for row in rows} and {row["name"] for row in rows} == {"scale"}
    sizes = [row["bytes"] for row in answer("cache", "ls", "--sort", "size")]
    assert sizes == sorted(sizes, reverse=True)
    assert made["key"][:12] in command("cache", "ls")[1]


def test_ls_shows_what_is_damaged_and_passes_over_what_is_no_entry(answer, folder):
    damaged = folder / "store" / "v1" / "00" / ("0" * 62)
    damaged.mkdir(parents=True)
    (damaged / "manifest.json").write_text('{"body": 3}')
    (damaged.parent / "junk").mkdir()
    rows = [row for row in answer("cache", "ls") if row["key"].startswith("00000000")]
    assert [row["problem"] for row in rows] == ["its manifest is no manifest"]
    (damaged / "manifest.json").unlink()
    rows = [row for row in answer("cache", "ls") if row["key"].startswith("00000000")]
    assert "cannot be read" in rows[0]["problem"]
    damaged.rmdir()


def test_why_names_the_ingredients_that_differ(answer, command):
    (release,) = answer("compile", f"{PROGRAM_FILE}:scale")
    (debug,) = answer("compile", f"{PROGRAM_FILE}:scale", "--build", "debug")
    (baseline,) = answer("compile", f"{PROGRAM_FILE}:scale", "--target", "baseline")

    def differences(one, other):
        changes = answer("cache", "why", one["key"][:16], other["key"])["changes"]
        return {change["ingredient"]: (change["before"], change["after"]) for change in changes}

    modes = differences(release, debug)
    assert set(modes) == {"flags", "mode"} and set(modes["mode"]) == {"release", "debug"}
    assert {"target", "flags"} <= set(differences(release, baseline)) <= {"target", "flags", "features"}
    assert differences(release, release) == {}
    assert "\n  + " in command("cache", "why", release["key"][:16], debug["key"])[1]


KERNEL = """
import numpy as np
import ferrule as fr

@fr.program({options})
def reason(a: fr.float64["N"], k: float = 2.0):
    return {body}
"""
WHY = {
    "program": ("a * 3.0", "", [], {}, "Only the program differs.", {"program: program"}),
    "options": (
        "a * 2.0",
        "strict_scalars=True",
        [],
        {},
        "Only options of the program differ.",
        {"program: options"},
    ),
    "mode": ("a * 2.0", "", ["--build", "debug"], {}, "Only the build mode differs.", {"mode"}),
    "target": ("a * 2.0", "", ["--target", "baseline"], {}, "Only the target differs.", {"target"}),
    "flags": ("a * 2.0", "", [], {"CXXFLAGS": "-DX=1"}, "Only flags of the C++ compiler differ.", {"flags"}),
    "compiler": (
        "a * 2.0",
        "",
        ["--compiler", "{other}"],
        {},
        "Only the C++ compiler differs.",
        {"compiler identity"},
    ),
}


@pytest.mark.parametrize("name", WHY)
def test_why_says_in_one_sentence_what_differs(answer, command, folder, tmp_path, monkeypatch, name):
    body, option, words, environment, sentence, ingredients = WHY[name]
    monkeypatch.delenv("CXX", raising=False)
    (tmp_path / "c++").symlink_to(shutil.which("g++") or "c++")
    words = [word.format(other=tmp_path / "c++") for word in words]
    (folder / "reason.py").write_text(KERNEL.format(options="", body="a * 2.0"))
    (one,) = answer("compile", "reason.py")
    (folder / "reason.py").write_text(KERNEL.format(options=option, body=body))
    for variable, text in environment.items():
        monkeypatch.setenv(variable, text)
    (other,) = answer("compile", "reason.py", *words)
    told = answer("cache", "why", one["key"], other["key"])
    changed = {change["ingredient"] for change in told["changes"]}
    assert ingredients & changed
    assert told["summary"].endswith(sentence), told["summary"]
    text = command("cache", "why", one["key"], other["key"])[1]
    assert f"\n{told['summary']}\n" in text
    if name == "program":
        assert "%2 = constant 2 : weak f64" in text and "%2 = constant 3 : weak f64" in text
        assert "binding" not in text


def edited(entry, **values):
    """The entry as it would be with other values of some ingredients."""
    manifest = json.loads(json.dumps(entry.manifest))
    for rows, prefix in ((manifest["program"]["ingredients"], "program: "), (manifest["ingredients"], "")):
        for row in rows:
            row[1] = values.get(prefix + row[0], row[1])
    return dataclasses.replace(entry, manifest=manifest)


def test_why_names_every_ingredient(answer, folder):
    (made,) = answer("compile", f"{PROGRAM_FILE}:scale")
    entry = find(str(folder / "store"), made["key"])
    for name, _ in entry.ingredients:
        found = differences.changes(entry, edited(entry, **{name: "another"}))
        said = differences.sentence(found)
        if name not in ("binding", "program: program"):  # whose texts come from elsewhere in the manifest
            assert [change.ingredient for change in found] == [name]
            assert said.lower().startswith("only "), said
            assert name in differences._NAMES
    both = edited(entry, **{"program: compiler sources": "edited", "source": "follows"})
    assert differences.sentence(differences.changes(entry, both)) == "Only Ferrule's own sources differ."


def test_why_finds_the_entry_that_is_most_alike(answer):
    (release,) = answer("compile", f"{PROGRAM_FILE}:scale")
    (debug,) = answer("compile", f"{PROGRAM_FILE}:scale", "--build", "debug")
    answer("compile", f"{PROGRAM_FILE}:scale", "--build", "debug", "--target", "baseline")
    found = answer("cache", "why", release["key"])
    assert debug["key"] in (found["before"], found["after"]) or "target" in str(found["changes"])
    assert release["key"] in (found["before"], found["after"])


def test_verify_reports_and_repairs(answer, command, folder, monkeypatch):
    monkeypatch.setenv("FERRULE_CACHE_DIR", str(folder / "sound store"))
    (row,) = answer("compile", f"{PROGRAM_FILE}:scale")
    assert answer("cache", "verify")["sound"]
    foreign = folder / "sound store" / "v1" / row["key"][:2] / "foreign"
    foreign.write_text("x")
    status, out, _ = command("cache", "verify")
    assert status == 1 and "foreign" in out and "1 findings" in out
    status, out, _ = command("cache", "verify", "--repair")
    assert status == 0 and "(removed)" in out and not foreign.exists()
    assert command("cache", "verify")[0] == 0


def test_prune_removes_what_it_may(answer, folder, monkeypatch):
    monkeypatch.setenv("FERRULE_CACHE_DIR", str(folder / "small store"))
    answer("compile", f"{PROGRAM_FILE}:scale")
    assert answer("cache", "prune", "--older-than", "30d", "--max-size", "1.5G")["entries"] == 0
    assert answer("cache", "prune", "--max-size", "0")["entries"] == 1
    assert answer("cache", "ls") == []


def test_export_and_import_carry_entries(answer, folder):
    (row,) = answer("compile", f"{PROGRAM_FILE}:scale")
    assert answer("cache", "export", "one.archive", row["key"][:20])["entries"] == 1
    assert answer("cache", "import", "one.archive", "--cache-dir", "other store")["entries"] == 1
    assert [entry["key"] for entry in answer("cache", "ls", "--cache-dir", "other store")] == [row["key"]]


def test_path_is_the_root_or_the_folder_of_an_entry(answer, command, folder):
    assert command("cache", "path")[1] == f"{folder / 'store'}\n"
    assert command("cache", "path", "--cache-dir", "elsewhere")[1] == f"{folder / 'elsewhere'}\n"
    (row,) = answer("compile", f"{PROGRAM_FILE}:scale")
    assert (Path(answer("cache", "path", row["key"])["path"]) / "module.so").exists()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("run", "missing.py"), "The file 'missing.py' does not exist."),
        (("run", "nosuchmodule:f"), "There is no module 'nosuchmodule'"),
        (("run", "nothing.py"), "'nothing.py' defines no @fr.program."),
        (("run", PROGRAM_FILE), "defines several programs; append one of their names"),
        (("run", f"{PROGRAM_FILE}:other"), "has no 'other'"),
        (("run", f"{PROGRAM_FILE}:plain"), "has a plain object 'plain'"),
        (
            ("run", f"{PROGRAM_FILE}:scale", "missing.npy", "1.0"),
            "'missing.npy' cannot be read: No such file",
        ),
        (("run", f"{PROGRAM_FILE}:scale", "float99[3]", "1.0"), "'float99[3]' names no dtype"),
        (("run", f"{PROGRAM_FILE}:scale", "float64[3", "1.0"), "'float64[3' is no array; write for"),
        (("run", f"{PROGRAM_FILE}:scale", "float64[-3]", "1.0"), "'float64[-3]' is no array; write for"),
        (("run", f"{PROGRAM_FILE}:scale", "float64[999999999999999]", "1.0"), "999]' cannot be made: "),
        (("run", f"{PROGRAM_FILE}:scale", "float64[9999999999,9999999999]", "1.0"), "999]' cannot be made: "),
        (("run", f"{PROGRAM_FILE}:scale", "a=a.npy", "1.0"), "'1.0' has no name"),
        (("run", f"{PROGRAM_FILE}:scale", "a.npy", "1.0", "--save", "b=c.npy"), "--save names 'b'"),
        (("run", f"{PROGRAM_FILE}:scale", "a.npy", "1.0", "--save", "a"), "must be NAME=FILE"),
        (("run", f"{PROGRAM_FILE}:scale", "float64[2,2]", "1.0"), "rank"),
        (("run", "a.npy"), "artifact"),
        (("compile", "nothing.py"), "defines no @fr.program"),
        (("compile", "twice.cpp"), "needs --signature"),
        (("compile", "twice.cpp", "--signature", "missing.json"), "'missing.json' cannot be read"),
        (("compile", f"{PROGRAM_FILE}:weighed"), "has no annotations"),
        (("compile", PROGRAM_FILE, "float64[2]"), "A sample fits one program"),
        (("compile", f"{PROGRAM_FILE}:scale", "-o", "no/such/folder"), "no/such"),
        (("compile", f"{PROGRAM_FILE}:scale", "--target", "fast"), "'target' is 'fast'"),
        (
            ("compile", "twice.cpp", "--signature", "twice.json", "--compiler", "/no/c++"),
            "'/no/c++' was not found",
        ),
        (("cache", "prune"), "give --max-size, --older-than or both"),
        (("cache", "prune", "--max-size", "much"), "'much' is no size"),
        (("cache", "prune", "--older-than", "3"), "'3' is no span of time"),
        (("cache", "import", "missing.archive"), "missing.archive"),
        (("cache", "export", "no/such/file"), "no/such/file"),
        (("cache", "export", "out.archive", "ffffffffffff"), "no entry 'ffffffffffff'"),
        (("cache", "path", "ffffffffffff"), "no entry whose key begins with 'ffffffffffff'"),
        (("cache", "why", "xyz"), "no entry whose key begins with 'xyz'"),
    ],
)
def test_refusals_are_one_sentence(refusal, words, text):
    assert text in refusal(*words)


@pytest.mark.parametrize(
    "words", [(), ("run",), ("cache",), ("cache", "drop"), ("compile", "x", "--build", "best")]
)
def test_wrong_words_are_told_with_the_usage(words, capsys):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2 and "usage: ferrule" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("compile",),
        ("run",),
        ("info",),
        ("cache",),
        *(("cache", name) for name in ("ls", "why", "verify", "prune", "export", "import", "path")),
    ],
)
def test_help_has_examples(words, capsys):
    with pytest.raises(SystemExit) as ended:
        main((*words, "--help"))
    out = capsys.readouterr().out
    assert ended.value.code == 0 and "usage: ferrule" in out
    assert words in ((), ("cache",)) or "example" in out


def test_the_module_runs_as_a_command(folder):
    done = subprocess.run(
        [sys.executable, "-m", "ferrule", "cache", "path"],
        env={**os.environ, "FERRULE_CACHE_DIR": str(folder)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{folder}\n", "")


def test_a_reader_that_stops_is_no_error(folder):
    listing = subprocess.Popen(
        [sys.executable, "-m", "ferrule", "info", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    listing.stdout.close()
    assert listing.stderr.read() == b""
    listing.stderr.close()
    assert listing.wait(timeout=60) == 1

"""Compiled files in folders of the user's: modes, names that are taken, layouts, and modules that Python imports."""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import pickle
import stat
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import ferrule as fr
from ferrule.errors import UserError, UserRuntimeError, UserTypeError, UserValueError

ROOT = Path(__file__).resolve().parents[2]
X = np.arange(3.0)
DEVELOPMENT = {".so", ".json", ".cpp"}
PRODUCTION = {".so", ".json"}


def scaled(factor: float) -> Any:
    """A program `f`: equal factors are equal content, others are not."""

    def f(a):
        return a * factor

    return fr.program(f)


COUNTER = """
static long calls = 0;
extern "C" void count(long* x) { x[0] = ++calls; }
"""


def counter(**options: Any) -> fr.Artifact:
    """A source kernel with static data."""
    signature = fr.Signature("count", [fr.Arg("x", "array", "int64", shape=["1"])])
    return fr.compile_source(COUNTER, signature, **options)


def suffixes(folder: Path, name: str) -> set[str]:
    return {path.suffix for path in folder.iterdir() if path.stem == name} - {".log"}


def factor_of(artifact: fr.Artifact) -> float:
    return float(artifact.load()(np.ones(1))[0])


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_store_alone_keeps_content(here: Path) -> None:
    artifact = scaled(2.0).compile(X)
    assert artifact.folder is not None and artifact.folder.endswith(artifact.key[2:])
    assert artifact.path == os.path.join(artifact.folder, "module.so")
    assert list(here.iterdir()) == []


def test_an_explicit_folder(here: Path) -> None:
    artifact = scaled(2.0).compile(X, folder=here / "mine")
    assert artifact.folder == str(here / "mine") and artifact.path == str(here / "mine" / "f.so")
    assert suffixes(here / "mine", "f") == DEVELOPMENT
    assert (here / "mine" / "f.cpp").read_text() == artifact.source
    assert json.loads((here / "mine" / "f.json").read_text())["key"] == artifact.key
    assert factor_of(artifact) == 2.0


def test_mode_name_is_a_folder_a_name(here: Path) -> None:
    artifact = scaled(2.0).compile(X, folder_mode="name")
    assert artifact.path == str(here / ".ferrule" / "f" / "f.so")
    with fr.config(build_folder=str(here / "built"), folder_mode="name"):
        assert scaled(2.0).compile(X).path == str(here / "built" / "f" / "f.so")


def test_mode_single_is_one_folder(here: Path) -> None:
    one = scaled(2.0).compile(X, folder_mode="single")
    other = counter(folder_mode="single")
    assert one.folder == other.folder == str(here / ".ferrule")
    assert suffixes(here / ".ferrule", "f") == suffixes(here / ".ferrule", "count") == DEVELOPMENT


def test_mode_unique_is_a_folder_a_compilation(here: Path) -> None:
    program = scaled(2.0)
    folders = {program.compile(X, folder_mode="unique").folder for _ in range(3)}
    assert len(folders) == 3 and all(Path(str(each)).parent == here / ".ferrule" for each in folders)
    assert all(suffixes(Path(str(each)), "f") == DEVELOPMENT for each in folders)


def test_calls_place_what_they_make(here: Path) -> None:
    program = scaled(2.0)
    with fr.config(folder_mode="name"):
        assert program(X).tolist() == [0.0, 2.0, 4.0]
        assert program(X).tolist() == [0.0, 2.0, 4.0]
        assert program(X.astype("f4")).tolist() == [0.0, 2.0, 4.0]
    folders = [kernel.artifact.folder for kernel in program.specialisations]
    assert folders == [str(here / ".ferrule" / "f"), str(here / ".ferrule" / "f_1")]


def test_production_keeps_what_runs(here: Path) -> None:
    scaled(2.0).compile(X, folder=here)
    artifact = scaled(2.0).compile(X, folder=here, layout="production")
    assert suffixes(here, "f") == PRODUCTION and not (here / "f.log").exists()
    opened = fr.Artifact.open(here / "f.so")
    assert opened == artifact and opened.source == "" and factor_of(opened) == 2.0
    with pytest.raises(
        UserError, match=r"^The source of 'f' was not kept: its folder has the layout 'production'"
    ):
        opened.load().source()
    assert pickle.loads(pickle.dumps(opened)) == artifact
    again = scaled(2.0).compile(X, folder=here)
    assert suffixes(here, "f") == DEVELOPMENT and fr.Artifact.open(here / "f.so").source == again.source


@pytest.mark.parametrize("options", [{"folder": "."}, {"folder_mode": "name"}, {"folder_mode": "single"}])
def test_a_taken_name_gets_the_next_suffix(here: Path, options: dict[str, str]) -> None:
    made = [scaled(float(n)).compile(X, **options) for n in (2, 3, 4)]
    names = [Path(str(each.path)).name for each in made]
    assert names == ["f.so", "f_1.so", "f_2.so"] and len({each.path for each in made}) == 3
    assert [factor_of(each) for each in made] == [2.0, 3.0, 4.0]
    assert [factor_of(fr.Artifact.open(str(each.path))) for each in made] == [2.0, 3.0, 4.0]
    folders = {each.folder for each in made}
    assert len(folders) == (3 if options.get("folder_mode") == "name" else 1)
    assert scaled(3.0).compile(X, **options).path == made[1].path
    assert [each.name for each in made] == ["f"] * 3  # a key depends on no process


def test_a_taken_name_is_refused(here: Path) -> None:
    first = scaled(2.0).compile(X, folder=here, name_collision="error")
    assert scaled(2.0).compile(X, folder=here, name_collision="error").path == first.path
    before = {path: path.read_bytes() for path in here.iterdir()}
    with pytest.raises(
        UserRuntimeError, match=r"f\.so' is taken in this process by other content; compile with another"
    ):
        scaled(3.0).compile(X, folder=here, name_collision="error")
    assert {path: path.read_bytes() for path in here.iterdir()} == before


def test_replacing_leaves_old_handles_running(here: Path) -> None:
    old = scaled(2.0).compile(X, folder=here, name_collision="replace")
    kernel, inode = old.load(), os.stat(str(old.path)).st_ino
    mapped = ctypes.CDLL(str(old.path))  # whoever has the file itself mapped keeps it too
    new = scaled(3.0).compile(X, folder=here, name_collision="replace")
    assert new.path == old.path and os.stat(str(new.path)).st_ino != inode
    assert kernel(X).tolist() == [0.0, 2.0, 4.0] and new.load()(X).tolist() == [0.0, 3.0, 6.0]
    assert factor_of(fr.Artifact.open(here / "f.so")) == 3.0
    assert mapped.ferrule_module_v1 is not None


def test_another_name_of_the_folder_is_the_same_folder(here: Path) -> None:
    (here / "real").mkdir()
    (here / "link").symlink_to(here / "real")
    scaled(2.0).compile(X, folder=here / "real")
    assert str(scaled(3.0).compile(X, folder="link").path).endswith("link/f_1.so")


def test_content_that_is_loaded_is_used_again(here: Path) -> None:
    x = np.zeros(1, np.int64)
    first, again = counter(folder=here), counter(folder=here)
    assert first.path == again.path
    for artifact in (first, again):
        artifact.load()(x)
    shared = int(x[0])
    apart = counter(folder=here, reuse_loaded=False)
    assert Path(str(apart.path)).name == "count_1.so"
    apart.load()(x)
    assert int(x[0]) == 1
    first.load()(x)
    assert int(x[0]) == shared + 1
    with pytest.raises(UserRuntimeError, match="by a module that is not to be used again"):
        counter(folder=here, reuse_loaded=False, name_collision="error")


def test_a_new_process_finds_a_name_free(here: Path) -> None:
    text = """
import numpy as np, ferrule as fr, sys
@fr.program
def f(a):
    return a * 7.0
print(f.compile(np.ones(3), folder=sys.argv[1]).path)
"""
    scaled(2.0).compile(X, folder=here)
    (here / "other.py").write_text(text)
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    command = [sys.executable, str(here / "other.py"), str(here)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(here / "f.so")
    assert factor_of(fr.Artifact.open(here / "f.so")) == 7.0


def test_files_are_not_written_again_without_need(here: Path) -> None:
    artifact = scaled(2.0).compile(X, folder=here)
    before = {path.name: path.stat().st_ino for path in here.iterdir()}
    scaled(2.0).compile(X, folder=here)
    assert {path.name: path.stat().st_ino for path in here.iterdir()} == before
    (here / "f.so").write_bytes(b"damaged")
    scaled(2.0).compile(X, folder=here)
    assert fr.Artifact.open(here / "f.so") == artifact
    assert stat.S_IMODE((here / "f.so").stat().st_mode) == 0o644


@pytest.mark.parametrize("suffix", [".so", ".json", ".cpp"])
@pytest.mark.parametrize("cut", [0, 10, 100])
def test_damaged_files_are_not_opened(here: Path, suffix: str, cut: int) -> None:
    scaled(2.0).compile(X, folder=here)
    file = here / f"f{suffix}"
    file.write_bytes(file.read_bytes()[:cut] + b"?" * (suffix == ".cpp"))
    with pytest.raises(fr.Error, match="cannot be opened: "):
        fr.Artifact.open(here / "f.so")


def test_files_of_others_are_not_opened(here: Path) -> None:
    scaled(2.0).compile(X, folder=here)
    (here / "f.so").chmod(0o666)
    with pytest.raises(
        UserError, match="is not opened: it belongs to another user, or others can write to it"
    ):
        fr.Artifact.open(here / "f.so")


def test_missing_files_are_named(here: Path) -> None:
    scaled(2.0).compile(X, folder=here)
    (here / "f.json").unlink()
    with pytest.raises(UserError, match=r"f\.json' cannot be read: No such file"):
        fr.Artifact.open(here / "f.so")
    with pytest.raises(UserValueError, match="does not exist"):
        fr.Artifact.open(here / "g.so")


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        (
            {"folder": "a", "folder_mode": "name"},
            UserTypeError,
            "'folder' is given together with folder_mode='name'; give one.",
        ),
        ({"folder": 3}, UserTypeError, "'folder' is int, but the path of a folder is expected."),
        ({"folder": ""}, UserValueError, "'folder' is '', but the path of a folder is expected."),
        ({"folder": "a\0b"}, UserValueError, "'folder' is 'a\\x00b', but the path of a folder is expected."),
        (
            {"folder": "a\udcff"},
            UserValueError,
            "'folder' is 'a\\udcff', but only paths in UTF-8 are supported.",
        ),
        ({"folder_mode": "own"}, UserValueError, "'folder_mode' is 'own', but must be one of"),
        (
            {"folder": "a", "name_collision": "x"},
            UserValueError,
            "'name_collision' is 'x', but must be one of",
        ),
        ({"folder": "a", "layout": "x"}, UserValueError, "'layout' is 'x', but must be one of"),
        (
            {"folder": "a", "reuse_loaded": 1},
            UserTypeError,
            "'reuse_loaded' is 1, but must be True or False.",
        ),
        (
            {"layout": "production"},
            UserTypeError,
            "layout='production' is for folders of their own; give 'folder'",
        ),
        ({"folder": "file/x"}, UserValueError, "file/x' cannot be made: Not a directory"),
    ],
)
def test_options_are_checked_before_anything_is_done(
    here: Path, options: dict[str, Any], error: type[Exception], text: str
) -> None:
    (here / "file").touch()
    program = scaled(2.0)
    for refused in (lambda: program.compile(X, **options), lambda: counter(**options)):
        with pytest.raises(error) as caught:
            refused()
        assert text in str(caught.value)
    assert [path.name for path in here.iterdir()] == ["file"]


def test_the_place_is_no_part_of_the_value(here: Path) -> None:
    plain, placed = scaled(2.0).compile(X), scaled(2.0).compile(X, folder=here)
    assert plain == placed and pickle.dumps(plain) == pickle.dumps(placed)
    again = pickle.loads(pickle.dumps(placed))
    assert again.folder == plain.folder


def test_odd_names_of_folders(here: Path) -> None:
    for name in ("a b", "-x", "$(x);'\"", "größe", "x" * 200):
        artifact = scaled(2.0).compile(X, folder=here / name)
        assert fr.Artifact.open(str(artifact.path)) == artifact
        assert module_of(artifact).kernel(X).tolist() == [0.0, 2.0, 4.0]


def test_what_the_pool_compiles_is_placed_here(here: Path) -> None:
    with fr.config(folder_mode="name"), ThreadPoolExecutor(2) as executor:
        for where in (None, executor):
            artifact = scaled(2.0).compile_async(X, executor=where).result()
            assert artifact.folder == str(here / ".ferrule" / "f")
    assert suffixes(here / ".ferrule" / "f", "f") == DEVELOPMENT


def module_of(artifact: fr.Artifact) -> ModuleType:
    return importlib.import_module(artifact.module_name)


def test_modules_are_imported_by_folder_and_name(here: Path) -> None:
    one = scaled(2.0).compile(X, folder=here / "one")
    other = scaled(3.0).compile(X, folder=here / "two")
    first, second = module_of(one), module_of(other)
    assert (
        first is not second and first.__name__.rpartition(".")[2] == second.__name__.rpartition(".")[2] == "f"
    )
    assert first.kernel(X).tolist() == [0.0, 2.0, 4.0] and second.kernel(X).tolist() == [0.0, 3.0, 6.0]
    assert first.artifact == one and first.__file__ == one.path
    assert importlib.import_module(one.module_name) is first
    del sys.modules[one.module_name]
    assert importlib.import_module(one.module_name) is first
    assert pickle.loads(pickle.dumps(first.kernel))(X).tolist() == [0.0, 2.0, 4.0]


def test_a_renamed_program_is_imported_under_its_new_name(here: Path) -> None:
    scaled(2.0).compile(X, folder=here)
    renamed = scaled(3.0).compile(X, folder=here)
    assert renamed.module_name.endswith(".f_1") and module_of(renamed).kernel(X).tolist() == [0.0, 3.0, 6.0]


def test_entries_of_the_store_are_imported_by_key() -> None:
    artifact = scaled(2.0).compile(X)
    assert module_of(artifact).kernel(X).tolist() == [0.0, 2.0, 4.0]
    with pytest.raises(ModuleNotFoundError, match="has no program 'g' with key"):
        importlib.import_module(artifact.module_name.removesuffix(".f") + ".g")
    with pytest.raises(ModuleNotFoundError, match="has no program 'f' with key 0000"):
        importlib.import_module(f"ferrule.generated.k{'0' * 64}.f")


def test_what_is_imported_is_not_unloaded(here: Path) -> None:
    artifact = scaled(2.0).compile(X, folder=here)
    kernel = module_of(artifact).kernel
    with pytest.raises(
        UserRuntimeError, match=r"^'f' cannot be unloaded, because its module was imported; Python keeps"
    ):
        kernel.unload()
    assert artifact.load().unload() is False and kernel(X).tolist() == [0.0, 2.0, 4.0]


def test_an_import_of_what_was_replaced_fails_loudly(here: Path) -> None:
    old = scaled(2.0).compile(X, folder=here)
    module = module_of(old)
    new = scaled(3.0).compile(X, folder=here, name_collision="replace")
    pattern = (
        rf"was imported from '.*f\.so' with key {old.key[:16]}, and '.*f\.so' has key {new.key[:16]} now"
    )
    for _ in range(2):
        with pytest.raises(ImportError, match=pattern):
            importlib.import_module(new.module_name)
    assert module.kernel(X).tolist() == [0.0, 2.0, 4.0] and new.load()(X).tolist() == [0.0, 3.0, 6.0]
    scaled(2.0).compile(X, folder=here, name_collision="replace")
    assert importlib.import_module(old.module_name) is module


def test_imports_that_fail_say_why(here: Path) -> None:
    artifact = scaled(2.0).compile(X, folder=here)
    package = artifact.module_name.removesuffix(".f")
    with pytest.raises(ModuleNotFoundError, match=r"There is no compiled program '.*/g\.so'"):
        importlib.import_module(package + ".g")
    with pytest.raises(
        ModuleNotFoundError, match="No folder of compiled programs is known as 'fabc' to the store"
    ):
        importlib.import_module("ferrule.generated.fabc.f")
    (here / "f.so").write_bytes(b"damaged")
    with pytest.raises(ImportError, match="cannot be opened: "):
        importlib.import_module(artifact.module_name)
    scaled(2.0).compile(X, folder=here)
    with pytest.raises(ModuleNotFoundError, match="is not a package"):
        importlib.import_module(artifact.module_name + ".more")


def test_a_new_process_imports_by_the_name(here: Path) -> None:
    artifact = scaled(2.0).compile(X, folder=here)
    code = (
        f"import numpy as np\nfrom {artifact.module_name} import kernel\nprint(kernel(np.ones(2)).tolist())"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "CXX": "/nonexistent"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "[2.0, 2.0]\n"


def test_a_kernel_runs_on_while_its_place_is_replaced(here: Path) -> None:
    old = scaled(2.0).compile(X, folder=here).load()
    wrong, stop = [], threading.Event()

    def call() -> None:
        while not stop.is_set():
            if old(X).tolist() != [0.0, 2.0, 4.0]:
                wrong.append(1)

    thread = threading.Thread(target=call)
    thread.start()
    for factor in (3.0, 4.0, 3.0, 4.0):
        new = scaled(factor).compile(X, folder=here, name_collision="replace")
        assert factor_of(new) == factor_of(fr.Artifact.open(here / "f.so")) == factor
    stop.set()
    thread.join()
    assert wrong == []


def test_a_folder_that_goes_away_takes_nothing_along(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "gone").mkdir()
    (here / "stays").mkdir()
    monkeypatch.chdir(here / "gone")
    artifact = scaled(2.0).compile(X, folder_mode="name")
    kernel = artifact.load()
    monkeypatch.chdir(here / "stays")
    subprocess.run(["rm", "-r", str(here / "gone")], check=True)
    assert kernel(X).tolist() == artifact.load()(X).tolist() == [0.0, 2.0, 4.0]


def test_threads_that_place_one_name_get_names_of_their_own(here: Path) -> None:
    programs = [scaled(float(n)) for n in range(2, 8)]
    for program in programs:
        program.compile(X)
    with ThreadPoolExecutor(6) as executor:
        made = list(executor.map(lambda program: program.compile(X, folder=here), programs))
    assert sorted(Path(str(each.path)).stem for each in made) == ["f", *(f"f_{n}" for n in range(1, 6))]
    assert [factor_of(fr.Artifact.open(str(each.path))) for each in made] == [2.0, 3.0, 4.0, 5.0, 6.0, 7.0]


@pytest.mark.parametrize("name", ["count.cpp", "count.json", "count.so", "count.log"])
@pytest.mark.parametrize("layout", ["development", "production"])
def test_files_of_the_user_are_not_replaced(here: Path, name: str, layout: str) -> None:
    mine = '{"mine": 1}' if name.endswith(".json") else COUNTER
    (here / name).write_text(mine)
    with pytest.raises(
        UserError, match=rf"{name}' is there and no file of Ferrule's, so it is not replaced; give"
    ):
        counter(folder=here, layout=layout)
    assert [path.name for path in here.iterdir()] == [name] and (here / name).read_text() == mine


@pytest.mark.parametrize("layout", ["development", "production"])
def test_folders_of_the_user_are_not_replaced(here: Path, layout: str) -> None:
    (here / "count.cpp").mkdir()
    (here / "count.cpp" / "mine").touch()
    with pytest.raises(UserError, match=r"count\.cpp' cannot be written: Is a directory\."):
        counter(folder=here, layout=layout)
    assert sorted(path.name for path in here.rglob("*")) == ["count.cpp", "mine"]


@pytest.mark.parametrize("suffix", [".so", ".json", ".cpp"])
def test_damaged_files_are_replaced(here: Path, suffix: str) -> None:
    artifact = scaled(2.0).compile(X, folder=here)
    file = here / f"f{suffix}"
    file.write_bytes(file.read_bytes()[:100])
    scaled(2.0).compile(X, folder=here)
    assert fr.Artifact.open(here / "f.so") == artifact


def test_what_killed_processes_left_is_removed(here: Path) -> None:
    gone = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    for pid in (int(gone.stdout), os.getpid()):
        (here / f".ferrule-{os.uname().nodename}-{pid}-1-0").touch()
    scaled(2.0).compile(X, folder=here)
    assert [path.name for path in here.glob(".ferrule-*")] == [
        f".ferrule-{os.uname().nodename}-{os.getpid()}-1-0"
    ]


def test_a_background_specialisation_is_placed(here: Path) -> None:
    program = fr.program(compile="async")(scaled(2.0).__wrapped__)
    with fr.config(folder_mode="name"):
        assert program(X).tolist() == [0.0, 2.0, 4.0]
        while program._pending:
            program(X)
    assert [kernel.artifact.folder for kernel in program.specialisations] == [str(here / ".ferrule" / "f")]


def test_a_background_specialisation_that_cannot_be_placed_runs(here: Path) -> None:
    (here / "file").touch()
    program = fr.program(compile="async")(scaled(2.0).__wrapped__)
    with warnings.catch_warnings(record=True) as caught, fr.config(folder_mode="name", build_folder="file"):
        warnings.simplefilter("always")
        program(X)
        while program._pending:
            program(X)
    assert program(X).tolist() == [0.0, 2.0, 4.0] and len(program.specialisations) == 1
    assert {"cannot be made: Not a directory" in str(each.message) for each in caught} == {True}


def test_files_are_named_by_text_bytes_and_paths(here: Path) -> None:
    artifact = scaled(2.0).compile(X, folder=os.fsencode(here / "by bytes"))
    assert fr.Artifact.open(os.fsencode(str(artifact.path))) == artifact
    artifact.save(os.fsencode(here / "saved"))
    assert fr.Artifact.open(here / "saved") == artifact
    for call in (fr.Artifact.open, artifact.save):
        with pytest.raises(UserTypeError, match="'path' is int, but the path of a file is expected"):
            call(3)  # type: ignore[arg-type]
        with pytest.raises(UserValueError, match="but only paths in UTF-8 are supported"):
            call("a\udcff")
        with pytest.raises(UserValueError, match="but the path of a file is expected"):
            call("a\0")


@pytest.mark.parametrize("name", ["saved.so", "saved.json"])
def test_saved_files_may_have_any_name(here: Path, name: str) -> None:
    artifact = scaled(2.0).compile(X)
    artifact.save(here / name)
    opened = fr.Artifact.open(here / name)
    assert opened == artifact and opened.folder == artifact.folder


@pytest.mark.parametrize("options", [{"folder": "a"}, {"folder_mode": "name"}])
def test_a_relative_folder_needs_a_current_one(here: Path, options: dict[str, str]) -> None:
    program = scaled(2.0)
    (here / "gone").mkdir()
    os.chdir(here / "gone")
    (here / "gone").rmdir()
    try:
        with pytest.raises(
            UserValueError, match="is not found, since the current folder is gone; give an absolute"
        ):
            program.compile(X, **options)
    finally:
        os.chdir(here)


def test_a_reload_forgets_nothing(here: Path) -> None:
    old = scaled(2.0).compile(X, folder=here)
    module = module_of(old)
    generated = sys.modules["ferrule.generated"]
    finders = len(sys.meta_path)
    assert importlib.reload(generated) is generated and len(sys.meta_path) == finders
    assert importlib.reload(module) is module and module.kernel(X).tolist() == [0.0, 2.0, 4.0]
    new = scaled(3.0).compile(X, folder=here, name_collision="replace")
    importlib.reload(generated)
    with pytest.raises(ImportError, match="a process keeps what it imported"):
        module_of(new)

"""Stores shared by processes: cold starts, kills, other folders, no compiler, no place to write."""

import json
import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from ferrule import _rt

LONG = os.environ.get("FERRULE_FUZZ") == "long"
INCLUDE = Path(__file__).resolve().parents[2] / "include"
FOLDER_NAMES = ["plain", "with space", "ünï'cödé", '; $(touch x) "q"', "-dash"]

WORKER = """
import json, sys
import os
from ferrule import _rt
if user := os.environ.get("FERRULE_TEST_USER"):
    os.setgid(int(user))
    os.setuid(int(user))
if mask := os.environ.get("FERRULE_TEST_UMASK"):
    os.umask(int(mask, 8))
store = _rt.Store(sys.argv[1])
artifact, stats = store.compile("twice", sys.argv[2], include_dir=sys.argv[3])
stats["module"] = _rt.sha256_hex(artifact.module_bytes(store))
stats["warnings"] = store.take_warnings()
print(json.dumps(stats))
"""


def source(number=2):
    visible = '__attribute__((visibility("default")))'
    return f'extern "C" {visible} long twice(long x) {{ return {number} * x; }}\n'


def start(root, text, env=None, include=INCLUDE, **options):
    command = [sys.executable, "-c", WORKER, str(root), text, str(include)]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(env or {})},
        **options,
    )


def result_of(process):
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return json.loads(out)


def run(root, text, env=None, **options):
    return result_of(start(root, text, env, **options))


def staging(root):
    return sorted(path.name for path in (Path(root) / "v1" / "tmp").iterdir())


def entries(root):
    return [path for path in Path(root).glob("v1/??/*") if path.is_dir()]


def test_cold_start_of_many(tmp_path):
    for round_number in range(20 if LONG else 2):
        root = tmp_path / f"cache {round_number}"
        results = [result_of(p) for p in [start(root, source(round_number)) for _ in range(16)]]
        assert len({r["key"] for r in results}) == 1
        assert len({r["module"] for r in results}) == 1
        assert sum(r["compiles"] for r in results) >= 1
        assert len(entries(root)) == 1
        assert staging(root) == []
        assert all(r["warnings"] == [] for r in results)
        assert _rt.Store(str(root)).verify() == {"entries": 1, "records": 2, "findings": []}


def test_killed_while_building(tmp_path):
    root = tmp_path / "cache"
    chance = random.Random(5)
    rounds = 100 if LONG else 10
    for round_number in range(rounds):
        process = start(root, source(round_number), start_new_session=True)
        time.sleep(chance.uniform(0, 0.35))
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if round_number % 5 == 4:
            assert run(root, source(round_number))["warnings"] == []
    # Whatever a killed process left lies where it is swept later.
    found = _rt.Store(str(root)).verify()["findings"]
    assert {(finding["kind"], Path(finding["path"]).parent.name) for finding in found} <= {("rubbish", "tmp")}
    for round_number in range(rounds):
        result = run(root, source(round_number))
        assert result["compiles"] + result["hits"] == 1
        assert run(root, source(round_number))["hits"] == 1


@pytest.mark.parametrize("name", FOLDER_NAMES)
def test_odd_folder_names(tmp_path, name):
    root = tmp_path / name
    assert run(root, source(), cwd=tmp_path)["compiles"] == 1
    assert run(root, source(), cwd=tmp_path)["hits"] == 1
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_equal_bytes_from_other_folders_and_hash_seeds(tmp_path):
    pickles = set()
    for seed, name in enumerate(FOLDER_NAMES):
        code = WORKER + "import pickle; sys.stdout.write(_rt.sha256_hex(pickle.dumps(artifact.embed(store))))"
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / name), source(), str(INCLUDE)],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        )
        pickles.add(done.stdout.splitlines()[-1])
    assert len(pickles) == 1


def test_a_damaged_entry_is_built_again(tmp_path):
    root = tmp_path / "cache"
    first = run(root, source())
    (entry,) = entries(root)
    for name in ["module.so", "manifest.json", "source.cpp", "log.txt"]:
        for cut in [0, 1, (entry / name).stat().st_size // 2]:
            os.truncate(entry / name, cut) if cut < (entry / name).stat().st_size else (entry / name).unlink()
            again = run(root, source())
            assert (again["compiles"], again["module"]) == (1, first["module"]), (name, cut)
            assert run(root, source())["hits"] == 1


def test_no_compiler(tmp_path):
    store = _rt.Store(str(tmp_path))
    with pytest.raises(
        Exception, match=r"The C\+\+ compiler '/nonexistent' was not found; set CXX or install g\+\+\."
    ):
        store.compile("twice", source(), compiler="/nonexistent", include_dir=str(INCLUDE))
    process = start(tmp_path, source(), {"CXX": "/nonexistent"})
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1 and "'/nonexistent' was not found" in err
    assert _rt.toolchain_identity("/nonexistent", store) == ""
    assert _rt.toolchain_identity("", store) == _rt.toolchain_identity("", _rt.Store(str(tmp_path / "other")))
    # An entry that is there loads all the same.
    artifact, _ = store.compile("twice", source(), include_dir=str(INCLUDE))
    code = "import sys; from ferrule import _rt; s = _rt.Store(sys.argv[1]); print(len(s.get(sys.argv[2]).module_bytes(s)))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path), artifact.key],
        env={**os.environ, "CXX": "/nonexistent", "PATH": "/nonexistent"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) > 0


def test_home_is_missing(tmp_path):
    environment = {k: v for k, v in os.environ.items() if k not in ("FERRULE_CACHE_DIR", "XDG_CACHE_HOME")}
    code = WORKER.replace("_rt.Store(sys.argv[1])", "_rt.Store()")
    for home in ["/nonexistent/home", str(tmp_path / "a file")]:
        (tmp_path / "a file").write_text("")
        if home.startswith("/nonexistent") and os.geteuid() == 0:
            home = "/proc/nowhere"  # root could make the other one
        done = subprocess.run(
            [sys.executable, "-c", code, "", source(), str(INCLUDE)],
            env={**environment, "HOME": home},
            capture_output=True,
            text=True,
            check=True,
        )
        result = json.loads(done.stdout)
        assert result["compiles"] == 1
        (warning,) = result["warnings"]
        assert home in warning


def test_read_only_root():
    """As another user where the tests run as root, whom permissions do not bind."""
    with tempfile.TemporaryDirectory(prefix="ferrule-read-only-") as folder:
        root, include = Path(folder) / "cache", Path(folder) / "include"
        shutil.copytree(INCLUDE, include)
        run(root, source(), include=include)
        become = {}
        if os.geteuid() == 0:
            become = {"FERRULE_TEST_USER": "65534"}
            for path in [Path(folder), *Path(folder).rglob("*")]:
                os.chown(path, 65534, 65534)
        folders = [root, *[path for path in root.rglob("*") if path.is_dir()]]
        for path in folders:
            path.chmod(0o500)
        before = sorted(str(path) for path in root.rglob("*"))
        warm = run(root, source(), {"TMPDIR": "/tmp", **become}, include=include)
        cold = run(root, source(3), {"TMPDIR": "/tmp", **become}, include=include)
        assert sorted(str(path) for path in root.rglob("*")) == before
        for path in folders:
            path.chmod(0o700)
    assert (warm["hits"], warm["warnings"]) == (1, [])
    assert cold["compiles"] == 1
    (warning,) = cold["warnings"]
    assert str(root) in warning and "Permission denied" in warning


def test_two_users_do_not_disturb_each_other():
    """One that lets everybody in and one that lets nobody, with the same folder for both."""
    if os.geteuid() != 0:
        pytest.skip("only root can become two users")
    with tempfile.TemporaryDirectory(prefix="ferrule-public-") as folder:
        include, root = Path(folder) / "include", Path(folder) / "shared" / "cache"
        shutil.copytree(INCLUDE, include)
        root.parent.mkdir()
        os.chmod(folder, 0o755)
        root.parent.chmod(0o1777)
        users = [{"FERRULE_TEST_USER": "4243", "FERRULE_TEST_UMASK": "000", "TMPDIR": "/tmp"}]
        users.append({"FERRULE_TEST_USER": "4244", "FERRULE_TEST_UMASK": "077", "TMPDIR": "/tmp"})
        for _ in range(2):
            first, second = [run(root, source(), user, include=include) for user in users]
            assert first["warnings"] == []
            assert second["compiles"] == 1, "nothing of the other's is loaded"
            (warning,) = second["warnings"]
            assert str(root) in warning and "it belongs to another user" in warning
        assert first["hits"] == 1
        assert all(path.stat().st_mode & 0o077 == 0 for path in [root, *root.rglob("*")])


def test_full_disk(tmp_path):
    root = tmp_path / "small"
    root.mkdir(mode=0o700)
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k,mode=0700", "tmpfs", str(root)],
        capture_output=True,
        check=False,
    )
    if mount.returncode:
        pytest.skip("no right to mount a small file system")
    try:
        (root / "filler").write_bytes(b"x" * 40_000)
        result = run(root, source())
        assert result["compiles"] == 1
        (warning,) = result["warnings"]
        assert "No space left on device" in warning
        assert (run(root, source())["compiles"]) == 1
    finally:
        subprocess.run(["umount", str(root)], check=True)


def test_pickles_travel(tmp_path):
    store = _rt.Store(str(tmp_path / "one"))
    artifact, _ = store.compile("twice", source(), include_dir=str(INCLUDE))
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        back = pickle.loads(pickle.dumps(artifact, protocol))
        assert back == artifact and hash(back) == hash(artifact) and back.manifest == artifact.manifest
    by_value = pickle.dumps(artifact.embed(store))
    code = (
        "import pickle, sys; a = pickle.loads(sys.stdin.buffer.read()); from ferrule import _rt;"
        "print(_rt.sha256_hex(a.module_bytes(_rt.Store(sys.argv[1]))))"
    )
    other = [sys.executable, "-c", code, str(tmp_path / "two")]
    done = subprocess.run(other, input=by_value, capture_output=True, check=True)
    assert done.stdout.decode().strip() == _rt.sha256_hex(artifact.module_bytes(store))
    by_reference = pickle.dumps(artifact.by_reference())
    done = subprocess.run(other, input=by_reference, capture_output=True, check=False)
    assert done.returncode == 1 and str(tmp_path / "two") in done.stderr.decode()


def test_why_names_what_differs(tmp_path):
    store = _rt.Store(str(tmp_path))
    lists = []
    for flags in [[], ["-DX=1"]]:
        artifact, _ = store.compile("twice", source(), include_dir=str(INCLUDE), extra_flags=flags)
        lists.append([tuple(pair) for pair in json.loads(artifact.manifest)["ingredients"]])
        assert _rt.digest_of(lists[-1]) == artifact.key
    ((name, before, after),) = _rt.changes_between(*lists)
    assert name == "flags" and "-DX=1" in after and "-DX=1" not in before

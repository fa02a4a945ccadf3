"""Damaged, untrusted and odd stores under a whole program: the result is right, and no process dies by a signal."""

import contextlib
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from ferrule import _rt

LONG = os.environ.get("FERRULE_FUZZ") == "long"

PROGRAM = """
import json, warnings
import numpy as np
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    import ferrule as fr

    @fr.program
    def shifted(a):
        return a * 3.0 + 1.0

    @fr.program
    def squared(a):
        return a * a - 1.0

    def main():
        value = shifted(np.arange(5.0)).tolist()
        print(json.dumps({"value": value, "compiles": shifted.stats()["compiles"],
                          "warnings": [str(w.message) for w in seen]}))
    if __name__ == "__main__":
        main()
"""
EXPECTED = [1.0, 4.0, 7.0, 10.0, 13.0]

# Damages one file after another and calls the program in a forked child each time; prints what went wrong.
TRIALS = """
import glob, json, os, random, sys
import numpy as np
from program import fr, shifted, squared

root, rounds = sys.argv[1], int(sys.argv[2])
chance = random.Random(3)
EXPECTED = {"shifted": [1.0, 4.0, 7.0, 10.0, 13.0], "squared": [-1.0, 0.0, 3.0, 8.0, 15.0]}
PARTS = [0, 0.1, 0.5, 0.95, 0.99]

def in_child():
    child = os.fork()
    if child == 0:
        code = 3
        try:
            right = all(f(np.arange(5.0)).tolist() == EXPECTED[f.__name__] for f in (shifted, squared))
            code = 0 if right else 2
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def files():
    return sorted(glob.glob(root + "/v1/??/*/*")) + sorted(glob.glob(root + "/v1/warm/*.json"))

def cut(path, length):
    os.truncate(path, min(length, os.path.getsize(path)))

def flip(path):
    with open(path, "r+b") as file:
        data = bytearray(file.read())
        for _ in range(chance.choice([1, 1, 2, 50])):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        file.seek(0)
        file.write(data)

def blank(path):
    size = os.path.getsize(path)
    start = chance.randrange(size)
    with open(path, "r+b") as file:
        file.seek(start)
        file.write(bytes(min(4096, size - start)))

def swap(path):
    other = chance.choice([f for f in files() if os.path.basename(f) == os.path.basename(path)] or [path])
    if other != path:
        os.rename(path, path + ".aside")
        os.rename(other, path)
        os.rename(path + ".aside", other)

assert in_child() == 0
bad, trial = [], 0
names = [os.path.basename(path) for path in files()]
kinds = [lambda p, part=part: cut(p, int(part * os.path.getsize(p))) for part in PARTS]
kinds += [lambda p: cut(p, 1), lambda p: cut(p, os.path.getsize(p) - 1), os.unlink, flip, blank, swap, flip]
while trial < rounds:
    for kind in chance.sample(range(len(kinds)), len(kinds)):
        candidates = [path for path in files() if os.path.getsize(path)]
        path = chance.choice(candidates)
        kinds[kind](path)
        code = in_child()
        if code != 0:
            bad.append([os.path.relpath(path, root), kind, code])
        trial += 1
assert in_child() == 0
print(json.dumps({"bad": bad, "trials": trial, "sound": fr.Store(root).verify().sound}))
"""


@pytest.fixture
def script(tmp_path):
    """The program in a file of its own."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def call(script, root, **env):
    settings = {**os.environ, "FERRULE_CACHE_DIR": str(root), **env}
    done = subprocess.run(
        [sys.executable, str(script)], env=settings, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, (done.returncode, done.stderr)
    result = json.loads(done.stdout)
    assert result["value"] == EXPECTED
    return result


def everything_in(folder):
    return sorted(str(path) for path in Path(folder).rglob("*"))


def test_damage_of_any_file_is_never_a_signal_and_never_a_wrong_value(script, tmp_path):
    root = tmp_path / "cache"
    trials = tmp_path / "trials.py"
    trials.write_text(TRIALS)
    done = subprocess.run(
        [sys.executable, str(trials), str(root), "500" if LONG else "24"],
        env={**os.environ, "FERRULE_CACHE_DIR": str(root)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["bad"] == [] and result["trials"] >= 24 and result["sound"]


def open_to_all(root):
    root.chmod(0o777)


def of_another_user(root):
    if os.geteuid() != 0:
        pytest.skip("only root can give folders away")
    os.chown(root, 4242, 4242)


def link_elsewhere(root):
    root.rename(root.with_name("real"))
    root.symlink_to(root.with_name("real"))


def inner_folder_open_to_all(root):
    (root / "v1").chmod(0o777)


@pytest.mark.parametrize(
    ("plant", "reason"),
    [
        (open_to_all, "others can write to it (mode 0777)"),
        (of_another_user, "it belongs to another user"),
        (link_elsewhere, "it is a symbolic link"),
        (inner_folder_open_to_all, "others have written to"),
    ],
)
def test_an_untrusted_root_is_named_and_left_alone(script, tmp_path, plant, reason):
    root = tmp_path / "cache"
    call(script, root)
    plant(root)
    before = everything_in(root)
    result = call(script, root)
    assert result["compiles"] == 1, "nothing of it is loaded"
    (warning,) = result["warnings"]
    assert str(root) in warning and reason in warning
    assert everything_in(root) == before


def test_an_entry_that_is_a_link_is_not_followed(script, tmp_path):
    root = tmp_path / "cache"
    call(script, root)
    (entry,) = root.glob("v1/??/*")
    entry.rename(tmp_path / "elsewhere")
    entry.symlink_to(tmp_path / "elsewhere")
    assert call(script, root)["compiles"] == 1
    assert not entry.is_symlink() and call(script, root)["compiles"] == 0
    assert len(list((tmp_path / "elsewhere").iterdir())) == 4


def test_nothing_in_a_store_is_executed_on_reading(script, tmp_path):
    root = tmp_path / "cache"
    call(script, root)
    marker = tmp_path / "marker"
    payload = f"cposix\nsystem\n(S'touch {marker}'\ntR.".encode()
    for path in [*root.glob("v1/??/*/*"), *root.glob("v1/warm/*")]:
        path.write_bytes(payload)
        call(script, root)
    assert not marker.exists()


def test_half_written_things_in_sight_disturb_nobody(script, tmp_path):
    root = tmp_path / "cache"
    call(script, root)
    shard = next(root.glob("v1/??"))
    (shard / ".cut").write_text("")
    (root / "v1" / "folder of somebody").mkdir()
    (shard / ("0" * 62)).mkdir()
    (shard / ("1" * 62)).mkdir()
    (shard / ("1" * 62) / "manifest.json").write_text("{")
    assert call(script, root)["warnings"] == []
    store = _rt.Store(str(root))
    assert sorted(bool(entry["problem"]) for entry in store.entries()) == [False, True, True]
    assert sorted(f["kind"] for f in store.verify()["findings"]) == [
        "damaged",
        "damaged",
        "foreign",
        "foreign",
    ]
    store.prune(max_bytes=0)
    assert call(script, root)["compiles"] == 1
    assert call(script, root)["compiles"] == 0


@contextlib.contextmanager
def mounted(folder, options):
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], check=False)
    if done.returncode:
        pytest.skip("no right to mount a file system")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_root_from_which_nothing_may_be_executed(script, tmp_path):
    root = tmp_path / "cache"
    root.mkdir(mode=0o700)
    with mounted(root, "noexec,mode=0700"):
        assert (call(script, root)["compiles"], call(script, root)["compiles"]) == (1, 0)


def test_a_root_on_a_read_only_mount(script, tmp_path):
    root = tmp_path / "cache"
    root.mkdir(mode=0o700)
    with mounted(root, "mode=0700"):
        call(script, root)
        subprocess.run(["mount", "-o", "remount,ro", str(root)], check=True)
        warm = call(script, root)
        assert (warm["compiles"], warm["warnings"]) == (0, [])


def test_no_home_at_all(script):
    settings = {k: v for k, v in os.environ.items() if k not in ("FERRULE_CACHE_DIR", "XDG_CACHE_HOME")}
    done = subprocess.run(
        [sys.executable, str(script)],
        env={**settings, "HOME": "/proc/nowhere"},
        capture_output=True,
        text=True,
    )
    result = json.loads(done.stdout)
    (warning,) = result["warnings"]
    assert result["value"] == EXPECTED and "/proc/nowhere" in warning


def test_levels_are_read_and_never_written(script, tmp_path):
    site, root = tmp_path / "site", tmp_path / "own"
    call(script, site)
    before = everything_in(site)
    result = call(script, root, FERRULE_CACHE_LEVELS=str(site))
    assert (result["compiles"], result["warnings"]) == (0, [])
    assert everything_in(site) == before
    os.chmod(site, 0o777)
    result = call(script, root, FERRULE_CACHE_LEVELS=str(site))
    (warning,) = result["warnings"]
    assert str(site) in warning and result["compiles"] == 1


def test_the_cap_holds_for_programs(script, tmp_path):
    root = tmp_path / "cache"
    for _ in range(2):
        call(script, root, FERRULE_CACHE_LIMIT="1K")
    assert len(list(root.glob("v1/??/*"))) == 1
    bad = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "FERRULE_CACHE_DIR": str(root), "FERRULE_CACHE_LIMIT": "many"},
        capture_output=True,
        text=True,
    )
    assert bad.returncode == 1 and "'many' is no size" in bad.stderr


def test_a_mapped_library_survives_its_entry(script, tmp_path):
    code = (
        "import numpy as np\nfrom program import fr, shifted\n"
        "one = shifted(np.arange(5.0)).tolist()\n"
        "assert fr.Store().prune(max_bytes=0).entries == 1\n"
        "import pickle\n"
        "assert shifted(np.arange(5.0)).tolist() == one\n"
        "artifact = shifted.compile(np.arange(5.0))\n"
        "assert pickle.loads(pickle.dumps(artifact)).load()(np.arange(5.0)).tolist() == one\n"
    )
    other = tmp_path / "survive.py"
    other.write_text(code)
    subprocess.run(
        [sys.executable, str(other)],
        env={**os.environ, "FERRULE_CACHE_DIR": str(tmp_path / "cache")},
        check=True,
    )


def python(code, tmp_path, **env):
    """Run code in a file beside the program, with a store of its own."""
    path = tmp_path / "main.py"
    path.write_text(code)
    done = subprocess.run(
        [sys.executable, str(path)],
        env={**os.environ, "FERRULE_CACHE_DIR": str(tmp_path / "cache"), **env},
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_working_folder_may_go_away(script, tmp_path):
    code = """
import os, numpy as np
os.makedirs("work")
os.chdir("work")
from program import fr, shifted
with fr.config(profile=True):
    artifact = shifted.compile(np.arange(5.0))
    os.rmdir(os.getcwd())
    os.chdir("/")
    print(shifted(np.arange(5.0)).tolist(), artifact.load()(np.arange(5.0)).tolist())
    print(fr.hooks.timings()["shifted"].calls)
"""
    assert python(code, tmp_path).split("\n") == [f"{EXPECTED} {EXPECTED}", "2", ""]


def test_a_program_in_a_zip_file(script, tmp_path):
    with zipfile.ZipFile(tmp_path / "app.zip", "w") as archive:
        archive.write(script, "program.py")
    script.unlink()
    code = f"import sys; sys.path.insert(0, {str(tmp_path / 'app.zip')!r}); import program; program.main()"
    for compiles in (1, 0):
        result = json.loads(python(code, tmp_path))
        assert (result["value"], result["compiles"], result["warnings"]) == (EXPECTED, compiles, [])


def test_the_first_call_from_many_threads(script, tmp_path):
    code = """
import threading, numpy as np
from program import shifted
start, results = threading.Barrier(8), []
def call():
    start.wait()
    results.append(shifted(np.arange(5.0)).tolist())
threads = [threading.Thread(target=call) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(results), len({str(r) for r in results}), shifted.stats()["compiles"])
"""
    assert python(code, tmp_path).strip() == "8 1 1"


def test_many_kernels_take_bounded_memory_and_leave_no_child(script, tmp_path):
    code = """
import os, sys, numpy as np
import ferrule as fr
from program import shifted
def memory():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
def make(number):
    @fr.program
    def kernel(a):
        return a + number
    return kernel
kernels = [make(float(i)) for i in range(int(sys.argv[1]) if len(sys.argv) > 1 else COUNT)]
a = np.arange(5.0)
def call(some):
    for i, kernel in enumerate(some):
        assert kernel(a).tolist() == (a + float(kernels.index(kernel))).tolist()
call(kernels[:4])
before = memory()
call(kernels[4:])
print((memory() - before) / (len(kernels) - 4))
try:
    os.waitpid(-1, os.WNOHANG)
    print("a child is left")
except ChildProcessError:
    print("none")
""".replace("COUNT", "500" if LONG else "12")
    per_kernel, children = python(code, tmp_path).split("\n")[:2]
    assert float(per_kernel) < 1 << 20 and children == "none"

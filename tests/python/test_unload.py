"""Kernel.unload: what is gone afterwards, what stays, and when it is refused."""

from __future__ import annotations

import copy
import gc
import importlib.util
import itertools
import os
import pickle
import sys
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import ferrule as fr
from ferrule import _rt, hooks
from ferrule.errors import UserRuntimeError

AUTHOR = '#include "ferrule/rt/author.h"\nusing fr_author::Callback;\n'
INT = [fr.Return("n", "int64", kind="scalar")]


def is_mapped(artifact: Any) -> bool:
    """Whether this process has the module under its digest."""
    try:
        _rt.Kernel(None, artifact.key)
    except LookupError:
        return False
    return True


def mappings() -> int:
    with open("/proc/self/maps") as file:
        return sum("ferrule-module" in line for line in file)


@pytest.fixture(scope="module")
def counting() -> Any:
    """Counts its calls in static data; has all that a handle can hold."""
    source = """
    #include <stdint.h>
    static int64_t calls = 0;
    void* open() { return (void*)1; }
    void shut(void*) {}
    int64_t counting(void*, const double*, int64_t, char*) { return ++calls; }
    """
    signature = fr.Signature(
        "counting", [fr.Arg("x", shape="N")], returns=INT, result="n", parameters=["state", "x", "N", "scratch"],
        init=fr.AuthorFunction("open", [], "state"), exit=fr.AuthorFunction("shut", ["state"]),
        workspaces=[fr.Workspace("scratch", "8*N")], user_args=("x",),
    )  # fmt: skip
    return fr.compile_source(source, signature)


@pytest.fixture(scope="module")
def compiled_plain() -> Any:
    source = "static long n = 0; long plain(const double* x, long size) { return ++n; }"
    return fr.compile_source(source, fr.Signature("plain", [fr.Arg("x", shape="N")], returns=INT, result="n"))


@pytest.fixture
def plain(compiled_plain: Any) -> Any:
    """Counts its calls in static data; not mapped."""
    gc.collect()
    assert compiled_plain.load().unload() is True
    return compiled_plain


@pytest.fixture(scope="module")
def calling() -> Any:
    source = "double calling(Callback<double(double)> f, double x) { const auto v = f(x); return v ? v.value : -1; }"
    args = [
        fr.Arg("f", kind="callback", params=[fr.Arg("x", kind="scalar")], returns="float64"),
        fr.Arg("x", kind="scalar", default=2.0),
    ]
    signature = fr.Signature("calling", args, returns=[fr.Return("r", kind="scalar")], result="r")
    return fr.compile_source(AUTHOR + source, signature)


@pytest.fixture(scope="module")
def waiting() -> Any:
    """Writes a byte to a descriptor and waits for one: in the run to `fd`, in init and exit to the numbers A and B."""
    source = """
    #include <stdint.h>
    #include <unistd.h>
    static void meet(int fd) { char c = 0; if (write(fd, &c, 1) != 1 || read(fd, &c, 1) != 1) _exit(9); }
    int64_t* open(int64_t begin, int64_t end) { if (begin) meet(begin); return new int64_t(end); }
    void shut(int64_t* state) { const int64_t fd = *state; delete state; if (fd) meet(fd); }
    void waiting(int64_t*, int64_t fd) { if (fd) meet(fd); }
    """
    args = [
        fr.Arg("fd", kind="scalar", dtype="int64"), fr.Arg("a", dtype="int8", shape="A"), fr.Arg("b", dtype="int8", shape="B"),
    ]  # fmt: skip
    signature = fr.Signature(
        "waiting", args, parameters=["state", "fd"], init=fr.AuthorFunction("open", ["A", "B"], "state"),
        exit=fr.AuthorFunction("shut", ["state"]), persistent=["A", "B"],
    )  # fmt: skip
    return fr.compile_source(source, signature)


NONE = np.ones(0, np.int8)


def workspace(kernel: Any) -> Any:
    memory = np.zeros(256, np.uint8)
    start = -memory.ctypes.data % 64
    kernel.set_workspace("scratch", memory[start : start + 64])
    return memory


# -- what is gone


USES = {
    "a call": lambda k, x: k(x),
    "a call by name": lambda k, x: k(x=x),
    "a call of other arguments": lambda k, x: k(1, 2, nothing=3),
    "tp_call": lambda k, x: type(k).__call__(k, x),
    "user_call": lambda k, x: k.user_call(x),
    "safe_call": lambda k, x: k.safe_call(x),
    "initialize": lambda k, x: k.initialize(x),
    "finalize": lambda k, x: k.finalize(),
    "workspace_sizes": lambda k, x: k.workspace_sizes(N=3),
    "set_workspace": lambda k, x: workspace(k),
    "set_workspace of another name": lambda k, x: k.set_workspace("other", None),
    "_check": lambda k, x: k._check(x),
    "_call_unwatched": lambda k, x: k._call_unwatched(x),
    "_set_sites": lambda k, x: k._set_sites([("a", "b")]),
    "release_gil": lambda k, x: setattr(k, "release_gil", True),
    "error_check": lambda k, x: setattr(k, "error_check", False),
    "a specialisation of it": lambda k, x: _rt.FunctionBase()._add(k),
}


@pytest.mark.parametrize("use", USES)
def test_every_use_is_refused_with_one_sentence(counting: Any, use: str) -> None:
    kernel = counting.load()
    workspace(kernel)
    kernel(np.ones(3))
    kernel.unload()
    for _ in range(2):
        with pytest.raises(UserRuntimeError, match=r"^'counting' was unloaded; load its artifact again\.$"):
            USES[use](kernel, np.ones(3))


def test_what_it_tells_of_itself_stays(counting: Any) -> None:
    kernel = counting.load()
    names = ("name", "signature", "digest", "file_digest", "facts", "release_gil", "error_check")
    kernel.release_gil, kernel.error_check = False, False
    before, text = {name: getattr(kernel, name) for name in names}, repr(kernel)
    kernel.unload()
    gc.collect()
    assert {name: getattr(kernel, name) for name in names} == before
    assert repr(kernel) == f"{text[:-1]}, unloaded>"
    assert kernel.program.name == "counting"
    assert "counting" in kernel.source()
    assert kernel.artifact is counting


def test_the_code_is_gone_and_loads_again_with_fresh_data(plain: Any) -> None:
    gc.collect()
    before, x = mappings(), np.ones(3)
    kernel = plain.load()
    assert [kernel(x), kernel(x)] == [1, 2]
    assert mappings() > before
    assert kernel.unload() is True
    assert mappings() == before
    assert not is_mapped(plain)
    again = plain.load()
    assert [again(x), again(x)] == [1, 2]
    assert again.unload() is True


def test_code_of_the_standard_library_is_gone_too() -> None:
    source = """
    #include <memory>
    #include <string>
    template <class T> struct Counted { static inline long n = 0; };
    long counted() { return ++Counted<int>::n + 10 * std::make_shared<std::string>("a")->size(); }
    """
    artifact = fr.compile_source(source, fr.Signature("counted", returns=INT, result="n"))
    before = mappings()
    for _ in range(3):
        kernel = artifact.load()
        assert kernel() == 11
        assert kernel.unload() is True
        assert mappings() == before


def test_a_second_time_does_nothing(plain: Any) -> None:
    kernel = plain.load()
    assert [kernel.unload(), kernel.unload(), kernel.unload()] == [True, False, False]
    other = plain.load()
    assert kernel.unload() is False
    assert other(np.ones(1)) == 1
    assert other.unload() is True


def test_a_module_stays_while_others_use_it(plain: Any) -> None:
    one, two = plain.load(), plain.load()
    assert one.unload() is False
    assert two(np.ones(1)) == 1
    assert two.unload() is True
    assert not is_mapped(plain)


def test_the_collector_ends_no_module(plain: Any) -> None:
    kernel = plain.load()
    assert kernel(np.ones(1)) == 1
    del kernel
    gc.collect()
    kernel = plain.load()
    assert kernel(np.ones(1)) == 2
    assert kernel.unload() is True


def test_state_and_workspaces_are_released(counting: Any) -> None:
    class Scratch(np.ndarray):
        pass

    kernel = counting.load()
    memory = np.zeros(256, np.uint8).view(Scratch)
    watched = weakref.ref(memory)
    kernel.set_workspace("scratch", memory[-memory.ctypes.data % 64 :][:64])
    del memory
    kernel(np.ones(3))
    kernel.unload()
    assert watched() is None


def test_exit_runs_once_and_what_it_reports_is_raised_in_the_end() -> None:
    source = """
    #include <stdint.h>
    #include <stdexcept>
    void* open() { return (void*)1; }
    int shut(void*) { if (throws) throw std::runtime_error("no way out"); return 3; }
    void leaving(void*) {}
    """
    ends = (("false", "'exit' returned status 3: stuck"), ("true", "threw an exception: no way out"))
    for throws, sentence in ends:
        signature = fr.Signature(
            "leaving", parameters=["state"], init=fr.AuthorFunction("open", [], "state"),
            exit=fr.AuthorFunction("shut", ["state"], "status"), statuses={3: "stuck"},
        )  # fmt: skip
        artifact = fr.compile_source(f"static const bool throws = {throws};{source}", signature)
        kernel = artifact.load()
        kernel()
        with pytest.raises(UserRuntimeError, match=sentence):
            kernel.unload()
        assert not is_mapped(artifact)
        assert kernel.unload() is False
        with pytest.raises(UserRuntimeError, match="was unloaded"):
            kernel()


# -- when it is refused


RUNNING = r"^'{}' cannot be unloaded while a call of it runs; unload it when that has returned\.$"


@pytest.mark.parametrize("release", [True, False, "auto"])
def test_not_by_a_callback_of_the_call(calling: Any, release: Any) -> None:
    kernel = calling.load()
    kernel.release_gil = release

    def callback(x: float) -> float:
        with pytest.raises(UserRuntimeError, match=RUNNING.format("calling")):
            kernel.unload()
        return x + 1

    assert [kernel(callback), kernel(callback)] == [3, 3]

    def failing(x: float) -> float:
        raise KeyError(x)

    with pytest.raises(KeyError):
        kernel(failing)
    assert kernel.unload() is True  # whatever way a call ends, it is over


class Index:
    def __init__(self, code: Any) -> None:
        self.code = code

    def __index__(self) -> int:
        self.code()
        return 0


class Foreign:
    """An array of another library, whose code runs while a call looks at it."""

    def __init__(self, code: Any) -> None:
        self.code, self.array = code, np.ones(3)

    @property
    def __array_interface__(self) -> Any:
        self.code()
        return self.array.__array_interface__


def test_not_by_the_code_of_an_argument(plain: Any, waiting: Any) -> None:
    seen = []

    def attempt() -> None:
        with pytest.raises(UserRuntimeError, match="while a call of it runs"):
            kernel.unload()
        seen.append(1)

    kernel = plain.load()
    kernel(Foreign(attempt))
    kernel._check(Foreign(attempt))
    with pytest.raises(TypeError):
        kernel(Foreign(attempt), nothing=1)
    called = len(seen)
    assert called >= 2
    assert kernel.unload() is True
    kernel = waiting.load()
    kernel(Index(attempt), NONE, NONE)
    kernel.finalize()
    kernel.initialize(A=Index(attempt), B=0)
    assert len(seen) == called + 2


def meeting(artifact: Any, use: Any) -> None:
    """unload() is refused while `use(kernel, descriptor)` is in native code, in another thread; nothing changes."""
    import socket

    here, there = socket.socketpair()
    with here, there:
        kernel = artifact.load()
        kernel.release_gil = True
        running = threading.Thread(target=use, args=(kernel, there.fileno()))
        running.start()
        assert here.recv(1) == b"\0"
        for _ in range(3):
            with pytest.raises(UserRuntimeError, match=RUNNING.format("waiting")):
                kernel.unload()
        here.send(b"\0")
        running.join()
    assert kernel(0, NONE, NONE) is None
    kernel.finalize()
    kernel.unload()


IN_NATIVE_CODE = {
    "a call": lambda kernel, fd: kernel(fd, NONE, NONE),
    "init": lambda kernel, fd: (kernel.initialize(A=fd, B=0), kernel.finalize()),
    "exit": lambda kernel, fd: (kernel.initialize(A=0, B=fd), kernel.finalize()),
}


@pytest.mark.parametrize("where", IN_NATIVE_CODE)
def test_not_while_another_thread_is_in_it(waiting: Any, where: str) -> None:
    meeting(waiting, IN_NATIVE_CODE[where])


def test_another_handle_of_the_module_may_be_unloaded_meanwhile(waiting: Any) -> None:
    other = waiting.load()
    meeting(waiting, lambda kernel, fd: (other.unload(), kernel(fd, NONE, NONE)))


def test_a_use_while_exit_runs_is_one_of_an_unloaded_kernel(waiting: Any) -> None:
    import socket

    here, there = socket.socketpair()
    with here, there:
        kernel, ended = waiting.load(), []
        kernel.initialize(A=0, B=there.fileno())
        leaving = threading.Thread(target=lambda: ended.append(kernel.unload()))
        leaving.start()
        assert here.recv(1) == b"\0"
        with pytest.raises(UserRuntimeError, match="was unloaded"):
            kernel(0, NONE, NONE)
        assert kernel.unload() is False
        here.send(b"\0")
        leaving.join()
    assert ended == [True]


def test_not_what_python_has_imported(plain: Any, tmp_path: Any) -> None:
    path = tmp_path / "plain.so"
    path.write_bytes(plain.module_bytes())
    spec = importlib.util.spec_from_file_location("plain", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for _ in range(2):
        with pytest.raises(
            UserRuntimeError,
            match=r"^'plain' cannot be unloaded, because its module was imported; Python keeps",
        ):
            module.kernel.unload()
    assert module.kernel(np.ones(3)) == 1


def test_a_hook_may_unload_before_the_call(plain: Any) -> None:
    import contextlib

    kernel = plain.load()

    def hook(callee: Any, args: Any, kwargs: Any) -> Any:
        kernel.unload()
        return contextlib.nullcontext()

    with (
        hooks.around_calls_of(kernel, hook),
        pytest.raises(UserRuntimeError, match="'plain' was unloaded"),
    ):
        kernel(np.ones(3))


def test_the_end_of_a_value_may_use_the_kernel(plain: Any) -> None:
    """What a specialisation holds is released by unload(), and runs any code when it ends."""

    class Ends:
        def __del__(self) -> None:
            seen.append((kernel.unload(), repr(kernel).endswith("unloaded>")))
            with pytest.raises(UserRuntimeError, match="was unloaded"):
                kernel(np.ones(1))

    seen: list[Any] = []
    kernel, function = plain.load(), _rt.FunctionBase()
    function._add(kernel, globals_guard=[({"a": 1}, "a", Ends())])
    assert kernel.unload() is True
    assert seen == [(False, True)]


# -- what stays


def test_results_and_errors_stay() -> None:
    source = """
    #include <stdint.h>
    int made(const double* x, int64_t n, double* out, double* total) {
      for (int64_t i = 0; i < n; ++i) *total += out[i] = 2 * x[i];
      return n == 7 ? 4 : 0;
    }
    """
    signature = fr.Signature(
        "made", [fr.Arg("x", shape="N")], returns=[fr.Return("out", shape="N"), fr.Return("total", kind="scalar")],
        result="status", parameters=["x", "N", "out", "total"], statuses={4: "seven is too many"},
    )  # fmt: skip
    artifact = fr.compile_source(source, signature)
    kernel = artifact.load()
    small, large = kernel(np.ones(3)), kernel(np.ones(1 << 16))
    errors = []
    for x in (np.ones(7), np.ones(3, np.float32), "text", np.ones((2, 2))):
        with pytest.raises(Exception) as caught:
            kernel(x)
        errors.append(caught.value)
    texts = [str(error) for error in errors]
    assert kernel.unload() is True
    gc.collect()
    assert [str(error) for error in errors] == texts
    assert "seven is too many" in texts[0]
    assert small[0].tolist() == [2, 2, 2]
    assert small[1] == 6
    assert large[0].sum() == large[1] == 1 << 17
    del small, large  # their memory ends after the module


def test_views_and_arrays_of_a_program_stay() -> None:
    @fr.program
    def window(a: Any) -> Any:
        return a[1:3], a.T, a + 1.0

    a = np.arange(4.0)
    view, transposed, fresh = window(a)
    exchanged = fr.asarray(fresh)
    (kernel,) = window.specialisations
    assert kernel.unload() is True
    a[1] = 9
    assert view.tolist() == [9, 2]
    assert transposed[1] == 9
    assert np.asarray(exchanged).tolist() == [1, 2, 3, 4]


def test_pickles_and_copies_travel_as_the_artifact(plain: Any) -> None:
    kernel = plain.load()
    before = pickle.dumps(kernel)
    assert kernel.unload() is True
    assert pickle.dumps(kernel) == before
    loaded = pickle.loads(before)
    assert loaded(np.ones(2)) == 1
    assert copy.copy(kernel)(np.ones(2)) == 2
    del loaded
    gc.collect()


def test_a_parallel_kernel_is_unloaded_between_its_runs_alone() -> None:
    source = """
    int32_t body(void* closure, int64_t lo, int64_t hi, int32_t) {
      for (int64_t i = lo; i < hi; ++i)
        if (auto called = (*static_cast<Callback<void(int64_t)>*>(closure))(i); !called) return called.status;
      return FR_OK;
    }
    void region(Callback<void(int64_t)> f, long n) { f.parallel_for(n, 1, body, &f); }
    """
    args = [
        fr.Arg("f", kind="callback", params=[fr.Arg("i", kind="scalar", dtype="int64")]),
        fr.Arg("n", kind="scalar", dtype="int64"),
    ]
    artifact, seen = fr.compile_source(AUTHOR + source, fr.Signature("region", args)), []

    def attempt(i: int) -> None:
        with pytest.raises(UserRuntimeError, match="while a call of it runs"):
            kernel.unload()
        seen.append(i)

    for _ in range(5):
        kernel = artifact.load()
        kernel(attempt, 40)
        assert sorted(seen) == list(range(40))
        seen.clear()
        assert kernel.unload() is True


# -- specialisations of a function


def test_a_function_forgets_a_specialisation_and_makes_it_again() -> None:
    @fr.program
    def added(a: Any, b: Any) -> Any:
        return a + b

    x = np.ones(3)
    added(x, x)
    added(x, 1.0)
    first, second = added.specialisations
    assert added.why_recompiled()[1] == "'b' is float, not an array (as in specialisation 0)"
    assert first.unload() is True
    assert added.specialisations == [second]
    assert added.why_recompiled() == ["the first one, for <f8[1]C, float"]
    assert "specialisation 0" in added.explain()
    assert added(x, 2.0).tolist() == [3, 3, 3]
    before = added.stats()
    np.testing.assert_array_equal(added(x, x), x + x)
    assert added.stats()["captures"] == before["captures"]  # from the record
    assert added.stats()["compiles"] == before["compiles"]
    assert added.specialisations[0] is second
    assert added.why_recompiled()[1] == "'b' is an array, not float (as in specialisation 0)"
    with pytest.raises(UserRuntimeError, match="'added' was unloaded"):
        first(x, x)
    assert [kernel.unload() for kernel in added.specialisations] == [True, True]
    np.testing.assert_array_equal(added(x, x), x + x)
    assert len(pickle.loads(pickle.dumps(added)).compile(x, x).key) == 64


def test_files_of_what_is_made_afterwards_are_placed(tmp_path: Any) -> None:
    @fr.program
    def placed(a: Any) -> Any:
        return a * 11.0

    with fr.config(build_folder=str(tmp_path), folder_mode="name"):
        for x in (np.ones(3), np.ones(3, np.float32)):
            placed(x)
        placed.specialisations[0].unload()
        placed(np.ones(3))
        kernels = placed.specialisations
        paths = [kernel.artifact.path for kernel in kernels]
        assert len({*paths}) == 2
        assert all(os.path.exists(path) for path in paths)
        assert [kernel.unload() for kernel in kernels] == [True, True]


def test_an_annotated_function_makes_it_again() -> None:
    @fr.program
    def doubled(a: fr.float64["N"]) -> Any:  # noqa: F821, UP037
        return a * 2.0

    for _ in range(3):
        assert doubled(np.ones(3)).tolist() == [2, 2, 2]
        (kernel,) = doubled.specialisations
        assert kernel.unload() is True
        assert doubled.specialisations == []
        assert doubled.compile().name == "doubled"
        assert len(doubled.specialisations) == 1
        with pytest.raises(TypeError, match="float32"):
            doubled(np.ones(3, np.float32))
        with pytest.raises(UserRuntimeError, match="was unloaded"):
            kernel(np.ones(3))
        doubled.specialisations[0].unload()


def test_a_specialisation_that_runs_is_refused() -> None:
    @fr.program
    def summed(a: Any) -> Any:
        return a + 1.0

    def attempt() -> None:
        for kernel in summed.specialisations:
            with pytest.raises(UserRuntimeError, match="while a call of it runs"):
                kernel.unload()
            seen.append(kernel)

    seen: list[Any] = []
    summed(np.ones(3))
    result = summed(Foreign(attempt))
    assert np.asarray(result).tolist() == [2, 2, 2]
    assert seen
    assert summed.specialisations[0].unload() is True


def test_a_function_that_is_gone_keeps_no_module() -> None:
    def make() -> Any:
        @fr.program
        def gone(a: Any) -> Any:
            return a - 5.0

        gone(np.ones(3))
        return gone

    function = make()
    (kernel,) = function.specialisations
    artifact = kernel.artifact
    ended = weakref.ref(function)
    del function
    gc.collect()
    assert ended() is None
    assert kernel(np.ones(3)).tolist() == [-4, -4, -4]
    assert kernel.unload() is True
    assert not is_mapped(artifact)


def test_a_call_of_a_specialisation_that_was_unloaded_begins_again(plain: Any) -> None:
    class Function(_rt.FunctionBase):
        def _miss(self, args: Any, kwargs: Any) -> Any:
            return "missed", args, kwargs

    function, kernels = Function(), [plain.load(), plain.load()]
    numbers = [function._add(kernel) for kernel in kernels]
    assert numbers == [0, 1]
    kernels[0].unload()
    x = np.ones(2)
    assert function._call(0, (x,), {}) == ("missed", (x,), {})
    assert function._matches(0, (x,), {}) is False
    assert function._matches(1, (x,), {}) is True
    assert function._call(1, (x,), {}) == 1
    assert function._add(plain.load()) == 2
    assert len(function._specialisations()) == 2
    kernels[1].unload()
    function._specialisations()[0].unload()
    assert function(x) == ("missed", (x,), {})


# -- threads and processes


def in_threads(count: int, body: Any) -> list[Any]:
    """What `body(number)` gave or raised in each of so many threads that run at once."""
    barrier, ends = threading.Barrier(count), [None] * count

    def run(number: int) -> None:
        barrier.wait()
        try:
            ends[number] = body(number)
        except BaseException as error:
            ends[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    return ends


def test_threads_that_load_and_unload_one_digest(plain: Any) -> None:
    def body(number: int) -> int:
        ended = 0
        for _ in range(100):
            kernel = plain.load()
            kernel.release_gil = bool(number % 2)
            assert kernel(np.ones(3)) >= 1
            ended += kernel.unload()
        return ended

    ends = in_threads(3, body)
    assert all(isinstance(ended, int) for ended in ends), ends
    assert sum(ends) > 0
    assert not is_mapped(plain)


@pytest.mark.parametrize("release", [True, False])
def test_unload_against_running_calls(waiting: Any, release: bool) -> None:
    """Each call is right or refused, and unload() gets through when none runs any more."""
    for _ in range(20):
        kernel = waiting.load()
        kernel.release_gil = release

        def body(number: int, kernel: Any = kernel) -> str:
            for _ in range(50) if number else itertools.count():
                try:
                    if number == 0:
                        kernel.unload()
                        return "unloaded"
                    assert kernel(0, NONE, NONE) is None
                except UserRuntimeError as error:
                    if "was unloaded" in str(error):
                        return "refused"
                    assert "while a call of it runs" in str(error), error
            return "over"

        ends = in_threads(3, body)
        assert ends[0] == "unloaded", ends
        assert set(ends[1:]) <= {"refused", "over"}, ends


def test_unload_against_calls_of_a_function() -> None:
    @fr.program
    def raced(a: Any) -> Any:
        return a + 7.0

    x = np.zeros(30_000)  # long enough to run without the interpreter's lock
    raced(x)
    before = raced.stats()["captures"]

    def body(number: int) -> int:
        done = 0
        for _ in range(200):
            if number:
                assert raced(x)[0] == 7.0
                done += 1
                continue
            for kernel in raced.specialisations:
                try:
                    done += kernel.unload()
                except UserRuntimeError as error:
                    assert "while a call of it runs" in str(error)
        return done

    ends = in_threads(3, body)
    assert ends[1:] == [200, 200], ends
    assert raced.stats()["captures"] == before
    assert len(raced.specialisations) <= 1


def test_a_fork_afterwards(plain: Any) -> None:
    kernel, other = plain.load(), plain.load()
    kernel.unload()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            with pytest.raises(UserRuntimeError, match="was unloaded"):
                kernel(np.ones(1))
            fine = other(np.ones(1)) == 1 and other.unload() and plain.load()(np.ones(1)) == 1
            status = 0 if fine else 2
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert other(np.ones(1)) == 1  # the parent's own
    assert other.unload() is True


def resident() -> int:
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:")) * 1024


def test_a_thousand_rounds_leave_nothing(counting: Any) -> None:
    def rounds(count: int) -> None:
        for _ in range(count):
            kernel = counting.load()
            memory = workspace(kernel)
            assert kernel(x) == 1
            assert kernel.unload() is True
            del memory

    def lines() -> int:
        with open("/proc/self/maps") as file:
            return sum(1 for _ in file)

    x = np.ones(3)
    rounds(100)
    gc.collect()
    before = lines(), len(os.listdir("/proc/self/fd")), resident()
    rounds(1000)
    gc.collect()
    assert lines() <= before[0] + 2  # the allocators' own
    assert len(os.listdir("/proc/self/fd")) == before[1]
    assert resident() < before[2] + (2 << 20)

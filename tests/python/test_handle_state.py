"""State, workspaces and the nested layout of arguments: what a handle does besides the plain call."""

from __future__ import annotations

import gc
import re
import sysconfig
import threading
import weakref

import numpy as np
import pytest

import ferrule as fr

COUNTER = """
#include <stdint.h>
#include <stdlib.h>
struct State { int64_t n, calls; double* kept; };
static int alive = 0;
State* open(int64_t n) {
  if (n == 13) return nullptr;
  State* s = (State*)malloc(sizeof(State));
  *s = {n, 0, (double*)calloc(n + 1, sizeof(double))};
  ++alive;
  return s;
}
int shut(State* s) {
  const int status = s->calls > 5 ? 3 : 0;
  free(s->kept);
  free(s);
  --alive;
  return status;
}
int64_t step(State* s, const double* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) s->kept[i] += x[i];
  return ++s->calls;
}
"""


def counter(**options):
    return fr.Signature(
        "step", [fr.Arg("x", shape="N")], returns=[fr.Return("calls", "int64", kind="scalar")], result="calls",
        parameters=["state", "x", "N"], init=fr.AuthorFunction("open", ["N"], "state"),
        exit=fr.AuthorFunction("shut", ["state"], "status"), persistent=["N"], statuses={3: "too many calls"}, **options,
    )  # fmt: skip


def test_the_first_call_initialises_and_each_handle_has_its_own_state():
    artifact = fr.compile_source(COUNTER, counter())
    one, two = artifact.load(), artifact.load()
    x = np.ones(4)
    assert [one(x), one(x), two(x)] == [1, 2, 1]
    assert one.finalize() is None
    assert one.finalize() is None
    assert one(x) == 1
    assert two(x) == 2


def test_persistent_sizes_are_compared():
    kernel = fr.compile_source(COUNTER, counter()).load()
    kernel.initialize(N=4)
    assert kernel(np.ones(4)) == 1
    for size in (3, 5, 1000):
        with pytest.raises(
            ValueError, match=f"N = {size}, but the handle was initialised with N = 4; call finalize"
        ):
            kernel(np.ones(size))
    with pytest.raises(ValueError, match="N = 7, but the handle was initialised with N = 4"):
        kernel.initialize(N=7)
    assert kernel(np.ones(4)) == 2
    kernel.finalize()
    assert kernel(np.ones(1000)) == 1


def test_initialize_takes_the_arguments_of_a_call():
    kernel = fr.compile_source(COUNTER, counter()).load()
    kernel.initialize(np.ones(4))
    with pytest.raises(ValueError, match="initialised with N = 4"):
        kernel(np.ones(5))
    kernel.finalize()
    with pytest.raises(TypeError, match="'N' is missing; give this size by name"):
        kernel.initialize()
    with pytest.raises(TypeError, match="float32"):
        kernel.initialize(np.ones(4, np.float32))
    with pytest.raises(TypeError, match="'M'"):
        kernel.initialize(M=3)


def test_init_and_exit_that_fail():
    kernel = fr.compile_source(COUNTER, counter()).load()
    with pytest.raises(RuntimeError, match="step"):
        kernel.initialize(N=13)
    assert kernel(np.ones(4)) == 1
    for _ in range(6):
        kernel(np.ones(4))
    with pytest.raises(RuntimeError, match="status 3: too many calls"):
        kernel.finalize()
    assert kernel(np.ones(4)) == 1


def test_finalize_waits_for_running_calls():
    text = """
    #include <unistd.h>
    static volatile long busy = 0;
    void* open() { return (void*)1; }
    int shut(void*) { return busy ? 9 : 0; }
    void slow(void*) { busy = 1; usleep(200000); busy = 0; }
    """
    signature = fr.Signature(
        "slow", parameters=["state"], init=fr.AuthorFunction("open", [], "state"),
        exit=fr.AuthorFunction("shut", ["state"], "status"),
    )  # fmt: skip
    kernel = fr.compile_source(text, signature).load()
    kernel.release_gil = True
    kernel.initialize()
    running = threading.Thread(target=kernel)
    running.start()
    while not running.is_alive():
        pass
    kernel.finalize()
    running.join()


def test_initialisation_happens_once_among_threads():
    text = """
    #include <atomic>
    #include <unistd.h>
    static std::atomic<long> made{0};
    void* open() { usleep(20000); ++made; return (void*)1; }
    long count(void*) { return made; }
    """
    signature = fr.Signature(
        "count", returns=[fr.Return("n", "int64", kind="scalar")], result="n", parameters=["state"],
        init=fr.AuthorFunction("open", [], "state"),
    )  # fmt: skip
    kernel = fr.compile_source(text, signature).load()
    kernel.release_gil = True
    seen = []
    threads = [threading.Thread(target=lambda: seen.append(kernel())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [1] * 8


SCRATCH = """
#include <stdint.h>
void reversed(const double* x, double* out, int64_t n, double* scratch) {
  for (int64_t i = 0; i < n; ++i) scratch[i] = x[i];
  for (int64_t i = 0; i < n; ++i) out[i] = scratch[n - 1 - i];
}
"""


def scratch(**options):
    return fr.Signature(
        "reversed", [fr.Arg("x", shape="N")], returns=[fr.Return("out", shape="N")],
        workspaces=[fr.Workspace("scratch", "8*N", **options)], parameters=["x", "out", "N", "scratch"],
    )  # fmt: skip


def aligned(count, past=0):
    memory = np.zeros(count + 64, np.uint8)
    start = -memory.ctypes.data % 64 + past
    return memory[start : start + count]


def test_workspaces():
    kernel = fr.compile_source(SCRATCH, scratch()).load()
    x = np.arange(10.0)
    assert kernel.workspace_sizes(x) == {"scratch": 80}
    assert kernel.workspace_sizes(N=1000) == {"scratch": 8000}
    with pytest.raises(RuntimeError, match="workspace 'scratch' of 80 bytes is missing"):
        kernel(x)
    memory = aligned(80)
    watched = weakref.ref(memory)
    kernel.set_workspace("scratch", memory)
    del memory
    gc.collect()
    assert watched() is not None
    np.testing.assert_array_equal(kernel(x), x[::-1])
    np.testing.assert_array_equal(kernel(x[:3].copy()), x[2::-1])
    with pytest.raises(ValueError, match="'scratch' has 80 bytes, but 8000 are needed"):
        kernel(np.zeros(1000))
    kernel.finalize()
    gc.collect()
    assert watched() is None
    with pytest.raises(RuntimeError, match="is missing"):
        kernel(x)


def test_names_beyond_ascii():
    signature = fr.Signature(
        "f",
        [fr.Arg("x", shape="größe")],
        workspaces=[fr.Workspace("speicher_ä", "8*größe")],
        init=fr.AuthorFunction("begin", ["größe"]),
        persistent=["größe"],
    )
    source = "void begin(long) {} void f(void*, const double*, long, void*) {}"
    kernel = fr.compile_source(source, signature).load()
    assert kernel.workspace_sizes(größe=3) == {"speicher_ä": 24}
    kernel.initialize(größe=3)
    kernel.set_workspace("speicher_ä", aligned(24))
    kernel(np.zeros(3))


def test_the_end_of_a_workspace_may_use_the_handle():
    class Scratch(np.ndarray):
        def __del__(self):
            if self.base is not None and not isinstance(self.base, Scratch):
                ends.append(kernel.finalize())

    kernel, ends = fr.compile_source(SCRATCH, scratch()).load(), []
    for _ in range(2):
        kernel.set_workspace("scratch", aligned(80).view(Scratch))
        kernel.finalize()
    assert ends == [None, None]


def test_workspaces_that_do_not_fit():
    kernel = fr.compile_source(SCRATCH, scratch()).load()
    with pytest.raises(ValueError, match="there is no workspace 'other'; there is 'scratch'"):
        kernel.set_workspace("other", aligned(8))
    with pytest.raises((BufferError, ValueError)):
        kernel.set_workspace("scratch", b"read-only")
    with pytest.raises((BufferError, ValueError)):
        kernel.set_workspace("scratch", np.zeros(64, np.uint8)[::2])
    with pytest.raises(TypeError):
        kernel.set_workspace("scratch", 3)
    kernel.set_workspace("scratch", aligned(80, past=8))
    with pytest.raises(ValueError, match="begins 8 bytes past a multiple of 64"):
        kernel(np.zeros(10))
    kernel.set_workspace("scratch", aligned(80))
    kernel(np.zeros(10))
    kernel.set_workspace("scratch", None)
    with pytest.raises(RuntimeError, match="is missing"):
        kernel(np.zeros(10))
    with pytest.raises(TypeError, match="'N' is missing; give this size by name"):
        kernel.workspace_sizes()
    with pytest.raises(OverflowError, match="does not fit into 64 bits"):
        kernel.workspace_sizes(N=2**62)


def test_two_calls_never_share_a_workspace():
    text = """
    #include <stdint.h>
    void hold(volatile int64_t* gate, char* scratch) {
      gate[0] = 1;
      while (!gate[1]) {}
    }
    """
    signature = fr.Signature(
        "hold", [fr.Arg("gate", dtype="int64", shape=2, intent="inout")],
        workspaces=[fr.Workspace("scratch", "1")], parameters=["gate", "scratch"],
    )  # fmt: skip
    kernel = fr.compile_source(text, signature).load()
    kernel.release_gil = True
    kernel.set_workspace("scratch", aligned(8))
    gate = np.zeros(2, np.int64)
    running = threading.Thread(target=kernel, args=(gate,))
    running.start()
    while not gate[0]:
        pass
    message = "hold(): another call is using the workspaces of this handle; load one handle a thread."
    with pytest.raises(RuntimeError, match=re.escape(message)):
        kernel(np.ones(2, np.int64))
    gate[1] = 1
    running.join()
    assert kernel(np.ones(2, np.int64)) is None


ORIGINS = """
#include <stdint.h>
void shift(double* field, int64_t o0, int64_t o1, double s, const double* a, double b, int64_t n) {
  field[o0 * n + o1] = s * a[0] + b;
}
"""


def nested():
    args = [
        fr.Arg("field", shape=("M", "N"), intent="inout"),
        *(fr.Arg(name, kind="scalar", dtype="int64") for name in ("o0", "o1")),
        fr.Arg("s", kind="scalar"),
        fr.Arg("a", shape="K"),
        fr.Arg("b", kind="scalar", default=0.5),
    ]
    return fr.Signature(
        "shift", args, user_args=(("field", ("o0", "o1")), "s", ("a", ""), ""),
        parameters=["field", "o0", "o1", "s", "a", "b", "N"],
    )  # fmt: skip


def test_user_call():
    kernel = fr.compile_source(ORIGINS, nested()).load()
    field, a = np.zeros((3, 4)), np.full(2, 3.0)
    assert kernel.user_call((field, (1, 2)), 2.0, (a, object()), None) is None
    expected = np.zeros((3, 4))
    expected[1, 2] = 6.5
    np.testing.assert_array_equal(field, expected)


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (lambda f, a: ((f, (1, 2)), 2.0, (a, 0)), "user_call has 3 values, but 4 are expected"),
        (lambda f, a: ((f, (1, 2)), 2.0, (a, 0), None, 1), "user_call has 5 values, but 4 are expected"),
        (lambda f, a: ((f, (1, 2, 3)), 2.0, (a, 0), None), r"arg 0\[1\] has 3 values, but 2 are expected"),
        (lambda f, a: ((f,), 2.0, (a, 0), None), "arg 0 has 1 value, but 2 are expected"),
        (lambda f, a: ((f, [1, 2]), 2.0, (a, 0), None), r"arg 0\[1\] is a list, but a tuple is expected"),
        (lambda f, a: ((f, (1, 2)), 2.0, a, None), "arg 2 is an ndarray, but a tuple is expected"),
        (lambda f, a: ((f, (1, 2.5)), 2.0, (a, 0), None), "'o1'"),
    ],
)
def test_user_call_that_does_not_fit(args, text):
    kernel = fr.compile_source(ORIGINS, nested()).load()
    field, a = np.zeros((3, 4)), np.ones(2)
    with pytest.raises(TypeError, match=text):
        kernel.user_call(*args(field, a))
    np.testing.assert_array_equal(field, 0)


def test_user_call_without_a_layout():
    kernel = fr.compile_source(SCRATCH, scratch()).load()
    with pytest.raises(TypeError, match="has no user_args"):
        kernel.user_call(np.ones(3))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"user_args": ("x",)}, "the argument 'y' is missing from user_args"),
        ({"user_args": ("x", ("y", "x"))}, "user_args has 'x' twice"),
        ({"user_args": ("x", "y", "N")}, "the symbol 'N', which is no argument; put it into arg_names"),
        ({"user_args": ("x", "y", 3)}, "'user_args' holds 3"),
        ({"persistent": ["N"]}, "there is no init"),
        ({"parameters": ["state", "x", "y"]}, "takes 'state'"),
        (
            {"init": fr.AuthorFunction("i", ["x"], "state")},
            "'i' takes 'x', which is neither 'state' nor a persistent",
        ),
        ({"init": fr.AuthorFunction("i", [], "value")}, "it can be 'none' or 'status' or 'state'"),
        ({"workspaces": [fr.Workspace("w", "8*Q")]}, "nothing tells the symbol 'Q'"),
        ({"workspaces": [fr.Workspace("x", "8")]}, "'x' is the name of an argument and of another workspace"),
        ({"workspaces": [fr.Workspace("w", "8", 3)]}, "alignment 3; it is a power of two"),
        ({"statuses": {0: "fine"}}, "statuses has 0, which is success"),
        ({"arg_names": ["x", ["y"]]}, "it is a flat list of names"),
    ],
)
def test_signatures_that_contradict_themselves(options, text):
    with pytest.raises(fr.UserError, match=text):
        fr.Signature("f", [fr.Arg("x", shape="N"), fr.Arg("y", shape="N")], **options)


@pytest.mark.parametrize("release_gil", [True, False, "auto"])
def test_the_signature_says_who_runs_meanwhile(release_gil):
    text = """
    #include <Python.h>
    long held() { return PyGILState_Check(); }
    """
    signature = fr.Signature(
        "held", returns=[fr.Return("r", "int64", kind="scalar")], result="r", release_gil=release_gil
    )
    assert fr.Signature.from_json(signature.to_json()) == signature
    flags = [f"-I{sysconfig.get_path('include')}"]
    kernel = fr.compile_source(text, signature, flags=flags).load()
    assert kernel.release_gil == release_gil
    assert kernel() == (not release_gil or release_gil == "auto")
    kernel.release_gil = True
    assert kernel() == 0


def test_a_wrong_release_gil():
    with pytest.raises(TypeError, match=r"'release_gil' is 'always'; it is 'auto', True or False\."):
        fr.Signature("f", release_gil="always")


GATE = """
#include <stdint.h>
int64_t met(volatile int64_t* gate, const double* x, int64_t patience, int64_t n) {
  gate[0] = 1;
  for (int64_t k = 0; k < patience; ++k)
    if (gate[1]) return 1;
  return 0;
}"""


@pytest.fixture(scope="module")
def gated():
    args = [fr.Arg("gate", dtype="int64", shape=2, intent="inout"), fr.Arg("x", shape="N"),
            fr.Arg("patience", kind="scalar", dtype="int64")]  # fmt: skip
    signature = fr.Signature("met", args, returns=[fr.Return("r", "int64", kind="scalar")], result="r")
    return fr.compile_source(GATE, signature).load()


@pytest.mark.parametrize(
    ("mode", "elements", "meets"),
    [
        ("auto", 30_000, 1),
        ("auto", 100, 0),
        (True, 0, 1),
        (True, 30_000, 1),
        (False, 100, 0),
        (False, 30_000, 0),
    ],
)
def test_who_runs_during_a_call(gated, mode, elements, meets):
    """Another thread answers within the call, or cannot."""
    gated.release_gil = mode
    gate, x = np.zeros(2, np.int64), np.zeros(elements)

    def answers():
        while not gate[0]:
            pass
        gate[1] = 1

    other = threading.Thread(target=answers)
    other.start()
    assert gated(gate, x, 10**11 if meets else 10**7) == meets
    other.join()

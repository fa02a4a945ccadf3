"""The memory of workspaces, sizes given to the methods of a handle, and sizes that keep their value between calls."""

from __future__ import annotations

import array
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from exporters import Exporter, WithInterface
from rows import (
    BUFFER,
    OVERFLOW,
    RUNTIME,
    TYPE,
    VALUE,
    Index,
    Row,
    error_of,
    read_only,
    released,
    snapshot,
    table,
)

import ferrule as fr

EXPECTED = "but an integer of type int64 is expected"
STATE = """
#include <stdint.h>
#include <stdlib.h>
static int64_t made = 0;
int64_t* open(int64_t n) { ++made; return (int64_t*)calloc(1, 8); }
void shut(int64_t* calls) { free(calls); }
int64_t step(int64_t* calls, const double* x, uint8_t* some, double* grid, int64_t n, int64_t m) {
  for (int64_t i = 0; i < 2 * n; ++i) some[i] = 1;
  for (int64_t i = 0; i < n * m; ++i) grid[i] = 1;
  return 1000 * made + ++*calls;
}"""


@pytest.fixture(scope="module")
def artifact() -> Any:
    signature = fr.Signature(
        "step", [fr.Arg("x", shape=("N", "M"))], returns=[fr.Return("calls", "int64", kind="scalar")], result="calls",
        parameters=["state", "x", "some", "grid", "N", "M"], persistent=["N"],
        init=fr.AuthorFunction("open", ["N"], "state"), exit=fr.AuthorFunction("shut", ["state"]),
        workspaces=[fr.Workspace("some", "2*N", alignment=1), fr.Workspace("grid", "8*N*M", alignment=64)],
    )  # fmt: skip
    return fr.compile_source(STATE, signature)


def aligned(bytes_: int, past: int = 0) -> Any:
    block = np.zeros(bytes_ + 128, "u1")
    start = -block.ctypes.data % 64 + past
    return block[start : start + bytes_]


@pytest.fixture
def handle(artifact: Any) -> Any:
    """With memory for N = 2, M = 3, not yet initialised."""
    loaded = artifact.load()
    loaded.set_workspace("some", np.zeros(4, "u1"))
    loaded.set_workspace("grid", aligned(48))
    return loaded


BUFFERED = "but a writable buffer is expected; pass a numpy.ndarray or a bytearray."
NO_BUFFER = {"int": (lambda: 3, "an int"), "str": (lambda: "text", "a str"), "list": (lambda: [1], "a list"),
             "object": (object, "an object"), "exporter": (lambda: Exporter(np.zeros(9)), "an Exporter"),
             "interface": (lambda: WithInterface(np.zeros(9)), "a WithInterface")}  # fmt: skip
FROZEN = "is read-only, but the program writes to it; pass writable memory."
PIECES = "is not contiguous; pass memory in one piece."
OF_OBJECTS = "holds Python objects, which the program would overwrite; pass memory of numbers."
WORKSPACES = [
    *[Row("some", what, make, TYPE, f"'some' is {kind}, {BUFFERED}") for what, (make, kind) in NO_BUFFER.items()],
    Row("some", "bytes", lambda: bytes(64), VALUE, f"'some' {FROZEN}"),
    Row("some", "numpy_scalar", lambda: np.float64(1), VALUE, f"'some' {FROZEN}"),
    Row("some", "read_only", lambda: read_only(np.zeros(8)), VALUE, f"'some' {FROZEN}"),
    Row("some", "read_only_memoryview", lambda: memoryview(bytes(64)), VALUE, f"'some' {FROZEN}"),
    Row("some", "read_only_ferrule_array", lambda: fr.asarray(read_only(np.zeros(8))), VALUE, f"'some' {FROZEN}"),
    Row("some", "step", lambda: np.zeros(16)[::2], VALUE, f"'some' {PIECES}"),
    Row("some", "memoryview_with_a_step", lambda: memoryview(bytearray(64))[::2], VALUE, f"'some' {PIECES}"),
    Row("some", "reversed", lambda: np.zeros(8)[::-1], VALUE, f"'some' {PIECES}"),
    Row("some", "objects", lambda: np.zeros(8, object), TYPE, f"'some' {OF_OBJECTS}"),
    Row("some", "objects_in_structs", lambda: np.zeros(8, [("x", "f8"), ("o", "O")]), TYPE, f"'some' {OF_OBJECTS}"),
    Row("some", "memoryview_of_objects", lambda: memoryview(np.zeros(8, object)), TYPE, f"'some' {OF_OBJECTS}"),
    Row("some", "released_memoryview", released, BUFFER,
        "'some' cannot be read through the buffer protocol: operation forbidden on released memoryview object."),
]  # fmt: skip


@table(WORKSPACES)
def test_workspace_is_refused(handle: Any, row: Row) -> None:
    """What was given before stays in use."""
    given = {"buffer": row.make()}
    before = snapshot(given)
    assert error_of(lambda: handle.set_workspace("some", given["buffer"])) == (
        row.error,
        f"step(): {row.text}",
    )
    assert snapshot(given) == before
    if isinstance(given["buffer"], memoryview):
        given["buffer"].release()
    first = handle(np.ones((2, 3)))
    assert handle(np.ones((2, 3))) == first + 1


SOME = {
    "bytearray": lambda: bytearray(4),
    "array_array": lambda: array.array("d", [0.0]),
    "memoryview": lambda: memoryview(bytearray(8)),
    "float64": lambda: np.zeros(1),
    "bfloat16": lambda: np.zeros(2, pytest.importorskip("ml_dtypes").bfloat16),
    "F_order": lambda: np.zeros((2, 2), order="F"),
    "misaligned": lambda: aligned(4, past=1),
    "field_named_O": lambda: np.zeros(1, [("O", "f8")]),
    "memoryview_of_a_field_named_O": lambda: memoryview(np.zeros(1, [("O", "f8")])),
    "ferrule_array": lambda: fr.asarray(np.zeros(1)),
}


@pytest.mark.parametrize("what", SOME)
def test_workspace_is_taken_and_given_back(handle: Any, what: str) -> None:
    given = SOME[what]()
    handle.set_workspace("some", given)
    handle(np.ones((2, 3)))
    assert np.asarray(given).ravel("K").view("u1")[:4].tobytes() == b"\1\1\1\1"
    if isinstance(given, bytearray):
        with pytest.raises(BufferError):
            given.append(1)
    handle.set_workspace("some", None)
    if isinstance(given, bytearray):
        given.append(1)


@pytest.mark.parametrize(
    ("name", "error", "sentence"),
    [
        ("other", VALUE, "there is no workspace 'other'; there is 'some', 'grid'."),
        ("", VALUE, "there is no workspace ''; there is 'some', 'grid'."),
        (3, TYPE, "there is no workspace 3; there is 'some', 'grid'."),
        (b"some", TYPE, "there is no workspace b'some'; there is 'some', 'grid'."),
        (None, TYPE, "there is no workspace None; there is 'some', 'grid'."),
    ],
)
def test_workspaces_of_other_names(handle: Any, name: Any, error: Any, sentence: str) -> None:
    assert error_of(lambda: handle.set_workspace(name, np.zeros(9))) == (error, f"step(): {sentence}")


def test_functions_without_workspaces() -> None:
    plain = fr.compile_source("void plain() {}", fr.Signature("plain")).load()
    text = "plain(): there is no workspace 'some'; this function has none."
    assert error_of(lambda: plain.set_workspace("some", np.zeros(9))) == (VALUE, text)


@pytest.mark.parametrize(
    ("name", "make", "error", "sentence"),
    [
        ("some", lambda: None, RUNTIME, "the workspace 'some' of 4 bytes is missing; give it by set_workspace()."),
        ("some", lambda: np.zeros(0), VALUE,
         "the workspace 'some' has 0 bytes, but 4 are needed; give a larger one by set_workspace()."),
        ("some", lambda: np.zeros(3, "u1"), VALUE,
         "the workspace 'some' has 3 bytes, but 4 are needed; give a larger one by set_workspace()."),
        ("grid", lambda: None, RUNTIME, "the workspace 'grid' of 48 bytes is missing; give it by set_workspace()."),
        ("grid", lambda: aligned(47), VALUE,
         "the workspace 'grid' has 47 bytes, but 48 are needed; give a larger one by set_workspace()."),
        ("grid", lambda: aligned(48, past=8), VALUE, "the workspace 'grid' begins 8 bytes past a multiple of 64; give aligned memory."),
    ],
)  # fmt: skip
def test_workspace_that_a_call_refuses(handle: Any, name: str, make: Any, error: Any, sentence: str) -> None:
    handle.set_workspace(name, make())
    x = np.ones((2, 3))
    assert error_of(lambda: handle(x)) == (error, f"step(): {sentence}")
    assert x.tolist() == [[1, 1, 1]] * 2
    handle.set_workspace("some", np.zeros(4, "u1"))
    handle.set_workspace("grid", aligned(48))
    assert handle(x) % 1000 == 1


Wrong = tuple[str, dict[str, Any], Any, str]
WRONG_SIZES: list[Wrong] = [
    ("float", {"N": 2.0}, TYPE, f"'N' is a float, {EXPECTED}; pass int(N)."),
    ("bool", {"N": True}, TYPE, f"'N' is a bool, {EXPECTED}; pass int(N)."),
    ("None", {"N": None}, TYPE, f"'N' is None, {EXPECTED}."),
    ("str", {"N": "2"}, TYPE, f"'N' is a str, {EXPECTED}."),
    ("array", {"N": np.array([2])}, TYPE, f"'N' is an ndarray of dtype int64 and shape (1,), {EXPECTED}; pass N.item()."),
    ("far_above", {"N": 2**70}, OVERFLOW, "'N' = 1180591620717411303424 is out of range for int64."),
    ("index_raises", {"N": Index(KeyError)}, TYPE, "'N' cannot be read as an integer of type int64: 'no integer'."),
    ("negative", {"N": -1}, VALUE, "'N' is -1, but it must not be negative."),
    ("unknown", {"Q": 2}, TYPE, "there is no argument 'Q'; the signature is step(x: float64[N, M]) -> int64."),
    ("missing", {}, TYPE, "'N' is missing; give this size by name, or give the arguments of a call."),
    ("an_argument_of_another_dtype", {"x": np.ones((2, 3), "f4")}, TYPE,
     "'x' has dtype float32, but float64 is expected; pass x.astype('float64')."),
]  # fmt: skip


@pytest.mark.parametrize("method", ["initialize", "workspace_sizes"])
@pytest.mark.parametrize(
    ("sizes", "error", "sentence"), [pytest.param(*row[1:], id=row[0]) for row in WRONG_SIZES]
)
def test_methods_that_take_sizes(handle: Any, method: str, sizes: Any, error: Any, sentence: str) -> None:
    """A refused initialize() leaves the handle as it was: not initialised."""
    others = {} if "x" in sizes or "Q" in sizes else {"M": 3}
    before = snapshot(sizes)
    assert error_of(lambda: getattr(handle, method)(**sizes, **others)) == (error, f"step(): {sentence}")
    assert snapshot(sizes) == before
    assert handle(np.ones((2, 3))) % 1000 == 1


def test_sizes_of_numpy_are_taken(handle: Any) -> None:
    assert handle.workspace_sizes(N=np.int64(2), M=np.array(3)) == {"some": 4, "grid": 48}
    handle.initialize(N=np.uint8(2))
    assert handle(np.ones((2, 3))) % 1000 == 1


def test_workspaces_beyond_64_bits(handle: Any) -> None:
    text = "step(): the size of the workspace 'some' does not fit into 64 bits."
    assert error_of(lambda: handle.workspace_sizes(N=2**62, M=3)) == (OVERFLOW, text)


PERSISTENT: list[tuple[str, Callable[[Any], Any]]] = [
    ("call", lambda handle: handle(np.ones((3, 3)))),
    ("initialize", lambda handle: handle.initialize(N=3)),
    ("initialize_by_arguments", lambda handle: handle.initialize(np.ones((3, 3)))),
]


@pytest.mark.parametrize("call", [pytest.param(call, id=what) for what, call in PERSISTENT])
def test_persistent_sizes_keep_their_value(handle: Any, call: Any) -> None:
    def give_memory() -> None:
        handle.set_workspace("some", np.zeros(99, "u1"))
        handle.set_workspace("grid", aligned(999))

    give_memory()
    first = handle(np.ones((2, 3)))
    text = "step(): N = 3, but the handle was initialised with N = 2; call finalize() first."
    assert error_of(lambda: call(handle)) == (VALUE, text)
    assert handle(np.ones((2, 5))) == first + 1
    handle.finalize()
    give_memory()
    assert handle(np.ones((3, 3))) == first + 1000

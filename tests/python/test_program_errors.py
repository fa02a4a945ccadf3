"""Errors that native code keeps a record of: taken once after each call, and never charged to another program."""

from __future__ import annotations

import re

import numpy as np
import pytest

import ferrule as fr

# Two programs may record errors of the same kind; each has its own record.
RECORDS = """
#include <stdio.h>
static thread_local char text[64];
static thread_local bool recorded = false;
void record(long n) {
  if (n < 0) {
    snprintf(text, sizeof text, "n is %ld", n);
    recorded = true;
  }
}
const char* take() {
  if (!recorded) return nullptr;
  recorded = false;
  return text;
}
"""


def recorder(name: str, **options: object) -> fr.Kernel:
    signature = fr.Signature(
        name, [fr.Arg("n", kind="scalar", dtype="int64")], run="record",
        error=fr.AuthorFunction("take", [], "text"), **options,
    )  # fmt: skip
    return fr.compile_source(RECORDS, signature).load()


def test_a_recorded_error_is_raised_once():
    kernel = recorder("first")
    assert kernel(1) is None
    with pytest.raises(
        fr.UserError, match=re.escape("first(): the program recorded an error: n is -5.")
    ) as failed:
        kernel(-5)
    assert isinstance(failed.value, RuntimeError)
    assert kernel(1) is None


def test_another_programs_error_is_not_charged():
    one, other = recorder("one"), recorder("other")
    one.error_check = False
    assert one(-1) is None
    assert other(1) is None
    one.error_check = True
    with pytest.raises(RuntimeError, match=r"one.*n is -1"):
        one(1)  # it was left in the record
    assert one(1) is None


def test_checks_are_off_by_signature_and_on_by_handle():
    kernel = recorder("unchecked", error_check=False)
    assert kernel.error_check is False
    assert kernel(-1) is None
    kernel.error_check = True
    with pytest.raises(RuntimeError, match="n is -1"):
        kernel(2)


def test_a_status_is_unchecked_by_signature():
    signature = fr.Signature(
        "fails", [fr.Arg("n", kind="scalar", dtype="int64")], result="status", error_check=False
    )
    kernel = fr.compile_source("int fails(long n) { return n; }", signature).load()
    assert kernel(3) is None
    kernel.error_check = True
    with pytest.raises(RuntimeError, match="status 3"):
        kernel(3)


def test_a_status_gets_its_text_from_the_program():
    source = """
    int check(long n) { return (int)n; }
    const char* text_of(int status) {
      return status == 3 ? "the third.\\n" : status == -4 ? "" : nullptr;
    }
    """
    signature = fr.Signature(
        "check", [fr.Arg("n", kind="scalar", dtype="int64")], result="status",
        error=fr.AuthorFunction("text_of", ["status"], "text"), statuses={3: "of the table", 5: "the fifth"},
    )  # fmt: skip
    kernel = fr.compile_source(source, signature).load()
    assert kernel(0) is None
    for status, tail in (
        (3, "3: the third"),
        (-4, "-4"),
        (5, "5: the fifth"),
        (6, "6"),
        (2**31 - 17, "2147483631"),
    ):
        with pytest.raises(RuntimeError) as failed:
            kernel(status)
        assert str(failed.value) == f"check(): the program returned status {tail}."


STATE = """
#include <stdlib.h>
struct Machine { int error; long calls; };
Machine* start() { return (Machine*)calloc(1, sizeof(Machine)); }
void step(Machine* m, double* x, long n) {
  ++m->calls;
  for (long i = 0; i < n; ++i) {
    if (x[i] < 0) { m->error = 7; return; }
    x[i] += 1;
  }
}
int last(Machine* m) { int e = m->error; m->error = 0; return e; }
void stop(Machine* m) { free(m); }
"""


def test_a_record_in_the_state_belongs_to_its_handle():
    signature = fr.Signature(
        "step", [fr.Arg("x", shape="N", intent="inout")], init=fr.AuthorFunction("start", [], "state"),
        exit=fr.AuthorFunction("stop", ["state"]), error=fr.AuthorFunction("last", ["state"], "status"),
        statuses={7: "a negative value"},
    )  # fmt: skip
    artifact = fr.compile_source(STATE, signature)
    one, other = artifact.load(), artifact.load()
    with pytest.raises(
        RuntimeError, match=re.escape("step(): the program returned status 7: a negative value.")
    ):
        one(np.array([-1.0]))
    for kernel in (one, other):
        x = np.zeros(3)
        kernel(x)
        assert x.tolist() == [1, 1, 1]
        kernel.finalize()


ENDS = """
static int* state = nullptr;
static int begin_status = 0, end_status = 0;
void set(long begin, long end) { begin_status = (int)begin; end_status = (int)end; }
int begin() { return begin_status; }
int end() { return end_status; }
const char* why(int status) { return status == 4 ? "no device" : nullptr; }
"""


def test_errors_of_both_ends_name_them():
    signature = fr.Signature(
        "set", [fr.Arg(name, kind="scalar", dtype="int64") for name in ("begin", "end")],
        init=fr.AuthorFunction("begin", [], "status"), exit=fr.AuthorFunction("end", [], "status"),
        error=fr.AuthorFunction("why", ["status"], "text"), error_check=False, parameters=["begin", "end"],
    )  # fmt: skip
    kernel = fr.compile_source(ENDS, signature).load()
    kernel(0, 5)
    with pytest.raises(RuntimeError, match=re.escape("set(): 'exit' returned status 5.")):
        kernel.finalize()
    kernel(4, 0)
    kernel.finalize()
    for start in (kernel.initialize, lambda: kernel(0, 0)):
        with pytest.raises(RuntimeError) as failed:
            start()
        assert str(failed.value) == "set(): 'init' returned status 4: no device."


def test_no_state_is_named():
    signature = fr.Signature("f", parameters=["state"], init=fr.AuthorFunction("open", [], "state"))
    kernel = fr.compile_source("void* open() { return nullptr; }\nvoid f(void*) {}", signature).load()
    for start in (kernel.initialize, kernel):
        with pytest.raises(RuntimeError) as failed:
            start()
        assert str(failed.value) == "f(): 'init' gave no state, but a null pointer."


@pytest.mark.parametrize(
    "text, shown", [("\\xff\\xfe", "\ufffd\ufffd"), ("\\xc3\\xa4", "ä"), ("two\\nlines\\n", "two\nlines")]
)
def test_any_bytes_are_a_text(text, shown):
    source = f'void f() {{}}\nconst char* take() {{ return "{text}"; }}'
    signature = fr.Signature("f", error=fr.AuthorFunction("take", [], "text"))
    with pytest.raises(RuntimeError) as failed:
        fr.compile_source(source, signature).load()()
    assert str(failed.value) == f"f(): the program recorded an error: {shown}."


@pytest.mark.parametrize("kind", ["long", "unsigned", "double", "const char*"])
def test_a_status_that_is_no_int_does_not_compile(kind):
    signature = fr.Signature("f", result="status")
    with pytest.raises(fr.BuildError, match="a status is an int"):
        fr.compile_source(f"{kind} f() {{ return 0; }}", signature)


@pytest.mark.parametrize("kind", ["unsigned char", "enum class Status : short"])
def test_narrow_statuses_and_enumerations_are_ints(kind):
    declared, name = (f"{kind} {{}};\n", "Status") if "enum" in kind else ("", kind)
    source = f"{declared}{name} f() {{ return ({name})7; }}"
    with pytest.raises(RuntimeError, match="status 7"):
        fr.compile_source(source, fr.Signature("f", result="status")).load()()


@pytest.mark.parametrize(
    "error, message",
    [
        (("take", ["n"], "text"), "'take' takes 'n', which is neither 'state' nor 'status'."),
        (("take", ["state"], "text"), "'take' takes 'state', but there is no init."),
        (("take", [], "none"), "the result of 'take' is 'none'; it can be 'text' or 'status'."),
        (("ta ke", [], "text"), "'ta ke' is no name of a C function."),
    ],
)  # fmt: skip
def test_wrong_records_are_refused_when_made(error, message):
    with pytest.raises(fr.UserError) as failed:
        fr.Signature("f", [fr.Arg("n", kind="scalar")], error=fr.AuthorFunction(*error))
    assert str(failed.value) == f"The signature of 'f': {message}"


def test_the_record_is_part_of_the_signature():
    one = fr.Signature("f", error=fr.AuthorFunction("take", [], "text"), error_check=False)
    assert fr.Signature.from_json(one.to_json()) == one
    assert fr.Signature("f", error=fr.AuthorFunction("take", [], "text")) != one
    assert fr.Signature("f") != fr.Signature("f", error_check=False)


THROWS = """
#include <new>
#include <stdexcept>
static void fail(long how) {
  if (how == 1) throw std::runtime_error("boom");
  if (how == 2) throw 42;
  if (how == 3) throw std::bad_alloc();
}
void quick(double* y, long how) { fail(how); y[0] += 1; }
double gives(double* y, long how) { fail(how); return y[0] += 1; }
void* begin(long how) { fail(how); return new long(1); }
void stop(void*) { fail(1); }
double with_state(void*, double* y, long how) { return gives(y, how); }
"""
BOOM = "the native function threw an exception: boom."
THROWN = [
    (1, RuntimeError, BOOM), (2, RuntimeError, "the native function threw what is no std::exception."),
    (3, MemoryError, None),
]  # fmt: skip


@pytest.mark.parametrize("release_gil", ["auto", True])
@pytest.mark.parametrize("name", ["quick", "gives", "with_state"])
@pytest.mark.parametrize(("how", "error", "text"), THROWN)
def test_an_exception_of_the_author_is_an_error(name, how, error, text, release_gil):
    args = [fr.Arg("y", shape=1, intent="inout"), fr.Arg("how", kind="scalar", dtype="int64")]
    options = {}
    if name != "quick":
        options = {"returns": [fr.Return("r", kind="scalar")], "result": "r"}
    if name == "with_state":
        options |= {"init": fr.AuthorFunction("start", [], "state"), "parameters": ["state", "y", "how"]}
    source = THROWS + "void* start() { return begin(0); }"
    kernel = fr.compile_source(source, fr.Signature(name, args, **options)).load()
    kernel.release_gil = release_gil
    y = np.zeros(1)
    for _ in range(2):
        with pytest.raises(error) as failed:
            kernel(y, how)
        assert text is None or str(failed.value) == f"{name}(): {text}"
    kernel(y, 0)
    assert y[0] == 1


def test_exceptions_of_both_ends_are_errors():
    signature = fr.Signature(
        "with_state", [fr.Arg("y", shape="N", intent="inout"), fr.Arg("how", kind="scalar", dtype="int64")],
        returns=[fr.Return("r", kind="scalar")], result="r", parameters=["state", "y", "how"],
        init=fr.AuthorFunction("begin", ["N"], "state"), exit=fr.AuthorFunction("stop", ["state"]), persistent=["N"],
    )  # fmt: skip
    kernel = fr.compile_source(THROWS, signature).load()
    with pytest.raises(RuntimeError, match="boom"):
        kernel(np.zeros(1), 0)
    assert kernel(np.zeros(5), 0) == 1
    with pytest.raises(RuntimeError, match="boom"):
        kernel.finalize()
    assert kernel(np.zeros(6), 0) == 1

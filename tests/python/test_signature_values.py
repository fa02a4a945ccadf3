"""Signatures take what Python calls an int, a name or a dtype, and refuse everything else when they are made."""

from __future__ import annotations

import copy
import dataclasses
import enum
import json
import pickle

import numpy as np
import pytest

import ferrule as fr

X = fr.Arg("x", shape="N")


class Level(enum.IntEnum):
    HIGH = 3


class Odd(int):
    def __repr__(self):
        return "odd"


class Name(str):
    def __repr__(self):
        return "a name"


def default_of(kind, dtype, default):
    made = fr.Signature("f", [fr.Arg("a", kind=kind, dtype=dtype, default=default)])
    return json.loads(made.to_json())["args"][0]["default"]


@pytest.mark.parametrize(
    ("dtype", "default", "text"),
    [
        ("int64", Level.HIGH, "3"),
        ("int64", Odd(5), "5"),
        ("int64", np.int32(7), "7"),
        ("float64", np.float64(2.5), "2.5"),
        ("float64", np.float64("inf"), "1e999"),
        ("float32", np.float32(0.5), "0.5"),
        ("complex128", np.complex128(1 + 2j), "(1+2j)"),
        ("bool", np.True_, "True"),
    ],
)
def test_defaults_are_plain_values(dtype, default, text):
    assert default_of("scalar", dtype, default) == text


def test_defaults_of_derived_texts():
    assert default_of("string", "float64", Name("x")) == "'x'"


def test_a_default_beyond_all_floats():
    with pytest.raises(ValueError, match=r"^'a' has a default of 401 digits, which float64 does not hold\.$"):
        default_of("scalar", "float64", 10**400)


@pytest.mark.parametrize("kind", [np.float32, np.dtype("float32"), fr.float32, "f4"])
def test_dtypes_in_every_spelling(kind):
    assert fr.Signature("f", [fr.Arg("x", dtype=kind)]) == fr.Signature("f", [fr.Arg("x", dtype="float32")])


@pytest.mark.parametrize("dtype", ["longdouble", "clongdouble", "U3", "S3", "M8[s]", "V3", str, bytes])
@pytest.mark.parametrize("kind", ["array", "scalar", "pointers"])
def test_dtypes_that_are_no_element_types(kind, dtype):
    with pytest.raises(TypeError, match=r"^'x' has the dtype .*, which is no element type; give"):
        fr.Signature("f", [fr.Arg("x", kind=kind, dtype=dtype)])


@pytest.mark.parametrize("size", [None, 1.5, b"N", {"N"}, {"N": 1}, object(), True, np.True_])
def test_sizes_that_are_none(size):
    for part in (
        lambda: fr.Signature("f", [fr.Arg("x", shape=size)]),
        lambda: fr.Signature("f", [X], returns=[fr.Return("r", shape=size)]),
        lambda: fr.Signature("f", [X], workspaces=[fr.Workspace("w", size)]),
    ):
        with pytest.raises(
            TypeError, match=r"^'[xrw]' has the size .*; sizes are ints, names or expressions"
        ):
            part()


def test_sizes_of_numpy():
    assert fr.Signature("f", [fr.Arg("x", shape=np.int64(3))]) == fr.Signature("f", [fr.Arg("x", shape=3)])
    with pytest.raises(ValueError, match=r"^The workspace 'w' has 2 sizes; give its bytes\.$"):
        fr.Signature("f", [X], workspaces=[fr.Workspace("w", ("8", "N"))])


@pytest.mark.parametrize("value", [None, 3, "name", b"name"])
@pytest.mark.parametrize(
    "field", ["symbols", "returns", "persistent", "workspaces", "arg_names", "parameters"]
)
def test_what_is_no_list(field, value):
    if value is None and field in ("arg_names", "parameters"):
        return
    with pytest.raises(TypeError, match=f"^'{field}' is .*, but a list of .* is expected\\.$"):
        fr.Signature("f", [X], **{field: value})


@pytest.mark.parametrize("args", [None, 3, "x", X])
def test_arguments_that_are_no_list(args):
    with pytest.raises(TypeError, match=r"^'args' is .*, but a list of fr\.Arg is expected\.$"):
        fr.Signature("f", args)


@pytest.mark.parametrize("kind", [3, float, fr.float64])
def test_arguments_by_name_have_array_types(kind):
    with pytest.raises(
        TypeError, match=r"^'args' holds .* for 'x', but a type such as fr\.float64\['N'\] is expected"
    ):
        fr.Signature("f", {"x": kind})


@pytest.mark.parametrize(
    "flag", ["may_alias", "returns_tuple", "strict_scalars", "error_check", "allow_return_override"]
)
@pytest.mark.parametrize("value", [None, 1, "no"])
def test_flags_are_truth_values(flag, value):
    with pytest.raises(TypeError, match=f"^'{flag}' is .*; it is True or False\\.$"):
        fr.Signature("f", [X], **{flag: value})


def test_flags_of_arguments_are_truth_values():
    with pytest.raises(TypeError, match=r"^'optional' of 'x' is 'no'; it is True or False\.$"):
        fr.Signature("f", [fr.Arg("x", shape="N", optional="no")])


@pytest.mark.parametrize("axis", [-2, 1, 2**40])
def test_axes_that_do_not_exist(axis):
    with pytest.raises(ValueError, match=r"inner_axis|axis"):
        fr.Signature("f", [fr.Arg("x", shape="N", order="inner", inner_axis=axis)])


@pytest.mark.parametrize("statuses", [[1], {"a": "b"}, {True: "x"}, {1.0: "x"}])
def test_statuses_are_texts_by_int(statuses):
    with pytest.raises(TypeError, match="status"):
        fr.Signature("f", [X], result="status", statuses=statuses)


def test_names_with_odd_characters():
    with pytest.raises(ValueError, match=r"^The signature's name 'f\\0g' is no identifier; use letters"):
        fr.Signature("f\0g", [X])
    with pytest.raises(ValueError, match="lone surrogate"):
        fr.Signature("f", [fr.Arg("x\ud800", shape="N")])


@pytest.mark.parametrize("arg", [X, fr.Arg("f", kind="callback", params=(fr.Arg("v", kind="scalar"),))])
def test_arguments_are_values(arg):
    copies = [copy.copy(arg), copy.deepcopy(arg), dataclasses.replace(arg)]
    copies += [pickle.loads(pickle.dumps(arg, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    for each in copies:
        assert each == arg
        assert fr.Signature("g", [each]) == fr.Signature("g", [arg])


def damaged(**fields):
    return json.dumps(json.loads(fr.Signature("f", [X]).to_json()) | fields)


@pytest.mark.parametrize("value", [True, 1.5, "1", 99999999999, 2**70])
def test_integers_of_json_are_never_cut(value):
    with pytest.raises(ValueError, match=r"'schema' is .*, but an integer is expected"):
        fr.Signature.from_json(damaged(schema=value))
    statuses = [{"status": value, "text": "x"}]
    if value != 99999999999:
        with pytest.raises(ValueError, match=r"'status' is .*, but an integer is expected"):
            fr.Signature.from_json(damaged(statuses=statuses))


@pytest.mark.parametrize("default", ["garbage(", "[1]", "open('x')", "'text'", "(" * 500])
def test_defaults_of_json_are_literals(default):
    args = [{"name": "a", "kind": "scalar", "dtype": "float64", "default": default}]
    text = json.dumps({"schema": 1, "name": "f", "args": args})
    with pytest.raises(fr.UserError, match="'a' has the"):
        fr.Signature.from_json(text)


@pytest.mark.parametrize(
    "literal", ["garbage(", "3", "[('y', 'float64')]", "[('x', 'float32'), ('z', 'float32')]"]
)
def test_structs_of_json_have_their_own_fields(literal):
    text = fr.Signature("f", [fr.Arg("p", kind="struct", dtype=np.dtype([("x", "f8")]))]).to_json()
    fields = json.loads(text)
    assert fr.Signature.from_json(text).to_json() == text
    fields["args"][0]["record"]["literal"] = literal
    with pytest.raises(ValueError, match="'p' has the"):
        fr.Signature.from_json(json.dumps(fields))


def test_json_that_is_nested_deep():
    nested = "[" * 100_000 + "]" * 100_000
    with pytest.raises(ValueError, match="nested deeper than 200 levels"):
        fr.Signature.from_json('{"schema": 1, "name": "f", "user_args": ' + nested + "}")


@pytest.mark.parametrize("text", [None, 3, b"{}"])
def test_what_is_no_json_text(text):
    with pytest.raises(TypeError, match=r"^'text' is .*, but the JSON text of a signature is expected\.$"):
        fr.Signature.from_json(text)


def test_the_size_of_a_workspace_is_not_negative():
    signature = fr.Signature("f", [X], workspaces=[fr.Workspace("w", "N - 5")])
    kernel = fr.compile_source("void f(const double*, long, void*) {}", signature).load()
    with pytest.raises(ValueError, match=r"^f\(\): the workspace 'w' would have -2 bytes\.$"):
        kernel.workspace_sizes(N=3)


def test_an_exception_whose_text_is_null():
    source = """
    #include <exception>
    struct Silent : std::exception { const char* what() const noexcept override { return nullptr; } };
    void f(const double*, long) { throw Silent(); }"""
    kernel = fr.compile_source(source, fr.Signature("f", [X])).load()
    with pytest.raises(
        RuntimeError, match=r"^f\(\): the native function threw an exception: without a text\.$"
    ):
        kernel(np.ones(1))

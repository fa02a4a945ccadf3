"""Each setting, option and field of a signature changed alone: the key changes exactly where the emitted source, the
binding or the build does. Who adds one says here which it is."""

from __future__ import annotations

import dataclasses
import inspect
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ferrule as fr
from ferrule import _compiler, session
from ferrule.config import SETTINGS

GCC = shutil.which("g++") or "c++"
X = np.arange(1.0, 5.0)
IN_THE_KEY, NOT_IN_IT = True, False

# Name: another value than the default's, and whether the key of `picked` has it.
OF_SETTINGS: dict[str, tuple[Any, bool]] = {
    "compiler": ("{other}", IN_THE_KEY),
    "target": ("baseline", IN_THE_KEY),
    "build": ("debug", IN_THE_KEY),
    "bounds_check": (False, IN_THE_KEY),
    "strict_scalars": (True, IN_THE_KEY),
    "cache_dir": ("{folder}/store", NOT_IN_IT),
    "cache_limit": (None, NOT_IN_IT),
    "cache_levels": ("{folder}/level", NOT_IN_IT),
    "fallback": ("python", NOT_IN_IT),
    "check": (True, NOT_IN_IT),
    "recompile_limit": (1, NOT_IN_IT),
    "on_recompile_limit": ("error", NOT_IN_IT),
    "folder_mode": ("name", NOT_IN_IT),
    "build_folder": ("{folder}/files", NOT_IN_IT),
    "name_collision": ("replace", NOT_IN_IT),
    "reuse_loaded": (False, NOT_IN_IT),
    "layout": ("production", NOT_IN_IT),
    "do_not_execute": (True, NOT_IN_IT),
    "profile": (True, NOT_IN_IT),
    "progress": (False, NOT_IN_IT),
    "time": (True, NOT_IN_IT),
}
OF_THE_DECORATOR: dict[str, tuple[Any, bool]] = {
    "static": ("i", IN_THE_KEY),
    "order": (None, NOT_IN_IT),  # refused without annotated arrays; see test_key_mutations for these
    "target": ("baseline", IN_THE_KEY),
    "num_threads": (1, NOT_IN_IT),
    "bounds_check": (False, IN_THE_KEY),
    "fallback": ("python", NOT_IN_IT),
    "compile": ("async", NOT_IN_IT),
    "autotune": (None, NOT_IN_IT),  # refused
    "recompile_limit": (1, NOT_IN_IT),
    "on_recompile_limit": ("error", NOT_IN_IT),
    "strict_scalars": (True, IN_THE_KEY),
    "check": (True, NOT_IN_IT),
}
OF_COMPILE: dict[str, tuple[Any, bool]] = {
    "target": ("baseline", IN_THE_KEY),
    "build": ("debug", IN_THE_KEY),
    "adapter": ("a_module:a_name", IN_THE_KEY),
    "folder": ("{folder}/place", NOT_IN_IT),
    "folder_mode": ("content", NOT_IN_IT),
    "name_collision": ("error", NOT_IN_IT),
    "reuse_loaded": (False, NOT_IN_IT),
    "layout": ("production", NOT_IN_IT),
}
# What is refused without a folder.
FOLDER_OF = {name: {"folder": "{folder}/place"} for name in ("name_collision", "reuse_loaded", "layout")}
OF_SOURCES = OF_COMPILE | {
    "flags": (("-DX=1",), IN_THE_KEY),
    "standard_library": (False, IN_THE_KEY),
    "time_limit": (60.0, NOT_IN_IT),
}


def picked(a: Any, i: Any) -> Any:
    return a * 2.0 + a[i]


SOURCE = "void twice(double* x, long n) { for (long i = 0; i < n; ++i) x[i] *= 2; }\n"
TWICE = fr.Signature("twice", [fr.Arg("x", shape="N", intent="inout")])


def value_of(value: Any, folder: Path) -> Any:
    if not isinstance(value, str) or "{" not in value:
        return value
    (folder / "c++").is_symlink() or (folder / "c++").symlink_to(GCC)
    return value.format(other=folder / "c++", folder=folder)


def names_of(function: Any, *left_out: str) -> set[str]:
    parameters = inspect.signature(function).parameters.values()
    return {each.name for each in parameters if each.kind == each.KEYWORD_ONLY and each.name not in left_out}


def test_all_of_them_are_here() -> None:
    assert set(OF_SETTINGS) == set(SETTINGS)
    assert set(OF_THE_DECORATOR) == names_of(fr.program)
    assert set(OF_COMPILE) == names_of(fr.Function.compile)
    assert set(OF_SOURCES) == names_of(fr.compile_source)


@pytest.fixture(scope="module")
def base() -> str:
    return str(fr.program(picked).compile(X, 1).key)


@pytest.mark.parametrize("name", OF_SETTINGS)
def test_settings(name: str, base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("FERRULE_BUILD_FOLDER", str(tmp_path / "files"))
    value, is_in = OF_SETTINGS[name]
    with fr.config(**{name: value_of(value, tmp_path)}):
        assert (fr.program(picked).compile(X, 1).key != base) == is_in


@pytest.mark.parametrize("name", OF_THE_DECORATOR)
def test_options_of_the_decorator(name: str, base: str) -> None:
    value, is_in = OF_THE_DECORATOR[name]
    if value is None:
        with pytest.raises(fr.Error, match=name):
            fr.program(picked, **{name: True})
    else:
        assert (fr.program(picked, **{name: value}).compile(X, 1).key != base) == is_in


@pytest.mark.parametrize("name", OF_COMPILE)
def test_options_of_compile(name: str, base: str, tmp_path: Path) -> None:
    value, is_in = OF_COMPILE[name]
    given = {name: value, **FOLDER_OF.get(name, {})}
    key = fr.program(picked).compile(X, 1, **{each: value_of(of, tmp_path) for each, of in given.items()}).key
    assert (key != base) == is_in


@pytest.mark.parametrize("name", OF_SOURCES)
def test_options_of_source_kernels(name: str, tmp_path: Path) -> None:
    value, is_in = OF_SOURCES[name]
    given = {name: value, **FOLDER_OF.get(name, {})}
    key = fr.compile_source(SOURCE, TWICE, **{each: value_of(of, tmp_path) for each, of in given.items()}).key
    assert (key != fr.compile_source(SOURCE, TWICE).key) == is_in


# -- signatures

INIT = fr.AuthorFunction("begin", ("N", "state"), "status")
FULL: dict[str, Any] = {
    "name": "run_it",
    "args": [
        fr.Arg("x", shape=("N", "M"), order="inner", intent="inout", inner_axis=1, strides=("S", "T")),
        fr.Arg("f", kind="callback", params=(fr.Arg("v", kind="scalar"),), returns="float64"),
        fr.Arg("s", kind="scalar", default=1.0),
    ],
    "symbols": [fr.Symbol("N"), fr.Symbol("M")],
    "returns": [fr.Return("r", shape="N"), fr.Return("code", kind="scalar")],
    "run": "run_it",
    "parameters": ["x", "f", "s", "r", "code", "N", "M", "state", "w"],
    "init": INIT,
    "exit": fr.AuthorFunction("end", ("state",)),
    "error": fr.AuthorFunction("told", ("state",), "text"),
    "persistent": ["N"],
    "workspaces": [fr.Workspace("w", "8*N")],
    "statuses": {1: "one"},
    "result": "status",
    "arg_names": ["x", "f", "s"],
    "user_args": ["x", "f", "s"],
}
OF_SIGNATURES: dict[str, Any] = {
    "name": "other",
    "args": [*FULL["args"][:2], fr.Arg("s", kind="scalar")],
    "symbols": [fr.Symbol("M"), fr.Symbol("N")],
    "returns": FULL["returns"][::-1],
    "run": "other",
    "parameters": [*FULL["parameters"][1:], "x"],
    "result": "none",
    "init": fr.AuthorFunction("other", ("N", "state"), "status"),
    "exit": fr.AuthorFunction("other", ("state",)),
    "error": fr.AuthorFunction("other", ("state",), "text"),
    "persistent": ["N", "M"],
    "workspaces": [fr.Workspace("w", "16*N")],
    "statuses": {1: "two"},
    "arg_names": ["x", "s", "f"],
    "user_args": ["x", "s", "f"],
    "may_alias": True,
    "returns_tuple": True,
    "strict_scalars": True,
    "error_check": False,
    "release_gil": False,
    "allow_return_override": True,
    "coerce": "asarray",
}
# A field's other value in an argument that may have it.
PLAIN = fr.Arg("x", shape=("N", "M"))
ARRAY = fr.Arg("x", shape=("N", "M"), order="inner", inner_axis=0)
CALLBACK = fr.Arg("f", kind="callback", params=(fr.Arg("v", kind="scalar"),), returns="float64")
OF_PARTS: dict[type[Any], dict[str, tuple[Any, Any]]] = {
    fr.Arg: {
        "name": (PLAIN, "y"),
        "kind": (fr.Arg("x"), "scalar"),
        "dtype": (PLAIN, "float32"),
        "shape": (PLAIN, ("N", "2*M")),
        "order": (PLAIN, "F"),
        "intent": (PLAIN, "inout"),
        "optional": (PLAIN, True),
        "default": (fr.Arg("x", kind="scalar", default=1.0), 2.0),
        "strides": (ARRAY, ("S", "T")),
        "inner_axis": (ARRAY, 1),
        "params": (CALLBACK, (fr.Arg("v", kind="scalar", dtype="int64"),)),
        "returns": (CALLBACK, "int64"),
    },
    fr.Return: {
        "name": (fr.Return("r", shape="N"), "q"),
        "dtype": (fr.Return("r", shape="N"), "float32"),
        "shape": (fr.Return("r", shape="N"), "M"),
        "kind": (fr.Return("r"), "scalar"),
    },
    fr.Symbol: {
        "name": (fr.Symbol("N"), "L"),
        "dtype": (fr.Symbol("N"), "int32"),
        "nonnegative": (fr.Symbol("N"), False),
    },
    fr.Workspace: {
        "name": (fr.Workspace("w", 8), "v"),
        "bytes": (fr.Workspace("w", 8), 16),
        "alignment": (fr.Workspace("w", 8), 128),
    },
    fr.AuthorFunction: {
        "name": (INIT, "other"),
        "parameters": (INIT, ("state", "N")),
        "result": (INIT, "none"),
    },
}


def text_of(**fields: Any) -> tuple[str, str]:
    """The emitted source and the binding of a signature."""
    signature = fr.Signature(**fields)
    binding = session.binding_text(None, signature=json.loads(signature.to_json()))
    return _compiler.emit_source_kernel(signature.to_json(), "")["source"], binding


def test_all_fields_of_signatures_are_here() -> None:
    own = set(inspect.signature(fr.Signature).parameters)
    assert set(OF_SIGNATURES) == own and set(FULL) <= own
    for kind, changes in OF_PARTS.items():
        assert set(changes) == {field.name for field in dataclasses.fields(kind)}, kind


@pytest.mark.parametrize("name", OF_SIGNATURES)
def test_fields_of_signatures(name: str) -> None:
    value = OF_SIGNATURES[name]
    if name == "symbols":  # in another order they are other parameters
        assert text_of(name="f", symbols=FULL[name]) != text_of(name="f", symbols=value)
    else:
        assert text_of(**FULL) == text_of(**FULL) != text_of(**{**FULL, name: value})


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, names in OF_PARTS.items() for name in names]
)
def test_fields_of_their_parts(kind: type[Any], name: str) -> None:
    part, value = OF_PARTS[kind][name]
    other = dataclasses.replace(part, **{name: value})
    more = {
        fr.Arg: lambda each: {"args": [each]},
        fr.Return: lambda each: {"returns": [each], "symbols": ["N", "M"]},
        fr.Symbol: lambda each: {"symbols": [each, "M"]},
        fr.Workspace: lambda each: {"workspaces": [each], "parameters": [each.name]},
        fr.AuthorFunction: lambda each: {**FULL, "init": each},
    }[kind]
    assert text_of(**{"name": "f", **more(part)}) != text_of(**{"name": "f", **more(other)})

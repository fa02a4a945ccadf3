"""Signatures of every schema that was ever written still load, and mean the same."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

import ferrule as fr

FOLDER = Path(__file__).parent / "signatures"


def everything() -> fr.Signature:
    """A signature that uses every field of the current schema."""
    return fr.Signature(
        "everything",
        [
            fr.Arg("a", shape=("N", "2*M + 1"), intent="inout", order="any", strides=("S", "1")),
            fr.Arg("b", dtype="complex64", shape="K", optional=True),
            fr.Arg("f", dtype="float32", shape=("M", 3), order="F"),
            fr.Arg("i", dtype="bool", shape=("M", "N"), order="inner", inner_axis=0),
            fr.Arg("s", kind="scalar", default=-0.5),
            fr.Arg("p", kind="struct", dtype=np.dtype([("x", "f8"), ("n", "i4", (2,))], align=True)),
            fr.Arg("text", kind="string", default="none"),
            fr.Arg("obj", kind="pyobject"),
            fr.Arg("cb", kind="callback", params=(fr.Arg("v", kind="scalar"),), returns="int64"),
            fr.Arg("many", kind="pointers", dtype="float64"),
        ],
        symbols=[fr.Symbol("N", "int32"), fr.Symbol("S", nonnegative=False), "L"],
        returns=[fr.Return("out", shape=("N", "L")), fr.Return("r", "int64", kind="scalar")],
        arg_names=["a", "b", "f", "i", "L", "p", "obj", "cb", "many"],
        user_args=("a", ("b", "", ("f", "i")), "L", "p", "obj", "cb", "many"),
        run="author::everything",
        result="r",
        init=fr.AuthorFunction("begin", ["N", "state"], "status"),
        exit=fr.AuthorFunction("end", ["state"]),
        persistent=["N"],
        workspaces=[fr.Workspace("w", "8*N*M", 128)],
        statuses={3: "no convergence", -1: "bad input"},
        may_alias=True,
        returns_tuple=True,
        strict_scalars=True,
        allow_return_override=True,
    )


def test_the_current_schema_is_written_down():
    path = FOLDER / "schema1.json"
    text = json.dumps(json.loads(everything().to_json()), indent=1, sort_keys=True) + "\n"
    if os.environ.get("FERRULE_GOLDEN_UPDATE"):
        path.write_text(text)
    assert path.read_text() == text


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_every_schema_loads(path):
    assert fr.Signature.from_json(path.read_text()) == everything()

"""The check of the layers finds what it is there for: each kind of include that breaks the rule, in a copy of the sources."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

BREAKS = {
    ("src/base/sha256.h", '#include "index/expr.h"'): "base may know [] only.",
    (
        "src/call/plan.h",
        '#include "program/program.h"',
    ): "call may know ['array', 'base', 'load', 'runtime'] only.",
    ("src/load/module.h", "#include <program/program.h>"): "load may know ['array', 'base'] only.",
    ("src/load/module.h", '#include "../program/program.h"'): "load may know ['array', 'base'] only.",
    ("src/emit/emit.h", '#  include "schedule/schedule.h"'): "emit may know",
    ("src/base/error.h", '#include "pass.h"'): "base may know [] only.",
    ("include/ferrule/rt/ops.h", "#include <cmath>"): "emitted code uses no standard header.",
    ("include/ferrule/abi.h", "#include <vector>"): "emitted code uses no standard header.",
    ("include/ferrule/rt/ops.h", '#include "base/error.h"'): "rt/ includes rt/ and abi.h only.",
    (
        "python/bindings/rt/target.h",
        '#include "program/program.h"',
    ): "a warm start maps nothing of the compiler.",
    (
        "python/bindings/rt/target.h",
        '#include "signature/signature.h"',
    ): "a warm start maps nothing of the compiler.",
    ("src/tricks/trick.h", "#pragma once"): "src/tricks has no rule",
}


@pytest.fixture(scope="module")
def check():
    spec = importlib.util.spec_from_file_location("check_layers", ROOT / "tools" / "check_layers.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    copy = tmp_path_factory.mktemp("layers")
    for folder in ("src", "include", "python/bindings"):
        shutil.copytree(ROOT / folder, copy / folder)
    return copy


def test_the_sources_keep_the_rule(check, tree):
    assert check.violations(tree) == check.violations() == []


@pytest.mark.parametrize(("path", "line"), [*BREAKS])
def test_each_break_is_found(check, tree, path, line):
    file = tree / path
    before = file.read_text() if file.exists() else None
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"{line}\n{before or ''}")
    try:
        found = check.violations(tree)
    finally:
        if before is None:
            shutil.rmtree(file.parent)
        else:
            file.write_text(before)
    assert len(found) == 1 and found[0].startswith(path if before is not None else "src/tricks")
    assert BREAKS[path, line] in found[0]

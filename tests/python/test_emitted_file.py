"""The emitted shared object as a file of its own: importable from Python, loadable by path."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ferrule as fr


def doubled(a: Any) -> Any:
    """Twice its argument."""
    return a * 2.0


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "doubled.so"
    path.write_bytes(fr.program(doubled).compile(np.ones(3)).module_bytes())
    return path


def test_the_file_is_importable(module: Path) -> None:
    spec = importlib.util.spec_from_file_location("doubled", module)
    assert spec is not None and spec.loader is not None
    imported = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(imported)
    np.testing.assert_array_equal(imported.kernel(np.arange(3.0)), [0.0, 2.0, 4.0])


def test_the_file_is_importable_before_anything_of_ferrule(module: Path) -> None:
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import doubled, numpy as np\n"
        "print(doubled.kernel(np.arange(3.0)).tolist())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(module.parent)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[0.0, 2.0, 4.0]"


def test_the_file_opens_by_path(module: Path) -> None:
    kernel = fr.Kernel(module)
    np.testing.assert_array_equal(kernel(np.ones(2)), [2.0, 2.0])
    assert kernel.facts["compiler"].startswith(("gcc", "clang"))
    with pytest.raises(fr.UserError, match="was loaded from a file alone"):
        kernel.source()


def test_the_rules_for_threads_stand_in_the_file() -> None:
    plain = fr.Signature("f")
    state = fr.Signature("f", init=fr.AuthorFunction("begin"), parameters=["state"])
    texts = [fr.program(doubled).compile(np.ones(3)).source]
    texts += [
        fr.compile_source(source, signature).source
        for source, signature in (("void f() {}", plain), ("void begin() {} void f(void*) {}", state))
    ]
    assert ["Any number of threads may run it at once" in text for text in texts] == [True, True, False]
    assert "between them any number of threads may run on one state at once" in texts[2]

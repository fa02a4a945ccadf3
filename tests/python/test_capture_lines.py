"""Which of the user's lines a capture says is running, and that a long function costs each of its operations no more."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np
import pytest

from ferrule.capture import capture, errors


def module(folder: Path, text: str) -> Any:
    path = folder / "subject.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("subject", path)
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> list[CodeType]:
    """The codes whose line tables were read."""
    read: list[CodeType] = []
    table = errors._line_table

    def counted(code: CodeType) -> Any:
        read.append(code)
        return table(code)

    monkeypatch.setattr(errors, "_line_table", counted)
    return read


LINES = 300


def test_the_line_table_of_a_long_function_is_read_once(tmp_path: Path, tables: list[CodeType]) -> None:
    text = "".join(f"    a = a * 2.0 + {i}.0\n" for i in range(LINES))
    captured = capture(module(tmp_path, f"def f(a):\n{text}    return a\n").f, (np.ones(3),), {})
    lines = {line for _, line, *_ in captured.program.sites}
    assert lines >= {*range(2, LINES + 2)}
    assert len(tables) == 1


def test_a_statement_over_several_lines_has_the_line_of_its_operation(tmp_path: Path) -> None:
    text = "def f(a, i):\n    return (\n        a[0]\n        + a[\n            i[0]\n        ]\n    )\n"
    captured = capture(module(tmp_path, text).f, (np.ones(3), np.zeros(1, int)), {})
    checks = {line for _, line, _, what, _ in captured.program.sites if what}
    assert checks == {4}

"""The demonstration holds what it prints: it runs, and a result that differs anywhere makes it fail."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def demo(monkeypatch, tmp_path):
    """The script as a module, on a piece of its model, that times each call once and draws elsewhere."""
    spec = importlib.util.spec_from_file_location("ferrule_demo", ROOT / "examples" / "demo.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    height, *spacing = module.elevation()
    monkeypatch.setattr(module, "elevation", lambda: (height[100:150, 200:270].copy(), *spacing))
    monkeypatch.setattr(module, "best_of", lambda call, seconds: (call(), 1.0)[1])
    monkeypatch.setattr(module, "OUTPUT", tmp_path / "out" / "jacksboro.png")
    return module


def test_it_agrees_on_a_piece_of_the_real_model_and_draws(demo, capsys):
    assert demo.main() == 0
    assert capsys.readouterr().out.count("agrees: largest difference") == 3
    assert demo.OUTPUT.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("wrong", range(3))
def test_it_fails_where_one_program_differs(demo, monkeypatch, capsys, wrong):
    verdicts = iter([number != wrong for number in range(3)])
    zero = np.zeros((50, 70))

    def demonstrate(function, arguments, tolerance, once):
        return (zero,) * 3 if function is demo.shade else zero, next(verdicts), ""

    monkeypatch.setattr(demo, "demonstrate", demonstrate)
    monkeypatch.setattr(demo, "picture", lambda *fields: None)
    monkeypatch.setattr(demo.fr, "program", lambda function: lambda *arguments: (zero,) * 3)
    assert demo.main() == 1
    assert "differs from NumPy" in capsys.readouterr().err


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("spoilt", [np.full(2, np.nan), np.ones(2), np.zeros(3), np.zeros(2, np.float32)])
def test_no_difference_hides_behind_another_result(demo, place, spoilt):
    results = [np.zeros(2)] * 3
    results[place] = spoilt
    worst = demo.difference((np.zeros(2),) * 3, tuple(results))
    assert math.isnan(worst) or worst >= 1.0

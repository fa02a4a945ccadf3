"""Makes the hand-made exporters of tests/python importable, and the checks of rows.py tell what differs."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
pytest.register_assert_rewrite("rows")

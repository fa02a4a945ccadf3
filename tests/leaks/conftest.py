"""The exporters and the hand-written modules of the other tests."""

from __future__ import annotations

import sys
from pathlib import Path

for folder in ("python", "modules"):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / folder))

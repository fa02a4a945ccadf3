"""Run every benchmark of this folder, one after another, and print what each prints."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCRIPTS = ("call/call.py", "compile/compile.py", "compile/pool.py", "kernels/hdiff.py")


def main() -> int:
    env = {k: v for k, v in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}
    env["PYTHONPATH"] = str(HERE.parent / "python")
    failed = 0
    for script in SCRIPTS:
        print(f"\n== {script}", flush=True)
        failed += subprocess.run([sys.executable, str(HERE / script)], env=env).returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

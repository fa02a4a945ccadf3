"""Compilers for tests: those that are there, and stubs that answer what Ferrule asks."""

import json
import os
import shutil
import subprocess
import sys

from ferrule import Arg, Signature

GCC = shutil.which("g++")
CLANGS = [path for n in range(14, 20) if (path := shutil.which(f"clang++-{n}"))]
SOURCE = "void twice(double* x, long n) { for (long i = 0; i < n; ++i) x[i] *= 2; }\n"
TWICE = Signature("twice", [Arg("x", shape="N", intent="inout")])

WHO = """
import json, sys
from ferrule import _rt
print(json.dumps(_rt.describe_toolchain(sys.argv[1], sys.argv[2], _rt.Store(sys.argv[3]))))
"""


def who(tmp_path, requested="", target="native", **env):
    command = [sys.executable, "-c", WHO, requested, target, str(tmp_path / "who")]
    done = subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr.splitlines()[-1]


def stub(
    path, native='cc1plus "-march=znver3" "-mavx2"', compiles="exit 9", version="stub 1.0", program="none"
):
    """A compiler that answers what Ferrule asks, and does `compiles` where it should compile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f"""#!/bin/sh
case "$*" in
*--version*) echo '{version}';;
*-dumpmachine*) echo x86_64-linux-gnu;;
*-print-prog-name=clang*) echo '{program}';;
*-print-prog-name*) echo none;;
*-###*) echo '{native}';;
*--help=target*) ;;
*) {compiles};;
esac
"""
    )
    path.chmod(0o755)
    return path


def entries(root):
    return list(root.glob("v1/??/*"))

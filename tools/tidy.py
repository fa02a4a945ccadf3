"""Run clang-tidy with .clang-tidy over the translation units of src/, a few at a time, and fail on any finding.

Arguments are paths to check instead of all. It reads the compilation database of build/release.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATABASE = ROOT / "build" / "release"
NAMES = ("clang-tidy", *(f"clang-tidy-{version}" for version in range(21, 15, -1)))


def main() -> int:
    tool = next((path for name in NAMES if (path := shutil.which(name))), None)
    if tool is None:
        print("clang-tidy is not installed; 'apt-get install clang-tidy' gives it.", file=sys.stderr)
        return 2
    if not (DATABASE / "compile_commands.json").exists():
        print("There is no build/release/compile_commands.json; run 'make build' first.", file=sys.stderr)
        return 2
    sources = sys.argv[1:] or sorted(str(path.relative_to(ROOT)) for path in (ROOT / "src").rglob("*.cpp"))

    def check(source: str) -> str:
        # The database is GCC's: it names warnings that clang does not know.
        command = [tool, "-p", str(DATABASE), "--quiet", "--extra-arg=-Wno-unknown-warning-option", source]
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        # Without findings clang-tidy prints nothing here; a failed run may say why on the other stream alone.
        return run.stdout or (run.stderr if run.returncode != 0 else "")

    found: list[str] = []  # a finding in a header comes with every file that includes it
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for text in pool.map(check, sources):
            if text.strip() and text not in found:
                found.append(text)
                print(text, flush=True)
    print(f"clang-tidy: {len(sources)} files, {len(found)} with findings.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

"""Check the layer rule over the #includes of src/ and python/bindings, and print each edge that breaks it.

base <- array, index <- program <- analyse <- loops <- lower, schedule <- emit; index <- signature <- emit. build and
artifact know text and bytes, no IR. load, call and runtime know abi.h and array, no IR. Only the files directly in src/ know all.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

ALLOWED: dict[str, set[str]] = {
    "base": set(),
    "array": {"base"},
    "index": {"base"},
    "signature": {"base", "index"},
    "program": {"base", "index"},
    "analyse": {"base", "index", "program"},
    "loops": {"base", "index", "program", "analyse"},
    "lower": {"base", "index", "program", "analyse", "loops"},
    "schedule": {"base", "index", "program", "analyse", "loops"},
    "emit": {"base", "index", "signature", "program", "loops"},
    "build": {"base"},
    "artifact": {"base", "build"},
    "load": {"base", "array"},
    "call": {"base", "array", "load", "runtime"},
    "runtime": {"base", "array"},
}

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def violations(root: Path = ROOT) -> list[str]:
    """One line for each include that a folder may not make, and for each rt header that includes the library's."""
    found = []
    for folder, allowed in ALLOWED.items():
        for path in sorted((root / "src" / folder).rglob("*")):
            if path.suffix not in {".cpp", ".h", ".def"}:
                continue
            for target in INCLUDE.findall(path.read_text()):
                head = target.split("/")[0]
                if head in ("ferrule", folder) or head in allowed:
                    continue
                found.append(
                    f"{path.relative_to(root)} includes {target}: {folder} may know {sorted(allowed)} only."
                )
    for path in sorted((root / "include" / "ferrule" / "rt").glob("*.h")):
        for target in INCLUDE.findall(path.read_text()):
            if not target.startswith("ferrule/"):
                found.append(f"{path.relative_to(root)} includes {target}: rt/ includes rt/ and abi.h only.")
        for system in re.findall(r"^\s*#\s*include\s+<([^>]+)>", path.read_text(), re.MULTILINE):
            if system != "stdint.h":
                found.append(
                    f"{path.relative_to(root)} includes <{system}>: emitted code uses no standard header."
                )
    for path in sorted((root / "python" / "bindings" / "rt").glob("*")):
        if path.suffix in {".cpp", ".h"}:
            for target in INCLUDE.findall(path.read_text()):
                head = target.split("/")[0]
                if head in {
                    "index",
                    "program",
                    "analyse",
                    "loops",
                    "lower",
                    "schedule",
                    "emit",
                    "compiler.h",
                    "pass.h",
                }:
                    found.append(
                        f"{path.relative_to(root)} includes {target}: a warm start maps nothing of the compiler."
                    )
    return found


def main() -> int:
    found = violations()
    for line in found:
        print(line)
    print(f"layers: {len(found)} violations")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

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

# What a warm start maps.
RUNTIME = {"base", "array", "build", "artifact", "load", "call", "runtime"}

INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.MULTILINE)


def includes(path: Path) -> list[tuple[str, bool]]:
    """What a file includes, and whether as a header of the system; those of src/ are the library's however they are written."""
    found = INCLUDE.findall(path.read_text())
    folders = tuple(f"{folder}/" for folder in ALLOWED)
    return [(target, mark == "<" and not target.startswith(folders)) for mark, target in found]


def own_includes(path: Path) -> list[str]:
    return [target for target, of_system in includes(path) if not of_system]


def sources(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.suffix in {".cpp", ".h", ".def"}]


def violations(root: Path = ROOT) -> list[str]:
    """One line for each include that a folder may not make, for each rt header that includes the library's, and for each
    folder without a rule."""
    found = []
    for folder in sorted(path.name for path in (root / "src").iterdir() if path.is_dir()):
        if folder not in ALLOWED and sources(root / "src" / folder):
            found.append(f"src/{folder} has no rule; add it to ALLOWED in tools/check_layers.py.")
    for folder, allowed in ALLOWED.items():
        for path in sources(root / "src" / folder):
            for target in own_includes(path):
                head = target.split("/")[0]
                if head in ("ferrule", folder) or head in allowed:
                    continue
                found.append(
                    f"{path.relative_to(root)} includes {target}: {folder} may know {sorted(allowed)} only."
                )
    emitted = [root / "include" / "ferrule" / "abi.h", *sources(root / "include" / "ferrule" / "rt")]
    for path in emitted:
        for target, of_system in includes(path):
            if of_system and target != "stdint.h":
                found.append(
                    f"{path.relative_to(root)} includes <{target}>: emitted code uses no standard header."
                )
            elif not of_system and not target.startswith("ferrule/"):
                found.append(f"{path.relative_to(root)} includes {target}: rt/ includes rt/ and abi.h only.")
    for path in sources(root / "python" / "bindings" / "rt"):
        for target in own_includes(path):
            head = target.split("/")[0]
            if head in {"compiler.h", "pass.h"} or head in ALLOWED.keys() - RUNTIME:
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

"""`ferrule info`."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from typing import Any

import numpy as np

from ferrule import __version__, _rt, session
from ferrule.cli.entries import entries
from ferrule.cli.output import print_facts, print_json, size_text
from ferrule.config import SETTINGS, setting
from ferrule.errors import BuildError


def _compiler(settings: session.BuildSettings) -> dict[str, Any]:
    try:
        return _rt.describe_toolchain(settings.compiler, settings.target, session.store())
    except BuildError as error:
        return {"error": str(error)}


def _store() -> dict[str, Any]:
    root = session.store().root
    found = list(entries(root))
    return {
        "root": root,
        "exists": os.path.isdir(root),
        "writable": os.access(root, os.W_OK) if os.path.isdir(root) else None,
        "entries": len(found),
        "bytes": sum(entry.size for entry in found),
        "warnings": session.store().take_warnings(),
    }


def _gathered() -> dict[str, Any]:
    settings = session.BuildSettings.current()
    return {
        "versions": {
            "ferrule": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "system": platform.platform(),
        },
        "package": os.path.dirname(session.__file__),
        "include": session.include_dir(),
        "compiler": _compiler(settings),
        "flags": list(settings.flags),
        "store": _store(),
        "threads": {"default": _rt.default_num_threads(), "processors": len(os.sched_getaffinity(0))},
        "host_features": _rt.host_features(),
        "settings": {name: setting(name) for name in SETTINGS},
    }


def info(options: argparse.Namespace) -> int:
    """Show what a compilation here and now would use."""
    facts = _gathered()
    if options.json:
        print_json(facts)
        return 0
    versions, compiler, store = facts["versions"], facts["compiler"], facts["store"]
    lines = [
        ("ferrule", f"{versions['ferrule']} in {facts['package']}"),
        ("python", f"{versions['python']}, numpy {versions['numpy']}, {sys.executable}"),
        ("system", versions["system"]),
    ]
    if "error" in compiler:
        lines.append(("compiler", compiler["error"]))
    else:
        lines += [
            ("compiler", f"{' '.join(compiler['command'])}\n{compiler['version']}"),
            ("target", f"{compiler['target']}: {' '.join(compiler['target_flags'])}"),
        ]
    if facts["flags"]:
        lines.append(("CXXFLAGS", " ".join(facts["flags"])))
    state = "" if store["exists"] else ", not made yet"
    if store["exists"] and not store["writable"]:
        state = ", cannot be written"
    lines += [
        ("store", f"{store['root']}: {store['entries']} entries, {size_text(store['bytes'])}{state}"),
        *(("", warning) for warning in store["warnings"]),
        ("threads", f"{facts['threads']['default']} of {facts['threads']['processors']} processors"),
    ]
    changed = [
        f"{name}={value!r}" for name, value in facts["settings"].items() if value != SETTINGS[name].default
    ]
    lines.append(("settings", "\n".join(changed) if changed else "all at their defaults"))
    print_facts(lines)
    return 0

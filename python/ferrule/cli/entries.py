"""The entries of a store as its folders show them, read without verifying or changing anything."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ferrule.errors import UserValueError

_FIRST = re.compile(r"[0-9a-f]{2}")
_REST = re.compile(r"[0-9a-f]{62}")


@dataclass(frozen=True)
class StoredEntry:
    """One folder of a store and what its manifest says; `problem` where that cannot be read."""

    key: str
    folder: str
    size: int  # of all its files, in bytes
    built: float  # seconds since the epoch
    problem: str | None
    manifest: dict[str, Any] = field(repr=False)  # of the artifact; empty where there is a problem
    local: dict[str, Any] = field(repr=False)
    used: float | None = None  # last use, in seconds since the epoch; known to the store itself

    @property
    def name(self) -> str:
        """The program's name."""
        return str(self.manifest.get("name", ""))

    @cached_property
    def ingredients(self) -> list[tuple[str, str]]:
        """All that decides the module: of the emitted source, then of the entry."""
        program = [(f"program: {name}", value) for name, value in self.manifest["program"]["ingredients"]]
        return program + [(name, value) for name, value in self.manifest["ingredients"]]


def _read(key: str, folder: str) -> StoredEntry | None:
    manifest: dict[str, Any] = {}
    local: dict[str, Any] = {}
    problem = None
    try:
        size = sum(item.stat(follow_symlinks=False).st_size for item in os.scandir(folder))
        built = os.stat(folder).st_mtime
    except OSError:
        return None  # it was taken away meanwhile
    try:
        with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as file:
            body = json.load(file)["body"]
        manifest, local = body["artifact"], body["local"]
        _ = manifest["name"], manifest["ingredients"], manifest["program"]["ingredients"], manifest["options"]
    except OSError as error:
        problem = f"its manifest cannot be read ({error.strerror})"
    except (ValueError, KeyError, TypeError):
        problem = "its manifest is no manifest"
    return StoredEntry(
        key, folder, size, built, problem, {} if problem else manifest, {} if problem else local
    )


def entries(root: str) -> Iterator[StoredEntry]:
    """Each entry of the store at a root, in the order of keys; nothing where there is no store."""
    top = os.path.join(root, "v1")
    for first in _names(top, _FIRST):
        for rest in _names(os.path.join(top, first), _REST):
            entry = _read(first + rest, os.path.join(top, first, rest))
            if entry is not None:
                yield entry


def _names(folder: str, shape: re.Pattern[str]) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if shape.fullmatch(name))
    except OSError:
        return []


def find(root: str, prefix: str) -> StoredEntry:
    """The one entry whose key begins so. Raises UserValueError where none or several do."""
    found = [entry for entry in entries(root) if prefix and entry.key.startswith(prefix.lower())]
    if len(found) != 1:
        many = f"{len(found)} entries" if found else "no entry"
        raise UserValueError(
            f"The store '{root}' has {many} whose key begins with '{prefix}'; see ferrule cache ls."
        )
    return found[0]

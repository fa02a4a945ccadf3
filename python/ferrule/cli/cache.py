"""`ferrule cache ...`."""

from __future__ import annotations

import argparse
import difflib
from typing import Any

from ferrule import _rt, session
from ferrule.cli.entries import StoredEntry, entries, find
from ferrule.cli.output import age_text, bold, print_json, print_table, seconds_text, size_text
from ferrule.errors import UserValueError


def path(options: argparse.Namespace) -> int:
    """Print the root of the store, or the folder of one entry."""
    root = session.store().root
    place = find(root, options.key).folder if options.key else root
    print_json({"path": place}) if options.json else print(place)
    return 0


_ORDER: dict[str, Any] = {
    "age": lambda entry: -entry.built,
    "name": lambda entry: entry.name,
    "size": lambda entry: -entry.size,
    "seconds": lambda entry: -entry.local.get("seconds", 0.0),
}


def _row(entry: StoredEntry) -> dict[str, Any]:
    row: dict[str, Any] = {
        "key": entry.key,
        "bytes": entry.size,
        "built": entry.built,
        "folder": entry.folder,
    }
    if entry.problem:
        return {**row, "problem": entry.problem}
    made = dict(entry.manifest["ingredients"])
    return {
        **row,
        "name": entry.name,
        "target": made.get("target", ""),
        "mode": made.get("mode", ""),
        "compiler": made.get("compiler version", ""),
        "compiler_seconds": entry.local.get("seconds"),
    }


def ls(options: argparse.Namespace) -> int:
    """List the entries of the store."""
    root = session.store().root
    found = [entry for entry in entries(root) if (options.name or "") in entry.name]
    found.sort(key=_ORDER[options.sort])
    rows = [_row(entry) for entry in found]
    if options.json:
        print_json(rows)
        return 0
    cells = []
    for row in rows:
        seconds = row.get("compiler_seconds")
        cells.append(
            [
                row["key"][:12],
                row.get("name", f"({row.get('problem')})"),
                row.get("target", ""),
                row.get("mode", ""),
                size_text(row["bytes"]),
                seconds_text(seconds) if isinstance(seconds, (int, float)) else "",
                age_text(row["built"]),
            ]
        )
    headings = ("key", "program", "target", "mode", "size", "compiler", "age")
    print_table(headings, cells, right=("size", "compiler", "age"))
    print(f"{len(rows)} entries, {size_text(sum(row['bytes'] for row in rows))} in {root}")
    return 0


def _sound(root: str, key: str) -> StoredEntry:
    entry = find(root, key)
    if entry.problem:
        raise UserValueError(f"The entry '{entry.key[:12]}' cannot be compared: {entry.problem}.")
    return entry


def _likeness(one: StoredEntry, other: StoredEntry) -> tuple[int, float]:
    """Larger for what agrees in more ingredients, and then for what was built at about the same time."""
    theirs = dict(other.ingredients)
    same = sum(theirs.get(name) == value for name, value in one.ingredients)
    return same, -abs(one.built - other.built)


def _other(root: str, entry: StoredEntry) -> StoredEntry:
    others = [e for e in entries(root) if not e.problem and e.name == entry.name and e.key != entry.key]
    if not others:
        raise UserValueError(
            f"No other entry of the store '{root}' is named '{entry.name}'; name a second KEY."
        )
    return max(others, key=lambda e: _likeness(entry, e))


def _difference(before: str, after: str) -> list[str]:
    if "\n" not in before + after and len(before) + len(after) < 160:
        return [f"- {before}", f"+ {after}"]
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2)
    return [line for line in lines if not line.startswith(("---", "+++"))]


def why(options: argparse.Namespace) -> int:
    """Say in which ingredients two entries differ, the older one first."""
    root = session.store().root
    entry = _sound(root, options.key)
    other = _sound(root, options.other) if options.other else _other(root, entry)
    older, newer = sorted((entry, other), key=lambda e: e.built)
    changes = _rt.changes_between(older.ingredients, newer.ingredients)
    if options.json:
        rows = [{"ingredient": name, "before": before, "after": after} for name, before, after in changes]
        print_json({"before": older.key, "after": newer.key, "changes": rows})
        return 0
    print(f"- {older.key[:12]} '{older.name}', {age_text(older.built)} old")
    print(f"+ {newer.key[:12]} '{newer.name}', {age_text(newer.built)} old")
    for name, before, after in changes:
        print(f"\n{bold(name)}")
        for line in _difference(before, after):
            print(f"  {line}")
    if not changes:
        print("\nThey are the same entry.")
    return 0

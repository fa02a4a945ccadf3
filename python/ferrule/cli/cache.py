"""`ferrule cache ...`."""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import re
from dataclasses import replace
from typing import Any

from ferrule import session
from ferrule.cli.differences import changes, reasons, sentence
from ferrule.cli.entries import StoredEntry, entries, find
from ferrule.cli.output import age_text, bold, print_json, print_table, seconds_text, size_text
from ferrule.errors import UserValueError
from ferrule.store import Store


def path(options: argparse.Namespace) -> int:
    """Print the root of the store, or the folder of one entry."""
    root = session.store().root
    place = find(root, options.key).folder if options.key else root
    print_json({"path": place}) if options.json else print(place)
    return 0


_ORDER: dict[str, Any] = {
    "age": lambda entry: -entry.built,
    "used": lambda entry: -(entry.used or entry.built),
    "name": lambda entry: entry.name,
    "size": lambda entry: -entry.size,
    "seconds": lambda entry: -entry.local.get("seconds", 0.0),
}


def _row(entry: StoredEntry) -> dict[str, Any]:
    row: dict[str, Any] = {
        "key": entry.key,
        "bytes": entry.size,
        "built": entry.built,
        "used": entry.used,
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
    used = {entry.key: float(entry.used) for entry in Store().entries()}
    found = [replace(e, used=used.get(e.key)) for e in entries(root) if (options.name or "") in e.name]
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
                age_text(row["used"]) if row["used"] else "",
            ]
        )
    headings = ("key", "program", "target", "mode", "size", "compiler", "age", "used")
    print_table(headings, cells, right=("size", "compiler", "age", "used"))
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
    found = changes(older, newer)
    if options.json:
        rows = [change._asdict() for change in found]
        print_json({"before": older.key, "after": newer.key, "summary": sentence(found), "changes": rows})
        return 0
    print(f"- {older.key[:12]} '{older.name}', {age_text(older.built)} old")
    print(f"+ {newer.key[:12]} '{newer.name}', {age_text(newer.built)} old")
    print(f"\n{sentence(found)}")
    for name, before, after in reasons(found):
        print(f"\n{bold(name)}")
        for line in _difference(before, after):
            print(f"  {line}")
    return 0


def verify(options: argparse.Namespace) -> int:
    """Read every file of the store; 1 where something in it is not as its manifest says."""
    result = Store().verify(repair=options.repair)
    if options.json:
        print_json({**dataclasses.asdict(result), "sound": result.sound})
    else:
        for finding in result.findings:
            print(
                f"{finding.kind}: {finding.path}: {finding.problem}{' (removed)' if finding.removed else ''}"
            )
        print(
            f"{result.entries} sound entries, {result.records} sound records, {len(result.findings)} findings"
        )
    return 0 if all(finding.removed or finding.kind == "rubbish" for finding in result.findings) else 1


_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SPANS = {"s": 1, "min": 60, "h": 3600, "d": 86400, "w": 604800}


def _bytes(text: str) -> int:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", text.lower())
    if match is None:
        raise UserValueError(f"'{text}' is no size; write for example 500M or 2G.")
    return int(float(match[1]) * _UNITS[match[2]])


def _span(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|min|h|d|w)", text.lower())
    if match is None:
        raise UserValueError(f"'{text}' is no span of time; write for example 30d, 12h, 5min.")
    return float(match[1]) * _SPANS[match[2]]


def prune(options: argparse.Namespace) -> int:
    """Remove entries that were not used for long."""
    if options.max_size is None and options.older_than is None:
        raise UserValueError("Nothing says what may go: give --max-size, --older-than or both.")
    size = None if options.max_size is None else _bytes(options.max_size)
    age = None if options.older_than is None else _span(options.older_than)
    result = Store().prune(max_bytes=size, older_than=age)
    if options.json:
        print_json(dataclasses.asdict(result))
    else:
        print(
            f"removed {result.entries} entries and {result.records} records, {size_text(result.freed)};"
            f" {size_text(result.left)} are left"
        )
    return 0


def _print_archived(options: argparse.Namespace, done: str, archived: Any) -> int:
    if options.json:
        print_json(dataclasses.asdict(archived))
    else:
        print(f"{done} {archived.entries} entries and {archived.records} records")
    return 0


def export(options: argparse.Namespace) -> int:
    """Write entries into one file."""
    return _print_archived(options, "wrote", Store().export(options.file, options.keys))


def import_(options: argparse.Namespace) -> int:
    """Take over what `export` wrote."""
    return _print_archived(options, "took over", Store().import_(options.file))

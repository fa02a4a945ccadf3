"""Warm records: what lets a new process find a function's modules without tracing it.

A record's key covers the function's code, the options, the configuration, the compiler's and the runtime's files, and
the kinds of the arguments. Its specialisations carry what else must hold: digests of the functions that the trace
called and values of the globals that it read. A record is validated without tracing; anything unexpected is a miss.
"""

from __future__ import annotations

import json
import os
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ferrule import _rt
from ferrule.dtypes import annotations_text
from ferrule.session import BuildSettings, include_dir
from ferrule.values import MISSING, Unrecordable, code_text, read_path, value_text

SCHEMA = 4
_PACKAGE = os.path.dirname(os.path.realpath(__file__))


def _stamps(files: Iterable[str]) -> str:
    """Names, sizes and times of files: cheap, and changed by every edit."""
    out = []
    for file in sorted(files):
        stat = os.stat(file)
        out.append(f"{os.path.basename(file)}:{stat.st_size}:{stat.st_mtime_ns}")
    return ",".join(out)


def _files(folder: str, suffix: str | tuple[str, ...]) -> list[str]:
    return [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(suffix)]


def _installation() -> str:
    """Stamps of Ferrule's own files: its Python sources, the native compiler and the headers of emitted code."""
    headers = os.path.join(include_dir(), "ferrule")
    return "|".join(
        (
            _stamps(_files(os.path.join(_PACKAGE, "capture"), ".py")),
            _stamps(_files(_PACKAGE, (".py", ".so"))),
            _stamps(_files(headers, ".h") + _files(os.path.join(headers, "rt"), ".h")),
        )
    )


def record_key(fn: Callable[..., Any], options: str, settings: BuildSettings, arguments: str) -> str | None:
    """The key of the record of `fn` for arguments of these kinds; None where the function cannot be recorded."""
    try:
        defaults = value_text(fn.__defaults__ or ()) + value_text(fn.__kwdefaults__ or {})
    except Unrecordable:
        return None
    parts = (
        ("schema", str(SCHEMA)),
        ("python", f"{sys.implementation.cache_tag}"),
        ("numpy", np.__version__),
        ("code", code_text(fn.__code__)),
        ("name", fn.__qualname__),
        ("defaults", defaults),
        ("annotations", annotations_text(fn)),
        ("options", options),
        # Which compiler is no part of it: a record says whose it is, and where there is none any will do.
        ("settings", repr(replace(settings, compiler=""))),
        ("passes", os.environ.get("FERRULE_PASSES_OFF", "")),
        ("installation", _installation()),
        ("arguments", arguments),
    )
    return str(_rt.digest_of(list(parts)))


@dataclass(frozen=True)
class Read:
    """A global or closure variable that a trace read."""

    place: str  # "global:<module>" or "cell:<index>", with the module "" for the function's own
    name: str  # dotted
    text: str  # value_text then


@dataclass(frozen=True)
class Record:
    """One specialisation in a record."""

    entry: str  # key of the artifact
    reads: tuple[Read, ...]
    hidden: tuple[tuple[str, str], ...]  # place and name of each global array
    statics: tuple[tuple[str, str], ...]  # names and value_text of static arguments
    sites: tuple[tuple[str, str], ...]
    toolchain: str  # identity of the C++ compiler, empty where it was not found
    overlap_only: bool  # taken only by calls in which a written array overlaps another
    structure: Any  # as ferrule.results.assembler takes it
    file: str = ""  # of the function, whose folder is part of `sites`
    lines: str = ""  # digest of the lines of all functions read; empty where no error of a run names one


def place_of(fn: Callable[..., Any], owner: Any) -> str:
    """Where `owner` (a globals dict or a closure cell) is found again in another process."""
    if owner is fn.__globals__:
        return "global:"
    for index, cell in enumerate(fn.__closure__ or ()):
        if cell is owner:
            return f"cell:{index}"
    if isinstance(owner, dict):
        name = owner.get("__name__")
        module = sys.modules.get(name) if isinstance(name, str) else None
        if module is not None and module.__dict__ is owner:
            return f"global:{name}"
    raise Unrecordable("a closure of another function")


def find_place(fn: Callable[..., Any], place: str) -> Any:
    """The dict or cell at a place; None where this process does not have it."""
    kind, _, where = place.partition(":")
    if kind == "cell":
        cells = fn.__closure__ or ()
        return cells[int(where)] if int(where) < len(cells) else None
    if not where:
        return fn.__globals__
    module = sys.modules.get(where)
    return None if module is None else module.__dict__


def lines_of(fn: Callable[..., Any], values: Iterable[Any]) -> str:
    """Digest of where the code of a function stands in its file, and that of the functions among some values."""
    functions: list[Any] = [fn, *(value for value in values if isinstance(value, types.FunctionType))]
    return str(_rt.sha256_hex("\n".join(_lines(each.__code__) for each in functions).encode()))


def _lines(code: types.CodeType) -> str:
    inner = [_lines(constant) for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return f"{code.co_firstlineno}:{code.co_linetable.hex()}:{inner}"


def sites_here(fn: Callable[..., Any], record: Record) -> tuple[tuple[str, str], ...]:
    """The sites of a record where the function's folder is another now."""
    before, now = (os.path.join(os.path.dirname(file), "") for file in (record.file, fn.__code__.co_filename))
    if not record.file or before == now:
        return record.sites
    return tuple((location.replace(before, now), what) for location, what in record.sites)


def holds(fn: Callable[..., Any], record: Record) -> bool:
    """Whether everything that the record's trace read is as it was."""
    values = []
    for read in record.reads:
        owner = find_place(fn, read.place)
        if owner is None:
            return False
        try:
            lacks = type(owner) is dict and read.name not in owner and "." not in read.name
            value = MISSING if lacks else read_path(owner, read.name)
            if value_text(value) != read.text:
                return False
            values.append(value)
        except (Unrecordable, LookupError, AttributeError, ValueError):
            return False
    return record.lines in ("", lines_of(fn, values))


def with_record(records: Iterable[Record], record: Record) -> tuple[Record, ...]:
    """The records with one more, which takes the place of one that differs in lines and folders alone."""

    def elsewhere(each: Record) -> Record:
        return replace(each, sites=(), file="", lines="")

    return (*(each for each in records if elsewhere(each) != elsewhere(record)), record)


def to_json(records: Iterable[Record]) -> str:
    """Text of records, as the store keeps it."""
    rows = [
        {
            "entry": r.entry,
            "reads": [[x.place, x.name, x.text] for x in r.reads],
            "hidden": [list(x) for x in r.hidden],
            "statics": [list(x) for x in r.statics],
            "sites": [list(x) for x in r.sites],
            "toolchain": r.toolchain,
            "overlap_only": r.overlap_only,
            "structure": r.structure,
            "file": r.file,
            "lines": r.lines,
        }
        for r in records
    ]
    return json.dumps({"schema": SCHEMA, "records": rows})


def from_json(text: str) -> tuple[Record, ...]:
    """Records of a text; none where it is not one of ours."""
    try:
        data: Mapping[str, Any] = json.loads(text)
        if data["schema"] != SCHEMA:
            return ()
        return tuple(
            Record(
                entry=row["entry"],
                reads=tuple(Read(*x) for x in row["reads"]),
                hidden=tuple((x[0], x[1]) for x in row["hidden"]),
                statics=tuple((x[0], x[1]) for x in row["statics"]),
                sites=tuple((x[0], x[1]) for x in row["sites"]),
                toolchain=row["toolchain"],
                overlap_only=row["overlap_only"],
                structure=row["structure"],
                file=row["file"],
                lines=row["lines"],
            )
            for row in data["records"]
        )
    except (ValueError, KeyError, TypeError, IndexError):
        return ()

"""Warm records: what lets a new process find a function's modules without tracing it.

A record's key covers the function's code, the options, the configuration, the compiler's and the runtime's files, and
the kinds of the arguments. Its specialisations carry what else must hold: digests of the functions that the trace
called and values of the globals that it read. A record is validated without tracing; anything unexpected is a miss.
"""

from __future__ import annotations

import array
import collections
import copy
import enum
import inspect
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

SCHEMA = 4
_PACKAGE = os.path.dirname(os.path.realpath(__file__))
_NUMBERS = (bool, int, float, complex, str, bytes, type(None))


MISSING: Any = object()  # the value of a name that a dict lacks


class Unrecordable(Exception):
    """A value that no text can tell apart from others in another process."""


def qualified(named: Any) -> str:
    """Module and name of a class or function; a script has one name, also in the processes that it spawns."""
    module = "__main__" if named.__module__ == "__mp_main__" else named.__module__
    return f"{module}.{named.__qualname__}"


def code_text(code: types.CodeType) -> str:
    """What a function does, blind to file names and lines; nested functions included."""
    parts = [
        code.co_code.hex(),
        repr(code.co_names),
        repr(code.co_varnames),
        repr(code.co_freevars),
        repr(code.co_flags & ~inspect.CO_NESTED),
        repr((code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)),
        getattr(code, "co_exceptiontable", b"").hex(),
    ]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            parts.append(code_text(constant))
        elif isinstance(constant, frozenset):
            parts.append(repr(sorted(map(repr, constant))))
        else:
            parts.append(f"{type(constant).__name__}:{constant!r}")
    return "\n".join(parts)


def value_text(value: Any) -> str:
    """A text that is equal in every process exactly for equal values. Raises Unrecordable where there is none."""
    if value is MISSING:
        return "missing"
    if type(value) is int and value.bit_length() > 256:
        return f"int:{value:#x}"  # Python refuses to write out the longest in tens
    if type(value) in _NUMBERS:
        return f"{type(value).__name__}:{value!r}"
    if isinstance(value, np.generic):
        return f"{value.dtype.str}:{value.tobytes().hex()}"
    if type(value) is np.ndarray and not value.dtype.hasobject:
        kind = value_text(value.dtype), value.shape, value.strides
        return f"array:{kind}:{_rt.sha256_hex(value.tobytes())}"
    if isinstance(value, enum.Enum):
        return f"enum:{qualified(type(value))}.{value.name}={value_text(value.value)}"
    if isinstance(value, np.dtype):
        return f"dtype:{value.descr if value.names else value.str}"
    if type(value) in (tuple, list):
        return f"{type(value).__name__}({','.join(map(value_text, value))})"
    if type(value) is dict:
        return "dict(" + ",".join(f"{value_text(k)}={value_text(v)}" for k, v in value.items()) + ")"
    if isinstance(value, types.FunctionType):
        defaults = value_text(value.__defaults__ or ()) + value_text(value.__kwdefaults__ or {})
        return f"function:{qualified(value)}:{_rt.sha256_hex(code_text(value.__code__).encode())}:{defaults}"
    if isinstance(value, types.ModuleType):
        return f"module:{value.__name__}"
    if isinstance(value, types.BuiltinFunctionType) and isinstance(
        value.__self__, (types.ModuleType, type(None))
    ):
        return f"builtin:{qualified(value)}"
    if isinstance(value, np.ufunc) and vars(np).get(name := str(value.__name__)) is value:
        return f"ufunc:{name}"
    if isinstance(value, type(np.where)):
        return f"dispatcher:{qualified(value)}"
    if isinstance(value, type):
        from ferrule.class_text import class_text

        return f"type:{_rt.sha256_hex(class_text(value).encode())}"
    raise Unrecordable(qualified(type(value)))


def snapshot(value: Any) -> Any:
    """The value, or a copy of a container, whose content may change behind its name."""
    kind = type(value)
    if kind is dict:
        return {key: snapshot(item) for key, item in value.items()}
    if kind in (list, set, tuple):
        return kind(map(snapshot, value))
    if isinstance(value, dict) and kind.__module__ == "collections":
        made = copy.copy(value)
        made.update((key, snapshot(item)) for key, item in value.items())
        return made
    if kind is collections.deque:
        return collections.deque(map(snapshot, value), value.maxlen)
    return copy.copy(value) if kind in (bytearray, array.array) else value


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
    lines: str = (
        ""  # digest of the lines of all functions that were read; empty where no error of a run names one
    )


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


def read_path(owner: Any, path: str) -> Any:
    """The value of a dotted name from its dict, cell or object. Raises LookupError, AttributeError or ValueError."""
    root, *rest = path.split(".")
    if isinstance(owner, types.CellType):
        value = owner.cell_contents
    else:
        value = owner[root] if type(owner) is dict else getattr(owner, root)
    for name in rest:
        value = getattr(value, name)
    return value


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

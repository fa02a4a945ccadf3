"""What a pickled function brings along: the records of its specialisations and their artifacts, as one text of bytes.

A record in the store is found by all that decides whether this installation would compile the same again. One that
travels is found by what the function is called with and by its options alone: the function comes with it, and what it
was compiled to elsewhere is what it means.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ferrule import _rt, warm
from ferrule.artifact import Artifact, portable_sites
from ferrule.dtypes import annotations_text
from ferrule.session import BuildSettings
from ferrule.values import Unrecordable, code_text, value_text

_SCHEMA = 1


@dataclass(frozen=True)
class Carried:
    """One specialisation that a pickle carries."""

    key: str  # `call_key` of the calls that it is for
    record: warm.Record
    artifact: Artifact

    @property
    def identity(self) -> tuple[str, str]:
        """What tells it from others."""
        return self.key, self.record.entry


def call_key(fn: Callable[..., Any], options: str, settings: BuildSettings, arguments: str) -> str | None:
    """What a carried specialisation is found by; None where the function's defaults have no text."""
    try:
        defaults = value_text(fn.__defaults__ or ()) + value_text(fn.__kwdefaults__ or {})
    except Unrecordable:
        return None
    parts = (
        ("defaults", defaults),
        ("annotations", annotations_text(fn)),
        ("options", options),
        ("settings", repr((settings.target, settings.mode, settings.flags))),
        ("arguments", arguments),
    )
    return str(_rt.digest_of(list(parts)))


def code_digest(fn: Callable[..., Any]) -> str:
    """Digest of a function's code in this Python version."""
    text = f"{sys.implementation.cache_tag}\n{code_text(fn.__code__)}"
    return str(_rt.sha256_hex(text.encode()))


def others(carried: Iterable[Carried], known: Iterable[Carried]) -> list[Carried]:
    """What of `carried` is not known by its key and artifact."""
    seen = {each.identity for each in known}
    return [each for each in carried if each.identity not in seen]


def to_bytes(carried: Sequence[Carried]) -> bytes:
    """One text for a pickle: equal specialisations give equal bytes in any process."""
    parts = [each.artifact.to_pickle() for each in carried]
    rows = [
        [each.key, warm.to_json([_portable(each.record)]), len(part)]
        for each, part in zip(carried, parts, strict=True)
    ]
    head = json.dumps({"schema": _SCHEMA, "rows": rows}).encode()
    return b"\n".join((head, b"".join(parts)))


def from_bytes(data: bytes) -> list[Carried]:
    """What `to_bytes` was given; nothing where another version of Ferrule wrote it."""
    head, _, rest = data.partition(b"\n")
    table = json.loads(head)
    if table["schema"] != _SCHEMA:
        return []
    found = []
    for key, text, length in table["rows"]:
        part, rest = rest[:length], rest[length:]
        for record in warm.from_json(text):
            found.append(Carried(key, record, Artifact.from_pickle(part, record.sites)))
    return found


def _portable(record: warm.Record) -> warm.Record:
    """The record without the maker's folders and compiler."""
    from dataclasses import replace

    return replace(record, sites=portable_sites(record.sites), toolchain="", file="", lines="")

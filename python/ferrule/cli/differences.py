"""What differs between two entries, for people: one sentence, then the ingredients in which they do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from ferrule import _rt
from ferrule.cli.entries import StoredEntry

# What each ingredient is called in the sentence.
_NAMES = {
    "program: schema": "the layout of the store",
    "program: program": "the program",
    "program: signature": "the signature",
    "program: options": "options of the program",
    "program: compiler sources": "Ferrule's own sources",
    "schema": "the layout of the store",
    "source": "the emitted source",
    "binding": "the binding",
    "compiler version": "the C++ compiler",
    "compiler identity": "the C++ compiler",
    "flags": "flags of the C++ compiler",
    "target": "the target",
    "features": "the target",
    "mode": "the build mode",
    "sanitize": "the sanitizer",
    "runtime headers": "the headers of emitted code",
    "triplet": "the platform",
    "libc": "the C library",
}
# What changes with another ingredient, and is no reason of its own then.
_FOLLOWS = {
    "source": ("program: program", "program: signature", "program: options", "program: compiler sources"),
    "binding": ("program: program", "program: signature"),
    "flags": ("mode", "target", "features", "sanitize"),
}


class Change(NamedTuple):
    """An ingredient that differs."""

    ingredient: str
    before: str
    after: str


def changes(older: StoredEntry, newer: StoredEntry) -> list[Change]:
    """All ingredients that differ, with their whole texts."""
    return [Change(*each) for each in _rt.changes_between(_whole(older), _whole(newer))]


def reasons(found: Sequence[Change]) -> list[Change]:
    """Those that do not just follow from others."""
    names = {change.ingredient for change in found}
    return [change for change in found if not names.intersection(_FOLLOWS.get(change.ingredient, ()))]


def sentence(found: Sequence[Change]) -> str:
    """What differs, in one sentence."""
    if not found:
        return "They are the same entry."
    names = list(dict.fromkeys(_NAMES.get(each.ingredient, each.ingredient) for each in reasons(found)))
    if names == ["the emitted source"]:
        return "Only the text of the source differs."
    *rest, last = names
    text = f"{', '.join(rest)} and {last}" if rest else f"only {last}"
    plural = rest or last.endswith(
        ("sources", "flags of the C++ compiler", "headers of emitted code", "options of the program")
    )
    return f"{text[0].upper()}{text[1:]} {'differ' if plural else 'differs'}."


def _whole(entry: StoredEntry) -> list[tuple[str, str]]:
    """The ingredients, long ones as what their digests are of where the manifest has it."""
    binding = entry.manifest["binding"]
    content = json.loads(binding) if isinstance(binding, str) else binding
    program = content.get("program")
    texts = {
        "binding": json.dumps(
            {**content, **({"program": "..."} if program else {})}, indent=1, sort_keys=True
        )
    }
    if program:
        texts["program: program"] = program
    return [(name, texts.get(name, value)) for name, value in entry.ingredients]

"""Why each specialisation of a function was made: what differed from the nearest one before it, in one sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ferrule.artifact import Artifact
from ferrule.builds import Build
from ferrule.values import Unrecordable, qualified, value_text

_GUARD = re.compile(r'^guard .* "(.*)"$', re.MULTILINE)
_LONGEST = 160


class Origin(NamedTuple):
    """What a specialisation was made for."""

    call: str  # the arguments, as one text
    facts: dict[
        str, str
    ]  # of arguments, variables, options and settings, by what they are called in a sentence
    sizes: str  # of the call that asked for it: what guards compare
    artifact: Artifact


def origin(
    call: str,
    bound: Mapping[str, Any],
    statics: Mapping[str, Any],
    reads: Iterable[tuple[str, str]],
    hidden: Iterable[tuple[Any, Any]],
    overlapping: bool,
    build: Build,
    artifact: Artifact,
) -> Origin:
    """From the arguments by name, those that are static, variables with their texts, places of global arrays."""
    facts: dict[str, str] = {}
    sizes = []
    for name, value in bound.items():
        if name in statics:
            facts[f"the static '{name}'"] = text_of(value)
            continue
        facts |= _kind(f"'{name}'", value)
        if isinstance(value, np.ndarray):
            sizes.append(f"{name}.shape = {value.shape}")
        elif isinstance(value, (int, float, np.generic)) and not isinstance(value, bool):
            sizes.append(f"{name} = {value}")
    for name, text in reads:
        facts[f"the variable '{name}'"] = text
    for container, key in hidden:
        try:
            value = container[key] if isinstance(container, dict) else container.cell_contents
        except (LookupError, ValueError):
            continue
        facts |= _kind(f"the global '{key}'", value)
    facts["written memory"] = "overlapping" if overlapping else "disjoint"
    facts |= {f"'{name}'": text or "empty" for name, text in build.facts}
    named = next((text for text in build.compiler[:2] if text), "the one on PATH")
    facts["the C++ compiler"] = f"{named} ({build.toolchain[:12]})" if build.toolchain else named
    return Origin(call, facts, ", ".join(sizes), artifact)


def sentences(origins: Sequence[Origin]) -> list[str]:
    """A sentence for each."""
    return [
        f"the first one, for {each.call}" if not index else _why(each, origins[:index])
        for index, each in enumerate(origins)
    ]


def _why(made: Origin, before: Sequence[Origin]) -> str:
    changed = [_changes(other.facts, made.facts) for other in before]
    nearest = min(range(len(before)), key=lambda index: (len(changed[index]), -index))
    if changed[nearest]:
        return f"{'; '.join(changed[nearest])} (as in specialisation {nearest})"
    own = _guards(made.artifact)
    needs = [guard for guard in _guards(before[nearest].artifact) if guard not in own]
    if needs:
        return f"specialisation {nearest} takes only calls with {' and '.join(needs)}, here {made.sizes or 'they do not hold'}"
    if made.sizes != before[nearest].sizes:
        return f"specialisation {nearest} was made for {before[nearest].sizes} and does not take {made.sizes}"
    return f"what specialisation {nearest} had read of lists, dicts or objects has changed"


def _changes(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    gone = [name for name in before if name not in after]
    # What only arrays have follows from what the argument is.
    names = [name for name in (*after, *gone) if " of " not in name or (name in before and name in after)]
    return [
        f"{name} is {_short(after.get(name, 'not used'))}, not {_short(before.get(name, 'not used'))}"
        for name in names
        if before.get(name) != after.get(name)
    ]


def _kind(name: str, value: Any) -> dict[str, str]:
    if not isinstance(value, np.ndarray):
        by_value = isinstance(value, (bool, str, type(None)))
        kind = repr(value) if by_value else str(getattr(value, "dtype", type(value).__name__))
        return {name: f"NumPy's {kind}" if isinstance(value, np.generic) else kind}
    layout = "C" if value.flags.c_contiguous else "F" if value.flags.f_contiguous else "strided"
    return {
        name: "an array",
        f"the dtype of {name}": str(value.dtype),
        f"the rank of {name}": str(value.ndim),
        f"the layout of {name}": layout,
        f"the memory of {name}": "writable" if value.flags.writeable else "read-only",
    }


def text_of(value: Any) -> str:
    """A value as it is compared within this process."""
    try:
        return value_text(value)
    except Unrecordable:
        return f"{qualified(type(value))} at {id(value):#x}"


def _short(text: str) -> str:
    kind, colon, rest = text.partition(":")
    shown = (
        rest if colon and kind in ("int", "float", "complex", "str", "bytes", "bool", "NoneType") else text
    )
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 3]}..."


def _guards(artifact: Artifact) -> list[str]:
    return _GUARD.findall(artifact._binding().get("program", ""))

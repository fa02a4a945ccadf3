"""The warm records of one function: those of the store, and those that a pickle brought along."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ferrule import carried, session, warm
from ferrule.artifact import Artifact
from ferrule.carried import Carried
from ferrule.options import Options
from ferrule.session import BuildSettings
from ferrule.values import Unrecordable, value_text


class Keys(NamedTuple):
    """What the records of calls with arguments of some kinds are found by."""

    record: str  # in the store: whatever decides whether this installation would compile the same
    call: str  # in a pickle: what the call is made with


class Records:
    """What is known of a function's specialisations without a capture. Its user holds the function's lock."""

    __slots__ = ("_carried", "_fn", "_options", "_tried")

    def __init__(self, fn: Callable[..., Any], options: Options) -> None:
        self._fn = fn
        self._options = options
        self._tried: dict[Keys, tuple[warm.Record, ...]] = {}
        self._carried: list[Carried] = []

    def keys(self, settings: BuildSettings, kinds: str | None) -> Keys | None:
        """What records of calls with such arguments are found by; None where they or the function cannot be recorded."""
        if kinds is None:
            return None
        options = self._options.text()
        record = warm.record_key(self._fn, options, settings, kinds)
        if record is None:
            return None
        return Keys(record, carried.call_key(self._fn, options, settings, kinds) or "")

    def known(self, keys: Keys) -> tuple[warm.Record, ...]:
        """The records of the store and of a pickle."""
        stored = _stored(keys)
        entries = {record.entry for record in stored}
        brought = [each.record for each in self._carried if each.key == keys.call]
        return (*stored, *(record for record in brought if record.entry not in entries))

    def untried(self, keys: Keys) -> tuple[warm.Record, ...]:
        """The known ones, but for those that were asked for before."""
        if keys in self._tried:
            return ()
        found = self.known(keys)
        if found:  # nothing is remembered of calls that are refused, each with another text, say
            self._tried[keys] = found
        return found

    def note(self, keys: Keys, records: tuple[warm.Record, ...]) -> None:
        """Takes records for all that there are."""
        self._tried[keys] = records

    def keep(self, keys: Keys, record: warm.Record, known: Iterable[warm.Record] | None = None) -> None:
        """Adds a record to the known ones (where they are not given, to those that were tried), here and in the store."""
        records = warm.with_record(self._tried.get(keys, ()) if known is None else known, record)
        self._tried[keys] = records
        session.store().write_warm(keys.record, warm.to_json(records))

    def carried_value(self, entry: str) -> Any:
        """What a pickle brought under the key of an artifact."""
        return next((each.artifact._value for each in self._carried if each.record.entry == entry), None)

    def to_carry(self, artifacts: Iterable[Artifact]) -> list[Carried]:
        """The records of artifacts, for a pickle, and those that another pickle brought."""
        by_key = {artifact.key: artifact for artifact in artifacts}
        own = [
            Carried(keys.call, record, by_key[record.entry])
            for keys, records in self._tried.items()
            for record in records
            if record.entry in by_key
        ]
        return [*own, *carried.others(self._carried, own)]

    def carry(self, brought: list[Carried], artifacts: Iterable[Artifact]) -> None:
        """Takes up what a pickle brought along, for calls that find nothing in the store."""
        known = self.to_carry(artifacts)
        new = carried.others(brought, known)
        self._carried = [*known, *new]
        calls = {each.key for each in new}
        for keys in [keys for keys in self._tried if keys.call in calls]:
            del self._tried[keys]

    def forget(self, entry: str) -> None:
        """Lets calls ask again for the records of an artifact."""
        for keys, records in [*self._tried.items()]:
            if any(record.entry == entry for record in records):
                del self._tried[keys]


def _stored(keys: Keys) -> tuple[warm.Record, ...]:
    return warm.from_json(session.store().read_warm(keys.record) or "")


def add_to_store(keys: Keys, record: warm.Record) -> None:
    """Adds a record for other processes alone."""
    known = _stored(keys)
    if record not in known:
        session.store().write_warm(keys.record, warm.to_json(warm.with_record(known, record)))


def record_of(
    fn: Callable[..., Any], captured: Any, sites: tuple[tuple[str, str], ...], overlap_only: bool
) -> warm.Record | None:
    """The record of a specialisation, but for its entry and toolchain; None where something it read cannot be told apart
    in a new process."""
    if captured.watched:
        return None
    try:
        reads = tuple(
            warm.Read(warm.place_of(fn, r.owner), r.name, value_text(r.value)) for r in captured.globals_read
        )
        hidden = tuple((warm.place_of(fn, info.path[0]), info.path[1]) for info in captured.hidden)
        static = [info for info in captured.arguments if info.kind == "static"]
        fixed = tuple((info.name, value_text(info.static)) for info in static)
    except Unrecordable:
        return None
    may_fail = any(what for _, what in sites)  # errors of runs name lines
    lines = warm.lines_of(fn, [r.value for r in captured.globals_read]) if may_fail else ""
    file = fn.__code__.co_filename
    return warm.Record("", reads, hidden, fixed, sites, "", overlap_only, captured.structure, file, lines)

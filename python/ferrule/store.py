"""The store as people see it: what it holds, whether that is sound, and how it is made smaller or carried elsewhere."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass

from ferrule import _rt, session
from ferrule.artifact import Artifact
from ferrule.config import setting
from ferrule.errors import UserValueError


@dataclass(frozen=True)
class StoreEntry:
    """One compiled program in a store, not verified; `used` is in seconds since 1970, right to an hour."""

    key: str
    name: str
    bytes: int
    used: int
    problem: str


@dataclass(frozen=True)
class StoreFinding:
    """Something in a store's folder that should not be there.

    `kind` is "damaged" (an entry or record that readers refuse), "foreign" (not of the store), "rubbish" (left by a
    process that has ended) or "untrusted" (the folder itself: others could have written to it).
    """

    kind: str
    path: str
    problem: str
    removed: bool


@dataclass(frozen=True)
class Verification:
    """How many entries and warm records are sound, and all else that was found."""

    entries: int
    records: int
    findings: tuple[StoreFinding, ...]

    @property
    def sound(self) -> bool:
        """True where nothing is damaged, foreign or untrusted; rubbish of killed processes does no harm."""
        return all(finding.kind == "rubbish" for finding in self.findings)


@dataclass(frozen=True)
class Pruned:
    """Entries and warm records that were removed, the bytes that they had, and the bytes that are left."""

    entries: int
    records: int
    freed: int
    left: int


@dataclass(frozen=True)
class Archived:
    """Entries and warm records that went into an archive or came out of it."""

    entries: int
    records: int


class Store:
    """A folder of compiled programs; without a root the one that this process uses.

    Everything here is safe while other processes read and write the same folder.
    """

    def __init__(self, root: str | os.PathLike[str] | None = None, *, read_only: bool = False) -> None:
        if root is None and not read_only:
            self._store: _rt.Store = session.store()
        else:
            path = root or setting("cache_dir") or _rt.default_store_root()
            path = os.path.abspath(os.fspath(path)) if path else ""
            self._store = _rt.Store(path, read_only=read_only)

    @property
    def root(self) -> str:
        """The folder."""
        return self._store.root

    def entries(self) -> list[StoreEntry]:
        """The programs in this store, by key."""
        return [StoreEntry(**item) for item in self._store.entries()]

    def get(self, key: str) -> Artifact | None:
        """The artifact with a key, or with the beginning of one; None where the store has no sound entry."""
        full = self._full_key(key)
        value = self._store.get(full) if full else None
        return Artifact(value) if value is not None else None

    def ingredients(self, key: str) -> list[tuple[str, str]]:
        """What the key of an entry was made of: ordered pairs of name and value. Raises UserValueError without entry."""
        artifact = self.get(key)
        if artifact is None:
            raise UserValueError(f"The store '{self.root}' has no sound entry '{key}'.")
        return [(name, value) for name, value in json.loads(artifact.manifest)["ingredients"]]

    def verify(self, *, repair: bool = False) -> Verification:
        """Read every file and compare it with the manifests; `repair` removes what is damaged, foreign or rubbish."""
        found = self._store.verify(repair=repair)
        findings = tuple(StoreFinding(**item) for item in found["findings"])
        return Verification(found["entries"], found["records"], findings)

    def prune(self, *, max_bytes: int | None = None, older_than: float | None = None) -> Pruned:
        """Remove what was not used for `older_than` seconds, then the longest unused until `max_bytes` are left."""
        for name, value in (("max_bytes", max_bytes), ("older_than", older_than)):
            if value is not None and value < 0:
                raise UserValueError(f"'{name}' is {value}, but must not be negative.")
        age = None if older_than is None else int(older_than)
        return Pruned(**self._store.prune(max_bytes=max_bytes, older_than=age))

    def export(self, path: str | os.PathLike[str], keys: Iterable[str] = ()) -> Archived:
        """Write entries to one file, whole or not at all; without keys all of them and the warm records."""
        full = []
        for key in keys:
            found = self._full_key(key)
            if found is None:
                raise UserValueError(f"The store '{self.root}' has no entry '{key}'.")
            full.append(found)
        return Archived(**self._store.export_to(os.fspath(path), full))

    def import_(self, path: str | os.PathLike[str]) -> Archived:
        """Take over what `export` wrote. What is in an archive is run later: take only those that you trust."""
        return Archived(**self._store.import_from(os.fspath(path)))

    def warnings(self) -> list[str]:
        """What the store has to say, once: that its folder cannot be used, and what serves instead."""
        return self._store.take_warnings()

    def _full_key(self, key: str) -> str | None:
        if len(key) == 64:
            return key
        found = [entry.key for entry in self.entries() if entry.key.startswith(key)]
        if len(found) > 1:
            raise UserValueError(f"'{key}' is the beginning of {len(found)} keys; give more of it.")
        return found[0] if found else None

    def __repr__(self) -> str:
        return f"<Store '{self.root}'>"

"""Artifacts in folders of the user's: which folder and which name, and what happens where a name is taken.

The store stays the place that programs are loaded from. The files here are for those who look for them by name: `NAME.so`,
`NAME.json` (the manifest) and, with layout 'development', `NAME.cpp` and the compiler's `NAME.log`.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ferrule import _rt, session
from ferrule.config import setting
from ferrule.errors import UserRuntimeError, UserTypeError, UserValueError
from ferrule.locks import ProcessLock
from ferrule.paths import absolute, text_of

if TYPE_CHECKING:
    from ferrule.artifact import Artifact

_lock = ProcessLock()
# The key of what was placed last under a folder and a name, in this process.
_taken: dict[tuple[str, str], str] = {}
_instances = itertools.count(1)


@dataclass(frozen=True)
class Place:
    """Where the files of an artifact lie: `folder`/`name`.so and the others."""

    folder: str
    name: str
    instance: str = ""  # of modules that share no mapping with others of the same content

    @property
    def path(self) -> str:
        """The module's file."""
        return os.path.join(self.folder, f"{self.name}.so")


@dataclass(frozen=True)
class Placing:
    """How artifacts are placed; `folder` is absolute, for mode 'name' and 'unique' that of the folders."""

    mode: str
    folder: str
    name_collision: str
    reuse_loaded: bool
    layout: str


def placing(
    folder: str | os.PathLike[str] | None = None,
    folder_mode: str | None = None,
    name_collision: str | None = None,
    reuse_loaded: bool | None = None,
    layout: str | None = None,
) -> Placing | None:
    """The options of a compilation, completed by the settings; None where the store alone keeps it."""
    mode = setting("folder_mode", folder_mode)
    if folder is not None:
        if folder_mode is not None:
            raise UserTypeError(f"'folder' is given together with folder_mode={folder_mode!r}; give one.")
        mode, base = "explicit", text_of(folder, "folder", "the path of a folder")
    else:
        base = setting("build_folder")
    if mode == "content":
        given = {"name_collision": name_collision, "reuse_loaded": reuse_loaded, "layout": layout}
        for name, value in given.items():
            if value is not None:
                raise UserTypeError(
                    f"{name}={value!r} is for folders of their own; give 'folder', or a folder_mode other than 'content'."
                )
        return None
    return Placing(
        mode,
        absolute(text_of(base, "build_folder", "the path of a folder") if folder is None else base),
        setting("name_collision", name_collision),
        setting("reuse_loaded", reuse_loaded),
        setting("layout", layout),
    )


def placed(artifact: Artifact, how: Placing | None) -> Artifact:
    """The artifact with its files in their place; as it is where the store alone keeps it.

    Raises UserRuntimeError where the name is taken and name_collision is 'error', UserValueError where a file or a folder
    cannot be written.
    """
    if how is None:
        return artifact
    with _lock():
        place = _choose(artifact, how)
        _write(artifact, place, how.layout)
        _taken[_pair(place)] = artifact.key
    return artifact._at(place)


def _pair(place: Place) -> tuple[str, str]:
    return os.path.realpath(place.folder), place.name


def _choose(artifact: Artifact, how: Placing) -> Place:
    instance = "" if how.reuse_loaded else f"#{next(_instances)}"
    if how.mode == "unique":
        _make(how.folder)
        return Place(_unique(how.folder, f"{artifact.name}-"), artifact.name, instance)
    for name in _names(artifact.name):
        place = Place(os.path.join(how.folder, name) if how.mode == "name" else how.folder, name, instance)
        holder = _taken.get(_pair(place))
        if holder is None or how.name_collision == "replace" or (holder == artifact.key and how.reuse_loaded):
            return place
        if how.name_collision == "error":
            what = "other content" if holder != artifact.key else "a module that is not to be used again"
            raise UserRuntimeError(
                f"'{place.path}' is taken in this process by {what}; compile with another name, or with"
                " name_collision='rename' or 'replace'."
            )
    raise AssertionError("names do not end")


def _names(name: str) -> Iterator[str]:
    yield name
    for number in itertools.count(1):
        yield f"{name}_{number}"


def _make(folder: str) -> None:
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise UserValueError(f"The folder '{folder}' cannot be made: {error.strerror}.") from None


def _unique(folder: str, prefix: str) -> str:
    try:
        return tempfile.mkdtemp(prefix=prefix, dir=folder)
    except OSError as error:
        raise UserValueError(f"No folder can be made in '{folder}': {error.strerror}.") from None


def _write(artifact: Artifact, place: Place, layout: str) -> None:
    _make(place.folder)
    log = _log_of(artifact) if layout == "development" else b""
    artifact._embedded().place(place.folder, place.name, production=layout == "production", log=log)
    component = component_of(place.folder)
    session.store().write_warm(_record_key(component), _record(place.folder))
    _rebind(component, place, artifact.key)


def _log_of(artifact: Artifact) -> bytes:
    """What the compiler said, where the entry that it wrote is still in a store."""
    folder = artifact.store_folder
    try:
        with open(os.path.join(folder or "", "log.txt"), "rb") as file:
            return file.read()
    except OSError:  # another process may remove an entry at any moment
        return b""


# -- names for import


def component_of(folder: str) -> str:
    """The name of a folder in `ferrule.generated`."""
    return "f" + _rt.sha256_hex(os.fsencode(os.path.realpath(folder)))[:32]


def _record_key(component: str) -> str:
    return _rt.sha256_hex(b"folder " + component.encode())


def _record(folder: str) -> str:
    return json.dumps({"folder": os.path.realpath(folder)})


def folder_of(component: str) -> str | None:
    """The folder with a name in `ferrule.generated`; None where no store that this process uses knows it."""
    for each in session.stores():
        text = each.read_warm(_record_key(component))
        if text is not None:
            found: str = json.loads(text)["folder"]
            return found
    return None


def _rebind(component: str, place: Place, key: str) -> None:
    generated = sys.modules.get("ferrule.generated")
    if generated is not None:
        generated.forget(component, place.name, key)

"""Compiled programs as values: pickled, saved, sent to other processes, loaded there."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ferrule import _rt, session
from ferrule.by_value import find
from ferrule.errors import IncompatibleArtifact, UserValueError
from ferrule.kernel import Kernel
from ferrule.paths import absolute, text_of

if TYPE_CHECKING:
    from ferrule.placement import Place

# Modules up to this size travel inside a pickle; larger ones as a reference into the store.
_BY_VALUE_LIMIT = 1 << 20

# Where errors of a run come from: (location, message) of each site.
Sites = tuple[tuple[str, str], ...]

# The folders in "/home/me/prog.py:3 (called at /home/me/other.py:7)".
_FOLDERS = re.compile(r"(?:(?<=^)|(?<= \(called at ))(?:[^():]*/)")


class Artifact:
    """A compiled program as a frozen value. Equality, hash and Dask's token are its key.

    Pickles by value while the module is small, so that it loads where no store has it; `by_reference` and `by_value`
    choose another form.
    """

    __slots__ = ("_form", "_place", "_sites", "_value")

    def __init__(self, value: Any, sites: Sites = (), form: str = "auto", place: Place | None = None) -> None:
        self._value = value
        self._sites = sites
        self._form = form
        self._place = place  # in this process alone: it is no part of the value

    def _at(self, place: Place) -> Artifact:
        return Artifact(self._value, self._sites, self._form, place)

    @property
    def key(self) -> str:
        """64 hexadecimal digits over all that decides the module."""
        key: str = self._value.key
        return key

    @property
    def name(self) -> str:
        """The program's name."""
        name: str = self._value.name
        return name

    @property
    def manifest(self) -> str:
        """Canonical JSON: the ingredients of the key, sizes and digests of the files, needs of the host."""
        manifest: str = self._value.manifest
        return manifest

    @property
    def source(self) -> str:
        """The emitted C++; empty where it was opened from a folder of layout 'production'."""
        source: str = self._value.source
        return source

    @property
    def signature(self) -> str:
        """Arguments, their types and the results, as text."""
        return self._kernel().signature

    @property
    def device(self) -> str:
        """The device that the module runs on: 'cpu'."""
        device: str = self._binding().get("device", "cpu")
        return device

    @property
    def adapter(self) -> str | None:
        """'module:qualname' of the callable that `load` applies to the kernel; None where there is none."""
        adapter: str | None = self._binding().get("adapter")
        return adapter

    @property
    def folder(self) -> str | None:
        """The folder of its files: the one it was compiled into, else of an entry in a store that this process uses.

        None where no store has it.
        """
        return self.store_folder if self._place is None else self._place.folder

    @property
    def path(self) -> str | None:
        """The file of its module in `folder`; of several levels in a store, the one that this host runs."""
        if self._place is not None:
            return self._place.path
        folder = self.store_folder
        return None if folder is None else os.path.join(folder, _module_file(json.loads(self.manifest)))

    @property
    def module_name(self) -> str:
        """The name under which Python imports it: a module that has `kernel` and `artifact`."""
        if self._place is None:
            return f"ferrule.generated.k{self.key}.{self.name}"
        from ferrule.placement import component_of

        return f"ferrule.generated.{component_of(self._place.folder)}.{self._place.name}"

    @property
    def store_folder(self) -> str | None:
        """The folder of its entry in a store that this process uses; None where none of them has it."""
        for each in session.stores():
            path = os.path.join(each.root, "v1", self.key[:2], self.key[2:])
            if os.path.isdir(path):
                return path
        return None

    def _binding(self) -> dict[str, Any]:
        binding = json.loads(self.manifest)["binding"]
        content: dict[str, Any] = json.loads(binding) if isinstance(binding, str) else binding
        return content

    def load(self, *, rebuild: bool = True) -> Any:
        """Map the module and return its Kernel, a handle of its own, or what the artifact's adapter makes of it.

        Looks in this process, the store, the value itself, read-only stores; where none has it, or this host cannot run
        it, it is built again from its source unless `rebuild` is False. Raises IncompatibleArtifact with all that was
        tried, UserValueError for an adapter that this process cannot import.
        """
        adapted = self._adapter()
        return adapted(self._kernel(rebuild))

    def _adapter(self) -> Callable[[Kernel], Any]:
        return (lambda kernel: kernel) if self.adapter is None else _adapter(self.name, self.adapter)

    def _kernel(self, rebuild: bool = True) -> Kernel:
        if self.device != "cpu":
            raise IncompatibleArtifact(
                f"Artifact '{self.name}' is for device '{self.device}', but this library runs 'cpu'."
            )
        instance = "" if self._place is None else self._place.instance
        kernel = session.load_kernel(self._value, self._sites, rebuild=rebuild, instance=instance)
        kernel.artifact = self
        return kernel

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the artifact to a file, whole or not at all."""
        self._value.embed(session.store()).save(text_of(path, "path"))

    @staticmethod
    def open(path: str | os.PathLike[str]) -> Artifact:
        """Read a file that `save` wrote, or the NAME.so of a folder that it was compiled into.

        Raises UserValueError where there is none or where it holds something else.
        """
        file = text_of(path, "path")
        if not os.path.isfile(file):
            what = "is no file" if os.path.exists(file) else "does not exist"
            raise UserValueError(f"The artifact '{file}' cannot be opened: it {what}.")
        value = _rt.Artifact.open(file)
        if not file.endswith(".so") or not os.path.isfile(file.removesuffix(".so") + ".json"):
            return Artifact(value)
        from ferrule.placement import Place

        folder, name = os.path.split(absolute(file))
        return Artifact(value, place=Place(folder, name.removesuffix(".so")))

    def module_bytes(self) -> bytes:
        """Verified bytes of the shared object, of several the one that this host runs."""
        data: bytes = self._value.module_bytes(session.store())
        return data

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Artifact) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __dask_tokenize__(self) -> str:
        return self.key

    def __copy__(self) -> Artifact:
        return self

    def __deepcopy__(self, memo: Any) -> Artifact:
        return self

    def by_reference(self) -> Artifact:
        """The same without its module, for where the store, or a compiler, is at hand."""
        return Artifact(self._value.by_reference(), self._sites, form="reference")

    def by_value(self) -> Artifact:
        """The same with its module, however large. Raises IncompatibleArtifact where no store has the module."""
        return Artifact(Artifact(self._value, form="value")._embedded(), self._sites, form="value")

    def to_pickle(self) -> bytes:
        """The text that a pickle carries, in the form that was asked for; without one, by value while it is small."""
        if self._form == "value" or (self._form == "auto" and self._module_size() <= _BY_VALUE_LIMIT):
            value = self._embedded()
        else:
            value = self._value.by_reference()
        data: bytes = value.to_bytes()
        return data

    def _embedded(self) -> Any:
        """The value with its module, which may be in a store that was the process's own earlier."""
        try:
            return self._value.embed(session.store())
        except IncompatibleArtifact:
            for each in session.known_stores():
                if each.contains(self.key):
                    return self._value.embed(each)
            if self._form == "value":
                raise
            return self._value.by_reference()  # its source can be built again

    def _module_size(self) -> int:
        return modules_size(json.loads(self.manifest))

    @staticmethod
    def from_pickle(data: bytes, sites: Sites = (), form: str = "auto") -> Artifact:
        """The artifact of such a text. Reads no file and maps nothing."""
        return Artifact(_rt.Artifact.from_bytes(data), sites, form)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.to_pickle(), json.dumps(portable_sites(self._sites)), self._form)

    def __repr__(self) -> str:
        return f"<Artifact '{self.name}' {self.key[:16]}>"


def modules_size(manifest: dict[str, Any]) -> int:
    """Bytes of the module, or of those of all levels."""
    return sum(file["size"] for name, file in manifest["files"].items() if name.endswith(".so"))


def _module_file(manifest: dict[str, Any]) -> str:
    """The name in an entry of the module that this host loads, or would if it could."""
    levels: list[dict[str, Any]] = manifest["needs"].get("levels", [])
    if not levels:
        return "module.so"
    host = set(_rt.host_features())
    best = [level for level in levels if host.issuperset(level["features"])] or levels
    return f"module-{best[-1]['name']}.so"


def portable_sites(sites: Sites) -> Sites:
    """Sites with the names of the user's files alone: the folders are the maker's."""
    return tuple((_FOLDERS.sub("", location), what) for location, what in sites)


def _restore(data: bytes, sites: str, form: str) -> Artifact:
    return Artifact.from_pickle(data, tuple((location, what) for location, what in json.loads(sites)), form)


def _adapter(name: str, path: str) -> Callable[[Kernel], Any]:
    module, _, qualname = path.partition(":")
    try:
        found: Callable[[Kernel], Any] = find(module, qualname)
    except (ImportError, AttributeError) as error:
        raise UserValueError(
            f"Artifact '{name}' cannot be loaded: its adapter '{path}' cannot be imported ({error})."
        ) from error
    return found

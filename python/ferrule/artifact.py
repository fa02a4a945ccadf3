"""Compiled programs as values: pickled, saved, sent to other processes, loaded there."""

from __future__ import annotations

import os
from typing import Any

from ferrule import _rt, session
from ferrule.errors import UserValueError
from ferrule.kernel import Kernel

# Modules up to this size travel inside a pickle; larger ones as a reference into the store.
_BY_VALUE_LIMIT = 1 << 20


class Artifact:
    """A compiled program as a frozen value. Equality, hash and Dask's token are its key.

    Pickles by value while the module is small, so that it loads where no store has it.
    """

    __slots__ = ("_sites", "_value")

    def __init__(self, value: Any, sites: tuple[tuple[str, str], ...] = ()) -> None:
        self._value = value
        self._sites = sites

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
        """The emitted C++."""
        source: str = self._value.source
        return source

    @property
    def signature(self) -> str:
        """Arguments, their types and the results, as text."""
        return self.load().signature

    def load(self, *, rebuild: bool = True) -> Kernel:
        """Map the module and return its Kernel.

        Looks in this process, the store, the value itself; where none has it, or this host cannot run it, it is built
        again from its source unless `rebuild` is False. Raises IncompatibleArtifact with all that was tried.
        """
        from ferrule.errors import IncompatibleArtifact

        try:
            kernel = session.load_kernel(self._value, self._sites)
        except IncompatibleArtifact:
            if not rebuild:
                raise
            compiler = session.BuildSettings.current().compiler
            value = self._value.rebuild(session.store(), compiler=compiler, include_dir=session.include_dir())
            kernel = session.load_kernel(value, self._sites)
        kernel.artifact = self
        return kernel

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the artifact to a file, whole or not at all."""
        self._value.embed(session.store()).save(os.fspath(path))

    @staticmethod
    def open(path: str | os.PathLike[str]) -> Artifact:
        """Read a file that `save` wrote. Raises UserValueError where there is none or where it holds something else."""
        if not os.path.isfile(path):
            what = "is no file" if os.path.exists(path) else "does not exist"
            raise UserValueError(f"The artifact '{os.fspath(path)}' cannot be opened: it {what}.")
        return Artifact(_rt.Artifact.open(os.fspath(path)))

    def module_bytes(self) -> bytes:
        """Verified bytes of the shared object."""
        data: bytes = self._value.module_bytes(session.store())
        return data

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Artifact) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __dask_tokenize__(self) -> str:
        return self.key

    def __reduce__(self) -> tuple[Any, ...]:
        embedded = self._value.embed(session.store())
        value = (
            embedded
            if len(embedded.module_bytes(session.store())) <= _BY_VALUE_LIMIT
            else self._value.by_reference()
        )
        return _restore, (value.to_bytes(), self._sites)

    def __repr__(self) -> str:
        return f"<Artifact '{self.name}' {self.key[:16]}>"


def _restore(data: bytes, sites: tuple[tuple[str, str], ...]) -> Artifact:
    return Artifact(_rt.Artifact.from_bytes(data), sites)

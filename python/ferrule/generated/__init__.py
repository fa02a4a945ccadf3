"""Compiled programs as modules: `ferrule.generated.<folder>.<name>`, as `Artifact.module_name` gives it.

A module has `kernel` and `artifact`. `<folder>` is a digest of the folder's path, which the store knows, or 'k' and the key
of an entry of the store. What is imported stays: where the file was replaced by other content, a further import fails.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import sys
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING

from ferrule import placement, session
from ferrule.artifact import Artifact
from ferrule.errors import Error

if TYPE_CHECKING:
    from collections.abc import Sequence

__path__ = []


@dataclass(frozen=True)
class _Imported:
    key: str
    path: str
    module: ModuleType


# What a reload of this module must not forget.
_imported: dict[str, _Imported] = globals().get("_imported", {})


def forget(component: str, name: str, key: str) -> None:
    """Have the next import of a module look again, if it is of another key than what is there now."""
    full = f"{__name__}.{component}.{name}"
    known = _imported.get(full)
    if known is not None and known.key != key:
        sys.modules.pop(full, None)
        vars(sys.modules.get(f"{__name__}.{component}", known.module)).pop(name, None)


def _entry(component: str, name: str) -> tuple[Artifact, str] | None:
    key = component[1:]
    for each in session.stores():
        value = each.get(key)
        if value is not None and value.name == name:
            artifact = Artifact(value)
            return artifact, artifact.path or each.root
    return None


def _is_key(component: str) -> bool:
    return len(component) == 65 and component[0] == "k"


class _FolderLoader(importlib.abc.Loader):
    def exec_module(self, module: ModuleType) -> None:
        pass


class _Loader(importlib.abc.Loader):
    def __init__(self, artifact: Artifact, path: str) -> None:
        self.artifact = artifact
        self.path = path

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        known = _imported.get(spec.name)
        return None if known is None else known.module

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__ in _imported:
            return
        module.artifact = self.artifact  # type: ignore[attr-defined]
        adapted, kernel = self.artifact._adapter(), self.artifact._kernel()
        kernel._imported = True
        module.kernel = adapted(kernel)  # type: ignore[attr-defined]
        module.__file__ = self.path
        _imported[module.__name__] = _Imported(self.artifact.key, self.path, module)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not fullname.startswith(f"{__name__}."):
            return None
        component, *rest = fullname.removeprefix(f"{__name__}.").split(".")
        if not rest:
            if not _is_key(component) and placement.folder_of(component) is None:
                raise ModuleNotFoundError(
                    f"No folder of compiled programs is known as '{component}' to the store '{session.store().root}';"
                    " compile into it again, or set FERRULE_CACHE_DIR to the store that was used.",
                    name=fullname,
                )
            return importlib.machinery.ModuleSpec(fullname, _FolderLoader(), is_package=True)
        if len(rest) > 1:
            return None
        artifact, file = _find(component, rest[0], fullname)
        known = _imported.get(fullname)
        if known is not None and known.key != artifact.key:
            raise ImportError(
                f"'{fullname}' was imported from '{known.path}' with key {known.key[:16]}, and '{file}' has key"
                f" {artifact.key[:16]} now; a process keeps what it imported, so start another one, or use Artifact.load().",
                name=fullname,
                path=file,
            )
        return importlib.machinery.ModuleSpec(fullname, _Loader(artifact, file), origin=file)


def _find(component: str, name: str, fullname: str) -> tuple[Artifact, str]:
    if _is_key(component):
        found = _entry(component, name)
        if found is None:
            raise ModuleNotFoundError(
                f"The store '{session.store().root}' has no program '{name}' with key {component[1:17]}.",
                name=fullname,
            )
        return found
    folder = placement.folder_of(component)
    file = os.path.join(folder or "", f"{name}.so")
    if folder is None or not os.path.exists(file):
        raise ModuleNotFoundError(f"There is no compiled program '{file}'.", name=fullname, path=file)
    try:
        return Artifact.open(file), file
    except Error as error:
        raise ImportError(str(error), name=fullname, path=file) from error


if not any(type(each).__module__ == __name__ for each in sys.meta_path):
    sys.meta_path.append(_Finder())

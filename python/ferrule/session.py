"""The process's stores and its C++ compiler: from a Program to an Artifact, from an Artifact to a Kernel."""

from __future__ import annotations

import contextlib
import contextvars
import json
import os
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ferrule import _rt
from ferrule.config import setting
from ferrule.errors import UserTypeError, UserValueError, warn
from ferrule.kernel import Kernel
from ferrule.locks import ProcessLock
from ferrule.spent import Spent

_PACKAGE = os.path.dirname(os.path.realpath(__file__))
_lock = ProcessLock()
_stores: dict[tuple[str, str, int | None], Any] = {}
_left_stores: list[dict[tuple[str, str, int | None], Any]] = []

# What ends the compilations of a background thread.
stopping: contextvars.ContextVar[_rt.Stop | None] = contextvars.ContextVar("ferrule_stopping", default=None)


def include_dir() -> str:
    """The folder that holds ferrule/abi.h and ferrule/rt: inside the installed package, or of the checkout."""
    for folder in (_PACKAGE, os.path.dirname(os.path.dirname(_PACKAGE))):
        include = os.path.join(folder, "include")
        if os.path.exists(os.path.join(include, "ferrule", "abi.h")):
            return include
    raise FileNotFoundError(
        f"The headers of emitted code are missing: no include/ferrule/abi.h at {_PACKAGE}."
    )


def store() -> Any:
    """The store of the current configuration, one object a root and its levels for the whole process."""
    root = setting("cache_dir") or _rt.default_store_root()
    try:
        root.encode()
    except UnicodeEncodeError:
        raise UserValueError(
            f"The cache folder {root!r} is no text in UTF-8; set FERRULE_CACHE_DIR to another folder."
        ) from None
    levels, limit = setting("cache_levels"), setting("cache_limit")
    key = (root, levels, limit)
    with _lock():
        found = _stores.get(key)
        if found is None:
            below = [_rt.Store(level, read_only=True) for level in levels.split(os.pathsep) if level]
            found = _stores[key] = _rt.Store(root, levels=below, max_bytes=limit)
    return found


def known_stores() -> list[Any]:
    """Every store that this process has used."""
    with _lock():
        return list(_stores.values())


def stores() -> list[Any]:
    """The store of the current configuration, then the others that this process has used."""
    first = store()
    return [first, *(each for each in known_stores() if each is not first)]


def leave_stores() -> None:
    """Begin with new stores: threads that a fork has left behind may hold locks of the old ones for ever."""
    global _stores
    _left_stores.append(_stores)
    _stores = {}


def warn_of(of: Any) -> None:
    """Pass on what the store has to say, once."""
    for message in of.take_warnings():
        warn(message)


@dataclass(frozen=True)
class BuildSettings:
    """What decides how emitted source is built."""

    compiler: str
    target: str
    mode: str
    flags: tuple[str, ...]

    @staticmethod
    def current(target: str | None = None, build: str | None = None) -> BuildSettings:
        """From the configuration; `target` and `build` as arguments."""
        return BuildSettings(
            compiler=setting("compiler") or "",
            target=setting("target", target),
            mode=setting("build", build),
            flags=tuple(_rt.environment_flags()),
        )


_probes: dict[tuple[str, str, str], threading.Thread] = {}
_end_probes = _rt.Stop()


def probe_ahead(settings: BuildSettings) -> None:
    """Have the C++ compiler asked who it is while the program is captured, once a process and compiler."""
    from_environment = os.environ.get("CXX", "")
    into = store()
    key = (into.root, settings.compiler or from_environment, settings.target)
    with _lock():
        if key in _probes:
            return
        if not _probes:  # Python waits for its threads; this is called before
            threading._register_atexit(_end_probes.set)  # type: ignore[attr-defined]
        arguments = (settings.compiler, settings.target, into, _end_probes)
        thread = threading.Thread(target=_rt.probe_toolchain, args=arguments, daemon=False)
        _probes[key] = thread
        thread.start()


def _end_of_probes() -> None:
    """Wait for the answers that are being asked for, so that nobody asks twice."""
    with _lock():
        running = list(_probes.values())
    for thread in running:
        thread.join()


def compile_program(
    program: Any,
    settings: BuildSettings,
    spent: Spent,
    *,
    strict_scalars: bool,
    alias_version: bool,
    adapter: str | None = None,
) -> Any:
    """The artifact of a Program, from the store or built; times go to `spent`."""
    with watched_compile(program.name):
        return _compile_program(program, settings, spent, strict_scalars, alias_version, adapter)


def binding_text(adapter: str | None, **content: Any) -> str:
    """The part of a manifest that says how a module is bound, as canonical JSON: device, adapter, and what is given."""
    binding = {"device": "cpu", **content}
    if adapter is not None:
        binding["adapter"] = checked_adapter(adapter)
    return json.dumps(binding, sort_keys=True)


def checked_adapter(adapter: str) -> str:
    """The name of an adapter, which is imported when an artifact is loaded. Raises UserError for another form."""
    if not isinstance(adapter, str):
        raise UserTypeError(f"'adapter' is {type(adapter).__name__}, but must be a text 'module:qualname'.")
    module, _, name = adapter.partition(":")
    if not all(part.isidentifier() for text in (module, name) for part in text.split(".")):
        raise UserValueError(f"'adapter' is {adapter!r}, but must have the form 'module:qualname'.")
    return adapter


def watched_compile(name: str) -> contextlib.AbstractContextManager[Any]:
    """The context of a compilation: hooks of `ferrule.hooks`, a line on a terminal. Neither is imported without need."""
    hooks = sys.modules.get("ferrule.hooks")
    around = contextlib.nullcontext() if hooks is None else hooks.compiling(name)
    if sys.stderr is None or not os.isatty(2) or not setting("progress"):
        return around
    from ferrule import progress

    stream = progress.terminal()
    return around if stream is None else progress.compiling(name, stream, around)


def _compile_program(
    program: Any,
    settings: BuildSettings,
    spent: Spent,
    strict_scalars: bool,
    alias_version: bool,
    adapter: str | None,
) -> Any:
    from ferrule import _compiler

    start = time.perf_counter()
    emitted = _compiler.emit_source(
        program,
        strict_scalars=strict_scalars,
        alias_version=alias_version,
        reference=settings.target == "reference",
    )
    emitted_at = time.perf_counter()
    _end_of_probes()
    into = store()
    warn_of(into)  # before the work, which a warning that is an error would throw away
    artifact, counts = into.compile(
        program.name,
        emitted["source"],
        binding=binding_text(adapter, program=program.print()),
        program=emitted["ingredients"],
        compiler=settings.compiler,
        target=settings.target,
        mode=settings.mode,
        extra_flags=list(settings.flags),
        include_dir=include_dir(),
        stop=stopping.get(),
    )
    done = time.perf_counter()
    warn_of(into)
    spent.emit += emitted_at - start
    spent.build += counts["compiler_seconds"]
    spent.store += done - emitted_at - counts["compiler_seconds"]
    spent.compiles += counts["compiles"]
    spent.hits += counts["hits"]
    for stage, seconds in emitted["times"].items():
        spent.stages[stage] = spent.stages.get(stage, 0.0) + seconds
    return artifact


def load_kernel(
    artifact: Any,
    sites: Sequence[tuple[str, str]],
    spent: Spent | None = None,
    *,
    rebuild: bool = False,
    instance: str = "",
) -> Kernel:
    """Map an artifact's module, unless it is mapped already, and make its call object.

    Mappings of other instances than '' share nothing. Raises IncompatibleArtifact naming all that was tried.
    """
    start = time.perf_counter()
    kernel = _mapped_kernel(artifact.key + instance) or _read_kernel(artifact, rebuild, instance)
    if sites:
        kernel._set_sites(sites)
    seconds = time.perf_counter() - start
    kernel._spent = Spent(load=seconds).told()
    if spent is not None:
        spent.load += seconds
    return kernel


def _mapped_kernel(digest: str) -> Kernel | None:
    try:
        return Kernel(None, digest)
    except LookupError:
        return None


def _read_kernel(artifact: Any, rebuild: bool, instance: str) -> Kernel:
    settings: dict[str, str] = {}
    if rebuild:
        settings = {"compiler": setting("compiler") or "", "include_dir": include_dir()}
    key, module = artifact.loadable(store(), rebuild=rebuild, **settings)
    return Kernel(module, key + instance)


def site_table(sites: Sequence[tuple[str, int, str, str, int]]) -> list[tuple[str, str]]:
    """(location, message) of each site of a program, callers included, as run-time errors print them."""
    table = []
    for file, line, _function, what, caller in sites:
        location = f"{file}:{line}"
        seen = 0
        while caller >= 0 and seen < len(sites):
            file, line, _, _, caller = sites[caller]
            location += f" (called at {file}:{line})"
            seen += 1
        table.append((location, what))
    return table

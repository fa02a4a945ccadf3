"""How a call that fits no specialisation gets one: a warm record, or a capture that is compiled and recorded."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ferrule import _rt, collector, reasons, session, warm
from ferrule.artifact import Artifact
from ferrule.builds import Build
from ferrule.carried import Carried
from ferrule.config import setting
from ferrule.dtypes import is_annotated
from ferrule.errors import UserRuntimeError, UserValueError, warn
from ferrule.kernel import Kernel
from ferrule.kinds import argument_kinds, overlapping_itself, overlaps, recordable_kinds
from ferrule.locks import ProcessLock
from ferrule.options import Options
from ferrule.records import Records, add_to_store, record_of
from ferrule.results import assembler
from ferrule.session import BuildSettings
from ferrule.spent import Spent, print_times
from ferrule.values import value_text
from ferrule.variables import (
    Guard,
    arrays_read,
    bound_arguments,
    content_guard,
    default_guards,
    defaults_of,
    guards_of,
    holder_guards,
    positional_only,
    traced_guards,
    unchanged,
    variable,
)

_alive: weakref.WeakSet[Specialised] = weakref.WeakSet()


def _forget_pending() -> None:
    """Threads that a fork has left behind compile nothing any more."""
    for function in _alive:
        function._pending = {}


os.register_at_fork(after_in_child=_forget_pending)

# How often a call compiles, while other threads change what the program reads.
_ATTEMPTS = 3


def _is_dumping() -> bool:
    """Whether stages are to be seen, so that they have to run though the store holds what they would give."""
    return bool(os.environ.get("FERRULE_DUMP"))


@dataclass(frozen=True)
class _Use:
    """Which calls a kernel is for, besides the kinds of their arguments, and how it was built."""

    guards: list[Guard]
    hidden: list[tuple[Any, Any]]  # variables with arrays that are arguments
    statics: Mapping[str, Any]  # values of static arguments
    overlap_only: bool  # calls in which a written array overlaps another
    structure: Any  # of the result
    reads: list[tuple[str, str]]  # names and texts of variables
    build: Build


class Specialised(_rt.FunctionBase):
    """A Python function with the native specialisations that were made for it."""

    # Not in __dict__, which functools.wraps copies into the decorators above, whose pickles would hold it all.
    __slots__ = (
        "_annotated_here",
        "_annotated_record",
        "_artifacts",
        "_builds",
        "_fn",
        "_guards",
        "_lock",
        "_options",
        "_origins",
        "_records",
        "_spent",
        "_warned_limit",
    )
    __name__: str

    def __init__(self, fn: Callable[..., Any], options: Options) -> None:
        self._fn: Callable[..., Any] = fn
        self._options = options
        self._annotated_here: bool | None = None
        self._annotated_record: warm.Record | None = None
        self._lock = ProcessLock(threading.RLock)
        self._pending: dict[str, Any] = {}  # by kinds of arguments, with compile='async'
        self._spent = Spent()
        self._artifacts: dict[int, Artifact] = {}  # by the numbers of the specialisations
        self._builds: dict[int, Build] = {}
        self._guards: list[Guard] = []  # of the specialisation that was added last
        self._origins: dict[int, reasons.Origin] = {}
        self._records = Records(fn, options)
        self._warned_limit = False
        _alive.add(self)

    def _find_or_make(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
        # Another thread may have made it while this one waited.
        for index in [*self._artifacts]:
            if self._matches(index, args, kwargs):
                return index
        if self._is_annotated():
            return self._make_annotated()
        spent = Spent()
        settings = BuildSettings.current(self._options.value("target"))
        self._check_limit()
        keys = self._records.keys(settings, recordable_kinds(args, kwargs))
        records = () if keys is None else self._records.untried(keys)
        for known in () if _is_dumping() else records:
            added = self._add_record(known, settings, args, kwargs, spent)
            if added is not None and self._matches(added, args, kwargs):
                self._finish(spent)
                return added
        for _ in range(_ATTEMPTS):
            index, record = self._capture(args, kwargs, settings, spent)
            if keys is not None and record is not None:
                self._records.keep(keys, record)
            if unchanged(self._guards):
                break
        self._finish(spent)
        return index

    def _artifact_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Artifact:
        """What such a call runs, as options and configuration make it now; calls keep the specialisations that there are."""
        settings = BuildSettings.current(self._options.value("target"))
        now = Build.current(self._options, settings)
        annotated = self._is_annotated()
        fitting = [index for index in self._artifacts if annotated or self._matches(index, args, kwargs)]
        for index in fitting:
            if self._builds[index].gives_the_same(now) and (not annotated or self._reads_the_same()):
                return self._artifacts[index]
        if fitting:
            return self._compile_besides(args, kwargs, settings)
        return self._artifacts[self._make_annotated() if annotated else self._find_or_make(args, kwargs)]

    def _reads_the_same(self) -> bool:
        """Whether the variables of the specialisation that an annotated function has are as they were, arrays included."""
        record = self._annotated_record
        return unchanged(self._guards) and (record is None or warm.holds(self._fn, record))

    def _compile_besides(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], settings: BuildSettings
    ) -> Artifact:
        """The artifact of a specialisation that calls do not use, recorded for processes that are configured so."""
        spent = Spent()
        annotated = self._is_annotated()
        captured, overlapping = self._captured(args, kwargs, settings, spent)
        sites = tuple(session.site_table(captured.program.sites))
        record = record_of(self._fn, captured, sites, overlapping)
        value = self._built(captured, settings, spent)
        if record is not None:
            toolchain = _rt.toolchain_identity(settings.compiler, session.store())
            record = replace(record, entry=value.key, toolchain=toolchain)
        kinds = "annotations" if annotated else recordable_kinds(args, kwargs)
        keys = self._records.keys(settings, kinds)
        if keys is not None and record is not None:
            add_to_store(keys, record)
        self._finish(spent)
        return Artifact(value, sites)

    def _for_pickle(self) -> list[Carried]:
        """The records of the specialisations and their artifacts, those that another pickle brought among them."""
        with self._lock():
            return self._records.to_carry(self._artifacts.values())

    def _carry(self, brought: list[Carried]) -> None:
        """Takes up what a pickle brought along, for calls that find nothing in the store."""
        with self._lock():
            self._records.carry(brought, self._artifacts.values())

    def _finish(self, spent: Spent) -> None:
        self._spent.add(spent)
        if setting("time"):
            print_times(self.__name__, spent)

    def _check_limit(self) -> None:
        made = len(self._specialisations())
        if made < self._options.value("recompile_limit"):
            return
        why = "; ".join(f"{i}: {text}" for i, text in enumerate(reasons.sentences([*self._origins.values()])))
        text = f"'{self.__name__}' has {made} specialisations, which is its recompile_limit."
        if made:
            text += f" Why each was made: {why}."
        if self._options.value("on_recompile_limit") == "error":
            raise UserRuntimeError(text)
        if not self._warned_limit:
            self._warned_limit = True
            warn(text)

    def _add_record(
        self,
        record: warm.Record,
        settings: BuildSettings,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        spent: Spent,
    ) -> int | None:
        """Add the specialisation of a warm record; None where it does not hold here or its artifact is gone."""
        start = time.perf_counter()
        if not self._same_toolchain(record, settings) or not warm.holds(self._fn, record):
            return None
        guards = [  # at once: another thread may give a variable another value
            guard
            for read in record.reads
            for guard in guards_of(warm.find_place(self._fn, read.place), read.name)
        ]
        if self._is_annotated():  # arrays are no arguments, but in the program
            guards += [
                content_guard(read.name, array)
                for read in record.reads
                for array in arrays_read(warm.find_place(self._fn, read.place), read.name)
            ]
        value = session.store().get(record.entry) or self._records.carried_value(record.entry)
        if value is None or value.unmet_needs():
            return None
        bound = bound_arguments(self._fn, args, kwargs)
        if any(value_text(bound[name]) != text for name, text in record.statics):
            return None
        sites = warm.sites_here(self._fn, record)
        kernel = session.load_kernel(value, sites)
        places = [(warm.find_place(self._fn, place), name) for place, name in record.hidden]
        hidden = [variable(*place) for place in places]
        guards += [guard for place in places for guard in holder_guards(*place)]
        guards += default_guards(self._fn, [name for name, _ in record.statics])
        use = _Use(
            guards=guards,
            hidden=hidden,
            statics={name: bound[name] for name, _ in record.statics},
            overlap_only=record.overlap_only,
            structure=record.structure,
            reads=[(each.name, each.text) for each in record.reads],
            build=Build.current(self._options, settings).with_toolchain(record.toolchain),
        )
        index = self._take(kernel, Artifact(value, sites), use, dict(record.statics), args, kwargs)
        spent.load += time.perf_counter() - start
        spent.hits += 1
        kernel._spent = spent.told()
        return index

    def _same_toolchain(self, record: warm.Record, settings: BuildSettings) -> bool:
        """Whether this process's C++ compiler would build the same; one that travelled names none."""
        if not record.toolchain:
            return True
        identity = _rt.toolchain_identity(settings.compiler, session.store())
        return identity in ("", record.toolchain)

    def _captured(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], settings: BuildSettings, spent: Spent
    ) -> tuple[Any, bool]:
        """The capture for such a call, and whether a written array overlaps another of its arguments."""
        session.probe_ahead(settings)
        overlapping = False
        with collector.paused:
            from ferrule import capture

            if self._is_annotated():
                captured = capture.capture_annotated(self._fn, self._options.for_capture())
            else:
                captured = capture.capture(self._fn, args, kwargs, self._options.for_capture())
            spent.captures += 1
            spent.capture += captured.seconds
            if not self._is_annotated():
                bound = bound_arguments(self._fn, args, kwargs)
                refusal = overlapping_itself(captured, bound)
                if refusal is not None:  # each such call would make a specialisation that cannot run
                    raise UserValueError(f"{self.__name__}(): {refusal}")
                overlapping = overlaps(captured, bound)
            if overlapping:
                options = self._options.for_capture(arguments_may_alias=True)
                captured = capture.capture(self._fn, args, kwargs, options)
                spent.capture += captured.seconds
        return captured, overlapping

    def _built(self, captured: Any, settings: BuildSettings, spent: Spent, adapter: str | None = None) -> Any:
        return session.compile_program(
            captured.program,
            settings,
            spent,
            strict_scalars=self._options.value("strict_scalars"),
            alias_version=self._is_annotated(),
            adapter=adapter,
        )

    def _capture(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], settings: BuildSettings, spent: Spent
    ) -> tuple[int, warm.Record | None]:
        captured, overlap_only = self._captured(args, kwargs, settings, spent)
        # Before the C++ compiler runs: another thread may give a variable another value meanwhile.
        sites = tuple(session.site_table(captured.program.sites))
        record = record_of(self._fn, captured, sites, overlap_only)
        reads = captured.globals_read
        guards = [guard for r in reads for guard in traced_guards(r.owner, r.name, r.value)]
        guards += [guard for info in captured.hidden for guard in holder_guards(*info.path)]
        guards += captured.watched
        guards += [content_guard(*copied) for copied in captured.copied]
        statics = {info.name: info.static for info in captured.arguments if info.kind == "static"}
        guards += default_guards(self._fn, statics)
        value = self._built(captured, settings, spent)
        kernel = session.load_kernel(value, sites, spent)
        toolchain = _rt.toolchain_identity(settings.compiler, session.store())
        if record is not None:
            record = replace(record, entry=value.key, toolchain=toolchain)
        use = _Use(
            guards=guards,
            hidden=[variable(*info.path) for info in captured.hidden],
            statics=statics,
            overlap_only=overlap_only,
            structure=captured.structure,
            reads=(
                [(each.name, each.text) for each in record.reads]
                if record is not None
                else [(each.name, reasons.text_of(each.value)) for each in captured.globals_read]
            ),
            build=Build.current(self._options, settings).with_toolchain(toolchain),
        )
        index = self._take(kernel, Artifact(value, sites), use, statics, args, kwargs)
        kernel._spent = spent.told()
        return index, record

    def _take(
        self,
        kernel: Kernel,
        artifact: Artifact,
        use: _Use,
        statics: Mapping[str, Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> int:
        """Adds a kernel for calls; `statics` are the values of static arguments or their texts, as reasons show them."""
        self._guards = use.guards
        index = int(
            self._add(
                kernel,
                globals_guard=use.guards,
                hidden=use.hidden,
                statics=use.statics,
                defaults=defaults_of(self._fn),
                overlap_only=use.overlap_only,
                finish=assembler(use.structure),
                positional_only=positional_only(self._fn),
            )
        )
        kernel.artifact = artifact
        kernel._function, kernel._number = weakref.ref(self), index
        self._artifacts[index] = artifact
        self._builds[index] = use.build
        call = argument_kinds(args, kwargs) or "its annotations"
        bound = {} if self._is_annotated() else bound_arguments(self._fn, args, kwargs)
        self._origins[index] = reasons.origin(
            call, bound, statics, use.reads, use.hidden, use.overlap_only, use.build, artifact
        )
        return index

    def _unload(self, kernel: Kernel, unload: Callable[[], bool]) -> bool:
        """Unload a specialisation and forget it, so that a call that needs it makes it again, from its record if it can."""
        with self._lock():
            try:
                return unload()
            finally:
                if kernel._number in self._artifacts and kernel not in self._specialisations():
                    self._records.forget(self._artifacts.pop(kernel._number).key)
                    del self._builds[kernel._number], self._origins[kernel._number]

    def _is_annotated(self) -> bool:
        known = self._annotated_here
        if known is None:
            known = bool(getattr(self._fn, "__annotations__", ())) and is_annotated(self._fn)
            self._annotated_here = known
            if known and not self._specialisations():
                self._annotated = True
        return bool(known)

    def _make_annotated(self, target: str | None = None) -> int:
        if self._artifacts:
            return next(iter(self._artifacts))
        spent = Spent()
        settings = BuildSettings.current(target or self._options.value("target"))
        keys = self._records.keys(settings, "annotations")
        records = self._records.known(keys) if keys is not None else ()
        for known in () if _is_dumping() else records:
            added = self._add_record(known, settings, (), {}, spent)
            if keys is not None and added is not None:
                self._records.note(keys, (known,))
                self._annotated_record = known
                self._finish(spent)
                return added
        index, record = self._capture((), {}, settings, spent)
        self._annotated_record = record
        if keys is not None and record is not None:
            self._records.keep(keys, record, records)  # the others are another compiler's, say
        self._finish(spent)
        return index

    def _compile_only(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], settings: BuildSettings, adapter: str | None
    ) -> Artifact:
        """What such a call would run, built with other settings, or for an adapter; calls know nothing of it."""
        spent = Spent()
        captured, _ = self._captured(args, kwargs, settings, spent)
        value = self._built(captured, settings, spent, adapter)
        self._spent.add(spent)
        return Artifact(value, tuple(session.site_table(captured.program.sites)))

"""How a call that fits no specialisation gets one: a warm record, or a capture that is compiled and recorded."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from ferrule import _rt, carried, collector, reasons, session, warm
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
from ferrule.results import assembler
from ferrule.session import BuildSettings, Spent
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


class _Keys(NamedTuple):
    """What the records of calls with arguments of some kinds are found by."""

    record: str  # in the store: whatever decides whether this installation would compile the same
    call: str  # in a pickle: what the call is made with


class Specialised(_rt.FunctionBase):
    """A Python function with the native specialisations that were made for it."""

    # Not in __dict__, which functools.wraps copies into the decorators above, whose pickles would hold it all.
    __slots__ = (
        "_annotated_here",
        "_annotated_record",
        "_artifacts",
        "_builds",
        "_carried",
        "_fn",
        "_guards",
        "_lock",
        "_options",
        "_origins",
        "_spent",
        "_warm_tried",
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
        self._warm_tried: dict[_Keys, tuple[warm.Record, ...]] = {}
        self._carried: list[Carried] = []
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
        kinds = recordable_kinds(args, kwargs)
        keys = None if kinds is None else self._keys(settings, kinds)
        if keys is not None and keys not in self._warm_tried:
            records = self._known_records(keys)
            if records:  # nothing is remembered of calls that are refused, each with another text, say
                self._warm_tried[keys] = records
            for known in () if _is_dumping() else records:
                added = self._add_record(known, settings, args, kwargs, spent)
                if added is not None and self._matches(added, args, kwargs):
                    self._finish(spent)
                    return added
        for _ in range(_ATTEMPTS):
            index, record = self._capture(args, kwargs, settings, spent)
            if keys is not None and record is not None:
                self._keep(keys, warm.with_record(self._warm_tried.get(keys, ()), record))
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
        record = self._record(captured, sites, overlapping)
        value = self._built(captured, settings, spent)
        if record is not None:
            toolchain = _rt.toolchain_identity(settings.compiler, session.store())
            record = replace(record, entry=value.key, toolchain=toolchain)
        kinds = "annotations" if annotated else recordable_kinds(args, kwargs)
        keys = None if kinds is None else self._keys(settings, kinds)
        if keys is not None and record is not None:
            known = warm.from_json(session.store().read_warm(keys.record) or "")
            if record not in known:
                session.store().write_warm(keys.record, warm.to_json(warm.with_record(known, record)))
        self._finish(spent)
        return Artifact(value, sites)

    def _keys(self, settings: BuildSettings, kinds: str) -> _Keys | None:
        """What records of calls with such arguments are found by; None where the function cannot be recorded."""
        options = self._options.text()
        record = warm.record_key(self._fn, options, settings, kinds)
        if record is None:
            return None
        return _Keys(record, carried.call_key(self._fn, options, settings, kinds) or "")

    def _keep(self, keys: _Keys, records: tuple[warm.Record, ...]) -> None:
        self._warm_tried[keys] = records
        session.store().write_warm(keys.record, warm.to_json(records))

    def _known_records(self, keys: _Keys) -> tuple[warm.Record, ...]:
        """The records of the store and of a pickle."""
        stored = warm.from_json(session.store().read_warm(keys.record) or "")
        entries = {record.entry for record in stored}
        brought = [each.record for each in self._carried if each.key == keys.call]
        return (*stored, *(record for record in brought if record.entry not in entries))

    def _for_pickle(self) -> list[Carried]:
        """The records of the specialisations and their artifacts, those that another pickle brought among them."""
        with self._lock():
            artifacts = {artifact.key: artifact for artifact in self._artifacts.values()}
            own = [
                Carried(keys.call, record, artifacts[record.entry])
                for keys, records in self._warm_tried.items()
                for record in records
                if record.entry in artifacts
            ]
            return [*own, *carried.others(self._carried, own)]

    def _carry(self, brought: list[Carried]) -> None:
        """Takes up what a pickle brought along, for calls that find nothing in the store."""
        with self._lock():
            known = self._for_pickle()
            new = carried.others(brought, known)
            self._carried = [*known, *new]
            calls = {each.key for each in new}
            for keys in [keys for keys in self._warm_tried if keys.call in calls]:
                del self._warm_tried[keys]

    def _finish(self, spent: Spent) -> None:
        self._spent.add(spent)
        if setting("time"):
            session.print_times(self.__name__, spent)

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
        value = session.store().get(record.entry) or self._carried_value(record.entry)
        if value is None or value.unmet_needs():
            return None
        bound = bound_arguments(self._fn, args, kwargs)
        if any(warm.value_text(bound[name]) != text for name, text in record.statics):
            return None
        sites = warm.sites_here(self._fn, record)
        kernel = session.load_kernel(value, sites)
        places = [(warm.find_place(self._fn, place), name) for place, name in record.hidden]
        hidden = [variable(*place) for place in places]
        guards += [guard for place in places for guard in holder_guards(*place)]
        guards += default_guards(self._fn, [name for name, _ in record.statics])
        self._guards = guards
        index = self._add(
            kernel,
            globals_guard=guards,
            hidden=hidden,
            statics={name: bound[name] for name, _ in record.statics},
            defaults=defaults_of(self._fn),
            overlap_only=record.overlap_only,
            finish=assembler(record.structure),
            positional_only=positional_only(self._fn),
        )
        read = [(each.name, each.text) for each in record.reads]
        build = Build.current(self._options, settings).with_toolchain(record.toolchain)
        fixed = dict(record.statics)
        self._remember(
            index,
            Artifact(value, sites),
            kernel,
            args,
            kwargs,
            fixed,
            read,
            hidden,
            record.overlap_only,
            build,
        )
        spent.load += time.perf_counter() - start
        spent.hits += 1
        kernel._spent = spent.told()
        return int(index)

    def _same_toolchain(self, record: warm.Record, settings: BuildSettings) -> bool:
        """Whether this process's C++ compiler would build the same; one that travelled names none."""
        if not record.toolchain:
            return True
        identity = _rt.toolchain_identity(settings.compiler, session.store())
        return identity in ("", record.toolchain)

    def _carried_value(self, entry: str) -> Any:
        return next((each.artifact._value for each in self._carried if each.record.entry == entry), None)

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
        record = self._record(captured, sites, overlap_only)
        reads = captured.globals_read
        guards = [guard for r in reads for guard in traced_guards(r.owner, r.name, r.value)]
        guards += [guard for info in captured.hidden for guard in holder_guards(*info.path)]
        guards += captured.watched
        guards += [content_guard(*copied) for copied in captured.copied]
        statics = {info.name: info.static for info in captured.arguments if info.kind == "static"}
        guards += default_guards(self._fn, statics)
        value = self._built(captured, settings, spent)
        kernel = session.load_kernel(value, sites, spent)
        self._guards = guards
        hidden = [variable(*info.path) for info in captured.hidden]
        index = int(
            self._add(
                kernel,
                globals_guard=guards,
                hidden=hidden,
                statics=statics,
                defaults=defaults_of(self._fn),
                overlap_only=overlap_only,
                finish=assembler(captured.structure),
                positional_only=positional_only(self._fn),
            )
        )
        toolchain = _rt.toolchain_identity(settings.compiler, session.store())
        if record is not None:
            record = replace(record, entry=value.key, toolchain=toolchain)
        read = (
            [(each.name, each.text) for each in record.reads]
            if record is not None
            else [(each.name, reasons.text_of(each.value)) for each in captured.globals_read]
        )
        build = Build.current(self._options, settings).with_toolchain(toolchain)
        self._remember(
            index, Artifact(value, sites), kernel, args, kwargs, statics, read, hidden, overlap_only, build
        )
        kernel._spent = spent.told()
        return index, record

    def _record(
        self, captured: Any, sites: tuple[tuple[str, str], ...], overlap_only: bool
    ) -> warm.Record | None:
        """The warm record of a specialisation, but for its entry and toolchain; None where something it read cannot be told
        apart in a new process."""
        if captured.watched:
            return None
        try:
            reads = tuple(
                warm.Read(warm.place_of(self._fn, r.owner), r.name, warm.value_text(r.value))
                for r in captured.globals_read
            )
            hidden = tuple((warm.place_of(self._fn, info.path[0]), info.path[1]) for info in captured.hidden)
            static = [info for info in captured.arguments if info.kind == "static"]
            fixed = tuple((info.name, warm.value_text(info.static)) for info in static)
        except warm.Unrecordable:
            return None
        may_fail = any(what for _, what in sites)  # errors of runs name lines
        lines = warm.lines_of(self._fn, [r.value for r in captured.globals_read]) if may_fail else ""
        file = self._fn.__code__.co_filename
        return warm.Record("", reads, hidden, fixed, sites, "", overlap_only, captured.structure, file, lines)

    def _remember(
        self,
        index: int,
        artifact: Artifact,
        kernel: Kernel,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        statics: Mapping[str, Any],
        reads: Iterable[tuple[str, str]],
        hidden: Iterable[tuple[Any, Any]],
        overlapping: bool,
        build: Build,
    ) -> None:
        kernel.artifact = artifact
        kernel._function, kernel._number = weakref.ref(self), index
        self._artifacts[index] = artifact
        self._builds[index] = build
        call = argument_kinds(args, kwargs) or "its annotations"
        bound = {} if self._is_annotated() else bound_arguments(self._fn, args, kwargs)
        self._origins[index] = reasons.origin(
            call, bound, statics, reads, hidden, overlapping, build, artifact
        )

    def _unload(self, kernel: Kernel, unload: Callable[[], bool]) -> bool:
        """Unload a specialisation and forget it, so that a call that needs it makes it again, from its record if it can."""
        with self._lock():
            try:
                return unload()
            finally:
                if kernel._number in self._artifacts and kernel not in self._specialisations():
                    entry = self._artifacts.pop(kernel._number).key
                    del self._builds[kernel._number], self._origins[kernel._number]
                    for keys, records in [*self._warm_tried.items()]:
                        if any(record.entry == entry for record in records):
                            del self._warm_tried[keys]

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
        keys = self._keys(settings, "annotations")
        records = self._known_records(keys) if keys is not None else ()
        for known in () if _is_dumping() else records:
            added = self._add_record(known, settings, (), {}, spent)
            if keys is not None and added is not None:
                self._warm_tried[keys] = (known,)
                self._annotated_record = known
                self._finish(spent)
                return added
        index, record = self._capture((), {}, settings, spent)
        self._annotated_record = record
        if keys is not None and record is not None:
            self._keep(keys, warm.with_record(records, record))  # the others are another compiler's, say
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

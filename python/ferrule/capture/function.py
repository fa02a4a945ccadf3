"""From a Python function and sample arguments, or its annotations, to a Program."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import BuiltinMethodType
from typing import Any

import numpy as np

from ferrule import _compiler as ir
from ferrule import errors as public
from ferrule.values import snapshot
from ferrule.variables import Content, holds_array, variable

from . import calls, dispatch, errors, joined_arrays, methods
from .decide import Eq, strongest
from .outside import Outside, Watch, changed_outside, watch_container, watch_whole
from .results import declare_results
from .signature import ArgumentInfo, Arguments, bind
from .trace import Trace

assert methods  # adds the methods of arrays


@dataclass(frozen=True)
class Options:
    """What changes a capture. static: names of arguments that are fixed in a specialisation."""

    static: tuple[str, ...] = ()
    order: str | None = None
    bounds_check: bool = True
    arguments_may_alias: bool = False


@dataclass(frozen=True)
class GlobalRead:
    """A global, cell or attribute that the trace read: its dict or cell, its dotted name, and its value then."""

    owner: Any
    name: str
    value: Any


@dataclass(frozen=True)
class Captured:
    """A captured function: the program and all that decides whether it may be used again."""

    program: ir.Program
    arguments: tuple[ArgumentInfo, ...]
    returns_tuple: bool
    results: int
    structure: Any  # as ferrule.results.assembler takes it; None for one result and flat tuples
    globals_read: tuple[GlobalRead, ...]
    watched: tuple[tuple[Any, ...], ...] = ()
    copied: tuple[tuple[str, np.ndarray[Any, Any], bytes], ...] = ()  # arrays whose content is in the program
    sample: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def hidden(self) -> tuple[ArgumentInfo, ...]:
        """The global arrays, which the call fetches."""
        return tuple(info for info in self.arguments if info.hidden is not None)


class _Restart(errors.Control):
    """The capture begins again with a global array declared at its start."""

    def __init__(self, found: tuple[str, np.ndarray[Any, Any], tuple[Any, str]]) -> None:
        super().__init__()
        self.found = found


class _Capture(Trace):
    """A trace that knows the arguments it declared."""

    def __init__(self, builder: ir.ProgramBuilder, options: Options) -> None:
        super().__init__(builder, options)
        self.arguments = Arguments(self)
        self.outside = Outside()

    def is_argument(self, array: Any) -> bool:
        """Whether this is an argument's own object, not a view of it."""
        return any(array is argument for argument in self.arguments.tracers)

    def read_global(self, owner: Any, path: str, value: Any) -> Any:
        """Notes a global or closure's name; a global array comes back as a hidden argument."""
        from .constants import real_array

        if isinstance(value, np.ndarray):
            try:
                variable(owner, path)
            except LookupError:
                self.note(owner, path, value)
            else:
                self.paths[id(value)] = (value, (owner, path))
                if self.annotated:  # its content becomes a constant
                    self.note(owner, path, value)
            return real_array(value, path)
        if isinstance(value, (list, dict, tuple)) and holds_array(value):
            self.note(owner, path, value)
            self.watch_content(value)
            if isinstance(value, tuple):
                return dispatch.met(self, value)
            return self._read_container(path, value)
        if isinstance(value, BuiltinMethodType):
            watch_container(self, value.__self__)
        watch_whole(self, value)
        self.note(owner, path, value)
        return value

    def _read_container(self, path: str, value: Any) -> Any:
        """A global dict with arrays in it: its arrays are fetched at the call, its other entries noted one by one."""
        if not isinstance(value, dict) or not all(isinstance(key, str) and "." not in key for key in value):
            raise errors.unsupported(
                f"The global {type(value).__name__} '{path}' with arrays in it is not supported.",
                "Use a tuple, a dict whose keys are names, or pass the arrays.",
            )
        for name, item in value.items():
            if isinstance(item, np.ndarray):
                self.paths.setdefault(id(item), (item, (value, name)))
            else:
                self.note(value, name, item)
        return value

    def watch_content(self, value: Any) -> None:
        """Notes what a container with arrays in it holds besides them."""
        live = Content(value, fetched=isinstance(value, dict) and not self.annotated)
        self.watched[(id(value), "")] = ({"content": live}, "content", live.kept())

    def note(self, owner: Any, path: str, value: Any) -> None:
        """Notes a name that decided what the program is, for calls and warm records to compare."""
        self.globals_read.setdefault((id(owner), path), (owner, path, snapshot(value)))

    def hidden_argument(self, real: np.ndarray[Any, Any], name: str) -> Any:
        """Declares a global array, from the start of the capture on."""
        if self.annotated:
            return None
        known = self.paths.get(id(real))
        # An array that no name leads to (in a list, say) is kept as it is; its elements are read at the call.
        path = known[1] if known is not None else ({"array": real}, "array")
        if self.depth:
            raise _Restart((name or "constant", real, path))
        return self.arguments.add_hidden(name or "constant", real, path)


def capture(
    fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], options: Options | None = None
) -> Captured:
    """Traces `fn` on sample arguments, whose data is never read."""
    options = options or Options()
    started = time.perf_counter()
    found: list[tuple[str, np.ndarray[Any, Any], tuple[Any, str]]] = []
    boundary = errors.boundary(fn)
    with boundary:
        bound = bind(fn, args, kwargs)
        boundary.arguments = bound.arguments
        if options.order is not None:
            raise public.UserTypeError(
                f"'order' is the layout of annotated arrays, and {fn.__name__}() has none. Leave it out, or annotate an array"
                ' such as a: fr.float64["N", "M"].'
            )
        check_static(fn, options.static, bound.arguments)
        given = {*inspect.signature(fn).bind(*args, **kwargs).arguments}
        by_reference: set[Hashable] = set()
        while True:
            try:
                return _once(fn, bound, given, options, found, by_reference, started)
            except _Restart as restart:
                found.append(restart.found)
            except joined_arrays.JoinByReference as restart:
                by_reference |= restart.places


def check_static(fn: Callable[..., Any], static: Iterable[str], names: Iterable[str]) -> None:
    """UserTypeError where a name that is static is none of the function's arguments."""
    unknown = {*static} - {*names}
    if unknown:
        raise public.UserTypeError(f"'{min(unknown)}' is static, but no argument of {fn.__name__}().")


def _once(
    fn: Callable[..., Any],
    bound: inspect.BoundArguments,
    given: set[str],
    options: Options,
    found: list[tuple[str, np.ndarray[Any, Any], tuple[Any, str]]],
    by_reference: set[Hashable],
    started: float,
) -> Captured:
    trace = new_trace(fn, options)
    trace.by_reference |= by_reference
    with trace.entered():
        positional, named = _declare_arguments(trace, fn, bound, given, options)
        for name, real, path in found:
            trace.constants[id(real)] = (real, trace.arguments.add_hidden(name, real, path))
        return trace_function(trace, fn, positional, named, started)


def new_trace(fn: Callable[..., Any], options: Options) -> _Capture:
    """An empty trace named after the function."""
    return _Capture(ir.ProgramBuilder(fn.__name__ if fn.__name__.isidentifier() else "program"), options)


def _declare_arguments(
    trace: _Capture, fn: Callable[..., Any], bound: inspect.BoundArguments, given: set[str], options: Options
) -> tuple[list[Any], dict[str, Any]]:
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        parameter = bound.signature.parameters[name]
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            if value:
                raise public.Unsupported(
                    f"The parameter '{name}' of {fn.__name__}() takes any number of arguments, which is not supported."
                )
            continue
        keyword_only = parameter.kind == parameter.KEYWORD_ONLY
        if name not in given and isinstance(value, (list, dict, set)):
            stand_in = trace.arguments.add_default(name, value, keyword_only)
        else:
            stand_in = trace.arguments.add(
                name, value, name in options.static, keyword_only, parameter.default
            )
        if keyword_only:
            named[name] = stand_in
        else:
            positional.append(stand_in)
    return positional, named


def trace_function(
    trace: _Capture, fn: Callable[..., Any], positional: list[Any], named: dict[str, Any], started: float
) -> Captured:
    """Runs the rewritten function on stand-ins of its arguments and finishes the program."""
    builder, options = trace.builder, trace.options
    builder.set_options(options.bounds_check, options.arguments_may_alias)
    rewritten = calls.convert(fn)  # type: ignore[arg-type]
    if rewritten is None:
        raise public.Unsupported(f"'{fn.__name__}' is a generator or coroutine, which is not supported.")
    value = _run(trace, rewritten, positional, named)
    try:
        structure = declare_results(trace, value, trace.arguments.tracers)
    except errors.Abort as abort:
        raise errors.unsupported_at(errors.return_place(fn.__code__), str(abort.error)) from None
    for condition in strongest(trace.guards):
        text = trace.guard_texts.get(id(condition)) or trace.text(condition)
        builder.guard(condition, text, _compares_sources(condition))
    sample = {builder.symbols().name(symbol): number for symbol, number in trace.sample.items()}
    return Captured(
        program=builder.finish(),
        arguments=tuple(trace.arguments.infos),
        returns_tuple=type(value) is tuple,
        results=len(value) if type(value) is tuple else 1,
        structure=structure,
        globals_read=tuple(GlobalRead(*item) for item in trace.globals_read.values()),
        watched=tuple(trace.watched.values()),
        copied=tuple(trace.copied),
        sample=sample,
        seconds=time.perf_counter() - started,
    )


def _run(trace: _Capture, rewritten: Callable[..., Any], positional: list[Any], named: dict[str, Any]) -> Any:
    """The traced function's result; what it changed outside of the program is restored and refused."""
    outside = trace.outside
    try:
        value = rewritten(*positional, **named)
    except BaseException:
        outside.restore()
        raise
    name = outside.changed()
    if name is None:
        return value
    outside.restore()
    code = rewritten.__code__
    watch = Watch(outside)
    try:
        with watch:
            rewritten(*positional, **named)
    except BaseException as error:
        if watch.found is None:
            raise changed_outside(name, f"{code.co_filename}:{code.co_firstlineno}") from error
    finally:
        outside.restore()
    raise watch.found or changed_outside(name, f"{code.co_filename}:{code.co_firstlineno}")


def _compares_sources(condition: ir.Condition) -> bool:
    """Whether a guard says that two extents or arguments are equal."""
    sides = condition.left.as_symbol, condition.right.as_symbol
    return bool(condition.relation == Eq and None not in sides)

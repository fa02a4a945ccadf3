"""`@fr.program` and the object that it returns."""

from __future__ import annotations

import copy
import functools
import inspect
import threading
import time
import types
import warnings
from collections.abc import Callable
from typing import Any, overload

import numpy as np

from ferrule import _rt, session, warm
from ferrule.artifact import Artifact
from ferrule.config import setting, validate
from ferrule.dtypes import is_annotated
from ferrule.errors import InternalError, Unsupported, UserRuntimeError, UserTypeError, UserValueError
from ferrule.kernel import Kernel
from ferrule.session import BuildSettings, Spent

_ORDERS = (None, "C", "F", "inner", "any")


class Options:
    """The options of one decorated function, checked."""

    def __init__(
        self,
        static: Any,
        order: str | None,
        target: str | None,
        num_threads: int | None,
        bounds_check: bool | None,
        fallback: str | None,
        strict_scalars: bool | None,
        recompile_limit: int | None,
        on_recompile_limit: str | None,
        check: bool | None,
    ) -> None:
        names = (static,) if isinstance(static, str) else tuple(static)
        for name in names:
            if not isinstance(name, str):
                raise UserTypeError(f"'static' holds {name!r}, but must hold names of arguments.")
        if order not in _ORDERS:
            raise UserValueError(f"'order' is {order!r}, but must be one of 'C', 'F', 'inner', 'any'.")
        if num_threads not in (None, 1):
            raise Unsupported(
                f"'num_threads' is {num_threads!r}: emitted code runs on one thread for now; use None or 1."
            )
        given = {
            "target": target,
            "bounds_check": bounds_check,
            "fallback": fallback,
            "strict_scalars": strict_scalars,
            "recompile_limit": recompile_limit,
            "on_recompile_limit": on_recompile_limit,
            "check": check,
        }
        for name, value in given.items():
            if value is not None:
                validate(name, value)
        self.static = names
        self.order = order
        self._given = given

    def value(self, name: str) -> Any:
        """An option as argument, configuration, environment or default give it now."""
        return setting(name, self._given[name])

    def without_check(self) -> Options:
        """The same options with check=False."""
        other = copy.copy(self)
        other._given = {**self._given, "check": False}
        return other

    def for_capture(self, *, arguments_may_alias: bool = False) -> Any:
        """What of the options a capture needs, as ferrule.capture.Options."""
        from ferrule import capture

        return capture.Options(
            static=self.static,
            order=self.order,
            bounds_check=self.value("bounds_check"),
            arguments_may_alias=arguments_may_alias,
        )

    def text(self) -> str:
        """What of the options changes a capture or a binding, for the key of a warm record."""
        return repr((self.static, self.order, self.value("bounds_check"), self.value("strict_scalars")))


class Function(_rt.FunctionBase):
    """A decorated function: calls the native module that fits the arguments, and makes one where none does.

    Behaves as the plain function to `inspect`, as a method and to `functools`; `__wrapped__` is the plain function.
    """

    __name__: str
    __qualname__: str
    _fn: Callable[..., Any]

    def __init__(self, fn: Callable[..., Any], options: Options) -> None:
        if isinstance(fn, (staticmethod, classmethod)):
            raise UserTypeError(
                f"'{fn.__name__}' is a {type(fn).__name__}; put it above @fr.program, not below."
            )
        if not inspect.isfunction(fn):
            raise UserTypeError(f"A program is made from a Python function, got {type(fn).__name__}.")
        self._fn = fn
        self._options = options
        self._lock = threading.RLock()
        self._spent = Spent()
        self._artifacts: list[Artifact] = []
        self._reasons: list[str] = []
        self._warm_tried: dict[str, tuple[warm.Record, ...]] = {}
        self._fallback_reason: str | None = None
        self._warned_limit = False
        # A checked function has no specialisations of its own, so that every call comes to _miss.
        self._inner = Function(fn, options.without_check()) if options.value("check") else None
        functools.update_wrapper(self, fn)

    # -- calls that fit no specialisation --------------------------------------------------------------------------------

    def _miss(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._inner is not None:
            return self._checked(self._inner, args, kwargs)
        if self._fallback_reason is not None:
            return self._fn(*args, **kwargs)
        with self._lock:
            try:
                index = self._find_or_make(args, kwargs)
            except Unsupported as error:
                if self._options.value("fallback") != "python":
                    raise
                self._fall_back(str(error))
                index = None
        if index is None:
            return self._fn(*args, **kwargs)
        return self._call(index, args, kwargs)

    def _fall_back(self, reason: str) -> None:
        self._fallback_reason = reason
        warnings.warn(f"'{self.__name__}' runs as Python: {reason}", RuntimeWarning, stacklevel=4)

    def _find_or_make(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
        # Another thread may have made it while this one waited.
        for index in range(len(self._specialisations())):
            if self._matches(index, args, kwargs):
                return index
        if self._is_annotated():
            return self._make_annotated()
        spent = Spent()
        settings = BuildSettings.current(self._options.value("target"))
        self._check_limit()
        kinds = _recordable_kinds(args, kwargs)
        key = None if kinds is None else warm.record_key(self._fn, self._options.text(), settings, kinds)
        if key is not None and key not in self._warm_tried:
            records = warm.from_json(session.store().read_warm(key) or "")
            self._warm_tried[key] = records
            for known in records:
                added = self._add_record(known, settings, args, kwargs, spent)
                if added is not None and self._matches(added, args, kwargs):
                    self._finish(spent)
                    return added
        index, record = self._capture(args, kwargs, settings, spent)
        if key is not None and record is not None:
            self._warm_tried[key] = (*self._warm_tried.get(key, ()), record)
            session.store().write_warm(key, warm.to_json(self._warm_tried[key]))
        self._finish(spent)
        return index

    def _finish(self, spent: Spent) -> None:
        self._spent.add(spent)
        if setting("time"):
            session.print_times(self.__name__, spent)

    def _check_limit(self) -> None:
        made = len(self._specialisations())
        if made < self._options.value("recompile_limit"):
            return
        reasons = "; ".join(self._reasons)
        text = f"'{self.__name__}' has {made} specialisations, which is its recompile_limit. They were made for: {reasons}."
        if self._options.value("on_recompile_limit") == "error":
            raise UserRuntimeError(text)
        if not self._warned_limit:
            self._warned_limit = True
            warnings.warn(text, RuntimeWarning, stacklevel=5)

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
        identity = _rt.toolchain_identity(settings.compiler, session.store())
        if (identity and record.toolchain and identity != record.toolchain) or not warm.holds(
            self._fn, record
        ):
            return None
        value = session.store().get(record.entry)
        if value is None or value.unmet_needs():
            return None
        bound = _bound(self._fn, args, kwargs)
        if any(warm.value_text(bound[name]) != text for name, text in record.statics):
            return None
        kernel = session.load_kernel(value, record.sites)
        guards = [
            guard
            for read in record.reads
            for guard in _guards(warm.find_place(self._fn, read.place), read.name)
        ]
        hidden = [_variable(warm.find_place(self._fn, place), name) for place, name in record.hidden]
        index = self._add(
            kernel,
            globals_guard=guards,
            hidden=hidden,
            statics={name: bound[name] for name, _ in record.statics},
            defaults=_defaults(self._fn),
            overlap_only=record.overlap_only,
        )
        self._remember(Artifact(value, record.sites), kernel, args, kwargs)
        spent.load += time.perf_counter() - start
        spent.hits += 1
        return int(index)

    def _capture(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], settings: BuildSettings, spent: Spent
    ) -> tuple[int, warm.Record | None]:
        from ferrule import capture

        captured = capture.capture(self._fn, args, kwargs, self._options.for_capture())
        spent.captures += 1
        spent.capture += captured.seconds
        overlaps = _overlaps(captured, _bound(self._fn, args, kwargs))
        if overlaps:
            options = self._options.for_capture(arguments_may_alias=True)
            captured = capture.capture(self._fn, args, kwargs, options)
            spent.capture += captured.seconds
        return self._install(captured, settings, args, kwargs, spent, overlaps)

    def _install(
        self,
        captured: Any,
        settings: BuildSettings,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        spent: Spent,
        overlap_only: bool = False,
    ) -> tuple[int, warm.Record | None]:
        value = session.compile_program(
            captured.program,
            settings,
            spent,
            strict_scalars=self._options.value("strict_scalars"),
            alias_version=self._is_annotated(),
        )
        sites = tuple(session.site_table(captured.program.sites))
        kernel = session.load_kernel(value, sites, spent)
        reads = [(r.owner, r.name) for r in captured.globals_read]
        guards = [guard for owner, name in reads for guard in _guards(owner, name)]
        statics = {info.name: info.static for info in captured.arguments if info.kind == "static"}
        hidden = [_variable(*info.path) for info in captured.hidden]
        index = int(
            self._add(
                kernel,
                globals_guard=guards,
                hidden=hidden,
                statics=statics,
                defaults=_defaults(self._fn),
                overlap_only=overlap_only,
            )
        )
        self._remember(Artifact(value, sites), kernel, args, kwargs)
        return index, self._record(captured, value, statics, sites, settings, overlap_only)

    def _record(
        self,
        captured: Any,
        value: Any,
        statics: dict[str, Any],
        sites: tuple[tuple[str, str], ...],
        settings: BuildSettings,
        overlap_only: bool,
    ) -> warm.Record | None:
        """The warm record of a specialisation; None where something it read cannot be told apart in a new process."""
        try:
            reads = tuple(
                warm.Read(warm.place_of(self._fn, r.owner), r.name, warm.value_text(r.value))
                for r in captured.globals_read
            )
            hidden = tuple((warm.place_of(self._fn, info.path[0]), info.path[1]) for info in captured.hidden)
            fixed = tuple((name, warm.value_text(given)) for name, given in statics.items())
        except warm.Unrecordable:
            return None
        identity = _rt.toolchain_identity(settings.compiler, session.store())
        return warm.Record(value.key, reads, hidden, fixed, sites, identity, overlap_only)

    def _remember(
        self, artifact: Artifact, kernel: Kernel, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        kernel.artifact = artifact
        self._artifacts.append(artifact)
        self._reasons.append(_argument_kinds(args, kwargs) or "its annotations")

    # -- annotated functions ---------------------------------------------------------------------------------------------

    def _is_annotated(self) -> bool:
        known = self.__dict__.get("_annotated_here")
        if known is None:
            known = bool(getattr(self._fn, "__annotations__", ())) and is_annotated(self._fn)
            self.__dict__["_annotated_here"] = known
            if known and not self._specialisations():
                self._annotated = True
        return bool(known)

    def _make_annotated(self, target: str | None = None) -> int:
        if self._artifacts:
            return 0
        spent = Spent()
        settings = BuildSettings.current(target or self._options.value("target"))
        key = warm.record_key(self._fn, self._options.text(), settings, "annotations")
        records = warm.from_json(session.store().read_warm(key) or "") if key is not None else ()
        for known in records:
            added = self._add_record(known, settings, (), {}, spent)
            if added is not None:
                self._finish(spent)
                return added
        index, record = self._capture_annotated(settings, spent)
        if key is not None and record is not None:
            session.store().write_warm(key, warm.to_json((record,)))
        self._finish(spent)
        return index

    def _capture_annotated(self, settings: BuildSettings, spent: Spent) -> tuple[int, warm.Record | None]:
        from ferrule import capture

        captured = capture.capture_annotated(self._fn, self._options.for_capture())
        spent.captures += 1
        spent.capture += captured.seconds
        return self._install(captured, settings, (), {}, spent)

    # -- ahead of time, and looking inside -------------------------------------------------------------------------------

    def compile(self, *sample: Any, target: str | None = None, **sample_kw: Any) -> Artifact:
        """The artifact for a sample of arguments; without one, for the annotations. Nothing is run.

        Raises UserTypeError where there is neither, BuildError where the C++ compiler fails.
        """
        if self._inner is not None:
            return self._inner.compile(*sample, target=target, **sample_kw)
        with self._lock:
            if self._is_annotated():
                if sample or sample_kw:
                    raise UserTypeError(f"'{self.__name__}' is annotated, so compile() takes no sample.")
                if target is None or target == self._options.value("target"):
                    return self._artifacts[self._make_annotated()]
                from ferrule import capture

                captured = capture.capture_annotated(self._fn, self._options.for_capture())
                return self._compile_only(captured, target)
            if not sample and not sample_kw and inspect.signature(self._fn).parameters:
                raise UserTypeError(
                    f"'{self.__name__}' has no annotations; give compile() a sample of its arguments, or annotate them"
                    ' such as a: fr.float64["N", "M"].'
                )
            if target is None or target == self._options.value("target"):
                return self._artifacts[self._find_or_make(sample, sample_kw)]
            from ferrule import capture

            return self._compile_only(
                capture.capture(self._fn, sample, sample_kw, self._options.for_capture()),
                target,
            )

    def _compile_only(self, captured: Any, target: str) -> Artifact:
        spent = Spent()
        value = session.compile_program(
            captured.program,
            BuildSettings.current(validate("target", target)),
            spent,
            strict_scalars=self._options.value("strict_scalars"),
            alias_version=True,
        )
        self._spent.add(spent)
        return Artifact(value, tuple(session.site_table(captured.program.sites)))

    @property
    def specialisations(self) -> list[Kernel]:
        """The kernels made so far, in order."""
        kernels: list[Kernel] = (self._inner or self)._specialisations()
        return kernels

    @property
    def signature(self) -> inspect.Signature:
        """The plain function's signature."""
        return inspect.signature(self._fn)

    def stats(self) -> dict[str, Any]:
        """What the specialisations took so far.

        captures, compiles and hits count traces, runs of the C++ compiler and modules taken from the store; seconds
        holds 'capture', 'compile' (all between capture and load) and 'load', in seconds; 'compiler' is the part of
        'compile' that the C++ compiler took; stages holds the seconds of each stage before it.
        """
        if self._inner is not None:
            return self._inner.stats()
        spent = self._spent
        return {
            "captures": spent.captures,
            "compiles": spent.compiles,
            "hits": spent.hits,
            "specialisations": len(self._specialisations()),
            "seconds": {
                "capture": spent.capture,
                "compile": spent.emit + spent.build + spent.store,
                "load": spent.load,
            },
            "compiler": spent.build,
            "stages": dict(spent.stages),
        }

    def explain(self) -> str:
        """Why each specialisation exists and what the schedule did with it, or why the function runs as Python."""
        if self._inner is not None:
            return self._inner.explain()
        if self._fallback_reason is not None:
            return f"'{self.__name__}' runs as Python: {self._fallback_reason}"
        parts = [
            f"specialisation {index} for {reason}\n{kernel.explain()}"
            for index, (reason, kernel) in enumerate(zip(self._reasons, self.specialisations, strict=True))
        ]
        return "\n".join(parts) if parts else f"'{self.__name__}' has not been called yet."

    def why_recompiled(self) -> list[str]:
        """What the arguments were for which each specialisation was made, in order."""
        return list((self._inner or self)._reasons)

    def _checked(self, inner: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """check=True: NumPy runs on copies, then the native code on the arguments; both must agree."""
        from ferrule.checking import compare, copies

        plain_args, plain_kwargs = copies(args, kwargs)
        expected = self._fn(*plain_args, **plain_kwargs)
        actual = inner(*args, **kwargs)
        compare(self.__name__, expected, actual, (plain_args, plain_kwargs), (args, kwargs))
        return actual

    def __repr__(self) -> str:
        return f"<ferrule.Function {self.__qualname__}, {len(self._specialisations())} specialisations>"


def _bound(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Arguments by name, defaults filled in; what is missing is left out."""
    bound = inspect.signature(fn).bind_partial(*args, **kwargs)
    bound.apply_defaults()
    return dict(bound.arguments)


def _defaults(fn: Callable[..., Any]) -> dict[str, Any]:
    return {
        name: parameter.default
        for name, parameter in inspect.signature(fn).parameters.items()
        if parameter.default is not parameter.empty
    }


def _variable(owner: Any, path: str) -> tuple[Any, str]:
    """The dict or cell and the key under which a call finds a variable; dotted names go through their object's dict."""
    root, *rest = path.split(".")
    if not rest:
        return owner, root
    holder = warm.read_path(owner, ".".join([root, *rest[:-1]]))
    return vars(holder), rest[-1]


def _guards(owner: Any, path: str) -> list[tuple[Any, str, Any]]:
    """What a call compares for a variable that the trace read: the holder behind a dotted name, then the attribute.

    A module is not compared, and neither is an attribute whose holder has no dict to look into.
    """
    root, _, rest = path.partition(".")
    if not rest:
        return [(owner, root, warm.snapshot(warm.read_path(owner, root)))]
    guards: list[tuple[Any, str, Any]] = []
    holder = warm.read_path(owner, root)
    if not isinstance(holder, types.ModuleType):
        guards.append((owner, root, holder))
    try:
        container, key = _variable(owner, path)
    except TypeError:
        return guards
    if isinstance(container, dict) and key in container:
        guards.append((container, key, warm.snapshot(warm.read_path(owner, path))))
    return guards


def _recordable_kinds(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """What a warm record is found by; None where a value cannot be told apart from others in another process."""
    try:
        for value in (*args, *kwargs.values()):
            if not isinstance(value, (np.ndarray, np.generic)):
                warm.value_text(value)
    except warm.Unrecordable:
        return None
    return _argument_kinds(args, kwargs)


def _argument_kinds(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Kinds of the arguments as a specialisation sees them, as text."""
    parts = [_kind(value) for value in args]
    parts += [f"{name}={_kind(value)}" for name, value in sorted(kwargs.items())]
    return ", ".join(parts)


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        flags = value.flags
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "strided"
        return f"{value.dtype.str}[{value.ndim}]{layout}"
    if isinstance(value, np.generic):
        return value.dtype.str
    if isinstance(value, (bool, str, type(None))):
        return repr(value)
    if isinstance(value, (int, float)):
        return type(value).__name__
    try:
        return warm.value_text(value)
    except warm.Unrecordable:
        return f"{type(value).__module__}.{type(value).__qualname__}"


def _share_memory(first: np.ndarray[Any, Any], second: np.ndarray[Any, Any]) -> bool:
    """Whether two arrays have a byte in common; exact unless that is too much work, then by their bounds."""
    limit: Any = 100_000  # NumPy's stub knows only its two special values
    try:
        return bool(np.shares_memory(first, second, max_work=limit))
    except np.exceptions.TooHardError:
        return True


def _overlaps(captured: Any, bound: dict[str, Any]) -> bool:
    """Whether an array that the program writes shares memory with another argument."""
    arrays = []
    for declared in captured.program.arguments:
        if declared["kind"] == "array" and not declared["hidden"]:
            arrays.append((bound[declared["name"]], declared["written"]))
    for info in captured.hidden:
        arrays.append((info.hidden, False))
    for i, (first, first_written) in enumerate(arrays):
        for second, second_written in arrays[i + 1 :]:
            if (first_written or second_written) and _share_memory(first, second):
                return True
    return False


@overload
def program(fn: Callable[..., Any], /) -> Function: ...
@overload
def program(
    fn: None = None,
    *,
    static: Any = ...,
    order: str | None = ...,
    target: str | None = ...,
    num_threads: int | None = ...,
    bounds_check: bool | None = ...,
    fallback: str | None = ...,
    compile: str = ...,
    autotune: bool | str = ...,
    recompile_limit: int | None = ...,
    on_recompile_limit: str | None = ...,
    strict_scalars: bool | None = ...,
    check: bool | None = ...,
) -> Callable[[Callable[..., Any]], Function]: ...
def program(
    fn: Callable[..., Any] | None = None,
    *,
    static: Any = (),
    order: str | None = None,
    target: str | None = None,
    num_threads: int | None = None,
    bounds_check: bool | None = None,
    fallback: str | None = None,
    compile: str = "sync",
    autotune: bool | str = False,
    recompile_limit: int | None = None,
    on_recompile_limit: str | None = None,
    strict_scalars: bool | None = None,
    check: bool | None = None,
) -> Any:
    """Compile a NumPy function at its first call, or ahead of time where its arguments are annotated.

    Tracing repeats the Python side effects of the function (prints, appends); calls of the native module do not.

    Parameters
    ----------
    static : name or names of arguments whose values are fixed in a specialisation
    order : layout class of annotated arrays without one: 'C' (default), 'F', 'inner', 'any'
    target : 'native' or 'baseline' (x86-64-v3 or armv8-a)
    num_threads : None or 1
    bounds_check : check indices that only the run knows (default True)
    fallback : 'python' runs an Unsupported function as Python, with one warning that gives the reason
    recompile_limit, on_recompile_limit : so many specialisations (16) 'warn' once, or raise ('error')
    strict_scalars : refuse every conversion of scalar arguments
    check : also run NumPy on copies at every call and raise where the results differ

    Options left at None come from `fr.config`, FERRULE_* variables or the defaults.

    Examples
    --------
    >>> @program
    ... def twice(a):
    ...     return a * 2.0
    >>> twice(np.arange(3.0))
    array([0., 2., 4.])
    """
    if compile != "sync":
        if compile != "async":
            raise UserValueError(f"'compile' is {compile!r}, but must be 'sync' or 'async'.")
        raise Unsupported("compile='async' is not supported yet; use compile='sync'.")
    if autotune not in (False, True, "max"):
        raise UserValueError(f"'autotune' is {autotune!r}, but must be False, True or 'max'.")
    if autotune is not False:
        raise Unsupported("autotune is not supported yet; leave it at False.")
    options = Options(
        static,
        order,
        target,
        num_threads,
        bounds_check,
        fallback,
        strict_scalars,
        recompile_limit,
        on_recompile_limit,
        check,
    )
    if fn is None:
        return lambda function: Function(function, options)
    return Function(fn, options)


__all__ = ["Function", "InternalError", "program"]

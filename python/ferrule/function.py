"""The object that `@fr.program` returns."""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import pickle
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ferrule import _rt, by_value, carried, reasons
from ferrule.artifact import Artifact
from ferrule.config import setting
from ferrule.errors import Unsupported, UserTypeError, warn
from ferrule.foreign import as_ndarrays, with_originals
from ferrule.kernel import Kernel
from ferrule.kinds import argument_kinds
from ferrule.options import Options
from ferrule.session import BuildSettings
from ferrule.specialise import Specialised

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future


class Function(Specialised):
    """A decorated function: calls the native module that fits the arguments, and makes one where none does.

    Behaves as the plain function to `inspect`, as a method and to `functools`; `__wrapped__` is the plain function.
    """

    __slots__ = ("_fallbacks", "_inner")
    __name__: str
    __qualname__: str

    def __init__(self, fn: Callable[..., Any], options: Options) -> None:
        if isinstance(fn, (staticmethod, classmethod)):
            raise UserTypeError(
                f"'{fn.__name__}' is a {type(fn).__name__}; put it above @fr.program, not below."
            )
        if not inspect.isfunction(fn):
            raise UserTypeError(f"A program is made from a Python function, got {type(fn).__name__}.")
        super().__init__(fn, options)
        self._fallbacks: dict[str, str] = {}  # why calls run as Python, by the kinds of their arguments
        # A checked function has no specialisations of its own, so that every call comes to _miss. `config` checks others.
        self._inner: Function | None = Function(fn, options.without_check()) if options.is_checked() else None
        functools.update_wrapper(self, fn)
        if options.compile == "async":
            importlib.import_module("ferrule.deferred")  # not to be paid by the first call

    def _miss(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._fallbacks and self._runs_as_python(args, kwargs):
            return self._fn(*args, **kwargs)
        if self._options.compile == "async" and self._inner is None:
            return sys.modules["ferrule.deferred"].miss(self, args, kwargs)
        return self._miss_now(args, kwargs)

    def _miss_now(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._inner is not None:
            native = self._inner._call_unwatched
            return (
                self._checked(native, args, kwargs)
                if self._options.value("check")
                else native(*args, **kwargs)
            )
        try:
            # The arrays live until their originals are put back, which are known by the ids of the arrays.
            arrays, named, originals = as_ndarrays(self._fn, args, kwargs)
            with self._lock():
                index = self._find_or_make(arrays, named)
                self._place(index)
        except Unsupported as error:
            if self._options.value("fallback") != "python":
                raise
            self._fall_back(args, kwargs, str(error))
        else:
            return with_originals(self._call(index, arrays, named), originals)
        return self._fn(*args, **kwargs)

    def _place(self, index: int) -> None:
        """Put the files of a specialisation where the settings want them."""
        if setting("folder_mode") == "content" or self._artifacts[index]._place is not None:
            return
        from ferrule import placement

        self._artifacts[index] = placement.placed(self._artifacts[index], placement.placing())
        for kernel in self._specialisations():
            if kernel._number == index:
                kernel.artifact = self._artifacts[index]

    def _check(self, *args: Any, **kwargs: Any) -> None:
        """All that a call checks, and what it would compile; nothing is run."""
        inner = self._inner or self
        arrays, named, _ = as_ndarrays(self._fn, args, kwargs)
        with inner._lock():
            inner._find_or_make(arrays, named)

    def _runs_as_python(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether such a call has met something Unsupported before. After many kinds of calls have, all are taken to."""
        many = len(self._fallbacks) >= self._options.value("recompile_limit")
        return many or argument_kinds(args, kwargs) in self._fallbacks

    def _fall_back(self, args: tuple[Any, ...], kwargs: dict[str, Any], reason: str) -> None:
        is_new = reason not in self._fallbacks.values()
        self._fallbacks[argument_kinds(args, kwargs)] = reason
        if is_new:
            warn(f"'{self.__name__}' runs as Python: {reason}")

    def compile(
        self,
        *sample: Any,
        target: str | None = None,
        build: str | None = None,
        adapter: str | None = None,
        folder: str | os.PathLike[str] | None = None,
        folder_mode: str | None = None,
        name_collision: str | None = None,
        reuse_loaded: bool | None = None,
        layout: str | None = None,
        **sample_kw: Any,
    ) -> Artifact:
        """The artifact for a sample of arguments; without one, for the annotations. Nothing is run.

        It is compiled as options and configuration say now, but for target and build ('release', 'debug') where they are
        given; calls keep the specialisations that were made for them before.
        adapter: 'module:qualname' of a callable that `Artifact.load` gives the kernel to, and whose result it returns.
        folder, or folder_mode with the setting build_folder: where the files are also put for others to find, see
        docs/folders.md, with what name_collision, reuse_loaded and layout do there. An argument of the function with the
        name of an option is given by position.

        Raises UserTypeError where there is neither, BuildError where the C++ compiler fails, UserRuntimeError for a name
        that is taken with name_collision='error'.
        """
        from ferrule import placement

        how = placement.placing(folder, folder_mode, name_collision, reuse_loaded, layout)
        return placement.placed(
            (self._inner or self)._compile(sample, sample_kw, target, adapter, build), how
        )

    def _compile(
        self,
        sample: tuple[Any, ...],
        sample_kw: dict[str, Any],
        target: str | None,
        adapter: str | None,
        build: str | None = None,
    ) -> Artifact:
        own = BuildSettings.current(self._options.value("target"))
        settings = BuildSettings.current(target or own.target, build)
        is_own = adapter is None and settings == own
        with self._lock():
            if self._is_annotated():
                if sample or sample_kw:
                    raise UserTypeError(f"'{self.__name__}' is annotated, so compile() takes no sample.")
                return self._artifact_for((), {}) if is_own else self._compile_only((), {}, settings, adapter)
            sample, sample_kw, _ = as_ndarrays(self._fn, sample, sample_kw)
            if not sample and not sample_kw and inspect.signature(self._fn).parameters:
                raise UserTypeError(
                    f"'{self.__name__}' has no annotations of Ferrule's; give compile() a sample of its arguments, or"
                    ' annotate them such as a: fr.float64["N", "M"].'
                )
            if is_own:
                return self._artifact_for(sample, sample_kw)
            return self._compile_only(sample, sample_kw, settings, adapter)

    def compile_async(
        self, *sample: Any, target: str | None = None, executor: Executor | None = None, **sample_kw: Any
    ) -> Future[Artifact]:
        """`compile` as a future: on threads of this process, or on any `concurrent.futures.Executor`.

        The arrays are not read and may change meanwhile. What an executor of processes compiles is known here too, so that
        the next call neither traces nor compiles. A process that ends stops compilations on its own threads.
        """
        from ferrule import pool

        return pool.compile_function(self, sample, sample_kw, target, executor)

    def warm(self, *samples: tuple[Any, ...], executor: Executor | None = None) -> list[Artifact]:
        """Compile for several samples, each a tuple of arguments, and wait; without any, for the annotations.

        Calls with such arguments then neither trace nor compile. `executor` as for `compile_async`.
        """
        from ferrule import pool

        return pool.warm(self, samples, executor)

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
        return {**self._spent.told(), "specialisations": len(self._specialisations())}

    def explain(self) -> str:
        """Why each specialisation exists and what the schedule did with it, or why the function runs as Python."""
        if self._inner is not None:
            return self._inner.explain()
        parts = [
            f"'{self.__name__}' runs as Python for {kinds or 'no arguments'}: {reason}"
            for kinds, reason in self._fallbacks.items()
        ]
        parts += [
            f"specialisation {index} for {origin.call}\n{kernel.explain()}"
            for index, (origin, kernel) in enumerate(
                zip(self._origins.values(), self.specialisations, strict=True)
            )
        ]
        return "\n".join(parts) if parts else f"'{self.__name__}' has not been called yet."

    def why_recompiled(self) -> list[str]:
        """Why each specialisation was made, in order: what differed from the nearest one before it, in one sentence.

        That may be the dtype, rank or layout of an argument, the value of a static one or of a variable, sizes for which
        an earlier one does not hold, memory that overlaps, an option, the target, flags or the C++ compiler.
        """
        return reasons.sentences([*(self._inner or self)._origins.values()])

    def _call_checked(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call where the configuration asks for checks, which the function's own option may forbid or make itself."""
        if self._inner is not None or not self._options.value("check"):
            return self._call_unwatched(*args, **kwargs)
        return self._checked(self._call_unwatched, args, kwargs)

    def _checked(self, native: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """check=True: NumPy runs on copies, then the native code on the arguments; both must agree."""
        from ferrule.checking import compare, copies

        arrays, named, originals = as_ndarrays(self._fn, args, kwargs)
        plain_args, plain_kwargs = copies(arrays, named)
        expected = self._fn(*plain_args, **plain_kwargs)
        actual = native(*arrays, **named)
        compare(self.__name__, expected, actual, (plain_args, plain_kwargs), (arrays, named))
        return with_originals(actual, originals)

    def __copy__(self) -> Function:
        return self

    def __deepcopy__(self, memo: Any) -> Function:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """With the artifacts and records of its specialisations: by module and name, or with the plain function's source.

        The second form is for what no other process could import: functions of a script or notebook, of a function, or
        replaced under their name.
        """
        brought = carried.to_bytes((self._inner or self)._for_pickle())
        depth = _depth(self)
        if depth is not None:
            where = self.__module__, self.__qualname__, depth, carried.code_digest(self._fn)
            return _restore, (*where, brought)
        # The state comes after the object, so that a function that names itself among its globals is no endless pickle.
        return _blank, (), (by_value.to_bundle(self._fn), self._options, brought)

    def __setstate__(self, state: tuple[by_value.Bundle, Options, bytes]) -> None:
        bundle, options, brought = state
        Function.__init__(self, by_value.from_bundle(bundle), options)
        (self._inner or self)._carry(carried.from_bytes(brought))

    def __dask_tokenize__(self) -> str:
        """One text for all functions that do the same, in every process; one of its own where that cannot be told."""
        if _depth(self) is not None:
            parts = f"{self.__module__}\n{self.__qualname__}\n{carried.code_digest(self._fn)}".encode()
        else:
            try:
                parts = pickle.dumps(by_value.to_bundle(self._fn), 5)
            except (
                pickle.PicklingError,
                TypeError,
                AttributeError,
            ):  # as pickle refuses what a variable holds
                parts = os.urandom(32)
        digest: str = _rt.sha256_hex(parts + self._options.text().encode())
        return digest

    def __repr__(self) -> str:
        return f"<ferrule.Function {self.__qualname__}, {len(self._specialisations())} specialisations>"


def _depth(function: Function) -> int | None:
    """How many decorators lie above the function where its module has it; None where another process cannot import it."""
    if function.__module__ in (None, "__main__", "__mp_main__"):
        return None
    try:
        found = by_value.find(function.__module__, function.__qualname__)
    except (ImportError, AttributeError):
        return None
    depth = 0
    while found is not function:
        found = getattr(found, "__wrapped__", None)
        if found is None or (isinstance(found, Function) and found is not function):
            return None
        depth += 1
    return depth


def _blank() -> Function:
    return Function.__new__(Function)


def _restore(module: str, name: str, depth: int, code: str, brought: bytes) -> Any:
    found = by_value.find(module, name)
    for _ in range(depth):
        found = getattr(found, "__wrapped__", None)
    # What was made of other code than this is of no use here.
    if isinstance(found, Function) and carried.code_digest(found._fn) == code:
        (found._inner or found)._carry(carried.from_bytes(brought))
    return found

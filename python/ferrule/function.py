"""The object that `@fr.program` returns."""

from __future__ import annotations

import functools
import importlib
import inspect
import pickle
from collections.abc import Callable
from typing import Any

from ferrule.artifact import Artifact
from ferrule.errors import Unsupported, UserTypeError, warn
from ferrule.foreign import as_ndarrays, with_originals
from ferrule.kernel import Kernel
from ferrule.options import Options
from ferrule.specialise import Carried, Specialised


class Function(Specialised):
    """A decorated function: calls the native module that fits the arguments, and makes one where none does.

    Behaves as the plain function to `inspect`, as a method and to `functools`; `__wrapped__` is the plain function.
    """

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
        self._fallback_reason: str | None = None
        # A checked function has no specialisations of its own, so that every call comes to _miss.
        self._inner = Function(fn, options.without_check()) if options.value("check") else None
        functools.update_wrapper(self, fn)

    def _miss(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._fallback_reason is not None:
            return self._fn(*args, **kwargs)
        # The arrays live until their originals are put back, which are known by the ids of the arrays.
        arrays, named, originals = as_ndarrays(self._fn, args, kwargs)
        if self._inner is not None:
            return with_originals(self._checked(self._inner, arrays, named), originals)
        with self._lock:
            try:
                index = self._find_or_make(arrays, named)
            except Unsupported as error:
                if self._options.value("fallback") != "python":
                    raise
                self._fall_back(str(error))
                index = None
        if index is None:
            return self._fn(*args, **kwargs)
        return with_originals(self._call(index, arrays, named), originals)

    def _check(self, *args: Any, **kwargs: Any) -> None:
        """All that a call checks, and what it would compile; nothing is run."""
        inner = self._inner or self
        arrays, named, _ = as_ndarrays(self._fn, args, kwargs)
        with inner._lock:
            inner._find_or_make(arrays, named)

    def _fall_back(self, reason: str) -> None:
        self._fallback_reason = reason
        warn(f"'{self.__name__}' runs as Python: {reason}")

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
            sample, sample_kw, _ = as_ndarrays(self._fn, sample, sample_kw)
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

    def __copy__(self) -> Function:
        return self

    def __deepcopy__(self, memo: Any) -> Function:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """By module and qualified name, with the artifacts and records of its specialisations."""
        module, name = self.__module__, self.__qualname__
        try:
            found = _imported(module, name)
        except (ImportError, AttributeError):
            found = None
        if found is not self:
            raise pickle.PicklingError(
                f"'{name}' cannot be pickled, since '{module}' does not have it under this name. Define it at the top of a"
                " module, or pickle the artifact that its compile() returns."
            )
        return _restore, (module, name, (self._inner or self)._for_pickle())

    def __repr__(self) -> str:
        return f"<ferrule.Function {self.__qualname__}, {len(self._specialisations())} specialisations>"


def _imported(module: str, name: str) -> Any:
    return functools.reduce(getattr, name.split("."), importlib.import_module(module))


def _restore(module: str, name: str, carried: list[Carried]) -> Any:
    function = _imported(module, name)
    if isinstance(function, Function):
        (function._inner or function)._carry(carried)
    return function

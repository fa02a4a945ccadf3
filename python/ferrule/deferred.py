"""compile="async": a call that fits no specialisation runs the plain function, while a thread makes the specialisation."""

from __future__ import annotations

import contextvars
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from ferrule import _rt, background, session
from ferrule.errors import Unsupported, UserError, warn
from ferrule.foreign import as_ndarrays
from ferrule.kinds import argument_kinds
from ferrule.samples import Sample, sample_of
from ferrule.variables import bound_arguments

if TYPE_CHECKING:
    from ferrule.function import Function


class Pending:
    """A specialisation that is being made, for arguments of some kinds; `error` is what came instead of it."""

    def __init__(self, function: Function, kinds: str, sample: Sample) -> None:
        self._function = weakref.ref(function)  # one that nobody has any more is not compiled
        self._kinds = kinds
        self._sample = sample
        self._context = contextvars.copy_context()
        self.error: BaseException | None = None

    def make(self, stop: _rt.Stop) -> None:
        """Trace, compile and load; the next calls with such arguments find the specialisation, or the error."""
        function = self._function()
        if function is None or stop.is_set:
            return
        try:
            self._context.run(self._make, function, stop)
        except BaseException as error:  # the next call raises it, whatever it is
            self.error = error
        else:
            function._pending.pop(self._kinds, None)

    def _make(self, function: Function, stop: _rt.Stop) -> None:
        session.stopping.set(stop)
        args, kwargs = self._sample.arguments()
        with background.slot(), function._lock():
            index = function._find_or_make(args, kwargs)
            try:
                function._place(index)
            except UserError as error:  # the calls have their code and come here no more
                warn(str(error))


def _without_data(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sample | None:
    """The arguments for another thread; None where their data decide."""
    static = function._options.static
    if static:
        bound = bound_arguments(function._fn, args, kwargs)
        if any(
            not isinstance(bound.get(name), (int, float, complex, str, bytes, np.generic, type(None)))
            for name in static
        ):
            return None
    return sample_of(args, kwargs)


def miss(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call that fits no specialisation: the plain function's, unless its kind of arguments failed to compile."""
    arrays, named, _ = as_ndarrays(function._fn, args, kwargs)
    kinds = argument_kinds(arrays, named)
    pending = function._pending.get(kinds)
    if pending is None:
        sample = _without_data(function, arrays, named)
        if sample is None:
            return function._miss_now(args, kwargs)
        pending = Pending(function, kinds, sample)
        if function._pending.setdefault(kinds, pending) is pending and not background.submit(pending.make):
            function._pending.pop(kinds, None)
    elif (error := pending.error) is not None:
        function._pending.pop(kinds, None)  # the call after this one tries again
        if not isinstance(error, Unsupported) or function._options.value("fallback") != "python":
            try:
                raise error
            finally:
                del error, pending  # whose traceback has this frame
        function._fall_back(args, kwargs, str(error))
    return function._fn(*args, **kwargs)

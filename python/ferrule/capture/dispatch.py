"""What rewritten code calls: Python's own behaviour where nothing is traced, and the program's where something is.

A Dispatcher is the free variable `__fr__` of one rewritten function. Its routes for `if`, `for` and `while` run the
pieces of the function, or have `regions` and `loops` trace them.
"""

from __future__ import annotations

import builtins
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, CellType, FunctionType, ModuleType
from typing import Any, cast

import numpy as np

from ferrule.values import MISSING, read_path
from ferrule.variables import holds_array

from . import calls, errors, native_calls, outside
from .base import holds_traced, is_traced
from .maybe import Maybe
from .trace import Trace
from .truth import COMPARE, implied
from .truth import truth as truth_of

_READERS = ("get", "items", "values")  # of a dict


def met(trace: Any, item: Any) -> Any:
    """What a container held: an array, which Python would compute with at capture alone, as a stand-in."""
    if isinstance(item, np.ndarray):
        is_number = item.dtype.kind in "biuf" and item.dtype.itemsize <= 8 and item.dtype.isnative
        return trace.constant_array(item) if is_number and item.dtype != np.float16 else item
    return tuple(met(trace, each) for each in item) if type(item) is tuple and holds_array(item) else item


class Dispatcher:
    """The routes of one rewritten function."""

    __slots__ = ("cells", "globals")
    slice = slice

    def __init__(self, fn: FunctionType) -> None:
        self.globals = fn.__globals__
        self.cells: dict[str, CellType] = dict(
            zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True)
        )

    # -- loads and calls -----------------------------------------------------------------------------------------------

    def load(self, value: Any, path: str) -> Any:
        """A global or a closure's name, or an attribute of one; arrays come back as hidden arguments."""
        trace = Trace.active()
        if trace is None or is_traced(value):
            return value
        root, *names = path.split(".")
        owner = self.cells.get(root, self.globals)
        is_builtin = root not in self.cells and root not in self.globals
        if is_builtin:
            # A global of its name would come first.
            trace.note(owner, root, MISSING)
            owner = vars(builtins)
        if names:
            holder = read_path(owner, root)
            trace.outside.meet(holder, root)
            if isinstance(holder, ModuleType) and not is_builtin:
                trace.note(owner, root, holder)
            return outside.read(trace, holder, names, owner, root)
        if is_builtin:
            return value
        trace.outside.meet(value, path)
        return value if id(value) in trace.outside.made else trace.read_global(owner, path, value)

    def bound(self, read: Callable[[], Any], name: str) -> Any:
        """A local name that may have no value, for good or for some data."""
        try:
            value = read()
        except NameError:
            if Trace.active() is None:
                raise
            from . import traps

            raise traps.unset(name) from None
        return value if type(value) is not Maybe else value.read(name)

    def attribute(self, value: Any, name: str) -> Any:
        """value.name of a local value; what lives longer than the trace is noted as a global is."""
        trace = Trace.active()
        if trace is None or is_traced(value):
            return getattr(value, name)
        if isinstance(value, ModuleType):
            return outside.read(trace, value, [name], vars(value), "")
        return (
            outside.read(trace, value, [name], value, "")
            if trace.outside.is_outside(value)
            else getattr(value, name)
        )

    def imported(self, value: Any, module: str, level: int, name: str) -> Any:
        """What `from module import name` has bound, noted as module.name is."""
        trace = Trace.active()
        full = "." * level + module
        if level:
            full = importlib.util.resolve_name(full, self.globals.get("__package__") or "")
        found = sys.modules.get(full)
        if trace is None or not isinstance(found, ModuleType) or vars(found).get(name) is not value:
            return value
        return outside.read(trace, found, [name], vars(found), "")

    def read_whole(self, value: Any, reader: str) -> Any:
        """What a call gave that may have read any global or any attribute; all of them are noted."""
        trace = Trace.active()
        content = value if reader == "vars" else self.globals
        if trace is not None and type(content) is dict and not any(map(is_traced, content.values())):
            outside.watch_container(trace, content)
        return value

    def global_store(self, value: Any, name: str) -> None:
        """A global was assigned; traced values cannot outlive the capture."""
        if Trace.active() is not None and is_traced(value):
            del self.globals[name]
            raise errors.unsupported(
                f"The assignment of a computed value to the global '{name}' is not supported.",
                "Return the value instead.",
            )

    def call(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        """A call: through the table, of a rewritten function, or as it is."""
        trace = Trace.active()
        if trace is not None:
            try:
                return self._traced_call(trace, fn, args, kwargs)
            except TypeError as error:
                refused = native_calls.refusal(fn, error, _CALLERS_OF_NATIVE)
                if refused is None:
                    raise
                raise refused from None
            except errors.NeedsRuntime:
                if type(fn) is not BuiltinFunctionType and not isinstance(fn, type):
                    raise
                raise errors.unsupported(
                    f"'{fn.__qualname__}' of values that change within a call is not supported.",
                    "Decide with 'if', 'while' or np.where in the program itself.",
                ) from None
        return calls.invoke(fn, args, kwargs)

    def _traced_call(self, trace: Trace, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        handler = _table_lookup(fn)
        if handler is not None:
            return handler(*args, **kwargs)
        if native_calls.is_method_of_arrays(fn, args):
            return self.call(getattr(args[0], fn.__name__), *args[1:], **kwargs)
        calls.refuse_changing(fn)
        outside.environment(trace, fn, args)
        if isinstance(fn, BuiltinFunctionType) and type(fn.__self__) is dict and fn.__name__ in _READERS:
            content = {key: met(trace, item) for key, item in fn.__self__.items()}
            return getattr(content, fn.__name__)(*args, **kwargs)
        if (fn is getattr or fn is hasattr) and len(args) > 1 and not is_traced(args[0]):
            return outside.look_up(trace, fn, *args)
        return calls.invoke(fn, args, kwargs)

    def getitem(self, value: Any, index: Any) -> Any:
        """value[index] as a load."""
        trace = Trace.active()
        if trace is not None:
            handler = _table_lookup(value)
            if handler is not None:
                return handler(index)
            if value is os.environ:
                outside.environment(trace, os.environ.__getitem__, (index,))
            if isinstance(value, np.ndarray) and holds_traced(index):
                value = trace.constant_array(value)
            if type(value) in (dict, list, tuple):
                return met(trace, value[index])
        return value[index]

    # -- truth ---------------------------------------------------------------------------------------------------------

    def if_(self, test: Any, then: FunctionType, orelse: FunctionType | None, names: tuple[str, ...]) -> None:
        """The statement `if`."""
        truth = truth_of(test)
        if truth is True:
            then()
        elif truth is False:
            if orelse is not None:
                orelse()
        else:
            from . import regions

            regions.branch(truth, then, orelse, names)

    def if_exp(self, test: Any, then: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
        """The expression `then if test else orelse`."""
        truth = truth_of(test)
        if truth is True:
            return then()
        if truth is False:
            return orelse()
        from . import regions

        return regions.choose(truth, then, orelse, "The two sides of the conditional expression")

    def keeps(self, test: Any) -> bool:
        """The `if` of a comprehension."""
        truth = truth_of(test)
        if truth is True or truth is False:
            return bool(truth)
        raise errors.unsupported(
            "The 'if' of a comprehension whose value changes within a call is not supported.",
            "Write a loop, or np.where.",
        )

    def and_(self, value: Any, *operands: Callable[[], Any]) -> Any:
        """value and operand() and ..."""
        return self._connect(value, operands, True)

    def or_(self, value: Any, *operands: Callable[[], Any]) -> Any:
        """value or operand() or ..."""
        return self._connect(value, operands, False)

    def _connect(self, value: Any, operands: tuple[Callable[[], Any], ...], while_: bool) -> Any:
        for position, operand in enumerate(operands):
            truth = truth_of(value)
            if truth is not True and truth is not False:
                return self._connect_at_run(truth, value, operands[position:], while_)
            if truth is not while_:
                return value
            value = operand()
        return value

    def _connect_at_run(
        self, truth: Any, kept: Any, rest: tuple[Callable[[], Any], ...], while_: bool
    ) -> Any:
        """The same where the run decides by `truth`, that of `kept`, whether the other operands count."""
        from . import regions
        from .numbers import Scalar

        of_rest: tuple[Any, ...] = ()

        def evaluate() -> Any:
            nonlocal of_rest
            last = self._connect(rest[0](), rest[1:], while_)
            of_rest = tuple(implied(last, while_))
            return last

        sides = (evaluate, lambda: kept)
        then, orelse = sides if while_ else (sides[1], sides[0])
        result = regions.choose(truth, then, orelse, f"The operands of '{'and' if while_ else 'or'}'")
        if type(result) is Scalar:
            result.implies[while_].extend((*implied(truth, while_), *of_rest))
        return result

    def not_(self, value: Any) -> Any:
        """not value"""
        truth = truth_of(value)
        if truth is True or truth is False:
            return not truth
        from . import traps

        return traps.negation(truth)

    def chain(self, names: tuple[str, ...], left: Any, *operands: Callable[[], Any]) -> Any:
        """left < middle <= right ..., each operand evaluated at most once."""
        right = operands[0]()
        result = self.compare(names[0], left, right)
        if len(operands) == 1:
            return result
        return self._connect(result, (lambda: self.chain(names[1:], right, *operands[1:]),), True)

    def compare(self, name: str, left: Any, right: Any) -> Any:
        """One comparison, as `ast` names it."""
        if Trace.active() is not None:
            from . import sequences

            if sequences.decides(name, left, right):
                return sequences.compare(self, name, left, right)
        return COMPARE[name](left, right)

    # -- loops ---------------------------------------------------------------------------------------------------------

    def for_(
        self,
        iterable: Any,
        body: FunctionType,
        names: tuple[str, ...],
        entry: tuple[str, ...],
        after: tuple[str, ...],
        stop: str | None,
    ) -> None:
        """The statement `for`; `stop` names the flag that the body sets to leave."""
        if Trace.active() is not None:
            from . import loops

            if loops.trace_for(self, iterable, body, names, entry, after, stop):
                return
        self.unrolled(iter(iterable), body, names, stop)

    def unrolled(
        self, iterator: Iterator[Any], body: FunctionType, names: tuple[str, ...], stop: str | None
    ) -> None:
        """A loop whose iterations are known: Python's own, until the flag that ends it depends on data."""
        flag = None if stop is None else cells_of(body)[stop]
        for item in iterator:
            body(item)
            if flag is None:
                continue
            truth = truth_of(flag.cell_contents)
            if truth is True:
                return
            if truth is not False:
                self._rest_unless(truth, iterator, body, names, stop)
                return

    def _rest_unless(
        self,
        stopped: Any,
        iterator: Iterator[Any],
        body: FunctionType,
        names: tuple[str, ...],
        stop: str | None,
    ) -> None:
        from . import regions

        items = list(iterator)
        if not items:
            return
        regions.branch(
            stopped, None, lambda: self.unrolled(iter(items), body, names, stop), names, cells=cells_of(body)
        )

    def while_(
        self,
        test: FunctionType,
        body: FunctionType,
        names: tuple[str, ...],
        entry: tuple[str, ...],
        after: tuple[str, ...],
        stop: str | None,
    ) -> None:
        """The statement `while`: Python's own until the test depends on traced values."""
        if Trace.active() is not None:
            from . import loops

            loops.trace_while(self, test, body, names, entry, after, stop)
            return
        flag = None if stop is None else cells_of(body)[stop]
        while test():
            body()
            if flag is not None and flag.cell_contents:
                return

    # -- failures ------------------------------------------------------------------------------------------------------

    def assert_(self, test: Any, message: Callable[[], Any] | None) -> None:
        """The statement `assert`: a check of the program where it depends on data."""
        truth = truth_of(test)
        if truth is True:
            return
        text = None if message is None else _described(message, truth is not False)
        if truth is False:
            failure = AssertionError() if text is None else AssertionError(text)
            raise self.raising(failure)
        from . import traps

        traps.check(truth, "Assertion failed." if text is None else str(text))

    def raising(self, exception: Any) -> Any:
        """The exception that `raise` is to raise: inside a region it becomes a trap of the program."""
        trace = Trace.active()
        if trace is not None and trace.depth > 0:
            from . import traps

            traps.trap(exception)
        return exception

    def raising_made(self, make: Callable[[], Any]) -> Any:
        """The same for what `make` gives."""
        return self.raising(_described(make))


def _described(make: Callable[[], Any], for_all_runs: bool = False) -> Any:
    """A message or exception; where it is made at capture for all runs, as in a region, traced numbers are their names."""
    trace = Trace.active()
    if trace is None or (trace.depth == 0 and not for_all_runs):
        return make()
    outer, trace.describing = trace.describing, True
    try:
        return make()
    finally:
        trace.describing = outer


def cells_of(*pieces: Any) -> dict[str, CellType]:
    """The cells that pieces share with their function, by name."""
    return {
        name: cell
        for piece in pieces
        if type(piece) is FunctionType
        for name, cell in zip(piece.__code__.co_freevars, piece.__closure__ or (), strict=True)
    }


def _table_lookup(value: Any) -> Any:
    from .table import lookup

    return lookup(value)


def _nowhere() -> None:
    """A function without globals that matter."""


def nowhere() -> Dispatcher:
    """The routes for calls on behalf of partial objects."""
    return _NOWHERE


_NOWHERE = Dispatcher(cast(FunctionType, _nowhere))
_CALLERS_OF_NATIVE = frozenset(fn.__code__ for fn in (Dispatcher._traced_call, calls.invoke, calls.construct))

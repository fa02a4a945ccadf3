"""One capture: the builder, what is known about sizes, the sample, the open regions and what was read."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ferrule import _compiler as ir

from . import errors
from .joins import Joins

_local = threading.local()


class Trace:
    """The state of one capture.

    sample holds the value of every symbol that is known at entry (extents, strides, Python ints); a decision may
    use it and leaves a guard. Loop variables and opaque symbols are not in it.
    """

    def __init__(self, builder: ir.ProgramBuilder, options: Any) -> None:
        self.builder = builder
        self.facts = builder.facts()
        self.options = options
        self.sample: dict[int, int] = {}
        self.annotated = False
        # Ahead of time: values of int arguments where the program has to know.
        self.general: dict[int, int] = {}
        self.beside_sample = 0  # depth of sides of branches that the sample does not take
        self.loops = 0  # depth of bodies of loops
        self.begun = 0  # depth of while loops of which Python has run iterations
        # The call's; what the program sets must not raise.
        self.error_state: dict[str, Any] = {**np.geterr()}
        self.guards: list[ir.Condition] = []
        self.guard_texts: dict[int, str] = {}  # by id: how messages say what symbols alone say badly
        self.globals_read: dict[tuple[int, str], tuple[Any, str, Any]] = {}
        self.paths: dict[int, tuple[Any, Any]] = {}
        self.constants: dict[int, tuple[Any, Any]] = {}
        # Arrays whose content is in the program: name, array, content.
        self.copied: list[tuple[str, Any, bytes]] = []
        # NumPy's integers among the arguments: (index, name, sample) by value, and the symbols that some of them have.
        self.number_arguments: dict[int, tuple[int, str, int]] = {}
        self.number_symbols: dict[int, int] = {}
        self.found: dict[Hashable, list[Any]] = {}  # see found.py
        self.by_reference: set[Hashable] = set()  # places of branches and loops, see joined_arrays.py
        self.joins = Joins(builder)  # of the loop or branch whose types are sought
        # What a call compares besides globals_read: as _rt.FunctionBase._add takes it.
        self.watched: dict[tuple[int, Any], tuple[Any, ...]] = {}
        self.outside: Any = None
        self.zero_rank: set[int] = set()  # scalar values that NumPy gives as arrays of no dimension
        self.describing = False  # the text under way is a message for all runs
        self.regions = [0]
        self.opened = [0]  # for each of them, how many symbols there were when it was opened
        self._symbols = builder.symbols()
        self._next_region = 1
        self._sites: dict[Any, int] = {}
        self._scopes: list[int] = []

    # -- the current trace

    @staticmethod
    def current() -> Trace:
        """The capture under way in this thread; an error outside of one."""
        stack = getattr(_local, "stack", None)
        if not stack:
            raise errors.CaptureError("A traced value was used after the capture that made it had ended.")
        trace: Trace = stack[-1]
        return trace

    @staticmethod
    def active() -> Trace | None:
        """The capture under way in this thread, or None."""
        stack = getattr(_local, "stack", None)
        return stack[-1] if stack else None

    @contextmanager
    def entered(self) -> Iterator[Trace]:
        """Makes this the current trace."""
        stack = _local.__dict__.setdefault("stack", [])
        stack.append(self)
        try:
            yield self
        finally:
            stack.pop()

    @contextmanager
    def joining(self, joins: Joins) -> Iterator[None]:
        """Types are joined for one loop or branch."""
        outer, self.joins = self.joins, joins
        try:
            yield
        finally:
            self.joins = outer

    @contextmanager
    def looping(self) -> Iterator[None]:
        """The body of a loop is traced."""
        self.loops += 1
        try:
            yield
        finally:
            self.loops -= 1

    # -- what the trace reads

    def read_global(self, owner: Any, path: str, value: Any) -> Any:
        """A global or a closure's name, or an attribute of one, as the trace sees it."""
        return value

    def note(self, owner: Any, path: str, value: Any) -> None:
        """Notes a name without looking at what it stands for."""

    def is_argument(self, array: Any) -> bool:
        """Whether this is an argument's own object, not a view of it."""
        return False

    def constant_array(self, real: Any) -> Any:
        """A real array as a stand-in."""
        from .constants import real_array

        return real_array(real)

    # -- regions

    @property
    def region(self) -> int:
        """Identifies the innermost open region; 0 is the top."""
        return self.regions[-1]

    @property
    def depth(self) -> int:
        """Number of open regions besides the top."""
        return len(self.regions) - 1

    def open_region(self, params: list[ir.Parameter]) -> list[int]:
        """Starts a region and a scope of facts; values made from now on die when it closes."""
        self.regions.append(self._next_region)
        self.opened.append(len(self._symbols))
        self._next_region += 1
        self.push_facts()
        return list(self.builder.open_region(params))

    def close_region(self, yields: list[int]) -> ir.Region:
        """Ends the innermost region and its scope of facts."""
        region = self.builder.close_region(yields)
        self.regions.pop()
        self.opened.pop()
        self.pop_facts()
        return region

    def push_facts(self) -> None:
        """Opens a scope of facts."""
        self.facts.push()
        self._scopes.append(len(self.guards))

    def pop_facts(self) -> None:
        """Closes a scope of facts; guards recorded inside it hold at entry, so they stay known."""
        self.facts.pop()
        for condition in self.guards[self._scopes.pop() :]:
            self.facts.assume(condition)

    def is_live(self, region: int) -> bool:
        """Whether values of a region may still be used."""
        return region in self.regions

    # -- where in the user's source

    def site(self, what: str = "", frames: list[errors.Location] | None = None) -> int:
        """Sets the builder's site to the user's line that is running now, or to `frames`, and returns it."""
        frames = errors.locations() if frames is None else frames
        number = -1
        for file, line, function in reversed(frames):
            text = what if (file, line, function) == frames[0] else ""
            key = (file, line, function, text, number)
            known = self._sites.get(key)
            if known is None:
                known = self.builder.add_site(file, line, function, text, number)
                self._sites[key] = known
            number = known
        self.builder.set_site(number)
        return number

    # -- symbols

    def symbol(self, name: str, kind: ir.SymbolKind, nonnegative: bool) -> int:
        """A new symbol; messages and guards print it by its name."""
        return int(self.builder.add_symbol(name, kind, nonnegative))

    def text(self, item: ir.Expr | ir.Condition) -> str:
        """An expression or condition in the user's names."""
        return str(item.to_string(self.builder.symbols()))

    def evaluate(self, expr: ir.Expr) -> int | None:
        """The value that an expression has in the sample, or None if it holds other symbols, or the sample does not get
        here."""
        return _evaluate(expr, {} if self.beside_sample else self.sample)

    def evaluate_generally(self, expr: ir.Expr) -> int | None:
        """The same with the general values of int arguments."""
        return _evaluate(expr, self.general if self.beside_sample else {**self.sample, **self.general})

    def evaluate_for(self, sizes: dict[int, int], expr: ir.Expr) -> int | None:
        """The value that an expression has for values of symbols, or None if it holds others."""
        return _evaluate(expr, sizes)

    # -- buffers

    def retrace_with_buffer(self, storage: Any) -> None:
        """Asks the tracer of the innermost region to drop it, to give `storage` a buffer first, and to trace again."""
        raise errors.Retrace(storage)


def _evaluate(expr: ir.Expr, sample: dict[int, int]) -> int | None:
    known = expr.constant
    if known is not None:
        return int(known)
    symbols = expr.symbols()
    if any(identity not in sample for identity in symbols):
        return None
    values = [0] * (max(symbols) + 1)
    for identity in symbols:
        values[identity] = sample[identity]
    return int(expr.evaluate(values))

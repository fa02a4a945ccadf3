"""Where the elements of arrays live, and the steps that lead from there to a view.

A Storage is a pure value until something writes to it and a buffer from then on; an Array is a chain of windows and
reshapes down to its storage, so views taken of a value before it was written follow it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from ferrule import _compiler as ir
from ferrule import errors as public

from . import errors, joined_arrays
from .decide import decide
from .trace import Trace


class Storage:
    """Where the elements of Arrays live: a pure value, constant bytes, or a buffer that can be written.

    root is a value of kind Array (pure) or View; version rises when the root changes.
    """

    __slots__ = (
        "argument",
        "frozen",
        "hidden",
        "lineage",
        "local",
        "may_be",
        "name",
        "original",
        "pure",
        "region",
        "root",
        "version",
    )

    def __init__(self, root: int, pure: bool, region: int, name: str = "t") -> None:
        self.root = root
        self.pure = pure
        self.region = region
        self.name = name
        self.version = 0
        self.frozen = ""  # why it must not be written; '' if it may
        self.hidden = False  # a global array
        self.argument: int | None = None  # index of the argument whose memory it is
        self.original: np.ndarray | None = None  # known content, until written
        self.lineage: Storage | None = None  # the storage that a carried value came from
        self.may_be: list[tuple[Hashable, Storage]] = []  # see joined_arrays.py
        self.local = pure  # the memory belongs to this program and no carried view stands for it

    def require_live(self, trace: Trace) -> None:
        """Refuses memory of a region that has closed."""
        if not trace.is_live(self.region):
            raise errors.unsupported(
                "The use of an array outside of the loop or branch that makes it is not supported.",
                "Assign it to a name of the function, which carries it out.",
            )

    def make_buffer(self) -> None:
        """Gives a pure value memory of its own in the region that made it; Retrace from an inner region."""
        trace = Trace.current()
        self.require_live(trace)
        if self.frozen:
            raise errors.user_error(ValueError, self.frozen)
        self.original = None
        if self.may_be:
            joined_arrays.require_unshared(trace, self)
        if not self.pure:
            return
        if self.lineage is not None:
            self.lineage.local = False
            trace.retrace_with_buffer(self.lineage)
        self._move_to_memory(trace)
        self.pure = False

    def _move_to_memory(self, trace: Trace) -> None:
        if self.region != trace.region:
            trace.retrace_with_buffer(self)
        kind = trace.builder.type(self.root)
        view = trace.builder.alloc(self.name, kind.dtype, kind.shape)
        trace.builder.store(view, self.root)
        self.root = view
        self.version += 1


class Window:
    """A step from an Array to a view of it: an index map."""

    __slots__ = ("map",)

    def __init__(self, index_map: ir.IndexMap) -> None:
        self.map = index_map

    def apply(self, trace: Trace, handle: int) -> int:
        """The window in the program."""
        return int(trace.builder.window(handle, self.map))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Window) and bool(self.map == other.map)

    __hash__ = None  # type: ignore[assignment]


def reshape_value(trace: Trace, value: int, shape: Sequence[ir.Expr]) -> int:
    """An array value in another shape; the sizes become static where the axes cannot be matched in general."""
    kind = trace.builder.type(value)
    if kind.kind == ir.ValueKind.Scalar:
        return int(trace.builder.fill(value, shape))
    view = trace.builder.alloc("reshaped", kind.dtype, kind.shape)
    trace.builder.store(view, value)
    shaped = trace.builder.reshape(view, shape)
    if shaped is not None:
        return int(trace.builder.load(shaped))
    for extent in (*kind.shape, *shape):
        for symbol in extent.symbols():
            if symbol in trace.sample:
                decide(ir.Condition(ir.Relation.Eq, ir.Expr.symbol(symbol), ir.Expr(trace.sample[symbol])))
    if trace.facts.prove(ir.Condition(ir.Relation.Eq, ir.product(shape), ir.Expr(0))) is True:
        return int(trace.builder.fill(trace.builder.constant(kind.dtype, 0), shape))
    shaped = trace.builder.reshape(view, shape)
    if shaped is None:
        raise errors.unsupported(
            "This reshape of an array with sizes that only the run knows is not supported."
        )
    return int(trace.builder.load(shaped))


class Reshape:
    """A step from an Array to the same elements, in C order, in another shape."""

    __slots__ = ("shape",)

    def __init__(self, shape: Sequence[ir.Expr]) -> None:
        self.shape = list(shape)

    def apply(self, trace: Trace, handle: int) -> int:
        """The reshape in the program; it was possible without a copy when the step was made."""
        kind = trace.builder.type(handle)
        if kind.kind == ir.ValueKind.Array:
            return reshape_value(trace, handle, self.shape)
        reshaped = trace.builder.reshape(handle, self.shape)
        if reshaped is None and trace.facts.prove(
            ir.Condition(ir.Relation.Eq, ir.product(self.shape), ir.Expr(0))
        ):
            # Since then it was found to have no element.
            return int(trace.builder.alloc("empty", kind.dtype, self.shape))
        if reshaped is None:
            raise public.InternalError("A reshape that was a view is none any more.")
        return int(reshaped)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reshape) and self.shape == other.shape

    __hash__ = None  # type: ignore[assignment]

"""The sizes of arrays that a loop or branch carries: one symbol for extents, or strides, that differ on the ways into it."""

from __future__ import annotations

from ferrule import _compiler as ir

_LOCAL = (ir.SymbolKind.Loop, ir.SymbolKind.Opaque)
ANY = ir.Expr(-1)  # stands for every size of one's own where types are compared


class Joins:
    """The sizes that one loop or branch has made.

    A pair of sizes that are joined has one symbol, so that arrays which shrink together keep equal sizes. Where a later
    trace finds that they do not, one of them gets another symbol.
    """

    def __init__(self, builder: ir.ProgramBuilder, since: int | None = None) -> None:
        self._builder = builder
        self._symbols = builder.symbols()
        self.since = len(self._symbols) if since is None else since  # newer symbols are of regions inside
        self._own: dict[ir.Expr, bool] = {}  # whether it is a stride
        self._pairs: dict[tuple[ir.Expr, ir.Expr], ir.Expr] = {}
        self._next: dict[ir.Expr, ir.Expr] = {}  # what each size of our own is joined with in this trace

    def begin(self) -> None:
        """A trace of a region starts."""
        self._next = {}

    def owns(self, size: ir.Expr) -> bool:
        """Whether a size is one that was made here."""
        return size in self._own

    def join(self, left: ir.Expr, right: ir.Expr, stride: bool, derived: bool) -> ir.Expr:
        """One size for two. derived: `left` is no size of the type so far, but follows from others of it."""
        facts = self._builder.facts()
        if left in self._own and not derived:
            known = self._next.setdefault(left, right)
            return (
                left
                if known == right or facts.prove_equal(known, right)
                else self._fresh(left, right, stride)
            )
        left, right = facts.canonical(left), facts.canonical(right)
        # What is known of sizes that the run decides may come from how a loop ended, which the program does not say.
        if left == right or (not self._is_local(left, right) and facts.prove_equal(left, right)):
            for size in (left, right):
                if not self._ends(size):
                    return size
        return self._fresh(left, right, stride)

    def outlasting(self, size: ir.Expr, stride: bool) -> ir.Expr:
        """The size, or a symbol for it if it is known inside a region only."""
        return self._fresh(size, size, stride) if self._ends(size) else size

    def adopted(self, size: ir.Expr, stride: bool) -> ir.Expr:
        """The size of a value that had none so far: no other value's symbol, which has a value before."""
        return self._fresh(size, size, stride) if self.owns(size) or self._ends(size) else size

    def renewed(self, size: ir.Expr, other: Joins) -> ir.Expr:
        """A size of a type that `other` made: its own sizes become sizes of ours."""
        return self._fresh(size, size, other._own[size]) if size in other._own else size

    def _ends(self, size: ir.Expr) -> bool:
        """Whether a size has no value outside of the regions that are being joined, or another one in the next iteration."""
        return size not in self._own and any(
            symbol >= self.since and self._symbols.kind(symbol) in _LOCAL for symbol in size.symbols()
        )

    def _is_local(self, *sizes: ir.Expr) -> bool:
        return any(self._symbols.kind(symbol) in _LOCAL for size in sizes for symbol in size.symbols())

    def _fresh(self, left: ir.Expr, right: ir.Expr, stride: bool) -> ir.Expr:
        pair = (left, right)
        if pair not in self._pairs:
            name = "stride" if stride else "n"
            made = ir.Expr.symbol(self._builder.add_symbol(name, ir.SymbolKind.Opaque, not stride))
            self._pairs[pair] = made
            self._own[made] = stride
        return self._pairs[pair]

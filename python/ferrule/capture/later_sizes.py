"""The sizes of an earlier state of a capture in a later one, where symbols of the loops around have been made anew."""

from __future__ import annotations

from ferrule import _compiler as ir

from .trace import Trace

_LOCAL = (ir.SymbolKind.Loop, ir.SymbolKind.Opaque)


class Sizes:
    """The sizes of a later entry by those of an earlier one. lasting: the number of symbols that both know; None for all."""

    def __init__(self, lasting: int | None) -> None:
        self._lasting = lasting
        self._pairs: dict[ir.Expr, ir.Expr | None] = {}

    def pair(self, old: ir.Expr, new: ir.Expr) -> None:
        """The later entry has `new` where the earlier one had `old`."""
        if self._pairs.setdefault(old, new) != new:
            self._pairs[old] = None  # two that were equal are not any more

    def now(self, size: ir.Expr, stride: bool = False) -> ir.Expr | None:
        """A size of the earlier entry in the later one; None where that is not certain."""
        if size.constant is not None:
            return size if stride or self._pairs.get(size, size) == size else None
        if size in self._pairs:
            return self._pairs[size]
        changed: dict[int, ir.Expr] = {}
        symbols = Trace.current().builder.symbols()
        for symbol in size.symbols():
            alone = ir.Expr.symbol(symbol)
            found = self._pairs.get(alone, alone)
            if found is None:
                return None
            if found != alone:
                changed[symbol] = found
            elif self._lasting is not None and symbol >= self._lasting and symbols.kind(symbol) in _LOCAL:
                return None
        if any(other in changed for found in changed.values() for other in found.symbols()):
            return None
        for symbol, found in changed.items():
            size = size.substitute(symbol, found)
        return size

"""Sizes in annotations that no extent tells alone: M of b[N + M] beside a[N], or N and M of a[N + M] beside b[N - M]."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from ferrule import _compiler as ir
from ferrule import errors as public

_NAME = re.compile(r"[A-Za-z_]\w*")

Axis = tuple[str, int]  # an array's name and its axis
Base = str | Axis  # the name of a size, or an extent


@dataclass(frozen=True)
class Told:
    """A size as (sum of factor * base + constant) / divisor."""

    terms: tuple[tuple[Base, int], ...]
    constant: int
    divisor: int


def names_of(text: str) -> set[str]:
    """The names of sizes in an extent."""
    return {*_NAME.findall(text)} - {"min", "max"}


def told_together(extents: Mapping[Axis, str], given: Collection[str]) -> dict[str, Told]:
    """The sizes that several extents tell together, by Gaussian elimination over the rationals.

    given: sizes that are known before any array. Raises UserValueError for a size that nothing tells.
    """
    parsed = {axis: found for axis, text in extents.items() if (found := _parsed(text)) is not None}
    forms = {axis: form for axis, found in parsed.items() if (form := _linear(*found)) is not None}
    alone = {name for form in forms.values() if len(form) == 1 for name in form}
    names = {name for _, ids in parsed.values() for name in ids}
    unknown = sorted(names - alone - {*given} - {""})
    rows: list[_Row] = []
    for axis, form in forms.items():
        left = {name: Fraction(factor) for name, factor in form.items() if name in unknown}
        right: dict[Base, Fraction] = {axis: Fraction(1)}
        for name, factor in form.items():
            if name not in unknown:
                right[name] = Fraction(-factor)
        if left:
            rows.append((left, right))
    told: dict[str, _Row] = {}
    for name in unknown:
        pivot = next((row for row in rows if row[0].get(name)), None)
        if pivot is None:
            raise public.UserValueError(
                f"The size '{name}' cannot be told from the extents of the arrays. Give it as an int argument before them,"
                " or annotate an array with it alone."
            )
        rows.remove(pivot)
        pivot = _scaled(pivot, 1 / pivot[0][name])
        rows = [_less(row, pivot, name) for row in rows]
        told = {other: _less(row, pivot, name) for other, row in told.items()}
        told[name] = pivot
    return {name: _whole(right) for name, (_, right) in told.items()}


_Row = tuple[dict[str, Fraction], dict[Base, Fraction]]


def _parsed(text: str) -> tuple[ir.Expr, dict[str, int]] | None:
    """An extent and the symbols of its sizes; None for what is none, which is an error where the array is declared."""
    symbols = ir.Symbols()
    ids = {name: symbols.add(name, ir.SymbolKind.Extent, True) for name in sorted(names_of(text))}
    try:
        return ir.Expr.parse(text, symbols), ids
    except public.UserError:
        return None


def _linear(rest: ir.Expr, ids: Mapping[str, int]) -> dict[str, int] | None:
    """Factors by name, the constant under ''; None where an extent is not linear in its sizes."""
    form: dict[str, int] = {}
    for name, identity in ids.items():
        parts = rest.split(identity)
        if parts is None or parts[0].constant is None:
            return None
        form[name], rest = parts[0].constant, parts[1]
    if rest.constant:
        form[""] = rest.constant
    if len(form) == 2 and "" in form:  # N + 1 tells N
        del form[""]
    return form


def _scaled(row: _Row, by: Fraction) -> _Row:
    return {name: factor * by for name, factor in row[0].items()}, {
        base: factor * by for base, factor in row[1].items()
    }


def _less(row: _Row, pivot: _Row, name: str) -> _Row:
    """The row without a name that the pivot's row has the factor 1 of."""
    by = row[0].get(name, Fraction(0))
    return _difference(row[0], pivot[0], by), _difference(row[1], pivot[1], by)


_Key = TypeVar("_Key")


def _difference(
    ours: Mapping[_Key, Fraction], theirs: Mapping[_Key, Fraction], by: Fraction
) -> dict[_Key, Fraction]:
    zero = Fraction(0)
    whole = {key: ours.get(key, zero) - by * theirs.get(key, zero) for key in {**ours, **theirs}}
    return {key: value for key, value in whole.items() if value}


def _whole(right: Mapping[Base, Fraction]) -> Told:
    divisor = math.lcm(*(factor.denominator for factor in right.values()))
    factors = {base: int(factor * divisor) for base, factor in right.items()}
    constant = factors.pop("", 0)
    return Told(tuple(factors.items()), constant, divisor)

"""Ahead of time: arguments from annotations such as `a: fr.float64["N", "2*M"]`, without a sample."""

from __future__ import annotations

import ast
import inspect
import itertools
import time
import types
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from ferrule import _compiler as ir
from ferrule import errors as public
from ferrule.dtypes import ArrayType, ElementType, resolve, signature_of

from . import errors, joined_arrays
from .decide import decide
from .function import Captured, Options, check_static, new_trace, trace_function
from .joint_sizes import Axis, Told, names_of, told_together
from .operands import check_dtype
from .signature import LAYOUTS, ArgumentInfo, literal_text, static_text
from .trace import Trace
from .tracers import Array, Int, Scalar, Storage

# A decision takes the general case: sizes that are large, unequal and without common factors. What depends on other ints
# is decided when the program runs where it can be; else they are positive and small.
_GENERAL_SIZES = (1009, 2003, 3001, 4001, 5003, 6007, 7001, 8009)
_GENERAL_INTS = (11, 13, 17, 19, 23, 29, 31)


def capture_annotated(fn: Callable[..., Any], options: Options | None = None) -> Captured:
    """Traces `fn` on its annotations. What a size decides is decided for the general case and guarded."""
    options = options or Options()
    started = time.perf_counter()
    by_reference: set[Hashable] = set()
    with errors.boundary(fn):
        while True:
            try:
                return _once(fn, options, by_reference, started)
            except joined_arrays.JoinByReference as restart:
                by_reference |= restart.places


def _once(fn: Callable[..., Any], options: Options, by_reference: set[Hashable], started: float) -> Captured:
    trace = new_trace(fn, options)
    trace.annotated = True
    trace.by_reference |= by_reference
    with trace.entered():
        parameters = signature_of(fn).parameters
        check_static(fn, options.static, parameters)
        extents = _extents(parameters.values(), options.static)
        declared = _Declaration(trace, extents, told_together(extents, _ints_before(parameters.values())))
        positional: list[Any] = []
        named: dict[str, Any] = {}
        for parameter in parameters.values():
            stand_in = declared.add(fn, parameter, parameter.name in options.static)
            if parameter.kind == parameter.KEYWORD_ONLY:
                named[parameter.name] = stand_in
            else:
                positional.append(stand_in)
        return trace_function(trace, fn, positional, named, started)


def _default_text(default: Any) -> str | None:
    """What the module keeps of a default: a literal, or a description of what the host gives; None for NaN."""
    if isinstance(default, np.generic):
        default = default.item()
    text = literal_text(default)
    if text is not None or isinstance(default, float):
        return text
    try:
        ast.literal_eval(repr(default))
    except (ValueError, SyntaxError):
        return static_text(default)
    return repr(default)


def _extents(parameters: Iterable[inspect.Parameter], static: tuple[str, ...]) -> dict[Axis, str]:
    kinds = {p.name: resolve(p.annotation) for p in parameters if p.name not in static}
    arrays = {name: kind for name, kind in kinds.items() if isinstance(kind, ArrayType)}
    return {(name, axis): text for name, kind in arrays.items() for axis, text in enumerate(kind.extents)}


def _ints_before(parameters: Iterable[inspect.Parameter]) -> set[str]:
    """The int arguments before the first array."""
    kinds = ((parameter.name, resolve(parameter.annotation)) for parameter in parameters)
    before = itertools.takewhile(lambda item: not isinstance(item[1], ArrayType), kinds)
    return {name for name, kind in before if kind is int}


class _Declaration:
    """Declares annotated parameters in order; a name of a size means one symbol throughout."""

    def __init__(self, trace: Any, extents: Mapping[Axis, str], told: Mapping[str, Told]) -> None:
        self.trace: Trace = trace
        self.extents = extents
        self.names = {name for text in extents.values() for name in names_of(text)}  # of all sizes
        self.told = told  # the sizes that extents tell together
        self.own: dict[Axis, ir.Expr] = {}  # the extents that do, which are symbols of their own
        self.derived: dict[str, ir.Expr] = {}  # the sizes as they tell them
        self.arguments = trace.arguments
        self.sizes: dict[str, int] = {}
        self.first_uses: dict[str, str] = {}  # by the name of a size: the extent that it was met in

    def add(self, fn: Callable[..., Any], parameter: inspect.Parameter, static: bool) -> Any:
        """Declares one parameter; returns its stand-in."""
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise public.Unsupported(
                f"The parameter '{parameter.name}' of {fn.__name__}() takes any number of arguments, which is not supported."
            )
        kind = resolve(parameter.annotation)
        name, index = parameter.name, len(self.arguments.infos)
        keyword_only = parameter.kind == parameter.KEYWORD_ONLY
        if isinstance(kind, ArrayType) and not static:
            stand_in, info = self._array(name, kind, index, keyword_only)
        elif static or kind in (bool, str) or kind is parameter.empty:
            stand_in, info = self._static(fn, parameter, index, keyword_only)
        else:
            stand_in, info = self._scalar(fn, name, kind, index, keyword_only)
        self.arguments.infos.append(info)
        self.arguments.tracers.append(stand_in)
        text = None if parameter.default is parameter.empty else _default_text(parameter.default)
        self.trace.builder.set_argument(index, keyword_only=keyword_only, default_text=text)
        return stand_in

    def _static(
        self, fn: Callable[..., Any], parameter: inspect.Parameter, index: int, keyword_only: bool
    ) -> Any:
        if parameter.default is parameter.empty:
            raise public.UserTypeError(
                f"The parameter '{parameter.name}' of {fn.__name__}() has neither an annotation that fixes its type nor a"
                f' default. Write, for instance, {parameter.name}: fr.float64["N"].'
            )
        self.trace.builder.static_argument(parameter.name, static_text(parameter.default))
        return parameter.default, ArgumentInfo(
            parameter.name, "static", index, static=parameter.default, keyword_only=keyword_only
        )

    def _scalar(self, fn: Callable[..., Any], name: str, kind: Any, index: int, keyword_only: bool) -> Any:
        builder = self.trace.builder
        if kind is int:
            builder.scalar_argument(name, "int64", True)
            symbol = builder.argument_symbol(index)
            if name in self.names:
                self._set_general(symbol)
            else:
                self.trace.general[symbol] = _GENERAL_INTS[len(self.trace.general) % len(_GENERAL_INTS)]
            size = self.sizes.setdefault(name, symbol)
            if size != symbol:  # an array before this argument has the size already
                self.trace.sample[symbol] = self.trace.sample[size]
                condition = ir.Condition(ir.Relation.Eq, ir.Expr.symbol(symbol), ir.Expr.symbol(size))
                self._need(condition, self.first_uses[name])
            info = ArgumentInfo(
                name, "scalar", index, np.dtype(np.int64), weak=True, keyword_only=keyword_only
            )
            return Int(ir.Expr.symbol(symbol)), info
        weak = kind is float
        try:
            dtype = kind.dtype if isinstance(kind, ElementType) else np.dtype(kind)
        except TypeError:
            dtype = None
        if dtype is None or isinstance(kind, (types.UnionType, types.GenericAlias)):
            raise public.UserTypeError(
                f"The annotation of '{name}' in {fn.__name__}() is {kind!r}, which is no type of an array or number. Write,"
                f' for instance, {name}: fr.float64["N"], or {name}: float.'
            )
        check_dtype(dtype, f"the argument '{name}' of dtype")
        scalar = Scalar(builder.scalar_argument(name, dtype.name, weak))
        return scalar, ArgumentInfo(name, "scalar", index, dtype, weak=weak, keyword_only=keyword_only)

    def _array(self, name: str, kind: ArrayType, index: int, keyword_only: bool) -> Any:
        trace = self.trace
        check_dtype(kind.dtype, f"the argument '{name}' of dtype")
        order = kind.order or trace.options.order or "C"
        extents = [self._extent(name, axis, text) for axis, text in enumerate(kind.extents)]
        rank = len(extents)
        strides: list[ir.Expr] = []
        inner = rank - 1 if order == "inner" else 0
        if order in ("inner", "any"):
            dense = 1
            for axis in reversed(range(rank)):
                if order == "inner" and axis == inner:
                    strides.insert(0, ir.Expr(1))
                else:
                    symbol = trace.symbol(f"{name}.strides[{axis}]", ir.SymbolKind.Stride, False)
                    trace.sample[symbol] = dense
                    strides.insert(0, ir.Expr.symbol(symbol))
                dense *= max(1, trace.evaluate(extents[axis]) or 1)
        view = trace.builder.array_argument(
            name, kind.dtype.name, extents, strides, LAYOUTS[order], inner, False
        )
        storage = Storage(view, False, 0, name)
        storage.argument = index
        storage.local = False
        info = ArgumentInfo(name, "array", index, kind.dtype, rank, order, inner, keyword_only=keyword_only)
        return Array(storage, extents, kind.dtype), info

    def _extent(self, name: str, axis: int, text: str) -> ir.Expr:
        for size in sorted(names_of(text), key=text.index):
            if size not in self.sizes:
                self._add_size(size, f"{name}.shape[{axis}] == {text}")
        if self.told and not self.derived:
            self._derive()
        try:
            extent = ir.Expr.parse(text, self.trace.builder.symbols())
        except public.UserError as error:
            raise public.UserValueError(
                f"The extent '{text}' of '{name}' is no size expression: {error}"
            ) from None
        if extent.constant is not None and extent.constant < 0:
            raise public.UserValueError(f"The extent '{text}' of '{name}' is negative.")
        if (name, axis) in self.own:
            return self.own[name, axis]
        for size, derived in self.derived.items():
            extent = extent.substitute(self.sizes[size], derived)
        return extent

    def _add_size(self, size: str, first_use: str) -> ir.Expr:
        symbol = self.trace.symbol(size, ir.SymbolKind.Extent, True)
        self.sizes[size] = symbol
        self.first_uses[size] = first_use
        self._set_general(symbol)
        return ir.Expr.symbol(symbol)

    def _derive(self) -> None:
        """The extents that tell sizes together become symbols; the sizes, expressions over them."""
        trace = self.trace
        bases = {base: None for told in self.told.values() for base, _ in told.terms}
        for base in bases:
            if isinstance(base, tuple):
                symbol = trace.symbol(f"{base[0]}.shape[{base[1]}]", ir.SymbolKind.Extent, True)
                self.own[base] = ir.Expr.symbol(symbol)
            elif base not in self.sizes:
                self._add_size(base, f"{base} == {base}")
        for size in self.told:
            if size not in self.sizes:
                self._add_size(size, "")
        self._set_general_extents()
        for size, told in self.told.items():
            total = ir.Expr(told.constant)
            for base, factor in told.terms:
                known = self.own[base] if isinstance(base, tuple) else ir.Expr.symbol(self.sizes[base])
                total = total + ir.Expr(factor) * known
            self.derived[size] = total // ir.Expr(told.divisor)
            if told.divisor > 1:
                self._need(
                    ir.Condition(ir.Relation.Eq, total % ir.Expr(told.divisor), ir.Expr(0)),
                    f"{trace.text(total)} to be a multiple of {told.divisor}",
                )
            self._need(
                ir.Condition(ir.Relation.Le, ir.Expr(0), self.derived[size]),
                f"{size} = {trace.text(self.derived[size])} to be at least 0",
            )
            del trace.sample[self.sizes[size]]

    def _need(self, condition: ir.Condition, text: str) -> None:
        """Guards a condition that holds in the sample; `text` says it behind 'the program needs'."""
        trace = self.trace
        known = len(trace.guards)
        decide(condition)
        if len(trace.guards) > known:
            trace.guard_texts[id(trace.guards[known])] = text

    def _set_general_extents(self) -> None:
        """Sample values of the extents that are symbols, as general sizes give them. None may be negative."""
        sample, symbols = self.trace.sample, self.trace.builder.symbols()
        ids = [self.sizes[size] for size in self.told]
        texts = {axis: ir.Expr.parse(self.extents[axis], symbols) for axis in self.own}
        for numbers in itertools.islice(itertools.permutations([sample[k] for k in ids]), 5040):
            sample.update(zip(ids, numbers, strict=True))
            values = {axis: self.trace.evaluate(extent) or 0 for axis, extent in texts.items()}
            if min(values.values()) > 1:
                break
        for axis, value in values.items():
            sample[self.own[axis].as_symbol] = value

    def _set_general(self, symbol: int) -> None:
        known = len(self.trace.sample)
        base = _GENERAL_SIZES[known % len(_GENERAL_SIZES)]
        self.trace.sample[symbol] = base + 10000 * (known // len(_GENERAL_SIZES))

"""Stand-ins for numbers: Int is a symbolic Python int, Cond a comparison of them, Scalar a number known at run time."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from ferrule import _compiler as ir
from ferrule import errors as public

from . import errors
from .base import Number, unsupported
from .decide import decide
from .trace import Trace


def to_expr(value: Any) -> ir.Expr:
    """A Python or symbolic int as a size expression; TypeError for anything else."""
    if isinstance(value, ir.Expr):
        return value
    if isinstance(value, Number):
        from . import scalars

        value = scalars.int_index(value)
    return value.expr if isinstance(value, Int) else ir.Expr(operator.index(value))


def make_int(expr: ir.Expr) -> Any:
    """An expression as an int: a plain one where it is constant."""
    expr = Trace.current().facts.canonical(expr)
    constant = expr.constant
    return int(constant) if constant is not None else Int(expr)


class Int(Number):
    """A Python int known as a size expression; weak in arithmetic with arrays."""

    __slots__ = ("expr",)
    dtype = np.dtype(np.int64)
    weak = True
    shape = ()
    ndim = 0

    def __init__(self, expr: ir.Expr) -> None:
        self.expr = expr

    def _noun(self) -> str:
        return "integer"

    def __index__(self) -> int:
        """Python demands the value: it becomes static in this specialisation."""
        trace = Trace.current()
        value = trace.evaluate(trace.facts.canonical(self.expr))
        if value is None or trace.annotated:
            raise errors.unsupported(
                f"Python needs the value of the integer '{trace.text(self.expr)}' here, which is known only at run time."
            )
        if not decide(ir.Condition(ir.Relation.Eq, self.expr, ir.Expr(value))):
            raise public.InternalError("A sample value disagrees with its own guard.")
        return value

    __int__ = __index__

    def __float__(self) -> float:
        return float(self.__index__())

    def __bool__(self) -> bool:
        return decide(ir.Condition(ir.Relation.Ne, self.expr, ir.Expr(0)))

    def __hash__(self) -> int:
        return hash(self.__index__())

    def __repr__(self) -> str:
        trace = Trace.active()
        if trace is None:
            return "<traced integer>"
        value = trace.evaluate(trace.facts.canonical(self.expr))
        by_name = value is None or trace.annotated or trace.describing
        return trace.text(self.expr) if by_name else repr(value)

    def __str__(self) -> str:
        return format(self)

    def __format__(self, spec: str) -> str:
        trace = Trace.active()
        if trace is not None and trace.describing and self.expr.constant is None:
            return f"{{{trace.text(self.expr)}}}"
        return format(self.__index__(), spec)

    def __round__(self, digits: Any = None) -> Any:
        return self

    def __trunc__(self) -> Any:
        return self

    __floor__ = __ceil__ = __trunc__

    def bit_length(self) -> int:
        """The value is demanded, as by `__index__`."""
        return self.__index__().bit_length()

    def conjugate(self) -> Any:
        """The number itself."""
        return self

    @property
    def real(self) -> Any:
        """The number itself."""
        return self

    @property
    def imag(self) -> int:
        """Zero."""
        return 0


class Cond(Number):
    """A comparison of ints; `bool()` decides it."""

    __slots__ = ("condition",)
    dtype = np.dtype(np.bool_)
    weak = True
    shape = ()
    ndim = 0

    def __init__(self, condition: ir.Condition) -> None:
        self.condition = condition

    def _noun(self) -> str:
        return "condition"

    def __bool__(self) -> bool:
        return decide(self.condition)

    def __hash__(self) -> int:
        return hash(bool(self))

    def __repr__(self) -> str:
        trace = Trace.active()
        return trace.text(self.condition) if trace else "<traced condition>"

    def __index__(self) -> int:
        return int(bool(self))

    def __invert__(self) -> Any:
        raise unsupported("'~' of a Python bool")


def _reduction(name: str) -> Any:
    def guarded(self: Scalar, *args: Any, **kwargs: Any) -> Any:  # the name that native_calls looks for
        from . import moments, reductions

        return {**reductions.FUNCTIONS, **moments.FUNCTIONS}[name](self, *args, **kwargs)

    return guarded


class Scalar(Number):
    """A number known at run time. weak: it behaves as a Python number in promotion.

    implies: of a bool that sizes decide, the conditions that hold where it is False, and where it is True.
    """

    __slots__ = ("_id", "dtype", "implies", "region", "weak")
    shape = ()
    ndim = 0
    size = 1

    def __init__(self, value_id: int) -> None:
        trace = Trace.current()
        kind = trace.builder.type(value_id)
        self._id = value_id
        self.dtype = np.dtype(ir.dtype_name(kind.dtype))
        self.weak = bool(kind.weak)
        self.region = trace.region
        self.implies: tuple[list[ir.Condition], list[ir.Condition]] = ([], [])

    @property
    def id(self) -> int:
        """The value in the program; CaptureError once its region has closed."""
        if not Trace.current().is_live(self.region):
            raise errors.CaptureError(
                "A number made inside a loop or branch was used outside of it. Assign it to a name of the function, which"
                " carries it out."
            )
        return self._id

    def _noun(self) -> str:
        return f"{self.dtype} number"

    def __bool__(self) -> bool:
        raise errors.NeedsRuntime(self)

    def __index__(self) -> int:
        if self.dtype.kind in "iu":
            value = self.as_index()
            if not isinstance(value, Int) or Trace.current().evaluate(value.expr) is not None:
                return operator.index(value)
        raise unsupported(
            "a number that is known only at run time, where Python needs the value of an integer,"
        )

    def __int__(self) -> int:
        raise _value_needed("int")

    def __float__(self) -> float:
        raise _value_needed("float")

    def __complex__(self) -> complex:
        raise _value_needed("complex")

    def __len__(self) -> int:
        raise TypeError(f"object of type '{self.dtype}' has no len()")

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(f"'{self.dtype}' object is not iterable")

    def __repr__(self) -> str:
        trace = Trace.active()
        return f"{{{self._noun()}}}" if trace is not None and trace.describing else f"<traced {self._noun()}>"

    def __format__(self, spec: str) -> str:
        return str(self)

    def __round__(self, digits: Any = None) -> Any:
        from . import scalars

        return scalars.round_(self, digits)

    def as_index(self) -> Any:
        """The integer as a size: an opaque symbol with its run-time value."""
        if self.dtype.kind not in "iu":
            raise errors.user_error(
                IndexError if not self.weak else TypeError,
                f"only integers can be used as an index or size, got a number of dtype {self.dtype}.",
            )
        return symbolic(self, "an index is out of bounds", ir.ErrorCode.INDEX)

    def astype(
        self,
        dtype: Any,
        order: str = "K",
        casting: str = "unsafe",
        subok: bool = True,
        copy: bool = True,
    ) -> Any:
        """The number in another dtype, strong."""
        from . import operands

        kind = np.dtype(dtype)
        if not np.can_cast(self.dtype, kind, casting):  # type: ignore[arg-type]
            raise errors.user_error(
                TypeError,
                f"Cannot cast scalar from {self.dtype!r} to {kind!r} according to the rule '{casting}'",
            )
        return operands.cast_scalar(self, kind)

    def item(self) -> Any:
        """The number as a Python number: weak."""
        from . import scalars

        return scalars.to_python(self)

    def copy(self, order: str = "C") -> Any:
        """The number itself."""
        return self

    def conjugate(self) -> Any:
        """The number itself; complex numbers are refused."""
        return self

    conj = conjugate

    @property
    def real(self) -> Any:
        """The number itself."""
        return self

    @property
    def imag(self) -> Any:
        """Zero."""
        return 0.0 if self.weak else self.dtype.type(0)

    @property
    def T(self) -> Any:  # noqa: N802
        """The number itself."""
        return self

    @property
    def itemsize(self) -> int:
        """Bytes of the number."""
        return int(self.dtype.itemsize)

    def __hash__(self) -> int:
        raise unsupported(
            "a number that is known only at run time as a key or in a set",
            "Compare it with '==', or make the argument static.",
        )

    def __getitem__(self, key: Any) -> Any:
        from . import constants, reshaping

        items = key if isinstance(key, tuple) else (key,)
        if not items:
            return self
        if all(item is None or item is Ellipsis for item in items) and items.count(Ellipsis) < 2:
            axes = items.count(None)
            return reshaping.reshape(self, (1,) * axes) if axes else constants.array(self)
        raise errors.user_error(IndexError, "invalid index to scalar variable.")

    sum, prod, max, min, any, all, mean, var, std = map(
        _reduction, ("sum", "prod", "max", "min", "any", "all", "mean", "var", "std")
    )

    def round(self, decimals: int = 0, out: Any = None) -> Any:
        """Rounded to decimals, strong."""
        from . import rounding

        return rounding.round_decimals(self, decimals, out)

    def clip(self, min: Any = None, max: Any = None, **options: Any) -> Any:
        """Limited to [min, max]."""
        from . import rounding

        return rounding.clip(self, min, max, **options)


def _value_needed(function: str) -> BaseException:
    return unsupported(
        f"the value of a number that is known only at run time, which code that is not traced asks for by '{function}()',"
    )


def symbolic(value: Scalar, what: str, code: ir.ErrorCode) -> Any:
    """An integer known at run time as a size. One of 64 unsigned bits that a size cannot hold traps with `code`.

    That of an argument is known by the sample, as a Python int is.
    """
    trace = Trace.current()
    wide = value.dtype == np.uint64
    argument = trace.number_arguments.get(value.id)
    if argument is not None and argument[2] < 2**63:
        symbol = _argument_symbol(trace, *argument)
        if wide:
            # The symbol of a larger one would be negative.
            decide(ir.Condition(ir.Relation.Le, ir.Expr(0), symbol))
        return make_int(symbol)
    trace.site(what if wide else "")
    symbol = ir.Expr.symbol(trace.builder.symbolize(value.id, "v", value.dtype.kind in "ub" and not wide))
    if wide:
        fits = ir.Condition(ir.Relation.Le, ir.Expr(0), symbol)
        trace.builder.check(fits, code)
        trace.facts.assume(fits)
    return make_int(symbol)


def _argument_symbol(trace: Trace, index: int, name: str, value: int) -> ir.Expr:
    """The symbol of an argument that is an integer of NumPy's; made when the program first needs it as a size."""
    symbol = trace.number_symbols.get(index)
    if symbol is None:
        symbol = trace.symbol(name, ir.SymbolKind.Scalar, False)
        trace.builder.symbol_source(symbol, ir.SymbolSource.SCALAR, index)
        trace.sample[symbol] = value
        trace.number_symbols[index] = symbol
    return ir.Expr.symbol(symbol)

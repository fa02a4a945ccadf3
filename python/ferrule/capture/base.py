"""What all stand-ins share: Python's operators and NumPy's protocols, and refusal of what is not known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import errors
from .ranges import TracedIter, TracedRange


def is_traced(value: Any) -> bool:
    """Whether a value is a stand-in of the current trace."""
    return isinstance(value, Tracer)


def holds_traced(value: Any) -> bool:
    """Whether a value is a stand-in, an iteration of them, or a tuple, list, dict or slice with one in it."""
    if isinstance(value, (tuple, list)):
        return any(map(holds_traced, value))
    if isinstance(value, dict):
        return any(map(holds_traced, value.values()))
    if isinstance(value, slice):
        return any(map(is_traced, (value.start, value.stop, value.step)))
    return isinstance(value, (Tracer, TracedRange, TracedIter))


def unsupported(what: str, instead: str = "") -> BaseException:
    """The error for valid NumPy or Python that cannot be compiled yet.

    `what` names the construct, as a noun; `instead` is a sentence that says what to do.
    """
    return errors.unsupported(f"{what[0].upper()}{what[1:]} is not supported.", instead)


class Tracer:
    """What all stand-ins share: refusal of unknown attributes, and death with their region."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            # Python and NumPy probe for optional protocols this way.
            raise AttributeError(name)
        raise unsupported(f"the attribute '{name}' of a traced {self._noun()}")

    def _noun(self) -> str:
        return type(self).__name__.lower()

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __reduce__(self) -> Any:
        raise unsupported("pickling of a traced value")


def _binary(name: str, reflected: bool = False) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        from . import operators

        left, right = (other, self) if reflected else (self, other)
        return operators.python_operator(name, left, right)

    return method


def _unary(name: str) -> Callable[[Any], Any]:
    def method(self: Any) -> Any:
        from . import operators

        return operators.python_unary(name, self)

    return method


class Number(Tracer):
    """Operators and protocols that Int, Cond, Scalar and Array share."""

    __slots__ = ()
    __hash__ = object.__hash__
    __array_priority__ = 1000.0

    __add__, __radd__ = _binary("add"), _binary("add", True)
    __sub__, __rsub__ = _binary("subtract"), _binary("subtract", True)
    __mul__, __rmul__ = _binary("multiply"), _binary("multiply", True)
    __truediv__, __rtruediv__ = _binary("divide"), _binary("divide", True)
    __floordiv__, __rfloordiv__ = _binary("floor_divide"), _binary("floor_divide", True)
    __mod__, __rmod__ = _binary("remainder"), _binary("remainder", True)
    __pow__, __rpow__ = _binary("power"), _binary("power", True)
    __and__, __rand__ = _binary("bitwise_and"), _binary("bitwise_and", True)
    __or__, __ror__ = _binary("bitwise_or"), _binary("bitwise_or", True)
    __xor__, __rxor__ = _binary("bitwise_xor"), _binary("bitwise_xor", True)
    __lshift__, __rlshift__ = _binary("left_shift"), _binary("left_shift", True)
    __rshift__, __rrshift__ = _binary("right_shift"), _binary("right_shift", True)
    __lt__, __le__ = _binary("less"), _binary("less_equal")
    __gt__, __ge__ = _binary("greater"), _binary("greater_equal")
    __eq__, __ne__ = _binary("equal"), _binary("not_equal")
    __neg__, __pos__, __abs__ = _unary("negative"), _unary("positive"), _unary("absolute")
    __invert__ = _unary("invert")

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __matmul__(self, other: Any) -> Any:
        raise unsupported("the product of matrices '@'")

    __rmatmul__ = __imatmul__ = __matmul__

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise unsupported(f"the conversion of a traced {self._noun()} to a real NumPy array")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        from . import table

        return table.call_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        from . import table

        return table.call_function(func, args, kwargs)

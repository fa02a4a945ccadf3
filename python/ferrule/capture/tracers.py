"""The stand-ins for sizes, numbers and arrays while a program is traced, under one name."""

from .arrays import Array
from .base import Number, Tracer, is_traced, unsupported
from .carry import Carry, carry_enter, carry_leave, carry_param, carry_pass, carry_type, join
from .numbers import Cond, Int, Scalar, make_int, to_expr
from .ranges import TracedIter, TracedRange
from .storage import Reshape, Storage, Window, reshape_value

__all__ = [
    "Array",
    "Carry",
    "Cond",
    "Int",
    "Number",
    "Reshape",
    "Scalar",
    "Storage",
    "TracedIter",
    "TracedRange",
    "Tracer",
    "Window",
    "carry_enter",
    "carry_leave",
    "carry_param",
    "carry_pass",
    "carry_type",
    "is_traced",
    "join",
    "make_int",
    "reshape_value",
    "to_expr",
    "unsupported",
]

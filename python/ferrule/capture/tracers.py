"""Stand-ins for sizes, numbers and arrays while a program is traced.

Int is a symbolic Python int, Cond a comparison of them, Scalar a number known at run time, Array a NumPy array.
An Array is a chain of windows and reshapes down to a Storage, which is a pure value until something writes to it and
a buffer from then on; so views taken of a value before it was written follow it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ferrule import _compiler as ir
from ferrule import errors as public

from . import errors
from .decide import decide
from .trace import Trace


def is_traced(value: Any) -> bool:
    """Whether a value is a stand-in of the current trace."""
    return isinstance(value, Tracer)


def unsupported(what: str) -> BaseException:
    """The error for valid NumPy or Python that cannot be compiled yet; `what` names the construct, as a noun."""
    return errors.unsupported(f"{what[0].upper()}{what[1:]} is not supported.")


def to_expr(value: Any) -> ir.Expr:
    """A Python or symbolic int as a size expression; TypeError for anything else."""
    if isinstance(value, ir.Expr):
        return value
    if isinstance(value, Int):
        return value.expr
    if isinstance(value, Scalar):
        return value.as_index().expr if isinstance(value.as_index(), Int) else ir.Expr(value.as_index())
    return ir.Expr(operator.index(value))


def make_int(expr: ir.Expr) -> Any:
    """An expression as an int: a plain one where it is constant."""
    expr = Trace.current().facts.canonical(expr)
    constant = expr.constant
    return int(constant) if constant is not None else Int(expr)


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
        from . import elementwise

        left, right = (other, self) if reflected else (self, other)
        return elementwise.python_operator(name, left, right)

    return method


def _unary(name: str) -> Callable[[Any], Any]:
    def method(self: Any) -> Any:
        from . import elementwise

        return elementwise.python_unary(name, self)

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
        return trace.text(self.expr) if value is None or trace.annotated else repr(value)

    def __str__(self) -> str:
        return str(self.__index__())

    def __format__(self, spec: str) -> str:
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


class Scalar(Number):
    """A number known at run time. weak: it behaves as a Python number in promotion."""

    __slots__ = ("_id", "dtype", "region", "weak")
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
        raise unsupported(
            "the value of a number that is known only at run time, here where Python needs an integer"
        )

    def __int__(self) -> int:
        raise unsupported(
            "int() of a number that is known only at run time, called from code that is not traced"
        )

    def __float__(self) -> float:
        raise unsupported(
            "float() of a number that is known only at run time, called from code that is not traced"
        )

    def __complex__(self) -> complex:
        raise unsupported("complex() of a number that is known only at run time")

    def __len__(self) -> int:
        raise TypeError(f"object of type '{self.dtype}' has no len()")

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(f"'{self.dtype}' object is not iterable")

    def __repr__(self) -> str:
        return f"<traced {self._noun()}>"

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
        trace = Trace.current()
        trace.site()
        symbol = trace.builder.symbolize(self.id, "v", self.dtype.kind == "u")
        return make_int(ir.Expr.symbol(symbol))

    def astype(self, dtype: Any, **options: Any) -> Any:
        """The number in another dtype, strong."""
        from . import elementwise

        return elementwise.cast_scalar(self, np.dtype(dtype))

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

    def __getitem__(self, key: Any) -> Any:
        if key == () or key is Ellipsis:
            return self
        raise errors.user_error(IndexError, "invalid index to scalar variable.")

    def _reduced(self, *args: Any, **kwargs: Any) -> Any:
        return self

    max = min = _reduced

    def sum(self, axis: Any = None, dtype: Any = None, **options: Any) -> Any:
        """The number in the dtype that NumPy sums it in."""
        from . import reductions

        return reductions.of_scalar("sum", self, dtype)

    def mean(self, axis: Any = None, dtype: Any = None, **options: Any) -> Any:
        """The number, as float64 if it is an integer."""
        from . import reductions

        return reductions.of_scalar("mean", self, dtype)

    def any(self, *args: Any, **kwargs: Any) -> Any:
        """Whether the number is nonzero."""
        return self.astype(np.bool_)

    all = any

    def round(self, decimals: int = 0, out: Any = None) -> Any:
        """Rounded to decimals, strong."""
        from . import elementwise

        return elementwise.round_decimals(self, decimals)

    def clip(self, min: Any = None, max: Any = None, **options: Any) -> Any:
        """Limited to [min, max]."""
        from . import elementwise

        return elementwise.clip(self, min, max, **options)


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
        self.local = pure  # the memory belongs to this program and no carried view stands for it

    def make_buffer(self) -> None:
        """Gives a pure value memory of its own in the region that made it; Retrace from an inner region."""
        trace = Trace.current()
        if not trace.is_live(self.region):
            raise errors.CaptureError(
                "An array made inside a loop or branch was used outside of it. Assign it to a name of the function, which"
                " carries it out."
            )
        if self.frozen:
            raise errors.user_error(ValueError, self.frozen)
        self.original = None
        if not self.pure:
            return
        if self.lineage is not None:
            self.lineage.local = False
            trace.retrace_with_buffer(self.lineage)
        if self.region != trace.region:
            trace.retrace_with_buffer(self)
        kind = trace.builder.type(self.root)
        view = trace.builder.alloc(self.name, kind.dtype, kind.shape)
        trace.builder.store(view, self.root)
        self.root = view
        self.pure = False
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


class Reshape:
    """A step from an Array to the same elements, in C order, in another shape."""

    __slots__ = ("shape",)

    def __init__(self, shape: Sequence[ir.Expr]) -> None:
        self.shape = list(shape)

    def apply(self, trace: Trace, handle: int) -> int:
        """The reshape in the program; it was possible without a copy when the step was made."""
        reshaped = trace.builder.reshape(handle, self.shape)
        if reshaped is None and trace.facts.prove(
            ir.Condition(ir.Relation.Eq, ir.product(self.shape), ir.Expr(0))
        ):
            # Since then it was found to have no element.
            return int(trace.builder.alloc("empty", trace.builder.type(handle).dtype, self.shape))
        if reshaped is None:
            raise public.InternalError("A reshape that was a view is none any more.")
        return int(reshaped)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reshape) and self.shape == other.shape

    __hash__ = None  # type: ignore[assignment]


class Array(Number):
    """A NumPy array while tracing."""

    __slots__ = ("_cached", "_dims", "dtype", "parent", "readonly", "step", "storage")
    __hash__ = None  # type: ignore[assignment]
    weak = False

    def __init__(self, storage: Storage, dims: Sequence[ir.Expr], dtype: np.dtype[Any]) -> None:
        self.storage = storage
        self._dims = tuple(dims)
        self.dtype = dtype
        self.parent: Array | None = None
        self.step: Window | Reshape | None = None
        self.readonly = False  # a view that NumPy refuses to write through
        self._cached: tuple[int, int, int] | None = None

    # -- making ----------------------------------------------------------------------------------------------------

    @staticmethod
    def of_value(value_id: int, name: str = "t") -> Any:
        """A fresh array (or number) from a value of the program."""
        trace = Trace.current()
        kind = trace.builder.type(value_id)
        if kind.kind == ir.ValueKind.Scalar:
            return Scalar(value_id)
        pure = kind.kind == ir.ValueKind.Array
        storage = Storage(value_id, pure, trace.region, name)
        storage.local = True
        return Array(storage, kind.shape, np.dtype(ir.dtype_name(kind.dtype)))

    def derived(self, step: Window | Reshape, dims: Sequence[ir.Expr]) -> Array:
        """A view of this array through one more step."""
        view = Array(self.storage, dims, self.dtype)
        view.parent = self
        view.step = step
        view.readonly = self.readonly
        return view

    # -- in the program --------------------------------------------------------------------------------------------

    @property
    def dims(self) -> list[ir.Expr]:
        """The extents as canonical expressions."""
        canonical = Trace.current().facts.canonical
        return [canonical(extent) for extent in self._dims]

    def handle(self) -> int:
        """The value (pure) or view (buffer) in the program; CaptureError once its region has closed."""
        trace = Trace.current()
        storage = self.storage
        if not trace.is_live(storage.region):
            raise errors.CaptureError(
                "An array made inside a loop or branch was used outside of it. Assign it to a name of the function, which"
                " carries it out."
            )
        if self.step is None or self.parent is None:
            return storage.root
        cached = self._cached
        if cached is not None and cached[0] == storage.version and trace.is_live(cached[1]):
            return cached[2]
        result = self.step.apply(trace, self.parent.handle())
        self._cached = (storage.version, trace.region, result)
        return result

    def value(self) -> int:
        """The elements now: an array value, or a scalar value for rank 0."""
        trace = Trace.current()
        handle = self.handle()
        if trace.builder.type(handle).kind == ir.ValueKind.View:
            return int(trace.builder.load(handle))
        return handle

    def mutate(self) -> int:
        """The view to write through; gives a pure storage its buffer first."""
        if self.readonly:
            raise errors.user_error(ValueError, "assignment destination is read-only")
        self.storage.make_buffer()
        return self.handle()

    def is_same_view(self, other: Any) -> bool:
        """Whether another array is the same window onto the same storage."""
        left: Array | None = self
        right: Array | None = other if isinstance(other, Array) else None
        while left is not None and right is not None:
            if left is right:
                return True
            if left.storage is not right.storage or left.step != right.step:
                return False
            if left.step is None:
                return True
            left, right = left.parent, right.parent
        return False

    # -- attributes ------------------------------------------------------------------------------------------------

    def _noun(self) -> str:
        return "array"

    @property
    def shape(self) -> Any:
        """The extents, as ints."""
        return tuple(make_int(extent) for extent in self._dims)

    @shape.setter
    def shape(self, dims: Any) -> None:
        from . import shaping

        shaping.set_shape(self, dims)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._dims)

    @property
    def size(self) -> Any:
        """The number of elements."""
        return make_int(ir.product(self.dims))

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return int(self.dtype.itemsize)

    @property
    def nbytes(self) -> Any:
        """Bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def T(self) -> Any:  # noqa: N802
        """The axes in reverse order: a view."""
        from . import shaping

        return shaping.transpose(self)

    @property
    def mT(self) -> Any:  # noqa: N802
        """The last two axes exchanged: a view."""
        from . import shaping

        return shaping.swapaxes(self, -1, -2)

    @property
    def real(self) -> Any:
        """The array itself."""
        return self

    @property
    def imag(self) -> Any:
        """Zeros."""
        from . import creation

        return creation.zeros_like(self)

    @property
    def flat(self) -> Any:
        """Refused."""
        raise unsupported("the attribute 'flat'")

    def __repr__(self) -> str:
        return f"<traced array of {self.dtype}, shape {self.shape}>"

    def __len__(self) -> int:
        if not self._dims:
            raise errors.user_error(TypeError, "len() of unsized object")
        return operator.index(self.shape[0])

    def __iter__(self) -> Iterator[Any]:
        """The rows, where Python needs them one by one: the first extent becomes static."""
        if not self._dims:
            raise errors.user_error(TypeError, "iteration over a 0-d array")
        return iter([self[row] for row in range(operator.index(self.shape[0]))])

    def __bool__(self) -> bool:
        if not self._dims:
            raise errors.NeedsRuntime(Scalar(self.value()))
        if decide(ir.Condition(ir.Relation.Eq, ir.product(self.dims), ir.Expr(1))):
            return bool(self.reshape(())[()])
        raise errors.user_error(
            ValueError,
            "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()",
        )

    def __contains__(self, item: Any) -> bool:
        raise unsupported("'in' of a traced array; write (array == value).any()")

    def __index__(self) -> int:
        raise unsupported("the value of an array element, here where Python needs an integer")

    __int__ = __float__ = __index__

    def __getitem__(self, key: Any) -> Any:
        from . import indexing

        return indexing.load(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        from . import indexing

        indexing.store(self, key, value)


def _inplace(name: str) -> Callable[[Any, Any], Any]:
    def method(self: Array, other: Any) -> Any:
        from . import elementwise

        return elementwise.augmented(name, self, other)

    return method


for _python, _op in (
    ("iadd", "add"), ("isub", "subtract"), ("imul", "multiply"), ("itruediv", "divide"), ("ifloordiv", "floor_divide"),
    ("imod", "remainder"), ("ipow", "power"), ("iand", "bitwise_and"), ("ior", "bitwise_or"), ("ixor", "bitwise_xor"),
    ("ilshift", "left_shift"), ("irshift", "right_shift"),
):  # fmt: skip
    setattr(Array, f"__{_python}__", _inplace(_op))


class TracedRange:
    """range over ints of which at least one is symbolic; the step's sign is decided. Never empty-checked here."""

    __slots__ = ("hi", "lo", "step")

    def __init__(self, lo: Any, hi: Any, step: Any = 1) -> None:
        self.lo = lo
        self.hi = hi
        self.step = step

    def length(self) -> Any:
        """The number of iterations, at least 0."""
        from . import scalars

        step = self.step
        if step > 0:
            return scalars.max_(0, (self.hi - self.lo + step - 1) // step)
        return scalars.max_(0, (self.lo - self.hi - step - 1) // -step)

    def __len__(self) -> int:
        return operator.index(self.length())

    def __iter__(self) -> Iterator[Any]:
        """Python demands the numbers one by one: the length becomes static."""
        return iter([self.lo + k * self.step for k in range(len(self))])

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            raise unsupported("a slice of a range of traced length")
        length = self.length()
        if not (key >= -length and key < length):
            raise IndexError("range object index out of range")
        return self.lo + (key + length if key < 0 else key) * self.step

    def __reversed__(self) -> Any:
        length = self.length()
        return TracedRange(self.lo + (length - 1) * self.step, self.lo - self.step, -self.step)


class TracedIter:
    """An iteration of traced length: item(k) gives the k-th value (rows, enumerate, zip and reversed of them)."""

    __slots__ = ("item", "length_")

    def __init__(self, length: Any, item: Callable[[Any], Any]) -> None:
        self.length_ = length
        self.item = item

    @property
    def length(self) -> Any:
        """The number of values, as an int."""
        return self.length_

    def __len__(self) -> int:
        return operator.index(self.length_)

    def __iter__(self) -> Iterator[Any]:
        """Python demands the values one by one: the length becomes static."""
        return iter([self.item(k) for k in range(len(self))])


from .carry import Carry, carry_enter, carry_leave, carry_param, carry_pass, carry_type, join  # noqa: E402

__all__ = [
    "Array",
    "Carry",
    "Cond",
    "Int",
    "Scalar",
    "TracedIter",
    "TracedRange",
    "carry_enter",
    "carry_leave",
    "carry_param",
    "carry_pass",
    "carry_type",
    "is_traced",
    "join",
    "make_int",
]  # fmt: skip

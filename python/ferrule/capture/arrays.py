"""The stand-in for a NumPy array."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ferrule import _compiler as ir

from . import errors
from .base import Number, unsupported
from .decide import decide
from .numbers import Scalar, make_int
from .storage import Reshape, Storage, Window
from .trace import Trace


class Array(Number):
    """A NumPy array while tracing."""

    __slots__ = ("_cached", "_dims", "_dtype", "parent", "readonly", "step", "storage")
    __hash__ = None  # type: ignore[assignment]
    weak = False

    def __init__(self, storage: Storage, dims: Sequence[ir.Expr], dtype: np.dtype[Any]) -> None:
        self.storage = storage
        self._dims = tuple(dims)
        self._dtype = dtype
        self.parent: Array | None = None
        self.step: Window | Reshape | None = None
        self.readonly = False  # a view that NumPy refuses to write through
        self._cached: tuple[int, int, int] | None = None

    # -- making

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

    def again(self) -> Array:
        """Another array object for the same view, as NumPy's indexing gives one."""
        view = Array(self.storage, self._dims, self.dtype)
        view.parent, view.step, view.readonly, view._cached = (
            self.parent,
            self.step,
            self.readonly,
            self._cached,
        )
        return view

    # -- in the program

    @property
    def dims(self) -> list[ir.Expr]:
        """The extents as canonical expressions."""
        canonical = Trace.current().facts.canonical
        return [canonical(extent) for extent in self._dims]

    def handle(self) -> int:
        """The value (pure) or view (buffer) in the program; refused once its region has closed."""
        trace = Trace.current()
        storage = self.storage
        storage.require_live(trace)
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

    # -- attributes

    def _noun(self) -> str:
        return "array"

    @property
    def shape(self) -> Any:
        """The extents, as ints."""
        return tuple(make_int(extent) for extent in self._dims)

    @shape.setter
    def shape(self, dims: Any) -> None:
        from . import reshaping

        reshaping.set_shape(self, dims)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type."""
        return self._dtype

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
        raise unsupported("'in' of an array", "Write (array == value).any() instead.")

    def __index__(self) -> int:
        raise unsupported("an array where Python needs the value of an integer")

    __int__ = __float__ = __index__

    def __getitem__(self, key: Any) -> Any:
        from . import indexing

        return indexing.load(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        from . import indexing

        indexing.store(self, key, value)

    def __delitem__(self, key: Any) -> None:
        raise errors.user_error(ValueError, "cannot delete array elements")


def _set_refused(name: str) -> Callable[[Any, Any], None]:
    def setter(self: Any, value: Any) -> None:
        raise unsupported(f"the assignment to the attribute '{name}' of an array")

    return setter


def _get_refused(name: str) -> Callable[[Any], Any]:
    def getter(self: Any) -> Any:
        raise unsupported(f"the attribute '{name}' of a traced array")

    return getter


for _name in ("dtype", "strides", "data", "flat", "real", "imag", "flags", "base"):
    _known = Array.__dict__.get(_name)
    _read = _known.fget if isinstance(_known, property) else _get_refused(_name)
    setattr(Array, _name, property(_read, _set_refused(_name)))


def _inplace(name: str) -> Callable[[Any, Any], Any]:
    def method(self: Array, other: Any) -> Any:
        from . import operators

        return operators.augmented(name, self, other)

    return method


for _python, _op in (
    ("iadd", "add"), ("isub", "subtract"), ("imul", "multiply"), ("itruediv", "divide"), ("ifloordiv", "floor_divide"),
    ("imod", "remainder"), ("ipow", "power"), ("iand", "bitwise_and"), ("ior", "bitwise_or"), ("ixor", "bitwise_xor"),
    ("ilshift", "left_shift"), ("irshift", "right_shift"),
):  # fmt: skip
    setattr(Array, f"__{_python}__", _inplace(_op))

"""PyTorch tensors as arguments and as consumers of our arrays; skipped where PyTorch is not installed."""

from __future__ import annotations

import gc
import itertools
import sys
import threading
from typing import Any

import numpy as np
import pytest
import weigh
from exporters import Wrapped

import ferrule as fr
from ferrule import errors

torch = pytest.importorskip("torch")

DTYPES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
VIEWS: list[Any] = [
    ((9,), np.s_[:]), ((9,), np.s_[::2]), ((9,), np.s_[3:]), ((3, 3), np.s_[1:, 1:]), ((3, 4), np.s_[:, ::3]), ((0, 3), np.s_[:]),
    ((), ...), ((2, 3, 4), np.s_[1, :, ::2]), ((1, 5), np.s_[:, 2:3]),
]  # fmt: skip


def has_table() -> bool:
    return hasattr(torch.Tensor, "__dlpack_c_exchange_api__")


@pytest.mark.parametrize(("dtype", "view"), [*itertools.product(DTYPES, VIEWS)])
def test_both_ways_read_every_view(dtype: str, view: Any) -> None:
    shape, index = view
    base = weigh.sample(dtype, shape)
    tensor = torch.from_numpy(base.copy())[index]
    wanted = weigh.weighed(base[index])
    take = weigh.kernel(dtype, tensor.ndim)
    assert take(tensor) == take(Wrapped(tensor)) == wanted
    ours = fr.from_dlpack(tensor)
    assert ours.shape == tuple(tensor.shape) and ours.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(np.asarray(ours), base[index])
    parameter = torch.nn.Parameter(tensor, requires_grad=False)
    assert take(parameter) == take(Wrapped(parameter)) == wanted


@pytest.mark.parametrize("wrap", [lambda t: t, Wrapped])
def test_byte_offsets(wrap: Any) -> None:
    tensor = torch.arange(9.0, dtype=torch.float64).reshape(3, 3)[1:, 1:]
    assert weigh.kernel("float64", 2)(wrap(tensor)) == 4 + 2 * 5 + 3 * 7 + 4 * 8


LAZY = {
    "conj": lambda: torch.tensor([1 + 2j], dtype=torch.complex128).conj(),
    "conj().imag": lambda: torch.tensor([1 + 2j], dtype=torch.complex128).conj().imag,
    "neg view": lambda: torch._neg_view(torch.ones(3, dtype=torch.float64)),
    "requires_grad": lambda: torch.ones(2, dtype=torch.float64, requires_grad=True),
    "Parameter": lambda: torch.nn.Parameter(torch.ones(2, dtype=torch.float64)),
    "sparse": lambda: torch.eye(3, dtype=torch.float64).to_sparse(),
    "meta": lambda: torch.zeros(3, dtype=torch.float64, device="meta"),
    "quantised": lambda: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8),
}


REASONS = {
    "conj": "conjugate bit", "requires_grad": "require gradient", "Parameter": "require gradient", "sparse": "torch.strided",
    "meta": "device type meta", "quantised": "QUInt/QInt",
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
@pytest.mark.parametrize("name", LAZY)
def test_tensors_that_memory_does_not_show_are_refused_alike(name: str) -> None:
    tensor = LAZY[name]()
    add3 = weigh.kernels.kernel("add3.c")
    other = np.ones(2)
    for position in range(3):
        messages = []
        # torch exports negated views, and a wrapper has no bits to ask for.
        for given in (tensor,) if "neg" in name or "imag" in name else (tensor, Wrapped(tensor)):
            args: list[Any] = [other, other, other.copy()]
            args[position] = given
            with pytest.raises(errors.UserBufferError) as caught:
                add3(*args)
            messages.append(str(caught.value))
            if position < 2 and "neg" not in name and "imag" not in name:
                # The reason of the exporter is kept, word for word and as the cause.
                assert REASONS[name] in messages[-1]
                assert REASONS[name] in str(caught.value.__cause__)
        assert f"'{('a', 'b', 'out')[position]}'" in messages[0]
        assert messages[0] == messages[-1]


def test_negated_views_tell_what_to_do() -> None:
    tensor = LAZY["conj().imag"]()
    for call in (weigh.kernel(), fr.asarray, fr.from_dlpack):
        with pytest.raises(BufferError, match=r"'x' is to be negated when it is read.*x\.resolve_neg\(\)"):
            call(tensor)
    assert weigh.kernel()(tensor.resolve_neg()) == -2.0


def test_gradients_are_not_written_over() -> None:
    add3 = weigh.kernels.kernel("add3.c")
    leaf = torch.ones(2, dtype=torch.float64, requires_grad=True)
    for out in (leaf, Wrapped(leaf), leaf * 1):
        with pytest.raises((BufferError, ValueError), match="'out'"):
            add3(np.ones(2), np.ones(2), out)
    assert leaf.tolist() == [1, 1]
    add3(np.ones(2), np.ones(2), leaf.detach())
    assert leaf.tolist() == [2, 2]


def test_subclasses_with_other_memory() -> None:
    class Wrapping(torch.Tensor):  # type: ignore[misc, name-defined]
        @staticmethod
        def __new__(cls, inner: Any) -> Any:
            made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
            made.inner = inner
            return made

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            raise RuntimeError("dispatched")

    with pytest.raises(errors.UserError, match="'x'"):
        weigh.kernel()(Wrapping(torch.ones(3, dtype=torch.float64)))

    class Plain(torch.Tensor):  # type: ignore[misc, name-defined]
        pass

    assert weigh.kernel()(torch.ones(3, dtype=torch.float64).as_subclass(Plain)) == 6.0


SMALL = {
    "bfloat16": ("uint16_t", "FR_BF16", 0x3F80), "float8_e4m3fn": ("uint8_t", "FR_F8_E4M3FN", 0x38),
    "float8_e5m2": ("uint8_t", "FR_F8_E5M2", 0x3C),
}  # fmt: skip


@pytest.mark.parametrize("name", SMALL)
def test_small_floats_by_code_and_bits(name: str) -> None:
    ctype, code, one = SMALL[name]
    take = weigh.kernels.kernel("typed.c", f"-DTYPE={ctype}", f"-DDTYPE={code}")
    dtype = getattr(torch, name)
    tensor = torch.ones(3).to(dtype)
    for given in (tensor, Wrapped(tensor), fr.from_dlpack(tensor), fr.asarray(tensor)):
        assert take(given) == 3 * one
    assert fr.from_dlpack(tensor).dtype == name
    again = torch.from_dlpack(fr.from_dlpack(tensor)[1:])
    assert again.dtype == dtype and again.float().tolist() == [1, 1]
    plain = tensor.view(torch.uint8 if tensor.itemsize == 1 else torch.int16)
    for given in (plain, Wrapped(plain)):
        with pytest.raises(TypeError, match=f"'x' has dtype u?int.*, but {name} is expected"):
            take(given)


@pytest.mark.parametrize(
    "name", ["complex32", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn_x2"]
)
@pytest.mark.filterwarnings("ignore:ComplexHalf support")
def test_element_types_that_nobody_computes_with(name: str) -> None:
    if not hasattr(torch, name):
        pytest.skip("this PyTorch has no such dtype")
    tensor = torch.empty(4, dtype=getattr(torch, name))
    messages = []
    for given in (tensor, Wrapped(tensor)):
        with pytest.raises(errors.UserBufferError, match=r"'x'.*code \d+, bits \d+, lanes \d") as caught:
            weigh.kernel()(given)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_bool_is_bool_both_ways() -> None:
    flags = torch.tensor([True, False, True])
    for given in (flags, Wrapped(flags)):
        assert weigh.kernel("bool")(given) == 4
        with pytest.raises(TypeError, match="'x' has dtype bool, but uint8 is expected"):
            weigh.kernel("uint8")(given)
        with pytest.raises(TypeError, match="'x' has dtype uint8, but bool is expected"):
            weigh.kernel("bool")(Wrapped(flags.byte()) if given is not flags else flags.byte())


@pytest.mark.parametrize("dtype", DTYPES)
def test_torch_reads_our_arrays(dtype: str) -> None:
    base = weigh.sample(dtype, (4, 5))
    for view in (base, base[1:, ::2]):
        array = fr.asarray(view)
        tensor = torch.from_dlpack(array)
        assert str(tensor.dtype) == f"torch.{dtype}"
        np.testing.assert_array_equal(tensor.numpy(), view)
        for value in (1, 0):
            tensor[0, 0] = value
            assert view[0, 0] == value
        del array
    capsule = fr.asarray(base).__dlpack__()
    np.testing.assert_array_equal(torch.utils.dlpack.from_dlpack(capsule).numpy(), base)


def test_memory_that_torch_holds_outlives_our_array() -> None:
    array = fr.Array.zeros(1000)
    np.asarray(array)[:] = 3.0
    held = [torch.from_dlpack(array)]
    del array
    gc.collect()
    bytearray(100_000_000)
    assert (held[0] == 3.0).all()
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()


def test_results_outlive_the_function_and_its_memory() -> None:
    """The memory of a result is used again once its last reference is dead, not before."""

    @fr.program
    def plus(a: Any) -> Any:
        return a + 1.0

    @fr.program
    def times(a: Any) -> Any:
        return a * 2.0

    held = [torch.from_dlpack(plus(np.arange(1000.0))) for _ in range(3)]
    held.append(plus(torch.arange(1000.0, dtype=torch.float64)))
    gc.collect()
    bytearray(100_000_000)
    for _ in range(20):
        times(np.arange(1000.0))
    for tensor in held:
        assert isinstance(tensor, torch.Tensor)
        np.testing.assert_array_equal(tensor.numpy(), np.arange(1000.0) + 1)
        tensor[0] = 5.0
    while held:
        thread = threading.Thread(target=held.pop)
        thread.start()
        thread.join()
        times(np.arange(1000.0))


def test_decorated_functions() -> None:
    @fr.program
    def step(a: Any, out: Any) -> Any:
        out[:] = a * 2.0
        return out

    for _ in range(2):
        a, out = torch.arange(4.0, dtype=torch.float64), torch.zeros(4, dtype=torch.float64)
        assert step(a, out) is out
        assert out.tolist() == [0, 2, 4, 6]
    with pytest.raises(BufferError, match="'a'"):
        step(torch.ones(4, dtype=torch.float64, requires_grad=True), out)


@pytest.fixture
def without_table() -> Any:
    """PyTorch's tensors as they were before they had a C exchange table."""
    if not has_table():
        pytest.skip("this PyTorch has no C exchange table")
    capsule = torch.Tensor.__dlpack_c_exchange_api__

    def use(table: bool) -> None:
        if table:
            torch.Tensor.__dlpack_c_exchange_api__ = capsule
        else:
            del torch.Tensor.__dlpack_c_exchange_api__

    yield use
    torch.Tensor.__dlpack_c_exchange_api__ = capsule


GIVEN: dict[str, Any] = {
    **LAZY,
    "dtype": lambda: torch.ones(4, dtype=torch.float32), "rank": lambda: torch.ones((2, 2), dtype=torch.float64),
    "extent": lambda: torch.ones(3, dtype=torch.float64), "stride": lambda: torch.ones(8, dtype=torch.float64)[::2],
    "expanded": lambda: torch.ones(1, dtype=torch.float64).expand(4), "half": lambda: torch.ones(4, dtype=torch.complex32),
    "fits": lambda: torch.ones(4, dtype=torch.float64), "empty": lambda: torch.ones(0, dtype=torch.float64),
    "fitting Parameter": lambda: torch.nn.Parameter(torch.ones(4, dtype=torch.float64), requires_grad=False),
    "scalar": lambda: torch.tensor(1.0, dtype=torch.float64), "transposed": lambda: torch.ones((2, 2), dtype=torch.float64).T,
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor", "ignore:ComplexHalf support")
@pytest.mark.parametrize("name", GIVEN)
@pytest.mark.parametrize("position", range(3))
def test_answers_and_refusals_are_those_without_the_table(
    name: str, position: int, without_table: Any
) -> None:
    add3 = weigh.kernels.kernel("add3.c")

    def answer() -> Any:
        args: list[Any] = [np.full(4, 2.0), np.full(4, 3.0), np.zeros(4)]
        args[position] = GIVEN[name]()
        try:
            add3(*args)
        except errors.UserError as error:
            untouched = args[2].detach() if position == 2 else args[2]
            return type(error), str(error), position == 2 or not untouched.any()
        return [float(value) for value in args[2]]

    fast = answer()
    without_table(False)
    assert answer() == fast
    without_table(True)
    assert answer() == fast


def test_tensors_make_no_python_object() -> None:
    if not has_table():
        pytest.skip("this PyTorch has no C exchange table")
    weigh_, strided = weigh.kernel("float32"), torch.arange(8.0)[::2]
    parameter = torch.nn.Parameter(torch.ones(4), requires_grad=False)
    add3 = weigh.kernels.kernel("add3.c")
    a, b, out = (torch.ones(4, dtype=torch.float64) for _ in range(3))

    def blocks(call: Any) -> int:
        before = sys.getallocatedblocks()
        for _ in range(100):
            call()
        return sys.getallocatedblocks() - before

    for call in (lambda: add3(a, b, out), lambda: weigh_(strided), lambda: weigh_(parameter)):
        blocks(call)
        assert blocks(call) <= 1
    # What is made and dropped again leaves no block, but would be made by calls that a profile sees.
    calls: list[str] = []

    def notice(frame: Any, event: str, what: Any) -> None:
        if event in ("call", "c_call") and what is not sys.setprofile:
            calls.append(f"{frame.f_code.co_name}: {what}")

    sys.setprofile(notice)
    add3(a, b, out)
    weigh_(parameter)
    weigh_(strided)
    sys.setprofile(None)
    assert calls == []


def test_the_table_is_used_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    if not has_table():
        pytest.skip("this PyTorch has no C exchange table")

    def never(self: Any, **_: Any) -> Any:
        raise AssertionError("__dlpack__ was asked")

    tensor = torch.arange(4.0, dtype=torch.float64)
    take = weigh.kernel()
    assert take(tensor) == 20
    monkeypatch.setattr(torch.Tensor, "__dlpack__", never)
    assert take(tensor) == 20
    monkeypatch.undo()
    capsule = torch.Tensor.__dlpack_c_exchange_api__
    del torch.Tensor.__dlpack_c_exchange_api__
    try:
        monkeypatch.setattr(torch.Tensor, "__dlpack__", never)
        with pytest.raises(errors.UserBufferError, match="__dlpack__ was asked"):
            take(tensor)
        monkeypatch.undo()
        assert take(tensor) == 20
    finally:
        torch.Tensor.__dlpack_c_exchange_api__ = capsule

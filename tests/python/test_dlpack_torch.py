"""PyTorch tensors as arguments and as consumers of our arrays; skipped where PyTorch is not installed."""

from __future__ import annotations

import gc
import itertools
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
    if tensor.dtype.is_floating_point:
        parameter = torch.nn.Parameter(tensor, requires_grad=False)
        assert take(parameter) == wanted


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
            with pytest.raises(errors.UserError) as caught:
                add3(*args)
            assert isinstance(caught.value, (BufferError, TypeError))
            messages.append(str(caught.value))
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


def test_bfloat16_by_code_and_bits() -> None:
    take = weigh.kernels.kernel("typed.c", "-DTYPE=uint16_t", "-DDTYPE=FR_BF16")
    tensor = torch.ones(3, dtype=torch.bfloat16)
    for given in (tensor, Wrapped(tensor), fr.from_dlpack(tensor), fr.asarray(tensor)):
        assert take(given) == 3 * 0x3F80
    again = torch.from_dlpack(fr.from_dlpack(tensor)[1:])
    assert again.dtype == torch.bfloat16 and again.tolist() == [1, 1]
    eight = torch.zeros(3, dtype=torch.float8_e4m3fn)
    assert fr.from_dlpack(eight).dtype == "float8_e4m3fn"


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "bool"])
def test_torch_reads_our_arrays(dtype: str) -> None:
    base = weigh.sample(dtype, (4, 5))
    for view in (base, base[1:, ::2]):
        array = fr.asarray(view)
        tensor = torch.from_dlpack(array)
        np.testing.assert_array_equal(tensor.numpy(), view)
        tensor[0, 0] = 5
        assert view[0, 0] == 5
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

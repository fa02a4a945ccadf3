"""Random calls of a kernel with arguments that fit, nearly fit or are something else altogether.

Each call either gives NumPy's result or raises an error of the right class and leaves every argument as it was. The model
below says which of the two, from the signature alone. FERRULE_FUZZ=long makes ten times as many calls.
"""

from __future__ import annotations

import os
import random
import sys

import numpy as np
import pytest

import ferrule as fr

CALLS = 1_000_000 if os.environ.get("FERRULE_FUZZ") == "long" else 100_000
PARTS = 4
ERRORS = (TypeError, ValueError, OverflowError, BufferError)

SOURCE = """
#include <stdint.h>
double mix(const double* a, const float* b, double* out, double s, int32_t k, bool flip, int64_t n, int64_t m) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    double row = k;
    for (int64_t j = 0; j < m; ++j) row += a[i * m + j] * s + (b ? b[j] : 0);
    out[i] = flip ? -row : row;
    sum += out[i];
  }
  return sum;
}
"""


@pytest.fixture(scope="module")
def mix():
    args = [
        fr.Arg("a", shape=("N", "M")),
        fr.Arg("b", dtype="float32", shape="M", optional=True),
        fr.Arg("out", shape="N", intent="out"),
        fr.Arg("s", kind="scalar", default=1.0),
        fr.Arg("k", kind="scalar", dtype="int32", default=0),
        fr.Arg("flip", kind="scalar", dtype="bool", default=False),
    ]
    signature = fr.Signature("mix", args, returns=[fr.Return("sum", kind="scalar")], result="sum")
    return fr.compile_source(SOURCE, signature).load()


class Arguments:
    """Draws the arguments of one call and knows what they are."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(seed)

    def size(self) -> int:
        return self.random.choice((0, 1, 2, 3, 5))

    def array(self, dtype: str, shape: tuple[int, ...]) -> object:
        """An array of the dtype and shape, or something that is wrong in one way."""
        made = self.numbers.integers(-4, 5, shape).astype(dtype)
        draw = self.random.random()
        if draw < 0.7:
            return made
        wrong = self.random.randrange(12)
        if wrong == 0:
            return made.astype(
                self.random.choice(("float16", "float32", "float64", "int32", "int64", "bool", "complex128"))
            )
        if wrong == 1:
            return made.astype(np.dtype(dtype).newbyteorder())
        if wrong == 2:
            return made.reshape((*shape, 1)) if self.random.random() < 0.5 else made.ravel()
        if wrong == 3:
            return np.repeat(made, 2, axis=-1)[..., ::2]
        if wrong == 4:
            return np.asfortranarray(made)
        if wrong == 5:
            made.flags.writeable = False
            return made
        if wrong == 6:
            raw = np.zeros(made.nbytes + 1, np.uint8)
            odd = raw[1:].view(dtype).reshape(shape)
            odd[...] = made
            return odd
        if wrong == 7:
            return self.random.choice(
                (None, [1.0], (1.0, 2.0), "text", 3, 2.5, object(), {}, np.float64(1), np.ma.array([1.0]))
            )
        if wrong == 8:
            return np.zeros((), dtype)
        if wrong == 9:
            return made[::-1]
        if wrong == 10:
            return made.view(Plain)
        return self.numbers.integers(-4, 5, tuple(extent + 1 for extent in shape)).astype(dtype)

    def scalar(self, good: tuple[object, ...], bad: tuple[object, ...]) -> object:
        return self.random.choice(good if self.random.random() < 0.85 else bad)

    def draw(self) -> dict[str, object]:
        n, m = self.size(), self.size()
        given: dict[str, object] = {"a": self.array("float64", (n, m)), "out": self.array("float64", (n,))}
        if self.random.random() < 0.6:
            given["b"] = None if self.random.random() < 0.3 else self.array("float32", (m,))
        if self.random.random() < 0.05 and isinstance(given["a"], np.ndarray) and given["a"].size:
            given["out"] = given["a"].reshape(-1)[:n]
        if self.random.random() < 0.6:
            given["s"] = self.scalar(
                (2.0, -0.5, 3, np.float32(0.5), np.float64(2), np.int8(3), np.array(2.0)),
                ("x", None, 1j, [1.0], np.array([1.0]), np.complex64(1), True),
            )
        if self.random.random() < 0.6:
            given["k"] = self.scalar(
                (0, -7, 2**31 - 1, -(2**31), np.int64(5), np.uint8(200), np.array(3)),
                (2**31, -(2**31) - 1, 2**200, 2.0, np.float32(2), "1", True, np.True_, None, np.int64(2**40)),
            )
        if self.random.random() < 0.4:
            given["flip"] = self.scalar(
                (True, False, np.True_, np.array(False)), (0, 1, np.int8(1), "x", None)
            )
        return given


class Plain(np.ndarray):
    """A subclass that computes as its base."""


def fits(value: object, dtype: str, rank: int, *, written: bool) -> bool:
    if not isinstance(value, np.ndarray) or isinstance(value, np.ma.MaskedArray):
        return False
    if value.dtype != np.dtype(dtype) or not value.dtype.isnative or value.ndim != rank:
        return False
    if value.size == 0:
        return True
    return value.flags.c_contiguous and value.flags.aligned and (value.flags.writeable or not written)


def number_fits(value: object, dtype: str) -> bool:
    plain = value
    if isinstance(value, np.ndarray):
        if value.ndim:
            return False
        plain = value[()]
    if dtype == "bool":
        return isinstance(plain, (bool, np.bool_))
    if isinstance(plain, (bool, np.bool_)):
        return False
    if dtype == "int32":
        return isinstance(plain, (int, np.integer)) and -(2**31) <= int(plain) < 2**31
    return isinstance(plain, (int, float, np.integer, np.floating))


def accepted(given: dict[str, object]) -> bool:
    a, b, out = given["a"], given.get("b"), given["out"]
    if not fits(a, "float64", 2, written=False) or not fits(out, "float64", 1, written=True):
        return False
    if b is not None and not fits(b, "float32", 1, written=False):
        return False
    if out.shape[0] != a.shape[0] or (b is not None and b.shape[0] != a.shape[1]):
        return False
    if any(np.may_share_memory(out, other) for other in (a, b) if other is not None):
        return False
    kinds = {"s": "float64", "k": "int32", "flip": "bool"}
    return all(number_fits(given[name], kind) for name, kind in kinds.items() if name in given)


def expected(given: dict[str, object]) -> np.ndarray:
    a, b = given["a"], given.get("b")
    row = np.asarray(a) * float(given.get("s", 1.0)) + (0 if b is None else np.asarray(b, np.float64))
    total = row.sum(axis=1) + int(given.get("k", 0))
    return -total if bool(given.get("flip", False)) else total


def call(kernel, source: random.Random, given: dict[str, object]):
    """By position as far as that goes, then by name in any order."""
    names = ["a", "b", "out", "s", "k", "flip"]
    positional = []
    for name in names:
        if name not in given or source.random() < 0.3:
            break
        positional.append(given[name])
    rest = [name for name in given if name not in names[: len(positional)]]
    source.shuffle(rest)
    return kernel(*positional, **{name: given[name] for name in rest})


def references(given: dict[str, object]) -> list[int]:
    """Reference counts of the arrays; small numbers and None have users elsewhere."""
    return [sys.getrefcount(value) for value in given.values() if isinstance(value, np.ndarray)]


def one_call(kernel, source: random.Random, given: dict[str, object], good: bool) -> None:
    arrays = [value for value in given.values() if isinstance(value, np.ndarray)]
    before = [value.copy() for value in arrays]
    if good:
        wanted = expected(given)
        total = call(kernel, source, given)
        np.testing.assert_array_equal(given["out"], wanted)
        assert total == wanted.sum()
        return
    try:
        call(kernel, source, given)
    except ERRORS as error:
        assert isinstance(error, fr.UserError), error
        assert str(error).startswith("mix(): "), error
    else:
        raise AssertionError(f"the call was accepted: {given}")
    for value, copy in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(value, copy)


@pytest.mark.parametrize("part", range(PARTS))
def test_random_arguments(mix, part):
    arguments = Arguments(part)
    outcomes = {True: 0, False: 0}
    for _ in range(CALLS // PARTS):
        given = arguments.draw()
        counts = references(given)
        good = accepted(given)
        outcomes[good] += 1
        one_call(mix, arguments.random, given, good)
        assert references(given) == counts, given
    assert min(outcomes.values()) > CALLS // PARTS // 20

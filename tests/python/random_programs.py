"""Random NumPy functions as source text: slices, views, stores, reductions, loops and branches over sizes and data.

`source(seed)` gives the text of a function f(a, b, m, n, k, w) of two vectors, a square matrix, two ints and a float.
Statements that NumPy refuses at some sizes are part of the game: both sides must refuse then. The operations are those
of Ferrule's own table that take numbers and never raise by their data.
"""

from __future__ import annotations

import itertools
import random
import re
from typing import NamedTuple

import numpy as np

from ferrule import _compiler as ir

_BOUNDS = ("", "0", "1", "2", "-1", "-2", "3", "n//2", "n-1", "k", "-k")
_NUMBERS = ("2", "0.5", "w", "n", "k", "-1", "3")


# What the programs compute with: small whole and half numbers, and what grows out of them.
_SAMPLES = (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 1e9)


class Operation(NamedTuple):
    """A function of NumPy with its number of operands; delicate: see `is_delicate`."""

    name: str
    arity: int
    delicate: bool


def _step(x: float) -> float:
    return 1e-14 * (1 + abs(x))


def is_delicate(function: np.ufunc, arity: int) -> bool:
    """Whether a difference in the last bits of an operand may show in the result: jumps, poles, edges of the domain."""
    for point in itertools.product(_SAMPLES, repeat=arity):
        near = itertools.product(*((x - _step(x), x, x + _step(x)) for x in point))
        values = np.array([function(*arguments) for arguments in near], float)
        if not (np.isfinite(values).all() or np.isnan(values).all() or len(set(values)) == 1):
            return True
        if np.isfinite(values).all() and np.ptp(values) > 1e-9 * max(1.0, float(np.abs(values).max())):
            return True
    return False


def _takes(row: ir.ElementOpInfo, dtype: str) -> bool:
    try:
        ir.infer(row.name, [(dtype, False)] * row.arity)
    except TypeError:
        return False
    return True


def _raises(function: np.ufunc, arity: int) -> bool:
    try:
        for point in itertools.product((-2, 0, 3), repeat=arity):
            function(*(np.int64(x) for x in point))
    except (ValueError, TypeError):
        return True
    return False


def operations() -> list[Operation]:
    """The rows of the table that NumPy has by a name, for float64 and int64 operands alike, of one or two operands."""
    found = []
    with np.errstate(all="ignore"):
        for row in ir.element_ops():
            if (
                not row.numpy
                or row.arity > 2
                or not all(_takes(row, dtype) for dtype in ("float64", "int64"))
            ):
                continue
            function = getattr(np, row.numpy[0])
            if not _raises(function, row.arity):
                found.append(Operation(row.numpy[0], row.arity, is_delicate(function, row.arity)))
    return found


_OPERATIONS = operations()
_REDUCTIONS = [row.numpy[0] for row in ir.reduce_ops() if row.numpy and row.has_identity] + ["mean"]


def _assignment(target: str, sign: str, value: str) -> str:
    """The statement, with a value of its own on the right where NumPy would copy without a look at the overlap.

    It does so from vector to vector of equally signed, different strides; steps and columns make those.
    """
    bare = sign == "=" and re.fullmatch(r"\w+(\.T)?(\[[^()]*\])?", value)
    strided = re.search(r":[^,\]]*:|:, ", f"{target} {value}")
    return f"{target} {sign} {value}{' + 0' if bare and strided else ''}"


class _Writer:
    """Writes one function; names holds each array's rank (0: a number)."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.names: dict[str, int] = {"a": 1, "b": 1, "m": 2}
        self.made = 0

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def slice(self) -> str:
        low, high, step = self.pick(*_BOUNDS), self.pick(*_BOUNDS), self.pick("1", "2", "3", "-1", "-2")
        return self.pick(":", f"{low}:{high}", f"{low}:{high}:{step}", "::-1", "1:", ":-1", "1:-1")

    def array(self) -> str:
        return self.pick(*[name for name, rank in self.names.items() if rank])

    def view(self, name: str) -> tuple[str, int]:
        rank = self.names[name]
        if rank == 0:
            return name, 0
        if rank == 2 and self.random.random() < 0.4:
            return self.random.choice(
                [
                    (f"{name}.T", 2),
                    (f"{name}[{self.pick('0', '-1')}]", 1),
                    (f"{name}[:, {self.pick('0', '-1')}]", 1),
                ]
            )
        if self.random.random() < 0.4:
            return name, rank
        return f"{name}[{', '.join(self.slice() for _ in range(self.random.randint(1, rank)))}]", rank

    def expression(self, depth: int) -> tuple[str, int]:
        if depth == 0 or self.random.random() < 0.2:
            return (
                (self.pick(*_NUMBERS), 0) if self.random.random() < 0.2 else self.view(self.pick(*self.names))
            )
        kind = self.random.randrange(8)
        if kind == 6:
            text, rank = self.view(self.array())
            return self.reduction(text, rank)
        if kind == 7:
            text, rank = self.view(self.array())
            return (self.pick(f"{text}.reshape(-1)", f"{text}.ravel()"), 1) if rank == 2 else (text, rank)
        left, left_rank = self.expression(depth - 1)
        if kind == 4:
            return self.call(1, left), left_rank
        right, right_rank = self.expression(depth - 1)
        rank = max(left_rank, right_rank)
        if kind == 5:
            return self.call(2, left, right), rank
        return f"({left} {self.pick('+', '-', '*')} {right})", rank

    def call(self, arity: int, *operands: str) -> str:
        operation = self.random.choice([op for op in _OPERATIONS if op.arity == arity])
        if operation.delicate:
            # Bounded, and away from whole numbers: both sides then see the same side of a jump.
            operands = tuple(
                f"({text} / (1.0 + np.abs({text})) + 0.37{place}1)" for place, text in enumerate(operands)
            )
        # Truth values as numbers, as every operation takes them.
        return f"(1 * np.{operation.name}({', '.join(operands)}))"

    def reduction(self, text: str, rank: int) -> tuple[str, int]:
        if rank == 0:
            return text, 0
        name = self.pick(*_REDUCTIONS)
        axis = self.pick("", "axis=0", "axis=-1")
        if not axis:
            return f"(1 * np.{name}({text}))", 0
        keep = self.random.random() < 0.3
        return (
            f"(1 * np.{name}({text}, {axis}{', keepdims=True' if keep else ''}))",
            rank if keep else rank - 1,
        )

    def make(self, rank: int) -> str:
        self.made += 1
        self.names[f"t{self.made}"] = rank
        return f"t{self.made}"

    def test(self) -> str:
        """A condition that data decides, of NumPy's answer at every size."""
        array = self.array()
        return f"1.0 * {array}.sum() {self.pick('>', '<=')} {self.pick('0', 'w', 'n')}"

    def either(self) -> None:
        """A name that data decides, of any extents."""
        text, rank = self.expression(1)
        other, other_rank = self.expression(1)
        while other_rank != rank:
            other, other_rank = self.expression(1)
        condition, name = self.test(), self.make(rank)
        if self.random.random() < 0.3:
            self.lines.append(f"    {name} = 1.0 * {text} if {condition} else 2.0 * {other}")
            return
        self.lines += [f"    if {condition}:", f"        {name} = 1.0 * {text}"]
        self.lines += ["    else:", f"        {name} = {self.pick('1.0', 'w')} * {other}"]

    def part(self, name: str) -> str:
        return self.pick(
            f"{name}[1:]",
            f"{name}[:-1]",
            f"{name}[::2]",
            f"{name}[: len({name}) // 2]",
            f"({name}[1:] - {name}[:-1])",
            f"-{name}[::-1]",
        )

    def loop(self, name: str) -> str:
        """The head of a loop that ends."""
        return self.pick(
            "for i in range(k):",
            "for i in range(n // 2):",
            f"while len({name}) > 2:",
            f"while len({name}) > k and {name}[0] < 1:",
        )

    def shrink(self) -> None:
        """An array that gets smaller in a loop, on two ways perhaps."""
        vectors = [name for name, rank in self.names.items() if rank == 1]
        start, name = self.pick(*vectors), self.make(1)
        self.lines += [f"    {name} = {self.pick(start, f'1 * {start}')}", f"    {self.loop(name)}"]
        if self.random.random() < 0.4:
            self.lines += [f"        if {self.test()}:", f"            {name} = {self.part(name)}"]
            self.lines += ["        else:", f"            {name} = {name}[2:]"]
        self.lines.append(f"        {name} = {name}[1:]")

    def shrink_together(self) -> None:
        """Two arrays that get smaller in one loop, and may trade places."""
        vectors = [name for name, rank in self.names.items() if rank == 1]
        start, one, two = self.pick(*vectors), self.make(1), self.make(1)
        self.lines += [f"    {one} = {two} = {self.pick(start, f'2 * {start}')}", f"    {self.loop(one)}"]
        parts = self.pick(one, two), self.pick(one, two)
        self.lines.append(f"        {one}, {two} = {self.part(parts[0])}, {self.part(parts[1])}")
        # Both, or the one that is looked at may get the length of the other for ever.
        self.lines.append(f"        {one}, {two} = {one}[1:], {two}[1:]")

    def statement(self, indent: int) -> None:
        margin = "    " * indent
        kind = self.random.randrange(11 if indent == 1 else 8)
        if kind >= 8:
            (self.either, self.shrink, self.shrink_together)[kind - 8]()
        elif kind < 3 and indent == 1:
            text, rank = self.expression(2)
            self.lines.append(f"{margin}{self.make(rank)} = {text}")
        elif kind == 6 and indent < 3:
            variable = f"i{indent}"
            span = self.pick("1, n", "n", "k", "n-1, 0, -1", "0, n, 2")
            self.lines.append(f"{margin}for {variable} in range({span}):")
            for _ in range(self.random.randint(1, 2)):
                index = self.pick(variable, f"{variable} - 1", f":{variable}", f"{variable}:", f"-{variable}")
                text, _ = self.expression(1)
                target = f"{self.array()}[{index}]"
                self.lines.append(f"{margin}    {_assignment(target, self.pick('=', '+='), text)}")
        elif kind == 7 and indent < 3:
            self.lines.append(f"{margin}if {self.pick('n > 3', 'k == 2', 'n % 2 == 0', 'len(a) > k')}:")
            self.statement(indent + 1)
        else:
            target, _ = self.view(self.array())
            target = target if target.endswith("]") else f"{target}[...]"
            text, _ = self.expression(1)
            self.lines.append(f"{margin}{_assignment(target, self.pick('=', '+=', '-=', '*='), text)}")


def source(seed: int) -> str:
    """The text of a module with a function `f`."""
    writer = _Writer(seed)
    for _ in range(writer.random.randint(3, 7)):
        writer.statement(1)
    results = "".join(f"{name}, " for name in writer.names if name.startswith("t")) or "None"
    return "\n".join(
        ["import numpy as np", "", "", "def f(a, b, m, n, k, w):", *writer.lines, f"    return {results}", ""]
    )


def arguments(seed: int, n: int, integers: bool, strided: bool) -> list:
    """Arguments of `f` for size n; strided: with gaps, reversed, in Fortran order or with gaps in two dimensions."""
    rng = np.random.default_rng(seed)

    def make(*shape: int) -> np.ndarray:
        return rng.integers(-5, 6, shape) if integers else np.round(rng.standard_normal(shape) * 4) / 2

    if strided:
        matrix = np.asfortranarray(make(n, n)) if seed % 2 else make(n, 2 * n)[:, ::2]
        return [make(2 * n)[::2], make(n)[::-1], matrix, n, int(rng.integers(0, 4)), 0.5]
    return [make(n), make(n), make(n, n), n, int(rng.integers(0, 4)), 0.5]

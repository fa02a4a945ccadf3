"""Nests of branches and loops of any depth as source text, with names that change their types at each level.

`source(kind, depth)` gives the text of a module with a function f(x, n) of a vector and an int.
"""

from __future__ import annotations

from typing import NamedTuple


class Nest(NamedTuple):
    """The lines of one level, of number {k}: `before` its head, `first` and `last` in its block, `behind` it. `start` is at
    the top, for each level; `core` is innermost; `end` is behind the nest, for each level."""

    head: str
    first: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()
    start: tuple[str, ...] = ("s{k} = 0",)
    core: tuple[str, ...] = ()
    end: tuple[str, ...] = ()
    result: str = "s{k}"


IF = "if x[{k}] > 0:"
FOR = "for i{k} in range(n):"
OF_DATA = "for i{k} in range(int(x[{k}])):"
WHILE = "while x[i{k}] > 0:"
ADD = "s{k} = s{k} + x[{k}]"
COUNT = "i{k} = i{k} + 1"
ZERO = ("i{k} = 0",)
READ = ("if x[0] > 9:", "    r = r + u{k}")

KINDS = {
    "if, int or float": Nest(IF, last=(ADD,)),
    "if, undefined": Nest(IF, last=("u{k} = x[{k}]",), start=("r = 0.0",), end=READ, result="r"),
    "if, tuples": Nest(IF, last=("t{k} = (t{k}[0] + 1, x[{k}])",), start=("t{k} = (0, 0)",), result="t{k}[1]"),
    "if, extents": Nest(IF, last=("v = v[1:]",), start=("v = 1.0 * x",), result="v.sum()"),
    "if, bound arrays": Nest(
        IF, last=("y = z",), behind=("else:", "    y = x"), start=("y, z = x, 2.0 * x",), end=("y[0] = 5.0",), result="y[1]"
    ),
    "if, other types": Nest(
        IF, ("t{k} = {k}",), ("s{k} = t{k}",), behind=("else:", "    t{k} = x[{k}]", "    s{k} = s{k} + t{k}")
    ),
    "if, written arrays": Nest(
        IF, before=("v{k} = 1.0 * x",), last=("v{k}[{k}] = 9.0",), behind=("s0 = s0 + v{k}.sum()",)
    ),
    "if, return": Nest(IF, ("if x[{k}] > 5: return s0",), ("s0 = s0 + x[{k}]",)),
    "if, raise": Nest("if x[{k}] > -9:", last=(ADD,), behind=("else:", "    raise ValueError('no')")),
    "if, and, or": Nest("if x[{k}] > 0 and (x[{k}] < 7 or s{k} > 0):", last=(ADD,)),
    "for, int or float": Nest(FOR, last=(ADD,)),
    "for, of data": Nest(OF_DATA, last=(ADD,)),
    "for, undefined": Nest(OF_DATA, last=("u{k} = x[0]",), start=("r = 0.0",), end=READ, result="r"),
    "for, None": Nest(
        FOR, last=("p{k} = x[{k}] if p{k} is None else p{k} + 1",), start=("p{k} = None",), result="p{k}"
    ),
    "for, extents": Nest(FOR, last=("v{k} = v{k}[1:]",), start=("v{k} = 1.0 * x",), result="v{k}.sum()"),
    "for, exchanged": Nest(FOR, last=("a, b = b[1:], a[:-1]",), start=("a, b = 1.0 * x, 2.0 * x",), result="a.sum()"),
    "for, written arrays": Nest(
        FOR, before=("v{k} = 1.0 * x",), last=("v{k}[i{k}] = 9.0",), behind=("s0 = s0 + v{k}.sum()",)
    ),
    "for, written in tuples": Nest(
        FOR, before=("v{k} = (1.0 * x, 1)",), last=("v{k}[0][i{k}] = 9.0",), behind=("s0 = s0 + v{k}[0].sum()",)
    ),
    "for, from inside": Nest(FOR, ("s{k} = s0",), ("s0 = s0 + x[{k}]",)),
    "for, break": Nest(FOR, ("if x[i{k}] > 5: break",), (ADD, "if x[{k}] > 3: continue", "s{k} = s{k} + 1")),
    "for, return": Nest(FOR, ("if x[i{k}] > 5: return s0",), ("s0 = s0 + x[i{k}]",)),
    "for and if": Nest(
        FOR, ("t{k} = 0", "if x[i{k}] > 0:", "    t{k} = s{k} + 0.5", "else:", "    s{k} = x[{k}]"), ("s{k} = s{k} + t{k}",)
    ),
    "for and if, extents": Nest(
        FOR, last=("if x[{k}] > 0:", "    v = v[1:]", "else:", "    v = v[:-1] + 1.0"), start=("v = 1.0 * x",), result="v.sum()"
    ),
    "while, int or float": Nest(WHILE, last=(COUNT, ADD), before=ZERO),
    "while, of sizes": Nest("while i{k} < n:", last=(COUNT, ADD), before=ZERO),
    "while, extents": Nest("while len(v) > {k}:", last=("v = v[1:]",), start=("v = x",), result="v.sum()"),
    "while, break": Nest("while i{k} < n:", ("if x[i{k}] > 5: break",), (ADD, COUNT), before=ZERO),
    "while True": Nest("while True:", ("if x[i{k}] <= 0: break",), (ADD, COUNT), before=ZERO),
    "unrolled": Nest(IF, last=("for z in (1, 1.5, 2):", "    s{k} = s{k} + z"), behind=(FOR, "    s{k} = s{k} + 1")),
}  # fmt: skip


def source(kind: str, depth: int) -> str:
    """The text of a module with a function `f` of one kind of nest."""
    nest = KINDS[kind]

    def level(k: int) -> list[str]:
        if k == depth:
            return [*nest.core]
        inner = [*nest.first, *level(k + 1), *nest.last]
        lines = [*nest.before, nest.head, *("    " + line for line in inner), *nest.behind]
        return [line.replace("{k}", str(k)) for line in lines]

    def each(lines: tuple[str, ...]) -> list[str]:
        every = [line.replace("{k}", str(k)) for k in range(depth) for line in lines]
        return every if any("{k}" in line for line in lines) else [*lines]

    result = " + ".join(dict.fromkeys(nest.result.replace("{k}", str(k)) for k in range(depth)))
    body = [*each(nest.start), *level(0), *each(nest.end), f"return {result}"]
    return "\n".join(["def f(x, n):", *(f"    {line}" for line in body), ""])

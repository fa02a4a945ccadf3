"""Random programs about which of a few names are one array: aliases, swaps and writes in branches and loops.

source(seed) is the text of `f(x, n)`; x: three floats or more, n: how often some loops run.
"""

from __future__ import annotations

import random

NAMES = "abc"
DATA = ([1.0, 2, 3], [-1.0, 2, -3], [2.0, -1, 1], [0.0, 0, 0], [-2.0, -1, 0])


def source(seed: int) -> str:
    """A program of a dozen statements or so."""
    draw = random.Random(seed)
    body = ["a = x * 2", "b = x + 1", f"c = {draw.choice(('a', 'b * 1', 'x * 3'))}"]
    for _ in range(3):
        body += _block(draw, 0)
    body.append(f"return {draw.choice(('a, b, c', 'a, c', 'a + 0, b + 0, c + 0'))}")
    return "\n".join(["import numpy as np", "def f(x, n):", *_indented(body), ""])


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _block(draw: random.Random, depth: int) -> list[str]:
    lines: list[str] = []
    for _ in range(draw.randint(1, 3)):
        lines += _statement(draw, depth)
    return lines


def _statement(draw: random.Random, depth: int) -> list[str]:
    kind = draw.random()
    one, other, place = draw.choice(NAMES), draw.choice(NAMES), draw.randint(0, 2)
    if kind < 0.2:
        return [f"{one} = {other} * {draw.randint(2, 5)}"]
    if kind < 0.45:
        return [f"{one} = {other}"]
    if kind < 0.65:
        return [f"{one}[{place}] = {draw.randint(10, 99)}"]
    if kind < 0.72:
        return [f"{one} += {draw.randint(1, 9)}"]
    if kind < 0.78:
        return [f"{one}, {other} = {other}, {one}"]
    if kind < 0.9 and depth < 3:
        lines = [f"if x[{place}] > {draw.choice((0, 1, -1))}:", *_indented(_block(draw, depth + 1))]
        return lines if draw.random() < 0.4 else [*lines, "else:", *_indented(_block(draw, depth + 1))]
    if depth < 2:
        trips = draw.choice(("2", "int(abs(x[0]))", "len(x)", "n"))
        return [f"for i{depth} in range({trips}):", *_indented(_block(draw, depth + 1))]
    return [f"{one} = np.where({other} > 3, {other}, 7.0)"]

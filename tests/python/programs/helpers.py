"""Functions that call functions: defaults, keywords, several results, effects on arguments, closures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from . import program

RATES = {"slow": 0.2, "fast": 0.8}


def scaled(x, factor=2.0, *, shift=0.0):
    return x * factor + shift


def smoothed(x, weight=0.5):
    result = scaled(x, factor=1.0 - weight)
    result[1:] += scaled(x[:-1], weight)
    return result


def bounds(x):
    return x.min(), x.max()


def relax(target, towards, rate):
    target += rate * (towards - target)


def make_filter(weights):
    def filtered(x):
        total = np.zeros(x.shape[0] - len(weights) + 1)
        for offset, weight in enumerate(weights):
            total += weight * x[offset : offset + len(total)]
        return total

    return filtered


three_point = make_filter((0.25, 0.5, 0.25))


def normal(x):
    t = 1.0 / (1.0 + 0.2316419 * np.abs(x))
    tail = (
        np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi) * t * (0.31938153 + t * (-0.356563782 + t * 1.781477937))
    )
    return np.where(x >= 0.0, 1.0 - tail, tail)


@program(lambda rng, n: (rng.standard_normal(n), rng.standard_normal(n)), (7, 1, 2, 33))
def helpers_in_helpers(x, y):
    relax(x, y, rate=RATES["slow"])
    for rate in RATES.values():
        relax(y[::2], 0.0, rate)
    low, high = bounds(smoothed(x))
    _, top = bounds(scaled(y, shift=-low))
    return scaled(smoothed(x, weight=0.25), shift=high), top


@program(lambda rng, n: (rng.standard_normal(n),), (9, 3, 4, 20))
def closed_over(x):
    doubled = [value * 2 for value in (1.0, 2.0)]
    half = lambda v: v / 2  # noqa: E731

    def local(v, rate=0.5):
        return v * rate + doubled[0]

    return three_point(x), half(x), local(x), local(x, rate=doubled[1])


@program(
    lambda rng, n: (rng.uniform(50, 150, n), rng.uniform(50, 150, n), rng.uniform(0.1, 2, n), 0.03, 0.25)
)
def options(price, strike, years, rate, volatility):
    spread = volatility * np.sqrt(years)
    d1 = (np.log(price / strike) + (rate + 0.5 * volatility**2) * years) / spread
    discounted = strike * np.exp(-rate * years)
    call = price * normal(d1) - discounted * normal(d1 - spread)
    return call, call + discounted - price


@program(lambda rng, n: (rng.standard_normal(8 * n), 3))
def recursion(x, depth):
    if depth == 0 or x.shape[0] % 2 == 1:
        return
    average, difference = 0.5 * (x[::2] + x[1::2]), 0.5 * (x[::2] - x[1::2])
    half = x.shape[0] // 2
    x[:half] = average
    x[half:] = difference
    recursion(x[:half], depth - 1)


@program(lambda rng, n: (rng.standard_normal(n + 3), n), (5, 0, 1, 2))
def conditions_of_comprehensions(x, n):
    picked = [x[k] for k in range(3) if k < n and k != 1]
    return picked, {k: v for k, v in zip("abc", (n, 2, 3)) if k != "b"}, sum(1 for k in (0, 1) if k)


@dataclass(frozen=True)
class State:
    u: np.ndarray
    t: float = 0.0

    def moved(self, step):
        return replace(self, u=self.u + step * self.u[::-1], t=self.t + step)


@dataclass
class Extremes:
    low: float
    high: float


class Sums(NamedTuple):
    even: float
    odd: float


@program(lambda rng, n: (rng.standard_normal(n), 3), (7, 1, 2, 33))
def dataclasses_in_loops(x, steps):
    state = State(x)
    for _ in range(steps):
        state = state.moved(0.5)
    found, sums, place = Extremes(x[0], x[0]), Sums(np.float64(0), np.float64(0)), 0
    while place < len(x):
        if x[place] < found.low:
            found = Extremes(x[place], found.high)
        elif x[place] > found.high:
            found = replace(found, high=x[place])
        odd = place % 2 == 1
        sums = sums._replace(odd=sums.odd + x[place]) if odd else Sums(sums.even + x[place], sums.odd)
        place += 1
    found.low -= 1
    return state.u, state.t, found.low, found.high, sums.even, sums.odd

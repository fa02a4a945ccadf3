"""Derives the polynomial coefficients of include/ferrule/rt: `python docs/internals/minimax.py` prints all of them.

Method: Remez exchange at 60 digits for the polynomial P of a given degree that minimises max |weight * (P - f)| on an
interval, then each coefficient rounded to the working type. f is always what remains after the exact leading terms of the
series were taken out, so that rounding its coefficients costs nothing.
"""

from __future__ import annotations

import mpmath as mp

mp.mp.dps = 60


def remez(f, a, b, degree, weight=lambda x: mp.mpf(1), rounds=12):
    """Coefficients (constant term first) and the largest weighted error."""
    a, b, n = mp.mpf(a), mp.mpf(b), degree + 2
    nodes = [(a + b) / 2 - (b - a) / 2 * mp.cos(mp.pi * (2 * k + 1) / (2 * n)) for k in range(n)]
    grid = [(a + b) / 2 - (b - a) / 2 * mp.cos(mp.pi * k / (40 * n)) for k in range(40 * n + 1)]
    values = [f(x) for x in grid]
    weights = [weight(x) for x in grid]
    for _ in range(rounds):
        matrix = mp.matrix(n, n)
        right = mp.matrix(n, 1)
        for i, x in enumerate(nodes):
            for j in range(degree + 1):
                matrix[i, j] = x**j
            matrix[i, degree + 1] = (-1) ** i / weight(x)
            right[i] = f(x)
        solution = mp.lu_solve(matrix, right)
        coefficients = [solution[i] for i in range(degree + 1)]
        errors = [w * (mp.polyval(coefficients[::-1], x) - v) for x, v, w in zip(grid, values, weights)]
        extrema = []  # the largest error of each run of one sign
        for i, e in enumerate(errors):
            if extrema and (e > 0) == (errors[extrema[-1]] > 0):
                if abs(e) > abs(errors[extrema[-1]]):
                    extrema[-1] = i
            else:
                extrema.append(i)
        while len(extrema) > n:
            extrema.pop(0 if abs(errors[extrema[0]]) < abs(errors[extrema[-1]]) else -1)
        if len(extrema) < n:
            break
        nodes = [grid[i] for i in extrema]
    return coefficients, max(abs(e) for e in errors)


def series_safe(direct, series, bound):
    """`direct` suffers from cancellation near 0; there the Taylor coefficients `series(k)` take over."""

    def f(x):
        if abs(x) > bound:
            return direct(x)
        return mp.nsum(lambda k: series(int(k)) * x ** int(k), [0, 60], method="direct")

    return f


def root(function):
    """function(sqrt(z)) as a function of z."""
    return lambda z: function(mp.sqrt(z))


LN2 = mp.log(2)
SMALL = mp.mpf("1e-8")
exp_tail = series_safe(lambda r: (mp.exp(r) - 1 - r) / r**2, lambda k: 1 / mp.factorial(k + 2), SMALL)
exp2_tail = series_safe(
    lambda r: (mp.power(2, r) - 1) / r, lambda k: LN2 ** (k + 1) / mp.factorial(k + 1), SMALL
)
log_tail = series_safe(
    root(lambda s: (mp.log((1 + s) / (1 - s)) - 2 * s) / s**3), lambda k: mp.mpf(2) / (2 * k + 3), SMALL
)
log2_tail = series_safe(
    root(lambda s: (mp.log((1 + s) / (1 - s)) - 2 * s - 2 * s**3 / 3) / s**5 / LN2),
    lambda k: 2 / LN2 / (2 * k + 5),
    SMALL,
)
log2_short = series_safe(
    root(lambda s: (mp.log((1 + s) / (1 - s)) - 2 * s) / s**3 / LN2), lambda k: 2 / LN2 / (2 * k + 3), SMALL
)
asin_tail = series_safe(
    root(lambda x: (mp.asin(x) - x) / x**3),
    lambda k: mp.binomial(2 * k + 2, k + 1) / (mp.mpf(4) ** (k + 1) * (2 * k + 3)),
    SMALL,
)
atan_tail = series_safe(
    root(lambda x: (mp.atan(x) - x) / x**3), lambda k: mp.mpf(-1) ** (k + 1) / (2 * k + 3), SMALL
)
sin_tail = series_safe(
    root(lambda x: (mp.sin(x) - x) / x**3), lambda k: mp.mpf(-1) ** (k + 1) / mp.factorial(2 * k + 3), SMALL
)
tan_tail = series_safe(
    root(lambda x: (mp.tan(x) - x) / x**3),
    lambda k: abs(mp.bernoulli(2 * k + 4)) * 4 ** (k + 2) * (4 ** (k + 2) - 1) / mp.factorial(2 * k + 4),
    SMALL,
)

HALF_LN2 = LN2 / 2 * mp.mpf("1.0001")
S_MAX = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 * mp.mpf("1.0001")
TAN_PI_8 = mp.tan(mp.pi / 8) ** 2 * mp.mpf("1.0001")

# name: (function, low, high, degree, type)
POLYNOMIALS = {
    "exp double": (exp_tail, -HALF_LN2, HALF_LN2, 9),
    "exp float": (exp_tail, -HALF_LN2, HALF_LN2, 4),
    "exp2 double": (exp2_tail, -0.5, 0.5, 11),
    "exp2 float": (exp2_tail, -0.5, 0.5, 6),
    "exp2 of float power, in double": (exp2_tail, -0.5, 0.5, 7),
    "log double": (log_tail, 0, S_MAX, 6),
    "log float": (log_tail, 0, S_MAX, 2),
    "power double": (log2_tail, 0, S_MAX, 7),
    "power of floats, in double": (log2_short, 0, S_MAX, 4),
    "arcsin double": (asin_tail, 0, 0.25, 12),
    "arcsin float": (asin_tail, 0, 0.25, 4),
    "arctan double": (atan_tail, 0, TAN_PI_8, 10),
    "arctan float": (atan_tail, 0, TAN_PI_8, 4),
    "sin double": (sin_tail, 0, (mp.pi / 2 * mp.mpf("1.0001")) ** 2, 7),
    "sin of floats, in double": (sin_tail, 0, (mp.pi / 2 * mp.mpf("1.0001")) ** 2, 4),
    "tan double": (tan_tail, 0, (mp.pi / 4 * mp.mpf("1.0001")) ** 2, 14),
    "tan of floats, in double": (tan_tail, 0, (mp.pi / 4 * mp.mpf("1.0001")) ** 2, 7),
    "reciprocal cube root": (lambda m: mp.power(m, -mp.mpf(1) / 3), 1, 2, 5),
}


def pi_windows(count=61, step=16, width=4):
    """Row b: 2**(step * b) times (1/pi without its multiples of 2**(1 - step * b)), as `width` doubles.

    A double that is a multiple of 2**(step * b) times anything left out is a whole number of turns.
    """
    rows = []
    with mp.workdps(500):
        for b in range(count):
            rest = mp.mpf(2) ** (step * b) / mp.pi
            rest -= 2 * mp.floor(rest / 2)
            row = []
            for _ in range(width):
                with mp.workprec(53):
                    part = +rest
                row.append(float(part))
                rest -= part
            rows.append(row)
    return rows


def main() -> None:
    for name, (f, low, high, degree) in POLYNOMIALS.items():
        coefficients, error = remez(f, low, high, degree)
        print(f"{name}: error of the tail {mp.nstr(error, 3)} = 2**{mp.nstr(mp.log(error, 2), 4)}")
        if name.endswith(" float"):
            print("   ", ", ".join(f"{float(mp.nstr(c, 9)):.9g}f" for c in coefficients))
        else:
            print("   ", ", ".join(float(c).hex() for c in coefficients))
    print("windows of 1/pi:")
    for row in pi_windows():
        print("   ", ", ".join(c.hex() for c in row))


if __name__ == "__main__":
    main()

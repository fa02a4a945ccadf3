"""The five programs as plain NumPy: what Ferrule decorates as it is, and numba where it can."""

import numpy as np


def blend(a, b, w):
    return a * w + b * (1.0 - w)


def stencil(a, out):
    out[1:-1, 1:-1] = 0.25 * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])


def wave(a, b):
    return np.where(a > b, np.sqrt(np.exp(-a * a) + 1.0), np.sin(b))


def normalise(a):
    return (a - a.mean(axis=0)) / a.std(axis=0)


def sweep(a):
    for i in range(1, a.shape[0] - 1):
        a[i] = 0.5 * (a[i - 1] + a[i + 1])

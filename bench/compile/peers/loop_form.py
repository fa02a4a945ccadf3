"""The five programs as loops over elements, as one writes them for numba, and for Cython with types."""

import math

import numpy as np


def blend(a, b, w):
    out = np.empty(a.shape[0])
    for i in range(a.shape[0]):
        out[i] = a[i] * w + b[i] * (1.0 - w)
    return out


def stencil(a, out):
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            out[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])


def wave(a, b):
    out = np.empty(a.shape[0])
    for i in range(a.shape[0]):
        out[i] = math.sqrt(math.exp(-a[i] * a[i]) + 1.0) if a[i] > b[i] else math.sin(b[i])
    return out


def normalise(a):
    rows, columns = a.shape
    out = np.empty((rows, columns))
    for j in range(columns):
        mean = 0.0
        for i in range(rows):
            mean += a[i, j]
        mean /= rows
        variance = 0.0
        for i in range(rows):
            variance += (a[i, j] - mean) ** 2
        deviation = math.sqrt(variance / rows)
        for i in range(rows):
            out[i, j] = (a[i, j] - mean) / deviation
    return out


def sweep(a):
    for i in range(1, a.shape[0] - 1):
        a[i] = 0.5 * (a[i - 1] + a[i + 1])

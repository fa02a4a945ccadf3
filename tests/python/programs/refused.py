"""Valid NumPy that is not compiled yet: each is refused by the construct's name and the user's line."""

from __future__ import annotations

import numpy as np

from . import program


def vector(rng, n):
    return (rng.standard_normal(n),)


def square(rng, n):
    return (rng.standard_normal((n, n)),)


@program(lambda rng, n: (rng.standard_normal(n) + 1j,), refused="complex128")
def complex_argument(z):
    return z * 2


@program(vector, refused="complex number")
def complex_constant(x):
    return x * 1j


@program(lambda rng, n: (np.zeros(n, np.float16),), refused="float16")
def half_argument(x):
    return x


@program(vector, refused="mask")
def mask_load(x):
    return x[x > 0]


@program(vector, refused="mask")
def mask_store(x):
    x[x > 0] = 0.0


@program(lambda rng, n: (rng.standard_normal(n), rng.integers(0, n, 3)), refused="array or list of integers")
def gather(x, k):
    return x[k]


@program(vector, refused="array or list of integers")
def gather_by_list(x):
    return x[[0, 1]]


@program(square, refused="'@'")
def matrix_product(m):
    return m @ m


@program(square, refused="'np.dot'")
def dot(m):
    return np.dot(m, m)


@program(vector, refused="'np.cumsum'")
def running_sum(x):
    return np.cumsum(x)


@program(vector, refused="'argmax'")
def place_of_maximum(x):
    return x.argmax()


@program(vector, refused="'np.roll'")
def rolled(x):
    return np.roll(x, 1)


@program(vector, refused="'np.concatenate' is not supported. Write slice assignments into np.empty instead.")
def joined(x):
    return np.concatenate((x, x))


@program(vector, refused="'np.add.at'")
def add_at(x):
    np.add.at(x, 0, 1.0)


@program(vector, refused="'np.linalg.norm'|'np.norm'")
def norm(x):
    return np.linalg.norm(x)


@program(vector, refused="'sort'")
def sorted_in_place(x):
    x.sort()


@program(vector, refused="attribute 'nonsense'")
def unknown_attribute(x):
    return x.nonsense


@program(vector, refused="one argument")
def where_of_one(x):
    return np.where(x > 0)


@program(vector, refused="divide='raise'")
def raising_errstate(x):
    with np.errstate(divide="raise"):
        return 1 / x


@program(vector, refused="A reshape of memory with gaps, in sizes .* Copy it first")
def reshaped_with_gaps(x):
    y = np.zeros((2, 3))
    y[...] = x[0]
    z = y[:, 1:] if x[1] > 0 else y[::-1, :1]
    return z.reshape(-1)

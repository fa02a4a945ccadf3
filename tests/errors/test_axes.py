"""An axis beyond the rank is refused as NumPy does, by every function that takes one, at the user's line."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import ferrule as fr
from ferrule.capture import capture

FUNCTIONS = {
    "sum": lambda a: np.sum(a, axis=2),
    "method": lambda a: a.max(axis=(0, -3)),
    "swapaxes": lambda a: np.swapaxes(a, 0, 5),
    "moveaxis": lambda a: np.moveaxis(a, 3, 0),
    "flip": lambda a: np.flip(a, -4),
    "squeeze": lambda a: np.squeeze(a, 2),
    "expand_dims": lambda a: np.expand_dims(a, 7),
    "transpose": lambda a: np.transpose(a, (0, 4)),
    "mean": lambda a: a.mean(2, keepdims=True),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_is_numpys_axis_error(name):
    fn = FUNCTIONS[name]
    with pytest.raises(np.exceptions.AxisError) as expected:
        fn(np.zeros((2, 3)))
    with pytest.raises(np.exceptions.AxisError) as refused:
        capture(fn, (np.zeros((2, 3)),), {})
    assert isinstance(refused.value, fr.UserError) and isinstance(refused.value, IndexError | ValueError)
    words = " ".join(str(expected.value).split()[-11:])
    assert words in str(refused.value) and __file__ in str(refused.value)


def test_is_pickled_with_its_text():
    error = fr.errors.UserAxisError("f.py:3: axis 3 is out of bounds for array of dimension 2.")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error) and str(copy) == str(error)

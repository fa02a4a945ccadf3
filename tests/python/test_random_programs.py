"""Random programs on the evaluator against NumPy, each captured as sizes ask for it.

FERRULE_FUZZ=long runs many more of them, and some compiled as well.
"""

from __future__ import annotations

import importlib.util
import os
import warnings

import numpy as np
import pytest
import random_programs
from evaluated import evaluated

import ferrule as fr
from ferrule import errors

SIZES = (5, 3, 0, 1, 2, 8, 4)
LONG = os.environ.get("FERRULE_FUZZ") == "long"
BATCHES = [range(start, start + 20) for start in range(0, 4000 if LONG else 160, 20)]
# Compiled ones follow on the others; each takes a second or more.
COMPILED = range(10_000, 10_300 if LONG else 10_003)


def load(path, seed):
    path.write_text(random_programs.source(seed))
    spec = importlib.util.spec_from_file_location(f"random_program_{seed}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


@pytest.mark.parametrize("seeds", BATCHES, ids=lambda seeds: f"{seeds.start}-{seeds.stop - 1}")
def test_agrees_with_numpy(tmp_path, seeds):
    for seed in seeds:
        fn = load(tmp_path / f"program_{seed}.py", seed)
        compiled = evaluated(fn)
        for n in SIZES:
            check(fn, compiled, seed, n)


@pytest.mark.parametrize("seed", COMPILED)
def test_compiled_agrees_with_numpy(tmp_path, seed):
    fn = load(tmp_path / f"program_{seed}.py", seed)
    compiled = fr.program(fn)
    for n in SIZES[:3]:
        check(fn, compiled, seed, n)


def check(fn, compiled, seed, n):
    where = f"{random_programs.source(seed)}\nseed {seed}, size {n}"
    expected_arguments = random_programs.arguments(n, n, seed % 3 == 0, seed % 5 == 0)
    arguments = random_programs.arguments(n, n, seed % 3 == 0, seed % 5 == 0)
    refused = None
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = fn(*expected_arguments)
        except Exception as error:
            refused = error
        try:
            result = compiled(*arguments)
        except errors.UserError as error:
            # An extent that only the run knows does not stretch where it is 1: see docs/limits.md.
            text = str(error)
            stretched = "A check of the program failed" in text and "broadcast" in text  # evaluated
            stretched |= text.startswith("f(): operands could not be broadcast together (")  # compiled
            assert refused is not None or stretched, f"{where}: {error}"
            return
        except errors.Unsupported as error:
            assert "Copy it first" in str(error), f"{where}: {error}"  # view or copy is a matter of the run
            return
        except AttributeError:
            assert refused is not None, where
            return
    if refused is not None:
        # NumPy refuses to convert NaN to an integer element, which depends on data.
        assert "NaN" in str(refused) or "infinity" in str(refused), f"{where}: only NumPy raised {refused!r}"
        return
    compare(where, expected, result)
    for left, right in zip(expected_arguments, arguments, strict=True):
        compare(where, left, right)


def compare(where, expected, result):
    if isinstance(expected, tuple):
        assert len(expected) == len(result), where
        for left, right in zip(expected, result, strict=True):
            compare(where, left, right)
    elif expected is not None:
        left, right = np.asarray(expected), np.asarray(result)
        assert left.shape == right.shape and left.dtype == right.dtype, where
        np.testing.assert_allclose(right, left, 1e-9, 1e-9, err_msg=where)

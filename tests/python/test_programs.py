"""Programs captured at one size and run at others, on the reference evaluator and natively, against NumPy."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from evaluated import evaluated
from programs import Program, load

import ferrule as fr
from ferrule import errors

PROGRAMS = load()
SUPPORTED = [pytest.param(p, id=p.name) for p in PROGRAMS if p.refused is None]
REFUSED = [pytest.param(p, id=p.name) for p in PROGRAMS if p.refused is not None]


def native(fn):
    """The compiled program; `captures` counts specialisations."""
    return fr.program(fn)


@pytest.mark.parametrize("transform", [evaluated, native])
@pytest.mark.parametrize("program", SUPPORTED)
def test_gives_the_answer_of_numpy(program: Program, transform):
    compiled = transform(program.fn)
    for size in program.sizes:
        expected_arguments = program.make(np.random.default_rng(size), size)
        arguments = program.make(np.random.default_rng(size), size)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            expected = program.fn(*expected_arguments)
            result = compiled(*arguments)
        compare(f"size {size}: result", expected, result, program)
        for place, (left, right) in enumerate(zip(expected_arguments, arguments, strict=True)):
            compare(f"size {size}: argument {place}", left, right, program)
    if transform is native:
        assert len(compiled.specialisations) <= program.most, compiled.why_recompiled()
    else:
        assert compiled.captures <= program.most, [c.program.guards for _, c in compiled.specialisations]


@pytest.mark.parametrize("program", REFUSED)
def test_is_refused_by_name_and_line(program: Program):
    arguments = program.make(np.random.default_rng(0), 5)
    with pytest.raises(errors.Unsupported, match=program.refused) as caught:
        evaluated(program.fn)(*arguments)
    message = str(caught.value)
    if "argument" not in message:
        assert "refused.py:" in message


def compare(where: str, expected, result, program: Program) -> None:
    if isinstance(expected, tuple):
        assert isinstance(result, tuple) and len(result) == len(expected), where
        for place, (left, right) in enumerate(zip(expected, result, strict=True)):
            compare(f"{where}[{place}]", left, right, program)
        return
    if expected is None or isinstance(expected, str):
        assert result == expected, where
        return
    assert isinstance(result, np.ndarray) == isinstance(expected, np.ndarray), where
    left, right = np.asarray(expected), np.asarray(result)
    assert left.shape == right.shape and left.dtype == right.dtype, (
        f"{where}: {left.shape} {left.dtype}, got {right.shape} {right.dtype}"
    )
    if left.dtype.kind != "f" or program.exact:
        np.testing.assert_array_equal(right, left, where)
        if left.dtype.kind == "f":
            number = ~np.isnan(left)
            np.testing.assert_array_equal(np.signbit(right)[number], np.signbit(left)[number], where)
        return
    rtol = max(program.rtol, {4: 2e-5}.get(left.dtype.itemsize, 0.0))
    finite = np.abs(left[np.isfinite(left)])
    np.testing.assert_allclose(right, left, rtol, rtol * float(finite.max(initial=0.0)), err_msg=where)

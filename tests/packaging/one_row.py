"""What a new row must do without another line of code; test_one_row.py runs each of these in a tree that has the row.

Each function is one place where an operation shows. They import the package of that tree, so they run in a process of
their own: `python one_row.py <function>`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "python"), str(ROOT / "tools")]

OP = "isgreat"


def isgreat(x):
    """A function that NumPy has in these processes only, so that no row will ever be its."""
    return np.isposinf(x)


np.isgreat = isgreat
SAMPLES = [
    np.array([np.inf, -np.inf, np.nan, 0.0, -1.5, np.finfo(dtype).max], dtype)
    for dtype in ("float32", "float64")
]
SAMPLES += [np.array([0, 1, -3], dtype) for dtype in ("int32", "int64")]


def capped(a, out):
    out[:] = np.where(np.isgreat(a), a.size, a)
    return np.isgreat(a + a)


def in_order(results):
    return results if isinstance(results, (list, tuple)) else [results]


def assert_is_numpy(run):
    """`run(a, out)` gives, and leaves in out, what NumPy does."""
    for a in SAMPLES:
        got_out, expected_out = np.zeros(a.size), np.zeros(a.size)
        with np.errstate(over="ignore"):
            (got,) = in_order(run(a, got_out))
            expected = capped(a, expected_out)
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)
        np.testing.assert_array_equal(got_out, expected_out)


def captured_program(a):
    from ferrule.capture import Options, capture

    return capture(capped, (a, np.zeros(a.size)), {}, Options()).program


def capture():
    text = captured_program(SAMPLES[1]).print()
    assert text.count(f"= {OP} %") == 2, text


def evaluator():
    from ferrule import _compiler as ir

    assert_is_numpy(lambda a, out: ir.evaluate(captured_program(a), [a, out]))


def text_form():
    from ferrule import _compiler as ir

    text = captured_program(SAMPLES[0]).print()
    assert ir.parse_program(text).print() == text


def native():
    import ferrule as fr

    compiled = fr.program(capped)
    assert_is_numpy(compiled)
    assert all(f"fr::{OP}(" in kernel.source() for kernel in compiled.specialisations)


def docs():
    import gen_ops_doc

    assert f"| `{OP}` | `isgreat` | " in gen_ops_doc.text()


def promotion():
    import itertools

    import test_promotion

    (row,) = (row for row in test_promotion.ROWS if row.name == OP)
    operands = [(dtype, False) for dtype in test_promotion.DTYPES]
    for combination in itertools.product(operands, repeat=row.arity):
        test_promotion.check(row, list(combination))


def differential():
    import rt_loops
    import test_rt_ops

    loops = [loop for loop in test_rt_ops.EXACT if loop.op == OP]
    assert {loop.operands for loop in loops} == {("float32",), ("float64",)}
    with tempfile.TemporaryDirectory() as folder:
        library = rt_loops.compile_loops(loops, Path(folder))
        for loop in loops:
            test_rt_ops.test_functor_has_numpys_values(library, loop)


FACETS = (capture, evaluator, text_form, native, docs, promotion, differential)

if __name__ == "__main__":
    {facet.__name__: facet for facet in FACETS}[sys.argv[1]]()

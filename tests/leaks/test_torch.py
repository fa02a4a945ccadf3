"""The same of PyTorch's tensors, through its exchange table and through plain DLPack; skipped without PyTorch."""

from __future__ import annotations

import exporters
import functions as f
import pytest
import subjects as s
from arguments import x
from cases import COSTLY, MIDDLE, bad, check, good
from meter import call

import ferrule as fr

torch = pytest.importorskip("torch")


def tensor(n=4):
    return torch.arange(float(n), dtype=torch.float64)


def wrapped(n=4):
    return exporters.Wrapped(tensor(n))


def parameter():
    return torch.nn.Parameter(tensor())


CASES = [
    good("tensors", lambda: call(s.axpy(), tensor(), tensor())),
    good("tensors by name", lambda: call(s.axpy(), y=tensor(), x=tensor())),
    good("a strided tensor", lambda: call(s.weigh(), tensor(8)[::2], None)),
    good("tensors through __dlpack__", lambda: call(s.axpy(), wrapped(), wrapped()), COSTLY),
    good("a parameter that is read", lambda: call(s.weigh(), parameter().detach(), None)),
    good("a function of tensors", lambda: call(f.plus, tensor(), tensor()), MIDDLE),
    good("a function that writes a tensor", lambda: call(f.fill, tensor(), 2.0)),
    good("a function that returns its tensor", lambda: call(f.same, tensor()), MIDDLE),
    good("from_dlpack of a tensor", lambda: call(fr.from_dlpack, tensor()), MIDDLE),
    good("asarray of a tensor", lambda: call(fr.asarray, tensor()), MIDDLE),
    good("torch.from_dlpack", lambda: call(torch.from_dlpack, fr.asarray(x())), MIDDLE),
    bad("a tensor of another dtype", lambda: call(s.axpy(), tensor().float(), tensor()), TypeError, "float32", MIDDLE),
    bad("a tensor of another extent", lambda: call(s.axpy(), tensor(), tensor(5)), ValueError, "shape", MIDDLE),
    bad("a tensor that requires gradients", lambda: call(s.scale(), parameter(), 1.0), BufferError, "grad", COSTLY),
    bad("a tensor without memory", lambda: call(s.weigh(), tensor().to("meta"), None), BufferError, "", COSTLY),
    bad("a sparse tensor", lambda: call(s.weigh(), tensor().to_sparse(), None), BufferError, "", COSTLY),
    bad("a tensor, then an error", lambda: call(s.axpy(), tensor(), x(5)), ValueError, "shape", MIDDLE),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_nothing_stays(case):
    check(case)

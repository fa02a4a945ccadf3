"""Kernels, artifacts and functions that are made, used and dropped."""

from __future__ import annotations

import importlib.util
import itertools
import pickle
import tempfile
from pathlib import Path

import functions as f
import kernels
import numpy as np
import subjects as s
from arguments import x
from cases import COSTLY, MIDDLE, bad, good
from meter import call

import ferrule as fr

FEW = 200
_TEMPORARY = tempfile.TemporaryDirectory(prefix="ferrule-leaks-")
FOLDER = Path(_TEMPORARY.name)
IDENTITY = fr.Signature("id", [s.number("x")], returns=s.SCALAR, result="r")


def compiled():
    artifact = fr.compile_source("double id(double x) { return x; }", IDENTITY)
    assert artifact.load()(1.5) == 1.5


def used(artifact):
    artifact.load()(x())


def saved(artifact):
    path = FOLDER / "saved"
    artifact.save(path)
    used(fr.Artifact.open(path))


def pickled(artifact):
    used(pickle.loads(pickle.dumps(artifact)))


def pickled_function():
    f.plus(x(), x())
    assert pickle.loads(pickle.dumps(f.plus)) is f.plus


def imported(path):
    spec = importlib.util.spec_from_file_location("doubled", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.kernel(x())


def library(*flags):
    return kernels.module_path("broken.c", *flags)


def foreign():
    return kernels.module_path("broken.c", "-Dferrule_module_v1=other")


def text_file():
    path = FOLDER / "text"
    path.write_text("no library")
    return path


def function_of(factor):
    @fr.program
    def times(a):
        return a * factor

    return times


def specialised(value):
    function = function_of(value)
    np.testing.assert_array_equal(function(x(2)), x(2) * 3.0)


class Three:
    """A value that no record can name, so that each function which holds one is captured."""

    value = 3.0


def captured():
    holder = Three()

    @fr.program
    def times(a):
        return a * holder.value

    times(x(2))


def executed():
    """A file that is run again, as a notebook or a reload does."""
    path = FOLDER / "program.py"
    text = "import ferrule as fr\n@fr.program\ndef f(a):\n    return a + 1.0\n"
    if not path.exists():
        path.write_text(text)
    space = {"__name__": "again"}
    exec(compile(text, str(path), "exec"), space)
    space.pop("f")(x(2))


def refused(numbers):
    f.plus(f"text {next(numbers)}", x())


def signature(**options):
    return call(fr.Signature, "f", [fr.Arg("x", shape="N")], **options)


CASES = [
    good("a handle that is dropped", lambda: call(used, f.plus.compile(x(), x()) and f.tail.compile(x())), COSTLY),
    good("source that is compiled again", lambda: call(compiled), FEW),
    good("an artifact that is saved and opened", lambda: call(saved, f.tail.compile(x())), FEW),
    good("an artifact that is pickled", lambda: call(pickled, f.tail.compile(x())), FEW),
    good("a function that is pickled", lambda: call(pickled_function), FEW),
    good("a module by its path", lambda: call(kernels.kernel, "returns.c"), COSTLY),
    good("a module that is imported again", lambda: call(imported, kernels.module_path("importable.cpp", name="doubled")), COSTLY),
    good("a function that is dropped before a call", lambda: call(function_of, 3.0), COSTLY),
    good("a function that is dropped", lambda: call(specialised, 3.0), FEW),
    good("a function that is captured and dropped", lambda: call(captured), FEW),
    good("a file that is run again", lambda: call(executed), FEW),
    good("a signature", lambda: signature(returns=s.SCALAR, result="r"), COSTLY),
    bad("a signature of an unknown size", lambda: signature(persistent=["M"]), ValueError, "no init", COSTLY),
    bad("a module that is not there", lambda: call(fr.Artifact.open, "/nowhere/at/all"), ValueError, "exist", MIDDLE),
    bad("a module that is text", lambda: call(type(s.axpy()), text_file()), fr.IncompatibleArtifact, "mapped", FEW),
    bad("a library that is no module", lambda: call(type(s.axpy()), foreign()), fr.IncompatibleArtifact, "export", FEW),
    bad("a module of another version", lambda: call(type(s.axpy()), library("-DBREAK_MAJOR")), fr.IncompatibleArtifact, "", FEW),
    bad("a module with a wrong expression", lambda: call(type(s.axpy()), library("-DBREAK_EXPRESSION")), fr.Error, "", FEW),
    bad("ever other refused texts", lambda: call(refused, itertools.count()), TypeError, "concatenate", FEW),
]  # fmt: skip

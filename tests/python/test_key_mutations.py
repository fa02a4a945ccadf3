"""Each element of a program's text changed alone: what was compiled for the text before is found again only where it is the
same that would be compiled now; edits that mean nothing change nothing."""

from __future__ import annotations

import dataclasses
import json
import linecache
import os
import sys
import types
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from mutants import mutants, same

import ferrule as fr
from ferrule import _compiler, _rt, carried, session, warm
from ferrule.kinds import recordable_kinds
from ferrule.records import record_of
from ferrule.session import BuildSettings
from ferrule.spent import Spent
from ferrule.values import value_text
from ferrule.variables import bound_arguments

MAIN, HELPER = "mutant_main", "mutant_helper"
HEAD = "import numpy as np\nimport ferrule as fr\nimport mutant_helper as helper\n"

ELEMENTWISE = (
    HEAD
    + """
K, L = 2.0, 3.0
NAMES = ("up", "down")
WHICH = "up"
FLAG = True
STEP: int = 1

@fr.program
def f(a, b, k=0.5, flag=True):
    t = a * K + b / L - k
    if WHICH == "up" and FLAG:
        t = np.sin(t) + helper.shifted(a, 1.0)
    else:
        t = np.cos(t)
    u = np.zeros(4, dtype=np.float64)
    u[1:3] = t[:2] if flag else t[2:]
    u[0] += -a[0]
    return u, np.sum(t, axis=0)
"""
)
HELPERS = """
import numpy as np

BASE = 4.0

def base(x):
    return x + BASE

def shifted(a, by, *, more=1.0):
    return base(a) * by - more

def of(kind):
    def inner(x):
        return x * kind
    return inner

class Pair:
    first = 1.5
    second = 2.5

    def __init__(self, scale=2.0):
        self.scale = scale * 3.0

    @staticmethod
    def applied(x):
        return x - 1.0
"""
LOOPS = (
    HEAD
    + """
TABLE = {"one": 1.0, "two": 2.0}
LIST = [1.0, 2.0, 3.0]
LAST = (lambda x: x + 0.25)

@fr.program(bounds_check=True)
def f(a, b, k=3):
    total = a[0]
    for i in range(1, 4):
        if a[i] > b[i] or i == 2:
            total += a[i] * b[i - 1]
        elif not b[i] < 1.0:
            total = np.maximum(total, b[i])
    n = 0
    while n < k:
        total = total + 0.5
        n += 1
    for w in LIST[:2]:
        total = total + w
    try:
        x = TABLE["one"]
        y = TABLE["two"]
    except KeyError:
        y = x = 9.0
    return total + LAST(x) - y + helper.Pair.first + helper.Pair.applied(total)
"""
)
CLASSES = (
    HEAD
    + """
import enum
from math import sqrt
from mutant_helper import Pair

class Mode(enum.Enum):
    FAST = 1
    SLOW = 2

class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2

MODE = Mode.FAST

@fr.program
def f(a, b):
    p = Pair(2.0)
    c = a * p.scale + Level.LOW
    if MODE is Mode.FAST:
        c = c * Mode.SLOW.value
    r = [x * sqrt(4.0) for x in (1.0, 2.0)]
    return c + r[0] - (b if MODE.value == 1 else -b) * r[1], {"s": a + b, "d": (a - b,)}
"""
)
ANNOTATED = (
    HEAD
    + """
from typing import Annotated

N = 4
G = np.array([1.0, 2.0, 3.0, 4.0])

@fr.program
def f(a: Annotated[np.ndarray, fr.float64["N"]], b: fr.float64["N"], k: float = 2.0):
    a[1:] = b[:-1] * k
    return a.astype(np.float32) + G[0]
"""
)
CLOSURE = (
    HEAD
    + """
def made(weight, more=(1.0, "up")):
    scale, at = weight * 2.0, 1

    def inner(x):
        return x * helper.BASE

    @fr.program(static="k")
    def f(a, b, k=2, *, axis=0):
        def deeper(x):
            nonlocal_free = x + weight
            return nonlocal_free
        for i in range(at, k + 1):
            b = b + a[i - 1:i + 1].sum() if more[1] == "up" else b * i
        return inner(a) * scale + more[0] + deeper(b).sum(axis=axis), [a.min()]

    return f

f = made(0.75)
"""
)
PROGRAMS = {
    "closure": CLOSURE,
    "elementwise": ELEMENTWISE,
    "loops": LOOPS,
    "classes": CLASSES,
    "annotated": ANNOTATED,
}
NAMES = {
    "closure": ["a", "b", "k", "x", "weight", "scale", "at", "i"],
    "elementwise": ["a", "b", "t", "u", "K", "L", "k", "WHICH", "FLAG"],
    "loops": ["a", "b", "total", "i", "n", "x", "y"],
    "classes": ["a", "b", "c", "p", "r", "MODE"],
    "annotated": ["a", "b", "k"],
}
LONG = os.environ.get("FERRULE_FUZZ") == "long"
SAMPLE = (np.arange(1.0, 5.0), np.array([0.5, 3.0, 2.0, 0.25]))


class Compiled(NamedTuple):
    """What a program is compiled to, up to the C++ compiler, and what records of it say."""

    entry: str
    record: warm.Record | None
    record_key: str | None
    call_key: str | None
    code: str


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes the two modules of two texts anew, as a new process imports them, and gives the decorated function."""

    def make(main: str, helper: str = HELPERS) -> Any:
        for name, text in ((HELPER, helper), (MAIN, main)):
            file = tmp_path / f"{name}.py"
            file.write_text(text)
            linecache.cache.pop(str(file), None)
            module = types.ModuleType(name)
            module.__file__ = str(file)
            monkeypatch.setitem(sys.modules, name, module)
            exec(compile(text, str(file), "exec", dont_inherit=True), module.__dict__)
        return module.f

    return make


def compiled(program: Any) -> Compiled:
    """All of a compilation but the C++ compiler."""
    options, fn = program._options, program._fn
    settings = BuildSettings.current(options.value("target"))
    sample = () if program._is_annotated() else SAMPLE
    captured, overlapping = program._captured(sample, {}, settings, Spent())
    strict = options.value("strict_scalars")
    emitted = _compiler.emit_source(
        captured.program, strict_scalars=strict, alias_version=program._is_annotated()
    )
    binding = session.binding_text(None, program=captured.program.print())
    entry = _rt.digest_of([("source", emitted["source"]), ("binding", binding)])
    kinds = "annotations" if not sample else recordable_kinds(sample, {}) or ""
    record = record_of(fn, captured, (), overlapping)
    return Compiled(
        entry,
        None if record is None else dataclasses.replace(record, entry=entry),
        warm.record_key(fn, options.text(), settings, kinds),
        carried.call_key(fn, options.text(), settings, kinds),
        carried.code_digest(fn),
    )


def is_found(before: Compiled, now: Any) -> bool:
    """Whether a new process takes what `before` recorded for a function of now."""
    kinds = "annotations" if now._is_annotated() else recordable_kinds(SAMPLE, {}) or ""
    settings = BuildSettings.current(now._options.value("target"))
    if (
        before.record is None
        or warm.record_key(now._fn, now._options.text(), settings, kinds) != before.record_key
    ):
        return False
    if not warm.holds(now._fn, before.record):
        return False
    bound = bound_arguments(now._fn, () if now._is_annotated() else SAMPLE, {})
    return all(value_text(bound[name]) == text for name, text in before.record.statics)


def _checked(load: Any, before: Compiled, what: str, main: str, helper: str) -> str:
    """What became of one change: 'other', 'same', or 'refused' where it makes no program."""
    try:
        now = load(main, helper)
    except (SyntaxError, TypeError, NameError, AttributeError, ValueError, fr.Error):
        return "refused"
    if not isinstance(now, fr.Function):
        return "refused"
    found = is_found(before, now)
    try:
        fresh = compiled(now)
    except Exception as error:
        assert not found, f"{what}: found, but now it is refused: {error}\n{main}\n{helper}"
        return "refused"
    if found:
        assert fresh.record == before.record, f"{what}: stale\n{main}\n{helper}"
    return "same" if fresh.entry == before.entry else "other"


@pytest.mark.parametrize(
    ("name", "part"),
    [*((name, "main") for name in PROGRAMS), ("elementwise", "helper"), ("classes", "helper")],
)
def test_what_was_recorded_is_never_taken_for_another_program(load: Any, name: str, part: str) -> None:
    main = PROGRAMS[name]
    before = compiled(load(main))
    assert before.record is not None and is_found(before, load(main))
    outcomes = []
    names = [*NAMES[name], "x", "by", "more", "BASE", "kind", "scale"]
    step = 1 if LONG else 5 if part == "main" else 2
    for what, text in [*mutants(main if part == "main" else HELPERS, names)][::step]:
        texts = (text, HELPERS) if part == "main" else (main, text)
        outcomes.append(_checked(load, before, what, *texts))
    assert outcomes.count("other") * step > (40 if part == "main" else 2)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_means_nothing_changes_nothing(load: Any, name: str) -> None:
    before = compiled(load(PROGRAMS[name]))
    edits = [(what, text, HELPERS) for what, text in same(PROGRAMS[name])]
    edits += [(what, PROGRAMS[name], text) for what, text in same(HELPERS)]
    for what, main, helper in edits:
        now = load(main, helper)
        assert compiled(now).entry == before.entry, what
        # Python keeps a docstring among the constants of the code: it is traced again, and found under its key.
        assert is_found(before, now) or "docstring" in what, what


def _values(result: Any) -> list[Any]:
    if isinstance(result, (list, tuple)):
        return [each for item in result for each in _values(item)]
    return _values(list(result.values())) if isinstance(result, dict) else [np.array(result)]


def _called(program: Any) -> tuple[list[Any], str]:
    """The answer of a program whose answer is NumPy's, and the key of what was run."""
    a, b = (each.copy() for each in SAMPLE)
    made = [*_values(program(a, b)), a, b]
    c, d = (each.copy() for each in SAMPLE)
    expected = [*_values(program.__wrapped__(c, d)), c, d]
    for got, wanted in zip(made, expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-14)
    (kernel,) = program.specialisations
    return made, kernel.artifact.key


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_new_process_computes_what_the_text_says_now(
    load: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each program finds those that were compiled before it in the store, as a new process does."""
    monkeypatch.setenv("FERRULE_BUILD", "debug")
    monkeypatch.setenv("FERRULE_CACHE_DIR", str(tmp_path / "store"))
    texts = [
        PROGRAMS[name],
        *(text for _, text in list(mutants(PROGRAMS[name], NAMES[name]))[:: 4 if LONG else 30]),
    ]
    keys: dict[str, tuple[str, str]] = {}
    valid = []
    for text in texts:
        try:
            program = load(text)
            values, key = _called(program)
        except (AttributeError, ArithmeticError, LookupError, NameError, TypeError, ValueError, fr.Error):
            continue  # it is refused, as text or with these arguments
        artifact = program.specialisations[0].artifact
        content = artifact.source, json.dumps(json.loads(artifact.manifest)["binding"])
        assert keys.setdefault(key, content) == content
        valid.append((text, values, key))
    assert len(keys) == len(set(keys.values())) > 2
    for text, values, key in reversed(valid):
        program = load(text)
        again, same_key = _called(program)
        assert same_key == key and program.stats()["captures"] == program.stats()["compiles"] == 0
        for got, wanted in zip(again, values, strict=True):
            np.testing.assert_array_equal(got, wanted)

"""The text that capture reads is the function's own: files that were edited, moved, rewritten by an import hook."""

from __future__ import annotations

import importlib
import linecache
import os
import subprocess
import sys
import textwrap
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ferrule as fr
from ferrule.errors import Unsupported

ROOT = Path(__file__).resolve().parents[2]
HEAD = "import numpy as np\nfrom os import path\nimport ferrule as fr\n\n"

X = np.arange(4.0)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes a module of a text, as an import does; `edit` changes its file."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    # Functions that the store knows need no text.
    monkeypatch.setenv("FERRULE_CACHE_DIR", str(tmp_path / "store"))
    name = f"text_of_{tmp_path.name}"
    file = tmp_path / f"{name}.py"

    def write(text: str) -> None:
        file.write_text(HEAD + textwrap.dedent(text))
        os.utime(file, (1, write.count))  # type: ignore[attr-defined]
        write.count += 1  # type: ignore[attr-defined]

    write.count = 1  # type: ignore[attr-defined]

    def make(text: str) -> Any:
        write(text)
        importlib.invalidate_caches()
        return importlib.import_module(name)

    return types.SimpleNamespace(make=make, edit=write, file=file)


PLAIN = "def f(a, k=2.0):\n    b = a * 2.0\n    if a.shape[0] > 2:\n        b = b + 1.0\n    return b\n"
EDITS = {
    "constant": PLAIN.replace("* 2.0", "* 3.0"),
    "sign of zero": (PLAIN.replace("* 2.0", "* 0.0"), PLAIN.replace("* 2.0", "* -0.0")),
    "type of a constant": (PLAIN.replace("* 2.0", "* 2"), PLAIN.replace("* 2.0", "* 2.0")),
    "operator": PLAIN.replace("* 2.0", "/ 2.0"),
    "order of names": (PLAIN.replace("a * 2.0", "a - k"), PLAIN.replace("a * 2.0", "k - a")),
    "block": PLAIN.replace("        b = b + 1.0\n    return", "        b = b + 1.0\n        return"),
    "statement added": PLAIN.replace("    return b", "    b = b * 5.0\n    return b"),
    "statement gone": PLAIN.replace("        b = b + 1.0", "        pass"),
    "local name": (PLAIN.replace("a * 2.0", "a * np.pi"), PLAIN.replace("a * 2.0", "a * np.e")),
    "nested function": (
        "def f(a):\n    def g(b):\n        return b + 1.0\n    return g(a)\n",
        "def f(a):\n    def g(b):\n        return b + 2.0\n    return g(a)\n",
    ),
    "lambda": ("f = lambda a: a * 2.0\n", "f = lambda a: a * 3.0\n"),
    "one of two lambdas": (
        "f, g = lambda a: a * 2.0, lambda a: a * 3.0\n",
        "f, g = lambda a: a * 4.0, lambda a: a * 3.0\n",
    ),
    "not there any more": "x = 1\n",
    "no Python": "def f(a:\n",
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_text_is_not_taken_for_the_function(module: Any, edit: str) -> None:
    before, after = EDITS[edit] if isinstance(EDITS[edit], tuple) else (PLAIN, EDITS[edit])
    made = module.make(before)
    module.edit(after)
    linecache.checkcache(str(module.file))
    program = fr.program(made.f)
    with pytest.raises(Unsupported, match=r"source of '.*' at .* is no longer its definition"):
        program(X)
    module.edit(before)
    np.testing.assert_array_equal(program(X), made.f(X))


def test_a_text_that_was_read_before_the_edit_still_serves(module: Any) -> None:
    made = module.make(PLAIN)
    fr.program(made.f)(X)
    module.edit(PLAIN.replace("2.0", "3.0"))
    other = fr.program(made.f)
    np.testing.assert_array_equal(other(X.reshape(2, 2)), made.f(X.reshape(2, 2)))


def test_a_module_that_is_loaded_again_runs_its_new_text(module: Any) -> None:
    made = module.make(PLAIN)
    np.testing.assert_array_equal(fr.program(made.f)(X), X * 2.0 + 1.0)
    module.edit(PLAIN.replace("2.0", "3.0"))
    made = importlib.reload(made)
    np.testing.assert_array_equal(fr.program(made.f)(X), X * 3.0 + 1.0)


def test_lines_above_may_come_and_go(module: Any) -> None:
    bad = PLAIN.replace("return b", "return np.linalg.svd(b)")
    made = module.make("\n\n\n" + bad)
    module.edit("# a comment\n" * 9 + "def other():\n    pass\n\n" + bad)
    linecache.checkcache(str(module.file))
    # The line is that of the code, as in tracebacks of Python.
    with pytest.raises(Unsupported, match=rf":{made.f.__code__.co_firstlineno + 4}: 'np.linalg.svd'"):
        fr.program(made.f)(X)


TEXTS = """
from __future__ import annotations
import functools
import numpy as np
from os import path
import sys as system
try:
    import numpy.linalg as inner
except ImportError:
    inner = None
from collections import (
    deque,
    OrderedDict,
)
from math import *
import ferrule as fr

K = 2.0

def decorated(argument=None, *, more=None):
    return lambda f: f

@decorated(
    lambda a: a,
    more=(1,
2),
)
def with_decorators(a):
    return a + 1

def with_docstring(a: "no type", k: int = 3) -> None:
    "text"
    return np.sin(a) + a.sum() + np.float64(k)

def with_imports(a):
    return np.sum(a) + inner.np.pi * len(system.path[:0]) + OrderedDict(k=2.0).get("k")

def with_asserts(a):
    assert a.ndim == 1, "one axis"
    assert a.shape[0] > 1
    return a * K

def recursive(a, n=2):
    return a if n == 0 else recursive(a + 1, n - 1)

def with_globals(a):
    return with_docstring(a) * K

def with_pass(a): pass; return a

class C:
    __secret = 5.0
    k = 2.0

    def method(self, a):
        return a * self.__secret + C.k

    @staticmethod
    def static(a): return a * C.k

    @property
    def closure(self):
        def inner(a):
            return a * self.__secret
        return inner

    @classmethod
    def of_class(cls, a):
        return a * cls.k

    class Inner:
        def method(self, a):
            return a * C.k

class D(C):
    def method(self, a):
        return super().method(a) + __class__.k

def outer():
    k, z = 3.0, 1.0
    def closure(a):
        class Local:
            k = 2.0
        return a * k + z + Local.k
    return closure

two = lambda a: a + 1, lambda a: a + 2
both = [lambda a: a * 2 if a.shape[0] > 2 else a, lambda a: a if a.shape[0] > 2 else a * 2]
if True:
    indented = lambda a: (
        a
        + 1
    )

FUNCTIONS = [with_decorators, with_docstring, with_imports, with_asserts, recursive, with_globals, with_pass, C().method,
             C.static, C().closure, C.of_class, C.Inner().method, D().method, outer(), *two, *both, indented]
"""

CHILD = """
import sys
import numpy as np
import ferrule as fr
sys.path.insert(0, sys.argv[1])
import texts
from ferrule.capture import calls
from ferrule.capture.errors import boundary
for fn in texts.FUNCTIONS:
    fn = getattr(fn, "__func__", fn)
    with boundary():
        assert calls.convert(fn) is not None, fn
print(len(texts.FUNCTIONS))
"""


@pytest.mark.parametrize("flags", [[], ["-O"], ["-OO"]])
def test_every_kind_of_definition_is_recognised(tmp_path: Path, flags: list[str]) -> None:
    (tmp_path / "texts.py").write_text(TEXTS.lstrip())
    done = subprocess.run(
        [sys.executable, *flags, "-c", CHILD, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "19", done.stderr


@fr.program
def asserting(a: Any) -> Any:
    assert a.shape[0] == 4, "four"
    b = a * 2.0
    assert b.ndim == 1 and b.dtype == np.float64
    return b + 1.0


def test_a_function_whose_assertions_pytest_has_rewritten() -> None:
    assert "@pytest_ar" in asserting.__wrapped__.__code__.co_names
    np.testing.assert_array_equal(asserting(X), X * 2.0 + 1.0)


WARM = """
import sys
import numpy as np
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import subject
x = np.arange(4.0)
if len(sys.argv) > 2:
    open(subject.__file__, "w").write(sys.argv[2])
try:
    print(subject.f(x).tolist(), subject.f.stats()["captures"])
except Exception as error:
    print(type(error).__name__)
"""


def test_an_edit_within_a_process_leaves_nothing_wrong_behind(tmp_path: Path) -> None:
    text = "import ferrule as fr\n@fr.program\ndef f(a):\n    return a * {}\n"
    (tmp_path / "subject.py").write_text(text.format("2.0"))
    env = {
        **os.environ,
        "FERRULE_CACHE_DIR": str(tmp_path / "store"),
        "PYTHONPATH": str(ROOT / "python"),
    }

    def child(*more: str) -> str:
        return subprocess.run(
            [sys.executable, "-c", WARM, str(tmp_path), *more],
            env=env,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()

    assert child(text.format("3.0")) == "Unsupported"
    (tmp_path / "subject.py").write_text(text.format("2.0"))
    assert child() == "[0.0, 2.0, 4.0, 6.0] 1"
    assert child() == "[0.0, 2.0, 4.0, 6.0] 0"


def test_a_large_function_is_recognised_in_time_linear_in_its_code(module: Any) -> None:
    from ferrule.capture.source import definition

    lines = "".join(f"    a = a + {n}.0\n" for n in range(30_000))
    made = module.make(f"def f(a):\n{lines}    return a\n")
    assert definition(made.f).name == "f"  # type: ignore[union-attr]

"""Private names of classes (`__k`) in programs: wherever Python writes them out as `_C__k`, capture does."""

# ruff: noqa: F821

from __future__ import annotations

import ast
import pickle
import subprocess
import sys
import types
from typing import Any

import numpy as np
import pytest

import ferrule as fr
from ferrule.capture.private_names import write_out
from ferrule.values import code_text

X = np.arange(1.0, 5.0)
_C__outside = 3.0
_Hidden__outside = 5.0
_C__module = types.SimpleNamespace(k=7.0)


def scaled(a: Any, *, __by: Any = 2.0) -> Any:
    return a * __by


class C:
    __attribute = 4.0

    @fr.program
    def keyword_only(self, a, *, __k=2.0):
        return a * __k

    @fr.program
    def positional(self, a, __k=2.0):
        return a + __k

    @fr.program
    def positional_only(self, __a, /, b=1.0):
        return __a * b

    def __combined(self, *__rest, **__named):
        a = __named["__by"]  # a text is no name
        for __each in __rest:
            a = a * __each
        return a

    @fr.program
    def any_number_in_a_helper(self, a):
        return self.__combined(a, a, __by=2.0)

    @fr.program
    def keywords_of_calls(self, a):
        return scaled(a, __by=3.0)  # not written out, as in Python

    @fr.program
    def local(self, a):
        __b = a + 1.0
        __b += a
        (__c := __b * 2.0)
        del __b
        return __c

    @fr.program
    def regions(self, a):
        __total = a[0]
        for __i in range(a.shape[0]):
            if a[__i] > 2.0:
                __total = __total + a[__i]
        __n = 0
        while __n < 3:
            __n = __n + 1
        return __total * __n

    @fr.program
    def of_globals(self, a):
        return a * __outside + __module.k

    @fr.program
    def attribute(self, a):
        return a * self.__attribute + self.__class__.__attribute

    @fr.program
    def nested(self, a):
        __k = 2.0

        def __inner(__x):
            nonlocal __k
            __k = 3.0
            return __x * __k

        return __inner(a) + (lambda __y: __y * __k)(a) + sum([__z * 2.0 for __z in (1.0, 2.0)])

    @fr.program
    def class_within(self, a):
        __base = object

        class __D(__base):
            __k = 9.0

            def value(self):
                return self.__k

        return a * __D().value()

    @fr.program
    def handlers(self, a):
        try:
            raise KeyError("x")
        except KeyError as __error:
            return a * len(__error.args)

    @fr.program
    def patterns(self, a):
        match (1.0, 2.0, {"k": 3.0, "l": 4.0}):
            case (__one, *__others, {"k": __k, **__rest}):
                return a * __one * __others[0] * __k * len(__rest)

    @fr.program
    def flag_with_a_default(self, a, __flag=True):
        return a if __flag else -a

    def make(self):
        __cell = 6.0

        @fr.program
        def closure(a):
            return a * __cell

        return closure

    class __Inner:
        @fr.program
        def method(self, a, __k=2.0):
            return a * __k

    def inner(self):
        return C.__Inner().method


class _Hidden:
    @fr.program
    def method(self, a, *, __k=2.0):
        return a * __k + __outside


class __Both:
    @fr.program
    def method(self, a, *, __k=2.0):
        return a * __k


class __:  # noqa: N801
    @fr.program
    def method(self, a, *, __k=2.0):
        return a * __k


CALLS = {name: getattr(C(), name) for name, value in vars(C).items() if isinstance(value, fr.Function)}
CALLS |= {
    "closure": C().make(),
    "class in a class": C().inner(),
    "class with an underscore": _Hidden().method,
    "class with two underscores": globals()["__Both"]().method,
    "class of underscores": globals()["__"]().method,
}


@pytest.mark.parametrize("name", CALLS)
def test_private_names_mean_what_they_mean_in_python(name: str) -> None:
    method = CALLS[name]
    function = getattr(method, "__func__", method)
    own = (method.__self__,) if method is not function else ()
    expected = function.__wrapped__(*own, X)
    np.testing.assert_array_equal(method(X), expected)


def test_a_private_keyword_is_given_under_the_name_that_python_gives_it() -> None:
    np.testing.assert_array_equal(C().keyword_only(X, _C__k=5.0), X * 5.0)
    np.testing.assert_array_equal(_Hidden().method(X, _Hidden__k=5.0), X * 5.0 + 5.0)
    np.testing.assert_array_equal(globals()["__"]().method(X, __k=5.0), X * 5.0)
    with pytest.raises(TypeError, match="__k"):
        C().keyword_only(X, __k=5.0)


def test_a_method_travels_as_text() -> None:
    made = pickle.loads(pickle.dumps(C().make()))
    np.testing.assert_array_equal(made(X), X * 6.0)


# Everything in which Python writes a private name out, and everything in which it does not.
EVERYTHING = """
class _C:
    def method(self, __a, /, __b, *__c, __d=1, **__e):
        global __f
        __f = __a.__g(__h=1)
        import __i, j.k, os as __l
        from sys import path as __m
        try:
            with open(__b) as __n, open(__b) as self.__o:
                del __n.__p, __c
        except __d as __q:
            pass
        for __r in [__s for __s in __e if (__t := __s)]:
            __r += f"{__r.__u!r:{__a}}"
        match __r:
            case __v.__w(__x=1, y=__y):
                pass
            case [__z, *__aa] | {"a": __z, **__aa}:
                pass
        def __ab(__ac: __ad = __ae) -> __af:
            nonlocal __r
            yield __r
        async def __ag():
            await __ah
        class __ai(__aj, k=__ak):
            __al = 1
            def __am(self, __an):
                return self.__ao, __ap
        return lambda __aq: __aq, __a__, __b.__a__, __ar.__as.at
"""


def text_of(code: types.CodeType) -> str:
    """A function's code as text, blind to the names of the functions within, which are for people to read."""
    return "\n".join(line for line in code_text(code).splitlines() if "<locals>" not in line)


def method_in(text: types.CodeType | Any) -> types.CodeType:
    while text.co_name != "method":
        text = next(const for const in text.co_consts if isinstance(const, types.CodeType))
    return text


def test_a_definition_written_out_compiles_to_the_code_of_the_method() -> None:
    inside = method_in(compile(EVERYTHING, "in", "exec", dont_inherit=True))
    (class_,) = ast.parse(EVERYTHING).body
    (definition,) = class_.body  # type: ignore[attr-defined]
    outside = ast.fix_missing_locations(ast.Module([write_out(definition, "C")], []))
    alone = method_in(compile(outside, "out", "exec", dont_inherit=True))
    # What an import asks a module for before it looks for '_C__m', and what a class is called in messages.
    expected = (
        text_of(inside).replace("tuple:('__m',)", "tuple:('_C__m',)").replace("str:'__ai'", "str:'_C__ai'")
    )
    assert text_of(alone) == expected


def test_in_a_new_process_they_come_from_the_store(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "private.py").write_text(
        "import numpy as np\nimport ferrule as fr\nclass C:\n    @staticmethod\n    @fr.program\n"
        "    def f(a, *, __k=2.0):\n        __b = a * __k\n        return __b\n"
        "print(C.f(np.ones(2)).tolist(), C.f.stats()['captures'])\n"
    )
    monkeypatch.setenv("FERRULE_CACHE_DIR", str(tmp_path / "store"))
    command = [sys.executable, str(tmp_path / "private.py")]
    told = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(2)]
    assert told == ["[2.0, 2.0] 1\n", "[2.0, 2.0] 0\n"]

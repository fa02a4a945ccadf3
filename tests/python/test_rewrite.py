"""Rewritten functions behave as Python where nothing is traced: control flow, names, closures, lines in tracebacks."""

# ruff: noqa: B006, B007, B023, C416, F821, F842, RUF043
from __future__ import annotations

import dataclasses
import difflib
import functools
import textwrap
import traceback
from contextlib import suppress

import numpy as np
import pytest
from programs import load

from ferrule import errors
from ferrule.capture import calls
from ferrule.capture.errors import Abort, boundary

OFFSET = 10
TABLE = {"a": 1, "b": 2}


def rewritten(fn):
    made = calls.convert(fn)
    assert made is not None and made.__code__ is not fn.__code__
    return made


def outcome(fn, arguments):
    """What a call does: its result, or the type and text of its exception, and its arguments afterwards."""
    try:
        result = fn(*arguments)
    except Exception as error:
        result = type(error), str(error)
    return result, arguments


# -- exits


def early(n):
    if n < 0:
        return "negative"
    if n == 0:
        return "zero"
    return "positive"


def falls_off_the_end(n):
    if n > 2:
        return n


def leaves_a_loop(items):
    for item in items:
        if item > 3:
            return item
    return None


def leaves_two_loops(n):
    seen = []
    for i in range(n):
        for j in range(n):
            if i * j > 6:
                return i, j, seen
            if j > i:
                break
            seen.append((i, j))
        else:
            seen.append("all")
    else:
        seen.append("end")
    return seen


def skips_and_breaks(items):
    total = 0
    for item in items:
        if item % 2:
            continue
        if item > 10:
            break
        total += item
    return total


def while_with_else(n):
    found = None
    while n > 0:
        n -= 3
        if n == 1:
            found = n
            break
        if n == 5:
            continue
    else:
        found = "else"
    return n, found


def returns_from_try(n):
    log = []
    try:
        log.append("body")
        if n > 1:
            return log
        log.append("rest")
    except ZeroDivisionError:
        return "never"
    else:
        log.append("else")
    finally:
        log.append("finally")
    return log, "after"


def returns_from_a_handler(d, key):
    for attempt in range(3):
        try:
            return d[key], attempt
        except KeyError:
            key = "a"
        except TypeError as error:
            return str(error)
    return None


def returns_inside_with(n):
    with suppress(ValueError):
        if n == 0:
            raise ValueError
        if n == 1:
            return "inside"
        n += 1
    return n


def partly_leaves(n):
    log = []
    for i in range(n):
        if i % 2:
            if i == 5:
                break
            log.append(i)
        elif i == 4:
            if n == 5:
                continue
            log.append("four")
        log.append(-i)
    return log


def matches(value):
    match value:
        case 0:
            return "zero"
        case [x, *rest] if x > 1:
            kind = ("list", x, rest)
        case {"key": inner, **others}:
            kind = inner, others
        case str() as text:
            kind = text.upper()
        case _:
            return "other"
    return kind


# -- names


def temporaries_live_on(n):
    for i in range(n):
        last = i * 2
    return i, last


def undefined_after_an_empty_loop(items):
    for item in items:
        pass
    return item


def assigned_on_one_side(n):
    if n:
        value = n
    return value


def exchanges(a, b, n):
    for _ in range(n):
        a, b = b, a + b
    return a, b


def deletes(n):
    x = n
    for _ in range(1):
        del x
    return x


def walrus(items):
    if (count := len(items)) > 2 and (first := items[0]) is not None:
        return count, first
    return [y := x + 1 for x in items], y


def counter():
    count = 0

    def step(by=1):
        nonlocal count
        for _ in range(2):
            count += by
        return count

    for i in range(3):
        step(i)
    return count, step()


def closes_over_a_loop_variable(n):
    functions = []
    for i in range(n):
        functions.append(lambda: i)
    return [f() for f in functions]


def global_store(n):
    global STORED
    for i in range(n):
        STORED = i
    return STORED


def annotated(n):
    total: int = 0
    unset: str
    for i in range(n):
        total: int = total + i
    return total


def comprehensions(items):
    i = 100
    pairs = [(i, j) for i in items for j in range(i) if j % 2 == 0]
    table = {k: [v for v in range(k)] for k in items if k}
    return pairs, table, {x % 2 for x in items}, sum(x for x in items), i


def connects(a, b):
    return a and b, a or b, not a, a < b < 10, 0 < a <= b != 3, "yes" if a else "no", a is not b is not None


def evaluates_once(log):
    def note(x):
        log.append(x)
        return x

    chained = note(1) < note(2) < note(2) < note(5)
    both = note(0) and note(7)
    either = note(0) or note(8)
    return chained, both, either, log


def default_and_keywords(a, b=2, *rest, c=3, **named):
    def inner(x, y=a + b, *, z=c):
        return x, y, z

    return inner(1), inner(*rest[:2], z=named.get("z", 0)), rest, named


def unpacks(items):
    first, *middle, (last, _) = items
    [a, b] = middle[:2]
    nested = {"k": [1, 2]}
    nested["k"][0], nested["j"] = 5, a
    nested["k"][1] += b
    for index, (x, y) in enumerate([(1, 2), (3, 4)]):
        nested[index] = x * y
    return first, middle, last, nested, f"{first!r:>5} {nested['k'][0] + 1}"


def module_names(key):
    return OFFSET + TABLE[key], np.pi, np.linalg.norm([3.0, 4.0])


def assertion(n):
    assert n > 0, f"got {n}"
    return n


def chained_exception(n):
    try:
        return 1 // n
    except ZeroDivisionError as error:
        raise ValueError("no") from error


def recursive(n):
    return 1 if n <= 1 else n * recursive(n - 1)


def generator_inside(n):
    def numbers():
        for i in range(n):
            if i == 3:
                return
            yield i

    return list(numbers())


def class_inside(n):
    class Box:
        size = n

        def double(self):
            return self.size * 2

    return Box().double(), Box.size


CALLS = [
    (early, [(-1,), (0,), (1,)]),
    (falls_off_the_end, [(1,), (3,)]),
    (leaves_a_loop, [([1, 5],), ([1],), ([],)]),
    (leaves_two_loops, [(0,), (2,), (3,), (6,)]),
    (skips_and_breaks, [([1, 2, 4, 12, 6],), ([],)]),
    (while_with_else, [(0,), (4,), (8,), (9,)]),
    (returns_from_try, [(1,), (2,)]),
    (returns_from_a_handler, [({"a": 1}, "a"), ({"a": 1}, "x"), ({}, "x"), ({}, [])]),
    (returns_inside_with, [(0,), (1,), (2,)]),
    (partly_leaves, [(0,), (5,), (8,)]),
    (matches, [(0,), ([2, 3],), ([1, 3],), ({"key": 1, "x": 2},), ("abc",), (2.5,)]),
    (temporaries_live_on, [(3,), (0,)]),
    (exchanges, [(0, 1, 0), (0, 1, 7)]),
    (walrus, [([1, 2, 3],), ([1],)]),
    (counter, [()]),
    (closes_over_a_loop_variable, [(3,)]),
    (global_store, [(3,)]),
    (annotated, [(4,)]),
    (comprehensions, [([0, 1, 4],)]),
    (connects, [(0, 2), (2, 3), (1, 0)]),
    (evaluates_once, [([],)]),
    (default_and_keywords, [(1,), (1, 2, 3, 4)]),
    (unpacks, [([1, 2, 3, (4, 5)],)]),
    (module_names, [("a",), ("z",)]),
    (assertion, [(1,)]),
    (chained_exception, [(1,), (0,)]),
    (recursive, [(6,)]),
    (generator_inside, [(2,), (9,)]),
    (class_inside, [(4,)]),
]


@pytest.mark.parametrize(
    ("fn", "arguments"),
    [pytest.param(fn, a, id=f"{fn.__name__}-{i}") for fn, calls in CALLS for i, a in enumerate(calls)],
)
def test_behaves_as_the_plain_function(fn, arguments):
    import copy

    expected = outcome(fn, copy.deepcopy(arguments))
    result = outcome(rewritten(fn), copy.deepcopy(arguments))
    if isinstance(expected[0], tuple) and expected[0] and expected[0][0] is UnboundLocalError:
        assert issubclass(result[0][0], NameError)
    else:
        assert result == expected


def test_a_failed_assertion_keeps_its_message():
    with pytest.raises(AssertionError, match="^got 0$"):
        rewritten(assertion)(0)


@pytest.mark.parametrize(
    ("fn", "arguments"),
    [(undefined_after_an_empty_loop, ([],)), (assigned_on_one_side, (0,)), (deletes, (1,))],
)
def test_undefined_names_are_name_errors(fn, arguments):
    with pytest.raises(NameError):
        rewritten(fn)(*arguments)


@pytest.mark.parametrize("program", [pytest.param(p, id=p.name) for p in load() if p.refused is None])
def test_programs_run_as_numpy(program):
    size = program.sizes[0]
    expected_arguments = program.make(np.random.default_rng(0), size)
    arguments = program.make(np.random.default_rng(0), size)
    with np.errstate(all="ignore"):
        expected = program.fn(*expected_arguments)
        result = rewritten(program.fn)(*arguments)
    np.testing.assert_equal(result, expected)
    np.testing.assert_equal(arguments, expected_arguments)


# -- functions


def test_cells_are_live():
    factor = 2

    def scale(x):
        return x * factor

    made = rewritten(scale)
    assert made(3) == 6
    factor = 5
    assert made(3) == 15


def test_a_function_sets_the_cells_it_declares_nonlocal():
    total = 0

    def add(items):
        nonlocal total
        for item in items:
            total += item

    rewritten(add)([1, 2, 3])
    assert total == 6


def test_globals_are_the_modules_own():
    def read():
        return OFFSET

    made = rewritten(read)
    before = set(globals())
    assert made() == OFFSET and made.__globals__ is globals()
    assert set(globals()) == before


def test_defaults_and_names_are_kept():
    def fn(a, b=[], *, c=3):
        return a, b, c

    made = rewritten(fn)
    assert made.__defaults__ is fn.__defaults__ and made.__kwdefaults__ == {"c": 3}
    assert (made.__name__, made.__qualname__, made.__module__) == (
        fn.__name__,
        fn.__qualname__,
        fn.__module__,
    )
    assert made(1, c=2) == (1, [], 2)


def test_lambdas_are_found_in_their_statement():
    functions = [lambda x: x + 1, lambda x: x - 1 if x > 0 else 0, lambda x: x]
    assert [rewritten(f)(5) for f in functions] == [6, 4, 5]
    keyed = {"double": lambda x: x * 2, "negate": lambda x: (
        -x
    )}  # fmt: skip
    assert rewritten(keyed["double"])(4) == 8 and rewritten(keyed["negate"])(4) == -4


def identity(fn):
    return fn


def test_stacked_decorators_are_stripped():
    @identity
    @functools.lru_cache
    @identity
    def fn(x):
        for _ in range(2):
            x += 1
        return x

    assert rewritten(fn.__wrapped__)(1) == 3


class Account:
    def __init__(self, amount):
        self.__amount = amount
        if amount < 0:
            raise ValueError("negative")

    def pay(self, times):
        for _ in range(times):
            self.__amount += 1
        return self.__amount

    @classmethod
    def empty(cls):
        return cls(0)


class Savings(Account):
    def pay(self, times):
        for _ in range(1):
            paid = super().pay(times)
        return paid * 2


def test_methods_super_and_private_names():
    assert rewritten(Savings.pay)(Savings(1), 3) == 8

    def use():
        account = Account.empty()
        account.pay(2)
        return account.pay(1), Savings(1).pay(1)

    assert rewritten(use)() == (3, 4)


@dataclasses.dataclass
class Point:
    x: float
    y: float = 2.0

    def scaled(self, by):
        return dataclasses.replace(self, x=self.x * by)


def test_callees_are_rewritten_once_by_code():
    def use(points):
        return [p.scaled(3).x for p in sorted(points, key=lambda p: -p.x)], functools.partial(early, -1)()

    assert rewritten(use)([Point(1), Point(2)]) == ([6, 3], "negative")
    first, second = rewritten(early), rewritten(early)
    assert first.__code__ is second.__code__


def test_generators_stay_as_they_are():
    def numbers():
        yield 1

    assert calls.convert(numbers) is None


@pytest.mark.parametrize(
    ("module", "function", "arguments"),
    [
        (difflib, difflib.get_close_matches, ("appel", ["ape", "apple", "peach", "puppy"])),
        (
            difflib,
            difflib.SequenceMatcher.find_longest_match,
            (difflib.SequenceMatcher(None, "abxcd", "abcd"), 0, 5, 0, 4),
        ),
        (textwrap, textwrap.dedent, ("  a\n    b\n\n  c",)),
        (
            textwrap,
            textwrap.TextWrapper._wrap_chunks,
            (textwrap.TextWrapper(width=9), ["four", " ", "words", " ", "in", " ", "it"]),
        ),
    ],
)
def test_library_code_survives(module, function, arguments):
    import copy

    assert rewritten(function)(*copy.deepcopy(arguments)) == function(*copy.deepcopy(arguments))


# -- lines


def inner_failure(items):
    total = 0
    for item in items:
        if item > 1:
            total += 1 // (item - 2)
    return total


def outer_failure(items):
    result = inner_failure(
        items,
    )
    return result


def lines_of(error):
    return [
        (entry.lineno, entry.name)
        for entry in traceback.extract_tb(error.__traceback__)
        if entry.filename == __file__
    ]


def test_tracebacks_show_the_lines_of_the_user_once():
    with pytest.raises(ZeroDivisionError) as plain:
        outer_failure([1, 2])
    with pytest.raises(ZeroDivisionError) as ours, boundary():
        rewritten(outer_failure)([1, 2])
    assert lines_of(ours.value)[1:] == lines_of(plain.value)[1:]
    text = "".join(traceback.format_exception(ours.value))
    assert "__fr_" not in text and "dispatch.py" not in text


def test_code_without_source_is_refused():
    scope: dict = {}
    exec("def made(x):\n    return x + 1\n", scope)
    with (
        pytest.raises(errors.Unsupported, match=r"The source of 'made' cannot be read \('<string>'\)"),
        boundary(),
    ):
        calls.convert(scope["made"])


def test_a_stale_source_is_refused(tmp_path):
    path = tmp_path / "stale.py"
    path.write_text("def made(x):\n    return x + 1\n")
    scope: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    path.write_text("\n\n\ndef other(x):\n    return x + 1\n")
    with pytest.raises(Abort, match="no longer its definition"):
        calls.convert(scope["made"])

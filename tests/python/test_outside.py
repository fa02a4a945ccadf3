"""What lives outside of a program: what it reads is seen when it changes, what it writes is refused."""

# ruff: noqa: B009, B010
from __future__ import annotations

import collections
import dataclasses
import functools
import os
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrule as fr
from ferrule.errors import Unsupported


class Base:
    inherited = 1.0

    def seven(self, x: Any) -> Any:
        return x * 7.0


class Box(Base):
    k = 2.0
    table = np.array([1.0, 2.0, 3.0])

    def __init__(self) -> None:
        self.a = 3.0
        self.items = [1.0, 2.0]
        self.child: Any = None

    def scale(self, x: Any) -> Any:
        return x * self.a

    def by_class(self, x: Any) -> Any:
        return x * self.k

    @property
    def fresh(self) -> Any:
        return [self.a]

    @functools.cached_property
    def once(self) -> float:
        return 4.0

    @classmethod
    def of_class(cls, x: Any) -> Any:
        return x * cls.k

    def __getattr__(self, name: str) -> Any:
        if name == "made_up":
            return self.__dict__["a"] * 5.0
        raise AttributeError(name)

    def __getitem__(self, k: Any) -> Any:
        return self.items[k]

    def __len__(self) -> int:
        return len(self.items)

    def __call__(self, x: Any) -> Any:
        return x * self.a

    def __add__(self, other: Any) -> Any:
        return other + self.a


class Slots:
    __slots__ = ("v",)
    v: float


@dataclasses.dataclass
class Record:
    p: float = 1.0


box = Box()
slots = Slots()
record = Record()
space = types.SimpleNamespace(q=1.0)
bound = box.scale
part = functools.partial(box.scale)
numbers = [1.0, 2.0]
words = {"a": 1.0}
nested = {"a": {"b": 1.0}}
queue = collections.deque([1.0])
seen = {1.0}
ordered = collections.OrderedDict(a=1.0)
defaults = collections.defaultdict(float, a=1.0)
module = types.ModuleType("module_of_a_test")
sys.modules["module_of_a_test"] = module
get = words.get
getenv = os.environ.get
things = (Box(),)
KEY = "FERRULE_TEST_OUTSIDE"


@pytest.fixture(autouse=True)
def fresh_state() -> None:
    box.__dict__.clear()
    box.__init__()  # type: ignore[misc]
    box.child = Box()
    Box.k, Base.inherited, Box.table = 2.0, 1.0, np.array([1.0, 2.0, 3.0])
    slots.v, record.p, space.q = 1.0, 1.0, 1.0
    numbers[:] = [1.0, 2.0]
    words.clear()
    words["a"] = nested["a"]["b"] = queue[0] = ordered["a"] = defaults["a"] = 1.0
    seen.clear()
    seen.add(1.0)
    module.c, module.box = 1.0, Box()  # type: ignore[attr-defined]
    os.environ[KEY] = "1"
    things[0].a = 3.0


def alias(x: Any) -> Any:
    local = box
    return x * local.a


def alias_of_class(x: Any) -> Any:
    local = box
    return x * local.k


def child(x: Any) -> Any:
    local = box.child
    return x * local.a


def iterated(x: Any) -> Any:
    for value in numbers:
        x = x * value
    return x


def unpacked(x: Any) -> Any:
    first, second = numbers
    return x * first * second


def has(x: Any) -> Any:
    return x * (2.0 if hasattr(box, "later") else 1.0)


def set_(owner: Any, name: str, value: Any = 9.0) -> Callable[[], None]:
    return lambda: setattr(owner, name, value)


def put(owner: Any, key: Any) -> Callable[[], None]:
    return lambda: owner.__setitem__(key, 9.0)


def environ(value: str = "9") -> Callable[[], None]:
    return lambda: os.environ.__setitem__(KEY, value)


READS: dict[str, tuple[Callable[[Any], Any], Callable[[], Any]]] = {
    "attribute": (lambda x: x * box.a, set_(box, "a")),
    "alias": (alias, set_(box, "a")),
    "class attribute of an alias": (alias_of_class, set_(Box, "k")),
    "child of an alias": (child, lambda: setattr(box.child, "a", 9.0)),
    "child": (lambda x: x * box.child.a, lambda: setattr(box.child, "a", 9.0)),
    "child bound anew": (lambda x: x * box.child.a, set_(box, "child", types.SimpleNamespace(a=9.0))),
    "class attribute": (lambda x: x * Box.k, set_(Box, "k")),
    "class attribute of an instance": (lambda x: x * box.k, set_(Box, "k")),
    "class attribute that is shadowed": (lambda x: x * box.k, set_(box, "k")),
    "inherited attribute": (lambda x: x * box.inherited, set_(Base, "inherited")),
    "inherited attribute of a class": (lambda x: x * Box.inherited, set_(Base, "inherited")),
    "inherited attribute that is shadowed": (lambda x: x * Box.inherited, set_(Box, "inherited")),
    "array of a class": (lambda x: x * box.table, set_(Box, "table", np.array([9.0, 9.0, 9.0]))),
    "method": (lambda x: box.scale(x), set_(box, "a")),
    "class attribute in a method": (lambda x: box.by_class(x), set_(Box, "k")),
    "class method": (lambda x: box.of_class(x), set_(Box, "k")),
    "class method of the class": (lambda x: Box.of_class(x), set_(Box, "k")),
    "property": (lambda x: x * box.fresh[0], set_(box, "a")),
    "made-up attribute": (lambda x: x * box.made_up, set_(box, "a")),
    "bound method": (lambda x: bound(x), set_(box, "a")),
    "partial": (lambda x: part(x), set_(box, "a")),
    "item of an object": (lambda x: x * box[0], lambda: box.items.__setitem__(0, 9.0)),
    "length of an object": (lambda x: x * len(box), lambda: box.items.append(1.0)),
    "called object": (lambda x: box(x), set_(box, "a")),
    "operator of an object": (lambda x: box + x, set_(box, "a")),
    "slot": (lambda x: x * slots.v, set_(slots, "v")),
    "dataclass": (lambda x: x * record.p, set_(record, "p")),
    "namespace": (lambda x: x * space.q, set_(space, "q")),
    "list": (lambda x: x * numbers[0], put(numbers, 0)),
    "iterated list": (iterated, put(numbers, 0)),
    "unpacked list": (unpacked, put(numbers, 0)),
    "length of a list": (lambda x: x * len(numbers), lambda: numbers.append(1.0)),
    "dict": (lambda x: x * words["a"], put(words, "a")),
    "method of a dict": (lambda x: x * words.get("a"), put(words, "a")),  # type: ignore[operator]
    "bound method of a dict": (lambda x: x * get("a"), put(words, "a")),  # type: ignore[operator]
    "key of a dict": (lambda x: x * (2.0 if "a" in words else 1.0), words.clear),
    "nested dict": (lambda x: x * nested["a"]["b"], lambda: nested["a"].__setitem__("b", 9.0)),
    "deque": (lambda x: x * queue[0], put(queue, 0)),
    "set": (lambda x: x * len(seen), lambda: seen.add(9.0)),
    "ordered dict": (lambda x: x * ordered["a"], put(ordered, "a")),
    "default dict": (lambda x: x * defaults["a"], put(defaults, "a")),
    "module": (lambda x: x * module.c, set_(module, "c")),
    "object of a module": (lambda x: x * module.box.a, lambda: setattr(module.box, "a", 9.0)),  # type: ignore[attr-defined]
    "environment": (lambda x: x * float(os.environ[KEY]), environ()),
    "method of the environment": (lambda x: x * float(os.environ.get(KEY)), environ()),  # type: ignore[arg-type]
    "bound method of the environment": (lambda x: x * float(getenv(KEY)), environ()),  # type: ignore[arg-type]
    "getenv": (lambda x: x * float(os.getenv(KEY)), environ()),  # type: ignore[arg-type]
    "missing variable": (lambda x: x * float(os.getenv(KEY + "2", "1")), lambda: os.environ.__setitem__(KEY + "2", "3")),
    "getattr": (lambda x: x * getattr(box, "a"), set_(box, "a")),
    "hasattr": (has, set_(box, "later")),
    "__dict__": (lambda x: x * box.__dict__["a"], set_(box, "a")),
    "object in a tuple": (lambda x: x * things[0].a, set_(things[0], "a")),
    "method that is shadowed": (lambda x: box.seven(x), set_(box, "seven", lambda x: x * 8.0)),
}  # fmt: skip


@pytest.mark.parametrize("name", READS)
def test_a_change_of_what_a_program_read_is_seen(name: str) -> None:
    fn, change = READS[name]
    x = np.arange(3.0) + 1.0
    native = fr.program(fn)
    try:
        for _ in range(2):
            np.testing.assert_array_equal(native(x), fn(x))
        assert len(native.specialisations) == 1
        change()
        np.testing.assert_array_equal(native(x), fn(x))
    finally:
        os.environ.pop(KEY + "2", None)


def test_a_method_that_the_class_binds_anew_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    fn = fr.program(lambda x: box.seven(x))
    x = np.ones(2)
    assert fn(x)[0] == 7.0
    monkeypatch.setattr(Base, "seven", lambda self, x: x * 8.0)
    assert fn(x)[0] == 8.0


def test_cached_properties_are_read_once() -> None:
    fn = fr.program(lambda x: x * box.once)
    assert fn(np.ones(2))[0] == fn(np.ones(2))[0] == 4.0
    assert len(fn.specialisations) == 1


def test_a_global_array_without_dimensions_is_read_at_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    factor = np.array(2.0)
    fn = fr.program(lambda x: x * factor)
    assert fn(np.ones(2))[0] == 2.0
    factor[()] = 5.0
    assert fn(np.ones(2))[0] == 5.0


# -- writing -------------------------------------------------------------------------------------------------------------

total = 0.0


def appends(x: Any) -> Any:
    y = x + 1.0
    numbers.append(1.0)  # here
    return y


def updates(x: Any) -> Any:
    words.update(b=2.0)  # here
    return x + 1.0


def sets_an_item(x: Any) -> Any:
    words["b"] = x.shape[0]  # here
    return x + 1.0


def sets_an_inner_item(x: Any) -> Any:
    nested["a"]["c"] = 1.0  # here
    return x + 1.0


def sets_an_attribute(x: Any) -> Any:
    box.a = 5.0  # here
    return x * box.a


def sets_a_class_attribute(x: Any) -> Any:
    Box.k = 5.0  # here
    return x * box.k


def sets_a_global(x: Any) -> Any:
    global total
    total = total + 1.0  # here
    return x * total


def sets_by_function(x: Any) -> Any:
    setattr(box, "a", 5.0)  # here
    return x + 1.0


def deletes(x: Any) -> Any:
    del words["a"]  # here
    return x + 1.0


def adds_in_place(x: Any) -> Any:
    extra = numbers
    extra += [3.0]  # here
    return x + 1.0


def helper(x: Any) -> Any:
    seen.add(7.0)  # here
    return x + 1.0


def calls_a_helper(x: Any) -> Any:
    return helper(x) * 2.0


def in_a_branch(x: Any) -> Any:
    if x.shape[0] > 1:
        queue.append(1.0)  # here
    return x + 1.0


WRITES = [appends, updates, sets_an_item, sets_an_inner_item, sets_an_attribute, sets_a_class_attribute, sets_a_global,
          sets_by_function, deletes, adds_in_place, calls_a_helper, in_a_branch]  # fmt: skip


def state() -> str:
    parts = (numbers, words, nested, queue, seen, vars(box)["a"], Box.k, total)
    return repr(parts)


@pytest.mark.parametrize("fn", WRITES)
def test_a_write_is_refused_at_its_line_and_undone(fn: Any) -> None:
    import inspect

    before = state()
    with pytest.raises(Unsupported, match="lives outside of the program") as caught:
        fr.program(fn)(np.ones(3))
    lines, start = inspect.getsourcelines(helper if fn is calls_a_helper else fn)
    line = start + next(i for i, text in enumerate(lines) if "# here" in text)
    assert str(caught.value).startswith(f"{__file__}:{line}: "), str(caught.value)
    assert state() == before


def test_a_write_to_a_closure_is_refused() -> None:
    count = 0
    log: list[int] = []

    def counts(x: Any) -> Any:
        nonlocal count
        count += 1
        return x * count

    def logs(x: Any) -> Any:
        log.append(1)
        return x + 1.0

    for fn, name in ((counts, "count"), (logs, "log")):
        with pytest.raises(Unsupported, match=f"'{name}'"):
            fr.program(fn)(np.ones(3))
    assert count == 0
    assert log == []


def test_what_a_program_makes_itself_may_be_written() -> None:
    def fn(x: Any) -> Any:
        made = Box()
        made.a = 5.0
        made.items.append(3.0)
        rows = [x]
        rows.append(x * 2.0)
        table = {"a": 1.0}
        table["b"] = 2.0
        return rows[1] * made.a * len(made.items) * table["b"]

    native = fr.program(fn)
    for _ in range(2):
        np.testing.assert_array_equal(native(np.ones(3)), fn(np.ones(3)))
    assert len(native.specialisations) == 1


def test_two_arguments_are_not_compared_by_identity() -> None:
    def fn(a: Any, b: Any) -> Any:
        return a + 1.0 if a is b else a

    with pytest.raises(Unsupported, match="'is'"):
        fr.program(fn)(np.ones(2), np.ones(2))
    none = fr.program(lambda a, b=None: a if b is None else a + b)
    assert none(np.ones(2)).sum() == 2.0
    assert none(np.ones(2), np.ones(2)).sum() == 4.0

"""What lives outside of a program: what it reads is seen when it changes, what it writes is refused."""

# ruff: noqa: B009, B010
from __future__ import annotations

import collections
import dataclasses
import functools
import math
import os
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrule as fr
from ferrule import session
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
MATH = math
KEY = "FERRULE_TEST_OUTSIDE"
tables: dict[str, Any] = {}
pair: Any = ()


def scaled(x: Any, k: float = 2.0, *, more: float = 0.0) -> Any:
    return x * k + more


def tenfold(x: Any) -> Any:
    return x * 10.0


helpers = [scaled]


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
    tables.clear()
    tables.update(w=np.array([1.0, 2.0, 3.0]), k=2.0, inner=[np.ones(3), 1.0])
    globals()["pair"] = (np.ones(3), [1.0])
    box.weights = {"w": np.ones(3)}
    scaled.__defaults__, scaled.__kwdefaults__ = (2.0,), {"more": 0.0}
    scaled.__code__, helpers[0] = SCALED, scaled


SCALED = scaled.__code__


class Other(Base):
    k = 9.0

    def __len__(self) -> int:
        return 7

    def scale(self, x: Any) -> Any:
        return x * 8.0


def names_in_order(x: Any) -> Any:
    for name in tables:
        x = x * 2.0 + len(name)
    return x


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


def in_order(x: Any) -> Any:
    for name in [*words]:
        x = x * 2.0 + (1.0 if name == "a" else 3.0)
    return x


def unpacked(x: Any) -> Any:
    first, second = numbers
    return x * first * second


def has(x: Any) -> Any:
    return x * (2.0 if hasattr(box, "later") else 1.0)


def set_(owner: Any, name: str, value: Any = 9.0) -> Callable[[], None]:
    return lambda: setattr(owner, name, value)


def put(owner: Any, key: Any, value: Any = 9.0) -> Callable[[], None]:
    return lambda: owner.__setitem__(key, value)


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
    "type of a number in a list": (lambda x: numbers[0] // 2 + x, put(numbers, 0, 1)),
    "type of a number in a dict": (lambda x: words["a"] // 2 + x, put(words, "a", 1)),
    "sign of a zero in a list": (lambda x: x / numbers[1] * 0 + numbers[0], lambda: numbers.__setitem__(1, -2.0)),
    "order of a dict": (in_order, lambda: words.update(b=1.0, a=words.pop("a"))),
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
    "key of a dict of arrays": (lambda x: x * (2.0 if "z" in tables else 1.0), put(tables, "z")),
    "length of a dict of arrays": (lambda x: x * len(tables), put(tables, "z")),
    "get of a dict of arrays": (lambda x: x * tables.get("z", 1.0), put(tables, "z")),
    "order of a dict of arrays": (names_in_order, lambda: tables.update(k=tables.pop("k"), w=tables.pop("w"))),
    "iterated dict of arrays": (names_in_order, put(tables, "zz")),
    "values of a dict of arrays": (lambda x: x * len([*tables.values()]), put(tables, "z")),
    "array of a dict": (lambda x: x * tables["w"], put(tables, "w")),
    "other array of a dict": (lambda x: x * tables["w"], lambda: tables.update(w=np.array([3.0, 4.0, 5.0]))),
    "array in a list in a dict": (lambda x: x * tables["inner"][0], lambda: put(tables["inner"], 0)()),
    "number beside an array": (lambda x: x * tables["inner"][1], lambda: put(tables["inner"], 1)()),
    "list beside an array": (lambda x: x * pair[1][0], lambda: put(pair[1], 0)()),
    "dict of arrays of an object": (lambda x: x * len(box.weights), lambda: put(box.weights, "z")()),
    "module bound anew": (lambda x: x * math.pi, lambda: globals().update(math=types.SimpleNamespace(pi=3.0))),
    "builtin that is shadowed": (lambda x: x * max(1.0, 2.0), lambda: globals().update(max=lambda *_: 5.0)),
    "builtin that is bound anew": (lambda x: x * min(1.0, 2.0), lambda: globals().update(min=lambda *_: 5.0)),
    "defaults of a helper": (lambda x: scaled(x), set_(scaled, "__defaults__", (9.0,))),
    "defaults of a helper in a list": (lambda x: helpers[0](x), set_(scaled, "__defaults__", (9.0,))),
    "keyword defaults of a helper": (lambda x: helpers[0](x), set_(scaled, "__kwdefaults__", {"more": 9.0})),
    "code of a helper": (lambda x: helpers[0](x), lambda: set_(scaled, "__code__", tenfold.__code__)()),
    "helper in a list": (lambda x: helpers[0](x), put(helpers, 0, tenfold)),
    "class of an object": (lambda x: x * box.k, set_(box, "__class__", Other)),
    "class of an object with operators": (lambda x: x * len(box), set_(box, "__class__", Other)),
    "class of an object with methods": (lambda x: box.scale(x), set_(box, "__class__", Other)),
    "formatted": (lambda x: x * float(f"{record.p}"), set_(record, "p")),
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
        globals().update(math=MATH)
        globals().pop("max", None)
        globals().pop("min", None)
        box.__class__ = Box


OPERATORS: dict[str, tuple[Callable[[Any], Any], Callable[..., Any]]] = {
    "__len__": (lambda x: x * len(box), lambda self: 7),
    "__getitem__": (lambda x: x * box[0], lambda self, k: 7.0),
    "__call__": (lambda x: box(x), lambda self, x: x * 7.0),
    "__add__": (lambda x: box + x, lambda self, x: x + 70.0),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_that_the_class_binds_anew_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fn, operator = OPERATORS[name]
    native = fr.program(fn)
    x = np.arange(3.0) + 1.0
    np.testing.assert_array_equal(native(x), fn(x))
    monkeypatch.setattr(Box, name, operator)
    np.testing.assert_array_equal(native(x), fn(x))


def with_defaults(
    x: Any,
    s: Any = [2.0, 3.0],  # noqa: B006
    m: Any = {"k": 1.0, "w": np.ones(3)},  # noqa: B006, B008
    *,
    t: Any = {1.0},  # noqa: B006
) -> Any:
    return x * s[0] + m["k"] + m["w"] + len(t)


def test_containers_as_defaults_are_read_as_what_lives_outside() -> None:
    native = fr.program(with_defaults)
    x = np.arange(3.0)
    s, m = with_defaults.__defaults__  # type: ignore[misc]
    t = with_defaults.__kwdefaults__["t"]
    changes: list[Callable[[], Any]] = [
        lambda: None,
        lambda: put(s, 0)(),
        lambda: put(m, "k")(),
        lambda: put(m, "z")(),
        lambda: m["w"].fill(4.0),
        lambda: m.update(w=np.full(3, 5.0)),
        lambda: t.add(2.0),
        lambda: setattr(with_defaults, "__defaults__", ([7.0], m)),
        lambda: setattr(with_defaults, "__kwdefaults__", {"t": set()}),
    ]
    for change in changes:
        change()
        np.testing.assert_array_equal(native(x), with_defaults(x))
    with pytest.raises(TypeError, match="'s' is a list"):
        native(x, [1.0])


def test_a_default_that_the_program_changes_is_refused() -> None:
    def collects(x: Any, into: Any = []) -> Any:  # noqa: B006
        into.append(1.0)
        return x * len(into)

    with pytest.raises(Unsupported, match="change of 'into'"):
        fr.program(collects)(np.ones(3))
    assert collects.__defaults__ == ([],)


class Parent:
    k = 2.0

    @fr.program
    def run(self, x: Any) -> Any:
        return x * self.k

    @classmethod
    @fr.program
    def of_class(cls, x: Any) -> Any:
        return x + cls.k

    @staticmethod
    @fr.program
    def static(x: Any) -> Any:
        return x - 1.0


class Child(Parent):
    k = 3.0

    @fr.program
    def run(self, x: Any) -> Any:
        return super().run(x) + 1.0

    @classmethod
    @fr.program
    def of_class(cls, x: Any) -> Any:
        return super().of_class(x) * 10.0

    @fr.program
    def all(self, x: Any) -> Any:
        return (
            super(Child, self).run(x)  # noqa: UP008
            + self.static(x)
            + Parent.run(self, x)
            + super().static(x)
            + self.of_class(x)
        )


def test_programs_call_those_of_their_base_class() -> None:
    x = np.arange(3.0)
    np.testing.assert_array_equal(Child().run(x), x * 3.0 + 1.0)
    np.testing.assert_array_equal(Child.of_class(x), (x + 3.0) * 10.0)
    np.testing.assert_array_equal(Child().all(x), 2 * x * 3.0 + 2 * (x - 1.0) + (x + 3.0) * 10.0)


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


# -- writing

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


def test_variables_that_change_while_the_compiler_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    k, items, x = 2.0, [1.0], np.arange(3.0)

    def f(x):
        return x * k + items[0]

    compile_program = session.compile_program

    def changing(*args: Any, **options: Any) -> Any:
        nonlocal k
        made = compile_program(*args, **options)
        k, items[0] = 3.0, 5.0
        return made

    monkeypatch.setattr(session, "compile_program", changing)
    program = fr.program(f)
    program(x)
    monkeypatch.undo()
    for each in (program, fr.program(f)):  # the other finds what the first has recorded
        np.testing.assert_array_equal(each(x), f(x))


def test_variables_that_change_right_after_the_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    k, one, x = 2.0, Box(), np.arange(3.0)

    def f(x):
        return x * k + one.a

    site_table = session.site_table

    def changing(*args: Any) -> Any:
        nonlocal k
        k, one.a = 3.0, 7.0
        return site_table(*args)

    monkeypatch.setattr(session, "site_table", changing)
    program = fr.program(f)
    np.testing.assert_array_equal(program(x), f(x))
    monkeypatch.undo()
    for each in (program, fr.program(f)):
        np.testing.assert_array_equal(each(x), f(x))
    k, one.a = 2.0, 3.0
    np.testing.assert_array_equal(program(x), f(x))


def test_what_a_function_imports_may_change(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.arange(3.0)
    module = types.ModuleType("imported_inside")
    module.k, module.table, module.box = 2.0, np.array([1.0, 2.0, 3.0]), Box()  # type: ignore[attr-defined]
    module.scale = lambda x: x * 5.0  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)

    def f(x):
        from imported_inside import box, k, scale
        from imported_inside import table as t

        return scale(x) * k + t + box.a

    program = fr.program(f)
    changes = {"k": 3.0, "table": np.zeros(3), "scale": lambda x: x - 1.0, "box": Box()}
    changes["box"].a = 9.0
    np.testing.assert_array_equal(program(x), f(x))
    for name, value in changes.items():
        setattr(module, name, value)
        for each in (program, fr.program(f)):
            np.testing.assert_array_equal(each(x), f(x))


whole = 2.0
this = sys.modules[__name__]


@pytest.mark.parametrize(
    "f",
    [
        lambda x: globals()["whole"] * x,
        lambda x: eval("whole") * x,
        lambda x: vars(this)["whole"] * x,
        lambda x: vars(box)["a"] * x,
    ],
)
def test_variables_that_are_read_by_other_means(f: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.arange(3.0)
    program = fr.program(f)
    np.testing.assert_array_equal(program(x), f(x))
    monkeypatch.setitem(globals(), "whole", 3.0)
    monkeypatch.setattr(box, "a", 7.0)
    for each in (program, fr.program(f)):
        np.testing.assert_array_equal(each(x), f(x))


WEIGHTS = (np.ones(3), 2.0)
TABLE = {"w": np.ones(3), "k": 3.0}


def by_index(a):
    return a + WEIGHTS[0] * WEIGHTS[1]


def by_unpacking(a):
    w, k = WEIGHTS
    return a + w * k


def by_key(a):
    return a + TABLE["w"] * TABLE["k"]


def by_get(a):
    return a + TABLE.get("w") * TABLE.get("missing", 2.0)


def by_items(a):
    for value in TABLE.values():
        a = a + value * 2.0
    for key, value in TABLE.items():
        a = a * (value + len(key))
    return a


def by_a_reduction(a):
    return a + WEIGHTS[0].max() + np.sum(TABLE["w"])


@pytest.mark.parametrize("fn", [by_index, by_unpacking, by_key, by_get, by_items, by_a_reduction])
def test_arrays_in_global_containers_are_read_at_the_call(fn):
    """Also where the program computes with them and with what is no argument."""
    program = fr.program(fn)
    a = np.arange(3.0)
    for value in (1.0, 9.0, 2.5):
        WEIGHTS[0][0] = TABLE["w"][1] = value
        np.testing.assert_array_equal(program(a), fn(a))
    assert len(program.specialisations) == 1

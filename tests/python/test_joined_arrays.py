"""Names for fresh arrays that branches and loops decide: a write through one reaches all that are that array."""

from __future__ import annotations

import os
import runpy
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest
import random_aliases
from evaluated import evaluated

import ferrule as fr
from ferrule.capture import capture, joined_arrays
from ferrule.capture.annotations import capture_annotated


def other_side(x: Any) -> Any:
    z = x * 2
    if x[0] > 0:
        y = x * 3
    else:
        y = z
    y[0] = 30
    return y, z


def equal_sides(x: Any) -> Any:
    z = x * 2
    if x[0] > 0:
        y = x * 2
    else:
        y = z
    y[0] = 30
    return y, z


def written_by_the_older_name(x: Any) -> Any:
    z = x * 2
    y = x * 3
    if x[0] > 0:
        y = z
    z[0] = 30
    return y, z


def two_arrays(x: Any) -> Any:
    a, b = x * 2, x + 1
    y = a if x[0] > 0 else b
    y += 5
    return a, b


def a_view(x: Any) -> Any:
    z = x * 2
    y = z[1:] if x[0] > 0 else x[1:] + 7
    y[:] = 9
    return z, y


def in_a_container(x: Any) -> Any:
    state = {"z": [x * 2, 1]}
    if x[0] > 0:
        y = x + 1
    else:
        y = state["z"][0]
    np.negative(y, out=y)
    return y, state["z"][0]


def in_a_loop(x: Any) -> Any:
    s = 0.0
    for i in range(len(x)):
        z = x * 2
        z[0] = 1
        if x[i] > 0:
            y = x * 3
        else:
            y = z
        y[0] = i + 3
        s += z[0] * 10 + y[1]
    return s


def in_a_loop_by_value(x: Any) -> Any:
    s = 0.0
    for i in range(len(x)):
        z = x * 2
        y = x * 3 if x[i] > 0 else z
        y[0] = i + 3
        s += z[0]
    return s


def written_in_a_loop(x: Any) -> Any:
    z = x * 2
    y = x * 3
    if x[0] > 0:
        y = z
    for i in range(len(x)):
        y[i] = i
    return y, z


def through_two_branches(x: Any) -> Any:
    z = x * 2
    y = x * 3 if x[0] > 0 else z
    w = y if x[1] > 0 else x * 4
    w[1] = 50
    return w, y, z


def through_a_loop(x: Any) -> Any:
    z = x * 2
    y = x * 3 if x[0] > 0 else z
    for _ in range(int(x[1] > 0)):
        y = y + 1
    y[1] = 50
    return y, z


def set_by_a_loop(x: Any) -> Any:
    v = x * 2
    w = x * 3
    for i in range(len(x)):
        if x[i] > 0:
            w = v
        else:
            w = w + 1
    w[0] = 50
    return v, w


def set_in_a_loop(x: Any) -> Any:
    v = x * 2
    w = x * 3
    for i in range(int(abs(x[0]))):
        w[0] += i
        w = v
    w[1] = 50
    return v, w


def set_by_a_while(x: Any) -> Any:
    v = x * 2
    w = x * 3
    i = 0
    while x[i] > 0 and i < len(x) - 1:
        w = v
        i += 1
    w[0] = 50
    return v, w


def helper(y: Any) -> None:
    y[0] = 70


def written_by_a_helper(x: Any) -> Any:
    z = x * 2
    y = x * 3 if x[0] > 0 else z
    helper(y)
    return y, z


def chosen_by_a_helper(x: Any) -> Any:
    def pick(a: Any, b: Any) -> Any:
        if a[0] > 0:
            return a
        return b

    z, v = x * 2, x * 3 + 1
    y = pick(z, v)
    y[-1] = 70
    return y, z, v


def set_before_a_break(x: Any) -> Any:
    z = x * 2
    best = x * 3
    for i in range(len(x)):
        if x[i] < 0:
            best = z
            break
    best[0] = 8
    return best, z


def tuples(x: Any) -> Any:
    a, b = x * 2, x * 3
    pair = (a, b)
    if x[0] > 0:
        pair = (b, a)
    pair[0][0] = 12
    return a, b, pair[1]


def made_in_a_loop(x: Any) -> Any:
    z = w = x
    for i in range(len(x)):
        z = x * (i + 2)
        w = z
    w[0] = 12
    return w, z


def made_in_a_loop_of_some(x: Any) -> Any:
    z = x * 1
    w = x * 2
    for i in range(int(abs(x[0]))):
        z = x * (i + 2)
        if x[1] > 0:
            w = z
    z[0] = 12
    w[1] = 13
    return w, z


def made_in_a_side(x: Any) -> Any:
    if x[0] > 0:
        z = x * 2
        w = z
    else:
        z = x * 3
        w = x * 4
    w[0] = 12
    return w, z


def held_by_a_container(x: Any) -> Any:
    u = x * 2
    kept = {"u": [u]}
    for _ in range(int(abs(x[0])) - 1):
        u = u + 1
    u[0] = 9
    return u, kept["u"][0]


PROGRAMS = [
    other_side, equal_sides, written_by_the_older_name, two_arrays, a_view, in_a_container, in_a_loop, in_a_loop_by_value,
    written_in_a_loop, through_two_branches, through_a_loop, set_by_a_loop, set_in_a_loop, set_by_a_while,
    written_by_a_helper, chosen_by_a_helper, set_before_a_break, tuples,
    made_in_a_loop, made_in_a_loop_of_some, made_in_a_side, held_by_a_container,
]  # fmt: skip
DATA = [[1, 2, 3], [-1, 2, 3], [1, -2, 3], [-1, -2, -3], [2, 1], [-2, 1]]


def compared(got: Any, expected: Any) -> None:
    for left, right in zip(got, expected, strict=True) if isinstance(expected, tuple) else [(got, expected)]:
        np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_as_python(program: Any) -> None:
    run = evaluated(program)
    for data in DATA:
        x = np.array(data, float)
        compared(run(x), program(x.copy()))


SEEDS = [
    range(start, start + 20)
    for start in range(0, 3000 if os.environ.get("FERRULE_FUZZ") == "long" else 120, 20)
]


@pytest.mark.parametrize("seeds", SEEDS, ids=lambda seeds: f"{seeds.start}-{seeds.stop - 1}")
def test_random_aliases(tmp_path: Path, seeds: range) -> None:
    for seed in seeds:
        path = tmp_path / f"aliases_{seed}.py"
        path.write_text(random_aliases.source(seed))
        program = runpy.run_path(str(path))["f"]
        run = evaluated(program)
        for data in random_aliases.DATA:
            for n in range(3):
                x = np.array(data)
                compared(run(x, n), program(x.copy(), n))


def test_native_and_ahead_of_time() -> None:
    @fr.program
    def chosen(x: Annotated[np.ndarray[Any, Any], fr.float64["N"]]) -> Any:
        z = x * 2
        y = x * 3 if x[0] > 0 else z
        y[0] = 30
        return y, z

    kernel = chosen.compile().load()
    for data in DATA:
        x = np.array(data, float)
        compared(kernel(x), chosen.__wrapped__(x))


def no_write(x: Any) -> Any:
    z = x * 2
    y = x * 3 if x[0] > 0 else z
    return y + z


def not_seen(x: Any) -> Any:
    y = x * 3 if x[0] > 0 else x * 2
    y[0] = 30
    return y


def another_is_written(x: Any) -> Any:
    z = x * 2
    y = x * 3 if x[0] > 0 else z
    w = y + 1
    w[0] = 30
    return w + z


@pytest.mark.parametrize(("program", "buffers"), [(no_write, 0), (not_seen, 1), (another_is_written, 1)])
def test_values_stay_values_where_nobody_sees_it(program: Any, buffers: int) -> None:
    text = capture(program, [np.ones(3)], {}).program.print()
    assert text.count("= alloc ") == buffers


def test_capture_annotated_begins_again() -> None:
    def annotated(x: fr.float64[N]) -> Any:  # noqa: F821
        z = x * 2
        y = x * 3 if x[0] > 0 else z
        y[0] = 30
        return y, z

    annotated.__annotations__["x"] = fr.float64["N"]
    assert capture_annotated(annotated).program.print().count("= alloc ") == 2


def test_what_cannot_be_joined_by_reference_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begun again at the same places, a capture would never end."""
    monkeypatch.setattr(joined_arrays, "refer", lambda *_: None)
    with pytest.raises(fr.Unsupported, match=r"A write to an array that may be the one of 'z', .* Copy it\."):
        capture(other_side, [np.ones(3)], {})

"""Loops under a capture: which of them Python runs, and which become regions of the program.

Names that a region's body assigns are, in order of preference: unchanged (nothing is carried), counters (a closed form
in the loop variable), or carried, under a type found by fixed point. Where a name's type before the loop does not fit,
the first iteration is peeled off.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

from . import errors, found
from .dispatch import Dispatcher
from .for_loop import For
from .spans import span_of
from .state import read, write
from .trace import Trace
from .tracers import is_traced
from .while_loop import While

PYTHON_LIMIT = 4096  # iterations that Python runs of a loop that is no region
_REGION, _NOT_AT_ONCE = "region", "not at once"
_BEGUN = 2  # while loops, one in the other, of which Python runs iterations before they become regions


def trace_for(
    dispatcher: Dispatcher,
    iterable: Any,
    body: FunctionType,
    names: tuple[str, ...],
    entry: tuple[str, ...],
    after: tuple[str, ...],
    stop: str | None,
) -> bool:
    """Traces a `for` loop as a region; False where Python should run it."""
    trace = Trace.current()
    span = span_of(trace, iterable)
    if span is None:
        return isinstance(iterable, range) and _unroll(trace, dispatcher, iterable, body, names, stop)
    loop = For(trace, dispatcher, span, body, names, entry, after, stop)
    if not isinstance(iterable, range):
        loop.run()
        return True
    # Only Python can run a body that fills lists, say; then the loop is unrolled after all.
    before = read(loop.shared)
    depth = trace.depth
    try:
        loop.run()
    except errors.Abort:
        if len(iterable) > PYTHON_LIMIT or trace.depth != depth:
            raise
        write(loop.shared, before)
        return False
    return True


def _unroll(
    trace: Trace,
    dispatcher: Dispatcher,
    iterable: range,
    body: FunctionType,
    names: tuple[str, ...],
    stop: str | None,
) -> bool:
    outer = trace.__dict__.get("unrolled", 1)
    trace.__dict__["unrolled"] = outer * max(1, len(iterable))
    try:
        dispatcher.unrolled(iter(iterable), body, names, stop)
    finally:
        trace.__dict__["unrolled"] = outer
    return True


def trace_while(
    dispatcher: Dispatcher,
    test: FunctionType,
    body: FunctionType,
    names: tuple[str, ...],
    entry: tuple[str, ...],
    after: tuple[str, ...],
    stop: str | None,
) -> None:
    """Traces a `while` loop: Python runs it until its test, or the flag that leaves it, is traced."""
    trace = Trace.current()
    loop = While(trace, test, body, (test, body), names, entry, after, stop)
    became = found.of_place(
        trace, (loop.place, "became")
    )  # a region, or one that could not be it from the beginning
    outer = trace.begun
    try:
        for run in range(PYTHON_LIMIT):
            if stop is not None:
                flag = loop.cells[stop].cell_contents
                if flag is True:
                    return
                if flag is not False:
                    break
            value = test()
            if is_traced(value):
                break
            if not value:
                return
            if run == 0 and outer >= _BEGUN and became == [_REGION]:
                if _is_region_at_once(trace, loop):
                    return
                became.append(_NOT_AT_ONCE)
            trace.begun = outer + 1
            body()
        else:
            raise errors.unsupported(
                f"A while loop ran {PYTHON_LIMIT} times at capture without its test depending on an argument.",
                "Make the test depend on an argument or on data.",
            )
        if trace.begun > outer and not became:
            became.append(_REGION)
        loop.run()
    finally:
        trace.begun = outer


def _is_region_at_once(trace: Trace, loop: While) -> bool:
    """Traces a loop as a region from its first iteration on, though its test is known there.

    An iteration that Python runs holds the loops inside once more, which in a nest would double them at each level.
    """
    before = read(loop.shared)
    depth = trace.depth
    try:
        loop.run()
    except errors.Abort:
        if trace.depth != depth:
            raise
        write(loop.shared, before)
        return False
    return True

"""What the progress line says, on a stream and a clock of the test."""

import contextlib
import io

import pytest

from ferrule import progress


@pytest.fixture
def running(monkeypatch):
    flights = {}
    monkeypatch.setattr(progress, "_running", flights)
    return flights


def test_nothing_is_said_at_first(running):
    running[1] = ("quick", 10.0)
    assert progress._line(10.4, 80) is None


def test_only_the_slow_ones_are_named(running):
    running.update({1: ("slow", 1.0), 2: ("quick", 3.9)})
    assert progress._line(4.0, 80) == "ferrule: compiling 'slow', 3.0 s"


def test_many_are_counted(running):
    running.update({number: (f"p{number}", 0.0) for number in range(5)})
    assert progress._line(2.0, 80) == "ferrule: compiling 'p0', 'p1', 'p2' and 2 more, 2.0 s"


def test_the_line_fits_the_terminal(running):
    running[1] = ("n" * 200, 0.0)
    line = progress._line(2.0, 40)
    assert len(line) < 40 and line.endswith("...")


def test_a_terminal_that_goes_away_does_not_fail_the_compilation():
    stream = io.StringIO()
    with progress.compiling("gone", stream, contextlib.nullcontext()):
        stream.close()
        progress._write(stream, "text")


def test_an_error_of_the_compilation_comes_through():
    with pytest.raises(ZeroDivisionError), progress.compiling("bad", io.StringIO(), contextlib.nullcontext()):
        raise ZeroDivisionError
    assert not progress._running

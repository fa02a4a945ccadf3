"""What a case is: a call that is made many times, and how it ends."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from meter import Call, excess, growth

CHEAP, MIDDLE, COSTLY = 100_000, 10_000, 1_000  # calls, by what one of them costs
WRONG = (TypeError, ValueError, OverflowError, BufferError)


@dataclass(frozen=True)
class Case:
    """A row of the table. `raises`: the class that every call raises, and a part of its text."""

    name: str
    make: Callable[[], Call]
    calls: int
    raises: tuple[type[BaseException], str] | None = None


def good(name: str, make: Callable[[], Call], calls: int = CHEAP) -> Case:
    """A call that succeeds."""
    return Case(name, make, calls)


def bad(
    name: str, make: Callable[[], Call], error: type[BaseException], text: str, calls: int = CHEAP
) -> Case:
    """A call that raises."""
    return Case(name, make, calls, (error, text))


def check(case: Case) -> None:
    """The call ends as its row says, and leaves nothing behind however often it is made."""
    made = case.make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of lists that are copied
        if case.raises is None:
            made()
            changes = growth(made, case.calls)
        else:
            error, text = case.raises
            with pytest.raises(error) as refused:
                made()
            assert text in str(refused.value)
            del refused
            changes = growth(made, case.calls, error)
    assert excess(changes) == {}, changes

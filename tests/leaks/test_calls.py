"""Calls, good and failing, leave nothing behind: one measurement for every row of the tables."""

from __future__ import annotations

import arguments
import handles
import interchange
import lifetimes
import pytest
import results
from cases import check

CASES = [*arguments.CASES, *results.CASES, *handles.CASES, *interchange.CASES, *lifetimes.CASES]


def test_the_names_tell_the_rows_apart():
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_nothing_stays(case):
    check(case)

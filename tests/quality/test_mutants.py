"""Edits of the solutions that are known to change nothing are edits that there are."""

from __future__ import annotations

from collections import Counter

import pytest

from grader import curriculum
from grader.curriculum import stubs
from grader.quality.mutants import mutants
from tests.tools.mutate import equal


@pytest.mark.full
@pytest.mark.parametrize("exercise", [name for name in curriculum.NAMES if equal(name)])
def test_every_edit_that_changes_nothing_is_one_of_the_solution(exercise: str) -> None:
    source = stubs.reference_source(exercise)
    lines = source.splitlines()
    made = Counter((mutant.what, lines[mutant.line - 1].strip()) for mutant in mutants(source))
    assert equal(exercise) <= made, equal(exercise) - made

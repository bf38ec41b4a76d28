"""The library of known mistakes, looked after: whether its entries hold, and how one begins."""

from __future__ import annotations

from collections.abc import Sequence

from grader.curriculum import CurriculumError, mistakes, stubs
from grader.curriculum.mistakes import entry, variants
from grader.judging import fingerprints


def check(exercise: str, names: Sequence[str] = ()) -> tuple[list[str], dict[str, list[str]]]:
    """What is wrong with these mistakes of an exercise, or with all of them.

    First the sentences on entries that do not fit the answer which they edit; if there are none,
    by name what is amiss with each: an edit that no check catches, others that look the same.

    Raises CurriculumError for a name that no mistake has.
    """
    known = [one.name for one in mistakes.load(exercise)]
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise CurriculumError(f"{exercise} has no mistake {unknown[0]!r}.")
    misfits = variants.misfits(exercise)
    if misfits:
        return misfits, {}
    prints = fingerprints.load(exercise)
    return [], {one: prints.faults(one) for one in names or known}


def begin(exercise: str, theirs: str) -> tuple[str, list[str]]:
    """The beginning of an entry that makes the mistake of the answer `theirs`.

    And the helpers that their file defines, which the entry's edit leaves out.
    """
    answer = stubs.solution(exercise)
    return entry.begin(exercise, answer, theirs), entry.helpers(answer, theirs)

"""Reports on suspect lines: the place, what helped there, a question, and the edit.

A report says which edit was tried and what came of it, which is true whatever else is wrong with
the line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from grader.edits.kinds import KINDS, Kind, in_words, nearly
from grader.edits.source import Edit, Source
from grader.feedback.finding import Place, Status
from grader.feedback.results import CheckResult, Diagnosis, ExerciseResult, SuspectLine
from grader.grading.own_line import quoted
from grader.grading.search.search import Fix
from grader.remote.session import clean

NAME = r"[\w.]+"
# Every formula adds these.
ADDED = r"\+ [\w.]*(?:eps(?:ilon)?|bias)$"
# Edits that may merely avoid an exception.
AROUND = ("comparison", "condition", "name", "unguarded")


def suspects(
    fix: Fix, result: ExerciseResult, sources: Mapping[str, str]
) -> tuple[SuspectLine, ...]:
    """Return the lines that edits which fix checks point at. `sources` are the student's files.

    A line that a diagnosis in `found` quotes is not shown again. Next to a named mistake, an edit
    that drops something may only make up for part of that mistake.
    """
    if result.diagnoses and not fix.whole and KINDS[fix.edits[0].kind].drops:
        return ()
    passing = [check for check in result.checks if check.check in fix.checks]
    if _avoids_only(fix, passing, result) or _by_chance(fix, passing, result):
        return ()
    more = _more(len(passing), _wrong(result), fix.whole)
    lines = (
        _suspect(edit, [other for other in fix.edits if other is not edit], passing, sources, more)
        for edit in fix.edits
    )
    shown = (any(quotes(diagnosis, edit) for diagnosis in result.diagnoses) for edit in fix.edits)
    return tuple(line for line, already in zip(lines, shown, strict=True) if not already)


def _wrong(result: ExerciseResult) -> int:
    """Return how many checks that give points are not passed."""
    return sum(
        check.status is not Status.PASSED and check.max_points > 0 for check in result.checks
    )


def _raised(passing: Sequence[CheckResult]) -> bool:
    return all(check.status is Status.ERROR for check in passing)


def _avoids_only(fix: Fix, passing: Sequence[CheckResult], result: ExerciseResult) -> bool:
    """Return whether edits may merely avoid an exception: the line that raised then says more.

    A line that runs less often may also pass a check by chance.
    """
    kind = fix.edits[0].kind
    around = kind in AROUND or KINDS[kind].drops
    whole = fix.whole or len(passing) == _wrong(result)
    return around and (_raised(passing) or kind == "unguarded") and not whole


def _by_chance(fix: Fix, passing: Sequence[CheckResult], result: ExerciseResult) -> bool:
    """Return whether to show nothing for edits that leave something wrong.

    A single check may pass by chance with another variable, another comparison or other arguments,
    as of an `arange` that is empty then. If the student's own `assert` raised, a line that meets
    its demand is not the cause. Nor is a `+` in front of eps or a bias, which belongs there.
    """
    if fix.whole or len(passing) == _wrong(result):
        return False
    edit, edited = fix.edits[0], {(f"{each.file}.py", each.line) for each in fix.edits}
    renamed = edit.kind == "name" and all(re.fullmatch(NAME, x) for x in (edit.was, edit.becomes))
    raised = (
        place
        for check in passing
        if check.finding and "raised AssertionError" in check.message
        for place in check.finding.places
    )
    demanded = any((place.file, place.line) not in edited for place in raised)
    added = edit.kind == "operator" and bool(re.search(ADDED, edit.was))
    by_luck = renamed or edit.kind in ("argument order", "comparison")
    return demanded or added or (by_luck and len(passing) == 1)


def quotes(diagnosis: Diagnosis, edit: Edit) -> bool:
    """Return whether a diagnosis shows the line of an edit."""
    return bool(re.search(rf"\b{re.escape(edit.file)}\.py, line {edit.line}\b", diagnosis.shows))


def _suspect(
    edit: Edit,
    others: Sequence[Edit],
    passing: Sequence[CheckResult],
    sources: Mapping[str, str],
    more: str,
) -> SuspectLine:
    file = clean(edit.file, 80)
    place = Place(f"{file}.py", edit.line, quoted(sources.get(edit.file, ""), edit.line))
    lines = sorted({*edit.more, *(line for other in others for line in (other.line, *other.more))})
    hint = nearly(edit.kind, clean(edit.was), clean(edit.becomes), passing[0].title, lines)
    kind = KINDS[edit.kind]
    return SuspectLine(
        place,
        edit.kind,
        kind.asks,
        (hint,),
        tuple(recording.check for recording in passing),
        _told(kind, edit, Source(sources.get(edit.file, "")).which(edit), lines, more),
    )


def _more(passing: int, wrong: int, whole: bool) -> str:
    """Return what comes of the edits: how many of the wrong checks pass."""
    if whole or passing == wrong:
        return "you get all the points"
    return "one more check passes" if passing == 1 else f"{passing} more checks pass"


def _told(kind: Kind, edit: Edit, which: str, others: Sequence[int], more: str) -> str:
    """Return what was tried and what came of it, quoting the student's code where it is short.

    `which` says which of the same on its line is meant. `others` are the lines that were edited as
    well.
    """
    changed = kind.tells(clean(edit.was), which)
    also = f" and {in_words(others)} changed as well" if others else ""
    return f"{changed}{also}, {more}."

"""What is said of lines that look wrong: where, a question, and as the last hint the edit."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from grader.feedback.finding import Place
from grader.feedback.questions import QUESTIONS, nearly
from grader.judging.explanation import quoted
from grader.judging.search import Mend
from grader.remote.session import FoundEdit, clean
from grader.report.results import CheckResult, ExerciseResult, SuspectLine


def suspects(
    mend: Mend, found: ExerciseResult, sources: Mapping[str, str]
) -> tuple[SuspectLine, ...]:
    """The lines that edits which mend checks point at. `sources` are the student's files.

    A line that a diagnosis in what was `found` quotes is not shown a second time.
    """
    passing = [check for check in found.checks if check.check in mend.checks]
    lines = (
        _suspect(edit, [one for one in mend.edits if one is not edit], passing, sources)
        for edit in mend.edits
    )
    quoted_already = "\n".join(one.shows for one in found.diagnoses)
    return tuple(
        one
        for one in lines
        if not re.search(rf"\b{re.escape(one.place.file)}, line {one.place.line}\b", quoted_already)
    )


def _suspect(
    edit: FoundEdit,
    others: Sequence[FoundEdit],
    passing: Sequence[CheckResult],
    sources: Mapping[str, str],
) -> SuspectLine:
    file = clean(edit.file, 80)
    place = Place(f"{file}.py", edit.line, quoted(sources.get(edit.file, ""), edit.line))
    lines = sorted({*edit.more, *(line for one in others for line in (one.line, *one.more))})
    hint = nearly(clean(edit.was), clean(edit.becomes), passing[0].title, lines)
    asked = QUESTIONS[edit.kind]
    return SuspectLine(place, edit.kind, asked, (hint,), tuple(one.check for one in passing))

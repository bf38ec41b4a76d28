"""What is said of a line that looks wrong: where, a question, and as the last hint the edit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader.feedback.finding import Place
from grader.feedback.questions import QUESTIONS, nearly
from grader.judging.explanation import quoted
from grader.judging.search import Mend
from grader.remote.session import clean
from grader.report.results import CheckResult, SuspectLine


def suspect(mend: Mend, checks: Sequence[CheckResult], sources: Mapping[str, str]) -> SuspectLine:
    """The line that an edit which mends checks points at. `sources` are the student's files."""
    edit = mend.edit
    passing = [check for check in checks if check.check in mend.checks]
    file = clean(edit.file, 80)
    place = Place(f"{file}.py", edit.line, quoted(sources.get(edit.file, ""), edit.line))
    hint = nearly(clean(edit.was), clean(edit.becomes), passing[0].title)
    asked = QUESTIONS[edit.kind]
    return SuspectLine(place, edit.kind, asked, (hint,), tuple(one.check for one in passing))

"""A report as HTML: whole pages, and one exercise as a piece of a notebook."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from grader.curriculum import architecture
from grader.feedback.finding import Finding, Status
from grader.feedback.html import by_class, environment, inline
from grader.feedback.results import CheckResult, ExerciseResult, Report, points
from grader.feedback.text import WORDS
from grader.report.class_summary import summarise
from grader.report.data import write

TEMPLATES = Path(__file__).parent / "templates"


def exercise(result: ExerciseResult) -> str:
    """For a notebook: what was found about one exercise, its points, why, and every check."""
    module: Any = templates(inline).get_template("exercise.html.j2").module
    return str(module.exercise(result))


def write_pages(report: Report, folder: Path) -> Path:
    """Write a page per submission into `folder`, and `index.html` for the whole class.

    Returns the path of the index.
    """
    folder.mkdir(parents=True, exist_ok=True)
    made = templates(by_class)
    page = made.get_template("submission.html.j2")
    pages = []
    for number, result in enumerate(report.submissions, 1):
        slug = re.sub(r"[^A-Za-z0-9]+", "-", result.submission).strip("-")[:60]
        pages.append(f"{number:04}-{slug}.html")
        title = f"{result.submission}: {points(result)} points"
        first = first_to_fix((entry, entry.exercise) for entry in result.exercises)
        passed = [entry for entry in report.passed_over if entry.submission == result.submission]
        text = page.render(
            title=title, submission=result, report=report, first=first, passed_over=passed
        )
        write(folder / pages[-1], text)
    index = made.get_template("index.html.j2").render(
        title="The class" if len(report.submissions) > 1 else "Grades",
        report=report,
        exercises=[result.exercise for result in _first(report)],
        submissions=list(zip(report.submissions, pages, strict=True)),
        whole=summarise(report.submissions),
        by_hand=[
            (submission.submission, page, exercise.exercise, check)
            for submission, page in zip(report.submissions, pages, strict=True)
            for exercise in submission.exercises
            for check in exercise.checks
            if check.override
        ],
        script=Markup(_script()),
        script_hash=_script_hash(),
    )
    write(folder / "index.html", index)
    return folder / "index.html"


@dataclass(frozen=True)
class First:
    """What to fix first: the exercise, where it is on the page, and what is said of it."""

    name: str
    anchor: str
    says: str


def first_to_fix(places: Iterable[tuple[ExerciseResult, str]]) -> First | None:
    """Return the first exercise that lost points for a reason that can be named.

    `places` are the results on a page, each with its anchor.
    """
    for result, anchor in places:
        if result.status in (Status.PASSED, Status.TODO, Status.MISSING):
            continue
        for diagnosis in result.diagnoses:
            return First(result.exercise, anchor, diagnosis.message.partition("\n")[0])
        findings = [result.finding, *(check.finding for check in result.checks)]
        for finding in filter(None, findings):
            return First(result.exercise, anchor, finding.headline)
    return None


def _script() -> str:
    """Return what sorts and searches the table of a class; it is the page's own."""
    return (TEMPLATES / "index.js").read_text(encoding="utf-8")


def _script_hash() -> str:
    """Return what the page's policy says of its script, so that no other runs."""
    digest = hashlib.sha256(_script().encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _first(report: Report) -> tuple[ExerciseResult, ...]:
    return report.submissions[0].exercises if report.submissions else ()


def templates(look: Callable[[str], Markup], *folders: Path) -> Environment:
    """Return the templates of results, for a notebook or a page, and those in further folders."""
    made = environment(look, *folders, TEMPLATES)
    made.filters.update(
        points=points,
        worth=worth,
        earned=earned,
        earned_briefly=earned_briefly,
        frame=_frame,
        said_once=_said_once,
        lit=_lit,
        word=WORDS.get,
    )
    return made


def worth(check: CheckResult) -> str:
    """Return the points of a check; a check without any is a remark."""
    return points(check) if check.max_points else "remark"


def earned(result: ExerciseResult) -> str:
    """Return the points of an exercise or, where none could be earned, why."""
    if result.status in (Status.PASSED, Status.FAILED) or result.by_hand:
        return points(result)
    return WORDS[result.status]


def earned_briefly(result: ExerciseResult) -> str:
    """Return the points alone, where the column says of how many, or why there are none.

    A star marks points by hand.
    """
    if result.points is None or (
        result.status not in (Status.PASSED, Status.FAILED) and not result.by_hand
    ):
        return WORDS[result.status]
    return format(round(result.points, 2), "g") + ("*" if result.by_hand else "")


def _lit(results: Sequence[ExerciseResult]) -> Markup:
    """Return the architecture with what is done lit; nothing if no part of it is done."""
    assigned = [result.exercise for result in results]
    done = {result.exercise for result in results if result.status is Status.PASSED}
    source = architecture.address(done, assigned)
    if not source or len(assigned) < 2 or not done & architecture.SHOWN:
        return Markup()
    words = architecture.caption(done, assigned)
    return Markup('<p><img style="max-width: 100%" alt="{}" src="{}"></p>').format(words, source)


def _frame(result: ExerciseResult) -> str:
    if result.status in (Status.TODO, Status.GRADER_ERROR):
        return "box"
    return "right" if result.status is Status.PASSED else "wrong"


def _said_once(result: ExerciseResult) -> Iterator[tuple[CheckResult, Finding | None]]:
    """Yield the checks to show, each with its finding unless the same was said before."""
    shown: set[str] = set()
    for check in result.checks:
        skipped = check.status is Status.NOT_RUN and result.finding is not None
        if skipped and not check.override:
            continue
        yield check, None if check.message in shown else check.finding
        shown.add(check.message)

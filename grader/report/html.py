"""A report as HTML: pages of their own, and an exercise as a piece that stands in a notebook."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from grader.feedback.finding import Finding, Status
from grader.feedback.html import by_class, environment, inline
from grader.feedback.text import WORDS
from grader.report.class_summary import summarise
from grader.report.data import write
from grader.report.results import CheckResult, ExerciseResult, Report, points

TEMPLATES = Path(__file__).parent / "templates"


def exercise(result: ExerciseResult) -> str:
    """For a notebook: what was found about one exercise, its points, why, and every check."""
    module: Any = templates(inline).get_template("exercise.html.j2").module
    return str(module.exercise(result))


def write_pages(report: Report, folder: Path) -> Path:
    """Writes a page a submission into `folder`, and `index.html`, the page of the whole class.

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
        write(folder / pages[-1], page.render(title=title, submission=result, report=report))
    index = made.get_template("index.html.j2").render(
        title="The class" if len(report.submissions) > 1 else "Grades",
        report=report,
        exercises=[one.exercise for one in _first(report)],
        submissions=list(zip(report.submissions, pages, strict=True)),
        whole=summarise(report.submissions),
    )
    write(folder / "index.html", index)
    return folder / "index.html"


def _first(report: Report) -> tuple[ExerciseResult, ...]:
    return report.submissions[0].exercises if report.submissions else ()


def templates(look: Callable[[str], Markup], *folders: Path) -> Environment:
    """The templates of results, for a notebook or a page, and those in further folders."""
    made = environment(look, *folders, TEMPLATES)
    made.filters.update(
        points=points,
        worth=worth,
        earned=earned,
        frame=_frame,
        said_once=_said_once,
        word=WORDS.get,
    )
    return made


def worth(check: CheckResult) -> str:
    """The points of a check; a check without any is a remark."""
    return points(check) if check.max_points else "remark"


def earned(result: ExerciseResult) -> str:
    """The points of an exercise or, where none could be earned, why."""
    if result.status in (Status.PASSED, Status.FAILED):
        return points(result)
    return WORDS[result.status]


def _frame(result: ExerciseResult) -> str:
    if result.status in (Status.TODO, Status.GRADER_ERROR):
        return "box"
    return "right" if result.status is Status.PASSED else "wrong"


def _said_once(result: ExerciseResult) -> Iterator[tuple[CheckResult, Finding | None]]:
    """The checks to show, each with its finding unless the same was said before."""
    said: set[str] = set()
    for check in result.checks:
        if check.status is Status.NOT_RUN and result.finding is not None:
            continue
        yield check, None if check.message in said else check.finding
        said.add(check.message)

"""The main job on a made-up class: a course, its notebooks, nbgrader, feedback pages."""

from __future__ import annotations

import os
import sysconfig
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook
from nbgrader.apps import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config

from grader.course import configure, example_class, making
from grader.course.gradebook import found_in
from grader.feedback.finding import Status
from grader.feedback.results import ExerciseResult

ASSIGNMENT = making.DEFAULT_ASSIGNMENT
EXPLAINED = "bela"


class DemoError(Exception):
    """nbgrader could not do a step. The message holds what it said."""


def run(folder: Path, isolation: str, students: int) -> Iterator[str | ExerciseResult]:
    """Make the course at `folder`, which must be new, and grade this many students in it.

    Yields a line for each step, and the results of students who lost points. Raises
    `DemoError`, and `CourseError` if `folder` cannot be written.
    """
    if folder.exists():
        raise DemoError(f"{folder} is there already. Name a new folder: grader demo DIR")
    # nbgrader's own way with its database; they are nothing to the reader of a demo.
    warnings.simplefilter("ignore")
    making.make(folder, ASSIGNMENT)
    yield f"A course in {folder}, with the core eight exercises."
    api = _api(folder, isolation)
    _done(api.generate_assignment(ASSIGNMENT))
    members = example_class.members(students)
    example_class.hand_in(folder, ASSIGNMENT, members)
    yield f"{len(members)} notebooks are submitted. nbgrader grades them:"
    start = time.monotonic()
    _done(api.autograde(ASSIGNMENT, "*"))
    seconds = time.monotonic() - start
    with Gradebook(api.coursedir.db_url) as gradebook:
        for member in members:
            graded = gradebook.find_submission(ASSIGNMENT, member.name)
            points = f"{graded.score:g} of {graded.max_score:g}"
            yield f"  {member.name:<10} {points:>12}   {member.story}"
    yield f"{seconds:.0f} s, {seconds / len(members):.1f} s a notebook; isolation: {isolation}."
    _done(api.generate_feedback(ASSIGNMENT))
    yield f"\nWhat {EXPLAINED} reads:"
    explained = found_in(folder / "autograded" / EXPLAINED / ASSIGNMENT / f"{ASSIGNMENT}.ipynb")
    yield from (result for result in explained.values() if result.status is not Status.PASSED)
    pages = folder / "feedback"
    yield f"\nTheir page, with more:  {pages / EXPLAINED / ASSIGNMENT / ASSIGNMENT}.html"
    yield f"Everybody's pages:      {pages}"
    yield f"The grades as a table:  cd {folder} && nbgrader export"
    yield f"In the browser:         cd {folder} && jupyter lab, then the menu Nbgrader"


def _api(folder: Path, isolation: str) -> Any:
    # nbgrader looks for the command of alembic, which a venv that is not activated hides.
    scripts = sysconfig.get_path("scripts")
    os.environ["PATH"] = os.pathsep.join([scripts, os.environ.get("PATH", os.defpath)])
    config = Config()
    config.CourseDirectory.root = str(folder.resolve())
    config.NbGraderAPI.log_level = "ERROR"
    configure(config, isolation)
    return NbGraderAPI(CourseDirectory(config=config), config=config)


def _done(outcome: dict[str, Any]) -> None:
    if not outcome["success"]:
        raise DemoError(outcome.get("log") or outcome.get("error") or "nbgrader gave no reason.")

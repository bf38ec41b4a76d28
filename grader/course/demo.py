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

from grader.course import class_of_twelve, configure, making

ASSIGNMENT = making.DEFAULT_ASSIGNMENT


class DemoError(Exception):
    """nbgrader could not do a step. The message holds what it said."""


def run(folder: Path, isolation: str) -> Iterator[str]:
    """Makes the course at `folder`, which must be new, and grades it. Yields a line for each step.

    Raises `DemoError`.
    """
    # nbgrader's own way with its database; they are nothing to the reader of a demo.
    warnings.simplefilter("ignore")
    making.make(folder, ASSIGNMENT)
    yield f"A course in {folder}, with the core eight exercises."
    api = _api(folder, isolation)
    _done(api.generate_assignment(ASSIGNMENT))
    class_of_twelve.hand_in(folder, ASSIGNMENT)
    members = class_of_twelve.MEMBERS
    yield f"{len(members)} notebooks are handed in. nbgrader grades them:"
    start = time.monotonic()
    _done(api.autograde(ASSIGNMENT, "*"))
    seconds = time.monotonic() - start
    with Gradebook(api.coursedir.db_url) as gradebook:
        for member in members:
            found = gradebook.find_submission(ASSIGNMENT, member.name)
            points = f"{found.score:g} of {found.max_score:g}"
            yield f"  {member.name:<6} {points:>12}   {member.story}"
    yield f"{seconds:.0f} s, {seconds / len(members):.1f} s a notebook; isolation: {isolation}."
    _done(api.generate_feedback(ASSIGNMENT))
    yield f"What bela is told: {folder}/feedback/bela/{ASSIGNMENT}/{ASSIGNMENT}.html"
    yield f"The gradebook: cd {folder} && nbgrader export, or jupyter lab, menu Nbgrader"


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

"""The judge's results for the notebooks of a class, computed together and used one by one.

nbgrader converts one notebook after another. So that this goes at the judge's speed, all that are
to come are handed to it at the first, and it works on them while nbgrader writes.
"""

from __future__ import annotations

import contextlib
import json
import threading
import weakref
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from pathlib import Path

from grader.feedback.results import SubmissionResult, submission_result
from grader.grading.places import located
from grader.sandbox.program import Program, command
from grader.submission import from_notebook


class GraderFailureError(Exception):
    """The grader could not grade a notebook, which is not a zero: nbgrader keeps it as ungraded."""


@dataclass(frozen=True)
class Conditions:
    """How notebooks of one name are graded."""

    exercises: tuple[str, ...]
    seed: int
    isolation: str
    jobs: int
    search: bool


class Classwork:
    """Notebooks of one name, being graded in a process of their own."""

    def __init__(self, paths: Iterable[Path], conditions: Conditions) -> None:
        self.conditions = conditions
        self.submissions = {str(path): from_notebook(str(path), path) for path in paths}
        self.results = {name: Future[SubmissionResult]() for name in self.submissions}
        program = Program(command("grader.course.class_process"))
        weakref.finalize(self, program.terminate)
        submissions = [asdict(submission) for submission in self.submissions.values()]
        task = {"plan": asdict(conditions), "submissions": submissions}
        threading.Thread(target=program.send, args=(task,), daemon=True).start()
        threading.Thread(target=_collect, args=(program, self.results), daemon=True).start()

    def __contains__(self, path: Path) -> bool:
        return str(path) in self.submissions

    def result(self, path: Path) -> SubmissionResult:
        """Wait for what was found about the notebook at `path`, and return it.

        Raises `GraderFailureError` when the judge failed, for this notebook or altogether.
        """
        name = str(path)
        result = self.results[name].result()
        for exercise in result.exercises:
            if exercise.points is None:
                raise GraderFailureError(f"{exercise.exercise}: {exercise.message}")
        return located(result, self.submissions[name].labels)


def _collect(program: Program, results: Mapping[str, Future[SubmissionResult]]) -> None:
    """Set the results that the process finds. Whatever ends this, no caller keeps waiting."""
    try:
        with contextlib.suppress(ValueError, OSError):
            for line in program.replies:
                result = submission_result(json.loads(line))
                results[result.submission].set_result(result)
        program.process.wait()
    finally:
        message = f"The judge ended before its work was done.\n{program.last_words()}"
        for future in results.values():
            if not future.done():
                future.set_exception(GraderFailureError(message))

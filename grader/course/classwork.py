"""What the judge finds about the notebooks of a class, asked for once and used one by one.

nbgrader converts one notebook after another. So that this goes at the judge's speed, all that are
to come are handed to it at the first, and it works on them while nbgrader writes.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from grader.judging.places import located
from grader.report.results import SubmissionResult, submission_result
from grader.submission import Submission, from_notebook

_ROOT = Path(__file__).resolve().parents[2]
_PROGRAM = (
    f"import sys; sys.path.insert(0, {str(_ROOT)!r}); from grader.course import judging; "
    "judging.main()"
)


class GraderFailureError(Exception):
    """The grader could not grade a notebook. That is no zero: nbgrader keeps it as not graded."""


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
        self.found: dict[str, SubmissionResult] = {}
        self.changed = threading.Condition()
        self.ended = False
        # Closed by the process that inherits it and when this object goes.
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
        )
        weakref.finalize(self, _end, self.process)
        task = _task(list(self.submissions.values()), conditions)
        threading.Thread(target=_send, args=(self.process, task), daemon=True).start()
        threading.Thread(
            target=_collect, args=(weakref.ref(self), self.process), daemon=True
        ).start()

    def __contains__(self, path: Path) -> bool:
        return str(path) in self.submissions

    def result(self, path: Path) -> SubmissionResult:
        """What was found about the notebook at `path`; waits for it.

        Raises `GraderFailureError` when the judge failed, for this notebook or altogether.
        """
        name = str(path)
        with self.changed:
            self.changed.wait_for(lambda: name in self.found or self.ended)
        if name not in self.found:
            raise GraderFailureError(f"The judge ended before its work was done.\n{self._said()}")
        result = self.found[name]
        for exercise in result.exercises:
            if exercise.points is None:
                raise GraderFailureError(f"{exercise.exercise}: {exercise.message}")
        return located(result, self.submissions[name].labels)

    def add(self, result: SubmissionResult) -> None:
        """Takes in what the process found."""
        with self.changed:
            self.found[result.submission] = result
            self.changed.notify_all()

    def end(self) -> None:
        """Says that no more will come."""
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def _said(self) -> str:
        """The end of what the process wrote to standard error."""
        self.errors.seek(0)
        return self.errors.read().decode("utf-8", "replace")[-2000:].strip()


def _task(submissions: Sequence[Submission], conditions: Conditions) -> bytes:
    asked = [asdict(one) for one in submissions]
    return json.dumps({"plan": asdict(conditions), "submissions": asked}).encode()


def _send(process: subprocess.Popen[bytes], task: bytes) -> None:
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.write(task)
        process.stdin.close()


def _collect(reference: weakref.ref[Classwork], process: subprocess.Popen[bytes]) -> None:
    """Takes in what the process finds. Whatever ends this, nobody waits for more."""
    assert process.stdout is not None
    try:
        with contextlib.suppress(ValueError, OSError):
            for line in process.stdout:
                result = submission_result(json.loads(line))
                classwork = reference()
                if classwork is None:
                    return
                classwork.add(result)
                del classwork
        process.wait()
    finally:
        classwork = reference()
        if classwork is not None:
            classwork.end()


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()

"""Points that an instructor gave by hand, in a file beside the grades.

The file is applied whenever grades are made or read. So points by hand stay when a class is graded
again or a run is resumed, and appear in every form in which grades are written.
"""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from grader.feedback import records
from grader.feedback.results import (
    CheckResult,
    ExerciseResult,
    Override,
    Points,
    Report,
    SubmissionResult,
)
from grader.report.data import write_kept

SUFFIX = ".overrides"


class OverridesError(Exception):
    """A name fits nothing in the grades, or the file is damaged. The message says what to do."""


@dataclass(frozen=True)
class Given:
    """The points that a check of somebody's has by hand, and why."""

    submission: str
    exercise: str
    check: str
    points: Points
    note: str

    @property
    def key(self) -> tuple[str, str, str]:
        """What it is about."""
        return self.submission, self.exercise, self.check


def path_of(grades: Path) -> Path:
    """Return the path of the overrides of the report `grades`."""
    return grades.with_name(grades.name + SUFFIX)


def read(file: Path) -> tuple[Given, ...]:
    """Return what was given by hand; nothing where there is no such file.

    Raises `OverridesError`.
    """
    if not file.exists():
        return ()
    try:
        fields = records.loaded(file.read_bytes())
        return tuple(records.read(Given, entry) for entry in fields["overrides"])
    except OSError as error:
        raise OverridesError(f"{file} cannot be read: {error.strerror}.") from None
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise OverridesError(
            f"{file} cannot be read: {str(error)[:200]}. It holds the points given by hand: repair "
            "it, or delete it to be left with the grader's."
        ) from None


def write(file: Path, given: Iterable[Given]) -> None:
    """Keep what was given by hand. Raises `OSError`."""
    fields = {"overrides": [asdict(entry) for entry in given]}
    write_kept(file, json.dumps(fields, indent=1, ensure_ascii=False) + "\n")


def applied(report: Report, given: Iterable[Given]) -> tuple[Report, tuple[Given, ...]]:
    """Return the report with these points in the place of the grader's, and what fits nothing.

    What an earlier application has put there is taken back first.
    """
    left = {entry.key: entry for entry in given}
    submissions = tuple(_submission(result, left) for result in report.submissions)
    return replace(report, submissions=submissions), tuple(left.values())


def _submission(
    result: SubmissionResult, left: dict[tuple[str, str, str], Given]
) -> SubmissionResult:
    exercises = tuple(_exercise(result.submission, exercise, left) for exercise in result.exercises)
    if exercises == result.exercises:
        return result
    earned = [exercise.points for exercise in exercises]
    graded = None if result.points is None else math.fsum(filter(None, earned))
    return replace(result, exercises=exercises, points=graded)


def _exercise(
    submission: str, result: ExerciseResult, left: dict[tuple[str, str, str], Given]
) -> ExerciseResult:
    checks = []
    for check in result.checks:
        key = (submission, result.exercise, check.check)
        given = left.get(key)
        as_graded = graded(check)
        if given is not None and result.points is not None and given.points <= check.max_points:
            del left[key]
            override = Override(as_graded.points, given.note)
            checks.append(replace(as_graded, points=given.points, override=override))
        else:
            checks.append(as_graded)
    if tuple(checks) == result.checks or result.points is None:
        return result
    more = math.fsum(
        new.points - old.points for new, old in zip(checks, result.checks, strict=True)
    )
    points = min(max(round(result.points + more, 9), 0.0), result.max_points)
    return replace(result, checks=tuple(checks), points=points)


def graded(check: CheckResult) -> CheckResult:
    """Return a check as the grader left it."""
    if check.override is None:
        return check
    return replace(check, points=check.override.graded, override=None)


def found(report: Report, submission: str, exercise: str, check: str) -> Given:
    """Return what these names mean in a report, with the points that it has there now.

    A check is named by its name, its title, or a part of one that no other check has. Raises
    `OverridesError` with the near ones for a name that is not there.
    """
    names = [result.submission for result in report.submissions]
    _require(submission, names, "submission")
    result = report.submissions[names.index(submission)]
    exercises = [graded.exercise for graded in result.exercises]
    _require(exercise, exercises, f"exercise in the grades of {submission}")
    chosen = result.exercises[exercises.index(exercise)]
    if chosen.points is None:
        raise OverridesError(
            f"{exercise} of {submission} could not be graded, so that none of its checks has "
            "points. Grade it again first."
        )
    named = _check(chosen, check)
    return Given(submission, exercise, named.check, named.points, "")


def _require(name: str, names: Sequence[str], kind: str) -> None:
    if name in names:
        return
    near = [known for known in names if _plain(name) in _plain(known)]
    near += difflib.get_close_matches(name, names, 5, 0.5)
    listed = list(dict.fromkeys(near))[:5]
    if listed:
        raise OverridesError(f"There is no {kind} {name!r}. Near it: {', '.join(listed)}.")
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    raise OverridesError(f"There is no {kind} {name!r}. There are: {', '.join(names[:5])}{more}.")


def _check(result: ExerciseResult, name: str) -> CheckResult:
    wanted = _plain(name)
    exact = [
        check for check in result.checks if wanted in (_plain(check.check), _plain(check.title))
    ]
    part = [
        check
        for check in result.checks
        if wanted in f"{_plain(check.check)}\n{_plain(check.title)}"
    ]
    chosen = exact or (part if wanted else [])
    if len(chosen) == 1:
        return chosen[0]
    problem = "fits several checks" if chosen else "fits no check"
    listed = "\n".join(
        f"  {check.check}: {check.title} ({check.points:g} of {check.max_points:g})"
        for check in chosen or result.checks
    )
    raise OverridesError(f"{name!r} {problem} of {result.exercise}. There are:\n{listed}")


def _plain(name: str) -> str:
    """Return a name without case, underscores and punctuation."""
    letters = (letter if letter.isalnum() else " " for letter in name.casefold())
    return " ".join("".join(letters).split())

"""What grading finds, as data: `report/` renders it, the JSON of `grader grade` is made of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Status = Literal[
    "passed", "failed", "todo", "missing", "error", "timeout", "died", "protocol", "not_run",
    "grader_error",
]  # fmt: skip

SCHEMA = 1


@dataclass(frozen=True)
class CheckResult:
    """What one check found."""

    check: str
    title: str
    status: Status
    points: float
    max_points: float
    message: str = ""


@dataclass(frozen=True)
class Diagnosis:
    """Known mistakes that behave exactly as the student's code does."""

    mistakes: tuple[str, ...]
    message: str


@dataclass(frozen=True)
class ExerciseResult:
    """What the checks of one exercise found. `message` is what concerns them all.

    `points` is None where the grader failed: that is no zero.
    """

    exercise: str
    status: Status
    points: float | None
    max_points: float
    message: str = ""
    checks: tuple[CheckResult, ...] = ()
    diagnoses: tuple[Diagnosis, ...] = ()


@dataclass(frozen=True)
class Integration:
    """Whether the student's own pieces work together as a whole model. Worth no points."""

    status: Status
    message: str


@dataclass(frozen=True)
class SubmissionResult:
    """One student's work."""

    submission: str
    points: float | None
    max_points: float
    exercises: tuple[ExerciseResult, ...]
    together: Integration | None = None


@dataclass(frozen=True)
class Report:
    """A run: the seed reproduces it, the isolation says how far the code was kept apart."""

    seed: int
    isolation: str
    submissions: tuple[SubmissionResult, ...] = field(default=())
    schema: int = SCHEMA


def exercise_result(data: dict[str, Any]) -> ExerciseResult:
    """An exercise's result from its JSON, as `dataclasses.asdict` made it."""
    checks = tuple(CheckResult(**check) for check in data["checks"])
    diagnoses = tuple(
        Diagnosis(tuple(one["mistakes"]), one["message"]) for one in data["diagnoses"]
    )
    return ExerciseResult(**{**data, "checks": checks, "diagnoses": diagnoses})


def submission_result(data: dict[str, Any]) -> SubmissionResult:
    """A submission's result from its JSON, as `dataclasses.asdict` made it."""
    exercises = tuple(map(exercise_result, data["exercises"]))
    together = Integration(**data["together"]) if data["together"] else None
    return SubmissionResult(**{**data, "exercises": exercises, "together": together})

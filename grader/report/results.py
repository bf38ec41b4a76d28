"""What grading finds, as data: `report/` renders it, the JSON of `grader grade` is made of it.

The JSON is an interface: it grows, and nothing in it is renamed. `message` in it is the finding's
plain text, for programs that show it as it is.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

from grader.feedback import text
from grader.feedback.finding import Finding, Place, Status, finding_fields, finding_from

SCHEMA = 1


@dataclass(frozen=True)
class CheckResult:
    """What one check found."""

    check: str
    title: str
    status: Status
    points: float
    max_points: float
    finding: Finding | None = None

    @property
    def message(self) -> str:
        """The finding as plain text; "" for none."""
        return text.plain(self.finding)


@dataclass(frozen=True)
class Diagnosis:
    """Known mistakes that explain what is wrong; several look the same from here.

    `message` says what is wrong and asks the question that leads on. `shows` quotes the student's
    own numbers and line. `hints` go further, each a step: where to read, then what to write but for
    the writing. They are shown one at a time.
    """

    mistakes: tuple[str, ...]
    message: str
    hints: tuple[str, ...] = ()
    shows: str = ""

    @property
    def in_full(self) -> str:
        """What is wrong, where the student can see it, and the question."""
        tells, _, asks = self.message.partition("\n")
        return "\n".join(filter(None, (tells, self.shows, asks)))


@dataclass(frozen=True)
class SuspectLine:
    """A line of the student's that looks wrong: a small edit of it makes failing checks pass.

    `asks` is the question that leads on, `hints` go further: the last one is the edit. `checks` are
    those that pass then.
    """

    place: Place
    kind: str
    asks: str
    hints: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        """The line, and the question."""
        return f"Look at {text.place(self.place)}\n{self.asks}"


@dataclass(frozen=True)
class ExerciseResult:
    """What the checks of one exercise found. `finding` is what concerns them all.

    `points` is None where the grader failed: that is no zero. `remarks` are for the instructor, on
    places in the source to look at; they cost nothing. `structure` are hashes of what the code is
    made of, names and layout left out, by which near-identical answers are found.
    `points` is None where the grader failed: that is no zero. `lines` are those to look at where
    no known mistake explains what is wrong. `remarks` are for the instructor, on
    places in the source to look at; they cost nothing.
    """

    exercise: str
    status: Status
    points: float | None
    max_points: float
    finding: Finding | None = None
    checks: tuple[CheckResult, ...] = ()
    diagnoses: tuple[Diagnosis, ...] = ()
    remarks: tuple[str, ...] = ()
    structure: tuple[int, ...] = ()
    lines: tuple[SuspectLine, ...] = ()

    @property
    def message(self) -> str:
        """The finding as plain text; "" for none."""
        return text.plain(self.finding)


@dataclass(frozen=True)
class Integration:
    """Whether the student's own pieces work together as a whole model. Worth no points."""

    status: Status
    finding: Finding

    @property
    def message(self) -> str:
        """The finding as plain text."""
        return text.plain(self.finding)


@dataclass(frozen=True)
class SubmissionResult:
    """One student's work."""

    submission: str
    points: float | None
    max_points: float
    exercises: tuple[ExerciseResult, ...]
    integration: Integration | None = None


@dataclass(frozen=True)
class Report:
    """A run: the seed reproduces it, the isolation says how far the code was kept apart."""

    seed: int
    isolation: str
    submissions: tuple[SubmissionResult, ...] = field(default=())
    schema: int = SCHEMA


def report_from(fields: dict[str, Any]) -> Report:
    """The report whose JSON this is. Raises ValueError where it is something else."""
    try:
        submissions = tuple(map(submission_result, fields["submissions"]))
        return Report(fields["seed"], fields["isolation"], submissions)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"it is no report of grader grade ({error!r})") from None


def submission_fields(result: SubmissionResult) -> dict[str, Any]:
    """One submission of the report, as the JSON has it."""
    return {
        "submission": result.submission,
        "points": result.points,
        "max_points": result.max_points,
        "exercises": [exercise_fields(one) for one in result.exercises],
        "together": result.integration and _said(result.integration),
    }


def exercise_fields(result: ExerciseResult) -> dict[str, Any]:
    """One exercise of the report, as the JSON has it."""
    return {
        **_said(result),
        "checks": [_said(check) for check in result.checks],
        "diagnoses": [
            {
                "mistakes": list(one.mistakes),
                "message": one.message,
                "shows": one.shows,
                "hints": list(one.hints),
            }
            for one in result.diagnoses
        ],
        "lines": [{**asdict(one), "message": one.message} for one in result.lines],
        "remarks": list(result.remarks),
        "structure": " ".join(format(one, "x") for one in result.structure),
    }


def _said(result: CheckResult | ExerciseResult | Integration) -> dict[str, Any]:
    fields = {**vars(result), "message": result.message}
    return {**fields, "finding": finding_fields(result.finding)}


def submission_result(data: dict[str, Any]) -> SubmissionResult:
    """The inverse of `submission_fields`."""
    together = data["together"]
    return SubmissionResult(
        submission=data["submission"],
        points=data["points"],
        max_points=data["max_points"],
        exercises=tuple(map(exercise_result, data["exercises"])),
        integration=together and Integration(Status(together["status"]), _found(together)),
    )


def exercise_result(data: dict[str, Any]) -> ExerciseResult:
    """The inverse of `exercise_fields`."""
    return ExerciseResult(
        exercise=data["exercise"],
        status=Status(data["status"]),
        points=data["points"],
        max_points=data["max_points"],
        finding=_found(data),
        checks=tuple(map(_check_result, data["checks"])),
        diagnoses=tuple(
            Diagnosis(
                tuple(one["mistakes"]),
                one["message"],
                tuple(one.get("hints", ())),
                one.get("shows", ""),
            )
            for one in data["diagnoses"]
        ),
        lines=tuple(map(_suspect, data.get("lines", ()))),
        remarks=tuple(data.get("remarks", ())),
        structure=tuple(int(one, 16) for one in data.get("structure", "").split()),
    )


def _suspect(data: dict[str, Any]) -> SuspectLine:
    return SuspectLine(
        place=Place(**data["place"]),
        kind=data["kind"],
        asks=data["asks"],
        hints=tuple(data["hints"]),
        checks=tuple(data["checks"]),
    )


def _check_result(data: dict[str, Any]) -> CheckResult:
    return CheckResult(
        check=data["check"],
        title=data["title"],
        status=Status(data["status"]),
        points=data["points"],
        max_points=data["max_points"],
        finding=_found(data),
    )


def _found(data: dict[str, Any]) -> Any:
    """The finding; in a report that is older than findings, its message is all there is of one."""
    found = finding_from(data.get("finding"))
    return found or (Finding(data["message"]) if data["message"] else None)


def weighed(result: ExerciseResult, worth: float) -> ExerciseResult:
    """The result where the exercise is worth so many points, its checks in proportion."""
    if result.max_points in (worth, 0):
        return result
    share = worth / result.max_points
    checks = tuple(
        replace(one, points=one.points * share, max_points=one.max_points * share)
        for one in result.checks
    )
    earned = None if result.points is None else result.points * share
    return replace(result, points=earned, max_points=worth, checks=checks)


def points(result: ExerciseResult | SubmissionResult | CheckResult) -> str:
    """Points as "12.5 of 15"; "?" where the grader failed."""
    found = "?" if result.points is None else format(round(result.points, 4), "g")
    return f"{found} of {result.max_points:g}"

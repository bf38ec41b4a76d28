"""What grading finds, as data: `report/` renders it, the JSON of `grader grade` is made of it.

The JSON is an interface: it grows, and nothing in it is renamed. `message` in it is the finding's
plain text, for programs that show it as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from grader.feedback import records, text
from grader.feedback.finding import Finding, Place, Status
from grader.feedback.records import Within

SCHEMA = 1
Points = Annotated[float, Within(0.0, 1e6)]  # that somebody can have


@dataclass(frozen=True)
class Override:
    """The points that the grader gave a check, where an instructor gave others, and why."""

    graded: Points
    note: str


@dataclass(frozen=True)
class CheckResult:
    """What one check found. Where there is an `override`, the points are an instructor's."""

    check: str
    title: str
    status: Status
    points: Points
    max_points: Points
    finding: Finding | None = None
    override: Override | None = None

    @property
    def message(self) -> str:
        """The finding as plain text; "" for none."""
        return text.plain(self.finding)

    @property
    def by_hand(self) -> str:
        """What an instructor changed, in a sentence; "" for nothing."""
        if self.override is None:
            return ""
        graded = format(round(self.override.graded, 4), "g")
        return f"Points by hand: {points(self)}, not {graded}. {self.override.note}"


@dataclass(frozen=True)
class Diagnosis:
    """A mistake, known or proven by the source; several names where they look the same from here.

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

    `tells` says what kind of edit that is, and what comes of it. `asks` is the question that leads
    on, `hints` go further: the last one is the edit. `checks` are those that pass then.
    """

    place: Place
    kind: str
    asks: str
    hints: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    tells: str = ""

    @property
    def message(self) -> str:
        """The line, what helps there, and the question."""
        said = filter(None, (f"Look at {text.place(self.place)}", self.tells, self.asks))
        return "\n".join(said)


@dataclass(frozen=True)
class ExerciseResult:
    """What the checks of one exercise found. `finding` is what concerns them all.

    `points` is None where the grader failed, which is not a zero. `remarks` are for instructors, on
    suspicious places in the source; they cost nothing. `structure` are hashes of what the code is
    made of, names and layout left out, by which near-identical answers are found. `lines` are those
    to look at where no known mistake explains what is wrong.
    """

    exercise: str
    status: Status
    points: Points | None
    max_points: Points
    finding: Finding | None = None
    checks: tuple[CheckResult, ...] = ()
    diagnoses: tuple[Diagnosis, ...] = ()
    remarks: tuple[str, ...] = ()
    structure: tuple[int, ...] = ()
    lines: tuple[SuspectLine, ...] = ()

    @property
    def by_hand(self) -> bool:
        """Whether an instructor gave points."""
        return any(check.override is not None for check in self.checks)

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
    points: Points | None
    max_points: Points
    exercises: tuple[ExerciseResult, ...]
    integration: Integration | None = None


@dataclass(frozen=True)
class PassedOver:
    """What was not graded, and why. `submission` is the student's, or "" where it is nobody's.

    `work` says that it looks like a student's work, so that a person has to check it.
    """

    path: str
    reason: str
    work: bool
    submission: str = ""

    @property
    def message(self) -> str:
        """The path, whose it is, and the reason."""
        owner = f"{self.submission}: " if self.submission else ""
        return f"{owner}{self.path}: {self.reason}"


@dataclass(frozen=True)
class Report:
    """A run: the seed reproduces it, `isolation` says how the code was isolated."""

    seed: int
    isolation: str
    submissions: tuple[SubmissionResult, ...] = field(default=())
    schema: int = SCHEMA
    passed_over: tuple[PassedOver, ...] = ()


# What comes of fields that are missing or of another kind.
_UNLIKE = (KeyError, TypeError, AttributeError)


def report_from(data: Any) -> Report:
    """Return the report whose JSON this is. Raises ValueError where it is something else."""
    try:
        submissions = [_submission(submission) for submission in data["submissions"]]
    except _UNLIKE as error:
        raise ValueError(f"it is not a report of grader grade ({error!r})") from None
    return records.read(Report, {**data, "submissions": submissions})


def kept_result(text: str | bytes) -> SubmissionResult:
    """Return the result saved as this JSON. Raises ValueError if it is anything else."""
    try:
        return submission_result(records.loaded(text))
    except _UNLIKE as error:
        raise ValueError(f"it is not a result of grader grade ({error!r})") from None


def submission_fields(result: SubmissionResult) -> dict[str, Any]:
    """Return one submission of the report, as the JSON has it."""
    return {
        "submission": result.submission,
        "points": result.points,
        "max_points": result.max_points,
        "exercises": [exercise_fields(exercise) for exercise in result.exercises],
        "together": result.integration and _said(result.integration),
    }


def exercise_fields(result: ExerciseResult) -> dict[str, Any]:
    """Return one exercise of the report, as the JSON has it."""
    return {
        **_said(result),
        "checks": [_said(check) for check in result.checks],
        "lines": [_said(line) for line in result.lines],
        "structure": " ".join(format(part, "x") for part in result.structure),
    }


def _said(result: CheckResult | ExerciseResult | Integration | SuspectLine) -> dict[str, Any]:
    return {**records.fields(result), "message": result.message}


def submission_result(data: Any) -> SubmissionResult:
    """Return the submission that `submission_fields` made this of."""
    return records.read(SubmissionResult, _submission(data))


def exercise_result(data: Any) -> ExerciseResult:
    """Return the result that `exercise_fields` made this of."""
    return records.read(ExerciseResult, _exercise(data))


def _submission(data: Any) -> dict[str, Any]:
    """Return the fields of a submission, without what the JSON has in another form."""
    exercises = [_exercise(exercise) for exercise in data["exercises"]]
    together = data["together"] and _found(data["together"])
    return {**data, "exercises": exercises, "integration": together}


def _exercise(data: Any) -> dict[str, Any]:
    structure = [int(part, 16) for part in data.get("structure", "").split()]
    checks = [_found(check) for check in data["checks"]]
    return {**_found(data), "checks": checks, "structure": structure}


def _found(data: Any) -> dict[str, Any]:
    """Return the fields with a finding, made from the message in reports older than findings."""
    finding = {"headline": data["message"]} if data["message"] else None
    return {**data, "finding": data.get("finding") or finding}


def weighed(result: ExerciseResult, worth: float) -> ExerciseResult:
    """Return the result rescaled to this many points, its checks in proportion."""
    if result.max_points in (worth, 0):
        return result
    share = worth / result.max_points
    checks = tuple(
        replace(check, points=check.points * share, max_points=check.max_points * share)
        for check in result.checks
    )
    earned = None if result.points is None else result.points * share
    return replace(result, points=earned, max_points=worth, checks=checks)


def points(result: ExerciseResult | SubmissionResult | CheckResult) -> str:
    """Return points as "12.5 of 15"; "?" where the grader failed."""
    earned = "?" if result.points is None else format(round(result.points, 4), "g")
    return f"{earned} of {result.max_points:g}"

"""No right answer is refused, no wrong one passes: every one goes through the real judge."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader import curriculum
from grader.curriculum import mistakes, stubs
from grader.judging.judge import Judge
from grader.judging.recording import Recordings
from grader.report.results import ExerciseResult
from grader.sandbox.host import Host
from grader.submission import Submission

HERE = Path(__file__).parent
SEED = int(os.environ.get("FAIRNESS_SEED", 2017))


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    with Host() as host:
        yield host


@pytest.fixture(scope="module")
def judges(host: Host) -> dict[str, Judge]:
    return {name: Judge([name], Recordings(SEED), host) for name in curriculum.NAMES}


def grade(judges: dict[str, Judge], exercise: str, source: str) -> ExerciseResult:
    submission = Submission("somebody", {exercise: source})
    return judges[exercise].grade(submission).exercises[0]


def lost(result: ExerciseResult) -> str:
    """What the result says against the answer, for the message of a failed assertion."""
    said = [f"{one.check}: {one.message}" for one in result.checks if one.points < one.max_points]
    return "\n".join([result.message, *said])


def of(exercise: str, value: object, name: str = "") -> object:
    """A parameter whose id begins with the exercise, which tells where the test is to run."""
    return pytest.param(value, id=f"{exercise}-{name}" if name else exercise)


def files(kind: str) -> list[object]:
    found = sorted((HERE / kind).glob("*/*.py"))
    return [of(path.parent.name, path, path.stem) for path in found]


EXERCISES = [of(name, name) for name in curriculum.NAMES]


@pytest.mark.parametrize("exercise", EXERCISES)
def test_the_solution_gets_full_marks(judges: dict[str, Judge], exercise: str) -> None:
    result = grade(judges, exercise, stubs.reference_source(exercise))
    assert result.points == result.max_points == curriculum.find(exercise).points, lost(result)
    assert result.status == "passed"


@pytest.mark.parametrize("path", files("variants"))
def test_a_right_but_odd_answer_gets_full_marks(judges: dict[str, Judge], path: Path) -> None:
    result = grade(judges, path.parent.name, path.read_text(encoding="utf-8"))
    assert result.points == result.max_points, lost(result)


@pytest.mark.parametrize("path", files("lazy"))
def test_a_lazy_answer_gets_nothing(judges: dict[str, Judge], path: Path) -> None:
    result = grade(judges, path.parent.name, path.read_text(encoding="utf-8"))
    assert result.points == 0, [one.check for one in result.checks if one.points]


@pytest.mark.parametrize(
    "mistake",
    [
        of(name, mistake, mistake.name)
        for name in curriculum.NAMES
        for mistake in mistakes.load(name)
    ],
)
def test_a_known_mistake_loses_points(judges: dict[str, Judge], mistake: mistakes.Mistake) -> None:
    answers = {"": stubs.reference_source(mistake.exercise)} | mistakes.forms(mistake.exercise)
    source = mistake.apply(answers[mistake.edits[0].form])
    result = grade(judges, mistake.exercise, source)
    assert result.points is not None
    assert result.points < result.max_points
    assert result.status not in ("passed", "grader_error")


def test_the_unbiased_variance_costs_one_check_only(judges: dict[str, Judge]) -> None:
    """The commonest mistake of all; checks of other things let it pass."""
    known = {one.name: one for one in mistakes.load("layer_norm")}
    source = known["unbiased-variance"].apply(stubs.reference_source("layer_norm"))
    result = grade(judges, "layer_norm", source)
    lost_in = [one.check for one in result.checks if one.points < one.max_points]
    assert lost_in == ["agrees_with_torch"]


@pytest.mark.parametrize("exercise", EXERCISES)
def test_every_stub_is_to_do(judges: dict[str, Judge], exercise: str) -> None:
    source = stubs.stub(stubs.solution(exercise), exercise)
    result = grade(judges, exercise, source)
    assert (result.status, result.points) == ("todo", 0)


@pytest.mark.parametrize("exercise", EXERCISES)
def test_every_exercise_has_lazy_answers(exercise: str) -> None:
    assert any((HERE / "lazy" / exercise).glob("*.py")), (
        f"write one: tests/lazy/{exercise}/zeros.py"
    )


def test_there_are_enough_of_each() -> None:
    assert sum(len(mistakes.load(name)) for name in curriculum.NAMES) >= 110
    assert len(files("variants")) >= 60

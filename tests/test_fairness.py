"""Solutions get full marks and stubs are to do; what a mistake costs. All by the real judge.

That no right answer is refused and no wrong one passes is what `grader scorecard --check` proves.
"""

from __future__ import annotations

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
SEED = 2017


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


@pytest.mark.parametrize("exercise", curriculum.NAMES)
def test_the_solution_gets_full_marks(judges: dict[str, Judge], exercise: str) -> None:
    result = grade(judges, exercise, stubs.reference_source(exercise))
    assert result.points == result.max_points == curriculum.find(exercise).points, lost(result)
    assert result.status == "passed"


def test_the_unbiased_variance_costs_one_check_only(judges: dict[str, Judge]) -> None:
    """The commonest mistake of all; checks of other things let it pass."""
    known = {one.name: one for one in mistakes.load("layer_norm")}
    source = known["unbiased-variance"].apply(stubs.reference_source("layer_norm"))
    result = grade(judges, "layer_norm", source)
    lost_in = [one.check for one in result.checks if one.points < one.max_points]
    assert lost_in == ["agrees_with_torch"]


@pytest.mark.parametrize("exercise", curriculum.NAMES)
def test_every_stub_is_to_do(judges: dict[str, Judge], exercise: str) -> None:
    source = stubs.stub(stubs.solution(exercise), exercise)
    result = grade(judges, exercise, source)
    assert (result.status, result.points) == ("todo", 0)


@pytest.mark.parametrize("exercise", curriculum.NAMES)
def test_every_exercise_has_lazy_answers(exercise: str) -> None:
    assert any((HERE / "lazy" / exercise).glob("*.py")), (
        f"write one: tests/lazy/{exercise}/zeros.py"
    )

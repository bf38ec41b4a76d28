"""The scorecard counts what became of answers, and says when a figure falls."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache

import pytest
import torch

from grader import cli, curriculum
from grader.feedback.comparison import assert_matches
from grader.feedback.finding import Place, Status
from grader.feedback.mismatch import Mismatch
from grader.feedback.results import Diagnosis, ExerciseResult, SuspectLine
from grader.feedback.tolerance import measured
from grader.grading.judge import Judge
from grader.grading.recording import Recordings
from grader.quality import table
from grader.quality.scorecard import Case, add, cases, listed, measure
from grader.quality.table import Score
from grader.sandbox.host import Host
from grader.submission import Submission
from tests import DATA, ROOT

KEPT = {
    score.exercise: score for score in table.read(json.loads((DATA / "scorecard.json").read_text()))
}
SECONDS = 12  # about how long a part of an exercise takes at most
SHARE = 40  # of so many parts every run has one; `grader scorecard --check` grades all
LISTED = 0.5  # about how much of an exercise's time is for what is listed, as tested here


def graded(points: float, *named: str) -> ExerciseResult:
    result = tuple(Diagnosis((name,), name, ()) for name in named)
    return ExerciseResult("masks", Status.FAILED, points, 10, None, (), diagnoses=result)


def counted(kind: str, true: tuple[str, ...], result: ExerciseResult) -> Score:
    score = Score("masks")
    add(score, Case(kind, "one", not true and kind != "lazy", true, ""), result)
    return score


def test_what_is_named_second_is_not_named_first() -> None:
    score = counted("mistake", ("turned",), graded(4, "other", "turned"))
    assert (score.known, score.first, score.within_two, score.wrongly) == (1, 0, 1, 0)
    assert score.missed == ["mistake one: named other, turned"]


def test_something_else_alone_is_named_wrongly() -> None:
    assert counted("mistake", ("turned",), graded(4, "other")).wrongly == 1
    assert counted("mistake", ("turned",), graded(4)).silent == 1


def test_of_a_pair_one_or_both_may_be_named() -> None:
    first = counted("pair", ("a", "b"), graded(4, "b"))
    assert (first.pairs, first.pairs_first, first.pairs_both) == (1, 1, 0)
    assert counted("pair", ("a", "b"), graded(4, "b", "a")).pairs_both == 1


def test_a_lazy_answer_is_caught_when_it_earns_nothing() -> None:
    assert counted("lazy", (), graded(1)).caught == 0
    assert counted("lazy", (), graded(0)).caught == 1


def test_of_a_slip_without_a_name_the_line_is_told() -> None:
    def slip(*shown_lines: int) -> Score:
        score = Score("masks")
        lines = tuple(SuspectLine(Place("masks.py", line), "axis", "") for line in shown_lines)
        add(score, Case("slip", "one", False, (), "", 7), replace(graded(4), lines=lines))
        return score

    assert (slip(7).unnamed, slip(7).line_found, slip(7).line_wrong) == (1, 1, 0)
    assert (slip(8).unnamed, slip(8).line_found, slip(8).line_wrong) == (1, 0, 1)
    assert (slip().unnamed, slip().line_found, slip().line_wrong) == (1, 0, 0)


def test_a_right_answer_that_is_refused_or_spoken_of_is_a_fault() -> None:
    refused = counted("variants", (), graded(9, "turned"))
    assert (refused.right, refused.accepted, refused.right_named) == (1, 0, 1)
    assert table.faults([refused], [Score("masks", right=1, accepted=1)]) == [
        "masks: a right answer is refused",
        "masks: a mistake is named in a right answer",
    ]


def test_a_figure_that_falls_is_told_with_both_numbers() -> None:
    before = Score("masks", known=40, first=40, within_two=40)
    after = Score("masks", known=41, first=38, within_two=41)
    assert table.faults([after], [before]) == ["masks: first: 38 of 41, before 40 of 40"]
    assert table.faults([before], [after]) == [
        "masks: 40 answers with one known mistake, before 41"
    ]
    assert table.faults([after], [after]) == []


def test_one_mistake_that_is_named_no_more_is_told() -> None:
    before = Score("masks", known=41, first=41, within_two=41)
    after = Score("masks", known=41, first=40, within_two=41)
    assert table.faults([after], [before]) == ["masks: first: 40 of 41, before 41 of 41"]


def test_a_new_mistake_has_to_be_named() -> None:
    before = Score("masks", known=40, first=40, within_two=40)
    after = Score("masks", known=41, first=40, within_two=40)
    assert table.faults([after], [before]) == [
        "masks: first: 40 of 41, before 40 of 40",
        "masks: within two: 40 of 41, before 40 of 40",
    ]


def test_other_pairs_may_fare_a_little_worse_but_not_much() -> None:
    before = Score("masks", pairs=100, pairs_first=90, pairs_both=90)
    assert table.faults([Score("masks", pairs=100, pairs_first=89, pairs_both=88)], [before]) == []
    worse = table.faults([Score("masks", pairs=100, pairs_first=87, pairs_both=90)], [before])
    assert worse == ["all: pairs first: 87 of 100, before 90 of 100"]


def test_how_near_a_comparison_came_to_its_tolerance_is_measured() -> None:
    first = torch.ones(3, dtype=torch.float64)
    with measured() as noted:
        assert_matches(first + 1e-5, first)
        with pytest.raises(Mismatch):
            assert_matches(first + 1e-3, first)
    assert noted == pytest.approx([0.25, 25.0])


@pytest.mark.full
def test_a_sample_is_the_same_again_and_a_smaller_one_is_part_of_it() -> None:
    def pairs(sample: int) -> list[str]:
        result = cases("sublayer", DATA, 3, sample)
        return [item.name for item in result if item.kind == "pair"]

    assert pairs(2) == pairs(4)[:2]


@pytest.mark.full(seconds=7)
def test_an_exercise_is_measured(host: Host) -> None:
    score = measure("linear", DATA, 3, 1, host)
    assert score.accepted == score.right >= 7
    assert score.caught == score.wrong >= 30
    assert score.first == score.known >= 24
    assert score.pairs == score.edits == 1
    assert 0 < score.nearest_right < 1
    assert score.nearest_wrong is None or score.nearest_wrong > 1


@pytest.fixture
def unwatched(monkeypatch: pytest.MonkeyPatch) -> None:
    """What else an answer calls costs no point and names no mistake: it need not run once more."""
    monkeypatch.setattr(Judge, "_unusual_calls", lambda *_: [])


@cache
def listed_cases(exercise: str) -> list[Case]:
    """Every mistake in one of its forms: `grader scorecard` has them all, and pairs of them."""
    first: dict[tuple[str, object], Case] = {}
    for case in listed(exercise, DATA):
        first.setdefault((case.kind, case.mistakes or case.name), case)
    return list(first.values())


def fared(exercise: str, graded: Iterable[Case], host: Host, recordings: Recordings) -> Score:
    score = Score(exercise)
    judge = Judge([exercise], recordings, host, shrink=False)
    for case in graded:
        result = judge.grade(Submission("somebody", {exercise: case.source})).exercises[0]
        assert result.points is not None, result.message
        add(score, case, result)
    return score


def _seconds(exercise: str) -> float:
    """How long it took to make the score that is kept: of a new exercise there is none."""
    return KEPT[exercise].seconds if exercise in KEPT else SECONDS


def _parts() -> Iterator[object]:
    """Every exercise in as many parts of about the same length as it takes, to draw from."""
    for exercise in curriculum.NAMES:
        seconds = _seconds(exercise) * LISTED
        parts = math.ceil(seconds / SECONDS)
        for part in range(parts):
            marks = pytest.mark.full(seconds=seconds / parts, share=SHARE)
            yield pytest.param(
                exercise, slice(part, None, parts), marks=marks, id=f"{exercise}-{part}"
            )


@pytest.mark.usefixtures("unwatched")
@pytest.mark.parametrize(("exercise", "part"), [*_parts()])
def test_no_answer_fares_worse_than_in_the_scorecard(
    exercise: str, part: slice, host: Host, recordings: Recordings
) -> None:
    score = fared(exercise, listed_cases(exercise)[part], host, recordings)
    assert (score.accepted, score.caught) == (score.right, score.wrong), score.missed
    known = {line.partition(": ")[0] for line in KEPT[exercise].missed}
    assert [line for line in score.missed if line.partition(": ")[0] not in known] == []


def test_the_readme_shows_the_scorecard_that_is_kept() -> None:
    assert list(KEPT) == list(curriculum.NAMES)
    text = (ROOT / "grader" / "README.md").read_text(encoding="utf-8")
    assert table.in_text(text, list(KEPT.values())) == text, (
        "write both: grader scorecard --json tests/data/scorecard.json --markdown grader/README.md"
    )


@pytest.mark.parametrize("option", ["--markdown", "--check"])
def test_a_file_that_is_not_there_is_told_before_anything_is_measured(
    option: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["grader", "scorecard", option, "nowhere"])
    with pytest.raises(SystemExit, match="2"):
        cli.main()
    assert "'nowhere' does not exist" in capsys.readouterr().err

"""The capstone's task `sort`: digits, one attention layer, and what is said of a wrong one."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from grader.board.progress import Progress as Standing
from grader.board.rendering import board
from grader.board.result import Result
from grader.board.workspace import Workspace
from grader.capstone import sorting, tasks
from grader.capstone.advice import advise
from grader.capstone.events import Report, Translation
from grader.capstone.exam import Learnt, Progress
from grader.capstone.pieces import Pieces, Sources, entries_of
from grader.capstone.sort_learner import STEPS, SortLearner
from grader.capstone.sorting import Sequences
from grader.capstone.task import Plan
from grader.curriculum.project import EXERCISES
from grader.sandbox import jail
from tests.tools import warm
from tests.tools.capstone_runs import right, run, wrong
from tests.tools.jailed import PROBLEMS

SORT = tasks.find("sort")


def learner(steps: int, seed: int = 1) -> tuple[SortLearner, list[Report]]:
    pieces = Pieces(Sources({}, {name: right(name) for name in SORT.entries}, {}))
    try:
        made = SortLearner(entries_of(pieces, SORT.entries), Plan(600, seed, steps))
    finally:
        pieces.close()
    reports: list[Report] = []
    made.run(lambda: False, reports.append)
    return made, reports


def test_what_is_held_out_is_never_trained_on_in_any_order() -> None:
    held_out = {sorting.in_order(digits) for digits in sorting.unseen(300)}
    assert not held_out & {sorting.in_order(digits) for digits in Sequences(1).next(5000)}


def test_digits_are_read_as_people_type_them() -> None:
    assert SORT.question(" 3141 5926 ") == "31415926"
    assert SORT.question("3,1,4,1,5,9,2,6") == "31415926"
    for typed in ("123", "abcdefgh", "١٢٣٤٥٦٧٨"):
        with pytest.raises(ValueError, match="8 digits"):
            SORT.question(typed)


@pytest.mark.full
def test_a_short_training_gets_the_loss_down_and_can_be_repeated() -> None:
    (first, reports), (second, _) = learner(40), learner(40)
    assert first.loss_of(sorting.unseen(200)).item() < 0.9 * reports[0].loss
    assert first.answers(["31415926"]) == second.answers(["31415926"])


@pytest.mark.full(seconds=33)
def test_at_least_99_percent_of_unseen_sequences_are_sorted() -> None:
    made, _ = learner(STEPS)
    exam = SORT.exam(Plan(600, 1))
    trained = made.conclude(False)
    assert exam.hold(trained, made).exact >= 0.99


def test_each_head_is_drawn() -> None:
    *_, learnt, answer = run({"attention": right("attention")}, "70070070", task="sort")
    assert isinstance(learnt, Learnt)
    assert isinstance(answer, Translation)
    ((*heads,),) = answer.heads
    assert len(heads) == 4
    for head in heads:
        for row in head:
            assert sum(row) == pytest.approx(1, abs=1e-2)
    history = [Progress(1, 0.1, 2.3, 0.1, 0.0)]
    drawn: dict[str, Any] = SORT.figures(learnt, history)
    titles = {axes.get_title() for axes in drawn["attention-1"].axes}
    assert {"head 1", "head 2", "head 3", "head 4"} <= titles


def test_the_right_exercise_is_named_if_it_does_not_learn() -> None:
    for exercise, mistake in (("masks", "causal-turned-round"), ("attention", "scaled-by-d-k")):
        learnt = run({exercise: wrong(exercise, mistake)}, task="sort")[-1]
        assert isinstance(learnt, Learnt)
        _, advised = advise(SORT, learnt, [])
        assert [advice.exercise for advice in advised] == [exercise]


def test_the_board_offers_it_once_attention_is_done() -> None:
    workspace = Workspace(EXERCISES, EXERCISES.parent)

    def shown(*done: str) -> str:
        standing = {name: Standing(name, ("test",), selected=1) for name in done}
        for name, progress in standing.items():
            progress.add(Result(name, "test", "A title."))
        lines = board(standing, workspace)
        return "\n".join("".join(text for text, _ in line) for line in lines)

    assert "grader capstone --task sort" in shown("masks", "attention")
    assert "--task sort" not in shown("masks")
    assert "--task sort" not in shown("masks", "attention", "multi_head")


def test_what_public_tests_import_of_the_kit_is_there_in_a_jail() -> None:
    files = jail.kit_files("grader.capstone.child")
    for path in sorted(EXERCISES.glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("grader."):
                assert f"{(node.module or '').replace('.', '/')}.py" in files, path


@pytest.mark.full(seconds=6)
@pytest.mark.skipif(bool(PROBLEMS), reason="The jail is not there.")
def test_in_a_jail_public_tests_and_the_diagnosis_work_too(tmp_path: Path) -> None:
    (tmp_path / "attention.py").write_text(wrong("attention", "scaled-by-d-k"), encoding="utf-8")
    arguments = ["--task", "sort", "--isolation", "jail", "--seconds", "1"]
    done = warm.run(
        "-m", "grader", "capstone", str(tmp_path), *arguments, "--out", str(tmp_path / "out")
    )
    assert "Look at attention." in done.stdout, done.stderr
    assert "This public test fails" in done.stdout
    assert "divided by d_k" in done.stdout

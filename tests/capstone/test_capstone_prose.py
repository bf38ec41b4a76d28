"""The capstone's task `prose`: its text, merges in bearable time, the exam, what it writes."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch

from grader.capstone import exam, prose, prose_exam, subword_training, tasks
from grader.capstone.contract import ContractError
from grader.capstone.events import Behaviour, Prediction, Report, Scored, Trained
from grader.capstone.pieces import Pieces, Sources, entries_of
from grader.capstone.prose_exam import ProseExam
from grader.capstone.prose_learner import GREEDY, SETTINGS, ProseLearner
from grader.capstone.task import Plan
from tests.tools.capstone_runs import right

PROSE = tasks.find("prose")
SMALL = replace(SETTINGS, d_model=32, num_layers=2, d_ff=48)
TRAINED = Trained(3, 1.0, 0.5, stopped=False, behaviour=Behaviour())


@pytest.fixture(scope="module")
def entries() -> Iterator[dict[str, Any]]:
    pieces = Pieces(Sources({}, {name: right(name) for name in PROSE.entries}, {}))
    yield entries_of(pieces, PROSE.entries)
    pieces.close()


def learner(entries: dict[str, Any], steps: int = 1, **options: Any) -> ProseLearner:
    text = prose.parts(prose.whole())[0][:20_000]
    plan = Plan(600, 1, steps=steps, text=text, sample=["The statement is"], **options)
    return ProseLearner(entries, plan, settings=SMALL, merges=20)


# --- the text


def test_no_line_of_the_held_out_part_is_learnt_from() -> None:
    known, held_out = prose.parts(prose.whole())
    lines = {line.strip() for line in held_out.splitlines()}
    learnt = {line.strip() for line in known.splitlines() if len(line.strip()) >= prose.TELLING}
    assert not lines & learnt
    assert len(held_out) > 15_000
    assert len(known) > 15 * len(held_out)


def test_a_python_without_its_reference_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydoc_data.topics", None)
    with pytest.raises(prose.NoProseError, match="--task sums"):
        prose.whole()


# --- the merges


def test_merges_are_those_of_the_whole_text_if_that_is_bearable(entries: dict[str, Any]) -> None:
    text = "the cat sat on the mat. " * 20
    merges, note = subword_training.trained(entries["train_merges"], text, 12, lambda: None)
    assert merges == entries["train_merges"](text, 12)
    assert not note


def test_merges_that_would_take_hours_come_from_a_part_of_the_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [0.0]
    monkeypatch.setattr("time.process_time", lambda: clock[0])

    def slow(text: str, count: int) -> list[tuple[bytes, bytes]]:
        clock[0] += len(text) * count / 1000
        return [(b"a", b"b")] * min(count, 1)

    merges, note = subword_training.trained(slow, "ab" * 5000, 50, lambda: None)
    assert merges == [(b"a", b"b")]
    assert "learned from the first 6%" in note


@pytest.mark.parametrize("given", [None, [("a", "b")], [(b"a",)], [(b"a", b"b")] * 6])
def test_merges_that_are_none_are_told(given: object) -> None:
    with pytest.raises(ContractError, match="train_merges"):
        subword_training.trained(lambda *_: given, "text", 5, lambda: None)


# --- the learner


@pytest.mark.full
def test_a_short_training_gets_the_loss_down_and_looks(entries: dict[str, Any]) -> None:
    made = learner(entries, steps=100)
    reports: list[Report] = []
    made.run(lambda: False, reports.append)
    assert reports[-1].loss < 0.8 * math.log(made.vocab_size)
    assert len(reports[-1].scores) == len(made.encode("The statement is"))


def test_scores_are_those_of_one_prediction_after_the_other(entries: dict[str, Any]) -> None:
    made = learner(entries)
    ids = made.text[:400].tolist()
    scores = made.scores(ids)
    assert len(scores) == 400
    for position in (0, 1, 31, 32, 96, 127, 128, 129, 159, 160, 399):
        before = ids[prose_exam.context(position) : position]
        assert scores[position] == pytest.approx(
            made.predicted(before).scores[ids[position]], abs=1e-3
        )


def test_a_right_model_passes_the_exam(entries: dict[str, Any]) -> None:
    made = learner(entries)
    text = "The statement is an expression. " * 12
    held = ProseExam(text).hold(TRAINED, made)
    assert not held.refuted
    assert 3 < held.bits < 12
    assert held.zlib < 2


@pytest.mark.full(seconds=2)
def test_it_writes_what_the_options_say(entries: dict[str, Any]) -> None:
    texts = {learner(entries, temperature=0.0).answer("The ").target for _ in range(2)}
    assert len(texts) == 1
    assert learner(entries, top_k=1).answer("The ").target in texts
    assert learner(entries, temperature=5.0).answer("The ").target not in texts


@pytest.mark.full(seconds=2)
def test_what_it_says_of_itself_is_right(entries: dict[str, Any]) -> None:
    trained = learner(entries).conclude(False)
    assert trained.behaviour.greedy
    assert trained.behaviour.future is False
    assert "tokens a second with caches" in trained.notes[0]


@pytest.mark.full(seconds=2)
def test_a_cache_that_loses_the_past_is_seen(entries: dict[str, Any]) -> None:
    base: Any = entries["KVCache"]

    def forgetful() -> Any:
        cache = base()
        append = cache.append
        cache.append = lambda key, value: tuple(map(torch.zeros_like, append(key, value)))
        return cache

    made = learner({**entries, "KVCache": forgetful}, steps=10)
    made.run(lambda: False, lambda _: None)
    learnt = exam.Learnt(**vars(made.conclude(False)), bits=1.0)
    assert learnt.behaviour.cached is False
    assert not PROSE.has_learnt(learnt)
    assert "kv_cache" in next(iter(PROSE.symptoms(learnt, []))).suspects


# --- the exam


class Sure:
    """Finds every token of the text certain, since it has it before its eyes."""

    def __init__(self, text: str, predicted: Sequence[float]) -> None:
        ids = list(text.encode())
        self.said = Scored(ids, [bytes([byte]).hex() for byte in range(256)], [0.0] * len(ids))
        self.given = list(predicted)

    def answers(self, texts: Sequence[str]) -> list[str]:
        raise AssertionError(texts)

    def scored(self, text: str) -> Scored:
        assert text
        return self.said

    def predicted(self, ids: Sequence[int]) -> Prediction:
        assert len(ids) < prose_exam.WINDOW
        return Prediction(self.given)


@pytest.mark.parametrize(
    ("predicted", "why"),
    [
        ([-math.log(256)] * 256, "depends on what comes after it"),
        ([0.0] * 256, "sum to more than one"),
        ([-1.0], "every token of its vocabulary"),
    ],
)
def test_scores_that_know_what_comes_are_not_believed(predicted: list[float], why: str) -> None:
    text = "Nobody can know this text beforehand."
    held = ProseExam(text).hold(TRAINED, Sure(text, predicted))
    assert math.isnan(held.bits)
    assert why in held.refuted
    assert why in "".join(line for line, _ in PROSE.lines(held))
    assert not PROSE.has_learnt(held)


def test_tokens_of_another_text_are_not_believed() -> None:
    held = ProseExam("one text").hold(TRAINED, Sure("another text", [-math.log(256)] * 256))
    assert "do not decode to that text" in held.refuted


def test_bits_are_counted_here() -> None:
    text = "abcd" * 10
    honest = Sure(text, [-math.log(256)] * 256)
    honest.said = replace(honest.said, scores=[-math.log(256)] * 40)
    assert ProseExam(text).hold(TRAINED, honest).bits == pytest.approx(8)
    before = ProseExam(text).progress(Report(1, 1.0, 1.0, 1.0, scores=[-math.log(2)] * 40), None)
    assert before.bits == pytest.approx(1)
    assert "".join(ProseExam(text).sample) == text


def test_a_generate_that_gives_too_little_is_not_greedy(entries: dict[str, Any]) -> None:
    def generate(_model: Any, ids: torch.Tensor, _count: int, **_: Any) -> torch.Tensor:
        return ids[:, :-GREEDY]

    assert not learner({**entries, "generate": generate}).is_greedy()

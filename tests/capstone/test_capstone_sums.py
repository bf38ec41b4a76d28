"""The capstone's task `sums`: what it learns from, a short training, what it answers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from grader.capstone import looking, sums, tasks
from grader.capstone.contract import ContractError
from grader.capstone.events import Report, Translation
from grader.capstone.exam import AnswerExam, Learnt
from grader.capstone.pieces import Pieces, Sources, entries_of
from grader.capstone.sum_learner import SumLearner
from grader.capstone.sums import Sum, Sums
from grader.capstone.task import Plan
from tests.tools.capstone_runs import right, run

SUMS = tasks.find("sums")


@pytest.fixture(scope="module")
def reference() -> Iterator[Pieces]:
    pieces = Pieces(Sources({}, {name: right(name) for name in SUMS.entries}, {}))
    yield pieces
    pieces.close()


def test_an_answer_is_written_from_its_last_digit() -> None:
    assert Sum(345, 678).question == "345+678="
    assert sums.from_last_digit("345+678=") == "543+876="
    assert Sum(345, 678).answer == "3201"
    assert Sum(5, 7).question == "005+007="
    assert Sum(5, 7).answer == "2100"
    assert [Sum(*pair).carries for pair in ((123, 456), (5, 7), (345, 678), (999, 1))] == [
        0,
        1,
        3,
        3,
    ]


def test_no_sum_that_is_held_out_is_trained_on() -> None:
    data = Sums(3, unseen=50_000)
    assert len(set(data.held_out)) == 50_000
    assert not set(data.held_out) & set(data.next(50_000))
    assert Sums(3, 20).held_out == Sums(3, 20).held_out != Sums(4, 20).held_out


def test_the_share_of_right_sums_is_told_by_their_carries() -> None:
    exam = SUMS.exam(Plan(600, seed=3))
    assert isinstance(exam, AnswerExam)
    names = {question.language for question in exam.questions}
    assert names == {"0 carries", "1 carry", "2 carries", "3 carries"}


@pytest.mark.parametrize("typed", ["345+678", " 345 + 678 = ", "0345+678"])
def test_a_sum_may_be_typed_in_many_ways(typed: str) -> None:
    assert SUMS.question(typed) == "345+678="


@pytest.mark.parametrize("typed", ["1+2+3", "1000+1", "2*3", "hello", "", "9" * 5000 + "+1"])
def test_what_is_no_sum_is_told_with_an_example(typed: str) -> None:
    with pytest.raises(ValueError, match="For example"):
        SUMS.question(typed)


def test_a_wrong_sum_is_shown_beside_the_right_one() -> None:
    assert SUMS.shown(Translation("005+007=", "2100")) == "12"
    assert "it is 12" in SUMS.shown(Translation("005+007=", "3100"))


@pytest.mark.full(seconds=4)
def test_a_short_training_gets_the_loss_down_and_can_be_repeated(reference: Pieces) -> None:
    weights = []
    for _ in range(2):
        reports: list[Report] = []
        learner = SumLearner(entries_of(reference, SUMS.entries), Plan(600, 1, steps=40, unseen=20))
        learner.run(lambda: False, reports.append)
        assert learner.step == reports[-1].step == 40
        assert reports[-1].loss < 0.85 * torch.tensor(12.0).log()
        weights.append([weight.detach() for weight in learner.weights])
    torch.testing.assert_close(*weights)


def test_only_the_answer_has_a_loss(reference: Pieces) -> None:
    learner = SumLearner(entries_of(reference, SUMS.entries), Plan(600, 1, steps=1, unseen=20))
    tokens = learner.tokens()
    logits = torch.zeros(*tokens[:, 1:].shape, learner.vocab_size)
    before = learner.loss_of(logits, tokens[:, 1:])
    logits[:, : -sums.ANSWER] = torch.randn(logits[:, : -sums.ANSWER].shape)
    torch.testing.assert_close(learner.loss_of(logits, tokens[:, 1:]), before)


def test_the_attention_is_found_even_if_the_softmax_is_written_out() -> None:
    own = right("attention").replace(
        "scores.softmax(dim=-1)",
        "(lambda e: e / e.sum(-1, keepdim=True))((scores - scores.amax(-1, keepdim=True)).exp())",
    )
    assert own != right("attention")
    ids = torch.tensor([sums.encode("345+678=")])
    results = []
    kit = {name: right(name) for name in SUMS.entries}
    for sources in (Sources({}, kit, {}), Sources({"attention": own}, kit, {})):
        pieces = Pieces(sources)
        entries = entries_of(pieces, SUMS.entries)
        torch.manual_seed(0)
        model = entries["LanguageModel"](12, 16, 4, 2, 2, 24)
        results.append(looking.self_attention(model, entries, ids, 4))
        pieces.close()
    assert results[0].shape == (2, 4, 8, 8)
    torch.testing.assert_close(results[0], results[1])


def test_the_process_trains_concludes_and_answers() -> None:
    *_, learnt, answer = run({}, SUMS.question("345+678"), task="sums")
    assert isinstance(learnt, Learnt)
    assert learnt.behaviour.future is False
    assert learnt.behaviour.source_order is True
    assert not learnt.behaviour.unreached
    assert isinstance(answer, Translation)
    assert len(answer.target) == len(answer.attention) == sums.ANSWER


def test_a_model_that_gives_something_else_is_told_with_its_exercise(reference: Pieces) -> None:
    pieces = entries_of(reference, SUMS.entries)
    real = pieces["LanguageModel"]

    class Narrow(real):  # type: ignore[misc, valid-type]
        def forward(self, *given: object) -> object:
            return super().forward(*given)[..., :-1]

    learner = SumLearner({**pieces, "LanguageModel": Narrow}, Plan(600, 1, steps=1, unseen=20))
    with pytest.raises(ContractError, match=r"where .* is expected") as caught:
        learner.run(lambda: False, lambda _: None)
    assert caught.value.exercise == "language_model"

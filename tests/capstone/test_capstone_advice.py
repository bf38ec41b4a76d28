"""What the capstone says of a model that does not learn, and of right answers: nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from grader import curriculum
from grader.capstone import advice, faults, looking, words
from grader.capstone.events import Failure
from grader.capstone.exam import Learnt
from grader.capstone.pieces import Pieces, Sources
from grader.capstone.session import own_process
from grader.curriculum import handed_out, mistakes, whole_model
from tests import DATA
from tests.tools.capstone_runs import DATES, right, run, trial, wrong

VARIANTS = DATA / "variants"


@pytest.mark.full(but=("masks",))
@pytest.mark.parametrize(
    ("exercise", "name"),
    [
        ("masks", "target-without-the-future"),
        ("attention", "scaled-by-d-k"),
        ("multi_head", "mask-not-passed-on"),
        ("positional", "first-row-for-all"),
        ("embedding", "positions-missing"),
        ("layer_norm", "mean-not-subtracted"),
        ("encoder", "no_residual_around_attention"),
        ("decoder", "no_cross_attention"),
        ("transformer", "no_causal_mask"),
        ("training", "labels-not-shifted"),
        ("decoding", "first-place-for-last"),
    ],
)
def test_the_exercise_with_the_mistake_is_named(exercise: str, name: str) -> None:
    outcome = run({exercise: wrong(exercise, name)})[-1]
    assert isinstance(outcome, (Learnt, Failure))
    _, advised = advice.advise(DATES, outcome, [])
    assert advised[0].exercise == exercise, advised


@pytest.mark.full
def test_a_model_that_sees_the_future_is_told_what_that_does() -> None:
    own = {"masks": wrong("masks", "target-without-the-future")}
    outcome = run(own)[-1]
    assert isinstance(outcome, Learnt)
    assert outcome.behaviour.future
    _, (advised, *_) = advice.advise(DATES, outcome, [])
    assert "sees the character it should predict" in advised.symptom


def test_a_crash_is_told_with_the_students_line_and_no_stack() -> None:
    own = right("attention").replace("scores.softmax(", "scores.soft_max(")
    (outcome,) = run({"attention": own})
    assert isinstance(outcome, Failure)
    assert outcome.file == "exercises/attention.py"
    assert "scores.soft_max(" in outcome.source
    assert outcome.said.startswith("AttributeError: ")
    _, (advised, *_) = advice.advise(DATES, outcome, [])
    assert advised.exercise == "attention"


@pytest.mark.full(but=("SyntaxError", "NameError: "))
@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def padding_mask(:", "SyntaxError"),
        ("import sys\nsys.exit(3)", "SystemExit"),
        ("def causal_mask(length: Int): ...", "NameError: "),  # annotations are evaluated
        ("def padding_mask(ids): return ids", "defines no causal_mask"),
        ("def causal_mask(length): raise ValueError('\\x1b[31mred')", "ValueError: "),
    ],
)
def test_a_file_that_cannot_be_run_is_told_in_words(source: str, message: str) -> None:
    if "ValueError" in message:
        source = right("masks").replace(
            "return torch.ones(1, 1,", "raise ValueError('\\x1b[31mred')#"
        )
    (outcome,) = run({"masks": source})
    assert isinstance(outcome, Failure)
    assert message in outcome.said
    assert "\x1b" not in outcome.said


@pytest.mark.full
def test_a_model_that_has_learnt_is_told_nothing() -> None:
    outcome = run({"layer_norm": wrong("layer_norm", "mean-not-subtracted")})[-1]
    assert isinstance(outcome, Learnt)
    learnt = replace(outcome, exact=1.0)
    assert advice.advise(DATES, learnt, []) == ([], [])


@pytest.mark.full
def test_right_pieces_and_little_time_are_told_to_go_on() -> None:
    outcome = run({"attention": right("attention")})[-1]
    assert isinstance(outcome, Learnt)
    (symptom,), advised = advice.advise(DATES, outcome, [])
    assert not advised
    assert "--seconds" in symptom.told


def variants(number: int) -> dict[str, str]:
    """An unusual right answer of every exercise, each another one for another number."""
    results = {}
    for name in DATES.entries:
        files = sorted((VARIANTS / name).glob("*.py"))
        results[name] = files[number % len(files)].read_text(encoding="utf-8") if files else ""
    return {name: text for name, text in results.items() if text}


def public(answers: bool) -> faults.Tests:
    texts = whole_model.public_tests(DATES.entries)
    return faults.Tests(texts, DATES.entries, whole_model.answers() if answers else {})


@pytest.mark.full(but=(0,), seconds=16)
@pytest.mark.parametrize("number", [0, 1, 5])
def test_unusual_right_answers_are_not_blamed(number: int) -> None:
    kit = {name: right(name) for name in curriculum.NAMES}
    assert not faults.faults(Sources(variants(number), kit, {}), public(answers=True))


@pytest.mark.parametrize("name", ["encoder", "decoder"])
def test_the_attention_of_what_is_handed_out_in_another_form_is_seen(name: str) -> None:
    source = handed_out.source(name)
    assert source is not None
    kit = {name: right(name) for name in curriculum.NAMES}
    pieces = Pieces(Sources({name: source}, kit, {}))
    try:
        model = pieces.module("transformer").Transformer(20, 15, 8, 2, 2, 16, 0.0, 20).eval()
        src, tgt = torch.tensor([[5, 6, 7, 8]]), torch.tensor([[1, 4]])
        assert looking.cross_attention(model, src, tgt, 2, 2).shape == (2, 2, 2, 4)
    finally:
        pieces.close()


@pytest.mark.full(seconds=6)
def test_a_mistake_that_its_own_tests_miss_is_found_by_those_of_what_uses_it() -> None:
    own = {name: right(name) for name in DATES.entries}
    own["multi_head"] = wrong("multi_head", "value-map-not-applied")
    tests = public(answers=True)
    del tests.texts["multi_head"]
    (fault,) = faults.faults(Sources(own, {}, {}), tests)
    assert (fault.exercise, fault.tested) == ("multi_head", "encoder")
    advised = [advice.Advice("multi_head", fault.told, "", fault.tested, fault.test)]
    outcome = Failure("training", "")
    lines = words.told(DATES, outcome, [], advised, Path(), "pytest test_{}.py")
    text = "\n".join(line for line, _ in lines)
    assert "Look at multi_head, which encoder uses." in text
    assert "pytest test_encoder.py" in text


@pytest.mark.full
def test_without_the_kits_answers_what_builds_on_a_wrong_piece_is_not_blamed() -> None:
    own = {name: right(name) for name in DATES.entries}
    own["attention"] = wrong("attention", "scaled-by-d-k")
    result = faults.faults(Sources(own, {}, {}), public(answers=False))
    assert [fault.exercise for fault in result] == ["attention"]


@pytest.mark.full
def test_a_helper_of_ones_own_in_another_file_is_nobodys_fault() -> None:
    helped = right("attention") + "\n\ndef half(x):\n    return x / 2\n"
    using = right("multi_head").replace(
        "from exercises.attention import attention",
        "from exercises.attention import attention, half",
    )
    assert using != right("multi_head")
    own = {"attention": helped, "multi_head": using}
    kit = {name: right(name) for name in curriculum.NAMES}
    assert not faults.faults(Sources(own, kit, {}), public(answers=True))


@pytest.mark.full
def test_what_the_model_does_not_use_is_not_blamed() -> None:
    source = right("decoding").replace("def beam_search", "def beam_search_later")
    source += "\n\ndef beam_search(*given, **more):\n    return None\n"
    kit = {name: right(name) for name in curriculum.NAMES}
    assert not faults.faults(Sources({"decoding": source}, kit, {}), public(answers=True))


@pytest.mark.full(seconds=6)
def test_a_known_mistake_is_named() -> None:
    own = {"masks": wrong("masks", "target-without-the-future")}
    with own_process() as session:
        outcome = trial(own, steps=1).outcome(session)
        assert isinstance(outcome, Learnt), outcome
        _, advised = advice.advise(DATES, outcome, [])
        (named,) = advice.with_mistakes(advised, session.diagnose)
    (mistake,) = [
        known for known in mistakes.load("masks") if known.name == "target-without-the-future"
    ]
    assert mistake.tells in named.mistake

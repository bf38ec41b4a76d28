"""What the capstone says of a model that does not learn, and of right answers: nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from capstone_runs import right, run, wrong

from grader import curriculum
from grader.capstone import advice, looking, parts, probing, wholes
from grader.capstone.events import Failure, Learnt, event_from, line_of
from grader.capstone.pieces import Pieces, Sources
from grader.curriculum import handed_out, whole_model

pytestmark = pytest.mark.usefixtures("one_thread")
VARIANTS = Path(__file__).parent / "variants"


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
    _, advised = advice.advise(outcome, [], curriculum.closure)
    assert advised[0].exercise == exercise, advised


def test_a_model_that_sees_the_future_is_told_what_that_does() -> None:
    own = {"masks": wrong("masks", "target-without-the-future")}
    outcome = run(own)[-1]
    assert isinstance(outcome, Learnt)
    assert outcome.behaviour.future
    _, (advised, *_) = advice.advise(outcome, [], curriculum.closure)
    assert "sees the character that it should guess" in advised.symptom


def test_a_crash_is_told_with_the_students_line_and_no_stack() -> None:
    own = right("attention").replace("scores.softmax(", "scores.soft_max(")
    (outcome,) = run({"attention": own})
    assert isinstance(outcome, Failure)
    assert outcome.file == "exercises/attention.py"
    assert "scores.soft_max(" in outcome.source
    assert outcome.said.startswith("AttributeError: ")
    _, (advised, *_) = advice.advise(outcome, [], curriculum.closure)
    assert advised.exercise == "attention"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("def padding_mask(:", "SyntaxError"),
        ("import sys\nsys.exit(3)", "SystemExit"),
        ("def padding_mask(ids): return ids", "defines no causal_mask"),
        ("def causal_mask(length): raise ValueError('\\x1b[31mred')", "ValueError: "),
    ],
)
def test_a_file_that_cannot_be_run_is_told_in_words(source: str, said: str) -> None:
    if "ValueError" in said:
        source = right("masks").replace(
            "return torch.ones(1, 1,", "raise ValueError('\\x1b[31mred')#"
        )
    (outcome,) = run({"masks": source})
    assert isinstance(outcome, Failure)
    assert said in outcome.said
    assert "\x1b" not in outcome.said


def test_a_model_that_has_learnt_is_told_nothing() -> None:
    outcome = run({"layer_norm": wrong("layer_norm", "mean-not-subtracted")})[-1]
    assert isinstance(outcome, Learnt)
    told = json.loads(line_of(outcome))
    told["exact"] = 1.0
    learnt = event_from(json.dumps(told))
    assert isinstance(learnt, Learnt)
    assert advice.advise(learnt, [], curriculum.closure) == ([], [])


def test_right_pieces_and_little_time_are_told_to_go_on() -> None:
    outcome = run({"attention": right("attention")})[-1]
    assert isinstance(outcome, Learnt)
    (symptom,), advised = advice.advise(outcome, [], curriculum.closure)
    assert not advised
    assert "--seconds" in symptom.told


def variants() -> list[Path]:
    return [
        file for name in sorted(probing.PROBES) for file in sorted((VARIANTS / name).glob("*.py"))
    ]


@pytest.mark.parametrize("file", variants(), ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_no_probe_finds_fault_with_an_unusual_right_answer(file: Path) -> None:
    name = file.parent.name
    kit = {one: right(one) for one in curriculum.NAMES}
    pieces = Pieces(Sources({name: file.read_text(encoding="utf-8")}, kit, {}))
    try:
        assert not probing.faults({name: pieces.module(name)})
    finally:
        pieces.close()


@pytest.mark.parametrize("name", ["encoder", "decoder"])
def test_what_is_handed_out_in_another_form_passes_and_can_be_looked_at(name: str) -> None:
    source = handed_out.source(name)
    assert source is not None
    kit = {one: right(one) for one in curriculum.NAMES}
    pieces = Pieces(Sources({name: source}, kit, {}))
    try:
        assert not probing.faults({name: pieces.module(name)})
        model = pieces.module("transformer").Transformer(20, 15, 8, 2, 2, 16, 0.0, 20).eval()
        src, tgt = torch.tensor([[5, 6, 7, 8]]), torch.tensor([[1, 4]])
        assert len(looking.cross_attention(model, src, tgt, 2)) == 2
    finally:
        pieces.close()


def test_there_are_probes_of_every_exercise_that_a_model_is_made_of() -> None:
    assert set(probing.PROBES) == set(whole_model.EXERCISES)
    assert parts.__doc__ is not None
    assert wholes.__doc__ is not None

"""`--mine`: a student's own small pieces in place of torch's, and a sentence on the result."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from grader.capstone import mine, words
from grader.capstone.exam import Learnt
from grader.capstone.pieces import Pieces, Sources
from grader.capstone.session import own_process
from grader.capstone.task import Plan
from grader.capstone.tasks import find
from grader.capstone.trial import Trial
from grader.curriculum import whole_model
from tests.tools.capstone_runs import right

NAMES = ("linear", "softmax", "activations", "dropout", "layer_norm")
SORT = find("sort")


class Small(nn.Module):
    """A model with all that is exchanged."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Dropout(0.5), nn.LayerNorm(6))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        once: torch.Tensor = self.layers(x)
        again: torch.Tensor = self.layers(x)
        return torch.softmax(once, -1) + again.softmax(dim=-1)


def put(sources: dict[str, str]) -> tuple[Small, mine.Mine, str]:
    torch.manual_seed(0)
    model = Small()
    pieces = Pieces(Sources(sources, {}, {}))
    try:
        modules = {name: pieces.module(name) for name in sources}
        return model, *mine.put(model, modules, [torch.randn(2, 4)], [])
    finally:
        pieces.close()


def test_right_pieces_take_the_place_of_torchs_and_change_nothing() -> None:
    model, own, note = put({name: right(name) for name in NAMES})
    kinds = {type(module).__module__ for module in model.layers}
    assert {"exercises.linear", "exercises.dropout", "exercises.layer_norm"} <= kinds
    assert own.used["softmax"] == 2
    assert own.used["activations"] == 2
    assert "the same as with torch's" in note
    assert "NOT" not in note
    assert model.training
    assert model.layers[2].training


def test_parameters_stay_the_same_objects() -> None:
    torch.manual_seed(0)
    model = Small()
    before = dict(model.named_parameters())
    pieces = Pieces(Sources({name: right(name) for name in NAMES}, {}, {}))
    try:
        mine.put(model, {name: pieces.module(name) for name in NAMES}, [torch.randn(2, 4)], [])
    finally:
        pieces.close()
    after = dict(model.named_parameters())
    assert list(after) == list(before)
    assert all(after[name] is before[name] for name in before)


def test_what_a_wrong_piece_changes_is_told() -> None:
    _, _, note = put({"activations": "def relu(x):\n    return x + 1\n"})
    assert "NOT the same" in note


@pytest.mark.full(seconds=4)
@pytest.mark.parametrize("broken", [False, True])
def test_the_capstone_uses_them_if_their_public_tests_pass(broken: bool) -> None:
    sources = {name: right(name) for name in NAMES}
    if broken:
        sources["linear"] = sources["linear"].replace("+ self.bias", "- self.bias")
    model = whole_model.gather(sources, SORT.entries)
    own = [name for name in NAMES if name in model.own]
    assert own == list(NAMES)
    trial = Trial(SORT, model, Plan(60, 1, 2, unseen=20), own=own)
    with own_process() as session:
        outcome = trial.trained(session, lambda _: None)
    assert isinstance(outcome, Learnt), outcome
    lines = words.told(SORT, outcome, [], [], Path(), "pytest {}")
    text = "\n".join(line for line, _ in lines)
    assert "the same as with torch's" in text
    assert ("linear fails its public tests" in text) is broken

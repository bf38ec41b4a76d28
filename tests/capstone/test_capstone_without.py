"""Ablations: what is left out is left out of anybody's pieces, and nothing else is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from grader.capstone import ablations, side_by_side
from grader.capstone.ablations import LeftOut
from grader.capstone.contract import ContractError
from grader.capstone.exam import Learnt, Progress
from grader.capstone.pieces import Pieces, Sources
from grader.capstone.session import own_process
from grader.capstone.task import Plan
from grader.capstone.trial import Trial
from grader.curriculum import whole_model
from tests.tools import warm
from tests.tools.capstone_runs import DATES, right

KIT = {name: right(name) for name in DATES.entries}


def without(name: str) -> tuple[Pieces, LeftOut]:
    left_out = LeftOut(ablations.find(name))
    return Pieces(Sources({}, KIT, {}), left_out), left_out


def model(pieces: Pieces) -> Any:
    torch.manual_seed(0)
    return pieces.module("transformer").Transformer(20, 15, 8, 2, 2, 16, 0.0, 20).eval()


@pytest.mark.parametrize("name", ablations.NAMES)
def test_every_part_changes_what_a_model_does(name: str) -> None:
    src, tgt = torch.tensor([[5, 6, 7, 8]]), torch.tensor([[1, 4, 5]])
    whole = Pieces(Sources({}, KIT, {}))
    expected = model(whole)(src, tgt), whole.module("training").noam_rate(3, 64, 400)
    whole.close()
    pieces, left_out = without(name)
    try:
        with pytest.raises(ContractError, match="never calls"):
            left_out.check()
        result = model(pieces)(src, tgt), pieces.module("training").noam_rate(3, 64, 400)
        left_out.check()
    finally:
        pieces.close()
    assert (result[1] != expected[1]) is (name == "warm-up")
    assert bool((result[0] - expected[0]).abs().max() > 1e-4) is (name != "warm-up")


def test_without_positions_a_model_is_blind_to_order() -> None:
    pieces, _ = without("positions")
    try:
        there = model(pieces).encode(torch.tensor([[5, 6, 7]]))
        back = model(pieces).encode(torch.tensor([[7, 6, 5]])).flip(1)
    finally:
        pieces.close()
    torch.testing.assert_close(there, back)


@pytest.mark.parametrize("norm_first", [False, True])
def test_without_the_residual_only_the_sublayer_is_left(norm_first: bool) -> None:
    pieces, _ = without("residual")
    x = torch.randn(1, 2, 4)
    try:
        connection = pieces.module("sublayer").SublayerConnection
        layer = connection(4, dropout=0.0, norm_first=norm_first)
        expected = layer.norm(x).sin() if norm_first else layer.norm(x.sin())
        torch.testing.assert_close(layer(x, torch.sin), expected)
    finally:
        pieces.close()


def test_without_the_scale_the_scores_are_plain_products() -> None:
    pieces, _ = without("scale")
    query, key = torch.randn(2, 4), torch.randn(3, 4)
    try:
        _, weights = pieces.module("attention").attention(query, key, key)
    finally:
        pieces.close()
    torch.testing.assert_close(weights, (query @ key.T).softmax(-1))


@pytest.mark.full(seconds=14)
def test_both_are_trained_side_by_side_and_told() -> None:
    part = ablations.find("causal-mask")
    chosen = whole_model.gather({"masks": right("masks")}, DATES.entries)
    trials = [Trial(DATES, chosen, Plan(60, 1, 2, unseen=11), name) for name in ("", part.name)]
    shown: list[tuple[int, Progress]] = []
    outcomes = side_by_side.train(trials, own_process, lambda *told: shown.append(told))
    whole, ablated = outcomes
    assert isinstance(whole, Learnt)
    assert isinstance(ablated, Learnt)
    assert not whole.behaviour.future
    assert ablated.behaviour.future
    assert {number for number, _ in shown} == {0, 1}
    text = "\n".join(line for line, _ in side_by_side.told(part, outcomes, "next to nothing"))
    assert "You expected that it learns next to nothing." in text
    assert "copy" in text
    report = json.loads(side_by_side.as_json(part, trials, outcomes, "", 1))
    assert report["without"] == "causal-mask"
    assert len(report["ablated"]["history"]) == len(trials[1].history)


def test_a_part_that_there_is_not_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    done = warm.run("-m", "grader", "capstone", str(tmp_path), "--without", "hands")
    assert done.returncode == 2
    assert "causal-mask" in done.stderr

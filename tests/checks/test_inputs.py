"""What the checks draw: the same from the same seeds, whatever else is drawn before or between."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
import torch
from hypothesis import strategies as st

from grader.checks import framework
from grader.checks.framework.check import Check
from grader.checks.framework.inputs import Inputs, Numbers, distinct_sizes, inputs
from grader.curriculum import reference
from grader.grading.recording import draw, record


def test_each_purpose_has_numbers_of_its_own() -> None:
    numbers = Numbers(1, 2)
    x = numbers.normal("x", 3, 4)
    numbers.mask("mask", 3, 4)
    assert torch.equal(numbers.normal("x", 3, 4), x)
    others = [
        numbers.normal("y", 3, 4),
        *(Numbers(*two).normal("x", 3, 4) for two in [(1, 3), (2, 2)]),
    ]
    assert not any(torch.equal(other, x) for other in others)


def test_a_mask_hides_something_and_never_a_whole_row() -> None:
    for case in range(50):
        mask = Numbers(0, case).mask("mask", 2, 3, 4)
        assert mask.any(-1).all()
        assert mask[0, 0].sum() == 1
        padding = Numbers(0, case).padding("padding", 3, 5)
        assert padding.shape == (3, 1, 1, 5)
        assert not padding[..., 0].any()
        assert padding[..., -2:].all()
        moved = Numbers(0, case).permutation("order", 5)
        assert sorted(moved.tolist()) == list(range(5)) != moved.tolist()


@inputs
def tables(draw: st.DrawFn, numbers: Numbers, columns: int) -> torch.Tensor:
    """A table of so many columns."""
    (rows,) = draw(distinct_sizes(1))
    return numbers.normal("table", rows, columns)


def body(student: object, table: torch.Tensor) -> None:
    """A check that is only drawn for."""


def drawn(made: Inputs[torch.Tensor], run: int) -> list[torch.Tensor]:
    check = framework.Check("masks", "any", "Any.", 1.0, body, (made,), 3)
    return [arguments["table"] for arguments in draw(check, run)]


def test_inputs_are_those_of_their_run() -> None:
    first, second, again = (drawn(tables(4), run) for run in (1, 2, 1))
    assert all(table.size(1) == 4 for table in first)
    assert all(torch.equal(*two) for two in zip(first, again, strict=True))
    # Not even the simplest case, which hypothesis draws first in every run, has the same numbers.
    assert first[0].shape != second[0].shape or not torch.equal(first[0], second[0])


@pytest.mark.parametrize("exercise", ["masks", "attention", "sublayer"])
def test_a_run_does_not_know_of_another_in_its_process(exercise: str) -> None:
    answer = reference.module(exercise)
    for check in framework.load(exercise):
        first, other, again = (record(check, answer, seed) for seed in (1, 2, 1))
        assert first.frames == again.frames
        assert first.seed != other.seed


def test_a_seed_draws_the_same_whatever_modules_are_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def drawn() -> list[int]:
        numbers: list[int] = []

        def body(number: int) -> None:
            numbers.append(number)

        def declared(number: int) -> None:
            raise AssertionError(number)

        made = Check("", "", "", 0, declared, (st.integers(0, 10**6),), examples=200)
        made.explore(body, seed=7)()
        return numbers

    before = drawn()
    (tmp_path / "of_a_clone.py").write_text("SIZES = (123457, 234568, 345679, 456780)\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("of_a_clone")
    assert drawn() == before

"""Hints: a mistake is named from data alone, and told one step at a time."""

from __future__ import annotations

import lzma
from pathlib import Path
from types import ModuleType

import pytest

from grader.board import known
from grader.curriculum import mistakes, reference, stubs
from grader.judging.hints import write_hints

QUICK = ("masks", "attention")


@pytest.fixture(scope="module", autouse=True)
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data as a student's edition has it; nothing else is to be found."""
    folder = tmp_path_factory.mktemp("edition")
    write_hints(folder, QUICK)
    patch = pytest.MonkeyPatch()
    patch.setattr(known, "SHIPPED", folder)
    return folder


def edited(exercise: str, name: str) -> ModuleType:
    mistake = next(one for one in mistakes.load(exercise) if one.name == name)
    module = reference.variant(exercise, mistake.apply(stubs.reference_source(exercise)))
    assert isinstance(module, ModuleType), module
    return module


@pytest.mark.parametrize(
    ("exercise", "name"),
    [("masks", "all-turned-round"), ("attention", "scaled-by-d-k"), ("attention", "softmax-twice")],
)
def test_data_without_answers_names_a_mistake(exercise: str, name: str) -> None:
    assert known.diagnose(known.load(exercise), edited(exercise, name))[0] == (name,)


@pytest.mark.parametrize("exercise", QUICK)
def test_nothing_is_named_in_right_code(exercise: str) -> None:
    assert known.diagnose(known.load(exercise), reference.module(exercise)) == []


@pytest.mark.parametrize("exercise", QUICK)
def test_the_data_holds_no_answer(exercise: str, shipped: Path) -> None:
    content = lzma.decompress((shipped / f"{exercise}.hints").read_bytes())
    for mistake in mistakes.load(exercise):
        for edit in mistake.edits:
            for find, replace in edit.replacements:
                assert all(
                    len(text) < 20 or text.encode() not in content for text in (find, replace)
                )

"""A student who reads a stub, and the page it links, can know every point that the checks give."""

from __future__ import annotations

import ast
import re

import pytest

from grader.checks.framework.check import load
from grader.curriculum import NAMES
from grader.curriculum.rules import RULE_HEADING, rule
from grader.curriculum.stubs import (
    COMMON_LINE,
    READING,
    TASK,
    common_demands,
    solution,
    stub,
)

# What the title of a check demands, and the words that the stub or the page must have for it.
DEMANDS = {
    "gradients": "radients",
    "memory layout": "transposed",
    "dtype": "bfloat16|dtype",
    "copies": "deepcopy",
    "stay|not changed|unchanged|modif": "stay as they were|stays as it was|Don't modify",
    "without keys|nothing to attend": "finite numbers, not NaN",
    "training": "while training|training mode|during training",
    "any shape that broadcasts|hides": "any shape that broadcasts",
    "ValueError": "ValueError",
    "IndexError": "IndexError",
    "KeyError": "KeyError",
}
SECTIONS = ("## Formula", "## Shapes", "## With a pencil", TASK, READING, "## Questions to ask")


def docstring(name: str) -> str:
    return ast.get_docstring(ast.parse(solution(name))) or ""


def text_of(name: str) -> str:
    """The stub's text on one line, as a student reads it, with the page if it links it."""
    text = stub(solution(name), name)
    if COMMON_LINE in text:
        text += common_demands()
    return " ".join(text.split())


@pytest.mark.parametrize("name", NAMES)
def test_a_stub_tells_what_costs_points(name: str) -> None:
    text = text_of(name)
    titles = [check.title for check in load(name) if check.points]
    for wanted, pattern in DEMANDS.items():
        asking = [title for title in titles if re.search(wanted, title)]
        if asking and not (name == "masks" and "hides" in wanted):  # it makes masks, takes none
            assert re.search(pattern, text), f"{name} does not tell: {asking[0]}"


def test_the_page_states_what_holds_for_every_exercise() -> None:
    page = " ".join(common_demands().split())
    assert "same dtype" in page
    assert "device" in page
    for phrase in ("non-contiguous", "in place", "global settings", "Gradients", "loaded by name"):
        assert phrase in page
    for phrase in ("deepcopy", "another batch size", "10 s of CPU time", "60 s"):
        assert phrase in page


@pytest.mark.parametrize("name", NAMES)
def test_a_text_has_the_shape_of_all_texts(name: str) -> None:
    """Its sections stand in the same order everywhere, and what holds everywhere is a link."""
    text = docstring(name)
    positions = [text.find(f"\n{section}") for section in SECTIONS]
    missing = [section for section, at in zip(SECTIONS, positions, strict=True) if at < 0]
    assert not missing
    assert positions == sorted(positions)
    assert RULE_HEADING not in text, "the stub generator inserts it"
    assert ">>> " in text
    assert "PyTorch" in text.partition(READING)[2]
    task = text.partition(f"{TASK}\n")[2].partition("\n## ")[0]
    assert task.rstrip().endswith(COMMON_LINE)


@pytest.mark.parametrize("name", NAMES)
def test_a_stub_states_its_rule_once_between_task_and_reading(name: str) -> None:
    text = stub(solution(name), name)
    stated = rule(name).stated
    assert text.count(RULE_HEADING) == bool(stated)
    assert " ".join(text.split()).count(stated) == 1 or not stated
    if stated:
        assert text.index(TASK) < text.index(RULE_HEADING) < text.index(READING)

"""Whoever has read a stub, and nothing else, can know every point that the hidden checks give."""

from __future__ import annotations

import ast
import re

import pytest

from grader.checks.framework.check import load
from grader.curriculum import NAMES
from grader.curriculum.stubs import solution, stub

# What the title of a check demands, and the word that the stub must have for it.
DEMANDS = {
    "gradients": "radients",
    "memory layout": "transposed",
    "dtype": "bfloat16|dtype",
    "copies": "deepcopy",
    "stay|not changed": "stay as they were|stays as it was",
    "without keys": "finite numbers, not NaN",
    "training": "while training|training mode",
    "any shape that broadcasts|hides": "any shape that broadcasts",
    "ValueError": "ValueError",
    "IndexError": "IndexError",
    "KeyError": "KeyError",
}


def text_of(name: str) -> str:
    """The stub's text on one line, as a student reads it."""
    return " ".join(stub(solution(name), name).split())


@pytest.mark.parametrize("name", NAMES)
def test_a_stub_tells_what_costs_points(name: str) -> None:
    text = text_of(name)
    titles = [check.title for check in load(name) if check.points]
    for wanted, told in DEMANDS.items():
        asking = [title for title in titles if re.search(wanted, title)]
        if asking and not (name == "masks" and "hides" in wanted):  # it makes masks, takes none
            assert re.search(told, text), f"{name} does not tell: {asking[0]}"


@pytest.mark.parametrize("name", NAMES)
def test_a_stub_has_all_that_a_beginner_needs(name: str) -> None:
    """An example for the pencil, where to read, what besides counts, and how much time there is."""
    text = ast.get_docstring(ast.parse(solution(name))) or ""
    for heading in ("With a pencil", "What else counts", "Where to read", "Questions to ask"):
        assert re.search(f"^## {heading}", text, re.M) or name in ("training", "decoding"), heading
    assert ">>> " in text
    assert "PyTorch" in text.partition("## Where to read")[2]
    counts = text.partition("## What else counts")[2].partition("\n## ")[0]
    assert "10 seconds" in counts
    assert re.search(r"stay as they were|stays as it was", " ".join(counts.split()))

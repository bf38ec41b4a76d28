"""The pages around the exercises say what is true: what they compute is what they print."""

from __future__ import annotations

import doctest

import pytest
import torch

from grader.curriculum import reference
from grader.curriculum.project import EXERCISES


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("page", ["zero.md", "example.md"])
def test_a_page_prints_what_it_computes(page: str) -> None:
    reference.module("masks")  # the package of the answers, wherever it lies
    text = (EXERCISES / page).read_text(encoding="utf-8")
    text = text.replace("from exercises.", "from solutions.")
    examples = doctest.DocTestParser().get_doctest(text, {}, page, page, 0)
    torch.manual_seed(0)
    results = doctest.DocTestRunner().run(examples)
    assert results.attempted > 20
    assert results.failed == 0

"""A right answer that is nearly the same shows where to look first; others show nothing."""

from __future__ import annotations

import re
import warnings

import pytest

from grader.curriculum import stubs
from grader.grading.search.alignment import differences, has_one_fault
from grader.recognition.likeness import likely_line

NORM = stubs.reference_source("layer_norm")


def line_of(source: str, text: str) -> int:
    return 1 + source[: source.index(text)].count("\n")


def test_the_one_statement_that_differs_is_told_with_the_right_one() -> None:
    wrong = NORM.replace("+ self.eps", "- self.eps")
    result = differences("layer_norm", wrong)
    assert result is not None
    assert list(result) == [line_of(wrong, "- self.eps")]
    assert "+ self.eps" in next(iter(result.values()))


def test_a_statement_that_is_missing_shows_at_its_neighbours() -> None:
    gone = next(line for line in NORM.splitlines() if line.strip().startswith("mean ="))
    result = differences("layer_norm", NORM.replace(f"{gone}\n", ""))
    assert result is not None
    assert {gone.strip()} == set(result.values())


@pytest.mark.parametrize(
    ("right", "wrong", "is_one"),
    [
        ("variance + self.eps", "variance - self.eps", True),
        ("variance + self.eps", "variance", True),
        ("keepdim=True, correction=0", "keepdim=True", True),
        ("x.mean(dim=-1", "x.mean(dim=-2", True),
        ("(x - mean) / torch.sqrt(variance + self.eps)", "(x + mean) / variance.sqrt()", False),
    ],
)
def test_a_source_that_differs_in_one_place_has_one_fault(
    right: str, wrong: str, is_one: bool
) -> None:
    assert right in NORM
    assert has_one_fault("layer_norm", NORM.replace(right, wrong)) == is_one


def test_a_right_answer_and_another_one_have_not_one_fault() -> None:
    assert not has_one_fault("layer_norm", NORM)
    assert not has_one_fault("layer_norm", "a = 1")


def test_comments_and_texts_are_no_difference() -> None:
    assert differences("layer_norm", f'"""Mine."""\n# mine\n{NORM}') == {}


def test_a_statement_in_another_block_differs() -> None:
    """Nothing but what differs is edited: no fault may pass for a statement that is right."""
    source = stubs.reference_source("encoder")
    before, last, after = source.rpartition("        return x\n")
    wrong = f"{before}    {last}{after}"
    result = differences("encoder", wrong)
    assert result is not None
    assert 1 + before.count("\n") in result


def test_a_default_below_a_decorator_differs() -> None:
    source = stubs.reference_source("decoding")
    head = re.search(r"(?<=@torch.no_grad\(\)\n)def (\w+)\(", source)
    assert head is not None
    wrong = source.replace(head[0], f"def {head[1]}(extra, ")
    result = differences("decoding", wrong)
    assert result is not None
    assert line_of(wrong, "(extra, ") in result


@pytest.mark.parametrize("source", ["", "x = (", "x = 1\n" * 1000, "a = 1", "(" * 5000])
def test_what_is_like_no_right_answer_shows_nothing(source: str) -> None:
    assert differences("layer_norm", source) is None


def test_what_python_warns_of_in_a_students_text_is_not_printed() -> None:
    with warnings.catch_warnings(record=True) as recorded:
        warnings.simplefilter("always")
        differences("layer_norm", NORM + 'pattern = "\\d"\n')
        likely_line(NORM + 'pattern = "\\d"\n', [])
    assert not recorded

"""The lines that a failing test runs are known, and those that it doesn't are not pointed at."""

from __future__ import annotations

import pytest

from grader.board.statements import did_not_run, passes_on

SOURCE = """
class Layer:
    size = 3

    def __init__(self, size):
        self.size = size

    def forward(self, x, kind):
        if kind == "a":
            return (
                x + 1
            )
        match kind:
            case "b":
                return x + 2
            case _:
                raise ValueError
"""


@pytest.mark.parametrize(
    ("number", "ran", "skipped"),
    [
        (10, {9, 10, 11}, False),
        (11, {9, 10}, False),  # a statement of several lines
        (10, {9, 13, 14, 15}, True),
        (9, {9, 13, 14, 15}, False),
        (15, {9, 13, 14, 15}, False),
        (17, {9, 13, 14, 15}, True),
        (3, {9}, False),  # ran when the class was made
        (5, {9}, False),
        (6, {9}, False),  # the layer was made before the test
        (6, {5, 9}, False),
    ],
)
def test_a_statement_ran_if_a_line_of_it_did(number: int, ran: set[int], skipped: bool) -> None:
    assert did_not_run(SOURCE, number, frozenset(ran)) == skipped


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("return output, weights", True),
        ("return loss.item()", True),
        ("result[i, : len(words)] = torch.tensor(words)", True),
        ("return scores / total", False),
        ("return self.weight[ids]", False),
        ("return self.out_proj(heads)", False),
        ("best = words", False),
        ("result = torch.tensor(-1)", False),
    ],
)
def test_a_line_that_computes_nothing_only_passes_on(line: str, expected: bool) -> None:
    assert passes_on(f"def f(self):\n    {line}\n", 2) == expected

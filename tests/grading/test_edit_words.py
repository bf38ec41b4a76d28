"""What is said of a small edit: what it edits, in words that say which part of the line it is."""

from __future__ import annotations

import pytest

from grader.edits.edits import edits
from grader.edits.kinds import KINDS
from grader.edits.source import Answer, Edit

_LONG = "one_argument, another_argument, a_third_argument, a_fourth_argument"


@pytest.mark.parametrize(
    ("kind", "was", "says"),
    [
        ("missing argument", "Linear(a, a)", "With one more argument in `Linear(a, a)`"),
        ("missing argument", f"nn.Linear({_LONG})", "With one more argument in `nn.Linear(…)`"),
        ("missing argument", f"nn.Linear({_LONG}, …", "With one more argument in `nn.Linear(…)`"),
        ("extra term", f"f({_LONG}) + f({_LONG})", "With one fewer term in this expression"),
        ("extra statement", f"if f({_LONG}): pass", "Without this `if`"),
        ("extra statement", f"x = f({_LONG})", "Without this statement"),
        ("extra root", "math.sqrt(d)", "Without the root in `math.sqrt(d)`"),
    ],
)
def test_code_is_quoted_or_named(kind: str, was: str, says: str) -> None:
    assert KINDS[kind].tells(was) == says


def made(line: str) -> tuple[Answer, list[Edit]]:
    """Return a function with this line, and the edits of it."""
    answer = Answer({"file": f"def f(x, z):\n    {line}\n"})
    return answer, edits(answer)


def test_one_of_several_is_said_to_be_which() -> None:
    """`z` stands there twice, in `zz` it is no variable."""
    answer, every = made("return zz(z) + z**3")
    ways = {answer.sources["file"].which(edit) for edit in every if edit.was == "z"}
    assert ways == {"first", "second"}
    assert KINDS["name"].tells("z", "second") == (
        "With a different variable in place of the second `z`"
    )
    answer, every = made("return z + x")
    assert {answer.sources["file"].which(edit) for edit in every} == {""}


def test_a_root_more_and_a_root_less_are_told_apart() -> None:
    _, every = made("return x / math.sqrt(z)")
    kinds = {edit.kind: edit.becomes for edit in every if edit.was == "math.sqrt(z)"}
    assert kinds["root"] == "math.sqrt(z) ** 0.5"
    assert kinds["extra root"] == "math.sqrt(z) ** 2"
    _, every = made("return x / z")
    assert any(edit.kind == "square" and edit.was == "z" for edit in every)


def test_an_index_that_counts_from_the_end_stays_one() -> None:
    """`-0` counts from the start."""
    _, every = made("return x[-1]")
    assert not any(edit.was == "1" for edit in every)
    assert any(edit.kind == "index" for edit in every)

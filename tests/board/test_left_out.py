"""An argument that is not passed on is seen by its name, and never in right code."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.board.left_out import left_out
from grader.curriculum import NAMES, find, stubs

_VARIANTS = Path(__file__).parents[1] / "data" / "variants"
_OTHER = """
class Layer(nn.Module):
    def __init__(self, size, dropout=0.1, *, norm_first=False):
        pass
    def forward(self, x, mask=None):
        return x
def hide(ids, pad_id=0):
    return ids
"""
_STACK = """
class Stack(nn.Module):
    def __init__(self, size, n, dropout=0.1, norm_first=False, pad_id=0):
        self.pad_id = pad_id
        self.layers = nn.ModuleList(
            Layer(size, dropout, norm_first=norm_first) for _ in range(n)
        )
    def forward(self, x, mask=None):
        for layer in self.layers:
            x = layer(x, mask)
        return x
    def hidden(self, ids):
        return hide(ids, self.pad_id)
"""


@pytest.mark.parametrize(
    ("old", "new", "says", "number"),
    [
        ("size, dropout, norm", "size, norm", "`dropout` is not passed on to `Layer` here", 6),
        (", norm_first=norm_first)", ")", "so the default, False, is used", 6),
        ("layer(x, mask)", "layer(x)", "`mask` is not passed on to `layer` here", 10),
        ("(ids, self.pad_id)", "(ids)", "`pad_id` is not passed on to `hide` here", 13),
    ],
)
def test_an_argument_that_is_not_passed_on_is_named(
    old: str, new: str, says: str, number: int
) -> None:
    """Where a class is made, a layer of a list called, and a function is given an attribute."""
    assert left_out(_STACK, [_OTHER]) == []
    assert old in _STACK
    ((told, line),) = left_out(_STACK.replace(old, new), [_OTHER])
    assert says in told
    assert line == number


@pytest.mark.parametrize(
    "source",
    [
        # Another call passes it on.
        "def f(ids, pad_id=1):\n    return hide(ids) if pad_id == 0 else hide(ids, pad_id)",
        "def f(ids, pad_id=1, *rest):\n    return hide(*rest)",
        "def f(ids, pad_id=1, **rest):\n    return hide(ids, **rest)",
        "def f(ids):\n    return hide(ids)",
    ],
)
def test_what_may_be_passed_on_is_not_named(source: str) -> None:
    """Stars hide what is passed, and one of two calls may need the default."""
    assert left_out(source, [_OTHER]) == []


@pytest.mark.parametrize("exercise", NAMES)
def test_nothing_is_left_out_in_a_right_answer(exercise: str) -> None:
    """Names that the caller has, too, are a reason to doubt only where that is rare."""
    others = [stubs.solution(name) for name in find(exercise).needs]
    assert left_out(stubs.solution(exercise), others) == []
    for file in (_VARIANTS / exercise).glob("*.py"):
        assert left_out(file.read_text(encoding="utf-8"), others) == [], file.name

"""Arguments in each other's place are seen by their names, and never in right code."""

from __future__ import annotations

import pytest

from grader.curriculum import NAMES, find, stubs
from grader.recognition.misplaced import misplaced

_OTHER = """
class Layer(nn.Module):
    def __init__(self, size, heads, dropout=0.1):
        pass
    def forward(self, x, memory, mask=None):
        return x
"""
_STACK = """
def table(length, size):
    pass
class Stack(nn.Module):
    def __init__(self, size, heads, dropout, n):
        self.layers = nn.ModuleList(Layer(size, heads, dropout) for _ in range(n))
        self.first = Layer(size, heads, dropout=dropout)
        self.table = table(n, size)
    def forward(self, x, memory, mask):
        x = self.first(x, memory, mask)
        for layer in self.layers:
            x = layer(x, memory, mask)
        return self.layers[0](x, x, mask)
"""


@pytest.mark.parametrize(
    ("old", "new", "says", "number"),
    [
        (
            "Layer(size, heads, dropout) for",
            "Layer(heads, size, dropout) for",
            "`Layer` is made",
            6,
        ),
        ("dropout=dropout", "dropout=heads", "with `heads` for `dropout`", None),
        ("self.first(x, memory,", "self.first(memory, x,", "`self.first` is called with", 10),
        ("= layer(x, memory,", "= layer(memory, x,", "`memory` for `x` and `x` for `memory`", 12),
        ("(x, x, mask)", "(x, mask, x)", "`self.layers[0]` is called with `mask` for `memory`", 13),
    ],
)
def test_a_call_with_misplaced_arguments_is_named(
    old: str, new: str, says: str, number: int | None
) -> None:
    """Where a class is made, a module called, a layer of a list called in a loop."""
    assert misplaced(_STACK, [_OTHER]) == []
    found = misplaced(_STACK.replace(old, new), [_OTHER])
    if number is None:  # `heads` gets heads as well
        assert found == []
        return
    ((told, at),) = found
    assert says in told
    assert at == number


def test_a_static_method_takes_no_self() -> None:
    source = (
        "class Pairs:\n"
        "    @staticmethod\n"
        "    def join(a, b):\n"
        "        return a + b\n"
        "    def all(self, a, b):\n"
        "        return self.join({})\n"
    )
    assert misplaced(source.format("a, b"), []) == []
    ((told, _),) = misplaced(source.format("b, a"), [])
    assert "with `b` for `a` and `a` for `b`" in told


def test_what_the_base_class_is_made_with_is_checked_too() -> None:
    source = (
        "class Base(nn.Module):\n    def __init__(self, size, heads):\n        pass\n"
        "class Layer(Base):\n    def __init__(self, size, heads):\n"
        "        super().__init__({})\n"
    )
    assert misplaced(source.format("size, heads"), []) == []
    ((told, line),) = misplaced(source.format("heads, size"), [])
    assert told.startswith("`Base` is made with `heads` for `size` and `size` for `heads`.")
    assert line == 6


@pytest.mark.parametrize("exercise", NAMES)
def test_nothing_is_misplaced_in_a_right_answer(exercise: str) -> None:
    """Names of parameters in the place of others are a reason to doubt only where they are rare."""
    others = [stubs.solution(name) for name in find(exercise).needs]
    assert misplaced(stubs.solution(exercise), others) == []


def test_results_that_are_unpacked_in_another_order_are_named() -> None:
    """Here `weights` is what the call returns second."""
    attention = "def attention(q, k):\n    weights = q @ k\n    return weights @ k, weights"
    ((told, line),) = misplaced("weights, output = attention(q, k)", [attention])
    assert told.startswith("`attention` returns `weights` as its second result; this line")
    assert line == 1
    assert misplaced("output, weights = attention(q, k)", [attention]) == []
    assert misplaced("first, second = attention(q, k)", [attention]) == []

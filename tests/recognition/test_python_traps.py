"""What Python reads otherwise than it looks is told, and never of right code."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.curriculum import NAMES, stubs
from grader.recognition.python_traps import python_traps

_VARIANTS = Path(__file__).parents[1] / "data" / "variants"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("rows = [[0] * n] * n; rows[0][1] = 2", "`[[0] * n] * n` holds one list several times"),
        ("rows = [[0] * n] * n; return tensor(rows)", ""),
        ("rows = [[0] * n for _ in x]; rows[0][1] = 2", ""),
        ("rows = [0] * n; rows[0] = 2", ""),
        ("self.layers = nn.ModuleList([Layer(n)] * 3)", "`[Layer(n)] * 3` holds one `Layer`"),
        ("if n == 'relu' or 'gelu': pass", "'gelu' by itself counts as true"),
        ("if n == 'relu' or n == 'gelu': pass", ""),
        ("n = n or 'gelu'", ""),
        ("return x if not self.train else n", "`self.train` is a method"),
        ("return x if not self.training else n", ""),
        ("while not x.all(): pass", ""),
        ("while not x.all: pass", "`x.all` is a method"),
        ("s = self.state.get(n, {}); s['t'] = 1", "what is stored in `s` is lost"),
        ("s = self.state.get(n, {}); s['t'] = 1; self.state[n] = s", ""),
        ("s = self.state.get(n, {}); return s['t']", ""),
    ],
)
def test_a_line_that_looks_otherwise_is_told(body: str, says: str) -> None:
    """A list that is repeated, a condition that always holds, a dictionary that nothing keeps."""
    told = python_traps(f"class A:\n    def f(self, x, n):\n        {body}")
    assert len(told) == bool(says)
    assert says in "".join(sentence for sentence, _ in told)


@pytest.mark.parametrize("exercise", NAMES)
def test_no_right_answer_has_a_trap(exercise: str) -> None:
    """These are a reason to doubt only where they are rare."""
    assert python_traps(stubs.solution(exercise)) == []
    for file in (_VARIANTS / exercise).glob("*.py"):
        assert python_traps(file.read_text(encoding="utf-8")) == [], file.name

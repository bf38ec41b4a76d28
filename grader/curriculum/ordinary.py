"""What right answers to an exercise call of torch: data that `grader operators` makes.

A call outside this list costs nothing. It is a remark for the instructor, so that a way around the
rules that nobody has thought of is at least seen.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("ordinary.json")


def is_ordinary(name: str, exercise: str) -> bool:
    """Whether right answers call this operator (`aten::exp`) or function of torch."""
    known = _made()
    if name in known["not in"].get(exercise, ()):
        return False
    return (
        name in known["everywhere"]
        or name in known["in"].get(exercise, ())
        or name.startswith(tuple(f"{module}." for module in known["modules"]))
        or (name.startswith("torch.") and name.count(".") == 1)
    )


def is_ordinary_word(word: str, exercise: str) -> bool:
    """Whether a name of torch's stands in right answers, where the exercise does not forbid it."""
    known = _made()
    return word in known["words"] and word not in known["words not in"].get(exercise, ())


@cache
def _made() -> dict[str, Any]:
    known: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return known

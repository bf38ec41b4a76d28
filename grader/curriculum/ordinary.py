"""What right answers to an exercise call of torch: data that `grader operators` makes.

A call outside this list costs nothing. It is a remark for the instructor, so that a way around the
rules that nobody has thought of is at least seen.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("ordinary.json")


def is_ordinary(name: str, exercise: str) -> bool:
    """Return whether right answers call this operator (`aten::exp`) or function of torch."""
    known = _made()
    if name in known["not in"].get(exercise, ()):
        return False
    return (
        name in known["everywhere"]
        or name in known["in"].get(exercise, ())
        or name.startswith(tuple(f"{module}." for module in known["modules"]))
        or (name.startswith("torch.") and name.count(".") == 1)
    )


def known(exercise: str) -> tuple[list[str], list[str], list[str]]:
    """Return the names that `is_ordinary`, those that they begin with, and those that are not."""
    made = _made()
    names = [*made["everywhere"], *made["in"].get(exercise, ())]
    return names, [f"{module}." for module in made["modules"]], made["not in"].get(exercise, [])


def is_ordinary_word(word: str, exercise: str) -> bool:
    """Return whether right answers use a name of torch that the exercise does not forbid."""
    known = _made()
    if word in known["words not in"].get(exercise, ()):
        return False
    return word in known["words"] or word in known["words in"].get(exercise, ())


def is_ordinary_text(text: str) -> bool:
    """Return whether right answers have all imports and special names of a text."""
    made = _made()
    return imported(text) <= set(made["imports"]) and special(text) <= set(made["special"])


# Imports as far as they are statements; in a text a line may look like one.
_IMPORT = re.compile(
    r"(?:^|[;:])[ \t\f]*(?:from[ \t\f]+([\w.]+)[ \t\f]*import\b|import[ \t\f]+([^;\n#]+))",
    re.MULTILINE,
)
_SPECIAL = re.compile(r"\b__\w+__\b")


def imported(text: str) -> set[str]:
    """Return the modules that a source imports, by the first parts of their names."""
    names = set()
    for match in _IMPORT.finditer(text):
        for name in (match[1] or match[2]).split(","):
            names.add(re.split(r"\W", name.strip(), maxsplit=1)[0])
    return names - {""}


def special(text: str) -> set[str]:
    """Return the names in a source that begin and end with two underscores."""
    return set(_SPECIAL.findall(text))


@cache
def _made() -> dict[str, Any]:
    known: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return known

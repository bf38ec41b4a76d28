"""A line of the student's own source, as findings quote it."""

from __future__ import annotations

import re

from grader.feedback.finding import Place
from grader.remote.session import clean
from grader.remote.source_lines import source_lines

MAX_LINE = 160


def quoted(source: str, line: int) -> str:
    """Return a line of a student's source, fit to show and not too long; "" where there is none."""
    lines = source_lines(source)
    own = lines[line - 1].strip() if 0 < line <= len(lines) else ""
    return clean(own, MAX_LINE).replace("\n", " ")


def place_of(exercise: str, line: int, source: str) -> Place:
    """Return the place of a line in the answer to an exercise."""
    return Place(f"{exercise}.py", line, quoted(source, line))


def made_at(parameter: str, exercise: str, source: str) -> tuple[Place, ...]:
    """Return the place that makes a parameter, if a single one can; () if that isn't clear.

    Of `layers.0.self_attn.q_proj.weight`, that is the one that makes `q_proj`, or where another
    exercise does that, `self_attn`.
    """
    parts = parameter.split(".")
    made = [_assigning(part, source) for part in parts]
    if made[-1] and any(made[:-1]):
        return ()  # the class that makes it may be right, and given the wrong sizes
    lines = next(filter(None, reversed(made)), [])
    return (place_of(exercise, lines[0], source),) if len(lines) == 1 else ()


def _assigning(attribute: str, source: str) -> list[int]:
    """Return the lines that assign to an attribute."""
    assigns = re.compile(rf"\s*self\.{re.escape(attribute)}\s*(?::[^=]*)?=(?!=)")
    return [n for n, line in enumerate(source_lines(source), 1) if assigns.match(line)]

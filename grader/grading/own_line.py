"""A line of the student's own source, as findings quote it."""

from __future__ import annotations

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

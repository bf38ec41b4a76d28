"""What came of one public test, as data that travels between processes."""

from __future__ import annotations

from dataclasses import dataclass

from grader.feedback import text
from grader.feedback.finding import MODIFIED, Finding, Place, Status
from grader.feedback.text import Line

_PRINTED_LINES = 20


@dataclass
class Result:
    """What came of one public test. Plain data: it travels between processes.

    `finding` says why it did not pass. `waits_for` is the exercise whose code is not written yet or
    cannot be imported, if that was the reason; `unwritten` is the function in it. `example` is the
    smallest case that hypothesis found. `endless` says that the test was stopped, `is_comparison`
    that the code returned something else than expected, `names_cause` that its numbers, or the
    error, are those of a certain slip, `shows_origin` that its first places are the lines that
    made what does not fit in the last one, and `is_tests_own` that a line of the test raised it.
    """

    exercise: str
    test: str
    title: str
    where: str = ""
    status: Status = Status.PASSED
    finding: Finding | None = None
    example: str = ""
    waits_for: str = ""
    unwritten: str = ""
    in_import: bool = False
    endless: bool = False
    is_comparison: bool = False
    names_cause: bool = False
    shows_origin: bool = False
    is_tests_own: bool = False
    printed: str = ""

    @property
    def headline(self) -> str:
        """What is wrong, in a sentence; "" for nothing."""
        return self.finding.headline if self.finding is not None else ""

    @property
    def is_modified_input(self) -> bool:
        """Whether it says that the code has modified what it was given."""
        grid = self.finding.grid if self.finding is not None else None
        return grid is not None and grid.sides == MODIFIED

    @property
    def places(self) -> tuple[Place, ...]:
        """The lines of code that the message points to."""
        return self.finding.places if self.finding is not None else ()

    def lines(self) -> list[Line]:
        """Return what is wrong, line by line, without the places in the code."""
        lines = text.lines(self.finding) if self.finding is not None else []
        if self.example:
            lines += [[], [(f"Smallest case found: {self.example}", False)]]
        return lines

    def text(self) -> str:
        """Return all of it as plain text, for editors and reports."""
        lines = list(map(text.flattened, self.lines()))
        for place in self.places:
            lines += ["", *place_lines(place)]
        return text.printable("\n".join(lines))


def place_lines(place: Place) -> list[str]:
    """Return a place in two lines, as terminals and editors link it: where, and the code."""
    where = f"{place.file}:{place.line}" if place.line else place.file
    lines = [f"{where}, in {place.inside}" if place.inside else where]
    if place.source:
        lines.append(f"    {place.source}")
    return lines


def cut_printed(text: str) -> str:
    """Return the end of what the code printed, at most 20 lines."""
    lines = text.rstrip().splitlines()
    if len(lines) > _PRINTED_LINES:
        lines = [f"... {len(lines) - _PRINTED_LINES} lines before", *lines[-_PRINTED_LINES:]]
    return "\n".join(lines)

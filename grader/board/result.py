"""What came of one public test, as data that travels between processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from grader.feedback import text
from grader.feedback.finding import Finding, Place, Status, finding_fields, finding_from
from grader.feedback.text import Line

_PRINTED_LINES = 20


@dataclass
class Result:
    """What came of one public test. Plain data: it travels between processes.

    `finding` says why it did not pass. `waits_for` is the exercise whose code is not written yet or
    cannot be imported, if that was the reason; `unwritten` is the function in it. `example` is the
    smallest case that hypothesis found.
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
    printed: str = ""

    def to_wire(self) -> dict[str, Any]:
        """As dicts, lists and strings."""
        return {**vars(self), "status": self.status.value, "finding": finding_fields(self.finding)}

    @classmethod
    def from_wire(cls, data: dict[str, Any]) -> Result:
        """The inverse of `to_wire`."""
        status, finding = Status(data["status"]), finding_from(data["finding"])
        return cls(**{**data, "status": status, "finding": finding})

    @property
    def headline(self) -> str:
        """What is wrong, in a sentence; "" for nothing."""
        return self.finding.headline if self.finding is not None else ""

    @property
    def places(self) -> tuple[Place, ...]:
        """The lines of code to look at."""
        return self.finding.places if self.finding is not None else ()

    def lines(self) -> list[Line]:
        """What is wrong, line by line, without the places in the code."""
        lines = text.lines(self.finding) if self.finding is not None else []
        if self.example:
            lines += [[], [(f"Smallest case found: {self.example}", False)]]
        return lines

    def text(self) -> str:
        """All of it as plain text, for editors and reports."""
        lines = list(map(text.flattened, self.lines()))
        for place in self.places:
            lines += ["", *place_lines(place)]
        return "\n".join(lines)


def place_lines(place: Place) -> list[str]:
    """A place in two lines, as terminals and editors follow it: where, and the line of code."""
    where = f"{place.file}:{place.line}" if place.line else place.file
    lines = [f"{where}, in {place.inside}" if place.inside else where]
    if place.source:
        lines.append(f"    {place.source}")
    return lines


def cut_printed(text: str) -> str:
    """The end of what the code printed, at most 20 lines."""
    lines = text.rstrip().splitlines()
    if len(lines) > _PRINTED_LINES:
        lines = [f"... {len(lines) - _PRINTED_LINES} lines before", *lines[-_PRINTED_LINES:]]
    return "\n".join(lines)

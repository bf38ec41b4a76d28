"""The bar of nbgrader's long commands, with a converter that is made like nbgrader's."""

from __future__ import annotations

import io
import logging

import pytest
from rich.console import Console

from grader.course import progress


class Converter:
    """As much of nbgrader's converter as the bar looks at."""

    def __init__(self, stream: io.StringIO) -> None:
        self.log = logging.getLogger("converter")
        self.log.setLevel(logging.INFO)
        self.log.propagate = False
        self.log.handlers = [logging.StreamHandler(stream)]
        self.assignments = dict.fromkeys(("ada", "bo", "cy"))
        self.done: list[str] = []

    def init_destination(self, assignment: str, student: str) -> bool:
        return (assignment, student) != ("ps1", "bo")

    def convert_notebooks(self) -> None:
        for student in self.assignments:
            if self.init_destination("ps1", student):
                self.log.info("Converting notebook of %s", student)
                self.log.warning("%s is late", student)
                self.done.append(student)


@pytest.mark.parametrize("terminal", [True, False])
def test_a_terminal_shows_a_bar_and_a_file_every_line(
    terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown, logged = io.StringIO(), io.StringIO()
    console = Console(file=shown, force_terminal=terminal)
    monkeypatch.setattr(progress, "Console", lambda stderr: console)  # noqa: ARG005
    converter = Converter(logged)
    progress.show_progress(converter, "grading")
    converter.convert_notebooks()
    assert converter.done == ["ada", "cy"]
    if terminal:
        assert "grading" in shown.getvalue()
        assert "/3" in shown.getvalue()
        assert "Converting" not in shown.getvalue() + logged.getvalue()
        assert "ada is late" in shown.getvalue()
    else:
        assert shown.getvalue() == ""
        assert "Converting notebook of ada" in logged.getvalue()
    converter.log.info("afterwards")
    assert "afterwards" in logged.getvalue()

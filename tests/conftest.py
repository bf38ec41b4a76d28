"""Options of the benchmark's slow side, and a word on what could not be tested here."""

from __future__ import annotations

import pytest

from grader.sandbox import jail


def pytest_addoption(parser: pytest.Parser) -> None:
    """The submission that `fresh_pytest.py` grades."""
    parser.addoption("--submission", help="a folder with the exercises' files, for fresh_pytest.py")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says in one line that the jail was not tested, and why."""
    problems = jail.missing()
    if problems:
        problem = problems[0]
        terminalreporter.write_line(f"The jail was not tested: {problem.what} {problem.mend}")

"""What tests share: an option, threads, how they are spread, a word on what was not tested."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Torch computes with one thread, so that short computations are repeatable and quick."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


# What such a file looks at is made once in it, and takes long.
WHOLE = (
    "test_cli.py",
    "test_course_class.py",
    "test_course_lab.py",
    "test_exercise_run.py",
    "test_kernel.py",
)


def group(nodeid: str) -> str:
    """What a test shares with others: the recording of its exercise, its file, or nothing."""
    file, _, test = nodeid.partition("::")
    if file.endswith("test_fairness.py"):
        return test.partition("[")[2].rstrip("]").partition("-")[0]
    return file if file.endswith(WHOLE) else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """Sends the tests of a group to one worker, so that it makes what they need once."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return group(nodeid)

    return Scheduling(config, log)

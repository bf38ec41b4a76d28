"""Running the public tests of one exercise quietly, without pytest."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from types import ModuleType
from typing import Any

from grader.board.failure import failure
from grader.board.forbidden import watch
from grader.board.result import Result, cut_printed
from grader.board.stand_ins import standing_in
from grader.board.time_limit import TookTooLong, time_limit
from grader.board.workspace import Workspace
from grader.feedback.finding import Status


def run(workspace: Workspace, exercise: str) -> Iterator[Result]:
    """Runs the public tests of the exercise, in the order of their file.

    Public tests are plain functions without fixtures, so calling them is enough. What follows one
    that does not come back is not run.
    """
    for test in workspace.tests(exercise).values():
        printed = StringIO()
        try:
            with (
                redirect_stdout(printed),
                redirect_stderr(StringIO()),
                warnings.catch_warnings(),
                time_limit(),
                standing_in(workspace, exercise),
                watch(workspace, exercise),
            ):
                warnings.simplefilter("ignore")
                module = importlib.import_module(f"{workspace.folder.name}.test_{exercise}")
                calm(getattr(module, test.name))()
        except (Exception, SystemExit, TookTooLong) as error:
            result = failure(error, exercise, test, workspace)
            result.printed = cut_printed(printed.getvalue())
            yield result
            if isinstance(error, TookTooLong):
                return
        else:
            yield Result(exercise, test.name, test.title)


def is_done(workspace: Workspace, exercise: str) -> bool:
    """Whether all public tests of the exercise pass; stops at the first that does not."""
    results = run(workspace, exercise)
    return bool(workspace.tests(exercise)) and all(one.status is Status.PASSED for one in results)


def module(workspace: Workspace, exercise: str) -> ModuleType | None:
    """The student's module of an exercise; None if it cannot be imported."""
    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()), time_limit():
            return importlib.import_module(f"{workspace.folder.name}.{exercise}")
    except (Exception, SystemExit, TookTooLong):
        return None


def calm(test: Any) -> Any:
    """A hypothesis test set for a workspace: few cases, always the same, nothing stored."""
    if not hasattr(test, "hypothesis") or hasattr(test, "_hypothesis_internal_settings_applied"):
        return test
    from hypothesis import HealthCheck, Phase, settings

    return settings(
        max_examples=10,
        database=None,
        deadline=None,
        derandomize=True,
        report_multiple_bugs=False,
        print_blob=False,
        phases=(Phase.explicit, Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )(test)

"""Running the public tests of one exercise quietly, without pytest."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, redirect_stderr, redirect_stdout
from io import StringIO
from types import ModuleType
from typing import Any

from grader.board import in_place, left_on
from grader.board.failure import failure
from grader.board.forbidden import watch
from grader.board.result import Result, cut_printed
from grader.board.stand_ins import standing_in
from grader.board.time_limit import TookTooLong, time_limit
from grader.board.workspace import PublicTest, Workspace
from grader.feedback.finding import Status


def run(workspace: Workspace, exercise: str) -> Iterator[Result]:
    """Run the public tests of the exercise, in the order of their file.

    Public tests are plain functions without fixtures, so calling them is enough. What follows one
    that does not come back is not run.
    """

    def function(name: str) -> Any:
        module = importlib.import_module(f"{workspace.folder.name}.test_{exercise}")
        return getattr(module, name)

    for test in workspace.tests(exercise).values():
        around = (standing_in(workspace, exercise), watch(workspace, exercise))
        result = run_test(test, function, exercise, workspace, *around)
        yield result
        if result.endless:
            return


def run_test(
    test: PublicTest,
    function: Callable[[str], Any],
    exercise: str,
    workspace: Workspace,
    *around: AbstractContextManager[None],
) -> Result:
    """Run one public test of the exercise, within its time and all that is `around` it.

    `function` returns the test by its name; what it raises counts as the test's failure.
    """
    printed = StringIO()
    try:
        with (
            redirect_stdout(printed),
            redirect_stderr(StringIO()),
            warnings.catch_warnings(),
            time_limit(),
            ExitStack() as stack,
        ):
            warnings.simplefilter("ignore")
            for context in around:
                stack.enter_context(context)
            # The outer one asks tensors for more: what it asks is seen by no other.
            stack.enter_context(in_place.watch(workspace))
            stack.enter_context(left_on.watch(workspace))
            calm(function(test.name))()
    except (Exception, SystemExit, TookTooLong) as error:
        result = failure(error, exercise, test, workspace)
        result.printed = cut_printed(printed.getvalue())
        result.endless = isinstance(error, TookTooLong)
        return result
    return Result(exercise, test.name, test.title)


def is_done(workspace: Workspace, exercise: str) -> bool:
    """Return whether all public tests of the exercise pass, stopping at the first that does not."""
    results = run(workspace, exercise)
    return bool(workspace.tests(exercise)) and all(
        result.status is Status.PASSED for result in results
    )


def module(workspace: Workspace, exercise: str) -> ModuleType | None:
    """Return the student's module of an exercise; None if it cannot be imported."""
    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()), time_limit():
            return importlib.import_module(f"{workspace.folder.name}.{exercise}")
    except (Exception, SystemExit, TookTooLong):
        return None


def calm(test: Any) -> Any:
    """Return a hypothesis test set for a workspace: few cases, always the same, nothing stored."""
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

"""Running the public tests of one exercise quietly, outside pytest's own run."""

from __future__ import annotations

import importlib
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from types import ModuleType
from typing import Any

from grader.board.forbidden import watch
from grader.board.time_limit import TookTooLong, time_limit
from grader.board.workspace import Workspace


def is_done(workspace: Workspace, exercise: str) -> bool:
    """Whether all public tests of the exercise pass; stops at the first that does not.

    Public tests are plain functions without fixtures, so calling them is enough.
    """
    tests = workspace.tests(exercise)
    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            for name in tests:
                with time_limit(), watch(workspace, exercise):
                    module = importlib.import_module(f"{workspace.folder.name}.test_{exercise}")
                    calm(getattr(module, name))()
    except (Exception, SystemExit, TookTooLong):
        return False
    return bool(tests)


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

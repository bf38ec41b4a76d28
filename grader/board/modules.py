"""Collecting a test file although the student's code that it imports may be broken."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from grader.board.forbidden import watch
from grader.board.stand_ins import standing_in
from grader.board.time_limit import TookTooLong, time_limit
from grader.board.workspace import Workspace
from grader.curriculum import closure


class TestFile(pytest.Module):
    """A public test file. When its import fails, each of its tests fails with that error.

    pytest itself would stop the whole run, though only one exercise is broken.
    """

    workspace: Workspace
    hung: dict[str, TookTooLong]

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """Return the tests, or stand-ins of the same names."""
        exercise = self.path.stem.removeprefix("test_")
        try:
            for name in (*closure(exercise), exercise):
                if name in self.hung:
                    raise self.hung[name]
            with (
                time_limit(),
                standing_in(self.workspace, exercise),
                watch(self.workspace, exercise),
            ):
                assert self.obj is not None
        except (Exception, SystemExit, TookTooLong) as error:
            if isinstance(error, TookTooLong):
                for path, _ in self.workspace.places(error.__traceback__):
                    self.hung.setdefault(path.stem, error)
            return [
                BrokenTest.from_parent(self, name=test.name, error=error, line=test.line)
                for test in self.workspace.tests(exercise).values()
            ]
        return super().collect()


class BrokenTest(pytest.Item):
    """Stand in for a test whose file could not be imported."""

    def __init__(self, *, error: BaseException, line: int, **kwargs: object) -> None:
        """Keep the error for the moment when the test would run."""
        super().__init__(**kwargs)  # type: ignore[arg-type]
        self.error = error
        self.traceback = error.__traceback__
        self.line = line

    def runtest(self) -> None:
        """Raise the error of the import, which other tests of the file have raised as well."""
        raise self.error.with_traceback(self.traceback)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the traceback in the style that tests have; otherwise it is always the longest."""
        return super().repr_failure(excinfo, style or self.config.option.tbstyle)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return where editors show the test; they count lines from zero."""
        return self.path, self.line - 1, self.name

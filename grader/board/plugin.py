"""The pytest plugin behind `pytest exercises/`."""

from __future__ import annotations

import gc
import shutil
import sys
from collections.abc import Generator, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from grader.board import in_place, left_on, probe
from grader.board.failure import failure
from grader.board.forbidden import watch
from grader.board.modules import BrokenTest, TestFile
from grader.board.progress import TODO, WRONG, Progress, find_blocked, next_exercise
from grader.board.rendering import STYLES, Line, behind_others, board, fitted, hint_lines, messages
from grader.board.result import Result, cut_printed
from grader.board.stand_ins import standing_in
from grader.board.time_limit import TookTooLong, time_limit
from grader.board.workspace import PublicTest, Workspace
from grader.curriculum import NAMES, CurriculumError
from grader.feedback import records
from grader.feedback.finding import Status
from grader.feedback.plain_letters import print_plainly
from grader.feedback.text import WORDS, printable

# Tracebacks that pytest itself shows when asked to: --tb=long and the like.
_OWN_STYLES = ("auto", "no")
_ATTRIBUTE = "board_result"
_GIVEN = "grader/hints"  # in pytest's cache: which hints were given, on which code
_NOTHING_TO_HINT_AT = "Nothing is wrong here, so there is no hint."
_FIRST = "There is no hint here: {exercise} comes first, which {others} builds on."
_NOT_WRITTEN = (
    'There is no hint yet: {exercise} is to be written. Its text says how, after "To start".'
)


class Board:
    """Gathers the results of the public tests on one workspace and shows the board at the end.

    Its hooks leave every test outside the workspace alone. When nothing else was selected,
    pytest's own header, dots and summary make way for the board; -v brings them back.
    """

    def __init__(self, folder: Path, config: pytest.Config) -> None:
        """Watch the workspace at `folder`; called while pytest is being configured."""
        print_plainly()
        self.config = config
        self.workspace = Workspace(folder, config.invocation_params.dir)
        try:
            self.assigned = self.workspace.assigned
            self.limit_of_hints = self.workspace.limit_of_hints
        except CurriculumError as error:
            raise pytest.UsageError(str(error)) from None
        self.progress: dict[str, Progress] = {}
        self.seen: set[str] = set()
        self.hung: dict[str, TookTooLong] = {}
        self.verbosity: int = config.option.verbose
        # Workers of xdist get the options after `_quieten` has changed them here.
        option = config.option
        option.asked_tbstyle = getattr(option, "asked_tbstyle", option.tbstyle)
        self.in_own_words = option.asked_tbstyle in _OWN_STYLES
        self.alone = self._only_the_desk_is_selected() and not config.option.collectonly
        if self.alone:
            self._quieten()

    def _only_the_desk_is_selected(self) -> bool:
        start = self.config.invocation_params.dir
        paths = [(start / str(arg).split("::")[0]).resolve() for arg in self.config.args]
        return all(path.is_relative_to(self.workspace.folder) for path in paths)

    def _quieten(self) -> None:
        option = self.config.option
        option.disable_warnings = True
        if not any(str(arg).startswith("-r") for arg in self.config.invocation_params.args):
            option.reportchars = ""
        if option.verbose <= 0:
            option.verbose = -2
        if self.in_own_words:
            # The tracebacks that pytest makes are not shown; this is its cheapest kind.
            option.tbstyle = "native"

    @staticmethod
    def add_options(parser: pytest.Parser) -> None:
        """Give pytest the option --hint."""
        parser.addoption(
            "--hint",
            action="store_true",
            help="a hint on the first exercise that is wrong; repeat it for the next hint",
        )

    # Collecting

    def pytest_pycollect_makemodule(
        self, module_path: Path, parent: pytest.Collector
    ) -> TestFile | None:
        """Collect a test file of the workspace so that a broken import stops nothing else."""
        exercise = self.workspace.exercise_of(module_path)
        if exercise is None:
            return None
        if not self.workspace.tests(exercise):
            self._progress(exercise)  # no test of it will be counted, and its row is shown
        file: TestFile = TestFile.from_parent(parent, path=module_path)
        file.workspace, file.hung = self.workspace, self.hung
        return file

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Put the tests into curriculum order and calm those of hypothesis down."""
        of_workspace = [item for item in items if self.workspace.exercise_of(item.path)]
        of_workspace.sort(key=lambda item: NAMES.index(self.workspace.exercise_of(item.path) or ""))
        if len(of_workspace) == len(items):
            items[:] = of_workspace
        if self.alone and "hypothesis" in sys.modules:
            self._store_hypothesis_files_in_the_cache()
        for item in of_workspace:
            if isinstance(item, pytest.Function):
                item.obj = probe.calm(item.obj)

    def _store_hypothesis_files_in_the_cache(self) -> None:
        cache = getattr(self.config, "cache", None)
        if cache is not None:
            from hypothesis.configuration import set_hypothesis_home_dir

            set_hypothesis_home_dir(cache.mkdir("hypothesis"))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Count what was selected."""
        self._select(item.nodeid for item in session.items)
        if self.alone:
            # All that is loaded by now stays; the collector need not walk through torch again.
            gc.freeze()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Count what was selected, as a worker of xdist says."""
        self._select(ids)

    def _select(self, node_ids: Iterable[str]) -> None:
        for node_id in node_ids:
            path = self.config.rootpath / node_id.split("::")[0]
            exercise = self.workspace.exercise_of(path)
            if exercise and node_id not in self.seen:
                self.seen.add(node_id)
                self._progress(exercise).selected += 1

    def _progress(self, exercise: str) -> Progress:
        if exercise not in self.progress:
            tests = tuple(self.workspace.tests(exercise))
            changed = self.workspace.has_changed_tests(exercise)
            self.progress[exercise] = Progress(exercise, tests, changed=changed)
        return self.progress[exercise]

    # Running

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Stop a test that does not come back, or whose code calls what it may not."""
        exercise = self.workspace.exercise_of(item.path)
        if exercise is None or item.config.option.usepdb:
            return (yield)
        with (
            time_limit(),
            standing_in(self.workspace, exercise),
            watch(self.workspace, exercise),
            left_on.watch(self.workspace),
            in_place.watch(self.workspace),
        ):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attach to the report what the board shows of it."""
        exercise = self.workspace.exercise_of(item.path)
        if exercise is None:
            return (yield)
        option, style = item.config.option, item.config.option.tbstyle
        if self.in_own_words:
            # The traceback that pytest makes is not shown; without its lines it costs nothing.
            option.tbstyle = "value"
        try:
            report = yield
        finally:
            option.tbstyle = style
        name = getattr(item, "originalname", None) or item.name
        test = self.workspace.tests(exercise).get(name) or PublicTest(name, name, 0)
        if report.failed and call.excinfo is not None:
            result = failure(call.excinfo.value, exercise, test, self.workspace)
            result.printed = cut_printed(report.capstdout)
            if self._is_optional(result):
                report.outcome = "skipped"
                report.longrepr = (str(item.path), test.line, "Not assigned, and not started.")
            elif self.in_own_words or result.status is Status.TODO:
                report.longrepr = result.text()
        elif report.passed and report.when == "call":
            result = Result(exercise, test.name, test.title)
        else:
            return report
        setattr(report, _ATTRIBUTE, records.fields(result))
        return report

    def _is_optional(self, result: Result) -> bool:
        """Return whether it is to do but not assigned: then it does not make a run fail."""
        is_any_assigned = any(name in self.assigned for name in self.progress)
        is_handed_out = self.workspace.is_handed_out(result.exercise)
        return result.status is Status.TODO and is_handed_out and is_any_assigned

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take a result in; under xdist it comes from another process."""
        data = getattr(report, _ATTRIBUTE, None)
        if data is not None:
            result = records.read(Result, data)
            self._progress(result.exercise).add(result)

    def pytest_report_teststatus(
        self, report: pytest.TestReport
    ) -> tuple[str, str, str | tuple[str, dict[str, bool]]] | None:
        """Name a result, so that pytest does not say again what the board says."""
        data = getattr(report, _ATTRIBUTE, None)
        if data is None:
            return None
        status = Status(data["status"])
        word = WORDS[status]
        category = "passed" if status is Status.PASSED else word
        if status is Status.FAILED and not self.in_own_words:
            category = "failed"  # so that pytest shows its traceback
        if self.alone and self.config.option.verbose < 0:
            return category, "", ""
        if category in ("passed", "failed"):
            return None
        markup = {"yellow": True} if status is Status.TODO else {"red": True}
        return category, word[0], (word.upper(), markup)

    # Showing

    def pytest_terminal_summary(self, terminalreporter: Any, config: pytest.Config) -> None:
        """Write the messages and the board."""
        if config.option.collectonly or config.option.no_summary:
            return
        if not self.alone and not self.progress:
            return
        find_blocked(
            self.progress,
            lambda name: probe.is_done(self.workspace, name),
            self.workspace.is_handed_out,
        )
        width = shutil.get_terminal_size().columns
        style = config.option.asked_tbstyle
        shown_here = style in ("auto", "long") and self.verbosity >= 0
        in_full = style == "long" or self.verbosity > 0
        if not self.alone or config.option.verbose > 0 or not self.in_own_words:
            terminalreporter.write_sep("=", "the board")
        if shown_here:
            # Imported where something is wrong, as is what `_hint` needs: it takes a while.
            from grader.board import pointers

            for name, progress in self.progress.items():
                is_alone = len(self.progress) == 1
                is_blocked = is_alone and progress.blocked_by and progress.own_failures()
                if progress.status == WRONG or is_blocked:
                    module = partial(probe.module, self.workspace, name)
                    pointers.point(name, progress.failures(), self.workspace, module, in_full)
                if is_blocked:
                    self._write(terminalreporter, [*behind_others(progress, width), []])
            self._write(terminalreporter, messages(self.progress, width, in_full))
        if config.option.hint:
            self._write(terminalreporter, self._hint(width))
        self._write(terminalreporter, board(self.progress, self.workspace))

    def _hint(self, width: int) -> Iterable[Line]:
        """Return a hint on what the board names as next, if that is wrong."""
        from grader.board import hints, known

        exercise = next_exercise(self.progress, self.assigned)
        progress = self.progress.get(exercise)
        if progress is None or progress.status != WRONG:
            waiting = [name for name, one in self.progress.items() if exercise in one.blocked_by]
            why = _NOTHING_TO_HINT_AT
            if waiting:
                why = _FIRST.format(exercise=exercise, others=waiting[0])
            elif progress is not None and progress.status == TODO:
                why = _NOT_WRITTEN.format(exercise=exercise)
            return [[(why, "title")], []]
        cache = getattr(self.config, "cache", None)
        given = cache.get(_GIVEN, {}) if cache is not None else {}
        given = given if isinstance(given, dict) else {}
        module, source = probe.module(self.workspace, exercise), self.workspace.source(exercise)
        try:
            results = progress.in_order()
            shown = hints.ask(exercise, results, module, source, given, self.limit_of_hints)
        except known.NoHintsError as error:
            return [[(f"{exercise}: there is no hint. ", WRONG)], [(str(error), "")], []]
        if cache is not None:
            cache.set(_GIVEN, given)
        return hint_lines(shown, width)

    def _write(self, terminalreporter: Any, lines: Iterable[Line]) -> None:
        for line in fitted(lines):
            for text, style in line:
                terminalreporter.write(printable(text), **STYLES[style])
            terminalreporter.write("\n")


__all__ = ["Board", "BrokenTest", "TestFile"]

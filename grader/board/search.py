"""The search for the wrong line: a small edit of it with which the tests pass.

An error or a wrong number comes out at the end of a computation. Where nothing in the source tells
which line made it, small edits of the student's code are tried on the public tests, as the grader
does on its hidden checks. What is said is what was seen: which tests pass with an edit of the line.
The edit itself is not shown. A few public tests may pass by chance, so where the answers of right
code to other calls are known, those of the edited code are compared with them.
"""

from __future__ import annotations

import ast
import importlib
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from io import StringIO
from types import FrameType, ModuleType
from typing import Any

import torch

from grader.board.confined import limited_memory, watched
from grader.board.probe import calm
from grader.board.stand_ins import standing_in
from grader.board.time_limit import TookTooLong, time_limit
from grader.board.workspace import Workspace
from grader.edits.edits import edits
from grader.edits.kinds import KINDS
from grader.edits.source import Answer, Edit
from grader.recognition.likeness import parsed
from grader.remote.settings import Settings

# The number of edits is limited, so that what is said doesn't depend on the machine; the CPU time
# is the last resort. A public test mostly takes a millisecond.
MOST_TRIED = 500
MOST_CONFIRMED = 8  # of those with which tests pass
SECONDS, SECONDS_EACH = 1.0, 0.5
WALL = 10.0  # seconds of wall time, for code that waits
SECONDS_BEFORE = 5.0  # for a test of the code as it is, while its lines are followed
RIGHTLY = 3.0  # how much less likely an edit is on a line that runs in all tests that pass
NEAR = 3.0  # how much likelier it is on the line that raised
LIKELY = 10.0  # and on the one that a known mistake is most like: there all edits come first
LATER = 3.0  # how much less likely it is if it may only undo a mistake of another line
FIRST = 1.5  # how much likelier it is if it is of a whole condition
# Edits that may pass a single test by chance, or because a line doesn't run any more.
_DOUBTFUL = ("comparison", "condition", "constant", "index", "name", "unguarded")
_FILE = "<edited>"
_MORE = ("one more test passes", "{} more tests pass", "all tests pass")
# Whether an edited module answers other calls better, and if all tests pass with it, rightly.
Confirms = Callable[[ModuleType, bool], bool]


@dataclass(frozen=True)
class Found:
    """The line of an edit that helps, and in words what was edited and how many tests pass then.

    `asks` is a question about the line. Both are "" if all tests pass and the code is wrong all the
    same: then the line is only likely to be the one.
    """

    line: int
    told: str = ""
    asks: str = ""


@dataclass(frozen=True)
class _Run:
    """What one test came to: whether it passed, the lines that ran, and the one that raised."""

    passed: bool
    lines: frozenset[int] = frozenset()
    raised: int = 0


class Runs:
    """The public tests of an exercise on the code as it is: which pass, and the lines they run."""

    def __init__(self, workspace: Workspace, exercise: str) -> None:
        """Run them all. In a notebook, whose tests are in no file, nothing is known of them."""
        self.workspace, self.exercise = workspace, exercise
        self.answer = Answer({exercise: workspace.source(exercise)})
        self.before: dict[str, _Run] = {}
        if not self.answer.sources:
            return
        with _quietly(workspace, exercise), suppress(Exception, SystemExit, TookTooLong):
            self.tests = _Tests(workspace, exercise)
            self.before = self.tests.run_all(self.answer.texts[exercise])

    def lines(self, test: str) -> frozenset[int]:
        """Return the lines that a test runs, if they are known."""
        return self.before[test].lines if test in self.before else frozenset()

    def search(
        self, failing: Sequence[str], likely: int = 0, confirms: Confirms | None = None
    ) -> Found | None:
        """Return the line with an edit of which the first of the `failing` tests passes, if any.

        No test that passes may fail with it, and `confirms` has to agree. Edits of the line
        `likely` are tried first. Nothing is tried on a file that does something when it is
        imported, as it would do so each time, nor on code that reaches out of the process, to files
        for example.
        """
        wrong = [name for name in failing if name in self.before and not self.before[name].passed]
        if not wrong or wrong[0] != failing[0] or self.tests.reach_out or _acts(self.answer):
            return None
        with (
            _quietly(self.workspace, self.exercise),
            watched(_FILE, may=False),
            limited_memory(),
        ):
            order = _ordered(
                self.answer, self.before, wrong[0], likely, are_confirmed=confirms is not None
            )
            return _first(order, self.answer, self.tests, self.before, wrong[0], confirms)


def _acts(answer: Answer) -> bool:
    """Return whether a text has a call or a loop of its own outside of functions."""
    return any(
        isinstance(node, ast.For | ast.While | ast.With)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call))
        for source in answer.sources.values()
        for node in source.tree.body
    )


def _first(
    order: Sequence[Edit],
    answer: Answer,
    tests: _Tests,
    before: dict[str, _Run],
    target: str,
    confirms: Confirms | None,
) -> Found | None:
    """Return what the first edit that makes all tests pass has to say, or else the best one.

    If there is none, return the line of the first with which they pass by chance.
    """
    right = [name for name, run in before.items() if run.passed]
    wrong = [name for name, run in before.items() if not run.passed]
    best: tuple[int, Edit] | None = None
    by_chance: Edit | None = None
    conditions = {
        node.test.lineno
        for text in answer.texts.values()
        for node in ast.walk(parsed(text))
        if isinstance(node, ast.If | ast.While)
    }
    begun, started = time.process_time(), time.monotonic()
    tried: set[str] = set()
    asked = 0
    for edit in order[:MOST_TRIED]:
        if time.process_time() - begun > SECONDS or time.monotonic() - started > WALL:
            break
        source = answer.edited(edit)[edit.file]
        if source in tried:
            continue
        tried.add(source)
        passing = tests.count(source, target, right, wrong)
        is_whole = passing == len(wrong)
        is_doubtful = edit.kind in _DOUBTFUL or edit.line in conditions
        is_sure = is_whole or (KINDS[edit.kind].keeps and not is_doubtful)
        if not (passing and is_sure and (best is None or passing > best[0])):
            continue
        if confirms is not None:
            if asked == MOST_CONFIRMED:
                break
            asked += 1
            stopped = time.process_time()
            is_confirmed = tests.confirm(source, confirms, is_whole)
            begun += time.process_time() - stopped  # so that it doesn't cost any edits
            if not is_confirmed:
                by_chance = by_chance or (edit if is_whole else None)
                continue
        if is_whole and (confirms is not None or not KINDS[edit.kind].drops):
            return _found(edit, answer, passing, len(wrong))
        best = passing, edit
    if best is not None:
        return _found(best[1], answer, best[0], len(wrong))
    return Found(by_chance.line) if by_chance is not None else None


def _found(edit: Edit, answer: Answer, passing: int, wrong: int) -> Found:
    kind = KINDS[edit.kind]
    one, several, all_ = _MORE
    more = all_ if passing == wrong else one if passing == 1 else several.format(passing)
    which = answer.sources[edit.file].which(edit)
    changed = kind.tells(" ".join(edit.was.split()), which)
    return Found(edit.line, f"{changed}, {more}.", kind.asks)


def _ordered(
    answer: Answer, before: dict[str, _Run], target: str, likely: int, are_confirmed: bool
) -> list[Edit]:
    """Return the edits that can matter to a test, the likeliest first.

    Those of lines that few of the right tests run are made first: only so many are made. If those
    that help `are_confirmed`, a condition is tried as true and as false before any part of it is
    edited, which may only make it true or false in a strange way.
    """
    run = before[target]
    right = [other.lines for other in before.values() if other.passed]
    shares = {
        line: sum(line in lines for lines in right) / len(right) if right else 0.0
        for line in run.lines
    }
    every: dict[Edit, float] = {}
    for share in sorted(set(shares.values())):
        there = {line for line, other in shares.items() if other == share}
        for edit in edits(answer, there):
            whole = range(edit.line, answer.sources[edit.file].line(edit.end) + 1)
            least = min(shares.get(line, share) for line in whole)
            # A root of a variable often undoes what is wrong in the line that makes it.
            later = LATER * (edit.kind in ("root", "square") and edit.was.isidentifier())
            near = NEAR * (edit.line == run.raised) + LIKELY * (edit.line == likely)
            is_constant = edit.kind == "condition" and edit.becomes in ("True", "False")
            first = FIRST * (are_confirmed and is_constant)
            every[edit] = edit.rank + later + RIGHTLY * least - near - first
    # A line that doesn't run may do so where it is moved out of a block.
    for edit in edits(answer):
        if edit.kind == "indentation" and edit.line not in run.lines:
            every[edit] = edit.rank
    return [edit for edit in sorted(every, key=every.__getitem__) if not edit.others]


class _Tests:
    """The public tests of an exercise, run on edited sources of it.

    `reach_out` says whether the unedited code reaches out of the process in one of them.
    """

    def __init__(self, workspace: Workspace, exercise: str) -> None:
        folder = workspace.folder.name
        self.file = workspace.code_path(exercise)
        self.name = f"{folder}.{exercise}"
        self.module = importlib.import_module(f"{folder}.test_{exercise}")
        own = vars(importlib.import_module(self.name))
        self.imported = [
            name
            for name, value in vars(self.module).items()
            # What pytest adds to a module that it rewrites is no identifier.
            if name.isidentifier() and not name.startswith("__")
            if name in own and own[name] is value
        ]
        self.tests = {
            name: calm(vars(self.module)[name])
            for name in workspace.tests(exercise)
            if name in vars(self.module)
        }
        self.reach_out = False

    def run_all(self, source: str) -> dict[str, _Run]:
        """Run every test, and note the lines that run."""
        with watched(_FILE, may=True) as watch, self._in_place(source):
            runs = {name: self._run(name, is_traced=True) for name in self.tests}
        self.reach_out = watch.out
        return runs

    def count(self, source: str, target: str, right: Sequence[str], wrong: Sequence[str]) -> int:
        """Return how many of the `wrong` tests pass; 0 where the target or a `right` one fails."""
        try:
            with self._in_place(source):
                if not self._run(target).passed:
                    return 0
                if not all(self._run(name).passed for name in right):
                    return 0
                return 1 + sum(self._run(name).passed for name in wrong if name != target)
        except (Exception, SystemExit, TookTooLong):
            return 0

    def confirm(self, source: str, confirms: Confirms, whole: bool) -> bool:
        """Return whether `confirms` agrees to this source."""
        settings = Settings()
        try:
            with self._in_place(source) as made:
                return confirms(made, whole)
        except (Exception, SystemExit, TookTooLong):
            return False
        finally:
            settings.restore()

    @contextmanager
    def _in_place(self, source: str) -> Iterator[ModuleType]:
        """In this block the tests use what this source defines, which is in the module returned."""
        made = ModuleType(self.name)
        made.__file__ = str(self.file)
        with time_limit(SECONDS_EACH):
            exec(compile(source, _FILE, "exec", dont_inherit=True), vars(made))
        names = vars(self.module)
        before = {name: names[name] for name in self.imported}
        try:
            names.update({name: vars(made)[name] for name in self.imported})
            yield made
        finally:
            names.update(before)

    def _run(self, name: str, is_traced: bool = False) -> _Run:
        lines: set[int] = set()

        def follow(frame: FrameType, event: str, argument: object) -> Any:
            del argument
            if frame.f_code.co_filename != _FILE:
                return None
            if event == "line":
                lines.add(frame.f_lineno)
            return follow

        settings = Settings()
        try:
            with time_limit(SECONDS_BEFORE if is_traced else SECONDS_EACH):
                if is_traced:
                    sys.settrace(follow)
                try:
                    self.tests[name]()
                finally:
                    if is_traced:
                        sys.settrace(None)
        except TookTooLong:
            if is_traced:  # nothing is tried on code that hangs
                raise
            return _Run(False)
        except (Exception, SystemExit) as error:
            return _Run(False, frozenset(lines), _last_line(error))
        finally:
            # What is stopped inside of `torch.no_grad` leaves gradients off for all that follows.
            settings.restore()
        return _Run(True, frozenset(lines))


def _last_line(error: BaseException) -> int:
    """Return the last line of the edited source on the way of an error; 0 if there is none."""
    traceback, line = error.__traceback__, 0
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == _FILE:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line


@contextmanager
def _quietly(workspace: Workspace, exercise: str) -> Iterator[None]:
    with (
        standing_in(workspace, exercise),
        redirect_stdout(StringIO()),
        redirect_stderr(StringIO()),
        warnings.catch_warnings(),
        torch.random.fork_rng(devices=[]),
    ):
        warnings.simplefilter("ignore")
        yield

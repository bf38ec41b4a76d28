"""Runs the public tests of one exercise on the objects of a notebook."""

from __future__ import annotations

import ast
import linecache
import warnings
from collections.abc import MutableMapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from io import StringIO
from types import SimpleNamespace
from typing import Any

from grader.board.failure import failure
from grader.board.forbidden import watch
from grader.board.hints import Shown, ask
from grader.board.known import NoHintsError
from grader.board.probe import calm
from grader.board.result import Result, cut_printed
from grader.board.time_limit import TookTooLong, time_limit
from grader.board.workspace import PublicTest
from grader.curriculum import closure, find
from grader.feedback.finding import Status
from grader.feedback.text import WORDS
from grader.magic.workspace import NotebookWorkspace


@dataclass(frozen=True)
class Outcome:
    """What the public tests of an exercise found. `missing` are names that are not defined.

    `hints` are those that were asked for so far; `no_hint` says why there are none.
    """

    exercise: str
    results: tuple[Result, ...]
    missing: tuple[str, ...] = ()
    hints: Shown | None = None
    no_hint: str = ""

    @property
    def status(self) -> Status:
        """Passed, failed or to do."""
        statuses = {one.status for one in self.results}
        if self.missing or (Status.TODO in statuses and Status.FAILED not in statuses):
            return Status.TODO
        return Status.FAILED if statuses - {Status.PASSED} else Status.PASSED

    @property
    def right(self) -> bool:
        """Whether all public tests passed."""
        return self.status is Status.PASSED

    @property
    def headline(self) -> str:
        """The outcome in one line."""
        if self.missing:
            names = ", ".join(self.missing)
            return f"{self.exercise}: {names} is not defined. Run its cell first."
        rights = sum(one.status is Status.PASSED for one in self.results)
        return (
            f"{self.exercise}: {WORDS[self.status]}, {rights} of {len(self.results)} tests passed."
        )


def run(exercise: str, tests: str, namespace: dict[str, Any]) -> Outcome:
    """Runs the tests in the source `tests` on the names of the exercise in `namespace`."""
    missing = tuple(name for name in find(exercise).entries if name not in namespace)
    if missing:
        return Outcome(exercise, (), missing)
    workspace = NotebookWorkspace(namespace)
    module = _module(exercise, tests, namespace)
    results = [_result(module[test.name], test, exercise, workspace) for test in _tests(tests)]
    return Outcome(exercise, tuple(results))


def hinted(outcome: Outcome, namespace: dict[str, Any], given: MutableMapping[str, Any]) -> Outcome:
    """The outcome with one hint more than `given` holds of this code."""
    exercise = outcome.exercise
    failures = [one for one in outcome.results if one.status is Status.FAILED]
    module = SimpleNamespace(**{name: namespace[name] for name in find(exercise).entries})
    source = NotebookWorkspace(namespace).source(exercise)
    try:
        return replace(outcome, hints=ask(exercise, failures, module, source, given))
    except NoHintsError as error:
        return replace(outcome, no_hint=f"There is no hint. {error}")


def _module(exercise: str, tests: str, namespace: dict[str, Any]) -> dict[str, Any]:
    """The namespace of the test module: the notebook's answers, then what the tests define."""
    names = [entry for one in (*closure(exercise), exercise) for entry in find(one).entries]
    module = {name: namespace[name] for name in names if name in namespace}
    module["__name__"] = f"tests_of_{exercise}"
    tree = ast.parse(tests)
    tree.body = [node for node in tree.body if not _imports_an_exercise(node)]
    file = f"<public tests of {exercise}>"
    linecache.cache[file] = (len(tests), None, tests.splitlines(keepends=True), file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(tree, file, "exec"), module)
    return module


def _imports_an_exercise(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "exercises"


def _tests(tests: str) -> list[PublicTest]:
    found = []
    for node in ast.parse(tests).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            words = node.name.removeprefix("test_").replace("_", " ")
            title = (ast.get_docstring(node) or words).splitlines()[0]
            uses = dict.fromkeys(one.id for one in ast.walk(node) if isinstance(one, ast.Name))
            found.append(PublicTest(node.name, title, node.lineno, tuple(uses)))
    return found


def _result(function: Any, test: PublicTest, exercise: str, workspace: NotebookWorkspace) -> Result:
    printed = StringIO()
    try:
        with (
            redirect_stdout(printed),
            redirect_stderr(StringIO()),
            warnings.catch_warnings(),
            time_limit(),
            watch(workspace, exercise),
        ):
            warnings.simplefilter("ignore")
            calm(function)()
    except (Exception, SystemExit, TookTooLong) as error:
        result = failure(error, exercise, test, workspace)
        result.where = ""
        result.printed = cut_printed(printed.getvalue())
        return result
    return Result(exercise, test.name, test.title)

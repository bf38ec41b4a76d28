"""Runs the public tests of one exercise on the objects of a notebook."""

from __future__ import annotations

import ast
import linecache
import warnings
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from grader.board.forbidden import watch
from grader.board.hints import Shown, ask
from grader.board.known import NoHintsError
from grader.board.notebook_workspace import NotebookWorkspace
from grader.board.pointers import point
from grader.board.probe import run_test
from grader.board.progress import Progress
from grader.board.result import Result
from grader.board.workspace import public_tests
from grader.curriculum import closure, find
from grader.curriculum.hint_limit import HintLimit
from grader.feedback.finding import Status
from grader.feedback.text import WORDS
from grader.remote.source_lines import source_lines


@dataclass(frozen=True)
class Outcome:
    """What the public tests of an exercise found. `missing` are names that are not defined.

    `hints` are those given so far; `no_hint` says why there are none.
    """

    exercise: str
    results: tuple[Result, ...]
    missing: tuple[str, ...] = ()
    hints: Shown | None = None
    no_hint: str = ""

    @property
    def status(self) -> Status:
        """Passed, failed or to do."""
        statuses = {result.status for result in self.results}
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
            return f"{self.exercise}: {not_defined(self.missing)}"
        rights = sum(result.status is Status.PASSED for result in self.results)
        return (
            f"{self.exercise}: {WORDS[self.status]}, {rights} of {len(self.results)} tests passed."
        )


def not_defined(names: Sequence[str]) -> str:
    """Return a sentence on names that the notebook does not define."""
    if len(names) == 1:
        return f"{names[0]} is not defined. Run its cell first."
    return f"{', '.join(names[:-1])} and {names[-1]} are not defined. Run their cells first."


def run(
    exercise: str, tests: str, namespace: dict[str, Any], limit: HintLimit | None = None
) -> Outcome:
    """Run the tests in the source `tests` on the names of the exercise in `namespace`.

    A known mistake points to its line as far as the `limit` of hints, or of an assignment.toml,
    allows.
    """
    missing = tuple(name for name in find(exercise).entries if name not in namespace)
    if missing:
        return Outcome(exercise, (), missing)
    in_file = public_tests(tests)
    workspace = NotebookWorkspace(namespace, in_file, limit)
    module = _module(exercise, tests, namespace)
    progress = Progress(exercise, tuple(test.name for test in in_file))
    for test in in_file:
        rules = watch(workspace, exercise)
        result = run_test(test, module.__getitem__, exercise, workspace, rules)
        result.where = ""
        progress.add(result)
    point(exercise, progress.failures(), workspace, partial(workspace.module, exercise))
    return Outcome(exercise, tuple(progress.in_order()))


def hinted(
    outcome: Outcome,
    namespace: dict[str, Any],
    given: MutableMapping[str, Any],
    limit: HintLimit,
) -> Outcome:
    """Return the outcome with one hint more than `given` holds of this code, up to the `limit`."""
    exercise = outcome.exercise
    workspace = NotebookWorkspace(namespace)
    module, source = workspace.module(exercise), workspace.source(exercise)
    try:
        hints = ask(exercise, outcome.results, module, source, given, limit)
        return replace(outcome, hints=hints)
    except NoHintsError as error:
        return replace(outcome, no_hint=f"There is no hint. {error}")


def _module(exercise: str, tests: str, namespace: dict[str, Any]) -> dict[str, Any]:
    """Return the test module's namespace: the notebook's answers, then the tests' own names."""
    names = [entry for name in (*closure(exercise), exercise) for entry in find(name).entries]
    module = {name: namespace[name] for name in names if name in namespace}
    module["__name__"] = f"tests_of_{exercise}"
    tree = ast.parse(tests)
    tree.body = [node for node in tree.body if not _imports_an_exercise(node)]
    file = f"<public tests of {exercise}>"
    linecache.cache[file] = (len(tests), None, source_lines(tests), file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(tree, file, "exec", dont_inherit=True), module)
    return module


def _imports_an_exercise(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "exercises"

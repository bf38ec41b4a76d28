"""Runs the public tests of one exercise on the objects of a notebook."""

from __future__ import annotations

import ast
import builtins
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
from grader.curriculum import find
from grader.curriculum.hint_limit import HintLimit
from grader.feedback.finding import Status
from grader.feedback.text import WORDS
from grader.remote.source_lines import source_lines


@dataclass(frozen=True)
class Outcome:
    """What the public tests of an exercise found. `missing` are names that are not defined.

    Tests that use one of those are to do, without a finding.
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
        if Status.FAILED in statuses:
            return Status.FAILED
        return Status.TODO if Status.TODO in statuses else Status.PASSED

    @property
    def right(self) -> bool:
        """Whether all public tests passed."""
        return self.status is Status.PASSED

    @property
    def headline(self) -> str:
        """The outcome in one line."""
        rights = sum(result.status is Status.PASSED for result in self.results)
        passed = f"{WORDS[self.status]}, {rights} of {len(self.results)} tests passed."
        lacking = f" {not_defined(self.missing)}" if self.missing else ""
        return f"{self.exercise}: {passed}{lacking}"


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
    in_file = public_tests(tests)
    workspace = NotebookWorkspace(namespace, in_file, limit)
    module = _module(exercise, tests, namespace)
    progress = Progress(exercise, tuple(test.name for test in in_file))
    for test in in_file:
        if not {*missing}.isdisjoint(test.uses):
            progress.add(Result(exercise, test.name, test.title, status=Status.TODO))
            continue
        rules = watch(workspace, exercise)
        result = run_test(test, module.__getitem__, exercise, workspace, rules)
        result.where = ""
        progress.add(result)
    point(exercise, progress.failures(), workspace, partial(workspace.module, exercise))
    return Outcome(exercise, tuple(progress.in_order()), missing)


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
    """Return the test module's namespace: what it uses of the notebook's, then its own names."""
    tree = ast.parse(tests)
    tree.body = [node for node in tree.body if not _imports_an_exercise(node)]
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    module = {name: namespace[name] for name in (used & namespace.keys()) - vars(builtins).keys()}
    module["__name__"] = f"tests_of_{exercise}"
    file = f"<public tests of {exercise}>"
    linecache.cache[file] = (len(tests), None, source_lines(tests), file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # An annotation may name what is not defined yet.
        flags = annotations.compiler_flag
        exec(compile(tree, file, "exec", flags, dont_inherit=True), module)
    return module


def _imports_an_exercise(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "exercises"

"""Find wrong pieces: those that fail a public test although all other pieces are the kit's.

A mistake that a piece's own tests miss may show in those of the exercises that use it. Since
everything else is right there, no piece is blamed for what it builds on. Without the kit's answers
(in a student's edition), and in a notebook, the tests run on the pieces as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from grader.board.known import Known, diagnose
from grader.board.probe import run_test
from grader.board.result import Result
from grader.board.workspace import PublicTest, Workspace, public_tests
from grader.capstone.events import Fault
from grader.capstone.pieces import Pieces, Sources
from grader.curriculum import closure, find
from grader.feedback.finding import Status
from grader.remote.modules import PACKAGE, file_name


@dataclass(frozen=True)
class Tests:
    """The public tests by exercise, and the names that a model uses of each exercise.

    `answers` are the kit's, by exercise; empty if there are none.
    """

    texts: dict[str, str]
    entries: Mapping[str, Sequence[str]]
    answers: dict[str, str]

    def of(self, exercise: str) -> tuple[PublicTest, ...]:
        """Return the public tests of an exercise that test what the model uses of it."""
        unused = set(find(exercise).entries) - set(self.entries[exercise])
        tests = public_tests(self.texts.get(exercise, ""))
        return tuple(test for test in tests if not unused & set(test.uses))


class PiecesWorkspace(Workspace):
    """The student's files as text, by their names in tracebacks."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        super().__init__(Path(PACKAGE), Path())
        self.sources = sources

    def source(self, exercise: str) -> str:
        """Return the text of the student's code; "" if it is not theirs."""
        return self.sources.get(exercise, "")


def faults(
    sources: Sources, tests: Tests, sign: Callable[[str], None] = lambda _: None
) -> list[Fault]:
    """Return the first fault of each of the student's pieces, in curriculum order."""
    own = [name for name in tests.entries if name in sources.own]
    concerned = [name for name in tests.entries if {name, *closure(name)} & {*own}]
    workspace = PiecesWorkspace(sources.own)
    pieces = Pieces(sources)
    try:
        failures = list(_failures(concerned, tests.of, tests, workspace, sign))
    finally:
        pieces.close()
    if not tests.answers:
        return primary(own, failures)
    failing = {(failure.exercise, failure.test) for failure in failures}

    def failed_before(exercise: str) -> tuple[PublicTest, ...]:
        return tuple(test for test in tests.of(exercise) if (exercise, test.name) in failing)

    wrong = []
    for name in own if failures else ():
        users = [user for user in tests.entries if name in closure(user)]
        pieces = alone(name, sources, tests.answers)
        try:
            for failure in _failures([name, *users], failed_before, tests, workspace, sign):
                wrong.append(_fault(name, failure))
                break
        finally:
            pieces.close()
    return wrong


def alone(exercise: str, sources: Sources, answers: Mapping[str, str]) -> Pieces:
    """Return the student's piece of one exercise among the kit's of all others."""
    lent = {name: names for name, names in sources.lent.items() if name == exercise}
    return Pieces(Sources({exercise: sources.own[exercise]}, dict(answers), lent))


def in_place(
    own: Sequence[str],
    tests: Tests,
    workspace: Workspace,
    sign: Callable[[str], None] = lambda _: None,
) -> list[Fault]:
    """Return what is wrong with these pieces as they are imported now, by the tests of each."""
    return primary(own, list(_failures(own, tests.of, tests, workspace, sign)))


def primary(own: Sequence[str], failures: Sequence[Result]) -> list[Fault]:
    """Return the first failure of each of these exercises that builds on no other that fails."""
    failing = {failure.exercise for failure in failures}
    first = {failure.exercise: failure for failure in reversed(failures)}
    return [
        _fault(name, first[name])
        for name in own
        if name in failing and not failing & set(closure(name))
    ]


def diagnosed(exercise: str, known: Known, sources: Sources, tests: Tests) -> list[str]:
    """Return the known mistake that explains most of what is wrong with the student's piece.

    Two if they look the same; none if the piece can't be imported.
    """
    pieces = alone(exercise, sources, tests.answers) if tests.answers else Pieces(sources)
    try:
        return named(known, pieces.module(exercise), sources.own.get(exercise, ""))
    except (Exception, SystemExit):
        return []
    finally:
        pieces.close()


def named(known: Known, module: Any, source: str = "") -> list[str]:
    """Return the known mistake that best explains a module's replies, or two that look the same."""
    with torch.random.fork_rng():
        mistakes = diagnose(known, module, source)
    return list(mistakes[0]) if mistakes else []


def _fault(exercise: str, failure: Result) -> Fault:
    return Fault(exercise, failure.exercise, failure.title, failure.headline)


def _failures(
    exercises: Iterable[str],
    chosen: Callable[[str], Sequence[PublicTest]],
    tests: Tests,
    workspace: Workspace,
    sign: Callable[[str], None],
) -> Iterator[Result]:
    """Yield the public tests of these exercises that fail; `chosen` says which of them are run."""
    for exercise in exercises:
        load = _loader(exercise, tests.texts.get(exercise, ""))
        for test in chosen(exercise):
            sign(f"running the public tests of {exercise}")
            with torch.random.fork_rng():
                result = run_test(test, load, exercise, workspace)
            if result.status is Status.FAILED:
                yield result
            if result.endless:
                break


def _loader(exercise: str, text: str) -> Callable[[str], Any]:
    """Return a function that looks up a public test by name and runs its file at the first one."""
    module: dict[str, Any] = {"__name__": f"{PACKAGE}.test_{exercise}"}

    def load(name: str) -> Any:
        if name not in module:
            exec(compile(text, file_name(f"test_{exercise}"), "exec", dont_inherit=True), module)
        return module[name]

    return load

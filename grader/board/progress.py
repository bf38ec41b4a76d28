"""The state of each exercise after a run: done, wrong, to do, blocked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec

from grader.board.result import Result
from grader.curriculum import NAMES, closure, find
from grader.feedback.finding import Status
from grader.feedback.text import WORDS

DONE, PART, BLOCKED, CHANGED = "done", "passed so far", "blocked", "tests changed"
WRONG, TODO, NOT_RUN = (WORDS[status] for status in (Status.FAILED, Status.TODO, Status.NOT_RUN))


@cache
def has_hidden_checks() -> bool:
    """Return whether the hidden checks are here. In a student's edition they are not."""
    return find_spec("grader.checks") is not None


@dataclass
class Progress:
    """One exercise: the tests of its file, how many were selected, and what came of them.

    With tests that were `changed` since they were handed out, it is never done.
    """

    exercise: str
    tests: tuple[str, ...]
    selected: int = 0
    results: dict[str, Result] = field(default_factory=dict)
    blocked_by: tuple[str, ...] = ()
    changed: bool = False

    def add(self, result: Result) -> None:
        """Take in the result of one test; a failure of its setup or teardown outweighs a pass."""
        before = self.results.get(result.test)
        if before is None or before.status is Status.PASSED:
            self.results[result.test] = result

    def in_order(self) -> list[Result]:
        """Return the results in the order of their file."""
        place = {name: number for number, name in enumerate(self.tests)}
        return sorted(self.results.values(), key=lambda result: place.get(result.test, len(place)))

    def failures(self) -> list[Result]:
        """Return the tests that are wrong, in the order of their file.

        What says that an input was modified comes first: other numbers are wrong because of it.
        """
        failed = [result for result in self.in_order() if result.status is Status.FAILED]
        return sorted(failed, key=lambda result: not result.is_modified_input)

    def own_failures(self) -> list[Result]:
        """Return the failures but for those that another exercise, not written yet, causes."""
        return [result for result in self.failures() if not result.waits_for]

    def rights(self) -> int:
        """Return how many tests passed."""
        return sum(result.status is Status.PASSED for result in self.results.values())

    def unwritten(self) -> tuple[str, ...]:
        """Return the functions of this exercise that still raise NotImplementedError."""
        todo = [
            result.unwritten for result in self.results.values() if result.status is Status.TODO
        ]
        return tuple(dict.fromkeys(filter(None, todo)))

    @property
    def status(self) -> str:
        """Its state in a word or two; "passed so far" where not all tests ran."""
        statuses = {WORDS[result.status] for result in self.results.values()}
        if self.blocked_by:
            return BLOCKED
        for status in (WRONG, TODO):
            if status in statuses:
                return status
        if self.changed:
            return CHANGED
        if self.rights() >= max(len(self.tests), 1):
            return DONE
        return PART if self.results else NOT_RUN

    @property
    def points(self) -> int:
        """All points when all public tests pass, otherwise none; hidden checks may say less."""
        return find(self.exercise).points if self.status == DONE else 0


def find_blocked(
    by_exercise: dict[str, Progress],
    is_done: Callable[[str], bool],
    is_handed_out: Callable[[str], bool] = lambda _: False,
) -> None:
    """Fill in `blocked_by` of each wrong exercise whose needs are not right yet.

    `is_done` answers for an exercise that was not (completely) run. One that is provided blocks
    nothing, even if its own stub is to do. An exercise that cannot even be imported for a reason of
    its own is wrong, whatever it needs.
    """
    known: dict[str, bool] = {}

    def done(name: str) -> bool:
        if name not in known:
            progress = by_exercise.get(name)
            complete = progress is not None and progress.status in (DONE, WRONG, TODO)
            known[name] = progress.status == DONE if progress and complete else is_done(name)
        return known[name]

    blocked = {}
    for name, progress in by_exercise.items():
        if progress.status == WRONG and not _broken_itself(progress):
            open_needs = [n for n in closure(name) if not is_handed_out(n) and not done(n)]
            # Of these only the first causes: those that do not themselves wait for another.
            blocked[name] = tuple(n for n in open_needs if not set(closure(n)) & set(open_needs))
    for name, needs in blocked.items():
        by_exercise[name].blocked_by = needs


def next_exercise(by_exercise: dict[str, Progress], assigned: Sequence[str] = NAMES) -> str:
    """Return what to work on: what is wrong, then what blocks another, then what is to do; or "".

    What is assigned comes first; what is not, and is to do, is nobody's next exercise unless it is
    all that was looked at.
    """
    order = sorted(by_exercise, key=lambda name: (name not in assigned, NAMES.index(name)))
    for name in order:
        if by_exercise[name].status == WRONG:
            return name
    counted = [name for name in order if name in assigned] or order
    blockers = {need for name in counted for need in by_exercise[name].blocked_by}
    return _first(blockers) or _first(
        n for n in counted if by_exercise[n].status in (TODO, NOT_RUN, CHANGED)
    )


def _first(names: Iterable[str]) -> str:
    chosen = set(names)
    return next((name for name in NAMES if name in chosen), "")


def _broken_itself(progress: Progress) -> bool:
    return any(failure.in_import and not failure.waits_for for failure in progress.failures())

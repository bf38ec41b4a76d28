"""Where each exercise stands after a run: done, wrong, to do, blocked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from grader.board.result import Result
from grader.curriculum import NAMES, closure, find
from grader.feedback.finding import Status
from grader.feedback.text import WORDS

DONE, PART, BLOCKED = "done", "right so far", "blocked"
WRONG, TODO, NOT_RUN = (WORDS[one] for one in (Status.FAILED, Status.TODO, Status.NOT_RUN))


@dataclass
class Progress:
    """One exercise: the tests of its file, how many were selected, and what came of them."""

    exercise: str
    tests: tuple[str, ...]
    selected: int = 0
    results: dict[str, Result] = field(default_factory=dict)
    blocked_by: tuple[str, ...] = ()

    def add(self, result: Result) -> None:
        """Take in the result of one test; a failure of its setup or teardown outweighs a pass."""
        before = self.results.get(result.test)
        if before is None or before.status is Status.PASSED:
            self.results[result.test] = result

    def failures(self) -> list[Result]:
        """The tests that are wrong, in the order of their file."""
        wrong = [one for one in self.results.values() if one.status is Status.FAILED]
        place = {name: number for number, name in enumerate(self.tests)}
        return sorted(wrong, key=lambda one: place.get(one.test, len(place)))

    def rights(self) -> int:
        """How many tests passed."""
        return sum(one.status is Status.PASSED for one in self.results.values())

    def unwritten(self) -> tuple[str, ...]:
        """The functions of this exercise that still raise NotImplementedError."""
        todo = [one.unwritten for one in self.results.values() if one.status is Status.TODO]
        return tuple(dict.fromkeys(filter(None, todo)))

    @property
    def status(self) -> str:
        """One of done, wrong, to do, blocked, right so far (not all tests ran) and not run."""
        statuses = {WORDS[one.status] for one in self.results.values()}
        if self.blocked_by:
            return BLOCKED
        for status in (WRONG, TODO):
            if status in statuses:
                return status
        if self.rights() >= max(len(self.tests), 1):
            return DONE
        return PART if self.results else NOT_RUN

    @property
    def points(self) -> int:
        """All points when done, otherwise none."""
        return find(self.exercise).points if self.status == DONE else 0


def find_blocked(
    by_exercise: dict[str, Progress],
    is_done: Callable[[str], bool],
    is_handed_out: Callable[[str], bool] = lambda _: False,
) -> None:
    """Fill in `blocked_by` of each wrong exercise whose needs are not right yet.

    `is_done` finds out about an exercise that was not (wholly) run. One that is handed out blocks
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
    """What to work on: what is wrong, then what blocks another, then what is to do; or "".

    What is assigned comes first; what is not, and is to do, is nobody's next exercise unless it is
    all that was looked at.
    """
    order = sorted(by_exercise, key=lambda name: (name not in assigned, NAMES.index(name)))
    for name in order:
        if by_exercise[name].status == WRONG:
            return name
    blockers = {need for progress in by_exercise.values() for need in progress.blocked_by}
    counted = [name for name in order if name in assigned] or order
    return _first(blockers) or _first(
        n for n in counted if by_exercise[n].status in (TODO, NOT_RUN)
    )


def _first(names: Iterable[str]) -> str:
    there = set(names)
    return next((name for name in NAMES if name in there), "")


def _broken_itself(progress: Progress) -> bool:
    return any(one.in_import and not one.waits_for for one in progress.failures())

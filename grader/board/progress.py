"""Where each exercise stands after a run: done, wrong, to do, blocked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from grader.board.failure import RIGHT, TODO, WRONG, Told
from grader.curriculum import NAMES, closure, find

DONE, PART, BLOCKED, NOT_RUN = "done", "right so far", "blocked", "not run"


@dataclass
class Progress:
    """One exercise: the tests of its file, how many were selected, and what came of them."""

    exercise: str
    tests: tuple[str, ...]
    selected: int = 0
    told: dict[str, Told] = field(default_factory=dict)
    blocked_by: tuple[str, ...] = ()

    def add(self, told: Told) -> None:
        """Take in the result of one test; a failure of its setup or teardown outweighs a pass."""
        before = self.told.get(told.test)
        if before is None or before.status == RIGHT:
            self.told[told.test] = told

    def failures(self) -> list[Told]:
        """The tests that are wrong, in the order of their file."""
        wrong = [told for told in self.told.values() if told.status == WRONG]
        place = {name: number for number, name in enumerate(self.tests)}
        return sorted(wrong, key=lambda told: place.get(told.test, len(place)))

    def rights(self) -> int:
        """How many tests passed."""
        return sum(told.status == RIGHT for told in self.told.values())

    def unwritten(self) -> tuple[str, ...]:
        """The functions of this exercise that still raise NotImplementedError."""
        todo = [told.unwritten for told in self.told.values() if told.status == TODO]
        return tuple(dict.fromkeys(filter(None, todo)))

    @property
    def status(self) -> str:
        """One of done, wrong, to do, blocked, right so far (not all tests ran) and not run."""
        statuses = {told.status for told in self.told.values()}
        if self.blocked_by:
            return BLOCKED
        for status in (WRONG, TODO):
            if status in statuses:
                return status
        if self.rights() >= max(len(self.tests), 1):
            return DONE
        return PART if self.told else NOT_RUN

    @property
    def points(self) -> int:
        """All points when done, otherwise none."""
        return find(self.exercise).points if self.status == DONE else 0


def find_blocked(progresses: dict[str, Progress], is_done: Callable[[str], bool]) -> None:
    """Fill in `blocked_by` of each wrong exercise whose needs are not right yet.

    `is_done` finds out about an exercise that was not (wholly) run. An exercise that cannot even
    be imported for a reason of its own is wrong, whatever it needs.
    """
    known: dict[str, bool] = {}

    def done(name: str) -> bool:
        if name not in known:
            progress = progresses.get(name)
            complete = progress is not None and progress.status in (DONE, WRONG, TODO)
            known[name] = progress.status == DONE if progress and complete else is_done(name)
        return known[name]

    blocked = {}
    for name, progress in progresses.items():
        if progress.status == WRONG and not _broken_itself(progress):
            open_needs = [need for need in closure(name) if not done(need)]
            # Of these only the first causes: those that do not themselves wait for another.
            blocked[name] = tuple(n for n in open_needs if not set(closure(n)) & set(open_needs))
    for name, needs in blocked.items():
        progresses[name].blocked_by = needs


def next_exercise(progresses: dict[str, Progress]) -> str:
    """What to work on: what is wrong, then what blocks another, then what is to do; or ""."""
    in_order = [progresses[name] for name in NAMES if name in progresses]
    for progress in in_order:
        if progress.status == WRONG:
            return progress.exercise
    blockers = {need for progress in in_order for need in progress.blocked_by}
    return _first(blockers) or _first(s.exercise for s in in_order if s.status in (TODO, NOT_RUN))


def _first(names: Iterable[str]) -> str:
    there = set(names)
    return next((name for name in NAMES if name in there), "")


def _broken_itself(progress: Progress) -> bool:
    return any(told.in_import and not told.waits_for for told in progress.failures())

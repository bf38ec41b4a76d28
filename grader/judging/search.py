"""Looks for the line that is wrong where no known mistake fits.

Small edits of the student's own code are tried in its sandbox. One that makes a failing check pass,
and breaks none that passed, points at its line. Where none does, two at once are tried, the first
of which makes one more reply right, or the code survive longer. Where a right answer is nearly the
same (`alignment`), what it has otherwise is looked at first, and not much else.

What is found is no verdict: it costs nothing and earns nothing, so that code which deceives the
search deceives nobody but its author.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from grader import curriculum
from grader.judging.alignment import Differences, differences
from grader.judging.exercise_run import RightReplies
from grader.judging.recording import Example, Recording
from grader.judging.student_process import StudentProcess
from grader.judging.target import Target, accepts, cost, place
from grader.remote.budget import Budget
from grader.remote.channel import Channel, Times, decoded
from grader.remote.session import ForbiddenUse, FoundEdit, Interrupted, Lost, StudentError

SECONDS, IDLE = 2.0, 20.0
ALONE = 1.0  # seconds after which two edits are tried, if one helped a little
# What an edit makes of a loop is often one without end.
TIMES = Times(load=1.0, call=0.4, idle=1.0, cell=1.0, notebook=1.5)
MAX_LOSSES = 12
TRACED = 4  # checks that pass
RIGHTLY = 3.0  # how much less likely an edit is of a line that runs in all of these
NEAR = 3.0  # how much likelier one is of the line that raised
LEAVES, OFF = 3.0, 0.5  # and of one that leaves the way of right answers first, or is off it
DIFFERS, RESTORES = 5.0, 3.0  # and of one that a right answer has otherwise, and has like this
SAID = 2.0  # how much likelier one is of a kind that the words of the exception speak of
TARGETS = 3  # failing checks that edits are tried on
WAVE = 24  # edits that are tried on one of them before the next has its turn
BESIDE = 60  # edits of other lines that are tried where a right answer is nearly the same
STEPS = 3  # edits that help a little, to each of which the others are put

# Kinds of edits by what is raised where they are needed.
_SPEAKS_OF = (
    (r"boolean|bool\b|Bool\b|bitwise", r"dtype|function|extra call|not|comparison"),
    (r"dtype|expected scalar type|Long|Float\b|Double", r"dtype|extra call"),
    (r"view size is not compatible", r"function|shape"),
    (r"size of tensor|cannot be multiplied|Expected size|is invalid for|expanded size|must match",
     r"axis|shape|transpose|missing axis|index|name|argument order|extra call"),
    (r"Dimension|dim|too many indices|unpack", r"axis|index|shape|missing axis|extra call"),
    (r"argument|positional|not callable", r"extra argument|missing argument|argument order|name"),
    (r"has no attribute|not defined|before assignment|not associated", r"name|missing call|list"),
    (r"NoneType", r"condition|missing return|missing argument|not kept"),
    (r"__init__\(\) call", r"missing call"),
)  # fmt: skip

# Those that keep what the line does; one that drops it would let anything survive.
_MENDING = {
    "argument order", "axis", "condition", "dtype", "function", "index", "keepdim",
    "missing argument", "missing axis", "missing return", "name", "not", "not kept", "order",
    "returned",
    "shape", "transpose",
}  # fmt: skip


@dataclass(frozen=True)
class Mend:
    """An edit, or two at once, and the names of the failing checks that pass with them."""

    edits: tuple[FoundEdit, ...]
    checks: frozenset[str]


@dataclass(frozen=True)
class _Outcome:
    """What became of edits: the failing checks that pass with them, if any.

    If none does, `agrees` is whether more replies are right than before, and `further` whether
    code that raised does so no more, or elsewhere.
    """

    checks: frozenset[str] = frozenset()
    agrees: bool = False
    further: bool = False


class Search:
    """The search in one exercise of one submission.

    It has a process and a budget of its own, so that it takes no time from what is graded;
    `process` is the one that was graded.
    """

    def __init__(self, exercise: str, process: StudentProcess, right: RightReplies) -> None:
        self.exercise = exercise
        self.right = right
        self.budget = Budget("The search", SECONDS, IDLE)
        self.process = process.another([exercise], self.budget, TIMES)
        self.edits: list[FoundEdit] = []
        self.failing: Sequence[Recording] = ()
        self.passing: Sequence[Recording] = ()
        self.runs: list[set[tuple[str, int]]] = []
        self.differences: Differences | None = None
        self.beside = 0
        self.losses = 0
        self.deadly: set[int] = set()
        self.begun = time.process_time()

    def mend(self, failing: Sequence[Recording], passing: Sequence[Recording]) -> Mend | None:
        """The edit, or the two, with which most of the failing checks pass and no other fails."""
        self.failing, self.passing = failing, passing
        with self.process:
            try:
                self.edits = self.process.open().edits(self.exercise)
                if not self.edits:
                    return None
                source = self.process.sources.get(self.exercise, "")
                self.differences = differences(self.exercise, source)
                self._trace()
                return self._one_or_two()
            except (Interrupted, StudentError):
                return None

    def _one_or_two(self) -> Mend | None:
        best: Mend | None = None
        steps: list[tuple[bool, int, Target]] = []
        for target, number in self._waves():
            if not self._time_left():
                return best
            if best is None and steps and self.seconds > ALONE:
                break
            if best is not None and target.name in best.checks and best.edits[0].kind in _MENDING:
                continue
            found = self._tried((number,), target)
            if _better(self.edits[number], found.checks, best):
                best = Mend((self.edits[number],), found.checks)
                if len(best.checks) == len(self.failing):
                    return best
            if found.agrees or found.further:
                steps.append((found.agrees, number, target))
        if best is not None:
            return best
        for _, first, target in sorted(steps, key=lambda one: not one[0])[:STEPS]:
            both = self._second(first, target)
            if both is not None:
                return both
        return None

    def _second(self, first: int, target: Target) -> Mend | None:
        """That edit and another one, looked for where the code goes wrong with the first."""
        begun = self._target(target.recording, target.case, (first,))
        if begun is None:
            return None
        for number in self._order(begun):
            if not self._time_left():
                return None
            found = self._tried((first, number), begun)
            if found.checks:
                return Mend((self.edits[first], self.edits[number]), found.checks)
        return None

    def _waves(self) -> Iterator[tuple[Target, int]]:
        """The edits that can matter to each check, some for one before the next has its turn.

        With each round one check more is looked at, the cheapest first.
        """
        targets = self._targets()
        orders: list[tuple[Target, Iterator[int]]] = []
        while True:
            more = next(targets, None)
            if more is not None:
                orders.append((more, iter(self._order(more))))
            if not orders:
                return
            for one in [*orders]:
                target, order = one
                wave = [*islice(order, WAVE)]
                yield from ((target, number) for number in wave)
                if not wave:
                    orders.remove(one)

    def _order(self, target: Target) -> list[int]:
        """The numbers of the edits that can matter to a check, the likeliest first.

        Those of lines that do not run in it can not. A line that also runs where all is right is
        less likely to be wrong, and the one that raised is likelier.
        """
        said = target.raised.text if target.raised else ""
        kinds = [kinds for words, kinds in _SPEAKS_OF if said and re.search(words, said)]

        def unlikely(number: int) -> float:
            edit = self.edits[number]
            there = (edit.file, edit.line)
            near = NEAR * (there == target.place) + LEAVES * (there in target.leaving)
            meant = any(re.fullmatch(one, edit.kind) for one in kinds)
            share = self._share(edit)
            likely = near + OFF * (there in target.off) + SAID * meant + self._otherwise(edit)
            return edit.rank + RIGHTLY * share - likely

        some = [
            number
            for number, edit in enumerate(self.edits)
            if (edit.file, edit.line) == target.place or target.runs(edit)
        ]
        return sorted(some, key=unlikely)

    def _differs(self, edit: FoundEdit) -> bool:
        """Whether a right answer that is nearly the same has something else on the line."""
        return edit.file == self.exercise and edit.line in (self.differences or {})

    def _otherwise(self, edit: FoundEdit) -> float:
        """How much likelier an edit is for what a right answer has in its place."""
        if not self._differs(edit):
            return 0.0
        wanted = (self.differences or {})[edit.line]
        return DIFFERS + RESTORES * (edit.becomes in wanted and edit.was not in wanted)

    def _share(self, edit: FoundEdit) -> float:
        """In how many of the checks that pass the line of an edit runs: 1 for all of them."""
        runs = sum((edit.file, edit.line) in lines for lines in self.runs)
        return runs / len(self.runs) if self.runs else 0.0

    def _trace(self) -> None:
        """Notes the lines that run in some checks that pass."""
        counted = [one for one in self.passing if one.check.points]
        short = sorted(counted, key=lambda one: cost(one.cases[0]))[:TRACED]
        channel = self._loaded()
        self.runs = [channel.follow(one.cases[0].requests)[0] for one in short]

    @property
    def seconds(self) -> float:
        """Processor time so far, of the student's process and of this one."""
        return SECONDS - self.budget.left[0] + time.process_time() - self.begun

    def _time_left(self) -> bool:
        return (
            (self.differences is None or self.beside < BESIDE)
            and self.seconds < SECONDS
            and self.losses <= MAX_LOSSES
            and self.budget.refusal() is None
        )

    def _loaded(self) -> Channel:
        if not self.process.holds_code:  # it did not survive an edit
            self.process.open().edits(self.exercise)
        if not self.process.given:
            self.process.load(self.exercise, curriculum.closure(self.exercise))
            self.process.given.add(self.exercise)
        return self.process.open()

    def _targets(self) -> Iterator[Target]:
        """The failing checks, each with its first case that fails, the cheapest first."""
        for recording in sorted(self.failing, key=lambda one: cost(one.cases[0])):
            some = (self._target(recording, case, ()) for case in recording.cases)
            found = next((one for one in some if one is not None), None)
            if found is not None:
                yield found

    def _target(self, recording: Recording, case: Example, numbers: Sequence[int]) -> Target | None:
        """How the code with these edits does in a case; None where the check is content with it."""
        channel = self._loaded()
        channel.edit(self.exercise, numbers)
        target = Target(recording, case)
        bodies = self._asked(target, channel)
        replies = [decoded(body) for body in bodies]
        if target.accepts(replies, channel):
            return None
        target.refused.add(self.right.mark(recording.check, bodies))
        target.traced(replies, channel, self.right.made)
        return target

    def _tried(self, numbers: Sequence[int], target: Target) -> _Outcome:
        """What becomes of these edits: nothing if they break another check.

        Only where they help in the target the other checks are looked at.
        """
        if self.deadly.intersection(numbers):
            return _Outcome()
        self.beside += not self._differs(self.edits[numbers[-1]])
        try:
            channel = self._loaded()
            channel.edit(self.exercise, numbers)
            bodies = self._asked(target, channel)
            mark = self.right.mark(target.recording.check, bodies)
            if mark in target.refused:
                return _Outcome()
            replies = [decoded(body) for body in bodies]
            if not target.accepts(replies, channel):
                target.refused.add(mark)
                return self._helped(numbers, target, replies, channel)
            if not self._whole(target.recording, channel) or not self._breaks_none(channel):
                return _Outcome()
            others = (one for one in self.failing if one is not target.recording)
            mended = [target.recording, *(one for one in others if self._whole(one, channel))]
            return _Outcome(frozenset(one.check.name for one in mended))
        except Lost:
            self.losses += 1
            self.deadly.update(numbers)
            self.process.leave()
        except (ForbiddenUse, StudentError):
            pass
        return _Outcome()

    def _helped(
        self, numbers: Sequence[int], target: Target, replies: Sequence[object], channel: Channel
    ) -> _Outcome:
        """Whether the target, which still fails, came nearer, and no other check is broken.

        Then another one may pass already.
        """
        error = target.error(replies)
        agrees = target.agreeing(replies) > target.agree
        further = target.raised is not None and place(error) != target.place
        further = further and self.edits[numbers[0]].kind in _MENDING
        if not (agrees or further) or not self._breaks_none(channel):
            return _Outcome()
        others = (one for one in self.failing if agrees and one is not target.recording)
        mended = frozenset(one.check.name for one in others if self._whole(one, channel))
        return _Outcome(mended, agrees=agrees, further=further)

    def _asked(self, target: Target, channel: Channel) -> list[bytearray]:
        return [body for frame, count in target.frames for body in channel.gather(frame, count)]

    def _breaks_none(self, channel: Channel) -> bool:
        return all(self._whole(one, channel) for one in self.passing)

    def _whole(self, recording: Recording, channel: Channel) -> bool:
        """Whether a check is passed in all its cases."""
        bodies = [
            body for frame, count in recording.frames for body in channel.gather(frame, count)
        ]
        mark = self.right.mark(recording.check, bodies)
        if mark in self.right.known:
            return True
        for case, replies in recording.answered([decoded(body) for body in bodies]):
            if not accepts(recording, case, replies, channel)[0]:
                return False
        return True


def _better(edit: FoundEdit, checks: frozenset[str], best: Mend | None) -> bool:
    """Whether an edit helps more than the best so far, or as much without leaving things out."""
    if best is None:
        return bool(checks)
    keeps = edit.kind in _MENDING and best.edits[0].kind not in _MENDING
    return len(checks) >= len(best.checks) + (not keeps)

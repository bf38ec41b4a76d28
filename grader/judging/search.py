"""Looks for the line that is wrong where no known mistake fits.

Small edits of the student's own code are tried in its sandbox. One that makes a failing check pass,
and breaks none that passed, points at its line. What is found is no verdict: it costs nothing and
earns nothing, so that code which deceives the search deceives nobody but its author.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from grader import curriculum
from grader.feedback.normal_form import raised
from grader.judging.exercise_run import RightReplies
from grader.judging.recording import Example, Recording, frames
from grader.judging.student_process import StudentProcess
from grader.remote.budget import Budget
from grader.remote.channel import Channel, Times, decoded
from grader.remote.proxy import Student
from grader.remote.session import (
    Diverged,
    ForbiddenUse,
    FoundEdit,
    Interrupted,
    Live,
    Lost,
    Replay,
    StudentError,
    student_error,
)

SECONDS, IDLE = 2.0, 20.0
# What an edit makes of a loop is often one without end.
TIMES = Times(load=1.0, call=0.4, idle=1.0, cell=1.0, notebook=1.5)
MAX_LOSSES = 12
TRACED = 4  # checks that pass
RIGHTLY = 3.0  # how much less likely an edit is of a line that runs in all of these


@dataclass(frozen=True)
class Mend:
    """An edit, and the names of the failing checks that it makes pass."""

    edit: FoundEdit
    checks: frozenset[str]


@dataclass
class _Target:
    """A failing check: its first case that fails, and replies that are known to be refused.

    `live` is whether the check asked the student's own code more than what was recorded, `raised`
    where that raised, if it did, and `lines` are those that ran.
    """

    recording: Recording
    case: Example
    frames: tuple[tuple[bytes, int], ...]
    refused: set[bytes] = field(default_factory=set)
    live: bool | None = None
    raised: tuple[str, int] | None = None
    lines: Collection[tuple[str, int]] = ()

    def runs(self, edit: FoundEdit) -> bool:
        """Whether the line of an edit runs in the case; so it is taken where that is not known."""
        return not self.lines or (edit.file, edit.line) in self.lines


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
        self.runs: list[set[tuple[str, int]]] = []
        self.losses = 0
        self.begun = time.process_time()
        self.tried = 0

    def mend(self, failing: Sequence[Recording], passing: Sequence[Recording]) -> Mend | None:
        """The edit that makes most of the failing checks pass and none of the others fail."""
        with self.process:
            try:
                edits = self.process.open().edits(self.exercise)
                targets = self._targets(failing) if edits else []
                self._trace(passing)
            except (Interrupted, StudentError):
                return None
            best: Mend | None = None
            for position, target in enumerate(targets):
                if best is not None and target.recording.check.name in best.checks:
                    continue
                for number, edit in self._order(edits, target):
                    if not self._time_left():
                        return best
                    others = targets[:position] + targets[position + 1 :]
                    found = self._mended(number, target, others, passing)
                    if len(found) > (len(best.checks) if best else 0):
                        best = Mend(edit, found)
                        if len(found) == len(targets):
                            return best
            return best

    def _order(
        self, edits: Sequence[FoundEdit], target: _Target
    ) -> Iterator[tuple[int, FoundEdit]]:
        """The edits that can matter to a check: first those of the line that raised, if one did.

        Those of lines that do not run in it can not. A line that also runs where all is right is
        less likely to be wrong.
        """
        numbered = [*enumerate(edits)]
        near = [one for one in numbered if (one[1].file, one[1].line) == target.raised]
        others = [
            one
            for one in numbered
            if (one[1].file, one[1].line) != target.raised and target.runs(one[1])
        ]
        yield from near
        yield from sorted(others, key=lambda one: one[1].rank + RIGHTLY * self._share(one[1]))

    def _share(self, edit: FoundEdit) -> float:
        """In how many of the checks that pass the line of an edit runs: 1 for all of them."""
        runs = sum((edit.file, edit.line) in lines for lines in self.runs)
        return runs / len(self.runs) if self.runs else 0.0

    def _trace(self, passing: Sequence[Recording]) -> None:
        """Notes the lines that run in some checks that pass."""
        counted = [one for one in passing if one.check.points]
        short = sorted(counted, key=lambda one: one.cases[0].size)[:TRACED]
        channel = self._loaded()
        self.runs = [channel.lines_run(one.cases[0].requests) for one in short]

    @property
    def seconds(self) -> float:
        """Processor time so far, of the student's process and of this one."""
        return SECONDS - self.budget.left[0] + time.process_time() - self.begun

    def _time_left(self) -> bool:
        return (
            self.seconds < SECONDS and self.losses <= MAX_LOSSES and self.budget.refusal() is None
        )

    def _loaded(self) -> Channel:
        if not self.process.holds_code or not self.process.given:
            self.process.open().edits(self.exercise)
            self.process.load(self.exercise, curriculum.closure(self.exercise))
            self.process.given.add(self.exercise)
        return self.process.open()

    def _targets(self, failing: Sequence[Recording]) -> list[_Target]:
        """The failing checks, each with its first case that fails, the shortest first."""
        found = []
        channel = self._loaded()
        for recording in failing:
            for case in recording.cases:
                target = _Target(recording, case, frames([case]))
                if not self._passes(target, channel):
                    found.append(target)
                    break
        for target in found:
            target.lines = channel.lines_run(target.case.requests)
        return sorted(found, key=lambda one: one.case.size)

    def _mended(
        self,
        number: int,
        target: _Target,
        others: Sequence[_Target],
        passing: Sequence[Recording],
    ) -> frozenset[str]:
        """The failing checks that pass with an edit: none if that breaks another.

        Only where it helps in the target the others are looked at.
        """
        self.tried += 1
        try:
            channel = self._loaded()
            channel.edit(self.exercise, number)
            if not self._passes(target, channel) or not self._whole(target.recording, channel):
                return frozenset()
            if not all(self._whole(one, channel) for one in passing):
                return frozenset()
            mended = [one.recording for one in others if self._passes(one, channel)]
            mended = [target.recording, *(one for one in mended if self._whole(one, channel))]
            return frozenset(one.check.name for one in mended)
        except Lost:
            self.losses += 1
            self.process.leave()
        except (ForbiddenUse, StudentError):
            pass
        return frozenset()

    def _whole(self, recording: Recording, channel: Channel) -> bool:
        """Whether a check is passed in all its cases."""
        bodies = [
            body for frame, count in recording.frames for body in channel.gather(frame, count)
        ]
        mark = self.right.mark(recording.check, bodies)
        if mark in self.right.known:
            return True
        for case, answers in recording.answered([decoded(body) for body in bodies]):
            if not _accepts(recording, case, answers, channel)[0]:
                return False
        return True

    def _passes(self, target: _Target, channel: Channel) -> bool:
        bodies = [body for frame, count in target.frames for body in channel.gather(frame, count)]
        mark = self.right.mark(target.recording.check, bodies)
        if mark in target.refused:
            return False
        replies = [decoded(body) for body in bodies]
        # Code that raises is asked in float32 as well, which takes long. It is, if it was before.
        more = target.live is not False or not any(map(raised, replies))
        accepted, diverged = _accepts(
            target.recording, target.case, replies, channel if more else None
        )
        if target.live is None:
            target.live, target.raised = diverged, _raised_at(replies)
        if not accepted:
            target.refused.add(mark)
        return accepted


def _accepts(
    recording: Recording, case: Example, replies: Sequence[object], channel: Channel | None
) -> tuple[bool, bool]:
    """Whether the check is content with these replies to a case, and whether it asked for more.

    Without a channel more is not to be had, and the check is taken for not content.
    """
    body = recording.check.body
    diverged = False
    try:
        try:
            body(Student(Replay(case.requests, replies), recording.seed), **case.arguments)
        except Diverged:
            diverged = True
            if channel is None:
                return False, True
            body(Student(Live(channel), recording.seed), **case.arguments)
    except (OSError, MemoryError):
        raise
    except Exception:
        return False, diverged
    return True, diverged


def _raised_at(replies: Sequence[Any]) -> tuple[str, int] | None:
    """The file or cell, and the line, at which the first reply that is an exception was raised."""
    for reply in filter(raised, replies):
        with contextlib.suppress(Interrupted):
            error = student_error(reply["error"])
            if error.file and error.line:
                return PurePosixPath(error.file).stem, error.line
    return None

"""A failing check that edits are tried on: its first failing case, and what is known about it."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any

from torch import Tensor

from grader.edits.source import Answer, Edit
from grader.grading.recording import Example, Recording, frames
from grader.grading.search.divergence import leaving, right_values
from grader.recognition.canonical_form import Marks, marks, raised
from grader.remote.channel import Channel
from grader.remote.proxy import Student
from grader.remote.session import (
    Diverged,
    Interrupted,
    Live,
    Replay,
    StudentError,
    student_error,
)
from grader.remote.trace import Value

# What makes an object or runs the student's code.
_COSTLY = {"new", "call", "backward", "copy", "stay_behind"}


@dataclass
class Target:
    """A failing check, one of its cases, and how the student's code replies to it as it is.

    `refused` identifies replies that the check is known to reject, `live` is whether it asked the
    code more than was recorded, `bodies` are the replies as they came, `agree` the numbers of the
    right ones, `raised` is an unexpected exception. `lines` are those that ran; of these, `leaving`
    diverge first from right answers and others are `off` their way (see `divergence`).
    """

    recording: Recording
    case: Example
    answer: Answer
    refused: set[bytes] = field(default_factory=set)
    live: bool | None = None
    bodies: Sequence[bytearray] = ()
    agree: frozenset[int] = frozenset()
    raised: StudentError | None = None
    lines: Collection[tuple[str, int]] = ()
    leaving: Collection[tuple[str, int]] = ()
    off: Collection[tuple[str, int]] = ()

    @property
    def name(self) -> str:
        """The check's name."""
        return self.recording.check.name

    @cached_property
    def cost(self) -> int:
        """About how long its requests take."""
        return cost(self.case)

    @cached_property
    def frames(self) -> tuple[tuple[bytes, int], ...]:
        """The frames that carry the requests of the case."""
        return frames([self.case])

    @cached_property
    def wanted(self) -> list[Marks]:
        """What the reference's replies are compared by; nothing where it raises."""
        return [
            {} if raised(right) else marks(request, right, right)
            for request, right in zip(self.case.requests, self.case.right, strict=False)
        ]

    @cached_property
    def place(self) -> tuple[str, int] | None:
        """The file or cell, and the line, that raised."""
        return place(self.raised)

    def runs(self, edit: Edit) -> bool:
        """Return whether the line of an edit runs in the case; assume so if unknown."""
        return not self.lines or (edit.file, edit.line) in self.lines

    def agreeing(self, replies: Sequence[Any], bodies: Sequence[bytearray]) -> frozenset[int]:
        """Return the numbers of the replies with tensors of floats that equal the reference's.

        Those that came as they did from the unedited code are not compared again.
        """
        unchanged = {
            number
            for number, (body, before) in enumerate(zip(bodies, self.bodies, strict=False))
            if body == before
        }
        agreeing = {*(unchanged & self.agree)}
        for number, (request, reply, right, wanted) in enumerate(
            zip(self.case.requests, replies, self.case.right, self.wanted, strict=False)
        ):
            if number in unchanged or raised(reply) or raised(right):
                continue
            actual = marks(request, reply, right)
            same = actual.keys() == wanted.keys() and all(
                actual[x].equals(wanted[x]) for x in wanted
            )
            if same and any(reply.values for reply in wanted.values()):
                agreeing.add(number)
        return frozenset(agreeing)

    def error(self, replies: Sequence[Any]) -> StudentError | None:
        """Return the first exception among the replies that is none of the reference's."""
        for reply, right in zip(replies, self.case.right, strict=False):
            if raised(reply) and not raised(right):
                with contextlib.suppress(Interrupted):
                    return student_error(reply["error"])
        return None

    def trace(self, replies: Sequence[Any], channel: Channel, made: dict[str, list[Value]]) -> None:
        """Note which lines run in the unedited code, and roughly where it goes wrong.

        `made` caches the values of right answers, for other students who fail the same case.
        """
        files = self.answer.sources
        ran, values = channel.follow(files, self.case.requests, noting=True)
        self.lines = self.answer.whole(ran)
        wrong = set(range(len(replies))) - self.agree
        exercise = self.recording.check.exercise
        # Not `index`, which would compare tensors, and these have no truth value.
        (number,) = (n for n, recorded in enumerate(self.recording.cases) if recorded is self.case)
        key = f"{exercise}.{self.name}.{number}"
        if key not in made:
            made[key] = right_values(exercise, self.case.requests)
        crashed = [number for number, reply in enumerate(replies) if raised(reply)]
        self.leaving, self.off = leaving(values, made[key], wrong, crashed)

    def accepts(self, replies: Sequence[Any], channel: Channel) -> bool:
        """Return whether the check passes with these replies.

        A check may take two NaNs for equal, but a NaN is wrong where the reference has none. For
        code that raises, checks ask again in float32, which takes long: allow that only if the
        unedited code was asked as well.
        """
        pairs = zip(replies, self.case.right, strict=False)
        if any(_has_nan(reply) and not _has_nan(right) for reply, right in pairs):
            return False
        more = self.live is not False or not any(map(raised, replies))
        accepted, diverged = accepts(self.recording, self.case, replies, channel if more else None)
        if self.live is None:
            self.live = diverged
        return accepted


def _has_nan(value: Any) -> bool:
    """Return whether a number in it is NaN, however deep in dictionaries and lists."""
    if isinstance(value, Tensor):
        return bool(value.isnan().any())
    if isinstance(value, Mapping):
        return any(map(_has_nan, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_has_nan, value))
    return isinstance(value, float) and math.isnan(value)


def cost(case: Example) -> int:
    """About how long a case takes: how often it runs the student's code, and on how much."""
    return sum(request["op"] in _COSTLY for request in case.requests) * (20_000 + case.size)


def place(error: StudentError | None) -> tuple[str, int] | None:
    """Return the file or cell, and the line, at which something was raised."""
    if error is None or not error.file or not error.line:
        return None
    return PurePosixPath(error.file).stem, error.line


def accepts(
    recording: Recording, case: Example, replies: Sequence[object], channel: Channel | None
) -> tuple[bool, bool]:
    """Return whether the check passes with these replies to a case, and whether it asked for more.

    Without a channel it can't ask for more, and then it counts as failed.
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

"""Lines at which a student's values depart from those of right answers.

They are looked for where no mistake is named and no edit helps, as with two faults in one formula.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from grader.feedback.finding import Place
from grader.feedback.results import SuspectLine
from grader.grading.own_line import quoted
from grader.grading.recording import Example, Recording, frames
from grader.grading.search.blame import Blame, blamed
from grader.grading.search.exchange import equal, right_answers
from grader.grading.search.handover import Departure, departure
from grader.grading.search.target import accepts, cost
from grader.grading.student_process import StudentProcess
from grader.recognition.canonical_form import raised
from grader.remote.budget import Budget
from grader.remote.channel import Channel, Times, decoded
from grader.remote.session import Interrupted, StudentError, clean

KIND = "departure"
RETURNED = "return"
MOST_EXAMINED = 3  # checks
SECONDS, IDLE = 2.0, 5.0
ENOUGH = 0.5  # seconds after which no further check is examined; most take a tenth of it
TIMES = Times(load=1.0, call=0.6, idle=1.0)


class Departures:
    """The search for such lines in one exercise of one submission."""

    def __init__(self, exercise: str, process: StudentProcess) -> None:
        self.exercise = exercise
        self.texts = process.texts(exercise)
        self.graded = process
        self.budget = Budget("The search", SECONDS, IDLE)
        self.begun = time.process_time()

    @property
    def seconds(self) -> float:
        """CPU time so far, of the student's process and of this one."""
        return SECONDS - self.budget.left[0] + time.process_time() - self.begun

    def lines(self, failing: Sequence[Recording]) -> tuple[SuspectLine, ...]:
        """Return the line at which the values in one of the failing checks depart, if any is found.

        Of several checks, it is the one in which fewest statements may be wrong.
        """
        best: Blame | None = None
        with self.graded.successor([self.exercise], self.budget, TIMES) as process:
            try:
                if not process.holds_code:
                    process.load(self.exercise)
                for recording in _cheapest(failing):
                    found = self._departure(recording, process.open())
                    blame = blamed(self.texts, found) if found else None
                    if blame and (best is None or len(blame.statements) < len(best.statements)):
                        best = blame
                    is_sure = best is not None and len(best.statements) == 1
                    if is_sure or self.seconds > ENOUGH:
                        break
                self.graded.take_back(process)
            except (Interrupted, StudentError):
                pass
        return () if best is None else (self._told(best),)

    def _departure(self, recording: Recording, channel: Channel) -> Departure | None:
        """Return where the values depart in the largest case with a wrong reply."""
        for case in reversed(recording.cases):
            replies = [
                decoded(body)
                for frame, count in frames([case])
                for body in channel.gather(frame, count)
            ]
            number = _wrong(recording, case, replies)
            if number is not None:
                requests = case.requests[: number + 1]
                made = channel.values(self.texts, requests)
                answers = right_answers(self.exercise)
                return departure(answers, requests, made, replies[number]) if made else None
        return None

    def _told(self, blame: Blame) -> SuspectLine:
        file, line = min(blame.statements)
        place = Place(f"{file}.py", line, quoted(self.texts[file], line))
        return SuspectLine(place, KIND, clean(_asks(blame)), tells=clean(_tells(blame)))


def _cheapest(failing: Sequence[Recording]) -> list[Recording]:
    return sorted(failing, key=lambda recording: cost(recording.cases[0]))[:MOST_EXAMINED]


def _wrong(recording: Recording, case: Example, replies: Sequence[Any]) -> int | None:
    """Return the number of the first call whose reply alone makes the check fail."""
    for number, (request, reply, right) in enumerate(
        zip(case.requests, replies, case.right, strict=True)
    ):
        if request["op"] != "call" or raised(reply) or raised(right):
            continue
        if equal(reply["ok"], right["ok"]):
            continue
        mixed = [*case.right[:number], reply, *case.right[number + 1 :]]
        if not accepts(recording, case, mixed, None)[0]:
            return number
    return None


def _tells(blame: Blame) -> str:
    """Return what is known: up to where the values are right, and where they are wrong."""
    *others, last = (str(line) for _, line in sorted(blame.statements))
    lines = f"lines {', '.join(others)} and {last}"
    start = f"one of {lines} is wrong: what they start" if others else "what this line starts"
    after = "them" if others else "it"
    wrong = "what is returned is wrong"
    if blame.variable != RETURNED:
        wrong = f"`{blame.variable}` is wrong after {after}"
    return f"In an example, {start} from is right, but {wrong}."


def _asks(blame: Blame) -> str:
    it = "be returned" if blame.variable == RETURNED else f"`{blame.variable}` be"
    return f"What should {it} here? Work it out by hand for a small input, and compare."

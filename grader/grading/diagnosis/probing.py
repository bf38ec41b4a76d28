"""Ask a student's code the probes of the checks that failed, the cheapest first.

Asking costs CPU time. So the rest is skipped once all known mistakes that reply as the student's
code does would reply the same to it, and the graded replies to those checks were wrong where
theirs would be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from grader.grading.diagnosis.fingerprints import Library
from grader.grading.diagnosis.requests import Requests
from grader.grading.question import Outcome, Question
from grader.recognition.features import Prints
from grader.recognition.thresholds import ENOUGH_PROBES, FEW_PROBES

Ask = Callable[[Question], Sequence[Any] | None]
Graded = Callable[[str], Outcome | None]


class Probing:
    """The probes of one exercise's checks."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.requests = Requests(library)

    def prints(
        self, passed: Mapping[str, bool], ask: Ask, graded: Graded = lambda _: None
    ) -> Prints:
        """Return the student's replies to every probe, as far as the code survives them.

        Replies to a check that passed count as right, whatever its contract leaves free. Once there
        is no doubt which mistake it is, the remaining probes are skipped.
        """
        library = self.library
        replies = [
            library.right[library.checks == number]
            if passed.get(probe.check)
            else Prints.blank(len(probe.keys))
            for number, probe in enumerate(library.probes)
        ]
        waiting = sorted(
            (n for n, probe in enumerate(library.probes) if passed.get(probe.check) is False),
            key=lambda number: library.probes[number].cost,
        )
        likely = self._fail_no_more(passed)
        count = 0
        while waiting:
            number, count = waiting.pop(0), count + 1
            columns = (library.checks == number).nonzero()[:, 0]
            replies[number] = read(library.questions[number], ask)
            likely = library.known.rows_like(replies[number], columns, likely)
            if not waiting or count < FEW_PROBES or not self._agree(likely, waiting):
                continue
            row = int(likely[0])
            doubtful = self._doubtful(row, waiting, graded)
            if doubtful is None or (count >= ENOUGH_PROBES and self._shows_before(waiting)):
                for other in waiting:
                    replies[other] = library.known[row][library.checks == other]
                break
            waiting.remove(doubtful)
            waiting.insert(0, doubtful)
        if not len(likely):
            self._ask_what_passed_by_chance(replies, passed, ask)
        return Prints.join(replies)

    def _ask_what_passed_by_chance(
        self, replies: list[Prints], passed: Mapping[str, bool], ask: Ask
    ) -> None:
        """Put into `replies` the replies to checks that passed only because of the inputs drawn.

        They are asked if a mistake explains all that is wrong elsewhere and fails these checks as
        well: the size of a rounding error, say, depends on the numbers.
        """
        library = self.library
        right = torch.tensor([bool(passed.get(probe.check)) for probe in library.probes])
        columns = (~right[library.checks]).nonzero()[:, 0]
        student = Prints.join(replies)[columns]
        rows = library.known.rows_like(student, columns, torch.arange(len(library.known.codes)))
        for row in rows[:1].tolist():
            for number in (library.failed[row] & right).nonzero()[:, 0].tolist():
                wrong = read(library.questions[number], ask)
                if bool(wrong.equal(library.known[row][library.checks == number]).all()):
                    replies[number] = wrong

    def _fail_no_more(self, passed: Mapping[str, bool]) -> Tensor:
        """Return the answers with a mistake that pass every check that the student's passes."""
        right = torch.tensor([bool(passed.get(probe.check)) for probe in self.library.probes])
        return (~(self.library.failed & right).any(dim=-1)).nonzero()[:, 0]

    def _agree(self, likely: Tensor, numbers: list[int]) -> bool:
        """Return whether these answers fail what has not been asked yet, and in the same way."""
        if not len(likely) or not bool(self.library.failed[likely][:, numbers].all()):
            return False
        rows = self.library.known[likely][:, torch.isin(self.library.checks, torch.tensor(numbers))]
        return bool(rows.equal(rows[0]).all())

    def _shows_before(self, numbers: list[int]) -> bool:
        """Return whether there is no mistake that shows in these probes and in no other."""
        others = [n for n in range(len(self.library.probes)) if n not in numbers]
        failed = self.library.failed
        return bool((failed[:, others].any(dim=-1) | ~failed[:, numbers].any(dim=-1)).all())

    def _doubtful(self, row: int, numbers: list[int], graded: Graded) -> int | None:
        """Return which of these probes may show more than that mistake; None if there is no doubt.

        First come probes that reveal mistakes which neither earlier probes nor the graded replies
        could show, the one that settles most of them for its cost. Then come those whose check did
        not go wrong the way that mistake does.
        """
        library = self.library
        shows = library.shown & library.known[row].said
        there = (shows.float() @ library.columns) > 0
        others = [n for n in range(len(library.probes)) if n not in numbers]
        unseen = there[:, numbers].any(dim=-1) & ~there[:, others].any(dim=-1)
        right, wrong = self.requests.right[row], self.requests.shown
        unseen &= ~(wrong & right & self.requests.of(numbers)).any(dim=-1)
        unseen &= torch.tensor([name != library.names[row] for name in library.names])
        if bool(unseen.any()):
            settled = there[unseen].sum(dim=0).tolist()
            return max(numbers, key=lambda n: settled[n] / (1 + library.probes[n].cost))
        return next((n for n in numbers if not self._as_graded(row, n, graded)), None)

    def _as_graded(self, row: int, number: int, graded: Graded) -> bool:
        """Return whether this probe's check went wrong the way that mistake does there."""
        question = self.library.questions[number]
        prints = self.library.known[row][self.library.checks == number]
        return graded(question.check) == question.outcome(prints)


def read(probe: Question, ask: Ask) -> Prints:
    """Return the marks of the replies to a probe, none if the code did not survive it."""
    replies = ask(probe)
    return Prints.blank(len(probe.keys)) if replies is None else probe.read(replies)

"""How much time a student's code may take: budgets that nest.

What counts is CPU time, so that a busy machine costs nobody anything, and time in which the
code neither runs nor wants to, so that one who sleeps does not hold the grader up. The clock on the
wall is the last resort.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

WALL = 30.0  # how many times the CPU time may pass on the wall
_REASONS = (
    "{subject} took more than {limit:g} seconds of CPU time: is there an infinite loop?",
    "{subject} did nothing for {limit:g} seconds: does your code sleep, or wait for something?",
    "{subject} was not done after {limit:g} seconds.",
)


@dataclass(frozen=True)
class Usage:
    """What a process has used since it began, in seconds."""

    processor: float
    idle: float
    wall: float

    def __sub__(self, earlier: Usage) -> Usage:
        """Return what was used between two readings."""
        return Usage(
            *(now - then for now, then in zip(self.values(), earlier.values(), strict=True))
        )

    def values(self) -> tuple[float, float, float]:
        """Return CPU time, idle time, time on the wall."""
        return self.processor, self.idle, self.wall


class Budget:
    """The time for a part of the work. It is never more than what is left for the whole."""

    def __init__(
        self, subject: str, processor: float, idle: float, within: Budget | None = None
    ) -> None:
        """`subject` is what the time is for, to begin a sentence with: "A call"."""
        self.subject = subject
        self.limits = (processor, idle, WALL * processor)
        self.left = list(self.limits)
        self.within = within

    def spend(self, used: Usage) -> None:
        """Subtract what was used, here and from the whole."""
        for budget in self._chain():
            budget.left = [
                left - amount for left, amount in zip(budget.left, used.values(), strict=True)
            ]

    def shortest(self) -> float:
        """In how many seconds it may be used up, at the earliest."""
        return min(min(budget.left) for budget in self._chain())

    def refusal(self) -> str | None:
        """Return why there is no more time, in a sentence, or None if there is some."""
        for budget in self._chain():
            for left, limit, reason in zip(budget.left, budget.limits, _REASONS, strict=True):
                if left <= 0:
                    return reason.format(subject=budget.subject, limit=limit)
        return None

    def _chain(self) -> Iterator[Budget]:
        budget: Budget | None = self
        while budget is not None:
            yield budget
            budget = budget.within

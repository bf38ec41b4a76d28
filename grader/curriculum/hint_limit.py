"""How far hints go before a deadline, which is the instructor's choice."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time

from grader.curriculum.exercises import CurriculumError

# The steps of a hint in their order; each is a name that an instructor writes.
STEPS = ("state", "question", "mistake", "reading", "line", "answer")
NONE = "none"


@dataclass(frozen=True)
class HintLimit:
    """The last step that is given, and until when; None means no end.

    A time without a time zone is the local time of the machine that gives the hint.
    """

    last: str = STEPS[-1]
    until: datetime | None = None

    def allows(self, step: str, now: datetime | None = None) -> bool:
        """Return whether this step is given, at this time or now."""
        if self.last in STEPS[-1:] or self._has_ended(now):
            return True
        return self.last != NONE and STEPS.index(step) <= STEPS.index(self.last)

    def _has_ended(self, now: datetime | None) -> bool:
        if self.until is None:
            return False
        return (now or datetime.now(self.until.tzinfo)) >= self.until

    def __str__(self) -> str:
        """Return the sentence that a student reads where hints end early."""
        far = "No hints" if self.last == NONE else "No further hints"
        when = "" if self.until is None else f" until {self.until:%Y-%m-%d %H:%M}"
        return f"{far}{when}: your instructor has set this limit."


def hint_limit(last: object = None, until: object = None) -> HintLimit:
    """Return the limit that an instructor has written: a step, and a date, a time or ISO text.

    A date means the end of that day. Raises `CurriculumError`.
    """
    if last is None:
        if until is not None:
            raise CurriculumError('until says when a limit of hints ends: write hints = "question"')
        return HintLimit()
    if last not in (NONE, *STEPS):
        choices = ", ".join((NONE, *STEPS))
        raise CurriculumError(f"hints = {last!r}: choose one of {choices}")
    return HintLimit(str(last), None if until is None else _moment(until))


def _moment(until: object) -> datetime:
    if isinstance(until, str):
        try:
            until = date.fromisoformat(until) if len(until) == 10 else datetime.fromisoformat(until)
        except ValueError:
            raise CurriculumError(
                f"until = {until!r}: write a date such as 2026-12-01, or 2026-12-01T18:00"
            ) from None
    if isinstance(until, datetime):
        return until
    if isinstance(until, date):
        return datetime.combine(until, time.max)
    raise CurriculumError(f"until = {until!r}: write a date such as 2026-12-01")

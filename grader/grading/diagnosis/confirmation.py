"""Confirm mistakes on held-out examples.

A diagnosis rests on one example of each check, where one mistake may look like another by chance:
d_k happens to be the root of the number of keys, or two searches end with the same sentence. So the
answer with the mistakes in it is run on other examples. A mistake is kept only if with it, the
answer comes nearer to the student's than without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from grader.curriculum.mistakes.variants import contradict
from grader.grading.diagnosis.combined import Combined, Names
from grader.grading.question import Goal
from grader.recognition.features import Prints
from grader.recognition.thresholds import (
    AGAINST_ALONE,
    AGAINST_BESIDE,
    CONFIRMING_CHECKS,
    CONFIRMING_EXAMPLES,
)


@dataclass(frozen=True)
class _Balance:
    """How much of what a mistake changes equals the student's replies, with it and without it.

    If it is not `shown`, it changes nothing here.
    """

    shown: bool
    near: float
    far: float


def confirmed(
    combined: Combined,
    names: Sequence[str],
    student: Prints,
    explains: Tensor,
    replied: Callable[[int], Prints],
) -> tuple[str, ...]:
    """Return the mistakes that held-out examples confirm, in their order.

    `student` holds the marks of the student's answer, `explains` those of them that the mistakes
    explain; `replied` returns its marks in a held-out example. A mistake that no held-out example
    shows is kept if it is the only one. Of two that can't be in one answer, the first is kept.
    """
    mistakes = _compatible(combined, names)
    for name in reversed(mistakes):
        rows = _nearest(combined, name, student, explains)
        own = _own(combined, rows[0], student) & explains
        rest = tuple(sorted(mistake for mistake in mistakes if mistake != name))
        added = own if bool(own.any()) else _added(combined, name, rest, student, explains)
        held_out = _held_out(combined, added if bool(added.any()) else explains)
        alone = _best_balance(combined, rows, held_out, replied) if bool(own.any()) else None
        beside = None
        if rest or alone is None:
            beside = _balance(combined, tuple(sorted((*rest, name))), rest, held_out, replied)
        if not _is_confirmed(alone, beside, only=not rest):
            mistakes = tuple(mistake for mistake in mistakes if mistake != name)
    return mistakes


def _is_confirmed(alone: _Balance | None, beside: _Balance | None, only: bool) -> bool:
    """Return whether a mistake is there, judged alone and beside the others, if any."""
    seen = [sight for sight in (alone, beside) if sight is not None and sight.shown]
    # Another fault may hide a mistake, but doesn't correct what it makes wrong.
    if alone is not None and alone.far > AGAINST_ALONE * alone.near:
        return False
    if beside is not None and not only:
        # With the others there, its marks could not have been seen.
        weaker = alone is None or alone.near < beside.near
        if not beside.shown or (weaker and beside.far > AGAINST_BESIDE * beside.near):
            return False
    return not seen or any(sight.near > 0 and sight.near >= sight.far for sight in seen)


def _compatible(combined: Combined, names: Sequence[str]) -> tuple[str, ...]:
    """Return the mistakes without those that cannot be in one answer with one before."""
    library = combined.library.mistakes
    mistakes: list[str] = []
    for name in names:
        if not any(contradict(library[mistake], library[name]) for mistake in mistakes):
            mistakes.append(name)
    return tuple(mistakes)


def _nearest(combined: Combined, name: str, student: Prints, explains: Tensor) -> list[int]:
    """Of the forms of a mistake, the rows of those that leave most of the student's marks."""
    library = combined.library
    shares = {
        row: float(((_own(combined, row, student) & explains) * library.weights).sum())
        for row in library.forms(name)
    }
    most = max(shares.values())
    return [row for row, part in shares.items() if part == most]


def _own(combined: Combined, row: int, student: Prints) -> Tensor:
    """Return what of the student's marks a mistake leaves by itself."""
    library = combined.library
    return library.shown[row] & library.known[row].same(student)


def _added(combined: Combined, name: str, rest: Names, student: Prints, explains: Tensor) -> Tensor:
    """Return what of the marks that are explained a mistake leaves beside the others only."""
    library = combined.library
    more = torch.zeros_like(explains)
    if not rest or not combined.made((*rest, name)) or not combined.made(rest):
        return more
    for number in sorted(set(library.checks[explains].tolist())):
        where = library.checks == number
        goal = Goal.of(student, explains, library.weights, where)
        both = combined.prints((*rest, name), number, goal)
        without = combined.prints(rest, number, goal)
        if both is not None:
            added = both.same(student[where])
            more[where] = added if without is None else added & both.differs(without)
    return more & explains


def _held_out(combined: Combined, there: Tensor) -> list[int]:
    """Return the numbers of examples of the checks in which something is."""
    library = combined.library
    numbers = sorted(set(library.checks[there].tolist()), key=lambda n: library.probes[n].cost)
    held_out: list[int] = []
    for check in (library.probes[number].check for number in numbers):
        some = [
            number for number, question in enumerate(library.held_out) if question.check == check
        ]
        if len(held_out) < CONFIRMING_CHECKS * CONFIRMING_EXAMPLES:
            held_out += some[-CONFIRMING_EXAMPLES:]
    return held_out


def _best_balance(
    combined: Combined,
    rows: Sequence[int],
    held_out: Sequence[int],
    replied: Callable[[int], Prints],
) -> _Balance | None:
    """Return how the form that other examples speak for most stands to the student's answer."""
    balances = [_balance(combined, row, (), held_out, replied) for row in rows]
    found = [balance for balance in balances if balance is not None]
    return max(found, key=lambda balance: balance.near - balance.far, default=None)


def _balance(
    combined: Combined,
    made: Names | int,
    without: Names,
    held_out: Sequence[int],
    replied: Callable[[int], Prints],
) -> _Balance | None:
    """Return how near an answer with mistakes comes to the student's; None if there is none.

    `made` is the answer with the mistakes, as `Combined.held_out` takes it; `without` the other.
    """
    shown, near, far = False, 0.0, 0.0
    for number in held_out:
        with_it, other = combined.held_out(made, number), combined.held_out(without, number)
        if with_it is None or other is None:
            return None
        student = replied(number)
        differs = with_it.differs(other) & student.said
        weights = torch.tensor(combined.library.held_out[number].weights)
        shown = shown or bool(differs.any())
        near += float(((differs & with_it.same(student)) * weights).sum())
        far += float(((differs & other.same(student)) * weights).sum())
    return _Balance(shown, near, far)

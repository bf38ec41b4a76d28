"""Whether a mistake that was found is there on other inputs, too.

What was found rests on one example of each check, and there a mistake may look like another one by
chance: d_k is the root of the number of keys, or two searches end with the same sentence. So the
right answer with the mistakes in it is asked other examples. A mistake stays only if the answer
with it comes nearer to the student's than the answer without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from grader.curriculum.mistakes.variants import contradict
from grader.feedback.prints import Prints
from grader.judging.combined import Combined, Names
from grader.judging.question import Hope

CHECKS = 2  # in which a mistake is looked at, the cheapest of those that it explains something in
EXAMPLES = 2  # of each
# The share of what a mistake shows that may be right in the student's answer: where it is the only
# one, and where the others are there.
AGAINST, AGAINST_BESIDE = 0.25, 0.15


@dataclass(frozen=True)
class _Balance:
    """How much of what a mistake changes is as the student's, with it and without it.

    Where it is not `shown` it changes nothing.
    """

    shown: bool
    near: float
    far: float


def confirmed(
    combined: Combined,
    names: Sequence[str],
    theirs: Prints,
    explains: Tensor,
    spare: Callable[[int], Prints],
) -> tuple[str, ...]:
    """Those of the mistakes that other examples bear out, in their order.

    `theirs` are the marks of the student's answer, of which the mistakes explain those that
    `explains` says; `spare` gives its marks in the spare example of a number. A mistake that no
    other example shows is believed if it is the only one. Of two that cannot be in one answer the
    first is taken.
    """
    found = _compatible(combined, names)
    for name in reversed(found):
        row = _nearest(combined, name, theirs, explains)
        own = _own(combined, row, theirs) & explains
        rest = tuple(sorted(one for one in found if one != name))
        added = own if bool(own.any()) else _added(combined, name, rest, theirs, explains)
        spares = _spares(combined, added if bool(added.any()) else explains)
        alone = _balance(combined, row, (), spares, spare) if bool(own.any()) else None
        beside = None
        if rest or alone is None:
            beside = _balance(combined, tuple(sorted((*rest, name))), rest, spares, spare)
        if not _borne_out(alone, beside, only=not rest):
            found = tuple(one for one in found if one != name)
    return found


def _borne_out(alone: _Balance | None, beside: _Balance | None, only: bool) -> bool:
    """Whether a mistake is there, by how it stands alone and beside the others, if there are."""
    seen = [one for one in (alone, beside) if one is not None and one.shown]
    # Another fault hides a mistake, but does not make right what it makes wrong.
    if alone is not None and alone.far > AGAINST * alone.near:
        return False
    if beside is not None and not only:
        # What is seen of it could not be with the others there.
        weaker = alone is None or alone.near < beside.near
        if not beside.shown or (weaker and beside.far > AGAINST_BESIDE * beside.near):
            return False
    return not seen or any(one.near > 0 and one.near >= one.far for one in seen)


def _compatible(combined: Combined, names: Sequence[str]) -> tuple[str, ...]:
    """The mistakes without those that cannot be in one answer with one before."""
    library = combined.library.mistakes
    found: list[str] = []
    for name in names:
        if not any(contradict(library[one], library[name]) for one in found):
            found.append(name)
    return tuple(found)


def _nearest(combined: Combined, name: str, theirs: Prints, explains: Tensor) -> int:
    """Of the forms of a mistake, the row of the one that leaves most of the student's marks."""
    library = combined.library
    return max(
        library.forms(name),
        key=lambda row: float(((_own(combined, row, theirs) & explains) * library.weights).sum()),
    )


def _own(combined: Combined, row: int, theirs: Prints) -> Tensor:
    """What of the student's marks a mistake leaves by itself."""
    library = combined.library
    return library.shown[row] & library.known[row].same(theirs)


def _added(combined: Combined, name: str, rest: Names, theirs: Prints, explains: Tensor) -> Tensor:
    """What of the marks that are explained a mistake leaves beside the others only."""
    library = combined.library
    found = torch.zeros_like(explains)
    if not rest or not combined.made((*rest, name)) or not combined.made(rest):
        return found
    for number in sorted(set(library.checks[explains].tolist())):
        where = library.checks == number
        hope = Hope.of(theirs, explains, library.weights, where)
        both = combined.prints((*rest, name), number, hope)
        without = combined.prints(rest, number, hope)
        if both is not None:
            added = both.same(theirs[where])
            found[where] = added if without is None else added & both.differs(without)
    return found & explains


def _spares(combined: Combined, there: Tensor) -> list[int]:
    """The numbers of examples of the checks in which something is."""
    library = combined.library
    numbers = sorted(set(library.checks[there].tolist()), key=lambda n: library.probes[n].cost)
    found: list[int] = []
    for check in (library.probes[number].check for number in numbers):
        some = [number for number, one in enumerate(library.spares) if one.check == check]
        if len(found) < CHECKS * EXAMPLES:
            found += some[-EXAMPLES:]
    return found


def _balance(
    combined: Combined,
    made: Names | int,
    without: Names,
    spares: Sequence[int],
    spare: Callable[[int], Prints],
) -> _Balance | None:
    """How an answer with mistakes stands to the student's; None if there is no such answer.

    `made` is the one with mistakes, as `Combined.spare` takes it; `without` the other one.
    """
    shown, near, far = False, 0.0, 0.0
    for number in spares:
        one, other = combined.spare(made, number), combined.spare(without, number)
        if one is None or other is None:
            return None
        student = spare(number)
        differs = one.differs(other) & student.said
        weights = torch.tensor(combined.library.spares[number].weights)
        shown = shown or bool(differs.any())
        near += float(((differs & one.same(student)) * weights).sum())
        far += float(((differs & other.same(student)) * weights).sum())
    return _Balance(shown, near, far)

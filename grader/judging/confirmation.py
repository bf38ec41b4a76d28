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

from grader.feedback.prints import Prints
from grader.judging.combined import Combined, Names

CHECKS = 2  # in which a mistake is looked at, the cheapest of those that it explains something in
EXAMPLES = 2  # of each


@dataclass(frozen=True)
class _Balance:
    """How much of what a mistake changes is as the student's, with it and without it."""

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
    `explains` says; `spare` gives its marks in the spare example of a number. What no other example
    shows is believed.
    """
    found = tuple(names)
    for name in reversed(names):
        row = _nearest(combined, name, theirs, explains)
        own = _own(combined, row, theirs) & explains
        spares = _spares(combined, own if bool(own.any()) else explains)
        rest = tuple(sorted(one for one in found if one != name))
        told = _balance(combined, row, (), spares, spare) if bool(own.any()) else None
        seen = [told] if told is not None else []
        # What the mistake shows by itself settles it, unless the student's answer is like neither.
        if (rest or not bool(own.any())) and (told is None or told.near == told.far == 0):
            made = tuple(sorted((*rest, name)))
            mixed = _balance(combined, made, rest, spares, spare)
            seen += [mixed] if mixed is not None else []
        # Another fault hides a mistake, but does not make right what it makes wrong.
        if seen and (
            seen[0].far > seen[0].near or not any(0 < one.near >= one.far for one in seen)
        ):
            found = tuple(one for one in found if one != name)
    return found


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
    """How an answer with mistakes stands to the student's; None if nothing tells.

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
    return _Balance(near, far) if shown else None

"""Which known mistakes explain what is wrong in an answer.

What a mistake explains are the marks that it leaves and that the answer leaves too. The one that
explains most comes first; what it explains is taken out, and the rest looked at again, since real
code has two or three faults at once. Where the evidence is thin nothing is said.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from grader.feedback.normal_form import RAISED
from grader.feedback.prints import Fingerprints, Prints

MAX_MISTAKES = 3
IN_SIGHT = 0.3  # the share of what a mistake shows that no other one covers
CLEAN = 0.9  # the share of what a mistake shows that is there, if nothing else mixes with it


@dataclass(frozen=True)
class Explanation:
    """Mistakes that together explain something: one, or two that mix in the same numbers.

    `precision` is how much of what they show is there, `recall` how much of what was left to
    explain they do, `against` how much of what they show is right in the student's answer.
    """

    mistakes: tuple[str, ...]
    score: float
    precision: float
    recall: float
    explains: Tensor
    shown: Tensor


# Looks for two mistakes at once that explain more than the best single one.
Pairs = Callable[["Evidence", Explanation | None, set[str]], Explanation | None]


def explain(
    known: Fingerprints, theirs: Prints, better_pair: Pairs | None = None
) -> list[Explanation]:
    """What explains the marks of a student's answer, each taken out before the next.

    `better_pair` looks further where no single mistake explains what is left without a rest.
    """
    evidence = Evidence(known, theirs)
    names = [(name,) for name in known.names]
    found: list[Explanation] = []
    taken: set[str] = set()
    while len(taken) < MAX_MISTAKES and bool(evidence.left.any()):
        best = evidence.best(known.known, known.shown, names, taken)
        if better_pair is not None and (best is None or best.precision < CLEAN):
            best = better_pair(evidence, best, taken)
        if best is None:
            break
        found.append(best)
        taken |= set(best.mistakes)
        evidence.take_out(best)
    return found


def alike(known: Fingerprints, name: str, theirs: Prints) -> list[str]:
    """The mistakes that look the same as this one where the student's code said anything."""
    rows = [row for row, one in enumerate(known.names) if one == name]
    found = [name]
    for index, other in enumerate(known.names):
        if other not in found and any(
            _same_where_said(known.known[index], known.known[row], theirs) for row in rows
        ):
            found.append(other)
    return found


class Evidence:
    """What is wrong in a student's answer, and how much of it is still unexplained."""

    def __init__(self, known: Fingerprints, theirs: Prints) -> None:
        self.known = known
        self.theirs = theirs
        self.right = known.right
        self.weights = known.weights
        self.checks = known.checks
        self.wrong = theirs.differs(known.right)
        self.crashed = self.wrong & (theirs.codes & RAISED != 0) & (theirs.codes > 0)
        self.left = self.wrong.clone()
        self.covered = torch.zeros_like(self.wrong)

    def take_out(self, explanation: Explanation) -> None:
        """Counts this as explained from now on.

        Where the mistake shows, no other one can be seen as it is: there nothing speaks for or
        against the next.
        """
        self.left &= ~explanation.explains
        self.covered |= explanation.shown

    def probes(self) -> list[int]:
        """The probes in which something is left to explain, the shortest first."""
        some = set(self.checks[self.left].tolist())
        return sorted(some, key=lambda number: int((self.checks == number).sum()))

    def mostly(self, prints: Prints, where: Tensor) -> bool:
        """Whether these marks explain nearly all that is wrong in one probe."""
        wrong = self.left[where]
        same = wrong & prints.same(self.theirs[where])
        weights = self.weights[where]
        return bool((same * weights).sum() >= CLEAN * (wrong * weights).sum())

    def best(
        self,
        rows: Prints,
        shown: Tensor,
        names: Sequence[tuple[str, ...]],
        taken: set[str],
    ) -> Explanation | None:
        """Of the rows that fit, the one that explains most of what is left."""
        full_size = self._weight(shown & self.theirs.said).clamp(min=1e-9)
        shown = shown & self.theirs.said & (self.left | ~self.covered)
        explains = shown & self.left & rows.same(self.theirs)
        size, full, left = (self._weight(part) for part in (shown, explains, self.left))
        precision, recall = full / size.clamp(min=1e-9), full / left.clamp(min=1e-9)
        against = self._weight(shown & ~self.wrong) / size.clamp(min=1e-9)
        strong = self._weight(explains & ~self.crashed) > 0
        sights = self._sights(explains & ~self.crashed)
        fits = (
            ((precision >= 0.85) & (against <= 0.1) & (strong | (recall > 0.9)))
            | ((recall >= 0.6) & (precision >= 0.4) & strong)
            | ((sights >= 2) & (recall >= 0.4) & (precision >= 0.4))
        )
        fits &= size >= IN_SIGHT * full_size
        score = 2 * precision * recall / (precision + recall).clamp(min=1e-9)
        score *= (size / full_size) ** 0.5  # one that hides behind others is the less likely one
        for index, one in enumerate(names):
            if not fits[index] or taken & set(one):
                score[index] = 0.0
        if not len(score) or float(score.max()) <= 0.0:
            return None
        top = int(score.argmax())
        return Explanation(
            names[top],
            float(score[top]),
            float(precision[top]),
            float(recall[top]),
            explains[top],
            shown[top],
        )

    def near(self) -> list[str]:
        """The mistakes that show where the answer is wrong, whatever they show there."""
        shown = self.known.shown & self.theirs.said
        there = self._weight(shown & self.left)
        size = self._weight(shown).clamp(min=1e-9)
        left = self._weight(self.left).clamp(min=1e-9)
        exact = self._weight(shown & self.left & self.known.known.same(self.theirs))
        score = there / (size + left - there) + exact / size
        found: list[str] = []
        for index in score.argsort(descending=True).tolist():
            name = self.known.names[index]
            if name not in found and float(there[index]) > 0:
                found.append(name)
        return found

    def _weight(self, where: Tensor) -> Tensor:
        return (where * self.weights).sum(dim=-1)

    def _sights(self, where: Tensor) -> Tensor:
        """In how many checks something is."""
        count = int(self.checks.max()) + 1
        seen = torch.zeros(*where.shape[:-1], count)
        seen.index_add_(-1, self.checks, where.float())
        return (seen > 0).sum(dim=-1)


def _same_where_said(left: Prints, right: Prints, theirs: Prints) -> bool:
    unequal = (left.said | right.said) & ~left.same(right)
    return not bool((unequal & theirs.said).any())

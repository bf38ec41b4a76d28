"""Mistakes in one branch: wrong in one configuration of the code and right in the others.

A known mistake is made in every place where it can be. If a student's code has it in a single
branch, half of what the mistake shows is right. So the evidence is also examined by configuration,
ignoring the replies in all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from grader.recognition.evidence import Evidence, Explanation, explain
from grader.recognition.features import Branch, Fingerprints, Prints
from grader.recognition.thresholds import AGAINST, CLEAN, ENOUGH_EXACT, ENOUGH_THERE, SURE

ROUNDING = 1e-3  # of shares


@dataclass(frozen=True)
class Split:
    """The branches in which something is wrong, each with only the marks that the answer has there.

    `explained` is the share of what is wrong that single known mistakes explain if each branch is
    examined alone, `clean` whether there is a branch in which nothing is wrong.
    """

    sides: tuple[tuple[Branch, Prints], ...]
    explained: float
    clean: bool

    @property
    def is_of_mode(self) -> bool:
        """Whether the branches are the modes. Most is asked in one of them only."""
        return self.sides[0][0].argument == "mode"


def share(known: Fingerprints, student: Prints, explained: Sequence[Tensor]) -> float:
    """Return how much of what is wrong, 0 to 1, is explained by one or another of these."""
    wrong = student.differs(known.right)
    together = torch.stack([torch.zeros_like(wrong), *explained]).any(dim=0)
    return float((wrong & together).float() @ known.weights / (wrong.float() @ known.weights))


def enough(known: Fingerprints, marks: Prints, causes: Sequence[Explanation]) -> bool:
    """Return whether these explain enough of what is wrong in a branch.

    Two mistakes whose marks are all there need less: where both act, neither looks as it does
    alone.
    """
    explained = share(known, marks, [cause.explains for cause in causes])
    exact = len(causes) > 1 and all(cause.precision >= SURE for cause in causes)
    return explained >= (ENOUGH_EXACT if exact else ENOUGH_THERE)


def splits(known: Fingerprints, student: Prints) -> list[Split]:
    """Return the ways to look at an answer by configuration, the one that explains most first."""
    wrong = student.differs(known.right)
    total = float((wrong * known.weights).sum())
    splits = []
    for values in known.branches:
        outside = [known.outside(branch) for branch in values]
        inside = [_others(outside, number) for number in range(len(values))]
        is_asked = [bool((student.said & keys & known.calls).any()) for keys in inside]
        faulty = [bool((wrong & keys).any()) for keys in inside]
        if sum(is_asked) < 2 or not any(faulty):
            continue
        sides = []
        explained = torch.zeros_like(wrong)
        for branch, bad in zip(values, faulty, strict=True):
            if bad:
                marks = inside_only(known, student, branch)
                sides.append((branch, marks))
                causes = [cause for cause in explain(known, marks) if cause.precision >= CLEAN]
                if enough(known, marks, causes):
                    explained |= (
                        torch.stack([cause.explains for cause in causes]).any(dim=0) & wrong
                    )
        clean = any(
            known_said and not bad for known_said, bad in zip(is_asked, faulty, strict=True)
        )
        most = float((explained * known.weights).sum()) / total
        splits.append(Split(tuple(sides), most, clean))
    splits.sort(key=lambda way: (-round(way.explained, 3), not way.clean, way.is_of_mode))
    return [_with_the_same(way, splits[1:]) for way in splits[:1]] + splits[1:]


def _with_the_same(split: Split, splits: Sequence[Split]) -> Split:
    """Return the split, its branch with those that cannot be told from it by what was asked.

    The mode is none of them: that a value was asked in one mode only says nothing about the other.
    """
    if not split.clean or len(split.sides) != 1:
        return split
    ((branch, marks),) = split.sides
    also = tuple(
        split_alike.sides[0][0].value
        for split_alike in splits
        if split_alike.clean
        and len(split_alike.sides) == 1
        and not split_alike.is_of_mode
        and split_alike.explained >= split.explained - ROUNDING
    )
    return replace(split, sides=((replace(branch, also=also), marks),))


def inside_only(known: Fingerprints, student: Prints, branch: Branch) -> Prints:
    """Return the marks that an answer leaves in a branch.

    A passed check that also covers other configurations says nothing: it may reject a mistake only
    for its marks in those.
    """
    outside = known.outside(branch)
    by_check = known.columns
    wrong = (student.differs(known.right).float() @ by_check > 0)[known.checks]
    mixed = (outside.float() @ by_check > 0)[known.checks]
    return student.without(outside | (mixed & ~wrong))


def denied(
    known: Fingerprints, student: Prints, name: str, branch: Branch, mixed: bool = False
) -> bool:
    """Return whether the answer does not have a mistake outside of a branch, where that would show.

    A function without the branch's argument is outside of it as well. If the faults there may be
    `mixed` with unknown ones, only what is right counts.
    """
    outside = known.outside(branch)
    evidence = Evidence(known, student)
    rows = known.forms(name)
    there = evidence.shown[rows] & evidence.same[rows]
    if bool((there & known.without(branch.argument)).any()):
        return False
    shows = evidence.shown[rows] & outside
    unlike = ~evidence.wrong if mixed else ~evidence.same[rows]
    shown, against = shows.float() @ known.weights, (shows & unlike).float() @ known.weights
    return bool((against > AGAINST * shown).all() and (shown > 0).any())


def _others(outside: Sequence[Tensor], number: int) -> Tensor:
    """Return which keys are of this branch, and not of all."""
    branches = [out for index, out in enumerate(outside) if index != number]
    return ~outside[number] & torch.stack(branches).any(dim=0)

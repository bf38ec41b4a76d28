"""Greedy composition: known mistakes are added to the right answer, one after the other.

Real code has three or four faults, and where several affect the same numbers, none of them looks as
it does alone. So we start from a mistake that explains something by itself, add the one that
explains most of the rest, and so on, as long as each addition makes one more check come out exactly
as it does with the student's code.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from copy import copy
from dataclasses import dataclass
from itertools import combinations, islice

import torch
from torch import Tensor

from grader.grading.diagnosis.combined import Combined, Names
from grader.grading.question import Goal
from grader.recognition.evidence import Evidence
from grader.recognition.features import Prints
from grader.recognition.thresholds import (
    AGAINST,
    AGAINST_THE_SOURCE,
    AGAINST_TOGETHER,
    ALONE,
    EVERYWHERE,
    GAIN,
    LIKELY,
    MOST_EVERYWHERE,
    MOST_TOGETHER,
    NEAR,
    PAIRED_CHECKS,
    STARTS,
    SURE,
    TRIED,
)


@dataclass(frozen=True)
class Composed:
    """Mistakes in one answer, and its replies where the student's are wrong.

    `explained` is the weight of the marks that equal the student's (`explains` says which),
    `against` that of marks which contradict these mistakes, `whole` the number of checks that are
    explained completely. Each mistake is listed with its equivalents.
    """

    mistakes: Names
    either: tuple[Names, ...]
    prints: Prints
    explains: Tensor
    explained: float
    against: float
    whole: int


def compose(
    combined: Combined,
    evidence: Evidence,
    begun: Sequence[str],
    refused: AbstractSet[str],
    most: int = MOST_TOGETHER,
) -> Composed | None:
    """Return mistakes, `most` of them, that together explain more than the one in `begun`, or None.

    If `begun` is empty, start from those that explain most by themselves, but for the `refused`. If
    it holds two, try nothing: of 27 answers in which that was tried, none had a third.
    """
    if len(begun) > 1:
        return None
    return _Composition(combined, evidence, refused, most).grown(tuple(begun))


class _Composition:
    """The search for one student's combination of mistakes."""

    def __init__(
        self, combined: Combined, evidence: Evidence, refused: AbstractSet[str], most: int
    ) -> None:
        self.refused = refused
        self.most = most
        self.combined = combined
        self.library = library = combined.library
        self.evidence = evidence
        self.student = evidence.student
        self.total = float(self._weight(evidence.wrong))
        # Only numbers mix: a wrong reply of any other type that differs speaks against a mistake.
        leaves = torch.tensor([path != "" for probe in library.probes for _, path in probe.keys])
        self.discrete = leaves & (library.right.rounding == 0)

    def grown(self, begun: Names) -> Composed | None:
        pairs = [self._grown(start) for start in ([begun] if begun else self._starts())]
        return max((pair for pair in pairs if pair), key=lambda pair: pair.explained, default=None)

    def _starts(self) -> Sequence[Names]:
        """Return the mistakes that alone explain most and show nothing that isn't there."""
        library = self.library
        shown = library.shown & self.student.said
        same = self.evidence.same
        strong = self._weight(self.evidence.telling(shown & self.evidence.wrong & same))
        denied = self._weight(shown & self._denied(same))
        score = torch.where(denied <= AGAINST_TOGETHER * self.total, strong, 0.0)
        return [(name,) for name in self._ordered(score, GAIN * self.total)][:STARTS]

    def _grown(self, start: Names) -> Composed | None:
        state = begun = self._composed(start, tuple((name,) for name in start))
        while (
            state is not None
            and len(state.mistakes) < self.most
            and state.explained < SURE * self.total
        ):
            more = self._step(state) or self._two_steps(state)
            if more is None:
                break
            state = more
        if state is not begun:
            return state
        if state is None:
            return None
        return state if state.whole or state.explained >= ALONE * self.total else None

    def _step(self, state: Composed) -> Composed | None:
        """With one mistake more, the one that lets most come out; None if no check more does."""
        left = self.evidence.wrong & ~self.evidence.agreeing(state.prints)
        tried = [name for name in self._near(left) if name not in state.mistakes][:TRIED]
        least = state.explained + GAIN * self.total
        enough = state.explained + AGAINST_THE_SOURCE * self.total
        looked_at: list[Composed] = []
        for name in self._likeliest(state.mistakes, tried, left):
            pairs = self._composed(
                (*state.mistakes, name), (*state.either, (name,)), least, state.whole + 1
            )
            if (
                pairs
                and pairs.whole > state.whole
                and pairs.explained >= least
                and pairs.against <= max(state.against, AGAINST_TOGETHER * self.total)
                and not (pairs.explained < enough and self.evidence.correct(name))
            ):
                looked_at.append(pairs)
        if not looked_at:
            return None
        first = max(looked_at, key=lambda pair: pair.explained)
        same = [pair for pair in looked_at if not self._told_apart(first, pair)]
        last = tuple(pair.mistakes[-1] for pair in (first, *(x for x in same if x is not first)))
        return Composed(**{**vars(first), "either": (*state.either, last)})

    def _two_steps(self, state: Composed) -> Composed | None:
        """With two mistakes more that explain a check of which nothing is explained yet, or None.

        Where both act on the same numbers, neither makes them what they are.
        """
        wrong, checks = self.evidence.wrong, self.library.checks
        agreeing = self.evidence.agreeing(state.prints)
        open_checks = [
            number
            for number in self._probes(self.evidence.telling(wrong & ~agreeing))
            if not bool((wrong & agreeing & (checks == number)).any())
        ]
        for number in open_checks[:PAIRED_CHECKS] if len(state.mistakes) + 2 <= self.most else ():
            part = copy(self.evidence)
            part.left = wrong & (checks == number)
            near = [name for name in part.near() if name not in self.refused][:NEAR]
            goal = self._goal(part.left, number)
            goal = goal.at_least(SURE * goal.most)
            for pair in islice(part.promising([*combinations(near, 2)]), LIKELY):
                names = (*state.mistakes, *pair)
                if not self.combined.made(names):
                    continue
                prints = self.combined.prints(names, number, goal)
                if prints is None or goal.fulfilled(prints) < SURE * goal.most:
                    continue
                more = self._composed(names, (*state.either, *((name,) for name in pair)))
                most = max(state.against, AGAINST_TOGETHER * self.total)
                if more and more.whole > state.whole and more.against <= most:
                    return more
        return None

    def _likeliest(self, begun: Names, tried: Sequence[str], left: Tensor) -> list[str]:
        """Return those of the mistakes that let most come out in a short check."""
        strong = left & ~self.evidence.crashed
        goals = {number: self._goal(strong, number) for number in self._probes(left)[:2]}
        gains: list[tuple[float, str]] = []
        for name in tried:
            least = gains[EVERYWHERE - 1][0] if len(gains) >= EVERYWHERE else 0.0
            gain = 0.0
            for number, goal in goals.items():
                goal_of_more = goal.at_least(max(least, gain))
                prints = self.combined.prints((*begun, name), number, goal_of_more)
                gain = max(gain, goal.fulfilled(prints) if prints else 0.0)
            gains = sorted([*gains, (gain, name)], key=lambda pair: -pair[0])
        # In a short check many mistakes look the same, and their order means nothing.
        least = gains[min(EVERYWHERE, len(gains)) - 1][0] if gains else 0.0
        even = [name for gain, name in gains if gain > 0 and gain >= least]
        return even[:MOST_EVERYWHERE]

    def _told_apart(self, first: Composed, other: Composed) -> bool:
        differs = first.prints.differs(other.prints) & self.student.said
        return bool(differs.any())

    def _goal(self, marks: Tensor, number: int) -> Goal:
        """That any of these marks come out in a probe."""
        where = self.library.checks == number
        return Goal.of(self.student, marks, self.library.weights, where)

    def _composed(
        self, names: Names, either: tuple[Names, ...], least: float = 0.0, whole: int = 0
    ) -> Composed | None:
        """Return these mistakes in one answer.

        None if no form takes them all, or if they explain less than `least`, or fewer checks than
        `whole`; we stop as soon as that is certain.
        """
        if not self.combined.made(names):
            return None
        wrong = self.evidence.wrong
        some = self._probes(wrong)
        parts = {}
        explained, wholes = self.total, len(some)  # at most
        for number in some:
            goal = self._goal(wrong, number)
            others = explained - goal.most
            needed = least - others if wholes > whole else goal.most
            made = self.combined.prints(names, number, goal.at_least(needed))
            if made is None:
                return None
            parts[number] = made
            gained = goal.fulfilled(made)
            explained, wholes = others + gained, wholes - (gained < goal.most)
            if wholes < whole:
                return None
        prints = Prints.join(
            [
                parts[number] if number in parts else Prints.blank(len(probe.keys))
                for number, probe in enumerate(self.library.probes)
            ]
        )
        if not bool(prints.said.any()):
            return None
        same = self.evidence.agreeing(prints)
        same &= ~self.evidence.raised_elsewhere((wrong & same)[None])[0]
        shown = prints.differs(self.library.right) & self.student.said
        return Composed(
            names,
            either,
            prints,
            wrong & same,
            float(self._weight(wrong & same)),
            float(self._weight(shown & self._denied(same))),
            len(some) - len(self._probes(wrong & ~same)),
        )

    def _denied(self, same: Tensor) -> Tensor:
        """Return where what a mistake shows cannot be hidden by another one."""
        return ~self.evidence.wrong | (self.discrete & ~same)

    def _near(self, left: Tensor) -> list[str]:
        """Return the mistakes that show where something is left, the most specific first.

        One that mostly shows in checks in which nothing is wrong is not there: what would hide it?
        """
        shown = self.library.shown & self.student.said
        there = self._weight(shown & left) / self._weight(left).clamp(min=1e-9)
        beside = self._weight(shown & ~self.evidence.wrong) / self._weight(shown).clamp(min=1e-9)
        by_check = self.evidence.wrong.float() @ self.library.columns
        passed = self._weight(shown & (by_check == 0)[self.library.checks])
        possible = (there > 0) & (passed <= AGAINST * self._weight(shown))
        return self._ordered(torch.where(possible, 3 + there - 2 * beside, 0.0), 0.0)

    def _ordered(self, score: Tensor, least: float) -> list[str]:
        order = score.argsort(descending=True).tolist()
        names = [self.library.names[index] for index in order if float(score[index]) > least]
        return [name for name in dict.fromkeys(names) if name not in self.refused]

    def _probes(self, where: Tensor) -> list[int]:
        """Return the checks in which something is, the shortest first."""
        some = set(self.library.checks[where].tolist())
        return sorted(some, key=lambda number: int((self.library.checks == number).sum()))

    def _weight(self, where: Tensor) -> Tensor:
        return (where * self.library.weights).sum(dim=-1)

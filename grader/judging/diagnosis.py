"""Names a student's mistakes: the known ones that explain what is wrong.

What a mistake explains are the marks that it leaves and that the student's answer leaves too. The
one that explains most is named; what it explains is taken out, and the rest looked at again, since
real code has two or three faults at once. Where two faults mix in the same numbers, pairs of the
known mistakes that come near are made and looked at as one. Where the evidence is thin nothing is
said.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from grader.curriculum import reference, stubs
from grader.curriculum.mistakes import Mistake
from grader.curriculum.mistakes.variants import both
from grader.judging import fingerprints
from grader.judging.fingerprints import Library, Prints, Probe
from grader.judging.normal_form import RAISED
from grader.report.results import Diagnosis

MAX_MISTAKES = 3
MAX_ALIKE = 2
NEAR = 10  # mistakes whose pairs are looked at
WIDE = 20  # mistakes that are looked at together with the nearest one
MAX_SPARES = 6
IN_SIGHT = 0.3  # the share of what a mistake shows that no other one covers
CLEAN = 0.9  # the share of what a mistake shows that is there, if nothing else mixes with it

Ask = Callable[[Sequence[dict[str, Any]]], Sequence[Any] | None]


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


@dataclass(frozen=True)
class _Pair:
    """A right answer with two mistakes, and what it answered so far, by probe."""

    module: ModuleType
    prints: dict[int, Prints]


class Diagnostician:
    """Names the mistakes of one exercise."""

    def __init__(self, exercise: str) -> None:
        self.library = fingerprints.load(exercise)
        self.pairs: dict[tuple[str, str], _Pair | None] = {}

    def diagnose(self, passed: Mapping[str, bool], ask: Ask) -> tuple[Diagnosis, ...]:
        """The mistakes that explain a student's replies, the one that explains most first.

        `passed` says which checks were passed and which failed; others are not asked for. `ask`
        sends requests to the student's code and returns its replies, or None if it did not survive
        them.
        """
        named: list[tuple[str, ...]] = []
        theirs = self.prints(passed, ask)
        for explanation in self.explain(theirs):
            for name in explanation.mistakes:
                alike = self._told_apart(self._alike(name, theirs), passed, ask)
                if len(alike) <= MAX_ALIKE and not any(set(alike) & set(one) for one in named):
                    named.append(alike)
        return tuple(self._diagnosis(names) for names in named[:MAX_MISTAKES])

    def prints(self, passed: Mapping[str, bool], ask: Ask) -> Prints:
        """What the student's code answers to every probe, as far as it survives them.

        A check that was passed was answered right, whatever the contract leaves free there.
        """
        rows = []
        start = 0
        for probe in self.library.probes:
            end = start + len(probe.keys)
            state = passed.get(probe.check)
            if state is None:
                rows.append(Prints.blank(len(probe.keys)))
            elif state:
                rows.append(self.library.right[start:end])
            else:
                rows.append(_read(probe, ask))
            start = end
        return Prints.join(rows)

    def explain(self, theirs: Prints) -> list[Explanation]:
        """What explains the marks of a student's answer, each taken out before the next."""
        evidence = _Evidence(self.library, theirs)
        found: list[Explanation] = []
        taken: set[str] = set()
        while len(taken) < MAX_MISTAKES and bool(evidence.left.any()):
            best = evidence.best(self.library.known, self.library.shown, self._names(), taken)
            if best is None or best.precision < CLEAN:
                best = self._better_pair(evidence, best, taken)
            if best is None:
                break
            found.append(best)
            taken |= set(best.mistakes)
            evidence.take_out(best)
        return found

    def _names(self) -> list[tuple[str, ...]]:
        return [variant.mistakes for variant in self.library.variants]

    def _better_pair(
        self, evidence: _Evidence, single: Explanation | None, taken: set[str]
    ) -> Explanation | None:
        near = [name for name in evidence.near(self.library) if name not in taken]
        rows, names = [], []
        wide = ((near[0], other) for other in near[NEAR:WIDE])
        for first, second in (*combinations(near[:NEAR], 2), *wide):
            prints = self._pair_prints(first, second, evidence)
            if prints is not None:
                rows.append(prints)
                names.append((first, second))
        if not rows:
            return single
        pairs = Prints.stack(rows)
        found = evidence.best(pairs, pairs.differs(self.library.right), names, taken)
        if found is None or found.precision < CLEAN:
            return single
        gain = found.recall - (single.recall * single.precision if single else 0.0)
        return found if gain > 0.1 else single

    def _pair_prints(self, first: str, second: str, evidence: _Evidence) -> Prints | None:
        """What both mistakes at once answer where the student's answer is wrong.

        The shortest probe is looked at first: a pair that does not fit there is not looked at any
        further.
        """
        key = (first, second) if first < second else (second, first)
        if key not in self.pairs:
            self.pairs[key] = self._made(key)
        pair = self.pairs[key]
        if pair is None:
            return None
        parts: dict[int, Prints] = {}
        for number in evidence.probes():
            where = evidence.checks == number
            if number not in pair.prints:
                pair.prints[number] = self.library.probes[number].ask(pair.module)
            parts[number] = pair.prints[number]
            if not evidence.mostly(parts[number], where):
                return None
        return Prints.join(
            [
                parts[number] if number in parts else Prints.blank(len(probe.keys))
                for number, probe in enumerate(self.library.probes)
            ]
        )

    def _made(self, key: tuple[str, str]) -> _Pair | None:
        variant = both(*(self.library.mistakes[name] for name in key))
        if variant is None:
            return None
        module = reference.variant(self.library.exercise, variant.source)
        return _Pair(module, {}) if isinstance(module, ModuleType) else None

    def _alike(self, name: str, theirs: Prints) -> list[str]:
        """The mistakes that look the same as this one where the student's code said anything."""
        library = self.library
        rows = [i for i, one in enumerate(library.variants) if name in one.mistakes]
        found = [name]
        for index, variant in enumerate(library.variants):
            (other,) = variant.mistakes
            if other not in found and any(
                _same_where_said(library.known[index], library.known[row], theirs) for row in rows
            ):
                found.append(other)
        return found

    def _told_apart(
        self, names: list[str], passed: Mapping[str, bool], ask: Ask
    ) -> tuple[str, ...]:
        """Those of the mistakes that remain after inputs on which they differ."""
        library = self.library
        if len(names) < 2:
            return tuple(names)
        modules = {
            variant.mistakes[0]: module
            for variant in library.variants
            if variant.mistakes[0] in names
            and isinstance(
                module := reference.variant(library.exercise, variant.source), ModuleType
            )
        }
        spares = [probe for probe in library.spares if passed.get(probe.check) is False]
        for probe in spares[:MAX_SPARES]:
            prints = {name: probe.ask(module) for name, module in modules.items()}
            first, *others = prints.values()
            if not any(bool(first.differs(other).any()) for other in others):
                continue
            theirs = _read(probe, ask)
            left = [name for name in names if not bool(prints[name].differs(theirs).any())]
            if left:
                return tuple(left)
        return tuple(names)

    def _diagnosis(self, names: tuple[str, ...]) -> Diagnosis:
        found = [self.library.mistakes[name] for name in names]
        return Diagnosis(names, _message(found), _hints(found[0]) if len(found) == 1 else ())


class _Evidence:
    """What is wrong in a student's answer, and how much of it is still unexplained."""

    def __init__(self, library: Library, theirs: Prints) -> None:
        self.theirs = theirs
        self.right = library.right
        self.weights = library.weights
        self.checks = library.checks
        self.wrong = theirs.differs(library.right)
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

    def near(self, library: Library) -> list[str]:
        """The mistakes that show where the answer is wrong, whatever they show there."""
        shown = library.shown & self.theirs.said
        there = self._weight(shown & self.left)
        size = self._weight(shown).clamp(min=1e-9)
        left = self._weight(self.left).clamp(min=1e-9)
        exact = self._weight(shown & self.left & library.known.same(self.theirs))
        score = there / (size + left - there) + exact / size
        found: list[str] = []
        for index in score.argsort(descending=True).tolist():
            (name,) = library.variants[index].mistakes
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


def _read(probe: Probe, ask: Ask) -> Prints:
    replies = ask(probe.requests)
    return Prints.blank(len(probe.keys)) if replies is None else probe.read(replies)


def _message(found: Sequence[Mistake]) -> str:
    first, *others = (f"{mistake.tells}\n{mistake.asks}" for mistake in found)
    return "\nOr, which looks the same from here:\n".join([first, *others])


def _hints(mistake: Mistake) -> tuple[str, ...]:
    read = mistake.read or stubs.further_reading(mistake.exercise)
    return tuple(hint for hint in (read, mistake.nearly) if hint)

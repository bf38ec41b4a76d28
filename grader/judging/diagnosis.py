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

from grader.curriculum import reference, stubs
from grader.curriculum.mistakes import Mistake
from grader.curriculum.mistakes.variants import both
from grader.feedback.evidence import CLEAN, MAX_MISTAKES, Evidence, Explanation, alike, explain
from grader.feedback.prints import Prints, Probe
from grader.judging import fingerprints
from grader.judging.fingerprints import asked
from grader.report.results import Diagnosis

MAX_ALIKE = 2
NEAR = 10  # mistakes whose pairs are looked at
WIDE = 20  # mistakes that are looked at together with the nearest one
MAX_SPARES = 6

Ask = Callable[[Sequence[dict[str, Any]]], Sequence[Any] | None]


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
        for explanation in explain(self.library, theirs, self._better_pair):
            for name in explanation.mistakes:
                names = self._told_apart(alike(self.library, name, theirs), passed, ask)
                if len(names) <= MAX_ALIKE and not any(set(names) & set(one) for one in named):
                    named.append(names)
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

    def _better_pair(
        self, evidence: Evidence, single: Explanation | None, taken: set[str]
    ) -> Explanation | None:
        near = [name for name in evidence.near() if name not in taken]
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

    def _pair_prints(self, first: str, second: str, evidence: Evidence) -> Prints | None:
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
                pair.prints[number] = asked(self.library.probes[number], pair.module)
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
            prints = {name: asked(probe, module) for name, module in modules.items()}
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


def _read(probe: Probe, ask: Ask) -> Prints:
    replies = ask(probe.requests)
    return Prints.blank(len(probe.keys)) if replies is None else probe.read(replies)


def _message(found: Sequence[Mistake]) -> str:
    first, *others = (f"{mistake.tells}\n{mistake.asks}" for mistake in found)
    return "\nOr, which looks the same from here:\n".join([first, *others])


def _hints(mistake: Mistake) -> tuple[str, ...]:
    read = mistake.read or stubs.further_reading(mistake.exercise)
    return tuple(hint for hint in (read, mistake.nearly) if hint)

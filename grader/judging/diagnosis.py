"""Names a student's mistakes: the known ones that explain what is wrong.

What a mistake explains are the marks that it leaves and that the student's answer leaves too. The
one that explains most is named; what it explains is taken out, and the rest looked at again, since
real code has two or three faults at once. Where two faults mix in the same numbers, pairs of the
known mistakes that come near are made and looked at as one, and where something is left, more of
them (`composition`). What does not explain all is tried on other examples (`confirmation`). Where
the evidence is thin nothing is said.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import torch
from torch import Tensor

from grader.curriculum import stubs
from grader.curriculum.mistakes import Mistake
from grader.feedback.evidence import CLEAN, MAX_MISTAKES, Evidence, Explanation, alike, explain
from grader.feedback.prints import Prints
from grader.judging import fingerprints
from grader.judging.combined import Combined
from grader.judging.composition import compose
from grader.judging.confirmation import confirmed
from grader.judging.question import Hope, Outcome, Question
from grader.judging.requests import Requests
from grader.report.results import Diagnosis

MAX_ALIKE = 2
ENOUGH = 4  # probes that have to agree with a mistake before the others are taken to
FEW = 2  # of them, if in all others the graded replies were wrong where the mistake's are
NEAR = 10  # mistakes whose pairs are looked at
WIDE = 30  # mistakes that are looked at together with the nearest one
MOST_SPENT = 60  # objects made and calls of pairs, after which no further one is looked at
MAX_SPARES = 6
ROUNDS = 3  # of looking for mistakes without those that other examples do not bear out
SURE = (
    0.97  # the share of what is wrong, and of what a mistake shows, that leaves nothing to explain
)
SIGHTS = 2  # checks in which a mistake that leaves nothing needs no other example
MOSTLY = 0.5  # the share of what is wrong in a check that no mistake explains, if it is told

Ask = Callable[[Question], Sequence[Any] | None]
Graded = Callable[[str], Outcome | None]


@dataclass(frozen=True)
class Diagnosed:
    """The mistakes that were named, and the failing checks that they do not explain."""

    mistakes: tuple[Diagnosis, ...]
    unexplained: tuple[str, ...]


class Diagnostician:
    """Names the mistakes of one exercise."""

    def __init__(self, exercise: str) -> None:
        self.library = fingerprints.load(exercise)
        self.combined = Combined(self.library)
        self.requests = Requests(self.library)

    def diagnose(
        self, passed: Mapping[str, bool], ask: Ask, graded: Graded = lambda _: None
    ) -> Diagnosed:
        """The mistakes that explain a student's replies, the one that explains most first.

        `passed` says which checks were passed and which failed; others are not asked for. `ask`
        puts a question to the student's code and returns its replies, or None if it did not survive
        it. `graded` tells where the replies to the largest case of a failing check are wrong.
        """
        named: list[tuple[str, ...]] = []
        theirs = self.prints(passed, ask, graded)
        either, explains = self._confirmed(theirs, ask)
        for first, *others in either:
            same = dict.fromkeys((*alike(self.library, first, theirs), *others))
            names = self._told_apart(list(same), passed, ask)
            if len(names) <= MAX_ALIKE and not any(set(names) & set(one) for one in named):
                named.append(names)
        found = tuple(self._diagnosis(names) for names in named[:MAX_MISTAKES])
        if not found:
            return Diagnosed((), tuple(name for name, state in passed.items() if not state))
        return Diagnosed(found, self._unexplained(theirs, explains))

    def _confirmed(self, theirs: Prints, ask: Ask) -> tuple[list[tuple[str, ...]], Tensor]:
        """The mistakes found, each with those that do the same in its place, and what they explain.

        Where one does not explain all in several checks, other examples are asked, and what these
        do not bear out is left out when the rest is looked for again.
        """
        replies: dict[int, Prints] = {}

        def spare(number: int) -> Prints:
            if number not in replies:
                replies[number] = _read(self.library.spares[number], ask)
            return replies[number]

        refused: set[str] = set()
        either: list[tuple[str, ...]] = []
        parts: list[Tensor] = []
        for _ in range(ROUNDS):
            before = either, parts
            explained = explain(self.library, theirs, self._better_pair, refused)
            begun = [name for one in explained for name in one.mistakes]
            checks = self._explained_alone(explained)
            more = None
            if not checks:
                more = compose(self.combined, Evidence(self.library, theirs), begun, refused)
            parts = [one.explains for one in explained] + ([more.explains] if more else [])
            either = [(name,) for name in begun] + list(more.either[len(begun) :] if more else ())
            if not either:  # without what was refused the rest is no more than it was
                either, parts = before
            if not either or checks >= SIGHTS:
                break
            explains = torch.stack(parts).any(dim=0)
            names = [first for first, *_ in either]
            kept = confirmed(self.combined, names, theirs, explains, spare)
            either = [one for one in either if one[0] in kept]
            if len(kept) == len(names):
                break
            refused |= set(names) - set(kept)
        nothing = torch.zeros_like(theirs.said)
        return either, torch.stack([nothing, *parts]).any(dim=0)

    def _explained_alone(self, explained: Sequence[Explanation]) -> int:
        """In how many checks one known mistake shows all that is wrong, and nothing else.

        0 if there is more wrong than that.
        """
        if len(explained) != 1 or len(explained[0].mistakes) != 1:
            return 0
        if min(explained[0].precision, explained[0].recall) <= SURE:
            return 0
        return len(set(self.library.checks[explained[0].explains].tolist()))

    def _unexplained(self, theirs: Prints, explained: Tensor) -> tuple[str, ...]:
        """The checks in which most of what is wrong is none of this."""
        library = self.library
        wrong = theirs.differs(library.right)
        left = wrong & ~explained
        checks = []
        for number, probe in enumerate(library.probes):
            weights = library.weights * (library.checks == number)
            if float((left * weights).sum()) > MOSTLY * float((wrong * weights).sum()):
                checks.append(probe.check)
        return tuple(checks)

    def prints(
        self, passed: Mapping[str, bool], ask: Ask, graded: Graded = lambda _: None
    ) -> Prints:
        """What the student's code answers to every probe, as far as it survives them.

        A check that was passed was answered right, whatever the contract leaves free there. Once
        the replies leave no doubt which mistake it is, the rest is not asked.
        """
        library = self.library
        found = [
            library.right[library.checks == number]
            if passed.get(probe.check)
            else Prints.blank(len(probe.keys))
            for number, probe in enumerate(library.probes)
        ]
        waiting = sorted(
            (n for n, probe in enumerate(library.probes) if passed.get(probe.check) is False),
            key=lambda number: library.probes[number].cost,
        )
        likely = self._fail_no_more(passed)
        count = 0
        while waiting:
            number, count = waiting.pop(0), count + 1
            where = library.checks == number
            found[number] = _read(library.questions[number], ask)
            likely = likely[library.known[likely][:, where].equal(found[number]).all(dim=-1)]
            if not waiting or count < FEW or not self._agree(likely, waiting):
                continue
            row = int(likely[0])
            doubtful = self._doubtful(row, waiting, graded)
            if doubtful is None or (count >= ENOUGH and self._shows_before(waiting)):
                for other in waiting:
                    found[other] = library.known[row][library.checks == other]
                break
            waiting.remove(doubtful)
            waiting.insert(0, doubtful)
        return Prints.join(found)

    def _fail_no_more(self, passed: Mapping[str, bool]) -> Tensor:
        """The answers with a mistake that pass every check that the student's passes."""
        right = torch.tensor([bool(passed.get(one.check)) for one in self.library.probes])
        return (~(self.library.failed & right).any(dim=-1)).nonzero()[:, 0]

    def _agree(self, likely: Tensor, numbers: list[int]) -> bool:
        """Whether these answers fail what has not been asked yet, and in the same way."""
        if not len(likely) or not bool(self.library.failed[likely][:, numbers].all()):
            return False
        rows = self.library.known[likely][:, torch.isin(self.library.checks, torch.tensor(numbers))]
        return bool(rows.equal(rows[0]).all())

    def _shows_before(self, numbers: list[int]) -> bool:
        """Whether there is no mistake that shows in these probes and in no other."""
        others = [n for n in range(len(self.library.probes)) if n not in numbers]
        failed = self.library.failed
        return bool((failed[:, others].any(dim=-1) | ~failed[:, numbers].any(dim=-1)).all())

    def _doubtful(self, row: int, numbers: list[int], graded: Graded) -> int | None:
        """Which of these probes may show more than that mistake; None if there is no doubt.

        First those that another mistake shows in which has not been seen yet, and would not be seen
        in the graded replies either: the one that settles most of them for what it costs. Then
        those from checks that did not go wrong as that mistake does.
        """
        library = self.library
        shows = library.shown & library.known[row].said
        there = (shows.float() @ library.columns) > 0
        others = [n for n in range(len(library.probes)) if n not in numbers]
        unseen = there[:, numbers].any(dim=-1) & ~there[:, others].any(dim=-1)
        right, wrong = self.requests.right[row], self.requests.shown
        unseen &= ~(wrong & right & self.requests.of(numbers)).any(dim=-1)
        unseen &= torch.tensor([name != library.names[row] for name in library.names])
        if bool(unseen.any()):
            settled = there[unseen].sum(dim=0).tolist()
            return max(numbers, key=lambda n: settled[n] / (1 + library.probes[n].cost))
        return next((n for n in numbers if not self._as_graded(row, n, graded)), None)

    def _as_graded(self, row: int, number: int, graded: Graded) -> bool:
        """Whether the check that this probe is from went wrong as that mistake does there."""
        question = self.library.questions[number]
        prints = self.library.known[row][self.library.checks == number]
        return graded(question.check) == question.outcome(prints)

    def _better_pair(
        self, evidence: Evidence, single: Explanation | None, taken: set[str]
    ) -> Explanation | None:
        near = [name for name in evidence.near() if name not in taken]
        wide = ((near[0], other) for other in near[NEAR:WIDE])
        likely = evidence.promising([*combinations(near[:NEAR], 2), *wide])
        fitting: dict[tuple[str, str], Prints] = {}
        hopes = {number: self._hope(evidence, number) for number in evidence.probes()}
        spent = 0
        for pair in likely:
            prints, cost = self._pair_prints(pair, evidence, hopes)
            spent += cost
            if prints is not None:
                fitting[pair] = prints
            if spent >= MOST_SPENT or (prints is not None and evidence.complete(prints)):
                break
        if not fitting:
            return single
        rows = Prints.stack(list(fitting.values()))
        same, shown = rows.same(evidence.theirs), rows.differs(self.library.right)
        found = evidence.best(same, shown, list(fitting), taken)
        if found is None or found.precision < CLEAN:
            return single
        gain = found.recall - (single.recall * single.precision if single else 0.0)
        return found if gain > 0.1 else single

    def _pair_prints(
        self, pair: tuple[str, str], evidence: Evidence, hopes: Mapping[int, Hope]
    ) -> tuple[Prints | None, int]:
        """What both mistakes at once answer where the student's answer is wrong; and its cost.

        The cheapest probe is looked at first: a pair that does not fit there is not looked at any
        further.
        """
        parts: dict[int, Prints] = {}
        cost = 0
        for number, hope in hopes.items():
            cost += self.library.probes[number].cost
            found = self.combined.prints(pair, number, hope)
            if found is None or not evidence.mostly(found, self.library.checks == number):
                return None, cost
            parts[number] = found
        prints = [
            parts[number] if number in parts else Prints.blank(len(probe.keys))
            for number, probe in enumerate(self.library.probes)
        ]
        return Prints.join(prints), cost

    def _hope(self, evidence: Evidence, number: int) -> Hope:
        """That nearly all of what is left to explain in a probe comes out."""
        where = self.library.checks == number
        hope = Hope.of(evidence.theirs, evidence.left, self.library.weights, where)
        return hope.at_least(CLEAN * hope.most)

    def _told_apart(
        self, names: list[str], passed: Mapping[str, bool], ask: Ask
    ) -> tuple[str, ...]:
        """Those of the mistakes that remain after inputs on which they differ."""
        library = self.library
        if len(names) < 2:
            return tuple(names)
        spares = [n for n, probe in enumerate(library.spares) if passed.get(probe.check) is False]
        for number in spares[:MAX_SPARES]:
            forms = {name: self._forms(name, number) for name in names}
            first, *others = [one for some in forms.values() for one in some]
            if not any(bool(first.differs(other).any()) for other in others):
                continue
            theirs = _read(library.spares[number], ask)
            left = [
                name
                for name, some in forms.items()
                if not all(bool(one.differs(theirs).any()) for one in some)
            ]
            if left:
                return tuple(left)
        return tuple(names)

    def _forms(self, name: str, number: int) -> list[Prints]:
        """What a known mistake answers to one of the spare probes, in every form that it has."""
        found = [self.combined.spare(row, number) for row in self.library.forms(name)]
        return [one for one in found if one is not None]

    def _diagnosis(self, names: tuple[str, ...]) -> Diagnosis:
        found = [self.library.mistakes[name] for name in names]
        return Diagnosis(names, _message(found), _hints(found[0]) if len(found) == 1 else ())


def _read(probe: Question, ask: Ask) -> Prints:
    replies = ask(probe)
    return Prints.blank(len(probe.keys)) if replies is None else probe.read(replies)


def _message(found: Sequence[Mistake]) -> str:
    first, *others = (f"{mistake.tells}\n{mistake.asks}" for mistake in found)
    return "\nOr, which looks the same from here:\n".join([first, *others])


def _hints(mistake: Mistake) -> tuple[str, ...]:
    read = mistake.read or stubs.further_reading(mistake.exercise)
    return tuple(hint for hint in (read, mistake.nearly) if hint)

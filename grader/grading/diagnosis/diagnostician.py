"""Name a student's mistakes: the known ones that explain what is wrong.

A mistake explains the marks that it shares with the student's answer. The one that explains most is
named; what it explains is taken out and the rest is examined again, since real code has two or
three faults at once. Where two faults affect the same numbers, pairs of the nearest known mistakes
are built and compared as one, and where something is left, larger combinations (`composition`).
Mistakes that don't explain everything are tried on held-out examples (`confirmation`). Where the
evidence is thin, nothing is named.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import combinations, islice

import torch
from torch import Tensor

from grader.curriculum import stubs
from grader.curriculum.mistakes import Mistake
from grader.curriculum.mistakes.variants import contradict
from grader.feedback.results import Diagnosis
from grader.grading.diagnosis import fingerprints
from grader.grading.diagnosis.combined import Combined
from grader.grading.diagnosis.composition import compose
from grader.grading.diagnosis.confirmation import confirmed
from grader.grading.diagnosis.fingerprints import Library
from grader.grading.diagnosis.own_words import Elsewhere
from grader.grading.diagnosis.probing import Ask, Graded, Probing, read
from grader.grading.diagnosis.reading import Reading
from grader.grading.question import Goal
from grader.recognition.branches import Split, denied, enough, inside_only, share, splits
from grader.recognition.evidence import Evidence, Explanation, alike, explain, nearest_forms
from grader.recognition.features import Branch, Prints
from grader.recognition.thresholds import (
    AGAINST,
    BETTER,
    BETTER_PAIR,
    CLEAN,
    ENOUGH_CHECKS,
    ENOUGH_THERE,
    LEAST_IN_ALL,
    LIKELY,
    MAX_ALIKE,
    MAX_HELD_OUT,
    MAX_MISTAKES,
    MOST_SPENT,
    MOST_TOGETHER,
    MOSTLY,
    NEAR,
    ROUNDS,
    SURE,
    TELLING,
    WIDE,
)

_UNKNOWN = frozenset({""})  # what no source leaves unread


@dataclass(frozen=True)
class Diagnosed:
    """The mistakes that were named, and the failing checks that they don't explain.

    For each mistake that is in a single branch, `configurations` describes the branch, and for each
    mistake, `elsewhere` says which checks report something else. `late` holds the mistakes that
    only show after a crash, each with the checks in which they do.
    """

    mistakes: tuple[Diagnosis, ...]
    unexplained: tuple[str, ...]
    configurations: tuple[tuple[str, ...], ...] = ()
    elsewhere: tuple[Elsewhere, ...] = ()
    late: Mapping[tuple[str, ...], frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Causes:
    """Mistakes, each with its equivalents, and their branch if they are in a single one.

    `explains` masks the marks that they explain.
    """

    either: Sequence[tuple[tuple[str, ...], Branch | None]]
    explains: Tensor


class _Answer:
    """A student's answer: what its source says, and its replies to held-out examples."""

    def __init__(self, library: Library, ask: Ask, reading: Reading) -> None:
        self.library = library
        self.ask = ask
        self.reading = reading
        self.replies: dict[int, Prints] = {}

    def prints(self, number: int, branch: Branch | None = None) -> Prints:
        """Return the marks of the replies to an example, in the given branch only, if any."""
        probe = self.library.held_out[number]
        if number not in self.replies:
            self.replies[number] = read(probe, self.ask)
        marks = self.replies[number]
        return marks.without(torch.tensor(probe.outside(branch))) if branch else marks


class Diagnostician:
    """Diagnoses the submissions of one exercise."""

    def __init__(self, exercise: str) -> None:
        self.library = fingerprints.load(exercise)
        self.combined = Combined(self.library)
        self.probing = Probing(self.library)

    def diagnose(
        self,
        passed: Mapping[str, bool],
        ask: Ask,
        graded: Graded = lambda _: None,
        reading: Reading | None = None,
    ) -> Diagnosed:
        """Return the mistakes that explain a student's replies, the one that explains most first.

        `passed` says which checks passed and which failed; no others are run. `ask` sends a
        question to the student's code and returns its replies, or None if the code did not survive.
        `graded` says where the replies to the largest case of a failing check are wrong. `reading`
        is what their source says.
        """
        student = self.probing.prints(passed, ask, graded)
        reading = reading or Reading(self.library.exercise, "")
        answer = _Answer(self.library, ask, reading)
        named: list[tuple[tuple[str, ...], Branch | None]] = []
        mistakes = self._causes(student, answer)
        explains_little = share(self.library, student, [mistakes.explains]) < LEAST_IN_ALL
        failed = {name for name, is_passed in passed.items() if not is_passed}
        if explains_little and failed <= {*self._unexplained(student, mistakes.explains)}:
            exact = [
                each
                for each in mistakes.either
                if self._is_exact(each[0][0], student, mistakes.explains)
            ]
            mistakes = _Causes(exact, mistakes.explains & bool(exact))
        for (first, *others), branch in mistakes.either:
            marks = inside_only(self.library, student, branch) if branch else student
            alike_here = (*alike(self.library, first, marks), *others)
            same = dict.fromkeys(name for name in alike_here if name not in reading.ruled_out)
            names = self._told_apart(
                self._by_reading(list(same), _unread_in(reading.unread, branch)),
                passed,
                answer,
                branch,
            )
            unlike = tuple(name for name in names if not reading.correct(name))
            names = unlike if unlike or explains_little else names
            names = reading.nearest(names) if len(names) > 1 else names
            if names and self.library.unread.get(names[0], _UNKNOWN) <= reading.unread:
                branch = None  # what no line reads has no effect in any branch
            is_new = not any(set(names) & set(before) for before, _ in named)
            if 0 < len(names) <= MAX_ALIKE and is_new:
                named.append((names, branch))
        named += [
            ((name,), None)
            for name in self._in_functions(student, mistakes.explains, answer)
            if not any(name in before for before, _ in named)
        ]
        told = [name for names, _ in named for name in names]
        left_unread = {
            name: branch
            for name, branch in self._left_unread(reading.unread, student, passed, told).items()
            if name not in reading.ruled_out
        }
        named = [
            (names, branch) for names, branch in named if not self._denied(names[0], left_unread)
        ]
        named[1:1] = [((name,), branch) for name, branch in left_unread.items()]
        named = named[:MAX_MISTAKES]
        if not named:
            return Diagnosed((), tuple(name for name, state in passed.items() if not state))
        return Diagnosed(
            tuple(self._diagnosis(names, branch) for names, branch in named),
            self._unexplained(student, mistakes.explains),
            tuple(branch.values if branch else () for _, branch in named),
            tuple(
                self._elsewhere(names, student, is_first=number == 0)
                for number, (names, _) in enumerate(named)
            ),
            {names: late for names, _ in named if (late := self._late(names, student))},
        )

    def _is_exact(self, name: str, student: Prints, explained: Tensor) -> bool:
        """Return whether all that a mistake shows is there, not by chance, where nothing raises.

        Where something else is `explained` by another mistake, it may hide this one.
        """
        library = self.library
        evidence = Evidence(library, student)
        rows = library.forms(name)
        there = evidence.shown[rows] & evidence.same[rows] & evidence.wrong
        shown = evidence.shown[rows] & (there | ~explained)
        whole = there.float() @ library.weights >= SURE * (shown.float() @ library.weights)
        raises = (evidence.crashed.float() @ library.columns > 0)[library.checks]
        telling = evidence.telling(there) & ~raises
        discrete = telling & (library.right.rounding == 0) & ~(library.whole & library.calls)
        by_chance = (telling.sum(dim=-1) < TELLING) & ~discrete.any(dim=-1)
        return bool((whole & ~by_chance).any())

    def _in_functions(self, student: Prints, explained: Tensor, answer: _Answer) -> Iterator[str]:
        """Yield mistakes that are all that is wrong in what a function of the student's returns.

        Others call it, and there it mixes with their own faults. So what the mistake shows in them
        may look otherwise, if only it is wrong.
        """
        library = self.library
        evidence = Evidence(library, student)
        ruled_out = answer.reading.ruled_out
        rows = [row for row, name in enumerate(library.names) if name not in ruled_out]
        for function in library.functions:
            wrong = evidence.wrong & function
            if bool((wrong & (explained | evidence.crashed)).any()) or not bool(wrong.any()):
                continue
            exact = evidence.same[rows][:, wrong].all(dim=-1)
            exact &= ~(evidence.shown[rows] & function & ~wrong).any(dim=-1)
            exact &= evidence.telling(evidence.shown[rows] & wrong).sum(dim=-1) >= TELLING
            shown = evidence.shown[rows]
            against = (shown & ~evidence.wrong).float() @ library.weights
            exact &= against <= AGAINST * (shown.float() @ library.weights)
            for other in library.functions:
                exact &= ~(shown & other & ~evidence.same[rows]).any(dim=-1)
            names = {library.names[rows[number]] for number in exact.nonzero()[:, 0].tolist()}
            if len(names) == 1 and not answer.reading.correct(*names):
                yield from confirmed(self.combined, [*names], student, wrong, answer.prints)

    def _by_reading(self, names: list[str], unread: AbstractSet[str]) -> list[str]:
        """Return those of look-alike mistakes that leave unread what the student's code does."""
        told = [name for name in names if name in self.library.unread]
        fitting = [name for name in told if self.library.unread[name] <= unread]
        return fitting or [name for name in names if name not in told] or names

    def _denied(self, name: str, proven: Iterable[str]) -> bool:
        """Return whether a mistake's text is about an argument that provably no line reads."""
        mistake = self.library.mistakes[name]
        return any(
            any(
                re.search(rf"\b{re.escape(argument.rpartition('.')[2])}\b", mistake.tells)
                for argument in self.library.unread[other]
            )
            and contradict(mistake, self.library.mistakes[other])
            for other in proven
            if other != name
        )

    def _left_unread(
        self,
        unread: AbstractSet[str],
        student: Prints,
        passed: Mapping[str, bool],
        told: Sequence[str],
    ) -> dict[str, Branch | None]:
        """Return the mistakes of unread arguments that were not `told` yet, with the branch.

        They are there whatever else is wrong. So it is enough that a check fails, and that the
        replies have the right form somewhere that they would show.
        """
        library = self.library
        failed = {name for name, state in passed.items() if not state}
        branches = sorted({argument.partition(" ")[2] for argument in unread})  # "": everywhere
        proven: dict[str, Branch | None] = {}
        for words in branches:
            split = (argument.partition(" ") for argument in unread)
            there = {argument for argument, _, branch in split if branch == words}
            for name, arguments in library.unread.items():
                others = [
                    library.mistakes[other]
                    for other in (*told, *proven)
                    if words or not self._denied(other, [name])
                ]
                if (
                    arguments <= there
                    and not arguments <= library.leaves_unread(told)
                    and library.fails([name]) & failed
                    and self._could_show(name, student)
                    and not any(contradict(mistake, library.mistakes[name]) for mistake in others)
                    and name not in (*told, *proven)
                ):
                    proven[name] = Branch("", words) if words else None
        return proven

    def _could_show(self, name: str, student: Prints) -> bool:
        """Return whether some reply has the right form where the mistake would show."""
        library = self.library
        shown = library.shown[library.forms(name)].any(dim=0) & student.said
        of_its_form = (student.codes == library.right.codes) | library.plain
        return not bool(shown.any()) or bool(of_its_form[shown].any())

    def _causes(self, student: Prints, answer: _Answer) -> _Causes:
        """Return the mistakes that explain most, of the whole answer or of its branches."""
        library = self.library
        if not bool(student.differs(library.right).any()):
            return self._confirmed(student, answer)
        alone = share(
            library, student, [explanation.explains for explanation in explain(library, student)]
        )
        ways = splits(library, student) if alone <= SURE else []
        for split in ways[:1]:
            if split.explained >= alone + BETTER:
                causes = self._in_branches(student, split, answer)
                if causes.either and share(library, student, [causes.explains]) >= alone + BETTER:
                    return causes
        whole = self._confirmed(student, answer)
        reached = share(library, student, [whole.explains]) if whole.either else 0.0
        if not whole.either and not ways:  # held-out examples ruled out what seemed to be all
            ways = splits(library, student)
        # Two faults may mix in one branch: look for them where all other branches are right.
        for split in [way for way in ways if way.clean][:1]:
            if reached + BETTER < 1.0:
                causes = self._in_branches(student, split, answer)
                if causes.either and share(library, student, [causes.explains]) >= reached + BETTER:
                    return causes
        return whole

    def _in_branches(self, student: Prints, split: Split, answer: _Answer) -> _Causes:
        """Return the mistakes of each branch, with the branch unless they are everywhere."""
        library = self.library
        either: dict[tuple[str, ...], Branch | None] = {}
        parts = [torch.zeros_like(student.said)]
        sides = []
        for branch, marks in split.sides:
            causes = self._confirmed(marks, answer, branch)
            if self._enough(marks, causes):
                sides.append((branch, causes))
        mixed = len(sides) < len(split.sides)
        for branch, causes in sides:
            parts.append(causes.explains)
            for names, _ in causes.either:
                alone = denied(library, student, names[0], branch, mixed)
                if not (alone and mixed):
                    either[names] = branch if alone and names not in either else None
        return _Causes(list(either.items()), torch.stack(parts).any(dim=0))

    def _enough(self, marks: Prints, causes: _Causes) -> bool:
        """Return whether these explain enough of what is wrong in a branch to be named with it."""
        if share(self.library, marks, [causes.explains]) >= ENOUGH_THERE:
            return True
        alone = explain(self.library, marks)
        known = {name for cause in alone for name in cause.mistakes}
        return {names[0] for names, _ in causes.either} <= known and enough(
            self.library, marks, alone
        )

    def _confirmed(self, student: Prints, answer: _Answer, branch: Branch | None = None) -> _Causes:
        """Return the mistakes found, each with its equivalents here, and what they explain.

        Unless one mistake explains everything in several checks, held-out examples are asked; what
        they don't confirm is excluded, and the search starts over. In a `branch`, `student` holds
        the marks that the answer leaves there.
        """
        refused = {*answer.reading.ruled_out}
        self.combined.nearest = nearest_forms(self.library, student)
        either: list[tuple[str, ...]] = []
        parts: list[Tensor] = []
        for _ in range(ROUNDS):
            before = either, parts
            explained = explain(
                self.library,
                student,
                partial(self._better_pair, answer.reading),
                refused,
                answer.reading.correct,
                answer.reading.has,
                answer.reading.made,
            )
            begun = [name for cause in explained for name in cause.mistakes]
            checks = self._explained_alone(explained)
            more = None
            if not checks:
                more = compose(
                    self.combined,
                    Evidence(self.library, student, answer.reading.correct),
                    begun,
                    refused,
                    1 if answer.reading.has_one_fault else MOST_TOGETHER,
                )
            parts = [cause.explains for cause in explained] + ([more.explains] if more else [])
            either = [(name,) for name in begun] + list(more.either[len(begun) :] if more else ())
            if not either:  # excluding mistakes adds nothing to explain
                either, parts = before
            if not either or checks >= ENOUGH_CHECKS:
                break
            explains = torch.stack(parts).any(dim=0)
            first = [name for name, *_ in either]
            replied = partial(answer.prints, branch=branch)
            kept = confirmed(self.combined, first, student, explains, replied)
            either = [names for names in either if names[0] in kept]
            if len(kept) == len(first):
                break
            refused |= set(first) - set(kept)
        nothing = torch.zeros_like(student.said)
        explains = torch.stack([nothing, *parts]).any(dim=0)
        return _Causes([(names, None) for names in either], explains)

    def _explained_alone(self, explained: Sequence[Explanation]) -> int:
        """Return in how many checks one known mistake shows all that is wrong, and nothing else.

        0 if more than that is wrong.
        """
        if len(explained) != 1 or len(explained[0].mistakes) != 1:
            return 0
        if min(explained[0].precision, explained[0].recall) <= SURE:
            return 0
        return len(set(self.library.checks[explained[0].explains].tolist()))

    def _unexplained(self, student: Prints, explained: Tensor) -> tuple[str, ...]:
        """Return the checks in which most of what is wrong is none of this."""
        library = self.library
        wrong = student.differs(library.right)
        left = wrong & ~explained
        checks = []
        for number, probe in enumerate(library.probes):
            weights = library.weights * (library.checks == number)
            if float((left * weights).sum()) > MOSTLY * float((wrong * weights).sum()):
                checks.append(probe.check)
        return tuple(checks)

    def _elsewhere(self, names: Sequence[str], student: Prints, is_first: bool) -> Elsewhere:
        """Return the checks that report another fault than these mistakes, or several at once."""
        library = self.library
        near = nearest_forms(library, student)
        rows = [library.forms(name)[near[name]] for name in names]
        alike = library.known[rows].codes == student.codes
        shown = (library.shown[rows] & alike).any(dim=0)
        same = library.shown[rows] & library.known[rows].same(student)
        others, unlike, mixed = set(), set(), set()
        for check, wrong, numbers in self._first_wrong(student):
            if not bool(shown[wrong[0]]):
                others.add(check)
            if not bool(alike[:, wrong].all(dim=1).any()):
                unlike.add(check)
            if not is_first and not bool(same[:, numbers].all(dim=1).any()):
                mixed.add(check)
        return Elsewhere(frozenset(others), frozenset(unlike), frozenset(mixed))

    def _first_wrong(self, student: Prints) -> Iterator[tuple[str, Tensor, Tensor]]:
        """Yield each check that has a wrong reply, and the marks that are wrong in the first one.

        The last are those without the dtype, which a check may allow.
        """
        library = self.library
        wrong = student.differs(library.right)
        for number, probe in enumerate(library.probes):
            own = (library.checks == number).nonzero()[:, 0]
            first = wrong[own].nonzero()[:1, 0].tolist()
            if not first:
                continue
            columns = torch.tensor(probe.columns[probe.keys[first[0]][0]])
            columns = columns[wrong[own[columns]]]
            plain = [not probe.keys[column][1].endswith("dtype") for column in columns.tolist()]
            yield probe.check, own[columns], own[columns[torch.tensor(plain)]]

    def _late(self, names: Sequence[str], student: Prints) -> frozenset[str]:
        """Return the checks in which mistakes show, if that is always after a crash; else none."""
        library = self.library
        rows = [row for name in names for row in library.forms(name)]
        alike = (library.shown[rows] & (library.known.codes[rows] == student.codes)).any(dim=0)
        alike &= student.differs(library.right)
        checks = set()
        for number in set(library.checks[alike].tolist()):
            crashes = (student.raised & (library.checks == number)).nonzero()[:1, 0].tolist()
            shows = (alike & (library.checks == number)).nonzero()[0, 0].item()
            if not crashes or shows <= crashes[0]:
                return frozenset()
            checks.add(library.probes[number].check)
        return frozenset(checks)

    def _better_pair(
        self, reading: Reading, evidence: Evidence, single: Explanation | None, taken: set[str]
    ) -> Explanation | None:
        """Return the pair that explains clearly more than the `single` mistake, or else that."""
        if reading.has_one_fault:
            return single
        near = [name for name in evidence.near() if name not in taken]
        wide = ((near[0], other) for other in near[NEAR:WIDE])
        likely = evidence.promising([*combinations(near[:NEAR], 2), *wide])
        fitting: dict[tuple[str, str], Prints] = {}
        goals = {number: self._goal(evidence, number) for number in evidence.probes()}
        spent = 0
        for pair in islice(filter(self.combined.made, likely), LIKELY):
            prints, cost = self._pair_prints(pair, evidence, goals)
            spent += cost
            if prints is not None:
                fitting[pair] = prints
            if spent >= MOST_SPENT or (prints is not None and evidence.complete(prints)):
                break
        if not fitting:
            return single
        rows = Prints.stack(list(fitting.values()))
        same, shown = evidence.agreeing(rows), rows.differs(self.library.right)
        best = evidence.best(same, shown, list(fitting), taken)
        if best is None or best.precision < CLEAN:
            return single
        gain = best.recall - (single.recall * single.precision if single else 0.0)
        return best if gain > BETTER_PAIR else single

    def _pair_prints(
        self, pair: tuple[str, str], evidence: Evidence, goals: Mapping[int, Goal]
    ) -> tuple[Prints | None, int]:
        """Return the replies of both mistakes together where the student's are wrong; and the cost.

        The cheapest probe comes first; a pair that doesn't fit there is given up.
        """
        parts: dict[int, Prints] = {}
        cost = 0
        for number, goal in goals.items():
            cost += self.library.probes[number].cost
            part = self.combined.prints(pair, number, goal)
            if part is None or not evidence.mostly(part, self.library.checks == number):
                return None, cost
            parts[number] = part
        prints = [
            parts[number] if number in parts else Prints.blank(len(probe.keys))
            for number, probe in enumerate(self.library.probes)
        ]
        return Prints.join(prints), cost

    def _goal(self, evidence: Evidence, number: int) -> Goal:
        """That nearly all of what is left to explain in a probe comes out."""
        where = self.library.checks == number
        goal = Goal.of(evidence.student, evidence.left, self.library.weights, where)
        return goal.at_least(CLEAN * goal.most)

    def _told_apart(
        self, names: list[str], passed: Mapping[str, bool], answer: _Answer, branch: Branch | None
    ) -> tuple[str, ...]:
        """Return those of the mistakes that remain after inputs on which they differ."""
        library = self.library
        if len(names) < 2:
            return tuple(names)
        held_out = [
            n for n, probe in enumerate(library.held_out) if passed.get(probe.check) is False
        ]
        for number in held_out[:MAX_HELD_OUT]:
            forms = {name: self._forms(name, number) for name in names}
            first, *others = [form for of_one in forms.values() for form in of_one]
            student = answer.prints(number, branch)
            if not any(bool((first.differs(other) & student.said).any()) for other in others):
                continue
            left = [
                name
                for name, of_one in forms.items()
                if not all(bool(form.differs(student).any()) for form in of_one)
            ]
            if left:
                return tuple(left)
        return tuple(names)

    def _forms(self, name: str, number: int) -> list[Prints]:
        """Return what each form of a known mistake answers to a held-out probe."""
        forms = [self.combined.held_out(row, number) for row in self.library.forms(name)]
        return [form for form in forms if form is not None]

    def _diagnosis(self, names: tuple[str, ...], branch: Branch | None) -> Diagnosis:
        mistakes = [self.library.mistakes[name] for name in names]
        message = _message(mistakes)
        if branch is not None:
            message = f"Only {branch.words}: {message}"
        return Diagnosis(names, message, _hints(mistakes[0]) if len(mistakes) == 1 else ())


def _unread_in(unread: AbstractSet[str], branch: Branch | None) -> AbstractSet[str]:
    """Return the arguments that nothing reads in a branch, with those that nothing reads at all."""
    if branch is None:
        return unread
    parts = [argument.partition(" ") for argument in unread]
    return unread | {argument for argument, _, words in parts if words in branch.values}


def _message(mistakes: Sequence[Mistake]) -> str:
    first, *others = (f"{mistake.tells}\n{mistake.asks}" for mistake in mistakes)
    return "\nOr, with the same symptoms:\n".join([first, *others])


def _hints(mistake: Mistake) -> tuple[str, ...]:
    read = mistake.read or _further_reading(mistake.exercise)
    return tuple(hint for hint in (read, mistake.nearly) if hint)


@cache
def _further_reading(exercise: str) -> str:
    return stubs.further_reading(exercise)

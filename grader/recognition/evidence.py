"""The evidence: which known mistakes explain what is wrong in an answer.

A mistake explains the wrong marks that it shares with the answer. The one that explains most comes
first; what it explains is taken out and the rest is examined again, since real code has two or
three faults at once. Where the evidence is thin, no mistake is named.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import torch
from torch import Tensor

from grader.recognition.canonical_form import ACCEPTED
from grader.recognition.features import Fingerprints, Prints
from grader.recognition.thresholds import (
    AGAINST,
    AGAINST_THE_SOURCE,
    ALMOST_ALL,
    ALMOST_NONE,
    BACKED,
    CLEAN,
    HALF,
    LEAST,
    LEFT_OPEN,
    LITTLE,
    MAX_MISTAKES,
    MIXED,
    SAME_EXCEPTION,
    SEVERAL_CHECKS,
    TELLING,
    VISIBLE,
)

_NOT_ZERO, _ROUNDING = 1e-9, 1e-6  # of sums of weights


@dataclass(frozen=True)
class Explanation:
    """Mistakes that together explain something: one, or two that mix in the same numbers.

    `precision` is the share of their marks that the student's answer has, `recall` the share of
    what was left that they explain, `against` the share of their marks that are right in the
    student's answer.
    """

    mistakes: tuple[str, ...]
    score: float
    precision: float
    recall: float
    explains: Tensor
    shown: Tensor


@dataclass(frozen=True)
class _Candidates:
    """How mistakes, or pairs of them, compare with an answer: each row of a tensor is one of them.

    `shown` masks what it shows there and what no other one hides, `explains` the part of it that
    the answer has too and that is left to explain, of the weight `explained`. `precision`,
    `recall` and `against` are those of an `Explanation`. Of all that the row shows, the share
    `visible` is not hidden; where it is `complete`, the answer has all of it.
    """

    shown: Tensor
    explains: Tensor
    explained: Tensor
    complete: Tensor
    visible: Tensor
    precision: Tensor
    recall: Tensor
    against: Tensor

    def score(self) -> Tensor:
        """Return how good an explanation each row is: a mistake that is hidden is less likely."""
        sums = (self.precision + self.recall).clamp(min=_NOT_ZERO)
        return 2 * self.precision * self.recall / sums * self.visible**0.5


# Looks for a pair of mistakes that explains more than the best single one.
Pairs = Callable[["Evidence", Explanation | None, set[str]], Explanation | None]
# What a source says about a mistake: whether it has the line that the mistake changes in its right
# form, or whether it has what the mistake is about.
Says = Callable[[str], bool]


def not_known(_: str) -> bool:
    """Stand for a source that nobody has read: nothing is known to be in it."""
    return False


def possible(_: str) -> bool:
    """Stand for a source that nobody has read: anything may be in it."""
    return True


def explain(
    known: Fingerprints,
    student: Prints,
    better_pair: Pairs | None = None,
    refused: AbstractSet[str] = frozenset(),
    correct: Says = not_known,
    has: Says = not_known,
    made: Says = possible,
) -> list[Explanation]:
    """Return what explains the marks of a student's answer, each taken out before the next.

    `better_pair` is asked if no single mistake explains everything that is left. Mistakes in
    `refused` are never named. Those whose line is `correct` in the source have to explain more than
    others; for those that the source `has` what they are about, exceptions count as evidence. Where
    hardly any call returns, only mistakes that the source may have `made` are named.
    """
    evidence = Evidence(known, student, correct, has, made)
    names = [(name,) for name in known.names]
    explanations: list[Explanation] = []
    taken = set(refused)
    while len(taken) < MAX_MISTAKES + len(refused) and bool(evidence.left.any()):
        best = evidence.best(evidence.same, evidence.shown, names, taken)
        if better_pair is not None and (best is None or best.precision < CLEAN):
            best = better_pair(evidence, best, taken)
        if best is None:
            break
        explanations.append(best)
        taken |= set(best.mistakes)
        evidence.take_out(best)
    return explanations


def alike(known: Fingerprints, name: str, student: Prints) -> list[str]:
    """Return the mistakes that look the same as this one where the student's code said anything."""
    # Only replies that say something can be compared.
    codes, unsaid = known.known.codes, ~student.said
    names = [name]
    for row in known.forms(name):
        if not bool((known.shown[row] & student.said).any()):
            continue  # a form that shows nothing there is like every other one
        likely = ((codes == codes[row]) | unsaid).all(dim=-1).nonzero()[:, 0]
        rows = known.known[likely][:, student.said]
        same = rows.equal(known.known[row][student.said]).all(dim=-1)
        names += [known.names[other] for other in likely[same].tolist()]
    return list(dict.fromkeys(names))


def nearest_forms(known: Fingerprints, student: Prints) -> dict[str, int]:
    """Return, for each mistake, the number of the form that is most like the student's answer.

    It explains most of what is wrong there and shows least of what is right. The first one wins a
    tie.
    """
    wrong = student.differs(known.right)
    explains = known.shown & wrong & known.same(student)
    against = known.shown & student.said & ~wrong
    shares = ((explains.float() - against.float()) @ known.weights).tolist()
    numbers: dict[str, int] = {}
    for name in dict.fromkeys(known.names):
        first, *others = known.forms(name)
        numbers[name] = max((first, *others), key=shares.__getitem__) - first
    return numbers


class Evidence:
    """What is wrong in a student's answer, and how much of it is still unexplained."""

    def __init__(
        self,
        known: Fingerprints,
        student: Prints,
        correct: Says = not_known,
        has: Says = not_known,
        made: Says = possible,
    ) -> None:
        self.known = known
        self.correct = correct
        self.has = has
        self.made = made
        self.student = student
        self.right = known.right
        self.weights = known.weights
        self.checks = known.checks
        self.same = self._after_crashes(known.same(student), known.known)
        self.wrong = student.differs(known.right)
        # Whether code raises may depend on the sizes that were drawn, so a passed check says
        # nothing about exceptions.
        passed = ~((self.wrong.float() @ known.columns) > 0)[known.checks]
        self.shown = known.shown & student.said & ~(known.known.raised & passed)
        self.crashed = self.wrong & student.raised
        self.zeros = self.wrong & known.calls & (student.size == 0) & (student.rounding > 0)
        self.accepted = self.wrong & (student.codes == ACCEPTED)
        self.barren = self._barren()
        self.left = self.wrong.clone()
        self.covered = torch.zeros_like(self.wrong)

    def agreeing(self, prints: Prints) -> Tensor:
        """Return where these marks are the student's, and that speaks for who left them."""
        return self._after_crashes(prints.same(self.student), prints)

    def _after_crashes(self, same: Tensor, prints: Prints) -> Tensor:
        """Put right, in `same`, what is read or called after a crash."""
        known, student = self.known, self.student
        # State that a crash left unchanged counts for a mistake that crashes there as well; if an
        # earlier crash hid the call, only one that an earlier crash hides there as well.
        ran = known.last_runs >= 0
        left = ran & student.raised[known.last_runs]
        same[..., left] &= same[..., known.last_runs[left]]
        hidden = ran & student.said & ~student.said[known.last_runs]
        same[..., hidden] &= ~prints.said[..., known.last_runs[hidden]]
        # So does a crash after loading weights that didn't fit, if they don't fit there either.
        loads = known.last_loads
        after = (loads >= 0) & student.raised[loads] & student.raised
        same[..., after] &= same[..., loads[after]]
        return same

    def _barren(self) -> Tensor:
        """Return which exceptions say little, as almost all calls of that function or class raise.

        Any fault before the line that raises would end in the same one. After weights that did not
        fit, the exception says which; where the right answer raises as well, it is the answer.
        """
        known, student = self.known, self.student
        called = (known.calls & known.whole & student.said & ~self.right.raised).float()
        none = torch.zeros(int(known.owners.max()) + 1)
        calls = none.index_add(0, known.owners, called)
        raised = none.index_add(0, known.owners, called * student.raised)
        often = raised >= ALMOST_ALL * calls.clamp(min=1)
        unfit = (known.last_loads >= 0) & student.raised[known.last_loads]
        return self.crashed & ~self.accepted & ~unfit & ~self.right.raised & often[known.owners]

    def take_out(self, explanation: Explanation) -> None:
        """Count this as explained from now on.

        Where the mistake shows, it hides others, so what is there says nothing about the next one.
        """
        self.left &= ~explanation.explains
        self.covered |= explanation.shown

    def telling(self, explained: Tensor) -> Tensor:
        """Return, by row, the part of `explained` that counts as evidence for the mistake.

        Exceptions don't, since many faults end in the same one. An output of zeros only does next
        to other evidence, or once a mistake has been found.
        """
        beside = (explained & ~self.zeros).any(dim=-1, keepdim=True) | self.covered.any()
        return explained & ~self.crashed & (~self.zeros | beside)

    def raised_elsewhere(self, explained: Tensor) -> Tensor:
        """Return, by row, the exceptions that mostly have another cause and so don't count."""
        raised = self.left & self.crashed & ~self.accepted
        elsewhere = torch.zeros_like(explained)
        for code in set(self.student.codes[raised].tolist()):
            same = raised & (self.student.codes == code)
            part = self._weight(explained & same) < SAME_EXCEPTION * self._weight(same)
            elsewhere |= same & part[:, None]
        return elsewhere

    def probes(self) -> list[int]:
        """Return the probes in which something is left to explain, the cheapest first."""
        numbers = set(self.checks[self.left].tolist())
        return sorted(numbers, key=lambda number: self.known.probes[number].cost)

    def mostly(self, prints: Prints, where: Tensor) -> bool:
        """Return whether these marks explain nearly all that is wrong in one probe."""
        wrong = self.left[where]
        same = wrong & prints.same(self.student[where])
        weights = self.weights[where]
        return bool((same * weights).sum() >= CLEAN * (wrong * weights).sum())

    def complete(self, prints: Prints) -> bool:
        """Return whether these are the student's marks, all of them, where something is left."""
        return bool(prints.same(self.student)[self.left].all())

    def best(
        self,
        same: Tensor,
        shown: Tensor,
        names: Sequence[tuple[str, ...]],
        taken: set[str],
    ) -> Explanation | None:
        """Return the fitting row that explains most of what is left.

        For each row, `same` says where it has the marks of the student's answer, `shown` where it
        differs from the right one, `names` which mistakes it stands for.
        """
        some = (same & shown & self.left).any(dim=-1).nonzero()[:, 0]
        if not len(some):  # the others explain nothing
            return None
        names = [names[row] for row in some.tolist()]
        rows = self._candidates(same[some], shown[some])
        fits = self._enough(rows, names) & ~self._by_chance(rows) & (rows.visible >= VISIBLE)
        fits &= torch.tensor([not taken & set(name) for name in names])
        if bool(self.covered.any()):
            # Where one that was found should show, and does not, this may be its own other form.
            fits &= (rows.explains & ~self.covered).any(dim=-1)
        barren = self._weight(rows.explains & self.barren) > HALF * rows.explained
        barren &= self.telling(rows.explains).sum(dim=-1) < TELLING
        for row in (fits & barren).nonzero()[:, 0].tolist():
            fits[row] = all(self.has(name) or self.made(name) for name in names[row])
        weak = rows.explained < AGAINST_THE_SOURCE * self._weight(self.wrong)
        for row in (fits & weak).nonzero()[:, 0].tolist():
            fits[row] = not any(map(self.correct, names[row]))
        score = torch.where(fits, rows.score(), 0.0)
        if float(score.max()) <= 0.0:
            return None
        top = int(score.argmax())
        return Explanation(
            names[top],
            float(score[top]),
            float(rows.precision[top]),
            float(rows.recall[top]),
            rows.explains[top],
            rows.shown[top],
        )

    def _candidates(self, same: Tensor, shown: Tensor) -> _Candidates:
        """Return how what each row shows compares with what is left."""
        in_all = self._weight(shown & self.student.said).clamp(min=_NOT_ZERO)
        complete = self._weight(shown & same) >= in_all - _ROUNDING
        shown = shown & self.student.said & (self.left | ~self.covered)
        explains = shown & self.left & same
        explains &= ~self.raised_elsewhere(explains)
        size, explained = self._weight(shown), self._weight(explains)
        return _Candidates(
            shown,
            explains,
            explained,
            complete,
            visible=size / in_all,
            precision=explained / size.clamp(min=_NOT_ZERO),
            recall=explained / self._weight(self.left).clamp(min=_NOT_ZERO),
            against=self._weight(shown & ~self.wrong) / size.clamp(min=_NOT_ZERO),
        )

    def _enough(self, rows: _Candidates, names: Sequence[tuple[str, ...]]) -> Tensor:
        """Return, by row, whether enough speaks for it, and little against it."""
        precision, recall, against = rows.precision, rows.recall, rows.against
        telling = self.telling(rows.explains)
        strong = self._weight(telling) > 0
        # A missing exception is enough for a mistake that shows nothing else.
        strong |= rows.complete & (self._weight(rows.explains & self.accepted) > 0)
        # So is an exception, if it is all that the mistake shows and the source speaks for it.
        backed = torch.tensor([len(name) == 1 and self.has(name[0]) for name in names])
        strong |= backed & (precision >= CLEAN) & (recall >= BACKED)
        in_several = (telling.float() @ self.known.columns > 0).sum(dim=-1) >= SEVERAL_CHECKS
        nothing_else = (precision >= ALMOST_ALL) & (against <= ALMOST_NONE)
        half = (recall >= HALF) & (precision >= LEAST)
        part = (recall >= LEAST) & (precision >= LEAST)
        # Another fault may hide a mistake, but doesn't correct what it makes wrong.
        return (against <= AGAINST) & (
            (nothing_else & (strong | (recall > CLEAN))) | (half & strong) | (part & in_several)
        )

    def _by_chance(self, rows: _Candidates) -> Tensor:
        """Return, by row, whether what it explains is so little that chance may explain it as well.

        One of many wrong tensors may agree by chance, or the length of a list; discrete values and
        missing exceptions don't.
        """
        accepted = rows.explains & self.accepted
        length = self.known.whole & self.known.calls & ~self.crashed
        sure = rows.explains & ~self.crashed & (self.right.rounding == 0) & ~length
        one = (rows.explains & ~sure & ~accepted).sum(dim=-1) < 2
        only_lengths = ~(rows.explains & ~length).any(dim=-1)
        little = rows.recall < torch.where(only_lengths, BACKED, LITTLE)
        return one & little & ~(sure | accepted).any(dim=-1)

    def near(self) -> list[str]:
        """Return the mistakes that show where the answer is wrong, whatever they show there."""
        shown = self.shown
        explained = self._weight(shown & self.left)
        size = self._weight(shown).clamp(min=1e-9)
        left = self._weight(self.left).clamp(min=1e-9)
        exact = self._weight(shown & self.left & self.same)
        score = explained / (size + left - explained) + exact / size
        names: list[str] = []
        for index in score.argsort(descending=True).tolist():
            name = self.known.names[index]
            if name not in names and float(explained[index]) > 0:
                names.append(name)
        return names

    def promising(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return the pairs that may explain most of what is left, the likeliest first.

        Where only one of two mistakes makes a difference, both together usually make the same one;
        where both do, the result is open.
        """
        rows: dict[str, list[int]] = {}
        for row, name in enumerate(self.known.names):
            rows.setdefault(name, []).append(row)
        tried = [(pair, i, j) for pair in pairs for i in rows[pair[0]] for j in rows[pair[1]]]
        if not tried:
            return []
        first, second = (
            torch.tensor(rows_tried) for rows_tried in list(zip(*tried, strict=True))[1:]
        )
        left = self.left.nonzero()[:, 0]
        differs, same = self.known.differs[:, left], self.same[:, left]
        by_first, by_second = differs[first], differs[second]
        # What one of them shows alone is certain; where both show, anything may come out.
        sure = (by_first & ~by_second & same[first]) | (by_second & ~by_first & same[second])
        mixed = by_first & by_second
        weights = self.weights[left] / self.weights[left].sum()
        shares = sure.float() @ weights, mixed.float() @ weights
        best: dict[tuple[str, str], float] = {}
        for (pair, *_), clear, open_to in zip(tried, *(x.tolist() for x in shares), strict=True):
            if clear + open_to >= LEFT_OPEN:
                best[pair] = max(best.get(pair, 0.0), clear + MIXED * open_to)
        return sorted(best, key=lambda pair: -best[pair])

    def _weight(self, where: Tensor) -> Tensor:
        return where.float() @ self.weights

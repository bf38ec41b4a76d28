"""How good the kit is: what it makes of answers of which is known whether and why they are wrong.

Wrong are the known mistakes, pairs of them, small edits of the right answers, and lazy answers.
Right are the solutions, the other forms of them, and the variants that `tests/` keeps.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from grader.curriculum import mistakes, stubs
from grader.curriculum.mistakes.variants import both, variants
from grader.judging import fingerprints, mutants
from grader.judging.judge import Judge
from grader.judging.recording import Recordings
from grader.report.results import ExerciseResult
from grader.sandbox.host import Host
from grader.submission import Submission

Grade = Callable[[str], ExerciseResult]


@dataclass(frozen=True)
class Case:
    """An answer whose truth is known. `mistakes` is empty where the cause has no name."""

    kind: str
    right: bool
    mistakes: tuple[str, ...]
    source: str


@dataclass
class Score:
    """What became of the answers to one exercise."""

    exercise: str
    right: int = 0
    accepted: int = 0
    wrong: int = 0
    caught: int = 0
    known: int = 0
    first: int = 0
    within_two: int = 0
    pairs: int = 0
    pairs_first: int = 0
    pairs_both: int = 0
    mutants: int = 0
    mutants_caught: int = 0
    wrongly: int = 0
    silent: int = 0
    right_named: int = 0
    seconds: float = 0.0

    def add(self, case: Case, result: ExerciseResult) -> None:
        """Counts one answer."""
        full = result.points == result.max_points
        named = [one.mistakes for one in result.diagnoses]
        if case.right:
            self.right += 1
            self.accepted += full
            self.right_named += bool(named)
        elif case.kind == "mutant":
            self.mutants += 1
            self.mutants_caught += not full
        else:
            self.wrong += 1
            self.caught += not full
        if case.mistakes and not full:
            self._named(set(case.mistakes), named)

    def _named(self, true: set[str], named: Sequence[tuple[str, ...]]) -> None:
        hits = [bool(true & set(one)) for one in named]
        if len(true) == 1:
            self.known += 1
            self.first += hits[:1] == [True]
            self.within_two += any(hits[:2])
        else:
            self.pairs += 1
            self.pairs_first += hits[:1] == [True]
            self.pairs_both += true <= {name for one in named for name in one}
        self.silent += not named
        self.wrongly += bool(named) and not any(hits)


def measure(exercise: str, tests: Path, seed: int, sample: int, host: Host) -> Score:
    """The score of one exercise. `sample` is how many pairs and how many small edits are tried."""
    judge = Judge([exercise], Recordings(seed), host)
    score = Score(exercise)
    for case in cases(exercise, tests, seed, sample):
        start = time.perf_counter()
        result = judge.grade(Submission("somebody", {exercise: case.source})).exercises[0]
        score.seconds += time.perf_counter() - start
        score.add(case, result)
    return score


def cases(exercise: str, tests: Path, seed: int, sample: int) -> Iterator[Case]:
    """All answers that the score is made of."""
    solution = stubs.reference_source(exercise)
    yield Case("solution", True, (), solution)
    for source in mistakes.forms(exercise).values():
        yield Case("form", True, (), source)
    for kind, right in (("variants", True), ("lazy", False)):
        for file in sorted((tests / kind / exercise).glob("*.py")):
            yield Case(kind, right, (), file.read_text(encoding="utf-8"))
    for variant in variants(exercise):
        yield Case("mistake", False, variant.mistakes, variant.source)
    chosen = random.Random(seed)
    yield from _pairs(exercise, chosen, sample)
    small = [mutant.source for mutant in mutants.mutants(solution)]
    for source in chosen.sample(small, min(sample, len(small))):
        yield Case("mutant", False, (), source)


def _pairs(exercise: str, chosen: random.Random, sample: int) -> Iterator[Case]:
    """Pairs that are no known mistake by themselves: neither hides the other or undoes it."""
    library = fingerprints.load(exercise)
    every = list(combinations(mistakes.load(exercise), 2))
    chosen.shuffle(every)
    found = 0
    for first, second in every:
        variant = both(first, second)
        if found == sample or variant is None:
            continue
        if not library.holds(variant.source):
            found += 1
            yield Case("pair", False, variant.mistakes, variant.source)


def as_markdown(scores: Sequence[Score]) -> str:
    """The table for the README."""
    head = (
        "exercise", "right accepted", "wrong caught", "named first", "within two",
        "pairs: first", "pairs: both", "named wrongly", "silent", "small edits caught", "s",
    )  # fmt: skip
    rows = [head, tuple("---" for _ in head)]
    rows += [_row(score) for score in (*scores, total(scores))]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def total(scores: Sequence[Score]) -> Score:
    """The sums of all exercises."""
    fields = [name for name in asdict(Score("")) if name != "exercise"]
    return Score("all", **{name: sum(getattr(one, name) for one in scores) for name in fields})


def _row(score: Score) -> tuple[str, ...]:
    def of(part: int, whole: int) -> str:
        return f"{part}/{whole}" if whole else "–"

    return (
        score.exercise,
        of(score.accepted, score.right),
        of(score.caught, score.wrong),
        of(score.first, score.known),
        of(score.within_two, score.known),
        of(score.pairs_first, score.pairs),
        of(score.pairs_both, score.pairs),
        str(score.wrongly + score.right_named),
        str(score.silent),
        of(score.mutants_caught, score.mutants),
        f"{score.seconds:.0f}",
    )


def as_data(scores: Iterable[Score], seed: int, sample: int) -> dict[str, Any]:
    """The scores as JSON."""
    return {"seed": seed, "sample": sample, "exercises": [asdict(score) for score in scores]}

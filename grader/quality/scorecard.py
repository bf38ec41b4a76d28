"""How good the kit is: its verdicts on answers that are known to be right or wrong, and why.

Wrong are the known mistakes, pairs of them, small edits of the right answers, and lazy answers.
Right are the solutions, the other forms of them, and the variants that `tests/data/` keeps.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from itertools import combinations, islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from grader.checks.framework import Check
from grader.curriculum import mistakes, stubs
from grader.curriculum.mistakes.variants import both, variants
from grader.feedback.results import ExerciseResult
from grader.feedback.tolerance import measured
from grader.grading.diagnosis import fingerprints
from grader.grading.judge import Judge
from grader.grading.recording import Recording, Recordings
from grader.grading.student_process import PROGRAM
from grader.quality import mutants
from grader.quality.table import Score
from grader.sandbox import jail
from grader.sandbox.host import Host
from grader.submission import Submission

MOST_SLIPS = 20  # of an exercise
# The costliest exercises; begun first, so that no worker is left with one of them at the end.
COSTLY = ("encoder", "decoder", "transformer", "decoding", "by_hand", "multi_head", "training")


class ScorecardError(Exception):
    """An answer could not be graded, so that there is no score."""


@dataclass(frozen=True)
class Case:
    """An answer whose truth is known. `mistakes` is empty where the cause has no name.

    A slip is on the line `line`.
    """

    kind: str
    name: str
    right: bool
    mistakes: tuple[str, ...]
    source: str
    line: int = 0


class MeasuredRecordings(Recordings):
    """The checks that carry points, each of which records how close it came to its tolerance.

    `nearness` holds these numbers by check, since it was last cleared: see `tolerance.measured`.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.nearness: dict[str, list[float]] = defaultdict(list)

    def of(self, exercise: str) -> list[Recording]:
        """Return the checks of an exercise."""
        return [
            replace(recording, check=replace(recording.check, body=self._noting(recording.check)))
            for recording in super().of(exercise)
            if recording.check.points
        ]

    def _noting(self, check: Check) -> Any:
        @functools.wraps(check.body)
        def body(*arguments: Any, **named: Any) -> None:
            with measured() as noted:
                try:
                    check.body(*arguments, **named)
                finally:
                    self.nearness[check.name] += noted

        return body


def measure_all(
    exercises: Sequence[str],
    tests: Path,
    seed: int,
    sample: int | None,
    jobs: int,
    done: Callable[[Score], None],
) -> list[Score]:
    """Return the scores of these exercises, in their order, computed by this many processes.

    `sample` is how many pairs and how many small edits of each are tried, None for all of them.
    `done` is called with each as soon as it is there.
    """
    work = functools.partial(_in_a_process, tests=tests, seed=seed, sample=sample)
    order = sorted(exercises, key=lambda name: (name not in COSTLY, exercises.index(name)))
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        scores = {}
        for future in as_completed([pool.submit(work, name) for name in order]):
            scores[future.result().exercise] = future.result()
            done(future.result())
    return [scores[name] for name in exercises]


def _in_a_process(exercise: str, tests: Path, seed: int, sample: int | None) -> Score:
    with Host(PROGRAM, "process" if jail.missing() else "jail") as host:
        return measure(exercise, tests, seed, sample, host)


def measure(exercise: str, tests: Path, seed: int, sample: int | None, host: Host) -> Score:
    """Return the score of one exercise. Raises `ScorecardError` if an answer cannot be graded."""
    recordings = MeasuredRecordings(seed)
    judge = Judge([exercise], recordings, host, shrink=False)
    searching = Judge([exercise], recordings, host, shrink=False, searches=True)
    score = Score(exercise)
    fingerprints.load(exercise)
    for case in cases(exercise, tests, seed, sample):
        recordings.nearness.clear()
        start = time.perf_counter()
        grading = searching if case.kind == "slip" else judge
        result = grading.grade(Submission("somebody", {exercise: case.source})).exercises[0]
        if result.points is None:
            raise ScorecardError(f"{exercise}: {case.kind} {case.name}: {result.message}")
        score.seconds += time.perf_counter() - start
        add(score, case, result)
        _add_margin(score, case, result, recordings.nearness)
    return score


def add(score: Score, case: Case, result: ExerciseResult) -> None:
    """Count what became of one answer."""
    full = result.points == result.max_points
    named = [diagnosis.mistakes for diagnosis in result.diagnoses]
    label = f"{case.kind} {case.name}".strip()
    if case.right:
        score.right += 1
        score.accepted += full
        score.right_named += bool(named)
        if not full or named:
            score.missed.append(f"{label}: {_lost(result)} {_words(named)}")
    elif case.kind == "edit":
        score.edits += 1
        score.edits_caught += not full
    elif case.kind == "slip":
        _add_line(score, label, case.line, result)
    else:
        caught = result.points == 0 if case.kind == "lazy" else not full
        score.wrong += 1
        score.caught += caught
        if not caught:
            score.missed.append(f"{label}: earns {result.points:g} of {result.max_points:g}")
    if case.mistakes and not full:
        _add_named(score, label, set(case.mistakes), named)


def _add_line(score: Score, label: str, true: int, result: ExerciseResult) -> None:
    """Count a slip that costs points and has no name: whether its line was shown.

    That is the line that the search points at or, where it is silent, the line that raised.
    """
    if result.points == result.max_points or result.diagnoses or result.finding:
        return
    findings = [check.finding for check in result.checks if check.finding]
    raised = [place for finding in findings for place in finding.places]
    shown = [line.place.line for line in result.lines] or [place.line for place in raised[:1]]
    score.unnamed += 1
    score.line_found += true in shown
    score.line_wrong += bool(shown) and true not in shown
    if true not in shown:
        score.missed.append(f"{label}: line {shown[0]} told" if shown else f"{label}: no line told")


def _add_named(score: Score, label: str, true: set[str], named: Sequence[tuple[str, ...]]) -> None:
    hits = [bool(true & set(name)) for name in named]
    if len(true) == 1:
        score.known += 1
        score.first += hits[:1] == [True]
        score.within_two += any(hits[:2])
    else:
        score.pairs += 1
        score.pairs_first += hits[:1] == [True]
        score.pairs_both += true <= {name for mistake in named for name in mistake}
    score.silent += not named
    score.wrongly += bool(named) and not any(hits)
    if hits[:1] != [True]:
        score.missed.append(f"{label}: {_words(named)}")


def _words(named: Sequence[tuple[str, ...]]) -> str:
    return "named " + ", ".join(" or ".join(name) for name in named) if named else "silent"


def _lost(result: ExerciseResult) -> str:
    return "; ".join(check.check for check in result.checks if check.points < check.max_points)


def _add_margin(
    score: Score, case: Case, result: ExerciseResult, nearness: dict[str, list[float]]
) -> None:
    """Keep the nearest: of right answers to a tolerance, of wrong ones beyond one.

    A wrong answer is as far beyond as its clearest check says; one that fails otherwise than by its
    numbers, infinitely far.
    """
    if case.right:
        distances = [
            distance for by_check in nearness.values() for distance in by_check if distance <= 1
        ]
        score.nearest_right = max([score.nearest_right, *distances])
    elif case.kind in ("mistake", "pair"):
        failed = [check.check for check in result.checks if check.points < check.max_points]
        beyond = [
            next((distance for distance in nearness[name] if distance > 1), math.inf)
            for name in failed
        ]
        nearest = max(beyond, default=math.inf)
        if nearest < (score.nearest_wrong or math.inf):
            score.nearest_wrong = nearest


def cases(exercise: str, tests: Path, seed: int, sample: int | None) -> Iterator[Case]:
    """Yield all answers that the score is made of."""
    yield from listed(exercise, tests)
    yield from drawn(exercise, tests, seed, sample)


def listed(exercise: str, tests: Path) -> Iterator[Case]:
    """Yield the answers that every score is made of."""
    solution = stubs.reference_source(exercise)
    yield Case("solution", "", True, (), solution)
    for name, source in mistakes.forms(exercise).items():
        yield Case("form", name, True, (), source)
    for kind, right in (("variants", True), ("lazy", False)):
        for file in sorted((tests / kind / exercise).glob("*.py")):
            yield Case(kind, file.stem, right, (), file.read_text(encoding="utf-8"))
    for variant in variants(exercise):
        yield Case("mistake", variant.mistakes[0], False, variant.mistakes, variant.source)


def drawn(exercise: str, tests: Path, seed: int, sample: int | None) -> Iterator[Case]:
    """Yield the answers of a sample: others are drawn when a mistake or a variant is new."""
    yield from islice(_pairs(exercise, seed), sample)
    small = list(mutants.mutants(stubs.reference_source(exercise)))
    for mutant in sorted(small, key=lambda slip: _draw(seed, slip.source))[:sample]:
        yield Case("edit", f"line {mutant.line}: {mutant.what}", False, (), mutant.source)
    yield from islice(_slips(exercise, tests, seed), MOST_SLIPS if sample is None else sample)


def _slips(exercise: str, tests: Path, seed: int) -> Iterator[Case]:
    """Yield slips of the pen in right answers by others. A statement that is gone is on no line."""
    slips = []
    for file in sorted((tests / "variants" / exercise).glob("*.py")):
        # One statement a line, so that a slip is on the line that it is found on.
        source = ast.unparse(ast.parse(file.read_text(encoding="utf-8")))
        slips += [
            Case(
                "slip",
                f"{file.stem}, line {mutant.line}: {mutant.what}",
                False,
                (),
                mutant.source,
                mutant.line,
            )
            for mutant in mutants.mutants(source)
            if mutant.what not in ("statement dropped", "loop body skipped")
        ]
    yield from sorted(slips, key=lambda slip: _draw(seed, slip.source))


def _pairs(exercise: str, seed: int) -> Iterator[Case]:
    """Return pairs that are not a known mistake together: neither hides or undoes the other."""
    library = fingerprints.load(exercise)
    pairs_of_mistakes = combinations(mistakes.load(exercise), 2)
    for first, second in sorted(
        pairs_of_mistakes, key=lambda two: _draw(seed, *(mistake.name for mistake in two))
    ):
        variant = both(first, second)
        if variant is not None and not library.holds(variant.source):
            name = " + ".join(variant.mistakes)
            yield Case("pair", name, False, variant.mistakes, variant.source)


def _draw(seed: int, *words: str) -> str:
    """Return a sort key for drawing samples that does not depend on the other candidates."""
    return hashlib.sha256("\0".join((str(seed), *words)).encode()).hexdigest()

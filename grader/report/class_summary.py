"""A whole class in a few tables: what an instructor looks for before the next lesson.

Made of results alone, so that a report that was kept tells it as well as a run that has just ended.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from grader.feedback.finding import Finding, Status, finding_fields
from grader.report.results import CheckResult, ExerciseResult, SubmissionResult

BINS = 10
# What more of a class shares than this is how such code is written, and tells nothing of two.
COMMON_SHARE, COMMON_LEAST = 0.1, 3
ALIKE_SHARE, ALIKE_LEAST = 0.7, 12
MAX_PAIRS = 50

_FAILURES = {Status.FAILED, Status.ERROR, Status.TIMEOUT, Status.DIED, Status.PROTOCOL}


@dataclass(frozen=True)
class Bin:
    """How many submissions have points from `low` up to `high`, which only the last includes."""

    low: float
    high: float
    count: int


@dataclass(frozen=True)
class Misconception:
    """A known mistake of an exercise, and who made it: positions in the class."""

    exercise: str
    mistakes: tuple[str, ...]
    tells: str
    who: tuple[int, ...]


@dataclass(frozen=True)
class Stuck:
    """An exercise: how many have it right, in part, not, not begun; and who failed all of it."""

    exercise: str
    right: int
    partly: int
    wrong: int
    not_begun: int
    who: tuple[int, ...]


@dataclass(frozen=True)
class Unnamed:
    """Answers to an exercise that fail in the same way, for which no known mistake accounts.

    `check` and `finding` are the first thing that is wrong with each of them.
    """

    exercise: str
    check: CheckResult | None
    finding: Finding | None
    who: tuple[int, ...]


@dataclass(frozen=True)
class Alike:
    """Two submissions that share most of what few others have: a reason to look, no more."""

    left: int
    right: int
    share: float
    exercises: tuple[str, ...]


@dataclass(frozen=True)
class ClassSummary:
    """All of it."""

    bins: tuple[Bin, ...]
    misconceptions: tuple[Misconception, ...]
    stuck: tuple[Stuck, ...]
    unnamed: tuple[Unnamed, ...]
    alike: tuple[Alike, ...]


def summarise(submissions: Sequence[SubmissionResult]) -> ClassSummary:
    """What the results of a class say together."""
    return ClassSummary(
        tuple(_bins(submissions)),
        tuple(_misconceptions(submissions)),
        tuple(_stuck(submissions)),
        tuple(_unnamed(submissions)),
        tuple(_alike(submissions)),
    )


def _bins(submissions: Sequence[SubmissionResult]) -> Iterator[Bin]:
    graded = [one for one in submissions if one.points is not None and one.max_points]
    top = max((one.max_points for one in graded), default=0.0)
    if not top:
        return
    width = top / BINS
    counts = Counter(min(int((one.points or 0.0) / width), BINS - 1) for one in graded)
    for number in range(BINS):
        yield Bin(number * width, (number + 1) * width, counts[number])


def _each(submissions: Sequence[SubmissionResult]) -> Iterator[tuple[int, ExerciseResult]]:
    for number, submission in enumerate(submissions):
        for exercise in submission.exercises:
            yield number, exercise


def _misconceptions(submissions: Sequence[SubmissionResult]) -> list[Misconception]:
    who: dict[tuple[str, tuple[str, ...], str], list[int]] = defaultdict(list)
    for number, exercise in _each(submissions):
        for one in exercise.diagnoses:
            tells = one.message.partition("\n")[0]
            who[exercise.exercise, one.mistakes, tells].append(number)
    found = [Misconception(*key, tuple(dict.fromkeys(numbers))) for key, numbers in who.items()]
    return sorted(found, key=lambda one: -len(one.who))


def _stuck(submissions: Sequence[SubmissionResult]) -> Iterator[Stuck]:
    by_exercise: dict[str, list[tuple[int, ExerciseResult]]] = defaultdict(list)
    for number, exercise in _each(submissions):
        by_exercise[exercise.exercise].append((number, exercise))
    for name, results in by_exercise.items():
        begun = [one for one in results if one[1].status not in (Status.TODO, Status.MISSING)]
        right = sum(one.status is Status.PASSED for _, one in begun)
        none = tuple(number for number, one in begun if one.points == 0.0)
        yield Stuck(
            name,
            right,
            len(begun) - right - len(none),
            len(none),
            len(results) - len(begun),
            none,
        )


def _unnamed(submissions: Sequence[SubmissionResult]) -> list[Unnamed]:
    """The failures without a diagnosis, those together of which every check says the same."""
    groups: dict[str, list[int]] = defaultdict(list)
    examples: dict[str, ExerciseResult] = {}
    for number, exercise in _each(submissions):
        if exercise.status in _FAILURES and not exercise.diagnoses:
            key = _behaviour(exercise)
            groups[key].append(number)
            examples.setdefault(key, exercise)
    found = []
    for key, numbers in groups.items():
        example = examples[key]
        failed = [one for one in example.checks if one.status in _FAILURES]
        first = failed[0] if failed else None
        finding = example.finding or (first.finding if first else None)
        found.append(Unnamed(example.exercise, first, finding, tuple(numbers)))
    return sorted(found, key=lambda one: -len(one.who))


def _behaviour(exercise: ExerciseResult) -> str:
    """What the checks found, as one text. Where in a student's file it was is left out."""
    found = [(one.check, one.status, _without_places(one.finding)) for one in exercise.checks]
    whole = (exercise.exercise, exercise.status, _without_places(exercise.finding))
    return json.dumps([whole, found], sort_keys=True)


def _without_places(finding: Finding | None) -> object:
    fields = finding_fields(finding)
    return fields and {key: value for key, value in fields.items() if key != "places"}


def _alike(submissions: Sequence[SubmissionResult]) -> list[Alike]:
    """Pairs that share most of what is rare in the class, the closest first."""
    owners: dict[tuple[str, int], list[int]] = defaultdict(list)
    for number, exercise in _each(submissions):
        for run in set(exercise.structure):
            owners[exercise.exercise, run].append(number)
    common = max(COMMON_LEAST, COMMON_SHARE * len(submissions))
    rare: Counter[int] = Counter()
    shared: dict[tuple[int, int], Counter[str]] = defaultdict(Counter)
    for (exercise_name, _), numbers in owners.items():
        if len(numbers) <= common:
            rare.update(numbers)
            for pair in combinations(numbers, 2):
                shared[pair][exercise_name] += 1
    found = []
    for (left, right), counts in shared.items():
        together = counts.total()
        share = together / max(rare[left], rare[right])
        if together >= ALIKE_LEAST and share >= ALIKE_SHARE:
            names = tuple(name for name, _ in counts.most_common())
            found.append(Alike(left, right, share, names))
    return sorted(found, key=lambda one: -one.share)[:MAX_PAIRS]

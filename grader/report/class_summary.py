"""A whole class in a few tables: what an instructor looks for before the next lesson.

Made of results alone, so that a report that was kept tells it as well as a run that has just ended.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from grader.feedback import records
from grader.feedback.finding import Finding, Status
from grader.feedback.results import CheckResult, ExerciseResult, SubmissionResult

BINS = 10
# What more of a class shares than this is how such code is written, and tells nothing of two.
COMMON_SHARE, COMMON_LEAST = 0.1, 3
ALIKE_SHARE, ALIKE_LEAST = 0.7, 12
MAX_PAIRS = 50
TWIN_SHARE = 0.9

_FAILURES = {Status.FAILED, Status.ERROR, Status.TIMEOUT, Status.DIED, Status.PROTOCOL}


@dataclass(frozen=True)
class Bin:
    """How many submissions have points from `low` up to `high`, which only the last includes."""

    low: float
    high: float
    count: int


@dataclass(frozen=True)
class Misconception:
    """A known mistake of an exercise, and the students who made it, as positions in the class."""

    exercise: str
    mistakes: tuple[str, ...]
    tells: str
    students: tuple[int, ...]


@dataclass(frozen=True)
class Stuck:
    """An exercise: how many have it right, in part, not, not begun; and who failed all of it."""

    exercise: str
    right: int
    partly: int
    wrong: int
    not_begun: int
    students: tuple[int, ...]


@dataclass(frozen=True)
class Unnamed:
    """Answers to an exercise that fail in the same way, unexplained by any known mistake.

    `check` and `finding` are the first thing that is wrong with each of them. `exercises` are more
    than one where the same is said of several: a notebook that cannot be read, say.
    """

    exercises: tuple[str, ...]
    check: CheckResult | None
    finding: Finding | None
    students: tuple[int, ...]

    @property
    def exercise(self) -> str:
        """The first of the exercises."""
        return self.exercises[0]


@dataclass(frozen=True)
class Twins:
    """Wrong answers to an exercise that are the same but for names and layout, or nearly.

    `says` is what is wrong with the first of them.
    """

    exercise: str
    points: float
    says: str
    students: tuple[int, ...]


@dataclass(frozen=True)
class Remarked:
    """A remark on somebody's answer, and who has the same."""

    exercise: str
    remark: str
    students: tuple[int, ...]


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
    twins: tuple[Twins, ...]
    remarked: tuple[Remarked, ...]


def summarise(submissions: Sequence[SubmissionResult]) -> ClassSummary:
    """Return what the results of a class say together."""
    return ClassSummary(
        tuple(_bins(submissions)),
        tuple(_misconceptions(submissions)),
        tuple(_stuck(submissions)),
        tuple(_unnamed(submissions)),
        tuple(_alike(submissions)),
        tuple(_twins(submissions)),
        tuple(_remarked(submissions)),
    )


def _bins(submissions: Sequence[SubmissionResult]) -> Iterator[Bin]:
    graded = [
        submission
        for submission in submissions
        if submission.points is not None and submission.max_points
    ]
    top = max((submission.max_points for submission in graded), default=0.0)
    if not top:
        return
    width = top / BINS
    counts = Counter(
        min(int((submission.points or 0.0) / width), BINS - 1) for submission in graded
    )
    for number in range(BINS):
        yield Bin(number * width, (number + 1) * width, counts[number])


def _each(submissions: Sequence[SubmissionResult]) -> Iterator[tuple[int, ExerciseResult]]:
    for number, submission in enumerate(submissions):
        for exercise in submission.exercises:
            yield number, exercise


def _misconceptions(submissions: Sequence[SubmissionResult]) -> list[Misconception]:
    students: dict[tuple[str, tuple[str, ...], str], list[int]] = defaultdict(list)
    for number, exercise in _each(submissions):
        for diagnosis in exercise.diagnoses:
            tells = diagnosis.message.partition("\n")[0]
            students[exercise.exercise, diagnosis.mistakes, tells].append(number)
    misconceptions = [
        Misconception(*key, tuple(dict.fromkeys(numbers))) for key, numbers in students.items()
    ]
    return sorted(misconceptions, key=lambda misconception: -len(misconception.students))


def _stuck(submissions: Sequence[SubmissionResult]) -> Iterator[Stuck]:
    by_exercise: dict[str, list[tuple[int, ExerciseResult]]] = defaultdict(list)
    for number, exercise in _each(submissions):
        by_exercise[exercise.exercise].append((number, exercise))
    for name, results in by_exercise.items():
        begun = [
            result for result in results if result[1].status not in (Status.TODO, Status.MISSING)
        ]
        right = sum(result.status is Status.PASSED for _, result in begun)
        none = tuple(number for number, result in begun if result.points == 0.0)
        yield Stuck(
            name,
            right,
            len(begun) - right - len(none),
            len(none),
            len(results) - len(begun),
            none,
        )


def _unnamed(submissions: Sequence[SubmissionResult]) -> list[Unnamed]:
    """Return the failures without a diagnosis, grouped by identical messages."""
    groups: dict[str, list[int]] = defaultdict(list)
    examples: dict[str, ExerciseResult] = {}
    for number, exercise in _each(submissions):
        if exercise.status in _FAILURES and not exercise.diagnoses:
            key = _behaviour(exercise)
            groups[key].append(number)
            examples.setdefault(key, exercise)
    unnamed = []
    for key, numbers in groups.items():
        example = examples[key]
        failed = [check for check in example.checks if check.status in _FAILURES]
        first = failed[0] if failed else None
        finding = example.finding or (first.finding if first else None)
        unnamed.append(Unnamed((example.exercise,), first, finding, tuple(numbers)))
    return sorted(_merged(unnamed), key=lambda group: -len(group.students))


def _merged(unnamed: Sequence[Unnamed]) -> list[Unnamed]:
    """Return one note for those that say the same of several exercises of the same submissions."""
    together: dict[str, Unnamed] = {}
    for each in unnamed:
        title = each.check.title if each.check else ""
        key = json.dumps([title, records.fields(each.finding), each.students], sort_keys=True)
        known = together.get(key)
        names = (*known.exercises, *each.exercises) if known else each.exercises
        together[key] = replace(each, exercises=names)
    return list(together.values())


def _twins(submissions: Sequence[SubmissionResult]) -> list[Twins]:
    """Wrong answers of the same structure, which leaves names and layout out, or nearly the same.

    Those are put together that share `TWIN_SHARE` of it with the first of their group.
    """
    groups: dict[str, list[tuple[frozenset[int], ExerciseResult, list[int]]]] = defaultdict(list)
    for number, exercise in _each(submissions):
        runs = frozenset(exercise.structure)
        if not runs or exercise.status not in _FAILURES:
            continue
        for known, _, students in groups[exercise.exercise]:
            if len(known & runs) >= TWIN_SHARE * len(known | runs):
                students.append(number)
                break
        else:
            groups[exercise.exercise].append((runs, exercise, [number]))
    twins = [
        Twins(name, example.points or 0.0, _says(example), tuple(students))
        for name, group in groups.items()
        for _, example, students in group
        if len(students) > 1
    ]
    return sorted(twins, key=lambda twin: -len(twin.students))


def _says(exercise: ExerciseResult) -> str:
    """Return the first thing that is wrong with an answer, in a sentence."""
    for diagnosis in exercise.diagnoses:
        return diagnosis.message.partition("\n")[0]
    findings = [exercise.finding, *(check.finding for check in exercise.checks)]
    return next((finding.headline for finding in findings if finding), "")


def _remarked(submissions: Sequence[SubmissionResult]) -> list[Remarked]:
    students: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, exercise in _each(submissions):
        for remark in exercise.remarks:
            students[exercise.exercise, remark].append(number)
    remarked = [Remarked(*key, tuple(numbers)) for key, numbers in students.items()]
    return sorted(remarked, key=lambda group: (-len(group.students), group.exercise))


def _behaviour(exercise: ExerciseResult) -> str:
    """Return what the checks found, as one text. Where in a student's file it was is left out."""
    marks = [
        (check.check, check.status, _without_places(check.finding)) for check in exercise.checks
    ]
    whole = (exercise.exercise, exercise.status, _without_places(exercise.finding))
    return json.dumps([whole, marks], sort_keys=True)


def _without_places(finding: Finding | None) -> object:
    fields = records.fields(finding)
    return fields and {key: value for key, value in fields.items() if key != "places"}


def _alike(submissions: Sequence[SubmissionResult]) -> list[Alike]:
    """Return the pairs that share most of what is rare in the class, the closest first."""
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
    alike = []
    for (left, right), counts in shared.items():
        together = counts.total()
        share = together / max(rare[left], rare[right])
        if together >= ALIKE_LEAST and share >= ALIKE_SHARE:
            names = tuple(name for name, _ in counts.most_common())
            alike.append(Alike(left, right, share, names))
    return sorted(alike, key=lambda pair: -pair.share)[:MAX_PAIRS]

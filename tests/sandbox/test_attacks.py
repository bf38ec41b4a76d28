"""Every hostile answer in `attacks/` goes through the real judge, and so does a right one after it.

An attack is a student's module. Its first lines say what it tries, on which exercise (attention if
they do not), where (in every isolation; `one` is the best there is, for what takes long), and what
has to come of it:

- `loses` (the default): less than full marks;
- `full marks`: it is right, with a side effect that harms nobody;
- `finds nothing`: it hunts for what it should not see, and raises an exception that says so;
- `anything`: only the judge and the next submission matter.

What is in `delegation/` is held off by the rules, not by the jail, and so it runs without one. What
a kind of attack tries inside its process alone is the same in every isolation, and it runs in one.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, cast

import pytest

from grader.curriculum import stubs
from grader.feedback.results import ExerciseResult
from grader.grading.diagnosis.diagnostician import Diagnostician
from grader.grading.judge import Judge
from grader.grading.recording import Recordings
from grader.grading.student_process import PROGRAM
from grader.remote.channel import Times
from grader.sandbox.host import ISOLATIONS, Host
from grader.submission import Submission
from tests import DATA
from tests.tools.jailed import PROBLEMS

HERE = DATA / "attacks"
AT_ONCE = 8
# What waits for a disk is idle, too: less than the default would take a cold one for sleep.
TIMES = Times(load=2.0, call=1.0)
KINDS = {
    *("delegation", "endings", "files", "hunting", "lies", "loops", "memory", "output"),
    *("processes", "system", "tampering", "wire"),
}
# What these do to Python in their process, to its replies or to its clock, no isolation changes.
WITHIN = {"lies", "loops", "output", "tampering", "wire"}

# What an attack on attention may call, to be right as well: `right` is the reference's function.
PRELUDE = stubs.reference_source("attention").replace("def attention(", "def right(")


@dataclass(frozen=True)
class Attack:
    """One hostile module, with what its first lines say."""

    name: str
    source: str
    exercise: str
    isolations: tuple[str, ...]
    expect: str


def read(path: Path) -> Attack:
    source = path.read_text(encoding="utf-8")
    headers = dict(re.findall(r"^# (exercise|isolation|expect): (.+)$", source, re.MULTILINE))
    exercise = headers.get("exercise", "attention")
    best = "process" if PROBLEMS else "jail"
    kind = path.parent.name
    usual = ("process",) if kind == "delegation" else (best,) if kind in WITHIN else ISOLATIONS
    isolations = {"one": (best,), "jail": ("jail",)}.get(headers.get("isolation", ""), usual)
    return Attack(
        name=f"{kind}-{path.stem}",
        source=f"{PRELUDE}\n{source}" if exercise == "attention" else source,
        exercise=exercise,
        isolations=isolations,
        expect=headers.get("expect", "loses"),
    )


ATTACKS = [read(path) for path in sorted(HERE.glob("*/*.py"))]
PAIRS = [
    pytest.param(isolation, attack, id=f"{isolation}-{attack.name}")
    for isolation in ISOLATIONS
    for attack in ATTACKS
    if isolation in attack.isolations
]


Verdicts = dict[tuple[str, str], Future[tuple[ExerciseResult, ExerciseResult]]]


class Prison:
    """What grades attacks in one of the processes: a sandbox of each kind, a judge an exercise.

    What the judges know of mistakes is the same for all, and is read before the processes fork.
    """

    def __init__(
        self,
        hosts: dict[str, Host],
        recordings: Recordings,
        diagnosticians: dict[str, Diagnostician],
    ) -> None:
        self.hosts = hosts
        self.recordings = recordings
        self.diagnosticians = diagnosticians
        self.judges: dict[tuple[str, str], Judge] = {}

    def grade(self, isolation: str, exercise: str, source: str) -> ExerciseResult:
        if (isolation, exercise) not in self.judges:
            judge = Judge([exercise], self.recordings, self.hosts[isolation], TIMES)
            judge.diagnosticians = self.diagnosticians
            self.judges[isolation, exercise] = judge
        judge = self.judges[isolation, exercise]
        return judge.grade(Submission("somebody", {exercise: source})).exercises[0]


def attacked(isolation: str, attack: Attack) -> tuple[ExerciseResult, ExerciseResult]:
    """The results of the attack, and of a right answer in the same sandbox after it."""
    # A new comment, since equal sources are graded once.
    right = stubs.reference_source(attack.exercise) + f"\n# after {attack.name}\n"
    first = _prison.grade(isolation, attack.exercise, attack.source)
    return first, _prison.grade(isolation, attack.exercise, right)


_prison: Prison  # of each of the processes


def _begin(prisons: list[Prison], number: Any) -> None:
    global _prison
    with number:
        _prison = prisons[number.value]
        number.value += 1
    for prison in prisons:
        if prison is not _prison:
            for host in prison.hosts.values():
                host.let_go()


@pytest.fixture(scope="module")
def verdicts(request: pytest.FixtureRequest, recordings: Recordings) -> Iterator[Verdicts]:
    """The results of all attacks of this run, many at a time: most of them only wait."""
    attacks_by_level: list[tuple[str, Attack]] = [
        cast(Any, (item.callspec.params["isolation"], item.callspec.params["attack"]))
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.originalname == "test_an_attack_gains_nothing"
    ]
    if PROBLEMS:
        attacks_by_level = [
            (isolation, attack) for isolation, attack in attacks_by_level if isolation != "jail"
        ]
    exercises = {attack.exercise for _, attack in attacks_by_level}
    for exercise in exercises:
        recordings.of(exercise)
    diagnosticians = {exercise: Diagnostician(exercise) for exercise in exercises}
    count = min(AT_ONCE, len(attacks_by_level))
    isolations = sorted({isolation for isolation, _ in attacks_by_level})
    hosts = {isolation: Host.several(count, PROGRAM, isolation) for isolation in isolations}
    prisons = [
        Prison({one: hosts[one][n] for one in isolations}, recordings, diagnosticians)
        for n in range(count)
    ]
    fork = get_context("fork")
    # Of each kind some at any time, so that those that take all memory do not come together.
    attacks_by_level.sort(key=lambda pair: zlib.crc32(f"{pair[0]}-{pair[1].name}".encode()))
    try:
        with ProcessPoolExecutor(count, fork, _begin, (prisons, fork.Value("i", 0))) as pool:
            yield {
                (isolation, attack.name): pool.submit(attacked, isolation, attack)
                for isolation, attack in attacks_by_level
            }
            pool.shutdown(cancel_futures=True)
    finally:
        for host in (host for several in hosts.values() for host in several):
            host.close()


def told(result: ExerciseResult) -> str:
    return "\n".join([result.message, *(check.message for check in result.checks)])


@pytest.mark.full
@pytest.mark.parametrize(("isolation", "attack"), PAIRS)
def test_an_attack_gains_nothing(verdicts: Verdicts, isolation: str, attack: Attack) -> None:
    if isolation == "jail" and PROBLEMS:
        pytest.skip(f"The attacks on the jail are not tested: {PROBLEMS}")
    result, after = verdicts[isolation, attack.name].result()
    text = told(result)
    assert result.status != "grader_error"
    if attack.expect == "full marks":
        assert result.points == result.max_points, text
    elif attack.expect != "anything":
        assert (result.points or 0) < result.max_points
    assert ("FOUND: nothing" in text) == (attack.expect == "finds nothing"), text
    assert all(character.isprintable() or character == "\n" for character in text)
    assert len(text) < 20_000
    assert after.points == after.max_points, told(after)


def test_there_are_enough_of_every_kind() -> None:
    assert len(ATTACKS) >= 100
    assert {path.name for path in HERE.iterdir()} == KINDS
    assert {attack.expect for attack in ATTACKS} <= {
        "loses", "full marks", "finds nothing", "anything",
    }  # fmt: skip

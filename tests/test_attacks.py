"""Every hostile answer in `attacks/` goes through the real judge, and so does a right one after it.

An attack is a student's module. Its first lines say what it tries, on which exercise (attention if
they do not), where (in every isolation; `one` is the best there is, for what takes long), and what
has to come of it:

- `loses` (the default): less than full marks;
- `full marks`: it is right, with a side effect that harms nobody;
- `finds nothing`: it hunts for what it should not see, and raises an exception that says so;
- `anything`: only the judge and the next submission matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from grader.curriculum import stubs
from grader.judging.judge import Judge
from grader.judging.recording import Recordings
from grader.remote.channel import Times
from grader.report.results import ExerciseResult
from grader.sandbox import jail
from grader.sandbox.host import ISOLATIONS, Host
from grader.submission import Submission

HERE = Path(__file__).parent / "attacks"
SEED = 2017
# What waits for a disk is idle, too: less than the default would take a cold one for sleep.
TIMES = Times(load=3.0, call=1.5)
PROBLEMS = " ".join(f"{problem.what} {problem.mend}" for problem in jail.missing())
KINDS = {
    *("delegation", "endings", "files", "hunting", "lies", "loops", "memory", "output"),
    *("processes", "system", "tampering", "wire"),
}

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
    said = dict(re.findall(r"^# (exercise|isolation|expect): (.+)$", source, re.MULTILINE))
    exercise = said.get("exercise", "attention")
    best = "process" if PROBLEMS else "jail"
    isolations = {"one": (best,), "jail": ("jail",)}.get(said.get("isolation", ""), ISOLATIONS)
    return Attack(
        name=f"{path.parent.name}-{path.stem}",
        source=f"{PRELUDE}\n{source}" if exercise == "attention" else source,
        exercise=exercise,
        isolations=isolations,
        expect=said.get("expect", "loses"),
    )


ATTACKS = [read(path) for path in sorted(HERE.glob("*/*.py"))]
PAIRS = [
    pytest.param(isolation, attack, id=f"{isolation}-{attack.name}")
    for isolation in ISOLATIONS
    for attack in ATTACKS
    if isolation in attack.isolations
]


class Judges:
    """A judge for each isolation and exercise, made when it is first needed."""

    def __init__(self) -> None:
        self.hosts: dict[str, Host] = {}
        self.judges: dict[tuple[str, str], Judge] = {}
        self.recordings = Recordings(SEED)

    def find(self, isolation: str, exercise: str) -> Judge:
        if isolation not in self.hosts:
            self.hosts[isolation] = Host(isolation)
        host = self.hosts[isolation]
        return self.judges.setdefault(
            (isolation, exercise), Judge([exercise], self.recordings, host, TIMES)
        )


@pytest.fixture(scope="module")
def judges() -> Iterator[Judges]:
    judges = Judges()
    yield judges
    for host in judges.hosts.values():
        host.close()


def grade(judge: Judge, source: str) -> ExerciseResult:
    (exercise,) = judge.exercises
    return judge.grade(Submission("somebody", {exercise: source})).exercises[0]


def told(result: ExerciseResult) -> str:
    return "\n".join([result.message, *(check.message for check in result.checks)])


@pytest.mark.parametrize(("isolation", "attack"), PAIRS)
def test_an_attack_gains_nothing(judges: Judges, isolation: str, attack: Attack) -> None:
    if isolation == "jail" and PROBLEMS:
        pytest.skip(f"The attacks on the jail are not tested: {PROBLEMS}")
    judge = judges.find(isolation, attack.exercise)
    result = grade(judge, attack.source)
    text = told(result)
    assert result.status != "grader_error"
    if attack.expect == "full marks":
        assert result.points == result.max_points, text
    elif attack.expect != "anything":
        assert (result.points or 0) < result.max_points
    assert ("FOUND: nothing" in text) == (attack.expect == "finds nothing"), text
    assert all(character.isprintable() or character == "\n" for character in text)
    assert len(text) < 20_000
    # A new comment, since equal sources are graded once.
    after = grade(judge, stubs.reference_source(attack.exercise) + f"\n# after {attack.name}\n")
    assert after.points == after.max_points, told(after)


def test_there_are_enough_of_every_kind() -> None:
    assert len(ATTACKS) >= 100
    assert {path.name for path in HERE.iterdir()} == KINDS
    assert {attack.expect for attack in ATTACKS} <= {
        "loses", "full marks", "finds nothing", "anything",
    }  # fmt: skip

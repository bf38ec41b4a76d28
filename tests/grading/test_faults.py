"""Code that goes wrong at any phase of grading: it costs its own exercise, and no other.

What a student's code does is never the grader's failure: no exception leaves the judge.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from grader.curriculum import stubs
from grader.feedback.results import ExerciseResult
from grader.grading import integration
from grader.grading.judge import Judge
from grader.grading.recording import Recordings
from grader.grading.student_process import StudentProcess
from grader.remote import wire
from grader.remote.budget import Budget
from grader.remote.channel import Channel, Times
from grader.remote.session import Lost
from grader.sandbox.host import Host
from grader.submission import Submission
from grader.submission.cells import Cell
from grader.submission.notebook import layout

WRONG = "layer_norm"
CALLS = 67  # of the wrong layer_norm that are graded, in company and alone
MORE = 100  # at most so many calls come after them
EXERCISES = ("softmax", WRONG, "masks")
SOLUTIONS = {name: stubs.reference_source(name) for name in EXERCISES}
# No known mistake: the judge asks for a diagnosis, then searches for the line.
MISTAKEN = SOLUTIONS[WRONG].replace("+ self.eps", "- self.eps")


def notebook() -> Submission:
    """The answers as cells of a notebook, the wrong one among them."""
    cells: list[Cell] = []
    for name, source in {**SOLUTIONS, WRONG: MISTAKEN}.items():
        cells += [Cell("code", source), Cell("code", "", f"{name}-points")]
    return Submission("somebody", layout(cells).sources(), cells=tuple(cells))


FAULTS = {
    "dies": "os._exit(0)",
    "exits": "raise SystemExit",
    "hangs": "while True: pass",
    "uses what is forbidden": ("torch.nn.functional.layer_norm(torch.ones(2, 2), (2,))"),
    "hangs up": "os.closerange(3, 64)",
    "sends junk": (
        "[socket.socket(fileno=os.dup(n)).send(b'\\xff' * 64) for n in range(3, 64) "
        "if os.path.exists(f'/proc/self/fd/{n}') "
        "and os.readlink(f'/proc/self/fd/{n}').startswith('socket')]"
    ),
}
PARTS = 3  # of the exchanges in which there is a lie, to draw from

# Counts in a file, which lasts from one process to the next.
COUNTING = """

import os, socket, sys
import torch


def _count(event):
    with open({folder!r} + "/" + event, "ab") as file:
        file.write(b".")
        return file.tell()


def _fault():
    {fault}


_imports = _count("imports")
if _imports in {imports}:
    _fault()
_whole = LayerNorm.forward


def _forward(self, *args, **options):
    calls = _count("calls")
    if calls in {deaths}:
        os._exit(0)
    if calls in {calls}:
        _fault()
    return _whole(self, *args, **options)


LayerNorm.forward = _forward
"""


@pytest.fixture(scope="module")
def judge(host: Host, recordings: Recordings) -> Judge:
    quick = Times(load=1.0, call=0.5, idle=0.5)
    return Judge(EXERCISES, recordings, host, quick, searches=True)


Faulty = Callable[..., dict[str, ExerciseResult]]


@pytest.fixture
def graded(judge: Judge, tmp_path: Path) -> Faulty:
    """Grades a wrong layer_norm with a fault at some of its imports and calls."""

    def grade(
        fault: str = "pass",
        imports: tuple[int, ...] = (),
        calls: tuple[int, ...] = (),
        deaths: tuple[int, ...] = (),
    ) -> dict[str, ExerciseResult]:
        judge.diagnosed.clear()  # as the first in their class
        tail = COUNTING.format(
            folder=str(tmp_path), fault=fault, imports=imports, calls=calls, deaths=deaths
        )
        result = judge.grade(Submission("somebody", {**SOLUTIONS, WRONG: MISTAKEN + tail}))
        return {exercise.exercise: exercise for exercise in result.exercises}

    return grade


@pytest.fixture
def counted(tmp_path: Path) -> Callable[[str], int]:
    """How often something has happened."""
    return lambda event: (tmp_path / event).stat().st_size


def assert_costs_no_other(results: Mapping[str, ExerciseResult]) -> None:
    for name, result in results.items():
        assert result.status != "grader_error"
        if name == WRONG:
            assert result.points is not None
            assert result.points < result.max_points
        else:
            assert result.points == result.max_points, (name, result.message)


def test_what_hangs_while_its_lines_are_noted_is_not_handed_back(judge: Judge) -> None:
    """What comes next is not asked in a process that is still busy."""
    hangs = "import sys\n    while sys.gettrace():\n        pass"
    wrong = """
def softmax(x, dim=-1):
    normed = x - x.mean(dim, keepdim=True)
    return normed.square() * 3.77 + 0.043 * normed.sin()
"""
    source = SOLUTIONS["softmax"].replace("### BEGIN SOLUTION", hangs) + wrong
    softmax, *others = judge.grade(
        Submission("somebody", {**SOLUTIONS, "softmax": source})
    ).exercises
    assert softmax.points != softmax.max_points
    assert [each.points for each in others] == [each.max_points for each in others]


def test_without_a_fault_it_is_asked_for_a_diagnosis_too(
    graded: Faulty, counted: Callable[[str], int]
) -> None:
    """So that the phases below are there.

    CALLS are graded. What it calls of torch is watched in two processes more, each of which imports
    it twice, and a diagnosis asks a few calls.
    """
    assert_costs_no_other(graded())
    assert counted("imports") == 6
    assert CALLS < counted("calls") < CALLS + MORE


@pytest.mark.full
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize(
    "phase",
    [
        {"imports": (1,)},
        {"imports": (2,)},
        {"imports": (1, 2)},
        {"calls": (1,)},
        {"calls": (CALLS // 2,)},
        {"calls": (CALLS,)},
        {"calls": range(CALLS + 1, CALLS + MORE)},
        {"imports": (3,)},
        {"imports": (4,)},
        # Dead after its last graded call or while a diagnosis is asked for, it is imported again.
        {"deaths": (CALLS,), "imports": (3,)},
        {"deaths": (CALLS + 1,), "imports": (3, 4)},
        {"deaths": (CALLS - 1,), "imports": range(2, 9)},
    ],
    ids=str,
)
def test_a_fault_of_the_code_costs_no_other_exercise(
    graded: Faulty, fault: str, phase: Mapping[str, Sequence[int]]
) -> None:
    assert_costs_no_other(graded(fault, **phase))


def _lost() -> bytes:
    raise Lost("died", "Your code ended its own process.")


def _replies(value: object) -> Callable[[], bytes]:
    return lambda: wire.body(wire.encode(value))


USES = [("F.layer_norm", "exercises/layer_norm.py", 3)]
ERROR = {"kinds": ["ValueError"], "text": "\ud800\x1b[2J", "file": "x" * 999, "line": -(2**62)}
NOTE = (-(2**62), 2**62, "time", "5 s")
LIES: dict[str, Callable[[], bytes]] = {
    "death": _lost,
    "a use that is forbidden": _replies({"forbidden": USES}),
    "a use of nothing known": _replies({"ok": None, "forbidden": [("", None, None)]}),
    "uses of no form": _replies({"forbidden": [[]]}),
    "an exception": _replies({"error": ERROR}),
    "an exception of no form": _replies({"error": {"kinds": []}}),
    "another value": _replies({"ok": {"notes": [], "undefined": torch.full((2, 0, 3), 1)}}),
    "numbers without end": _replies({"ok": ([("", -(2**62))], [(0, "", 0, 0, 0, math.nan, -0.0)])}),
    "a note on no cell": _replies({"ok": {"notes": [NOTE], "undefined": []}}),
    "a huge number": _replies({"ok": 2**62}),
    "no reply": _replies([None]),
    "no frame": lambda: b"\xff" * 64,
}


@pytest.fixture
def lying(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Puts a lie in the place of what a process sends in the exchanges of these numbers."""
    asked = itertools.count()
    chosen: tuple[Callable[[int], bool], Callable[[], bytes]] = (lambda _: False, _lost)
    real = Channel.gather

    def gather(self: Channel, *args: Any, **options: Any) -> list[bytearray]:
        number, (lies, lie) = next(asked), chosen
        bodies = real(self, *args, **options)
        if lies(number):
            bodies[-1] = bytearray(lie())
        return bodies

    def begin(lie: Callable[[], bytes], lies: Callable[[int], bool]) -> int:
        nonlocal asked, chosen
        before = next(asked)
        asked, chosen = itertools.count(), (lies, lie)
        return before

    monkeypatch.setattr(Channel, "gather", gather)
    return begin


FORMS = {
    "files": Submission("somebody", {**SOLUTIONS, WRONG: MISTAKEN}),
    "a notebook": notebook(),
}
# Of a notebook there is more to ask: its cells' notes, what they use. The rest is as with files.
OF_CELLS = ("death", "a use that is forbidden", "uses of no form", "a note on no cell", "no reply")
LIARS = [(lie, form) for lie in LIES for form in FORMS if form == "files" or lie in OF_CELLS]


@pytest.mark.full(seconds=5, share=20)
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize(("name", "form"), LIARS)
def test_a_lie_in_any_exchange_is_no_failure_of_the_grader(
    judge: Judge, lying: Callable[..., int], name: str, form: str, part: int
) -> None:
    """In the search for a line as well, from one exchange on as well as in a single one."""
    lie, submission = LIES[name], FORMS[form]

    def graded() -> dict[str, ExerciseResult]:
        judge.diagnosed.clear()
        return {result.exercise: result for result in judge.grade(submission).exercises}

    lying(lie, lambda _: False)
    assert graded()[WRONG].lines, "no line is searched for"
    total = lying(lie, lambda _: False)
    first = list(LIES).index(name) + part * len(LIES)
    for number in range(first, total, len(LIES) * PARTS):
        lying(lie, number.__eq__)
        results = graded()
        assert sum(item.points != item.max_points for item in results.values()) <= 2
        assert all(graded_result.status != "grader_error" for graded_result in results.values())
        lying(lie, number.__le__)
        assert all(one.status != "grader_error" for one in graded().values())


BROKEN_MODELS = {
    "whole numbers": "return found.long()",
    "complex numbers": "return found + 1j",
    "no tensor": "return [found]",
    "a weight of whole numbers": (
        "return found\n_made = Transformer.__init__\n"
        "def _init(self, *args, **options):\n    _made(self, *args, **options)\n"
        "    self.extra = torch.nn.Parameter(torch.ones(1).long(), False)\n"
        "Transformer.__init__ = _init"
    ),
}


@pytest.mark.parametrize("returned", BROKEN_MODELS.values(), ids=BROKEN_MODELS)
def test_a_model_of_any_kind_is_told_of(host: Host, returned: str) -> None:
    """All pieces together: what torch refuses there is the model's fault."""
    source = (
        f"{stubs.reference_source('transformer')}\n\nimport torch\n_whole = Transformer.forward\n"
        "def _forward(self, *args):\n    found = _whole(self, *args)\n"
        f"    {returned}\nTransformer.forward = _forward\n"
    )
    with StudentProcess({"transformer": source}, (), host, Budget("All", 60.0, 10.0)) as process:
        result = integration.run({"transformer": source}, process)
    assert result.status == "failed"
    assert result.message

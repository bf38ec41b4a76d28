"""Exercises that are examined one after another in one process, and what that may not change."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader import curriculum
from grader.checks import framework
from grader.checks.framework import Check
from grader.curriculum import mistakes, stubs
from grader.curriculum.rules import rule
from grader.feedback.finding import Place
from grader.feedback.results import ExerciseResult
from grader.grading.diagnosis.diagnostician import Diagnosed, Diagnostician
from grader.grading.exercise_run import ExerciseRun, RightReplies
from grader.grading.judge import Judge
from grader.grading.ordinary_calls import needs_watching
from grader.grading.recording import Recording, Recordings
from grader.remote.channel import Channel
from grader.remote.operators import View
from grader.sandbox.host import Host
from grader.submission import Submission

SOLUTIONS = {name: stubs.reference_source(name) for name in curriculum.NAMES}


@pytest.fixture(scope="module")
def judge(host: Host, recordings: Recordings) -> Judge:
    return Judge(curriculum.NAMES, recordings, host)


def grade(judge: Judge, sources: Mapping[str, str]) -> dict[str, ExerciseResult]:
    """Their results, by exercise; how many processes it took is in `judge.host.server.forks`."""
    result = judge.grade(Submission("somebody", dict(sources)))
    return {
        exercise.exercise: exercise for exercise in result.exercises if exercise.exercise in sources
    }


def full_marks(result: ExerciseResult) -> bool:
    return result.status == "passed" and result.points == result.max_points


def gist(result: ExerciseResult) -> list[object]:
    """All but the messages, and what they quote, whose smallest cases are found by the clock."""
    results = [(check.check, check.status, check.points) for check in result.checks]
    named = [(diagnosis.mistakes, diagnosis.message) for diagnosis in result.diagnoses]
    return [result.status, result.points, result.message, named, results]


APART = [name for name in curriculum.NAMES if rule(name).apart]


def near(exercise: str) -> set[str]:
    """What the exercise needs, what needs it, and what stands beside it."""
    number = curriculum.NAMES.index(exercise)
    beside = curriculum.NAMES[max(number - 1, 0) : number + 2]
    needing = (name for name in curriculum.NAMES if exercise in curriculum.find(name).needs)
    return {exercise, *curriculum.find(exercise).needs, *needing, *beside}


def right_near(*exercises: str) -> dict[str, str]:
    """Right answers to these and to what is near them."""
    return {name: SOLUTIONS[name] for exercise in exercises for name in near(exercise)}


@pytest.mark.full(seconds=5)
def test_what_an_answer_imports_of_earlier_exercises_is_there(judge: Judge) -> None:
    """The reference where it was not handed in. Later exercises are not given to anybody."""
    uses = "from exercises.masks import causal_mask\nfrom exercises import dropout\n"
    assert full_marks(grade(judge, {"decoder": uses + SOLUTIONS["decoder"]})["decoder"])
    later = grade(judge, {"masks": "import exercises.decoder\n" + SOLUTIONS["masks"]})["masks"]
    assert "This line imports decoder.py, and there is no such file" in later.message


@pytest.mark.full(seconds=14)
def test_a_right_submission_stays_in_one_process(judge: Judge) -> None:
    """But for the exercises whose rules forbid what others need.

    Answers in which a name may be torch's run once more for each view of what they call.
    """
    watched = [name for name, source in SOLUTIONS.items() if needs_watching(name, [source])]
    before = judge.host.server.forks
    results = grade(judge, SOLUTIONS)
    assert all(map(full_marks, results.values()))
    assert judge.host.server.forks == before + 1 + len(APART) + len(watched) * len(get_args(View))


def test_a_wrong_exercise_takes_one_process_more(judge: Judge) -> None:
    """Those after it go on in the process of those before it."""
    wrong = SOLUTIONS["layer_norm"].replace("self.eps", "1.0")
    sources = {**SOLUTIONS, "layer_norm": wrong}
    names = ("masks", "layer_norm", "feed_forward", "encoder")
    before = judge.host.server.forks
    results = grade(judge, {name: sources[name] for name in names})
    assert [name for name in names if not full_marks(results[name])] == ["layer_norm"]
    assert judge.host.server.forks == before + 2


def test_pieces_of_which_one_is_wrong_are_put_together_once(judge: Judge) -> None:
    """Where they fail at a line of the student's own. Else what ran before may be the reason."""
    names = curriculum.closure("transformer")
    pieces = {name: SOLUTIONS[name] for name in (*names, "transformer")}
    wrong = SOLUTIONS["encoder"].replace("self.layers:", "self.stack:")
    before = judge.host.server.forks
    judge.grade(Submission("right", pieces))
    of_right = judge.host.server.forks - before
    together = judge.grade(Submission("ada", {**pieces, "encoder": wrong})).integration
    assert judge.host.server.forks == before + 2 * of_right + 1
    assert together is not None
    assert [place.file for place in together.finding.places] == ["encoder.py"]
    effect = HARMFUL.format(effect="torch.nn.Linear.forward = None")
    harmful = SOLUTIONS["softmax"] + effect.replace("target_mask", "softmax")
    together = judge.grade(Submission("eve", {**pieces, "softmax": harmful})).integration
    assert together is not None
    assert together.status == "passed"


def test_an_exercise_in_a_process_of_its_own_keeps_the_remarks_on_it(judge: Judge) -> None:
    """They are made once, where the submission is loaded first."""
    wrong = "import gc\n" + SOLUTIONS["layer_norm"].replace("+ self.eps", "+ 1.0")
    results = grade(judge, {"masks": SOLUTIONS["masks"], "layer_norm": wrong})
    assert not full_marks(results["layer_norm"])
    assert results["layer_norm"].remarks == ("layer_norm.py, line 1: looks at gc",)


def test_what_only_another_exercise_forbids_costs_nothing(judge: Judge) -> None:
    """At import, in a call and hidden, in the first exercise of a process and in a later one."""
    allowed = """

import torch.nn.functional as F

F.layer_norm(torch.ones(2, 2), (2,))
_whole = {entry}


def {entry}(*args, **options):
    try:
        F.embedding(torch.zeros(1, dtype=torch.long), torch.ones(1, 1))
    except BaseException:
        pass
    return _whole(*args, **options)
"""
    sources = {
        "masks": SOLUTIONS["masks"] + allowed.format(entry="causal_mask"),
        "attention": SOLUTIONS["attention"] + allowed.format(entry="attention"),
    }
    forbidding = {name: SOLUTIONS[name] for name in ("layer_norm", "embedding")}
    results = grade(judge, {**forbidding, **sources})
    assert all(map(full_marks, results.values())), results


AT_IMPORT = """

import torch
from torch import nn

x = torch.randn(2, 8)
assert torch.allclose(LayerNorm(8)(x), nn.LayerNorm(8)(x))
"""


@pytest.mark.full
def test_a_file_is_compiled_as_python_would(judge: Judge) -> None:
    """Its annotations are evaluated: one whose name is not imported stops the import."""
    source = SOLUTIONS["masks"].replace("from jaxtyping import ", "from jaxtyping import Shaped # ")
    result = grade(judge, {"masks": source})["masks"]
    assert (result.status, result.points) == ("error", 0)
    assert result.finding is not None
    asked = "`Int` is not defined here. Is `from jaxtyping import Int` missing?"
    assert result.finding.headline == asked


def test_a_comparison_with_torch_at_import_is_told_where_to_go(judge: Judge) -> None:
    """It costs the exercise, and no other; where the message says, it costs nothing."""
    number = (SOLUTIONS["layer_norm"] + AT_IMPORT).count("\n")
    compared = {"layer_norm": SOLUTIONS["layer_norm"] + AT_IMPORT}
    results = grade(judge, {**right_near("layer_norm"), **compared})
    result = results.pop("layer_norm")
    assert (result.status, result.points) == ("failed", 0)
    assert result.finding is not None
    assert result.finding.headline == rule("layer_norm").message(["nn.LayerNorm"])
    assert result.finding.help == (
        "This happened while the file was imported. If the line only compares your answer with "
        'torch\'s, put it under `if __name__ == "__main__":` or in a test: there it costs nothing.'
    )
    source = "assert torch.allclose(LayerNorm(8)(x), nn.LayerNorm(8)(x))"
    assert result.finding.places == (Place("layer_norm.py", number, source),)
    assert all(map(full_marks, results.values()))
    moved = AT_IMPORT.replace("\nx =", '\nif __name__ == "__main__":\n    x =')
    moved = moved.replace("\nassert", "\n    assert")
    assert full_marks(grade(judge, {"layer_norm": SOLUTIONS["layer_norm"] + moved})["layer_norm"])


# Those whose rules forbid what others need, and some of the rest.
IN_COMPANY = [name for name in curriculum.NAMES if name in (*APART, *curriculum.NAMES[::5])]
BESIDE_ALL = "layer_norm"


@pytest.mark.parametrize(
    ("exercise", "others"),
    [
        ("attention", "near"),
        *(
            pytest.param(exercise, "near", marks=pytest.mark.full(seconds=2))
            for exercise in IN_COMPANY
        ),
        pytest.param(BESIDE_ALL, "all", marks=pytest.mark.full(seconds=10)),
    ],
)
def test_a_mistake_counts_where_it_is_made_and_as_it_does_alone(
    judge: Judge, exercise: str, others: str
) -> None:
    """In company a wrong answer gets what it gets alone, and costs no other exercise a point."""
    mistake = mistakes.load(exercise)[0]
    wrong = mistake.apply(SOLUTIONS[exercise])
    neighbours = near(exercise) if others == "near" else set(SOLUTIONS)
    results = grade(judge, {**{name: SOLUTIONS[name] for name in neighbours}, exercise: wrong})
    in_company, alone = results.pop(exercise), grade(judge, {exercise: wrong})[exercise]
    assert gist(in_company) == gist(alone)
    assert not full_marks(alone)
    assert all(map(full_marks, results.values()))


SIDE_EFFECTS = {
    "torch.softmax is replaced": "torch.softmax = torch.Tensor.softmax = None",
    "every module is broken": "torch.nn.Module.__call__ = None",
    "the default dtype is another": "torch.set_default_dtype(torch.float64)",
    "gradients are off": "torch.set_grad_enabled(False)",
    "the package is gone": "import sys; sys.meta_path.clear(); sys.modules.clear()",
    "the process ends later": (
        "import os, threading; threading.Timer(0.3, os._exit, (0,)).start()"
    ),
    "the process is busy": (
        "import threading\ndef spin():\n    while True: pass\n"
        "if threading.active_count() == 1: threading.Thread(target=spin, daemon=True).start()"
    ),
}
OFTEN_BROKEN = (SIDE_EFFECTS["gradients are off"],)


HARMFUL = """

_whole = target_mask


def target_mask(*args, **options):
    import torch
    found = _whole(*args, **options)
    {effect}
    return found
"""


@pytest.fixture
def run_alone(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bool]]:
    """The checks that are run from now on, and whether in a process of their exercise's own."""
    run: list[tuple[str, bool]] = []
    real = ExerciseRun._failure

    def noted(self: ExerciseRun, recording: Recording, channel: Channel) -> Exception | None:
        run.append((recording.check.name, self.alone))
        return real(self, recording, channel)

    monkeypatch.setattr(ExerciseRun, "_failure", noted)
    return run


def test_what_was_right_in_company_is_not_run_again(
    judge: Judge, run_alone: list[tuple[str, bool]]
) -> None:
    """Only from the first check on that was not is the exercise examined alone."""
    wrong = SOLUTIONS["attention"].replace("math.sqrt(query.size(-1))", "math.sqrt(value.size(-1))")
    result = grade(judge, {"masks": SOLUTIONS["masks"], "attention": wrong})["attention"]
    names = [check.check for check in result.checks]
    first = next(
        name
        for name, graded_check in zip(names, result.checks, strict=True)
        if not graded_check.points
    )
    begin = names.index(first)
    assert result.status == "failed"
    assert [name for name, alone in run_alone if name in names and not alone] == names[: begin + 1]
    assert [name for name, alone in run_alone[-len(names[begin:]) :]] == names[begin:]


def test_no_replies_of_a_wrong_submission_stay_in_memory(judge: Judge) -> None:
    wrong = SOLUTIONS["masks"].replace(".tril()", ".triu()")
    gc.collect()
    gc.disable()
    try:
        grade(judge, {"masks": wrong})
        assert not any(isinstance(kept, ExerciseRun) for kept in gc.get_objects())
    finally:
        gc.enable()


def test_equal_replies_are_diagnosed_once(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a mistake that many in a class make; another mistake has other replies."""
    asked = []
    real = Diagnostician.diagnose

    def noted(self: Diagnostician, *arguments: Any) -> Diagnosed:
        asked.append(self.library.exercise)
        return real(self, *arguments)

    monkeypatch.setattr(Diagnostician, "diagnose", noted)
    judge.diagnosed.clear()  # as the first in their class
    right = "ids != pad_id"
    first = SOLUTIONS["masks"].replace(right, "ids == pad_id")
    other = SOLUTIONS["masks"].replace(right, "ids > pad_id")
    results = [
        grade(judge, {"masks": source})["masks"].diagnoses
        for source in (first, f"{first}\n# the same", other)
    ]
    assert results[0] == results[1] != results[2]
    assert asked == ["masks", "masks"]


def test_a_failure_of_the_smallest_case_is_told_as_it_is(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hypothesis would draw that case first, and look in vain for a smaller one."""
    wrong = SOLUTIONS["attention"].replace("math.sqrt(query.size(-1))", "query.size(-1)")
    monkeypatch.setattr(Check, "explore", lambda *_: pytest.fail("a smaller case was looked for"))
    assert grade(judge, {"attention": wrong})["attention"].checks[0].finding is not None


@pytest.mark.full(but=OFTEN_BROKEN)
@pytest.mark.parametrize("effect", SIDE_EFFECTS.values(), ids=SIDE_EFFECTS)
def test_what_one_exercise_breaks_costs_no_other_a_point(judge: Judge, effect: str) -> None:
    """`masks` breaks it in a call that it answers rightly."""
    harmful = SOLUTIONS["masks"] + HARMFUL.format(effect=effect.replace("\n", "\n    "))
    results = grade(judge, {**right_near("masks", "attention"), "masks": harmful})
    del results["masks"]
    assert all(map(full_marks, results.values()))


# Right but for one call, so that it gets full marks wherever that call goes through.
CALLS_WHAT_WAS_KEPT = f"""{SOLUTIONS["attention"]}

_whole = attention


def attention(*args, **options):
    import builtins, torch
    builtins.kept(*[torch.ones(1, 1, 2, 2)] * 3)
    return _whole(*args, **options)
"""


@pytest.mark.parametrize(
    "kept",
    [
        "torch.nn.functional.scaled_dot_product_attention",
        "torch._C._nn.scaled_dot_product_attention",
        "torch.ops.aten.scaled_dot_product_attention.default",
        "torch._scaled_dot_product_attention_math",
    ],
)
def test_what_an_earlier_exercise_took_hold_of_is_forbidden_too(judge: Judge, kept: str) -> None:
    """`masks` may use torch's attention. It cannot keep it for `attention`, which may not."""
    masks = f"{SOLUTIONS['masks']}\n\nimport builtins, torch\nbuiltins.kept = {kept}\n"
    results = grade(judge, {"masks": masks, "attention": CALLS_WHAT_WAS_KEPT})
    assert full_marks(results["masks"])
    assert not full_marks(results["attention"])
    seen = f"{masks}\n\nkept(*[torch.ones(1, 1, 2, 2)] * 3)\n"
    kept_here = grade(judge, {"masks": seen, "attention": SOLUTIONS["attention"]})
    assert all(full_marks(kept_here[name]) for name in ("masks", "attention"))


@given(
    st.lists(st.binary(max_size=3), max_size=4),
    st.lists(st.binary(max_size=3), max_size=4),
    st.sampled_from(framework.load("masks")),
    st.sampled_from(framework.load("masks")),
)
def test_only_equal_replies_to_the_same_check_are_known(
    left: list[bytes], right: list[bytes], one: framework.Check, other: framework.Check
) -> None:
    same = RightReplies.mark(one, left) == RightReplies.mark(other, right)
    assert same == (left == right and one.name == other.name)

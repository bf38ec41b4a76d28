"""Sources and error texts on which reading them fails, or takes long: they cost nobody else."""

from __future__ import annotations

import signal
from types import SimpleNamespace

import pytest
import torch

from grader.curriculum import stubs
from grader.grading import explanation
from grader.grading.cpu_limit import TooSlow, cpu_limit
from grader.grading.explanation import explain
from grader.grading.judge import Judge
from grader.grading.question import Question
from grader.grading.recording import Recordings
from grader.remote.session import StudentError
from grader.sandbox.host import Host
from grader.submission import Submission

_HEAD = "import torch\nfrom torch import nn\n"
_ATTENTION = _HEAD + "def attention(query, key, value, mask=None, dropout=None):\n"
_EXPANDED = (
    "The expanded size of the tensor (3) must match the existing size (2) at non-singleton "
    "dimension 99.  Target sizes: [2].  Tensor sizes: [2]"
)
_UNEQUAL = (
    "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1"
)
_RANGE = "Dimension out of range (expected to be in range of [-1, -100], but got 2)"
SOURCES = {
    "an empty index": ("attention", _ATTENTION + " held = query[..., 1:]\n held[()] = query\n"),
    "an axis that is not there": (
        "attention",
        f"{_ATTENTION} held = torch.zeros(2)\n held[..., {{}}['{_EXPANDED}']:] = query\n",
    ),
    "fewer axes than none": (
        "attention",
        f"{_ATTENTION} raise (IndexError('{_RANGE}'), lambda: query.transpose(1, 2))[0]\n",
    ),
    "what cannot be called": (
        "attention",
        _ATTENTION + " raise TypeError('shape() takes 1 positional argument')  # query.shape()\n",
    ),
    "a long line": (
        "attention",
        f"{_ATTENTION} raise RuntimeError('{_UNEQUAL}')  # {'view(' * 20_000}\n",
    ),
    "many names": (
        "attention",
        f"{_ATTENTION} return [].pop({', '.join(f'name_{n}=1' for n in range(1_000))})\n",
    ),
    "a default for self": (
        "linear",
        _HEAD + "class Linear(nn.Module):\n"
        " def __init__(self, in_features, out_features, bias=True):\n"
        "  super().__init__()\n"
        "  self.weight = nn.Parameter(torch.zeros(out_features, in_features))\n"
        "  self.bias = nn.Parameter(torch.zeros(out_features)) if bias else None\n"
        " def forward(self=None, x=None):\n"
        "  raise RuntimeError('boom')\n",
    ),
}


@pytest.fixture(scope="module")
def judge(host: Host, recordings: Recordings) -> Judge:
    return Judge(["softmax", "attention", "linear"], recordings, host, searches=True)


@pytest.mark.parametrize("kind", SOURCES)
def test_what_cannot_be_read_is_said_to_have_raised(kind: str, judge: Judge) -> None:
    exercise, source = SOURCES[kind]
    sources = {"softmax": stubs.reference_source("softmax"), exercise: source}
    results = {one.exercise: one for one in judge.grade(Submission("s", sources)).exercises}
    assert results["softmax"].points == results["softmax"].max_points
    result = results[exercise]
    assert (result.points or 0.0) < result.max_points
    assert not result.remarks
    findings = [check.finding for check in result.checks if check.finding]
    told = [each.headline for each in findings] + [each.message for each in result.diagnoses]
    assert max(map(len, told)) < 1_000
    assert any("Your code raised" in f"{each.headline}{each.help}" for each in findings)


def _broken(*_: object) -> None:
    raise ZeroDivisionError


def _endless(*_: object) -> None:
    while True:
        pass


@pytest.mark.parametrize("read", [_broken, _endless])
def test_reading_that_fails_or_does_not_end_leaves_what_was_raised_and_where(
    read: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explanation, "SECONDS", 0.05)
    monkeypatch.setattr(explanation, "fact_of", read)
    error = StudentError(["KeyError"], "'a'", "exercises/attention.py", 1)
    finding = explain(error, {"attention": "a['a']\n"}, "attention")
    assert finding.headline == "Your code raised KeyError: 'a'"
    assert finding.places[0].source == "a['a']"


def test_what_a_student_raises_makes_the_grader_import_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(torch, "__getattr__", asked.append)
    error = StudentError(["TypeError"], "__nothing() missing 1", "exercises/attention.py", 1)
    explain(error, {"attention": "torch._nothing()\n"}, "attention")
    assert not asked


def test_naming_that_does_not_end_costs_only_the_words(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.grading.judge.WORDS_SECONDS", 0.05)
    monkeypatch.setattr(Judge, "_explained", _endless)
    wrong = stubs.reference_source("attention").replace("math.sqrt(", "(1.37 + ")
    sources = {"attention": wrong, "softmax": stubs.reference_source("softmax")}
    results = {one.exercise: one for one in judge.grade(Submission("s", sources)).exercises}
    assert results["softmax"].points == results["softmax"].max_points
    assert results["attention"].status == "failed"
    assert not results["attention"].diagnoses
    assert "took too long" in results["attention"].remarks[0]


_WRONG_MASKS = f"""{_HEAD}
def padding_mask(ids, pad_id=0):
    return (ids != pad_id)[:, None, None]
def causal_mask(length, device=None):
    mask = torch.ones(length, length, device=device).triu().bool()
    return mask[None, None]
def target_mask(ids, pad_id=0):
    return padding_mask(ids, pad_id) & causal_mask(ids.size(1), ids.device)
"""
# The same mistake until all checks have run, and another known mistake from then on.
_TWO_FACED = """
_calls = []
def later(mask):
    _calls.append(1)
    return mask.new_ones(mask.shape).tril(-1) if len(_calls) > {} else mask
"""


def test_code_that_answers_differently_during_diagnosis_changes_nothing_for_a_classmate(
    host: Host, recordings: Recordings
) -> None:
    calls = sum(
        request.get("target") in ((None, "causal_mask"), (None, "target_mask"))
        for recording in recordings.of("masks")
        for case in recording.cases
        for request in case.requests
    )
    two_faced = _WRONG_MASKS.replace("return mask[", "return later(mask)[")
    names = []
    for sources in ([_WRONG_MASKS], [two_faced + _TWO_FACED.format(calls), _WRONG_MASKS]):
        judge = Judge(["masks"], recordings, host, shrink=False)
        results = [judge.grade(Submission("s", {"masks": source})) for source in sources]
        names.append([[one.mistakes for one in each.exercises[0].diagnoses] for each in results])
    (alone,), (other, after) = names
    assert alone != other
    assert after == alone


def test_known_mistakes_that_never_end_together_are_stopped_by_the_limit() -> None:
    request = {"op": "call", "target": (None, "causal_mask"), "args": [3], "kwargs": {}}
    question = Question("nobody_sees_the_future", [request], [{"ok": None}])
    with pytest.raises(TooSlow), cpu_limit(0.1):
        question.asked(SimpleNamespace(causal_mask=_endless))


class _Swallows:
    def __del__(self) -> None:
        _endless()


def _swallowed() -> None:
    _Swallows()
    _endless()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_limit_holds_after_an_exception_that_was_only_printed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("grader.grading.cpu_limit.TICK", 0.1)
    with pytest.raises(TooSlow), cpu_limit(0.1):
        _swallowed()


def test_a_limit_within_another_leaves_that_one_on() -> None:
    def within() -> None:
        with pytest.raises(TooSlow), cpu_limit(0.05):
            _endless()
        _endless()

    with pytest.raises(TooSlow), cpu_limit(0.2):
        within()
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)

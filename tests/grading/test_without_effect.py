"""Arguments that no line reads and results that are dropped are named with their line."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from grader.curriculum import NAMES
from grader.feedback.finding import Finding, Place, Status
from grader.feedback.results import CheckResult, Diagnosis, ExerciseResult, SuspectLine
from grader.grading.without_effect import told_as_unread, without_effect
from tests import DATA

DECODE = """
def greedy_decode(model, src, bos_id, eos_id, max_len):
    memory = model.encode(src)
    width = src.size(1)
    ids = torch.full((1, 1), bos_id)
    for _ in range(20):
        token = model.generator(model.decode(ids, memory, src))[:, -1].argmax(-1)
        ids = torch.cat([ids, token[:, None]], dim=1)
    return ids
"""

NORM = """
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.width = d_model

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        return x / x.std(-1)
"""


def wrong(exercise: str) -> ExerciseResult:
    return ExerciseResult(exercise, Status.FAILED, 0.0, 10.0)


def tells(named: Diagnosis) -> str:
    return named.message.partition("\n")[0]


def line_of(named: Diagnosis) -> int:
    said = re.search(r"\bline (\d+)\b", named.shows)
    assert said is not None
    return int(said[1])


def test_arguments_that_nothing_reads_are_told_at_their_function() -> None:
    (line,) = without_effect(wrong("decoding"), DECODE)
    assert line_of(line) == 2
    assert tells(line) == "No line reads `eos_id` or `max_len`, so they change nothing here."


def test_what_a_named_mistake_is_about_is_not_told_again() -> None:
    (line,) = without_effect(wrong("decoding"), DECODE, {"greedy_decode.eos_id"})
    assert tells(line) == "No line reads `max_len`, so it changes nothing here."


def test_an_argument_kept_where_nothing_reads_it_and_a_lost_result_are_told() -> None:
    lost, ignored = without_effect(wrong("layer_norm"), NORM)
    assert (line_of(lost), line_of(ignored)) == (9, 6)
    assert tells(lost) == "`centred` gets a value here that nothing reads."
    assert tells(ignored) == (
        "`d_model` is kept in `self.width`, which no line reads, so it changes nothing here."
    )
    read = NORM.replace("x.std(-1)", "(x.std(-1) + self.eps)").replace("centred", "x")
    (ignored,) = without_effect(wrong("layer_norm"), read)
    assert tells(ignored).startswith("`d_model` is kept in `self.width`, which no line reads, so")
    forgotten = read.replace("        self.width = d_model\n", "")
    (ignored,) = without_effect(wrong("layer_norm"), forgotten)
    assert tells(ignored) == "No line reads `d_model`, so it changes nothing here."


def test_arguments_that_the_exercise_does_not_ask_for_are_passed_over() -> None:
    helper = "def scores(query, key, mask):\n    return query @ key.mT\n"
    assert without_effect(wrong("attention"), helper) == ()


@pytest.mark.full
@pytest.mark.parametrize("exercise", NAMES)
def test_right_answers_leave_nothing_without_effect(exercise: str) -> None:
    """Whatever a right answer looks like, nothing of this could be said of it."""
    answers: list[Path] = sorted((DATA / "variants" / exercise).glob("*.py"))
    for path in answers:
        assert without_effect(wrong(exercise), path.read_text(encoding="utf-8")) == (), path.name


def test_a_line_that_raises_for_a_result_that_nothing_reads_is_told_as_that() -> None:
    source = "def forward(self, x):\n    a = x[2]\n    return x[1]\n"
    place = Place("rms_norm.py", 2, "a = x[2]")
    found = SuspectLine(place, "index", "Which elements?", ("-1",), tells="`2` picks the wrong.")
    check = CheckResult("", "", Status.ERROR, 0.0, 1.0, Finding("", places=(place,)))
    told = told_as_unread(replace(wrong("rms_norm"), checks=(check,), lines=(found,)), source)
    assert [*map(tells, told.diagnoses)] == ["`a` gets a value here that nothing reads."]
    assert told.lines == ()
    # Where it raises nothing, the edit is about something else.
    silent = replace(wrong("rms_norm"), lines=(found,))
    assert told_as_unread(silent, source) == silent


def test_a_list_that_all_calls_share_and_an_is_between_numbers_are_told() -> None:
    shared = "def fit(steps, losses=[]):\n    losses.extend(range(steps))\n    return losses\n"
    (line,) = without_effect(wrong("training_loop"), shared)
    assert "all calls without a `losses` share it" in tells(line)
    (line,) = without_effect(
        wrong("dropout"), "def drop(x, p):\n    return 0 * x if p is 1 else x\n"
    )
    assert line_of(line) == 2
    assert "`p == 1` compares the values" in tells(line)


SWIGLU = """
class SwiGLU(nn.Module):
    def __init__(self, d_model, d_ff, bias=False):
        super().__init__()
        self.w = nn.Linear(d_model, d_ff, bias)
        self.drop = nn.Dropout(0.3)

    def forward(self, x):
        return self.drop(self.w(x))
"""


def test_the_only_dropout_is_told_where_training_mode_should_be_evaluation() -> None:
    headline = "In training mode your module returns other numbers than in evaluation mode."
    check = CheckResult("", "works_on_any_input", Status.FAILED, 0.0, 1.0, Finding(headline))
    result = replace(wrong("swiglu"), checks=(check,))
    (line,) = without_effect(result, SWIGLU)
    assert (line_of(line), "`nn.Dropout(0.3)` acts in" in tells(line)) == (6, True)
    assert without_effect(wrong("swiglu"), SWIGLU) == ()
    twice = SWIGLU.replace("self.w(x)", "F.dropout(self.w(x), 0.1, self.training)")
    assert without_effect(result, twice) == ()

"""Where no name and no edit fits, the line is told at which values depart from right answers'."""

from __future__ import annotations

import re
import textwrap
from typing import Any

import pytest
import torch

from grader.curriculum import NAMES, mistakes
from grader.feedback.results import SuspectLine
from grader.grading import judge as judging
from grader.grading.diagnosis.diagnostician import Diagnosed
from grader.grading.judge import Judge
from grader.grading.recording import Recordings
from grader.grading.search.exchange import right_answers
from grader.remote.modules import file_name
from grader.remote.values import noted
from grader.sandbox.host import Host
from grader.submission import Submission
from tests import DATA

HEAD = """
import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x):
"""


@pytest.fixture
def judge(host: Host, recordings: Recordings, monkeypatch: pytest.MonkeyPatch) -> Judge:
    """A judge that names no mistake and whose search finds no edit."""
    nothing = Diagnosed((), ())
    monkeypatch.setattr(Judge, "_diagnosed", lambda *_: nothing)
    return Judge(["layer_norm"], recordings, host, searches=True)


def told(judge: Judge, forward: str, head: str = HEAD) -> dict[str, SuspectLine]:
    """The lines that are shown of a LayerNorm, by their text."""
    source = head + textwrap.indent(textwrap.dedent(forward).strip(), 8 * " ") + "\n"
    result = judge.grade(Submission("ada", {"layer_norm": source})).exercises[0]
    assert not result.remarks
    return {line.place.source: line for line in result.lines}


def test_the_line_is_told_up_to_which_all_is_right(judge: Judge) -> None:
    wrong = "spread = (x - mean).abs().mean(-1, keepdim=True) * 1.3 + self.eps"
    lines = told(
        judge,
        f"""
        mean = x.mean(-1, keepdim=True)
        {wrong}
        normed = (x - mean) / spread
        return normed * self.weight + self.bias
        """,
    )
    assert [*lines] == [wrong]
    assert lines[wrong].tells == (
        "In an example, what this line starts from is right, but `spread` is wrong after it."
    )
    assert "`spread`" in lines[wrong].asks


def test_of_two_faults_the_first_is_told(judge: Judge) -> None:
    first = "centred = (x - x.mean(-1, keepdim=True)).relu()"
    lines = told(
        judge,
        f"""
        {first}
        normed = centred / (x.var(-1, unbiased=False, keepdim=True) + self.eps).sqrt()
        return normed.sin() * self.weight + self.bias
        """,
    )
    assert [*lines] == [first]


def test_another_way_is_not_blamed(judge: Judge) -> None:
    wrong = "return normed * self.weight - self.bias.cos()"
    lines = told(
        judge,
        f"""
        doubled = 2 * (x - x.mean(-1, keepdim=True))
        normed = doubled / 2 / (x.var(-1, unbiased=False, keepdim=True) + self.eps).sqrt()
        {wrong}
        """,
    )
    assert [*lines] == [wrong]


def test_what_a_function_of_ones_own_returns_is_blamed_there_or_where_it_is_called(
    judge: Judge,
) -> None:
    own = "return (x - x.mean(-1, keepdim=True)).abs().mean(-1, keepdim=True) * 1.3 + 0.2"
    lines = told(
        judge,
        """
        mean = x.mean(-1, keepdim=True)
        normed = (x - mean) / spread_of(x)
        return normed * self.weight + self.bias
        """,
        head=HEAD.replace("class LayerNorm", f"def spread_of(x):\n    {own}\n\n\nclass LayerNorm"),
    )
    assert lines[own].tells.startswith("In an example, one of lines 7 and 19 is wrong")


def test_numbers_in_a_shape_of_their_own_are_not_called_right(judge: Judge) -> None:
    """A reshape that mixes the tokens keeps the order of the numbers."""
    lines = told(
        judge,
        """
        mixed = x.reshape(x.shape[-1], -1).transpose(0, 1)
        spread = (x.var(-1, unbiased=False, keepdim=True) + self.eps).sqrt()
        normed = (mixed.reshape(x.shape) - x.mean(-1, keepdim=True)) / spread
        return normed * self.weight + self.bias
        """,
    )
    assert "return normed * self.weight + self.bias" not in lines


def test_a_setting_that_no_right_answer_has_is_not_called_right(judge: Judge) -> None:
    lines = told(
        judge,
        """
        centred = x - x.mean(-1, keepdim=True)
        spread = (centred.square().mean(-1, keepdim=True) + self.eps).sqrt()
        return centred / spread * self.weight + self.bias
        """,
        head=HEAD.replace("self.eps = eps", "self.eps = eps * 3e4"),
    )
    (line,) = lines.values()
    assert re.match("In an example, one of lines .*11.* is wrong", line.tells)


def test_half_a_step_is_not_called_right(judge: Judge) -> None:
    """What is left out may be missing on either line."""
    lines = told(
        judge,
        """
        centred = x - x.mean(-1, keepdim=True)
        return centred * self.weight + self.bias
        """,
    )
    (line,) = lines.values()
    assert line.tells.startswith(
        "In an example, one of lines 14 and 15 is wrong: what they start from is right"
    )


def test_a_line_is_not_blamed_for_an_earlier_round_of_its_loop(judge: Judge) -> None:
    lines = told(
        judge,
        """
        total = torch.zeros_like(x[..., :1])
        for i in range(x.shape[-1]):
            before = total
            total = before + x[..., i : i + 1].abs() * 1.1
        centred = x - total / x.shape[-1]
        spread = (x.var(-1, unbiased=False, keepdim=True) + self.eps).sqrt()
        return centred / spread * self.weight + self.bias
        """,
    )
    assert "before = total" not in lines


def test_nothing_is_told_where_numbers_are_drawn(judge: Judge) -> None:
    assert not told(judge, "return x + torch.rand(x.shape) * self.weight + self.bias")


def test_where_an_edit_helps_no_values_are_compared(
    host: Host, recordings: Recordings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging, "Departures", None)  # calling it would fail, and be remarked on
    judge = Judge(["layer_norm"], recordings, host, searches=True)
    told(
        judge,
        """
        centred = x - x.mean(-1, keepdim=True)
        spread = (centred.square().mean(-1, keepdim=True) - self.eps).sqrt()
        return centred / spread * self.weight + self.bias
        """,
    )


def test_where_a_value_has_hundreds_of_names_nothing_is_told(judge: Judge) -> None:
    names = "\n".join(f"a{number} = a{number - 1}" for number in range(1, 700))
    mean = "normed = (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True, correction=0)"
    wrong = "wrong = normed.square() * a699 + 0.043 * normed.sin()"
    assert not told(judge, f"a0 = 3.77\n{names}\n{mean}\n{wrong}\nreturn wrong")


def test_a_name_of_thousands_of_letters_is_cut(judge: Judge) -> None:
    name = "wrong" * 2000
    mean = "normed = (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True, correction=0)"
    code = f"{mean}\n{name} = normed.square() + 0.043 * normed.sin()\nreturn {name}"
    (line,) = told(judge, code).values()
    assert line.tells.startswith("In an example, what this line starts from is right, but `wrong")
    assert max(map(len, (line.tells, line.asks, line.place.source))) <= 500


def test_each_change_of_a_value_is_noted_at_its_line() -> None:
    source = """
def double(x, times):
    for _ in range(times):
        x = x * 2
        x += 1
    return x
"""
    module: dict[str, Any] = {}
    exec(compile(source, file_name("doubling"), "exec"), module)
    files = {file_name("doubling"): "doubling"}
    made = noted(
        lambda request: module["double"](**request), [{"x": torch.ones(2), "times": 2}], files.get
    )
    assert made is not None
    assert [
        (line, variable, value.tolist())
        for _, line, _, variable, value in made
        if variable in ("x", "return")
    ] == [
        (2, "x", [1, 1]),
        (4, "x", [2, 2]),
        (5, "x", [3, 3]),
        (4, "x", [6, 6]),
        (5, "x", [7, 7]),
        (6, "return", [7, 7]),
    ]


def test_values_that_are_too_many_are_not_noted() -> None:
    def answer(request: dict[str, Any]) -> None:
        for _ in range(request["times"]):
            pass

    files = {__file__: "here"}
    assert noted(answer, [{"times": 2}], lambda _: files.get(__file__)) is not None
    assert noted(answer, [{"times": 10_000}], lambda _: files.get(__file__)) is None


def test_every_way_is_an_answer_that_the_tests_of_fairness_grade() -> None:
    for exercise in NAMES:
        for name, source in mistakes.ways(exercise).items():
            right = DATA / "variants" / exercise / f"{name}.py"
            assert source == right.read_text(encoding="utf-8"), f"{exercise}: {name}"
        assert len(right_answers(exercise)) > len(mistakes.ways(exercise))

"""Where no known mistake fits, the line is pointed at that a small edit would mend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from grader.curriculum import stubs
from grader.feedback.finding import Status
from grader.feedback.questions import QUESTIONS
from grader.judging import judge as judging
from grader.judging import workers
from grader.judging.divergence import leaving
from grader.judging.judge import Judge
from grader.judging.places import located
from grader.judging.recording import Recordings
from grader.judging.search import Mend
from grader.judging.suspicion import suspects
from grader.remote.channel import Channel
from grader.remote.edits import edits
from grader.remote.session import FoundEdit
from grader.remote.source import MAX_SIZE, Source, parsed
from grader.remote.trace import Value, follow
from grader.report.results import (
    CheckResult,
    Diagnosis,
    ExerciseResult,
    exercise_fields,
    exercise_result,
)
from grader.sandbox.host import Host
from grader.submission import Submission
from grader.submission.cells import Cell
from grader.submission.notebook import layout

VARIANTS = Path(__file__).parent / "variants"
NORM = (VARIANTS / "layer_norm" / "centering_matrix.py").read_text(encoding="utf-8")
RIGHT, WRONG = "torch.exp(0.5 *", "torch.exp(1.5 *"
LINE = 1 + NORM[: NORM.index(RIGHT)].count("\n")


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Host("process") as host:
        yield Judge(["layer_norm"], Recordings(2017), host, searches=True)


def graded(judge: Judge, source: str) -> ExerciseResult:
    return judge.grade(Submission("ada", {"layer_norm": source})).exercises[0]


def test_the_line_is_told_with_a_question_and_the_edit_comes_last(judge: Judge) -> None:
    result = graded(judge, NORM.replace(RIGHT, WRONG))
    assert not result.diagnoses
    (found,) = result.lines
    assert (found.place.file, found.place.line) == ("layer_norm.py", LINE)
    assert WRONG in found.message
    assert found.asks == QUESTIONS["constant"]
    assert "0.5" not in found.message
    assert found.hints[-1].startswith("With `0.5` in place of `1.5` this passes:")


def test_a_line_that_a_named_mistake_quotes_is_not_shown_again() -> None:
    check = CheckResult("agrees", "It agrees.", Status.FAILED, 0.0, 1.0)
    named = Diagnosis(("a",), "Wrong.", shows="Is it here? layer_norm.py, line 1: x = 1")
    found = ExerciseResult("layer_norm", Status.FAILED, 0.0, 1.0, None, (check,), (named,))
    made = [FoundEdit("layer_norm", line, "constant", "1", "2", 1) for line in (1, 12)]
    mend = Mend(tuple(made), frozenset({"agrees"}))
    shown = suspects(mend, found, {"layer_norm": "x = 1\n" * 12})
    assert [one.place.line for one in shown] == [12]


def test_where_a_right_answer_is_nearly_the_same_few_edits_are_tried(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[Sequence[int]] = []
    edit = Channel.edit

    def counted(channel: Channel, exercise: str, numbers: Sequence[int]) -> None:
        tried.append(numbers)
        edit(channel, exercise, numbers)

    monkeypatch.setattr(Channel, "edit", counted)
    wrong = stubs.reference_source("layer_norm").replace("+ self.eps", "- self.eps")
    (found,) = graded(judge, wrong).lines
    assert found.place.line == 1 + wrong[: wrong.index("- self.eps")].count("\n")
    assert len([one for one in tried if one]) < 10


def test_the_report_keeps_the_line(judge: Judge) -> None:
    result = graded(judge, NORM.replace(RIGHT, WRONG))
    assert exercise_result(exercise_fields(result)).lines == result.lines


def test_in_a_notebook_it_is_a_line_of_a_cell(judge: Judge) -> None:
    submission = notebook("import torch\nfrom torch import nn", NORM.replace(RIGHT, WRONG))
    (found,) = located(judge.grade(submission), submission.labels).exercises[0].lines
    assert (found.place.file, found.place.line) == ("cell of layer_norm", LINE)
    assert WRONG in found.place.source


def notebook(*sources: str) -> Submission:
    cells = (*(Cell("code", source) for source in sources), Cell("code", "", "layer_norm-points"))
    return Submission("ada", layout(cells).sources(), cells=cells)


def test_right_code_is_not_searched(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "Search", None)
    result = graded(judge, NORM)
    assert not result.lines
    assert not result.remarks


def test_a_named_mistake_is_not_searched(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "Search", None)
    result = graded(judge, NORM.replace("c = c * self.weight", "pass"))
    assert result.diagnoses
    assert not result.lines
    assert not result.remarks


@pytest.mark.parametrize("search", [True, False])
def test_a_run_searches_unless_it_is_told_not_to(search: bool) -> None:
    submission = Submission("ada", {"layer_norm": NORM.replace(RIGHT, WRONG)})
    plan = workers.Plan(("layer_norm",), seed=3, isolation="process", jobs=1, search=search)
    (result,) = workers.grade([submission], plan)
    assert bool(result.exercises[0].lines) == search


def test_a_slip_that_the_first_case_does_not_show_is_searched_for(judge: Judge) -> None:
    """The case in which it shows is told from the others by itself, not by its tensors."""
    slip = "torch.exp((1.5 if len(v) > 4 else 0.5) *"
    result = graded(judge, NORM.replace(RIGHT, slip))
    assert result.status == "failed"
    assert not result.remarks


def test_where_the_search_itself_fails_the_points_stand(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = NORM.replace(RIGHT, WRONG)
    points = graded(judge, wrong).points
    monkeypatch.setattr(judging, "Search", None)  # calling it is a TypeError
    result = graded(judge, wrong + "\n# once more\n")
    assert (result.status, result.points) == ("failed", points)
    (remark,) = result.remarks
    assert remark.startswith("The grader failed while it looked for the cause; the points stand (")


def test_where_no_edit_helps_nothing_is_said(judge: Judge) -> None:
    assert graded(judge, NORM.replace("return c", "return c.cos().sin() * x")).lines == ()


def test_an_edit_that_makes_a_loop_endless_does_not_end_the_search(judge: Judge) -> None:
    loop = "        n = 3\n        while n > 0:\n            n = n - 1\n"
    source = NORM.replace("        c = x @", loop + "        c = x @")
    (found,) = graded(judge, source.replace(RIGHT, WRONG)).lines
    assert found.place.line == LINE


def test_every_kind_of_edit_has_a_question() -> None:
    files = sorted(VARIANTS.glob("*/*.py"))
    kinds = {one.kind for file in files for one in edits(Source(file.read_text(encoding="utf-8")))}
    assert kinds <= set(QUESTIONS)
    assert kinds >= {"axis", "not", "constant", "argument order", "name", "transpose", "shape"}


def test_what_cannot_be_read_has_no_edits() -> None:
    long = "x = 1\n" * (MAX_SIZE // 6 + 1)
    deep = "x = " + "-" * 20_000 + "1"
    assert parsed({"long": long, "deep": deep, "broken": "def f(:"}) == {}


@pytest.mark.parametrize(
    "line", ["import os", "from shutil import rmtree", "x = open('a', 'w')", "os.remove('a')"]
)
def test_what_has_to_do_with_files_is_not_edited(line: str) -> None:
    assert parsed({"cell_0": "def f(x):\n    return -x", "cell_1": line}) == {}


@pytest.mark.parametrize(
    ("source", "becomes"),
    [
        ("def f(x):\n    return x.softmax(dim=-2)", "return x.softmax(dim=(-1))"),
        ("def f(s, m):\n    return s.masked_fill(m, 0.0)", "return s.masked_fill((~m), 0.0)"),
        ("def f(s, m):\n    s.masked_fill(m, 0.0)\n    return s", "s = s.masked_fill(m, 0.0)"),
        ("def f(x):\n    return x.var(-1)", "return (x.var(-1, correction=0))"),
        ("def f(x):\n    return x.mean(-1)", "return (x.mean(-1, keepdim=True))"),
        ("def f(q, k):\n    return q @ k", "return q @ (k.transpose(-2, -1))"),
        ("def f(a, b, bias):\n    return nn.Linear(a, b)", "return (nn.Linear(a, b, bias=bias))"),
        (
            "def f(x, h):\n    return x.view(2, h, 3, 4)",
            "return (x.reshape(2, 3, h, 4).transpose(1, 2))",
        ),
    ],
)
def test_slips_that_beginners_make_are_undone(source: str, becomes: str) -> None:
    text = Source(source)
    assert any(becomes in text.edited(one) for one in edits(text))


@pytest.mark.parametrize(
    ("source", "becomes"),
    [
        (
            "def f(x):\n    def g(self, y):\n        return y\n    return self.g(x)",
            "return (g(self, x))",
        ),
        (
            "def f(a, mask=None):\n    a = a + mask\n    return a",
            "if mask is not None: a = a + mask",
        ),
        ("def f(a, mask):\n    return a + mask", "return (a.masked_fill(~mask, -1e9))"),
        (
            "class A:\n    def __init__(self):\n        self.x = 1",
            "super().__init__()\n        self",
        ),
        ("def f(x):\n    self.norm(x)\n    return x", "x = self.norm(x)"),
        ("def f(x):\n    y = x.exp()\n    return y", "return (y, x)"),
        ("def f(x):\n    return x.T @ x", "return (x.transpose(-2, -1)) @ x"),
    ],
)
def test_so_are_slips_of_whole_statements(source: str, becomes: str) -> None:
    text = Source(source)
    assert any(becomes in text.edited(one) for one in edits(text))


def test_what_is_done_alike_for_query_and_key_is_mended_in_both() -> None:
    text = Source("def f(q, k, b, h):\n    q = q.view(b, h, 3)\n    k = k.view(b, h, 3)\n")
    turned = "transpose(1, 2).reshape"
    assert any(text.edited(one).count(turned) == 2 for one in edits(text))


def test_a_layer_too_many_is_left_out_with_its_use() -> None:
    text = Source(
        "class A:\n    def __init__(self):\n        self.more = Norm(3)\n"
        "    def forward(self, x):\n        return self.more(x)\n"
    )
    left = [text.edited(one) for one in edits(text)]
    assert any("Norm" not in one and "return (x)" in one for one in left)


def test_two_edits_of_one_place_are_refused() -> None:
    text = Source("def f(x):\n    return x.softmax(dim=0)")
    first, second, *_ = (one for one in edits(text) if one.kind == "axis")
    with pytest.raises(ValueError, match="same place"):
        text.edited(first, second)


def test_the_line_that_leaves_the_way_of_right_answers_is_known() -> None:
    """Whatever the order of the axes, what a right answer makes too is on the way."""

    def values(*lines: str) -> list[Value]:
        names: dict[str, Any] = {}
        exec(compile("\n".join(("def f(x):", *lines)), "mine", "exec"), names)
        x = torch.arange(12.0).reshape(3, 4)
        known = {"mine": "mine"}
        return follow(lambda one: names["f"](one["x"]), [{"x": x}], known.get, True).values

    right = values(" a = x * 2", " b = a.exp()", " return b - 1")
    theirs = values(" u = (x * 2).T", " v = u.exp2()", " w = v - 1", " return w")
    assert leaving(theirs, right, wrong={0}, crashed=()) == (
        {("mine", 3)},
        {("mine", 4), ("mine", 5)},
    )


def test_two_slips_of_which_one_hides_the_other_are_both_told(judge: Judge) -> None:
    """Neither edit alone makes a check pass."""
    twice = NORM.replace(RIGHT, WRONG).replace("c = c * self.weight", "c = c * self.weigth")
    first, second = graded(judge, twice).lines
    assert (first.place.source, second.place.line) == ("c = c * self.weigth", LINE)
    assert f"and the same or the like on line {LINE}, this passes" in first.hints[-1]

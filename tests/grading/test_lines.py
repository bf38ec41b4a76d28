"""Where no known mistake fits, the line is pointed at that a small edit would fix."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

from grader.curriculum import stubs
from grader.edits.edits import edits
from grader.edits.kinds import KINDS, nearly
from grader.edits.source import Answer, Edit
from grader.feedback.finding import Finding, Place, Status
from grader.feedback.results import (
    CheckResult,
    Diagnosis,
    ExerciseResult,
    exercise_fields,
    exercise_result,
)
from grader.grading import judge as judging
from grader.grading import workers
from grader.grading.judge import Judge
from grader.grading.places import located
from grader.grading.recording import Recordings
from grader.grading.search.divergence import leaving
from grader.grading.search.search import FEWER, NEARLY_RIGHT, Fix
from grader.grading.search.suspicion import suspects
from grader.grading.search.target import Target, accepts
from grader.recognition.likeness import MAX_SOURCE
from grader.remote.channel import Channel
from grader.remote.trace import Value, follow
from grader.sandbox.host import Child, Host
from grader.submission import Submission
from grader.submission.cells import Cell
from grader.submission.notebook import layout
from tests import DATA

VARIANTS = DATA / "variants"
NORM = (VARIANTS / "layer_norm" / "centering_matrix.py").read_text(encoding="utf-8")
RIGHT, WRONG = "torch.exp(0.5 *", "torch.exp(1.5 *"
LINE = 1 + NORM[: NORM.index(RIGHT)].count("\n")


@pytest.fixture(scope="module")
def judge(host: Host, recordings: Recordings) -> Judge:
    return Judge(["layer_norm"], recordings, host, searches=True)


def answer(text: str) -> Answer:
    """An answer of one file, called f."""
    return Answer({"f": text})


def graded(judge: Judge, source: str) -> ExerciseResult:
    return judge.grade(Submission("ada", {"layer_norm": source})).exercises[0]


def test_the_line_is_told_with_a_question_and_the_edit_comes_last(judge: Judge) -> None:
    result = graded(judge, NORM.replace(RIGHT, WRONG))
    assert not result.diagnoses
    (suspect,) = result.lines
    assert (suspect.place.file, suspect.place.line) == ("layer_norm.py", LINE)
    assert WRONG in suspect.message
    assert suspect.tells == "With a different value in place of `1.5`, you get all the points."
    assert suspect.asks == KINDS["constant"].asks
    assert "0.5" not in suspect.message
    assert suspect.hints[-1].startswith("With `0.5` in place of `1.5` this passes:")


def test_edits_run_where_the_answer_was_graded_and_the_next_one_is_graded_there(
    host: Host, recordings: Recordings, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes: list[Child] = []
    fork = host.fork

    def noted() -> Child:
        processes.append(fork())
        return processes[-1]

    monkeypatch.setattr(host, "fork", noted)
    judge = Judge(["layer_norm", "feed_forward"], recordings, host, searches=True)
    following = stubs.reference_source("feed_forward")
    submission = Submission(
        "ada", {"layer_norm": NORM.replace(RIGHT, WRONG), "feed_forward": following}
    )
    searched, next_one = judge.grade(submission).exercises
    assert searched.lines
    assert next_one.status is Status.PASSED
    assert len(processes) == 1
    assert processes[0].sock.fileno() == -1  # it is closed


@pytest.mark.parametrize(("shown", "kept"), [("layer_norm.py, line 1: x = 1", 1), ("", 0)])
def test_where_one_edit_leaves_nothing_wrong_no_mistake_on_another_line_is_named(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, shown: str, kept: int
) -> None:
    """There is only one fault, so a mistake that explains half of what is wrong is not there."""
    names = [recording.check.name for recording in judge.recordings.of("layer_norm")][:2]
    checks = tuple(CheckResult(name, "It agrees.", Status.FAILED, 0.0, 1.0) for name in names)
    named = Diagnosis(("a",), "Wrong.", shows=shown)
    result = ExerciseResult("layer_norm", Status.FAILED, 0.0, 2.0, None, checks, (named,))
    edit = Edit(1, "axis", "1", "2", 0, 1, "2", 1, file="layer_norm")
    fix = Fix((edit,), frozenset(names[:1]), whole=True)
    monkeypatch.setattr(judging, "Search", lambda *_: SimpleNamespace(fix=lambda *_: fix))
    process: Any = SimpleNamespace(sources={"layer_norm": "x = 1\n"})
    told = judge._with_lines(result, names[:1], process)
    assert len(told.diagnoses) == kept
    assert len(told.lines) == 1 - kept


@pytest.mark.parametrize(
    ("kind", "more", "passing", "told"),
    [
        ("extra term", (), 1, "With one fewer term in `a + b`, one more check passes."),
        ("name", (), 2, "With a different variable in place of `a + b`, 2 more checks pass."),
        ("axis", (), 3, "With a different axis in `a + b`, you get all the points."),
        ("axis", (4,), 1, "With a different axis in `a + b` and line 4 changed as well, one more "
         "check passes."),
    ],
)  # fmt: skip
def test_what_was_tried_is_told_and_what_came_of_it(
    kind: str, more: tuple[int, ...], passing: int, told: str
) -> None:
    """That is so even where the line is wrong in another way than this edit of it says."""
    checks = tuple(
        CheckResult(name, "It agrees.", Status.FAILED, 0.0, 1.0)
        for name in ("first", "second", "third")
    )
    result = ExerciseResult("layer_norm", Status.FAILED, 0.0, 3.0, None, checks)
    edit = Edit(1, kind, "a + b", "a", 0, 1, "a", 1, more=more, file="layer_norm")
    fix = Fix((edit,), frozenset(check.check for check in checks[:passing]))
    (line,) = suspects(fix, result, {"layer_norm": "x = a + b\n"})
    assert line.tells == told


def test_a_return_is_added_after_a_line_not_put_in_its_place() -> None:
    told = nearly("missing return", "x = f(x)", "return x", "It agrees.")
    assert told == "With `return x` after `x = f(x)` this passes: It agrees."


@pytest.mark.parametrize("kind", ["comparison", "condition", "name", "unguarded", "extra call"])
def test_an_edit_that_may_only_avoid_an_exception_is_not_told(kind: str) -> None:
    """The line that raised, which the exception is shown with, says more."""
    checks = tuple(
        CheckResult(name, "It agrees.", Status.ERROR, 0.0, 1.0) for name in ("first", "second")
    )
    result = ExerciseResult("layer_norm", Status.ERROR, 0.0, 2.0, None, checks)
    edit = Edit(1, kind, "m", "dim", 0, 1, "dim", 1, file="layer_norm")
    fix = Fix((edit,), frozenset({"first"}))
    assert suspects(fix, result, {"layer_norm": "x = m\n"}) == ()
    # What a known mistake seemed to explain may be right with it, too.
    (line,) = suspects(replace(fix, whole=True), result, {"layer_norm": "x = m\n"})
    assert line.tells


def test_what_an_assert_demands_is_dropped_and_not_turned_round() -> None:
    text = answer("def f(d, h):\n    assert d % h == 0\n    if d % h == 1: return None")
    tried = {(edit.was, edit.becomes) for edit in edits(text)}
    assert ("assert d % h == 0", "") in tried
    assert "d % h == 0" not in {was for was, _ in tried}
    assert ("d % h == 1", "d % h != 1") in tried


@pytest.mark.parametrize(
    ("kind", "was", "becomes", "raised", "told"),
    [
        ("name", "m", "n", "", False),
        ("name", "m", "m.lower()", "", True),
        ("comparison", "m", "m > 0", "", False),
        ("argument order", "torch.arange(0, d, 2)", "torch.arange(d, 0, 2)", "", False),
        ("transpose", "m", "m.mT", "AssertionError", False),
        ("transpose", "m", "m.mT", "RuntimeError", True),
        ("operator", "m + self.norm.eps", "m * self.norm.eps", "", False),
        ("operator", "m * w + bias", "(m * w) * bias", "", False),
        ("operator", "m + w", "m * w", "", True),
        ("operator", "m * bias", "m + bias", "", True),
    ],
)
def test_what_may_pass_a_check_by_chance_is_not_told(
    kind: str, was: str, becomes: str, raised: str, told: bool
) -> None:
    """An edit that leads away says less than the line that raised, or than silence."""
    place = Place("layer_norm.py", 2, "assert m.shape == n.shape")
    finding = Finding(f"Your code raised {raised}", places=(place,)) if raised else None
    status = Status.ERROR if raised else Status.FAILED
    checks = tuple(
        CheckResult(name, "It agrees.", status, 0.0, 1.0, finding) for name in ("first", "second")
    )
    result = ExerciseResult("layer_norm", status, 0.0, 2.0, None, checks)
    edit = Edit(1, kind, was, becomes, 0, 1, becomes, 1, file="layer_norm")
    fix = Fix((edit,), frozenset({"first"}))
    source = {"layer_norm": f"x = {was}\nassert m.shape == n.shape\n"}
    assert bool(suspects(fix, result, source)) is told
    assert suspects(replace(fix, whole=True), result, source)


def test_where_dropping_a_condition_is_enough_what_keeps_it_is_told(judge: Judge) -> None:
    """Refusing nothing makes as many checks pass as refusing what should be refused."""
    right = "self.weight = "
    assert right in NORM
    wrong = f"if sum([d_model]) > 0: raise ValueError(d_model)\n        {right}"
    source = NORM.replace(right, wrong, 1)
    (suspect,) = graded(judge, source).lines
    assert suspect.kind == "comparison"


def test_a_line_that_a_named_mistake_quotes_is_not_shown_again() -> None:
    check = CheckResult("agrees", "It agrees.", Status.FAILED, 0.0, 1.0)
    named = Diagnosis(("a",), "Wrong.", shows="Is it here? layer_norm.py, line 1: x = 1")
    result = ExerciseResult("layer_norm", Status.FAILED, 0.0, 1.0, None, (check,), (named,))
    made = [Edit(line, "constant", "1", "2", 0, 1, "2", 1, file="layer_norm") for line in (1, 12)]
    fix = Fix(tuple(made), frozenset({"agrees"}))
    shown = suspects(fix, result, {"layer_norm": "x = 1\n" * 12})
    assert [item.place.line for item in shown] == [12]


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is loaded for a search from now on."""
    texts_tried: list[str] = []
    reload = Channel.reload

    def counted(channel: Channel, exercise: str, texts: Mapping[str, str]) -> None:
        texts_tried.append(texts[exercise])
        reload(channel, exercise, texts)

    monkeypatch.setattr(Channel, "reload", counted)
    return texts_tried


def test_where_a_right_answer_is_nearly_the_same_few_edits_are_tried(
    judge: Judge, tried: list[str]
) -> None:
    wrong = stubs.reference_source("layer_norm").replace("+ self.eps", "- self.eps")
    (suspect,) = graded(judge, wrong).lines
    assert suspect.place.line == 1 + wrong[: wrong.index("- self.eps")].count("\n")
    assert len([text for text in tried if text != wrong]) < 10


def test_an_edit_that_makes_a_right_answer_is_shown_and_need_not_run(
    host: Host, recordings: Recordings, tried: list[str]
) -> None:
    wrong = stubs.reference_source("attention").replace("query.size(-1)", "query.size(+1)")
    judge = Judge(["attention"], recordings, host, searches=True)
    result = judge.grade(Submission("ada", {"attention": wrong})).exercises[0]
    (suspect,) = result.lines
    assert suspect.kind == "sign"
    assert suspect.tells == "With the other sign for `+1`, you get all the points."
    assert not {*tried} - {wrong}


def test_where_a_right_answer_is_nearly_the_same_the_search_is_soon_given_up(
    judge: Judge, tried: list[str]
) -> None:
    right = stubs.reference_source("layer_norm")
    wrong = re.sub(r"x\.var\(.*\)", "float(x.shape[0] * x.shape[-1] + 3)", right)
    assert not graded(judge, wrong).lines
    assert len([text for text in tried if text != wrong]) <= NEARLY_RIGHT


def test_fewer_edits_are_tried_where_the_code_raises_and_no_reply_gets_right(
    judge: Judge, tried: list[str]
) -> None:
    raising = NORM.replace("return ", "self.none.of.this.exists(x)\n        return ")
    result = graded(judge, raising)
    assert {check.status for check in result.checks if check.max_points} == {Status.ERROR}
    assert len([text for text in {*tried} if text != raising]) <= FEWER


DECOY = "spread = x.var(dim=-1, keepdim=True, unbiased=True)"
UNBIASED = f"""
import torch
from torch import nn

class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x):
        {DECOY}
        c = x - x.mean(dim=-1, keepdim=True)
        s = (c * c).sum(dim=-1, keepdim=True) / (x.shape[-1] - 1)
        return c / torch.sqrt(s + self.eps) * self.weight + self.bias
"""


def test_a_line_beside_a_named_mistake_is_one_that_an_edit_confirms(
    judge: Judge, host: Host, recordings: Recordings
) -> None:
    """What is never used looks most like the line where the mistake is made."""
    guessing = Judge(["layer_norm"], recordings, host)
    (guessed,) = graded(guessing, UNBIASED).diagnoses
    assert DECOY in guessed.shows
    (named,) = graded(judge, UNBIASED).diagnoses
    assert named.mistakes == guessed.mistakes
    assert DECOY not in named.shows


def test_the_report_keeps_the_line(judge: Judge) -> None:
    result = graded(judge, NORM.replace(RIGHT, WRONG))
    assert exercise_result(exercise_fields(result)).lines == result.lines


def test_in_a_notebook_it_is_a_line_of_a_cell(judge: Judge) -> None:
    submission = notebook("import torch\nfrom torch import nn", NORM.replace(RIGHT, WRONG))
    (suspect,) = located(judge.grade(submission), submission.labels).exercises[0].lines
    assert (suspect.place.file, suspect.place.line) == ("cell of layer_norm", LINE)
    assert WRONG in suspect.place.source


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


@pytest.mark.full(but=(True,))
@pytest.mark.parametrize("search", [True, False])
def test_a_run_searches_unless_it_is_told_not_to(search: bool) -> None:
    submission = Submission("ada", {"layer_norm": NORM.replace(RIGHT, WRONG)})
    plan = workers.Plan(("layer_norm",), seed=3, isolation="process", jobs=1, search=search)
    (result,) = workers.grade([submission], plan)
    assert bool(result.exercises[0].lines) == search


def test_a_slip_that_the_first_case_does_not_show_is_searched_for(judge: Judge) -> None:
    """The case in which it shows differs from the others in itself, not in its tensors."""
    slip = "torch.exp((1.5 if len(v) > 4 else 0.5) *"
    result = graded(judge, NORM.replace(RIGHT, slip))
    assert result.status == "failed"
    assert not result.remarks


ROTATION = """
import torch


def rotary_angles(head_dim, length, base=10000.0):
    if head_dim % 2 != 0:
        raise ValueError("d_head must be even for RoPE")
    channel_range = torch.arange(0, head_dim, 2.0, dtype=torch.float32)
    inv_freq = 1.0 / (base ** (channel_range / head_dim))
    pos_seq = torch.arange(0, length, dtype=torch.float32)
    return torch.einsum("i,j->ij", pos_seq, inv_freq)


def apply_rotary(x, angles):
    rope_cache = torch.stack((torch.sin(angles), torch.cos(angles)), dim=-1).to(x.dtype)
    sin, cos = rope_cache[..., 0], rope_cache[..., 1]
    x1, x2 = x[..., ::2], x[..., 1::2]
    _x1 = x1 * cos - x2 * sin
    _x2 = -x1 * sin + x2 * cos
    return torch.stack([_x1, _x2], dim=-1).reshape_as(x)
"""


def test_the_line_that_gives_all_points_is_shown_not_one_that_makes_up_for_it(
    host: Host, recordings: Recordings
) -> None:
    """With a plus in the line before, lengths are kept as well, but all turns are clockwise."""
    judge = Judge(["rope"], recordings, host, searches=True)
    result = judge.grade(Submission("ada", {"rope": ROTATION})).exercises[0]
    assert [line.place.source for line in result.lines] == ["_x2 = -x1 * sin + x2 * cos"]


def test_where_the_search_itself_fails_the_points_stand(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = NORM.replace(RIGHT, WRONG)
    points = graded(judge, wrong).points
    monkeypatch.setattr(judging, "Search", None)  # calling it is a TypeError
    result = graded(judge, wrong + "\n# once more\n")
    assert (result.status, result.points) == ("failed", points)
    (remark,) = result.remarks
    assert remark.startswith(
        "The grader failed while it looked for the cause; the points are not affected ("
    )


@pytest.mark.full(seconds=2)
def test_where_no_edit_helps_nothing_is_said(judge: Judge) -> None:
    assert graded(judge, NORM.replace("return c", "return c.cos().sin() * x")).lines == ()


@pytest.mark.full(seconds=2)
def test_an_edit_that_makes_a_loop_endless_does_not_end_the_search(judge: Judge) -> None:
    loop = "        n = 3\n        while n > 0:\n            n = n - 1\n"
    source = NORM.replace("        c = x @", loop + "        c = x @")
    (suspect,) = graded(judge, source.replace(RIGHT, WRONG)).lines
    assert suspect.place.line == LINE


@pytest.mark.full(seconds=5)
def test_every_kind_of_edit_has_a_question() -> None:
    files = sorted(VARIANTS.glob("*/*.py"))
    kinds = {
        edit.kind for file in files for edit in edits(answer(file.read_text(encoding="utf-8")))
    }
    assert kinds <= set(KINDS)
    assert kinds >= {"axis", "not", "constant", "argument order", "name", "transpose", "shape"}


def test_what_may_be_left_out_is_not_asked_about_as_a_branch() -> None:
    text = answer("def f(a, mask=None):\n    a = a + mask\n    return a")
    (edit,) = (item for item in edits(text) if "is not None:" in item.becomes)
    assert edit.kind == "unguarded"
    assert "branch" not in KINDS[edit.kind].asks


@pytest.mark.parametrize(("number", "tried"), [("2", False), ("1000", True), ("1000.0", True)])
def test_only_a_large_number_is_replaced_by_ten_thousand(number: str, tried: bool) -> None:
    """So many layers would take the time of a hundred other edits."""
    text = answer(f"def f(x):\n    return x * {number}\n")
    changed = [edit.becomes for edit in edits(text) if edit.kind == "constant"]
    assert changed
    assert any(value.startswith("10000") for value in changed) == tried


def test_no_flag_gets_another_default() -> None:
    """That would only take another branch than the one in which something is wrong."""
    text = answer("def f(x, scale=0.5, norm_first=False):\n    return x * scale\n")
    changed = [edit.becomes for edit in edits(text) if edit.kind == "constant"]
    assert changed
    assert "True" not in changed


@pytest.mark.parametrize(
    "written",
    ["round(d / 64) * 64", "int(d // n) * n", "n * ((d + n - 1) // n)", "math.ceil(d / n) * n"],
)
def test_a_size_rounded_to_a_multiple_lacks_no_brackets(written: str) -> None:
    """Multiplying inside would undo the division, and the rounding with it."""
    found = edits(answer(f"def f(d, n):\n    return {written}\n"))
    assert [edit.becomes for edit in found if edit.kind == "rounded"] == ["d"]
    assert not [edit for edit in found if edit.kind == "brackets"]


def test_what_cannot_be_read_has_no_edits() -> None:
    long = "x = 1\n" * (MAX_SOURCE // 6 + 1)
    deep = "x = " + "-" * 20_000 + "1"
    assert Answer({"long": long, "deep": deep, "broken": "def f(:"}).sources == {}


@pytest.mark.parametrize(
    "line", ["import os", "from shutil import rmtree", "x = open('a', 'w')", "os.remove('a')"]
)
def test_what_has_to_do_with_files_is_not_edited(line: str) -> None:
    assert Answer({"cell_0": "def f(x):\n    return -x", "cell_1": line}).sources == {}


@pytest.mark.parametrize(
    ("source", "becomes"),
    [
        ("def f(x):\n    return x.softmax(dim=-2)", "return x.softmax(dim=(-1))"),
        ("def f(s, m):\n    return s.masked_fill(m, 0.0)", "return s.masked_fill((~m), 0.0)"),
        ("def f(s, m):\n    s.masked_fill(m, 0.0)\n    return s", "s = s.masked_fill(m, 0.0)"),
        ("def f(x):\n    return x.var(-1)", "return (x.var(-1, correction=0))"),
        ("def f(d, x):\n    return x / torch.sqrt(d)", "return x / (d ** 0.5)"),
        ("def f(x):\n    return x.mean(-1)", "return (x.mean(-1, keepdim=True))"),
        ("def f(q, k):\n    return q @ k", "return q @ (k.transpose(-2, -1))"),
        ("def f(x, m):\n    return torch.exp(x) - m", "return (torch.exp(x - m))"),
        ("def f(x, m):\n    return torch.exp(x - m)", "return (torch.exp(x) - m)"),
        ("def f(x, m):\n    return x - m.mean(-1)", "return ((x - m).mean(-1))"),
        ("def f(x):\n    return x.max(dim=-1)", "return (x.max(dim=-1).values)"),
        ("def f(n):\n    return torch.zeros(n, n)", "return (torch.ones(n, n))"),
        ("def f(n):\n    return torch.zeros(n, dtype=torch.int64)", "dtype=(torch.float32)"),
        ("def f(w, b):\n    return w.uniform_(b, b)", "return w.uniform_((-b), b)"),
        ("def f(x, dim=-1):\n    return x.cumsum(dim).sum(-1)", "sum((dim))"),
        ("def f(a, b, bias):\n    return nn.Linear(a, b)", "return (nn.Linear(a, b, bias=bias))"),
        (
            "def f(x, h):\n    return x.view(2, h, 3, 4)",
            "return (x.reshape(2, 3, h, 4).transpose(1, 2))",
        ),
    ],
)
def test_slips_that_beginners_make_are_undone(source: str, becomes: str) -> None:
    text = answer(source)
    assert any(becomes in text.edited(edit)["f"] for edit in edits(text))


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
        (
            "def f(x):\n    for y in x:\n        y = y + 1\n        return y",
            "        pass\n    return y",
        ),
        (
            "def f(x):\n    for y in x:\n        z = 0\n        z = z + y\n    return z",
            "    z = 0\n    for y in x:\n        pass\n        z = z + y",
        ),
        (
            "def f(x):\n    for y in x:\n        z = y\n    z = z + 1\n    return z",
            "        z = y\n        z = z + 1\n    return z",
        ),
        (
            "def f(q, k, v, src_mask):\n    src_mask = src_mask[0]\n    return attention(q, k, v)",
            "attention(q, k, v, mask=src_mask)",
        ),
        ("def f(a, b):\n    return g(a.exp(), b)", "g((b), b)"),
        ("def f(x):\n    return x.shape(1)", "return (x.shape[1])"),
        ("def f(a, b):\n    torch.cat([a, b])\n    return a", "a = torch.cat([a, b])"),
        ("def f(a, b):\n    return a - b / (a + b)", "(a - b) / (a + b)"),
        ("def f(a, b):\n    return a * 1 + b", "a * (1 + b)"),
        ("def f(a, b):\n    return a.mul_(b)", "return (a.mul(b))"),
        ("def f(a, b):\n    g(a, -1, k=2)\n    return g(b)", "return (g(b, -1, k=2))"),
        ("def f(a):\n    if a:\n        return a", "if (a is not None):"),
        ("def f(a):\n    if a < 3:\n        a += 1\n    return a", "while a < 3:"),
        ("def f(a):\n    return list(set(a))", "list((sorted(set(a))))"),
        (
            "class A:\n    def __init__(self, p):\n        assert p < 1\n        self.p = 0.5",
            "self.p = (p)",
        ),
        (
            "class A:\n    def g(self):\n        self.p = 1\n    def f(self):\n        return p",
            "return (self.p)",
        ),
        (
            "def f(self, x):\n    return self.sublayer(x, self.attention(x, x))",
            "self.sublayer(x, (lambda value: self.attention(value, value)))",
        ),
    ],
)
def test_so_are_slips_of_whole_statements(source: str, becomes: str) -> None:
    text = answer(source)
    assert any(becomes in text.edited(edit)["f"] for edit in edits(text))


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("def f(p):\n    return torch.topk(p, 50, dim=-1)", "axis"),
        ("def f(p):\n    return p.topk(50)", "axis"),
        ("def f(n):\n    return max(n, 1)", "axis"),
        ("def f(x):\n    y = x.exp_()\n    return y", "sign"),
        ("class A:\n    def f(self):\n        if self.training:\n            self.m = 1", "name"),
        ("def f(x, training=True):\n    return x if not training else 0 * x", "not"),
    ],
)
def test_what_would_pass_for_another_reason_is_not_tried(source: str, kind: str) -> None:
    wrong = ("50", "1", "x.exp_()", "self.training", "not training")
    assert not [edit for edit in edits(answer(source)) if edit.kind == kind and edit.was in wrong]


def test_a_missing_super_is_put_before_the_first_line_not_in_its_place() -> None:
    source = "class A(nn.Module):\n    def __init__(self):\n        self.p = 0.5"
    (edit,) = (edit for edit in edits(answer(source)) if edit.kind == "missing super")
    assert (edit.was, edit.becomes) == ("self.p = 0.5", "super().__init__(); self.p = 0.5")


def test_a_count_comes_before_the_axis() -> None:
    text = answer("def f(x):\n    return torch.topk(x, 3, 1)")
    assert {edit.was for edit in edits(text) if edit.kind == "axis"} == {"1"}


def test_no_argument_comes_before_what_is_computed_from_it() -> None:
    source = "def __init__(self, dropout):\n    self.dropout = nn.Dropout(dropout / 100)\n"
    added = [edit.becomes for edit in edits(answer(source)) if edit.kind == "missing argument"]
    assert not any("(dropout, dropout / 100" in becomes for becomes in added)


def test_nothing_is_divided_by_a_mask() -> None:
    text = answer("def f(s, m):\n    return s * torch.logical_not(m)")
    assert not [edit for edit in edits(text) if "/" in edit.becomes]


def test_no_edit_only_takes_a_mask_out_of_use() -> None:
    text = answer("def f(s, mask):\n    return torch.where(mask == 0, -1e9, s) + (1 - mask)")
    becomes = {edit.becomes for edit in edits(text)}
    assert becomes.isdisjoint({"mask < 0", "mask >= 0", "1 + mask"})
    assert "mask != 0" in becomes


def test_beside_a_named_mistake_what_drops_something_is_not_told() -> None:
    checks = tuple(
        CheckResult(name, "It agrees.", Status.FAILED, 0.0, 1.0) for name in ("first", "second")
    )
    named = Diagnosis(("capitals-kept",), "Your tokens keep their capitals.")
    result = ExerciseResult("layer_norm", Status.FAILED, 0.0, 2.0, None, checks, (named,))
    edit = Edit(1, "extra call", "x.lower()", "x", 0, 1, "x", 1, file="layer_norm")
    fix = Fix((edit,), frozenset({"first"}))
    assert suspects(fix, result, {"layer_norm": "x.lower()\n"}) == ()


def test_what_is_needed_in_one_place_is_not_asked_for_in_another(judge: Judge) -> None:
    """An edit of all places alike is tried first, and right lines are left alone."""
    more = "\n\ndef _unused(x):\n    return torch.exp(1.5 * x)\n"
    (suspect,) = graded(judge, NORM.replace(RIGHT, WRONG) + more).lines
    assert suspect.place.line == LINE
    assert "something similar" not in suspect.hints[-1]


def test_what_is_done_alike_for_query_and_key_is_mended_in_both() -> None:
    text = answer("def f(q, k, b, h):\n    q = q.view(b, h, 3)\n    k = k.view(b, h, 3)\n")
    turned = "transpose(1, 2).reshape"
    assert any(text.edited(edit)["f"].count(turned) == 2 for edit in edits(text))


def test_a_layer_too_many_is_left_out_with_its_use() -> None:
    text = answer(
        "class A:\n    def __init__(self):\n        self.more = Norm(3)\n"
        "    def forward(self, x):\n        return self.more(x)\n"
    )
    left = [text.edited(edit)["f"] for edit in edits(text)]
    assert any("Norm" not in item and "return (x)" in item for item in left)


def test_two_edits_of_one_place_are_refused() -> None:
    text = answer("def f(x):\n    return x.softmax(dim=0)")
    first, second, *_ = (edit for edit in edits(text) if edit.kind == "axis")
    with pytest.raises(ValueError, match="same place"):
        text.edited(first, second)


def test_the_line_that_leaves_the_way_of_right_answers_is_known() -> None:
    """Whatever the order of the axes, what a right answer makes too is on the way."""

    def values(*lines: str) -> list[Value]:
        names: dict[str, Any] = {}
        exec(compile("\n".join(("def f(x):", *lines)), "mine", "exec"), names)
        x = torch.arange(12.0).reshape(3, 4)
        known = {"mine": "mine"}
        return follow(lambda first: names["f"](first["x"]), [{"x": x}], known.get, True).values

    right = values(" a = x * 2", " b = a.exp()", " return b - 1")
    student_values = values(" u = (x * 2).T", " v = u.exp2()", " w = v - 1", " return w")
    assert leaving(student_values, right, wrong={0}, crashed=()) == (
        {("mine", 3)},
        {("mine", 4), ("mine", 5)},
    )


@pytest.mark.full(seconds=2)
def test_two_slips_of_which_one_hides_the_other_are_both_told(judge: Judge) -> None:
    """Neither edit alone makes a check pass."""
    twice = NORM.replace(RIGHT, WRONG).replace("c = c * self.weight", "c = c * self.weigth")
    result = graded(judge, twice)
    (named,), (line,) = result.diagnoses, result.lines
    assert "c = c * self.weigth" in named.shows
    assert line.place.line == LINE


def test_results_of_nan_are_no_fix_though_nan_equals_nan(recordings: Recordings) -> None:
    """What a mask hides makes no difference to an output of nothing but NaN."""
    checks = {recording.check.name: recording for recording in recordings.of("multi_head")}
    recording = checks["hidden_keys_have_no_say"]
    target = Target(recording, recording.cases[0], answer(""))
    lost = [_without_numbers(reply) for reply in target.case.right]
    content, _ = accepts(recording, target.case, lost, None)
    assert content
    target.live = False  # so that no channel is needed
    assert not target.accepts(lost, cast(Channel, None))
    assert target.accepts(target.case.right, cast(Channel, None))


def _without_numbers(reply: Any) -> Any:
    """A reply in which every tensor is NaN throughout."""
    if isinstance(reply, torch.Tensor):
        return torch.full_like(reply, torch.nan) if reply.is_floating_point() else reply
    if isinstance(reply, dict):
        return {key: _without_numbers(value) for key, value in reply.items()}
    return [*map(_without_numbers, reply)] if isinstance(reply, list) else reply

"""What the report remarks on for the instructor: the place, and nothing of honest code's."""

from __future__ import annotations

import pytest

from grader import curriculum
from grader.curriculum import stubs
from grader.feedback.results import submission_fields, submission_result
from grader.grading.judge import Judge
from grader.grading.places import located
from grader.grading.recording import Recordings
from grader.remote.remarks import MOST, remarks
from grader.sandbox.host import Host
from grader.submission import Submission
from tests import DATA

VARIANTS = sorted((DATA / "variants").glob("*/*.py"))


@pytest.mark.parametrize(
    ("line", "access"),
    [
        ("import gc", "gc"),
        ("import ctypes.util", "ctypes.util"),
        ("from ctypes import CDLL", "ctypes.CDLL"),
        ("f.__closure__[0].cell_contents", "__closure__"),
        ("code = f.__code__", "__code__"),
        ("getattr(f, '__code__')", "__code__"),
        ("object.__subclasses__()", "__subclasses__"),
        ("import sys; sys._getframe(1)", "_getframe"),
        ("from sys import _getframe", "sys._getframe"),
        ("import inspect; inspect.currentframe().f_back", "currentframe"),
        ("import torch; torch._C._nn.gelu", "torch._C"),
        ("import torch as t; t._refs.tanh", "t._refs"),
        ("from torch import _refs", "torch._refs"),
        ("import torch._decomp", "torch._decomp"),
        ("import torch.nn.functional as F; F._in_projection", "F._in_projection"),
        ("from torch import nn; nn.modules._functions", "nn.modules._functions"),
    ],
)  # fmt: skip
def test_a_place_to_look_at(line: str, access: str) -> None:
    result = remarks({"masks": f"x = 1\n{line}\n"})
    assert f"masks.py, line 2: looks at {access}" in result["masks"]


def test_not_too_many_and_each_once() -> None:
    source = "\n".join(["f.__code__; f.__code__"] * 50)
    assert remarks({"masks": source})["masks"] == [
        f"masks.py, line {number}: looks at __code__" for number in range(1, MOST + 1)
    ]


@pytest.mark.parametrize("source", ["def f(:\n gc", "(" * 500 + "gc" + ")" * 500, "gc = '\0'"])
def test_what_is_no_python_is_passed_over(source: str) -> None:
    assert remarks({"masks": source}) == {}


def test_honest_code_is_not_remarked_on() -> None:
    honest = {path.stem: path.read_text(encoding="utf-8") for path in VARIANTS}
    honest |= {name: stubs.reference_source(name) for name in curriculum.NAMES}
    honest["private"] = "class A:\n    def f(self):\n        return self._x + other._y + gcd(2)"
    assert remarks(honest) == {}


@pytest.fixture(scope="module")
def judge(host: Host, recordings: Recordings) -> Judge:
    return Judge(["masks"], recordings, host)


def test_a_remark_costs_nothing_and_is_in_the_report(judge: Judge) -> None:
    """Whatever the code does to the process that it is in, since it has not run yet."""
    source = stubs.reference_source("masks")
    hidden = "\nimport gc\nfor one in gc.get_objects():\n    getattr(one, 'clear', str)\n"
    (honest,) = judge.grade(Submission("ada", {"masks": source})).exercises
    result = judge.grade(Submission("eve", {"masks": source + hidden}))
    (found,) = result.exercises
    line = source.count("\n") + 2
    assert honest.remarks == ()
    assert found.points == found.max_points
    assert found.remarks == (f"masks.py, line {line}: looks at gc",)
    fields = submission_fields(result)
    assert fields["exercises"][0]["remarks"] == list(found.remarks)
    assert submission_result(fields).exercises == result.exercises
    (moved,) = located(result, {"masks": "cell of masks"}).exercises
    assert moved.remarks == (f"cell of masks, line {line}: looks at gc",)

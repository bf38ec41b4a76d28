"""Sources written to be slow to read, or to break what reads them, are not read at all."""

from __future__ import annotations

import time

import pytest

from grader.curriculum import mistakes
from grader.edits.edits import edits
from grader.edits.source import Answer
from grader.feedback.finding import Status
from grader.feedback.results import ExerciseResult
from grader.grading.diagnosis.reading import Reading
from grader.grading.own_line import quoted
from grader.grading.search.alignment import differences
from grader.grading.without_effect import without_effect
from grader.recognition.likeness import MAX_NODES, parsed, simple_statements
from grader.remote.remarks import remarks

_HEAD = "def attention(query, key, value, mask=None):\n"
SECONDS = 20.0  # of which none takes two on a quiet machine; each took minutes, or raised
SOURCES = {
    "classes": "class A:0\n" * 5900,
    "loops": _HEAD + " for i in a:b=c\n" * 3600,
    "fewer loops": _HEAD + " for i in a:b=c\n" * 440,
    "fewer classes": "class A(nn.Module):\n def forward(self, x):self.a = x\n" * 280,
    "statements": _HEAD + " b=c\n" * 900,
    "names": _HEAD + "".join(f" v{i}=v{i - 1}\n" for i in range(1, 800)),
    "deep calls": _HEAD + " return a" + ".b()" * 400 + "\n",
    "deep signs": _HEAD + " return " + "-" * 900 + "a\n",
    "deep attributes": _HEAD + " return __code__" + ".a" * 900 + "\n",
    "long number": _HEAD + " return 0x" + "f" * 50_000 + "\n",
    "combining marks": _HEAD + " return a" + "\u0300\u0316" * 20_000 + "\n",
    "long list": _HEAD + " a = [" + "0," * 4_900 + "]\n",
    "long name": _HEAD + " return " + "a" * 55_000 + "\n",
    "long call": _HEAD + " return f(" + ",".join(f"a{i}=b{i}" for i in range(1_600)) + ")\n",
    "imports": "from exercises import " * 40_000,
    "long keys": _HEAD
    + "".join(f" x['{'ab' * 50}{i}']; y = '{'ba' * 50}{i}'\n" for i in range(250)),
    "no form in Python 3.11": _HEAD + """ return f"{'\u00a0'}"\n""",
    "many layers": "class A:\n def __init__(self):\n"
    "  self.a = nn.ModuleList([B() for _ in range(9999999999)])\n"
    " def forward(self):\n  return self.a[0]\n",
}


@pytest.mark.full(
    but=(
        "classes",
        "deep signs",
        "deep attributes",
        "long number",
        "long keys",
        "no form in Python 3.11",
    )
)
@pytest.mark.parametrize("kind", SOURCES)
def test_a_hostile_source_is_read_quickly_or_not_at_all(kind: str) -> None:
    source, begun = SOURCES[kind], time.process_time()
    reading = Reading("attention", source)
    assert isinstance(reading.ruled_out, frozenset)
    assert isinstance(Reading("swiglu", source).ruled_out, frozenset)
    for known in mistakes.load("attention"):
        reading.correct(known.name)
    without_effect(ExerciseResult("attention", Status.FAILED, 0.0, 15.0), source)
    simple_statements(source)
    differences("attention", source)
    edits(Answer({"attention": source}))
    remarks({"attention": source})
    remarks({"attention": source + "# __code__"})
    assert time.process_time() - begun < SECONDS


def test_a_source_of_usual_size_is_read() -> None:
    assert parsed("x = 1\n" * (MAX_NODES // 5)).body
    assert not parsed("x = 1\n" * MAX_NODES).body
    assert parsed("# " + "字" * 1500 + "\nx = 1\n").body


def test_a_form_feed_does_not_move_the_line_that_is_quoted() -> None:
    source = "import torch\n\f\ndef f(x):\r\n    y = '\u2028'\r\n    return x\n"
    assert quoted(source, 5) == "return x"


def test_depth_hides_nothing_from_the_remarks() -> None:
    assert remarks({"attention": SOURCES["deep attributes"]})

"""What is wrong with parameters or the graph is named where no known mistake explains it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.feedback.finding import Status
from grader.feedback.mismatch import Proven
from grader.feedback.results import Diagnosis, ExerciseResult
from grader.grading.own_line import made_at
from grader.grading.parameters import with_parameters

DECODER = """
class DecoderLayer(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        part = SublayerConnection(d_model)
        self.sublayers = nn.ModuleList([part, part])


class Decoder(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.layers = nn.ModuleList([DecoderLayer(d_model) for _ in range(2)])
        self.norm = LayerNorm(d_model)
        self.later = nn.ModuleList()
        self.norm.bias = self.norm.weight
"""
RESULT = ExerciseResult("decoder", Status.FAILED, 0.0, 5.0)
SHARED = Proven("Two are one.", "Which line makes each?", "layers.0.sublayers.0.norm.weight")


@pytest.mark.parametrize(
    ("parameter", "line"),
    [
        ("layers.0.sublayers.0.norm.weight", 6),
        ("norm.weight", 13),
        ("norm.bias", 15),
        ("later.0.weight", None),
        ("elsewhere.weight", None),
    ],
)
def test_the_line_that_makes_a_parameter(parameter: str, line: int | None) -> None:
    assert [place.line for place in made_at(parameter, "decoder", DECODER)] == [line] * bool(line)


def test_a_name_as_long_as_no_model_has_leads_to_no_line() -> None:
    nested = "class A(nn.Module):\n    def __init__(self, n):\n        self.a = A(n - 1)\n"
    assert made_at("a." * 3 + "weight", "linear", nested)
    assert not made_at("a." * 5000 + "weight", "linear", nested)


def test_a_finding_that_no_mistake_explains_is_named_with_its_line() -> None:
    (named,) = with_parameters({"own": SHARED}, RESULT, DECODER, ["own"]).diagnoses
    assert named.message == "Two are one.\nWhich line makes each?"
    assert named.shows.startswith("Look at decoder.py, line 6: self.sublayers")


def test_one_that_a_mistake_explains_is_not() -> None:
    assert not with_parameters({"own": SHARED}, RESULT, DECODER, ["other"]).diagnoses


def test_what_a_named_mistake_shows_already_is_not_said_again() -> None:
    known = Diagnosis(("written-into-x",), "You write into x.", (), "Two are one.\nfile.py, line 3")
    result = replace(RESULT, diagnoses=(known,))
    assert with_parameters({"own": SHARED}, result, DECODER, ["own"]).diagnoses == (known,)


def test_what_student_code_says_in_it_is_cleaned() -> None:
    proven = {"own": Proven("Has a parameter `\x1b[31m`.")}
    (named,) = with_parameters(proven, RESULT, DECODER, ["own"]).diagnoses
    assert "\x1b" not in named.message


def test_a_line_that_may_get_wrong_sizes_from_another_is_not_shown() -> None:
    swapped = DECODER.replace("(self, d_model):", "(self, d_model, d_ff):", 1)
    swapped = swapped.replace("DecoderLayer(d_model) for", "DecoderLayer(d_ff, d_model) for")
    (named,) = with_parameters({"own": SHARED}, RESULT, swapped, ["own"]).diagnoses
    assert named.shows == ""

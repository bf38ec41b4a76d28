"""What is wrong at a line that raised is named, with what the exercise gave."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from grader.feedback.finding import Place, Status
from grader.feedback.results import Diagnosis, ExerciseResult, SuspectLine
from grader.grading.explanation import explain
from grader.grading.raised import fact_of, with_raised
from grader.remote.session import StudentError

DROPOUT = """
class Dropout(nn.Module):
    def __init__(self, p=0.5):
        super().__init__()
        if p >= 1:
            raise ValueError("too large")
        self.p = p

    def forward(self, x):
        b, n, d = x.shape
"""
RESULT = ExerciseResult("dropout", Status.FAILED, 0.0, 5.0)


def raised(text: str, line: int | None, asked: dict[str, Any]) -> StudentError:
    file = None if line is None else "exercises/dropout.py"
    error = StudentError(["ValueError"], text, file, line)
    error.asked = asked
    return error


REFUSED = raised("too large", 6, {"op": "new", "entry": "Dropout", "args": [1.0], "kwargs": {}})
UNPACKED = raised(
    "not enough values to unpack (expected 3, got 1)",
    10,
    {"op": "call", "target": (0, ""), "args": [torch.ones(3)], "kwargs": {}},
)


def test_what_the_exercise_gave_is_told() -> None:
    fact = fact_of(REFUSED, DROPOUT, "dropout")
    assert fact is not None
    assert fact.tells.endswith("In this call, `p >= 1` is true (`p` is 1.0).")
    by_default = {"op": "new", "entry": "Dropout", "args": [], "kwargs": {}}
    fact = fact_of(raised("too large", 6, by_default), DROPOUT, "dropout")
    assert fact is not None
    assert fact.tells.endswith("(`p` is 0.5).")


def test_the_finding_of_a_check_says_the_same() -> None:
    finding = explain(UNPACKED, {"dropout": DROPOUT}, "dropout")
    assert finding.headline.startswith("`b, n, d = x.shape` takes exactly three axes.")
    assert finding.places == (Place("dropout.py", 10, "b, n, d = x.shape"),)


def test_what_is_wrong_at_a_line_that_raised_is_named_and_its_edit_is_a_hint() -> None:
    errors = {"one": REFUSED, "two": UNPACKED, "three": UNPACKED}
    there = [SuspectLine(Place("dropout.py", line), "axis", "?", ("edit",)) for line in (6, 7)]
    result = replace(RESULT, lines=tuple(there))
    told = with_raised(errors, result, DROPOUT, ["one", "two"], {})
    assert [named.hints for named in told.diagnoses] == [("edit",), ()]
    assert [named.shows for named in told.diagnoses] == [
        'Look at dropout.py, line 6: raise ValueError("too large")',
        "Look at dropout.py, line 10: b, n, d = x.shape",
    ]
    assert [line.place.line for line in told.lines] == [7]
    assert with_raised(errors, result, DROPOUT, [], {}) == result


def test_what_only_goes_round_a_line_that_raised_is_left_out() -> None:
    round_it, beside = (
        SuspectLine(Place("dropout.py", line), "axis", "?", checks=checks)
        for line, checks in ((7, ("two",)), (8, ("two", "four")))
    )
    result = replace(RESULT, lines=(round_it, beside))
    told = with_raised({"two": UNPACKED}, result, DROPOUT, ["two", "four"], {})
    assert len(told.diagnoses) == 1
    assert [line.place.line for line in told.lines] == [8]


def test_an_edit_that_goes_round_a_line_in_some_of_its_checks_is_no_hint() -> None:
    errors = {"one": UNPACKED, "two": UNPACKED}
    for checks, hints in ((("one",), ()), (("one", "two"), ("edit",))):
        line = SuspectLine(Place("dropout.py", 10), "axis", "?", ("edit",), checks)
        told = with_raised(errors, replace(RESULT, lines=(line,)), DROPOUT, ["one", "two"], {})
        assert [named.hints for named in told.diagnoses] == [hints]


def test_an_argument_that_is_kept_under_another_name_is_told_where_it_is_kept() -> None:
    source = DROPOUT.replace("self.p = p", "self.rate = p").replace("x.shape", "self.p")
    text = "'Dropout' object has no attribute 'p'"
    fact = fact_of(
        StudentError(["AttributeError"], text, "exercises/dropout.py", 10), source, "dropout"
    )
    assert fact is not None
    assert "`__init__` keeps what it is given in `self.rate`" in fact.tells
    assert fact.line == 7


def test_booleans_are_asked_for_only_where_the_line_combines_masks() -> None:
    for code, is_told in (("x & mask", True), ("self.attention(x, mask)", False)):
        source = DROPOUT.replace("x.shape", code)
        error = StudentError(
            ["RuntimeError"],
            "\"bitwise_and_cpu\" not implemented for 'Float'",
            "exercises/dropout.py",
            10,
        )
        assert bool(fact_of(error, source, "dropout")) == is_told


def test_a_line_that_is_shown_beside_a_named_mistake_is_not_told_again() -> None:
    named = Diagnosis(("p-of-one",), "", (), shows="dropout.py, line 6: `raise ValueError`")
    result = replace(RESULT, diagnoses=(named,))
    assert with_raised({"one": REFUSED}, result, DROPOUT, ["one"], {}) == result


@pytest.mark.parametrize(
    ("kind", "text", "line", "tells"),
    [
        ("NameError", "name 'p' is not defined", 10, "`p` is an argument of `__init__`"),
        ("NameError", "name 'torch' is not defined", 10, "`torch` is not defined here."),
        ("AttributeError", "'Tensor' object has no attribute 'shap'", 10, "A tensor has no `shap`"),
        (
            "AttributeError",
            "'Dropout' object has no attribute 'q'",
            10,
            "No line of `Dropout.__init__` assigns `self.q`.",
        ),
        ("TypeError", "'torch.Size' object is not callable", 10, "`shape` is a tuple"),
        (
            "TypeError",
            "shap() received an invalid combination of arguments - got ()",
            10,
            "These arguments",
        ),
        # The line that is called here may be the wrong one.
        ("AttributeError", "'Tensor' object has no attribute 'other'", 10, ""),
        ("TypeError", "pow() received an invalid combination of arguments - got ()", 10, ""),
        ("TypeError", "'tuple' object has no attribute 'size'", 10, ""),
    ],
)
def test_what_an_error_proves_by_itself_is_told(
    kind: str, text: str, line: int, tells: str
) -> None:
    source = DROPOUT.replace("self.p = p", "pass").replace("x.shape", "p.shap() + q + torch")
    error = StudentError([kind], text, "exercises/dropout.py", line)
    fact = fact_of(error, source, "dropout")
    assert (fact.tells if fact else "").startswith(tells)
    assert bool(fact) == bool(tells)


def test_a_number_that_is_called_lacks_an_operator() -> None:
    source = DROPOUT.replace("x.shape", "0.5 * tanh((2 / pi) ** 0.5(x + 1))")
    text = "'float' object is not callable"
    fact = fact_of(StudentError(["TypeError"], text, "exercises/dropout.py", 10), source, "dropout")
    assert fact is not None
    assert fact.tells.startswith("`0.5` is a number, and the bracket after it calls it.")


def test_an_init_that_does_not_call_that_of_its_base_is_told() -> None:
    source = DROPOUT.replace("super().__init__()", "pass")
    text = "'Dropout' object has no attribute '_modules'"
    fact = fact_of(StudentError(["AttributeError"], text, None, None), source, "dropout")
    assert fact is not None
    assert fact.tells.startswith("`Dropout.__init__` doesn't call `super().__init__(…)`")


def test_a_layer_that_is_not_called_is_not_asked_for_the_size_of_a_tensor() -> None:
    text = "'Dropout' object has no attribute 'size'"
    error = StudentError(["AttributeError"], text, "exercises/dropout.py", 10)
    assert fact_of(error, DROPOUT, "dropout") is None
    assert "as in `layer(x)`" in explain(error, {"dropout": DROPOUT}, "dropout").headline


def test_a_mistake_that_only_shows_after_another_line_has_raised_is_not_named() -> None:
    after, elsewhere = Diagnosis(("whole-rows",), ""), Diagnosis(("never-on",), "")
    result = replace(RESULT, diagnoses=(after, elsewhere))
    late: dict[tuple[str, ...], set[str]] = {
        ("whole-rows",): {"two"},
        ("never-on",): {"two", "three"},
    }
    told = with_raised({"two": UNPACKED}, result, DROPOUT, ["two"], late)
    assert [named.mistakes[0] for named in told.diagnoses] == ["never-on", "raises"]


def test_a_parameter_of_another_shape_is_told_at_the_line_that_makes_it() -> None:
    linear = (
        "class Linear(nn.Module):\n    def __init__(self, a, b):\n        self.bias = f(1, b)\n"
    )
    error = StudentError(["ParameterShapeError"], "bias has the shape (1, 3), not (3,)", None, None)
    fact = fact_of(error, linear, "linear")
    assert fact is not None
    assert (fact.tells, fact.line) == ("The parameter bias has the shape (1, 3), not (3,).", 3)
    assert fact_of(error, linear.replace("self.bias", "bias"), "linear") is None


def test_swapped_arguments_are_told_where_the_line_that_raised_is_right() -> None:
    source = (
        "def scaled(x, rate):\n    b, n, d = x.shape\n    return x * rate / d\n"
        "class Dropout(nn.Module):\n    def forward(self, x, rate):\n"
        "        return scaled({})\n"
    )
    error = StudentError(
        ["AttributeError"], "'float' object has no attribute 'shape'", "exercises/dropout.py", 2
    )
    fact = fact_of(error, source.format("rate, x"), "dropout")
    assert fact is not None
    assert fact.tells.startswith("`scaled` is called with `rate` for `x` and `x` for `rate`.")
    assert fact.line == 6


def test_an_attribute_that_a_call_makes_is_among_those_that_init_assigns() -> None:
    error = StudentError(
        ["AttributeError"], "'Layer' object has no attribute 'table'", "exercises/dropout.py", 7
    )
    source = """
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        {}
    def forward(self, x):
        return x + self.table
"""
    by_name = source.format('self.register_buffer("pe", zeros)')
    fact = fact_of(error, by_name, "dropout")
    assert fact is not None
    assert "It assigns `pe`." in fact.tells
    for line in ("self.a = 1; setattr(self, name, zeros)", "self.table += 1"):
        fact = fact_of(error, source.format(line), "dropout")
        assert fact is not None
        assert fact.tells.startswith("No line of `Layer.__init__` assigns `self.table`.")
        assert "It assigns `a`" not in fact.tells


def test_a_parameter_is_not_placed_where_the_class_that_makes_it_may_get_wrong_sizes() -> None:
    source = """
class Embedding(nn.Module):
    def __init__(self, rows, columns):
        self.weight = nn.Parameter(torch.randn(rows, columns))
class TokenEmbedding(nn.Module):
    def __init__(self, vocab_size, d_model):
        self.embedding = Embedding(d_model, vocab_size)
"""
    said = "{} has the shape (5, 6), not (6, 5)"
    for parameter, line in (("weight", 4), ("embedding.weight", None), ("embedding.rows", 7)):
        error = StudentError(["ParameterShapeError"], said.format(parameter), None, None)
        fact = fact_of(error, source, "embedding")
        assert (fact.line if fact else None) == line


def test_a_call_that_passes_what_the_function_cannot_use_is_told() -> None:
    source = (
        "def halves(x, n):\n    return x.view(n, -1)\n"
        "class Dropout(nn.Module):\n    def forward(self, x):\n"
        "        return halves(self.h, self.map(x))\n"
    )
    said = "'int' object has no attribute 'view'"
    error = StudentError(["AttributeError"], said, "exercises/dropout.py", 2)
    fact = fact_of(error, source, "dropout")
    assert fact is not None
    assert "`halves(self.h, self.map(x))` passes it." in fact.tells
    assert fact.line == 5
    fact = fact_of(error, source + "        return halves(x, 2)\n", "dropout")
    assert fact is not None
    assert fact.asks.startswith("Which call of `halves` passes that?")
    assert fact.line == 2

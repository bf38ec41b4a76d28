"""What a name that Python doesn't know should be, and silence where nothing is like it."""

from __future__ import annotations

import pytest

from grader.recognition.spelling import suggestion

SOURCE = """
import math
import torch

def attention(query, key, value, mask=None):
    d_k = query.size(-1)
    scores = (
        query @ key.transpose(-2, -1) / math.sqrt(d_k)
    )
    weights = [row for row in scores]
    return later

class Layer(nn.Module):
    def __init__(self, n_heads):
        self.n_heads = n_heads

    def forward(self, x):
        return x

def further(something):
    outcome = something
    return outcome
"""


@pytest.mark.parametrize(
    ("name", "line", "near"),
    [
        ("dk", 8, "d_k"),
        ("Query", 8, "query"),
        ("score", 8, ""),  # the statement that makes `scores` has not ended
        ("score", 11, "scores"),
        ("rov", 10, ""),
        ("rows", 10, "row"),
        ("rows", 11, ""),  # a comprehension keeps its names to itself
        ("weigths", 8, ""),
        ("weigths", 11, "weights"),
        ("outcom", 11, ""),  # of another function
        ("something", 11, ""),
        ("atention", 18, "attention"),
        ("n_heads", 18, "self.n_heads"),
        ("n_heads", 11, ""),
        ("rang", 11, "range"),
        ("unlike_anything", 11, ""),
        ("x" * 5_000, 11, ""),
    ],
)
def test_a_name_is_one_that_is_visible_there(name: str, line: int, near: str) -> None:
    said = suggestion(f"NameError: name '{name}' is not defined", SOURCE, line)
    assert said == (f"`{name}` is not defined here. Did you mean `{near}`?" if near else "")


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("F", "import torch.nn.functional as F"),
        ("Int", "from jaxtyping import Int"),
        ("LayerNorm", "from exercises.layer_norm import LayerNorm"),
    ],
)
def test_a_missing_import_is_named(name: str, line: str) -> None:
    said = suggestion(f"NameError: name '{name}' is not defined", SOURCE, 8)
    assert said == f"`{name}` is not defined here. Is `{line}` missing?"


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (
            "'Tensor' object has no attribute 'transpos'",
            "A tensor has no `transpos`. Did you mean `tran",
        ),
        (
            "module 'torch.nn' has no attribute 'Liner'",
            "`torch.nn` has no `Liner`. Did you mean `Linear",
        ),
        (
            "module 'torch' has no attribute 'sofmax'",
            "`torch` has no `sofmax`. Did you mean `softmax`?",
        ),
        (
            "'Layer' object has no attribute 'n_head'",
            "`Layer` has no `n_head`. Did you mean `n_heads`?",
        ),
        ("'Tensor' object has no attribute 'unlike_anything'", ""),
        ("module 'torch' has no attribute 'softmax'", ""),  # taken away, not misspelled
        ("'Judge' object has no attribute 'answer'", ""),
        ("module 'grader.grading' has no attribute 'judg'", ""),
    ],
)
def test_an_attribute_is_torchs_or_of_the_students_class(error: str, says: str) -> None:
    said = suggestion(f"AttributeError: {error}", SOURCE, 18)
    assert said.startswith(says) if says else not said

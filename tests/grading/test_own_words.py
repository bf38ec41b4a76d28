"""A named mistake comes with the student's own numbers and their own line."""

from __future__ import annotations

import pytest

from grader.curriculum import stubs
from grader.feedback.finding import Finding, Grid, Place, Status
from grader.feedback.results import (
    CheckResult,
    Diagnosis,
    ExerciseResult,
    exercise_fields,
    exercise_result,
)
from grader.grading.diagnosis import fingerprints, own_words
from grader.grading.diagnosis.own_words import Elsewhere, in_own_words, line_of
from grader.recognition.likeness import parsed, simple_statements, without_texts, words
from grader.recognition.unused import lines_elsewhere

# As somebody else writes it: other names, other calls, a line of its own for each step.
ATTENTION = """
import torch
import torch.nn.functional as F

def attention(query, key, value, mask=None, dropout=None):
    d_k = query.size(-1)
    att = torch.matmul(query, key.transpose(-2, -1)) / d_k
    if mask is not None:
        att = att.masked_fill(mask == 0, float("-inf"))
    p = F.softmax(att, dim=-2)
    if dropout is not None:
        p = dropout(p)
    return torch.matmul(p, value), p
"""
DIAGNOSIS = Diagnosis(("softmax-over-queries",), "It runs over the queries.\nOver which axis?")


def weights() -> Finding:
    rows = ("query 0", "query 1")
    yours, expected = ((0.9, 0.41), (0.1, 0.59)), ((0.5, 0.5), (0.3, 0.7))
    wrong = ((True, True), (True, True))
    return Finding("Wrong.", Grid(yours, expected, wrong, rows, ("key 0", "key 1")))


def result(check: str, finding: Finding) -> CheckResult:
    return CheckResult(check, check, Status.FAILED, 0.0, 1.0, finding)


def test_the_numbers_of_a_failing_check_and_the_line_are_quoted() -> None:
    library = fingerprints.load("attention")
    checks = (result("agrees_with_torch", weights()),)
    diagnosis = in_own_words(DIAGNOSIS, library, checks, ATTENTION)
    assert diagnosis.in_full.splitlines() == [
        "It runs over the queries.",
        "Query 0 of your output sums to 1.31, not to 1.",
        "Is it here? attention.py, line 10: p = F.softmax(att, dim=-2)",
        "Over which axis?",
    ]


def test_numbers_of_a_check_that_the_mistake_passes_are_not_quoted() -> None:
    library = fingerprints.load("attention")
    diagnosis = in_own_words(
        DIAGNOSIS, library, (result("of_another_mistake", weights()),), ATTENTION
    )
    assert "sums to" not in diagnosis.shows


def test_neither_numbers_nor_a_line_of_another_mistake_are_quoted() -> None:
    library = fingerprints.load("attention")
    check = "agrees_with_torch"
    checks = (result(check, weights()),)
    others = Elsewhere(others=frozenset([check]))
    assert "sums to" in in_own_words(DIAGNOSIS, library, checks, "").shows
    assert not in_own_words(DIAGNOSIS, library, checks, "", elsewhere=others).shows
    raises = Diagnosis(("key-transposed-on-wrong-axes",), "The axes are wrong.\nWhich are they?")
    checks = (result(check, RAISED),)
    assert not in_own_words(raises, library, checks, "", elsewhere=others).shows


def test_neither_numbers_that_two_mistakes_make_nor_another_ones_shape_are_quoted() -> None:
    library = fingerprints.load("attention")
    check = "agrees_with_torch"
    shape = Finding("The shape of your output is (3,); it should be (2, 3).")
    mixed, unlike = Elsewhere(mixed=frozenset([check])), Elsewhere(unlike=frozenset([check]))

    def shown(finding: Finding, elsewhere: Elsewhere) -> str:
        checks = (result(check, finding),)
        return in_own_words(DIAGNOSIS, library, checks, "", elsewhere=elsewhere).shows

    assert not shown(weights(), mixed)
    assert shown(weights(), unlike)
    assert not shown(shape, unlike)
    assert shown(shape, mixed)


def test_no_line_that_is_right_in_a_part_it_needs_is_one_of_a_mistake_in_several_lines() -> None:
    wrong = own_words.wrong_lines("decoder", "always_post_norm")
    assert wrong
    assert words("self.norm = LayerNorm(d_model)") not in wrong


RAISED = Finding("Your code raised.", places=(Place("attention.py", 7, "att = q @ k.T"),))


def test_where_the_code_raised_is_the_line_of_a_mistake_that_raises() -> None:
    library = fingerprints.load("attention")
    mistake = Diagnosis(("key-transposed-on-wrong-axes",), "The axes are wrong.\nWhich are they?")
    diagnosis = in_own_words(mistake, library, (result("agrees_with_torch", RAISED),), ATTENTION)
    assert diagnosis.shows == "attention.py, line 7 raises an error: `att = q @ k.T`"


def test_a_line_that_raises_for_one_before_it_is_not_the_line_of_the_mistake() -> None:
    library = fingerprints.load("masks")
    mistake = Diagnosis(("target-as-long-as-the-batch",), "It is as long as the batch.\nIs it?")
    source = """
def target_mask(ids, pad_id=0):
    pad = padding_mask(ids, pad_id)
    future = causal_mask(len(ids), ids.device)
    return pad & future
"""
    raised = Finding("Your code raised.", places=(Place("masks.py", 5, "return pad & future"),))
    checks = (result("the_target_mask_is_both_at_once", raised),)
    shown = in_own_words(mistake, library, checks, source).shows
    assert shown == "Is it here? masks.py, line 4: future = causal_mask(len(ids), ids.device)"


def test_a_line_that_did_not_raise_is_not_said_to() -> None:
    """The attribute is missing where the exercise reads it, not where it is set."""
    library = fingerprints.load("linear")
    mistake = Diagnosis(("no-attribute-without-a-bias",), "There is none.\nIs there?")
    places = (Place("linear.py", 14, "self.bias = nn.Parameter(bias)"),)
    checks = (result("the_bias_can_be_left_out", Finding("Your code raised.", places=places)),)
    shown = in_own_words(
        mistake, library, checks, "", raised_at={"the_bias_can_be_left_out": 0}
    ).shows
    assert shown == "linear.py, line 14: `self.bias = nn.Parameter(bias)`"


def test_where_the_code_raised_is_not_the_line_of_a_mistake_that_does_not_raise() -> None:
    library = fingerprints.load("attention")
    diagnosis = in_own_words(DIAGNOSIS, library, (result("agrees_with_torch", RAISED),), ATTENTION)
    assert diagnosis.shows == "Is it here? attention.py, line 10: p = F.softmax(att, dim=-2)"


def test_the_line_of_a_mistake_in_one_branch_is_in_that_branch() -> None:
    source = """
class EncoderLayer:
    def forward(self, x, mask=None):
        if self.norm_first:
            return x + self.feed_forward(x)
        return self.norm(self.dropout(x) + self.feed_forward(x))
"""
    assert lines_elsewhere(source, ["with `norm_first=False`"]) == {5}
    assert lines_elsewhere(source, ["with `norm_first=True`"]) == frozenset()


def test_a_wrong_shape_is_quoted_rather_than_numbers_of_a_later_check() -> None:
    """Those may be another mistake's."""
    library = fingerprints.load("attention")
    shape = "The shape of your output is (3,); it should be (2, 3)."
    checks = (
        result("agrees_with_torch", Finding(shape)),
        result("gradients_agree_with_torch", weights()),
    )
    assert in_own_words(DIAGNOSIS, library, checks, "").shows == shape


def test_no_line_is_quoted_where_two_are_as_likely() -> None:
    twice = ATTENTION.replace("    if dropout", "    p = F.softmax(p, dim=-2)\n    if dropout", 1)
    assert line_of(["softmax-over-queries"], "attention", twice) is None
    assert line_of(["softmax-over-queries"], "attention", "def attention(") is None


def test_no_line_of_another_mistake_is_quoted() -> None:
    """Some forms of a mistake have another one in them: its line is not the place."""
    right = stubs.reference_source("linear")
    zeros = "self.bias = nn.Parameter(torch.zeros(out_features))"
    drawn = "self.bias = nn.Parameter(torch.empty(out_features).uniform_(-bound, bound))"
    source = right.replace(drawn, zeros)
    weight = "nn.Parameter(torch.empty(out_features, in_features).uniform_(-bound, bound))"
    source = source.replace(weight, "nn.Parameter(helper(out_features, in_features))")
    place = line_of(["bias-starts-at-zero"], "linear", source)
    assert place is not None
    assert place.source == zeros
    assert line_of(["starts-normally-distributed"], "linear", source) is None


def test_no_line_is_quoted_that_a_right_form_has() -> None:
    """The specials are numbered as they should be; what is wrong is the loop after them."""
    source = """def build_vocab(texts, specials=()):
    vocab = {token: i for i, token in enumerate(specials)}
    words = sorted({word for text in texts for word in tokenize(text)})
    for i, word in enumerate(words, start=len(specials)):
        if word in vocab:
            continue
        vocab[word] = i
    return vocab
"""
    assert line_of(["ids-with-gaps"], "tokens", source) is None


def test_a_line_that_is_a_known_wrong_one_word_for_word_is_shown_without_a_search() -> None:
    library = fingerprints.load("attention")
    diagnosis = Diagnosis(("scaled-by-a-constant",), "Your scale is a fixed number.\nAlways?")
    same = stubs.reference_source("attention").replace("math.sqrt(query.size(-1))", "8.0")
    assert "/ 8.0" in in_own_words(diagnosis, library, (), same, lambda _: False).shows
    like = same.replace("scores", "scaled")
    assert "/ 8.0" in in_own_words(diagnosis, library, (), like, lambda _: True).shows
    assert not in_own_words(diagnosis, library, (), like, lambda _: False).shows


def test_what_was_quoted_stands_in_the_report() -> None:
    diagnosis = Diagnosis(("a",), "Tells.\nAsks?", (), "At row 0 you have 1; 2 is expected.")
    result = ExerciseResult("attention", Status.FAILED, 0.0, 15.0, diagnoses=(diagnosis,))
    assert exercise_result(exercise_fields(result)).diagnoses == (diagnosis,)


@pytest.mark.parametrize(
    "hostile",
    [
        f"x = {'a' * 50_000}\n",  # one look at it from each letter took a minute
        f"x = {'1 + ' * 10_000}1\n",
        f"x = {'-' * 9_000}1\n",
        "x = 1\n" * 200_000,
    ],
    ids=["long name", "deep sum", "deep sign", "many lines"],
)
def test_a_line_is_looked_for_in_no_time_and_without_harm(hostile: str) -> None:
    """The search is in the grader's own process: one answer must not keep a class waiting."""
    line_of(["scaled-by-d-k"], "attention", hostile)


def test_functions_that_are_right_need_not_be_read_to_find_the_wrong_statements() -> None:
    for sources in own_words._sources("sublayer").values():
        for source in sources:
            statements = {statement for _, statement in simple_statements(source)}
            new = statements - own_words._right_statements("sublayer")
            assert set(own_words._new("sublayer", source)) == new


def test_a_source_that_several_read_keeps_its_docstrings() -> None:
    source = '"""What it does."""\nx = 1\n'
    assert without_texts(source) == "x = 1"
    assert len(parsed(source).body) == 2

"""Solutions get full marks and stubs are to do; what a mistake costs. All by the real judge.

That no right answer is refused and no wrong one passes is what `grader scorecard --check` proves.
"""

from __future__ import annotations

import pytest

from grader import curriculum
from grader.curriculum import mistakes, stubs
from grader.feedback.results import ExerciseResult
from grader.grading.judge import Judge
from grader.grading.recording import Recordings
from grader.sandbox.host import Host
from grader.submission import Submission
from tests import DATA

pytestmark = pytest.mark.usefixtures("undiagnosed")


@pytest.fixture(scope="module")
def judges(host: Host, recordings: Recordings) -> dict[str, Judge]:
    return {name: Judge([name], recordings, host) for name in curriculum.NAMES}


def grade(judges: dict[str, Judge], exercise: str, source: str) -> ExerciseResult:
    submission = Submission("somebody", {exercise: source})
    return judges[exercise].grade(submission).exercises[0]


def lost(result: ExerciseResult) -> str:
    """What the result says against the answer, for the message of a failed assertion."""
    messages = [
        f"{check.check}: {check.message}"
        for check in result.checks
        if check.points < check.max_points
    ]
    return "\n".join([result.message, *messages])


@pytest.mark.full(seconds=2)
def test_the_unbiased_variance_costs_one_check_only(judges: dict[str, Judge]) -> None:
    """The commonest mistake of all; checks of other things let it pass."""
    known = {mistake.name: mistake for mistake in mistakes.load("layer_norm")}
    source = known["unbiased-variance"].apply(stubs.reference_source("layer_norm"))
    result = grade(judges, "layer_norm", source)
    lost_in = [check.check for check in result.checks if check.points < check.max_points]
    assert lost_in == ["agrees_with_torch"]


def test_code_that_makes_up_for_another_function_keeps_its_points(
    judges: dict[str, Judge],
) -> None:
    """Capitals that `tokenize` leaves, and `build_vocab` and `encode` turn into small letters."""
    source = stubs.reference_source("tokens").replace(
        "return text.lower().split()", "return text.split()"
    )
    uses = "tokenize(text)"
    assert source.count(uses) == 2
    for lowers in (source, source.replace(uses, "tokenize(text.lower())")):
        result = grade(judges, "tokens", lowers)
        lost_in = [check.check for check in result.checks if check.points < check.max_points]
        assert lost_in == ["cuts_a_text_into_words"], lost(result)


def test_torch_compile_costs_nothing(judges: dict[str, Judge]) -> None:
    """As a decorator with and without options, and as a module's method."""
    source = (DATA / "variants" / "layer_norm" / "compiled.py").read_text(encoding="utf-8")
    result = grade(judges, "layer_norm", source)
    assert result.points == result.max_points, lost(result)


@pytest.mark.parametrize(
    "options", ["num_workers=2, prefetch_factor=4, timeout=3", "False, None, None, 2"]
)
def test_workers_of_a_loader_cost_nothing(judges: dict[str, Judge], options: str) -> None:
    """There are none in a jail; what they would load is the same."""
    source = f"""{stubs.reference_source("masks")}

_right = padding_mask


def padding_mask(ids, pad_id=0):
    from torch.utils.data import DataLoader

    return _right(torch.cat(list(DataLoader(ids, 1, {options}))), pad_id)
"""
    result = grade(judges, "masks", source)
    assert result.points == result.max_points, lost(result)


@pytest.mark.parametrize("exercise", curriculum.NAMES)
def test_every_stub_is_to_do(judges: dict[str, Judge], exercise: str) -> None:
    source = stubs.stub(stubs.solution(exercise), exercise)
    result = grade(judges, exercise, source)
    assert (result.status, result.points) == ("todo", 0)


@pytest.mark.parametrize("exercise", curriculum.NAMES)
def test_every_exercise_has_lazy_answers(exercise: str) -> None:
    assert any((DATA / "lazy" / exercise).glob("*.py")), (
        f"write one: tests/data/lazy/{exercise}/zeros.py"
    )


SOFTMAX = "(lambda e: e / e.sum(-1, keepdim=True).clamp_min(1e-30))"
# Where an answer writes norm and softmax itself: formulas that are right on paper. For the
# exercises that are about these, they are known mistakes.
CANCELLING = [
    (
        "encoder",
        "one_file_einsum",
        "((x - m) ** 2).mean(dim=-1, keepdim=True)",
        "(x * x).mean(-1, keepdim=True) - m * m",
    ),
    ("encoder", "heads_one_by_one", "torch.softmax(punkte, dim=-1)", f"{SOFTMAX}(punkte.exp())"),
    (
        "encoder",
        "heads_one_by_one",
        "torch.softmax(punkte, dim=-1)",
        f"{SOFTMAX}((punkte - punkte.max()).exp())",
    ),
    ("decoder", "one_file", "notes.log_softmax(-1).exp()", f"{SOFTMAX}(notes.exp())"),
    # A fill that low scores outweigh.
    ("encoder", "one_file_einsum", "torch.finfo(scores.dtype).min", "-100.0"),
    ("decoder", "one_file", "-1e20", "-1e3"),
    (
        "transformer",
        "whole_model_in_one_file",
        "a.masked_fill(~mask, torch.finfo(a.dtype).min).softmax(3)",
        f"{SOFTMAX}(a.exp() * mask)",
    ),
    (
        "sublayer",
        "everything_inside",
        "(ecart**2).mean(-1, keepdim=True)",
        "(entree**2).mean(-1, keepdim=True) - moyenne**2",
    ),
    ("multi_head", "own_linear_class", "\u5206\u6570.amax(-1, keepdim=True)", "\u5206\u6570.max()"),
]


@pytest.mark.full(but=("encoder",))
@pytest.mark.parametrize(("exercise", "variant", "right", "wrong"), CANCELLING)
def test_what_cancels_or_overflows_costs_points(
    judges: dict[str, Judge], exercise: str, variant: str, right: str, wrong: str
) -> None:
    """E[x²] - E[x]² around 1000, exp of a score of 1000, and the largest score of another row."""
    source = (DATA / "variants" / exercise / f"{variant}.py").read_text(encoding="utf-8")
    assert right in source
    result = grade(judges, exercise, source.replace(right, wrong))
    assert result.status == "failed"
    messages = lost(result)
    assert "1000" in messages or "thousand" in messages or "NaN" in messages


@pytest.mark.full(seconds=5)
@pytest.mark.parametrize(
    ("variant", "right", "wrong"),
    [
        ("whole_model_in_one_file", "Attn(d, h, p)", "Attn(d, h, 0)"),
        ("whole_model_in_one_file", "FF(d, f, p, act)", "FF(d, f, 0, act)"),
        (
            "unrolled_forward",
            "tgt_mask = padding_mask(src, self.pad_id), target_mask(tgt, self.pad_id)",
            "tgt_mask = padding_mask(src, self.pad_id), target_mask(tgt, -1)",
        ),
    ],
)
def test_an_argument_written_out_inside_a_model_costs_points(
    judges: dict[str, Judge], variant: str, right: str, wrong: str
) -> None:
    """No dropout in a model's own attention or network, another padding id in `forward` alone."""
    path = DATA / f"variants/transformer/{variant}.py"
    source = path.read_text(encoding="utf-8")
    assert right in source
    assert grade(judges, "transformer", source.replace(right, wrong)).status == "failed"


def test_what_is_done_for_self_attention_alone_is_seen(judges: dict[str, Judge]) -> None:
    """Query, key and value are one object there, for which some answers have a way of their own."""
    path = DATA / "variants/multi_head/one_fused_product.py"
    source = path.read_text(encoding="utf-8")
    wrong = source.replace("F.linear(query, weight, bias)", "F.linear(query, weight)")
    assert wrong != source
    assert grade(judges, "multi_head", wrong).status == "failed"


EDITS_WHAT_IT_WAS_GIVEN = """
import torch.nn.functional as F
from torch import nn
from exercises.layer_norm import LayerNorm


class SublayerConnection(nn.Module):
    def __init__(self, d_model, dropout=0.1, norm_first=False):
        super().__init__()
        self.norm, self.p, self.pre = LayerNorm(d_model), dropout, norm_first

    def forward(self, x, sublayer):
        y = F.dropout(sublayer(self.norm(x) if self.pre else x), self.p, self.training)
        y += x
        return y if self.pre else self.norm(y)
"""


def test_what_a_sublayer_returns_may_be_x_itself(judges: dict[str, Judge]) -> None:
    """Dropout that drops nothing hands on the tensor itself, and an edit in place edits x."""
    result = grade(judges, "sublayer", EDITS_WHAT_IT_WAS_GIVEN)
    assert "Your code changes `x`" in lost(result)
    mended = EDITS_WHAT_IT_WAS_GIVEN.replace("y += x", "y = y + x")
    assert grade(judges, "sublayer", mended).status == "passed"


def test_a_layer_that_is_turned_into_another_dtype_is_noticed(judges: dict[str, Judge]) -> None:
    """`layer.float()` turns the caller's own layer; a copy in float32 costs nothing."""
    source = stubs.reference_source("by_hand")
    start = "    part = layer.self_attn\n"
    for turned, full in (
        ("layer.float()", False),
        ("layer.double()", False),
        ("copy.deepcopy(layer).float()", True),
    ):
        dtype = "double" if "double" in turned else "float"
        line = f"    layer, x = {turned}, x.{dtype}()\n"
        result = grade(judges, "by_hand", "import copy\n" + source.replace(start, line + start))
        assert (result.status == "passed") is full, lost(result)


def test_a_least_rate_that_is_always_a_tenth_costs_points(judges: dict[str, Judge]) -> None:
    source = stubs.reference_source("optimiser")
    wrong = source.replace(
        "    if step < warmup:", "    min_rate = max_rate / 10\n    if step < warmup:"
    )
    assert wrong != source
    assert grade(judges, "optimiser", wrong).status == "failed"

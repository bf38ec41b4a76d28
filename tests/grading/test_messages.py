"""Messages that once led people astray, each with the code that brought it about and its words."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader import curriculum
from grader.curriculum import stubs
from grader.feedback.exceptions import hint_for
from grader.feedback.results import CheckResult
from grader.feedback.text import plain
from grader.grading.judge import Judge
from grader.grading.recording import Recordings
from grader.sandbox.host import Host
from grader.submission import Submission

pytestmark = pytest.mark.usefixtures("undiagnosed")


@pytest.fixture(scope="module")
def judges(host: Host, recordings: Recordings) -> dict[str, Judge]:
    return {name: Judge([name], recordings, host) for name in curriculum.NAMES}


def told(judges: dict[str, Judge], exercise: str, check: str, *edits: tuple[str, str]) -> str:
    """Status and finding of a check, for the solution with these edits."""
    source = stubs.reference_source(exercise)
    for old, new in edits:
        assert old in source
        source = source.replace(old, new)
    (result,) = judges[exercise].grade(Submission("somebody", {exercise: source})).exercises
    outcome: CheckResult = next(
        graded_check for graded_check in result.checks if graded_check.check == check
    )
    assert outcome.finding is not None
    return f"{outcome.status}: {plain(outcome.finding)}"


FILL = "scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)"
Q_PROJ = "self.q_proj(query)"


@pytest.mark.full
@pytest.mark.parametrize(
    ("exercise", "check", "old", "new", "says", "never"),
    [
        pytest.param(
            "masks",
            "the_target_mask_is_both_at_once",
            "return padding_mask(ids, pad_id) & causal_mask(ids.size(1), ids.device)",
            "return padding_mask(ids, pad_id).float() & causal_mask(ids.size(1)).float()",
            "error: `&`, `|` and `~` are for booleans, and these are floating-point numbers.",
            "not written",
            id="finished code is not to do",
        ),
        pytest.param(
            "attention",
            "masked_positions_get_nothing",
            FILL,
            "scores.masked_fill(~mask, -1e9)",
            "hides nothing: every key gets a weight.",
            "larger score",
            id="a mask whose result is dropped",
        ),
        pytest.param(
            "attention",
            "a_row_without_keys_stays_finite",
            FILL,
            "scores = scores.masked_fill(~mask, 1e-20)",
            "hides nothing: every key gets a weight.",
            "larger score",
            id="a fill that is tiny",
        ),
        pytest.param(
            "attention",
            "masked_positions_get_nothing",
            FILL,
            "scores = scores.masked_fill(mask, torch.finfo(scores.dtype).min)",
            "hides are not zero.",
            "larger score",
            id="a mask turned round",
        ),
        pytest.param(
            "attention",
            "agrees_with_torch",
            "if mask is not None:",
            "mask = mask.to(query.device)\n    if mask is not None:",
            "`mask` is None in this call, and this line uses it all the same.",
            "`return`",
            id="a mask that was not given",
        ),
        pytest.param(
            "attention",
            "agrees_with_torch",
            "key.transpose(-2, -1)",
            "key.transpose(2, 1)",
            "`transpose` swaps the axes 2 and 1 here, counted from the front.",
            "Print both shapes",
            id="the axes of heads turned",
        ),
        pytest.param(
            "attention",
            "agrees_with_torch",
            "math.sqrt(query.size(-1))",
            "math.sqrt(qeury.size(-1))",
            "`qeury` is not defined here. Did you mean `query`?",
            "spelled",
            id="a misspelled name",
        ),
        pytest.param(
            "attention",
            "agrees_with_torch",
            "key.transpose(-2, -1)",
            "key.T",
            "`.T` reverses all axes.",
            "Print both shapes",
            id="all axes turned",
        ),
        pytest.param(
            "decoder",
            "layer_agrees_with_torch",
            "self.cross_attn(y, memory, memory, memory_mask)",
            "self.cross_attn(y, memory, y, memory_mask)",
            "made from the wrong sequence",
            "transpose missing",
            id="the value of another sequence",
        ),
        pytest.param(
            "decoder",
            "layer_agrees_with_torch",
            "self.cross_attn(y, memory, memory, memory_mask)",
            "self.cross_attn(y, memory, memory > 0)",
            "Booleans, such as a mask, were passed where numbers are needed.",
            "make it a buffer",
            id="a mask in place of the value",
        ),
        pytest.param(
            "layer_norm",
            "agrees_with_torch",
            "class LayerNorm(nn.Module):",
            "class LayerNorm:",
            "LayerNorm is not a module: it has no `to`",
            "spelled",
            id="no module",
        ),
        pytest.param(
            "layer_norm",
            "agrees_with_torch",
            "nn.Parameter(torch.ones(d_model))",
            "nn.Parameter(torch.ones(1))",
            "weight has the shape (1,), not (",
            "Is it an nn.Parameter",
            id="a parameter of another shape",
        ),
        pytest.param(
            "swiglu",
            "agrees_with_torch",
            "self.up_proj = nn.Linear(d_model, d_ff,",
            "self.up_proj = nn.Linear(d_model, d_model,",
            "self.up_proj = nn.Linear(d_model, d_model,",
            "nn.Parameter",
            id="the line that makes a parameter of another shape",
        ),
        pytest.param(
            "language_model",
            "parameters_and_ties",
            "if tie_weights:",
            "if True:",
            "it shares them with `lm_head.weight`.",
            "layer",
            id="two parameters in one",
        ),
        pytest.param(
            "feed_forward",
            "agrees_with_torch",
            "nn.Dropout(dropout)",
            "nn.Dropout(prob=dropout)",
            "torch's `nn.Dropout` has no argument `prob`. It takes `p`, `inplace`.",
            "`def` line",
            id="an argument that torch does not have",
        ),
        pytest.param(
            "multi_head",
            "has_four_maps",
            Q_PROJ,
            "nn.Linear(query.size(-1), query.size(-1)).to(query.dtype)(query)",
            "Two equal calls in evaluation give different results.",
            "wrong",
            id="a layer made in forward",
        ),
        pytest.param(
            "multi_head",
            "keeps_float64",
            Q_PROJ,
            "nn.Linear(query.size(-1), query.size(-1))(query)",
            "A layer that is made in `forward` is new in every call",
            "make it a buffer",
            id="a layer made in forward, of float32",
        ),
        pytest.param(
            "swiglu",
            "takes_any_number_of_axes",
            "gate = self.gate_proj(x)",
            "batch, length, _ = x.shape; gate = self.gate_proj(x)",
            "The number of names on the left differs from the number of values on the right.",
            "spelled",
            id="axes counted from the front",
        ),
        pytest.param(
            "multi_head",
            "agrees_with_torch",
            "heads, _ = attention",
            "heads = attention",
            "Unpack them: `output, weights = …`.",
            "spelled",
            id="two results taken for one",
        ),
        pytest.param(
            "multi_head",
            "hidden_keys_have_no_say",
            "attention(q, k, v, mask, self.dropout)",
            "attention(q, k, v, None, self.dropout)",
            "your output changes when a hidden key does.",
            "All ",
            id="a mask that is not handed on",
        ),
        pytest.param(
            "kv_cache",
            "hands_back_everything_so_far",
            "self.length = self.keys.size(2)",
            "self.length = self.keys.size(1)",
            "It counts the tokens that the cache holds",
            "method",
            id="a length of another axis",
        ),
        pytest.param(
            "training",
            "rate_rises_and_falls",
            "rate: float = d_model**-0.5",
            "rate: float = d_model**-0.05",
            "If d_model is four times as large, the rate should be half as large; yours is "
            "multiplied by 0.933.",
            "times what it should be",
            id="an exponent of d_model",
        ),
        pytest.param(
            "training",
            "rate_rises_and_falls",
            "rate: float = d_model**-0.5",
            "rate: float = 10 * d_model**-0.5",
            "Your rate is 10 times what it should be, before `warmup` and after it.",
            "multiplied by",
            id="a factor of the rate",
        ),
        pytest.param(
            "sampling",
            "top_p",
            "before >= p",
            "before >= 2.0",
            "No number of your result is -inf.",
            "crosses",
            id="no token ruled out",
        ),
        pytest.param(
            "sampling",
            "top_p",
            "before >= p",
            "before + probabilities >= p",
            "In each row the least probable of the tokens that should stay is missing.",
            "a single token stays",
            id="the token that crosses p",
        ),
        pytest.param(
            "optimiser",
            "clipping_takes_what_parameters_there_are",
            "    return norm\n",
            "    return parameters\n",
            "should return the norm before clipping; yours returned a ",
            "Opaque",
            id="another type than a number",
        ),
        pytest.param(
            "optimiser",
            "groups_have_their_own_options",
            """beta1, beta2 = group["betas"]""",
            """beta1, beta2 = self.defaults["betas"]""",
            "A group's own `betas` has no effect",
            "Two groups",
            id="an option of the constructor",
        ),
        pytest.param(
            "optimiser",
            "the_rate_follows_a_cosine",
            "math.pi",
            "3.0",
            "Only rates from step `warmup` to `total` are wrong.",
            "before",
            id="a part of the rate",
        ),
        pytest.param(
            "training",
            "loss_without_padding",
            "smoothing * -of_all",
            "2 * smoothing * -of_all",
            "half the sum of all -log p with the weights [[",
            "plus",
            id="the weights of a loss",
        ),
        pytest.param(
            "training",
            "loss_without_padding",
            "return loss[is_word].mean()",
            "return loss[is_word].mean() + 0.5",
            " and smoothing=0.1, your loss is the right one plus 0.5",
            "weights",
            id="a number added to a loss",
        ),
        pytest.param(
            "optimiser",
            "steps_agree_with_torch",
            "parameter -= lr * weight_decay * parameter",
            "parameter -= 2 * lr * weight_decay * parameter",
            "a gradient of 0, a step turns a weight of 1 into 0.96; it should be 0.98.",
            "Without decay",
            id="the decay alone",
        ),
        pytest.param(
            "optimiser",
            "steps_agree_with_torch",
            """beta1 * state["m"] + (1 - beta1) * gradient""",
            """beta1 * state["m"] + (1 - beta1) * gradient.clamp(max=1.5)""",
            "(so that v̂ should be the gradient's square), a gradient of 2 turns a weight of 1",
            "a step turns",
            id="the mean of the gradients alone",
        ),
        pytest.param(
            "subwords",
            "applies_the_earliest_merge_first",
            "_, place = min(applicable)",
            "_, place = max(one for one in applicable if one[0] == min(applicable)[0])",
            ", 256]; it should be [256, ",
            "hath",
            id="the smallest text to encode",
        ),
        pytest.param(
            "subwords",
            "takes_the_greater_of_equally_frequent_pairs",
            "key=lambda pair: (pairs[pair], pair)",
            "key=lambda pair: pairs[pair]",
            "are equally frequent; the greater is",
            "ehhh",
            id="the smallest text with a tie",
        ),
        pytest.param(
            "decoding",
            "a_narrow_beam",
            "memory = model.encode(row)",
            "memory = model.encode(src)[:1]",
            "Each source by itself gets the right target; only together they do not.",
            "sum to",
            id="rows that are right by themselves",
        ),
        pytest.param(
            "decoding",
            "a_wide_beam_finds_the_best_of_all",
            "best.append(max(beam)[1])",
            "best.append(max(beam, key=lambda one: one[0] / len(one[1]))[1])",
            "The log-probabilities of your tokens in batch 0 sum to",
            "by itself",
            id="the scores of two targets",
        ),
        pytest.param(
            "layer_norm",
            "works_on_any_input",
            "return self.weight * (x - mean)",
            "return self.weight * torch.dropout(x - mean, 0.1, self.training)",
            "In training mode your module returns other numbers than in evaluation mode.",
            "bfloat16",
            id="a dropout in layer_norm",
        ),
        pytest.param(
            "swiglu",
            "works_on_any_input",
            "return self.down_proj(gate",
            "return self.down_proj(torch.dropout(torch.ones(()), 0.5, self.training) * gate",
            "In training mode your module returns other numbers than in evaluation mode.",
            "bfloat16",
            id="a dropout in swiglu",
        ),
        pytest.param(
            "rms_norm",
            "works_on_any_input",
            "return self.weight * x",
            "return self.weight * torch.dropout(torch.ones(x.shape), 0.1, self.training) * x",
            "In training mode your module returns other numbers than in evaluation mode.",
            "bfloat16",
            id="a dropout in rms_norm",
        ),
        pytest.param(
            "grouped_query",
            "works_on_any_input",
            "return self.out_proj(heads",
            "return self.out_proj(nn.functional.dropout(heads, 0.1, self.training)",
            "In training mode your module returns other numbers than in evaluation mode.",
            "bfloat16",
            id="a dropout in grouped_query",
        ),
        pytest.param(
            "tokens",
            "turns_words_into_ids",
            "vocab[unknown]",
            'vocab["<unk>"]',
            "raised KeyError: '<unk>', although `unknown` is in the vocabulary.",
            "'<unk>': 70",
            id="the call that raised a KeyError",
        ),
    ],
)
def test_the_words_fit_the_code(
    judges: dict[str, Judge],
    exercise: str,
    check: str,
    old: str,
    new: str,
    says: str,
    never: str,
) -> None:
    """What the judge says of this mistake, and what it says no longer."""
    message = told(judges, exercise, check, (old, new))
    assert says in message
    assert never not in message


class Plain:
    """A class that is no module."""


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("x & x", "are for booleans"),
        ("~x", "are for booleans"),
        ("math.sqrt(x)", "torch.sqrt"),
        ("x.requires_grad(False)", "`requires_grad_(False)`"),
        ("nn.Linear(2, 2).requires_grad(False)", "`requires_grad_(False)`"),
        ("Plain()(x)", "inherit from nn.Module"),
        ("x & mask", "`mask` is None"),
        ("mask[:, None]", "`mask` is None"),
        ("dropout(x)", "`dropout` is None"),
        ("x.masked_fill(mask == 0, -1e9)", "`None == 0` is False"),
        ("torch.where(mask, x, 0.0)", "`where` gets a mask that is not a tensor"),
        ("torch.sort(x, descending=-1)", "a name or a type that the function doesn't take"),
        ("x + torch.einsum('ab->b', torch.ones(3, 7))", "Two tensors do not fit together"),
        ("(x * x.mT).sum(-1).mean()", "Two tensors do not fit together"),
        ("x / x.sum(-1)", "A mean or sum drops its axis, unless `keepdim=True`"),
        ("torch.view_as_complex(x[..., :2].bfloat16())", "can't be made from bfloat16"),
        ("x[torch.arange(3), torch.ones(3, 4).long()]", "these have [3] and [3, 4]"),
        ("make_mask(x).to(x.device)", "`return` missing"),
        ("x.mean(-1, keep_dim=True)", "Did you mean `keepdim`?"),
        ("x.var(-1, corection=0)", "Did you mean `correction`?"),
        ("nn.Linear(3, 4, bais=False)", "Did you mean `bias`?"),
        ("F.softmax(x, dims=-1)", "Did you mean `dim`?"),
        ("nn.Linear(3)", "These arguments don't fit torch's `nn.Linear`, which takes"),
        ("Own(3)", "Compare it with the `def` line."),
        ("torch.matmul(x, x.transpose(0, 1))", "swaps the axes 0 and 1"),
        ("x.shape(1)", "a tuple, not a function"),
        ("x.size[1]", "without brackets it isn't called"),
        ("math.sqrt(x.size)", "without brackets it isn't called"),
        ("torch.zeros(x.size, 3)", "without brackets it isn't called"),
        ("math.pi(x + 1)", "an operator such as `*`"),
        ("torch.mm(x, x[0, 0])", "`@` takes any number of axes in front"),
        ("torch.maximum(x, 0)", "`maximum` compares two tensors"),
        ("max(0, x)", "Python's `max` compares whole tensors"),
        ("x.mean + 1", "`mean` is a function: without `()` it isn't called."),
        ("x.shape / 2", "Which of its sizes do you want?"),
        ("range(x.shape)", "Which of its sizes do you want?"),
        ("range(x)", "needs a whole number and got a tensor"),
        ("torch.ones(3, x)", "A size is a whole number, and this is a Tensor."),
        ("x.reshape(3, 4 / 2)", "`//` divides whole numbers"),
        ("x.t()", "this tensor has 4."),
        ("x.transpose(-1)", "the two axes that it swaps"),
        ("x.permute(0, 2)", "all axes of the tensor in their new order, here 4"),
        ("x - x.max(dim=-1)", "two things, the values and their indices"),
        ("x.softmax()", "`dim=-1` is the last"),
        ("x.unsqueeze()", "the position of the new axis"),
        ("[_ for _ in 3]", "`range(n)` counts from 0 to n - 1"),
        ("x.size(1)[0]", "A single number can't be indexed"),
        ("nn.ReLU() + x", "ReLU is a layer here, not a tensor"),
        ("nn.Dropout(0.1)(nn.ReLU())", "a second pair of brackets applies it"),
        ("nn.Dropout(0.1)(type('Own', (), {})())", "Is it called with its input"),
        ("x[0, 0, 0].dot(x)", "`dot` multiplies two vectors"),
        ("torch.cat([x, x[0]])", "the same number of axes; these have 4 and 3"),
        ("torch.cat([x, x[:, :1]])", "Along which axis should they grow?"),
        ("torch.cat(x, x)", "in one list"),
        ("torch.tensor([[1], [1, 2, 3]])", "rows of equal length"),
        ("x[:, :, :, :, 0]", "More axes are indexed than the tensor has: it has 4."),
        ("x[x[0, 0, 0] > 0]", "`masked_fill` and `torch.where` broadcast a mask"),
        ("torch.zeros(2, 3).scatter(-1, torch.tensor([1, 2]), 1.0)", "an index with as many axes"),
        ("x.topk(9)", "more numbers than that axis has"),
        ("nn.Embedding(5, 3)(x)", "An embedding looks up ids"),
        ("nn.ModuleList(3)", "a list of layers"),
        ("nn.ModuleList([nn.Linear])", "`Layer(…)`, not `Layer`"),
        ("nn.ModuleList([nn.ReLU()])(x)", "only keeps modules"),
        ("[x].shape", "a Python list, without `shape`"),
        ("x.append(1)", "`torch.cat` joins two"),
        ("(3.0).item()", "a plain Python number"),
        ("b'a' + 'b'", "`encode` turns text into bytes"),
        ("(x, x).shape", "a tuple, not a tensor"),
        ("x + (x, x)", "a tuple, not a tensor"),
        ("nn.Linear(6, 6)((x, x))", "a tuple, not a tensor"),
        ("torch.sqrt(sum([]))", "a sum that had nothing to add"),
        ("changed_in_place(x)", "changed in place after it was used"),
        ("Forward.apply(x.requires_grad_()).sum().backward()", "only if it has a `backward`"),
        ("1 - (x > 0)", "`-` doesn't work on booleans"),
        ("-(x > 0)", "`-` doesn't work on booleans"),
        ("x.unsqueeze(1).expand_as(x)", "gets fewer sizes (4) than the tensor has axes (5)"),
        ("x.repeat(2, 1, 1)", "a number for each axis"),
        ("F.dropout(x, p=nn.Dropout(0.1))", "a number, and this one is of the type Dropout"),
        ("x.masked_fill(torch.ones(4, 1, 1, 6).bool(), 0.0)", "is each of its axes where"),
    ],
)
def test_what_is_raised_is_told_by_its_line(line: str, says: str) -> None:
    """Where the text of an error leaves it open, the student's line decides."""

    class Own:
        def __init__(self, width: int, height: int) -> None: ...

    class Forward(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:  # noqa: ARG004
            return 2 * x

    def changed_in_place(x: Tensor) -> None:
        y = x.clone().requires_grad_().exp()
        y += 1.0
        torch.autograd.backward(y.sum())

    names = {
        **{"changed_in_place": changed_in_place, "Forward": Forward},
        **{"F": F, "Own": Own, "Plain": Plain, "dropout": None, "make_mask": lambda _: None},
        **{"mask": None, "math": math, "nn": nn, "torch": torch, "x": torch.ones(3, 4, 5, 6)},
    }
    with pytest.raises(Exception) as caught:  # noqa: PT011
        eval(line, names)
    assert says in hint_for(f"{caught.type.__name__}: {caught.value}", line)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        ("RuntimeError: function 'conv1d' already has a docstring", "loaded a second time"),
        ("RuntimeError: torch keeps this to itself while your code is graded", "may not be used"),
    ],
)
def test_who_goes_round_a_rule_reads_that_it_is_one(error: str, says: str) -> None:
    assert says in hint_for(error)


def test_an_assertion_of_the_students_own_is_called_that() -> None:
    line = "assert query.size(-1) == value.size(-1)"
    assert "Does the exercise promise that it is true?" in hint_for("AssertionError", line)
    assert not hint_for("AssertionError", "check_sizes(query, value)")


def test_an_exercise_that_is_not_there_is_a_file() -> None:
    error = "ModuleNotFoundError: No module named 'exercises.dropout'"
    assert "dropout.py, and there is no such file" in hint_for(error)

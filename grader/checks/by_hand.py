"""Hidden checks of `by_hand`: what is inside `nn.TransformerEncoderLayer`, step by step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from grader.checks.by_hand_cases import KEYS, SCORES, ByHandCase, cases, steps_in
from grader.checks.framework import check
from grader.checks.framework.assertions import assert_changes, assert_not_edited, matches
from grader.checks.framework.precision import assert_settings_kept, either_precision
from grader.feedback.comparison import Mismatch, assert_dtype, assert_matches, assert_shape
from grader.remote.proxy import RemoteModule


def _compare(steps: dict[str, Any], case: ByHandCase, *names: str) -> None:
    """Check that these steps are right, or follow from earlier ones, which other checks grade."""
    for name in names:
        if matches(steps[name], case.expected[name]) or _follows(steps, case, name):
            continue
        settings = f"batch_first={case.batch_first}, norm_first={case.norm_first}"
        if (case.eps, case.second_eps) != (ByHandCase.eps, ByHandCase.second_eps):
            settings += f", norm1.eps={case.eps}, norm2.eps={case.second_eps}"
        subject = f"{name!r} with {settings}"
        assert_matches(steps[name], case.expected[name], subject, axes=case.axes_of(name))


def _follows(steps: dict[str, Any], case: ByHandCase, name: str) -> bool:
    """Return whether a step follows from the ones before it, none of them constant.

    So a mistake costs points only where it is made.
    """
    own = {}
    for key in KEYS:
        step, expected = steps[key], case.expected[key]
        if not isinstance(step, Tensor) or step.shape != expected.shape or step.is_complex():
            return False
        own[key] = step.detach().double()
        # With zero weights and biases, attention may be zero.
        if key != "attention" and not (own[key] - own[key].flatten()[0]).abs().max().item() > 1e-3:
            return False
    return matches(steps[name], case.after(name, own))


@check(points=2, inputs=(cases(True), cases(True, norm_first=True)), examples=1)
@either_precision
def test_query_key_and_value(student: Any, post: ByHandCase, pre: ByHandCase) -> None:
    """Query, key and value are the layer's own projection, cut in three and into heads.

    Sees the three in another order, a weight that is not transposed, a missing bias, heads cut from
    the wrong axis, and a missing norm in pre-norm.
    """
    for case in (post, pre):
        _compare(case.steps(student), case, "query", "key", "value")


@check(points=1, inputs=(cases(True, n_heads=1), cases(True)), examples=1)
@either_precision
def test_scores_and_weights(student: Any, single: ByHandCase, several: ByHandCase) -> None:
    """Scores are divided by √d_head; weights are their softmax over the keys.

    Sees √d_model, a scale that is missing or applied twice, softmax over the wrong axis, weights
    divided by dropout's 1 - p, and an exp of large scores, which is infinite.
    """
    for case in (single, several):
        _compare(case.steps(student), case, "scores", "weights")
    steps = several.loud.steps(student)
    assert_shape(steps["scores"], tuple(several.expected["scores"].shape), "'scores'")
    # Computed from the scores that came back: float32 keeps those of a thousand to 1e-4 only.
    weights = steps["scores"].detach().double().softmax(-1)
    help = (
        "exp(1000) is infinite. Subtracting the largest score of a row from all of them does not "
        "change the softmax, and then no exp is above 1."
    )
    subject = "'weights' for scores of up to a thousand"
    assert_matches(steps["weights"], weights, subject, axes=SCORES, help=help, rtol=1e-2, atol=1e-2)


@check(points=1, inputs=cases(True), examples=2)
@either_precision
def test_attention_is_merged(student: Any, case: ByHandCase) -> None:
    """The heads are merged and go through `out_proj`.

    Sees heads merged without a transpose back, `out_proj` left out or not transposed, and the
    residual sum included.
    """
    _compare(case.steps(student), case, "attention")


@check(points=1, inputs=cases(True, hears=False), examples=2)
@either_precision
def test_post_norm(student: Any, case: ByHandCase) -> None:
    """In post-norm, each of the two sums is normalised: norm1 and output.

    Sees a sum that is missing, a norm in the wrong place, used twice or with the unbiased variance,
    and an `eps` that is not that norm's own. Attention is constant here, so that mistakes in it do
    not count.
    """
    _compare(case.steps(student), case, "norm1", "output")
    other = replace(case, eps=0.5, second_eps=2.0)
    _compare(other.steps(student), other, "norm1", "output")


@check(points=2, inputs=cases(True, norm_first=True, hears=False), examples=2)
@either_precision
def test_pre_norm(student: Any, case: ByHandCase) -> None:
    """In pre-norm, the input of each sublayer is normalised, and the sums are not.

    Sees `norm_first` ignored, the normalised x used as the residual, a norm at the end, an `eps`
    that is left out, outside the root or not that norm's own, which a small x shows, and a variance
    computed as E[x²] - E[x]², of which rounding leaves nothing far from zero. Attention is constant
    here, so that mistakes in it do not count.
    """
    _compare(case.steps(student), case, "norm1", "feed_forward", "output")
    small = replace(case, x=case.x * 0.01, eps=1e-3, second_eps=2.0)
    steps = small.steps(student)
    assert_matches(steps["norm1"], small.expected["norm1"], "'norm1' for a small x", axes=case.axes)
    _compare(steps, small, "feed_forward")
    # Subtracting the mean first is off by up to 4e-4, the rounding of the mean.
    far = case.far
    result = far.steps(student)["norm1"]
    help = "A difference of large numbers keeps few digits: subtract the mean, then square."
    subject = "'norm1' for an x around 1000"
    expected = far.expected["norm1"]
    assert_matches(result, expected, subject, axes=case.axes, help=help, rtol=4e-3, atol=4e-3)


@check(
    points=1,
    inputs=(
        cases(True, hears=False),
        cases(True, activation="gelu", hears=False),
        cases(True, norm_first=True, activation="gelu", hears=False),
    ),
    examples=1,
)
@either_precision
def test_the_layers_own_activation(
    student: Any, relu: ByHandCase, gelu: ByHandCase, pre: ByHandCase
) -> None:
    """The feed-forward network uses the layer's own activation, ReLU or the exact GELU.

    Sees a hard-coded ReLU, GELU's tanh form, a missing activation, and the residual sum included.
    """
    for case in (relu, gelu, pre):
        _compare(case.steps(student), case, "feed_forward")


@check(points=1, inputs=(cases(False), cases(False, norm_first=True)), examples=1)
@either_precision
def test_batch_second(student: Any, post: ByHandCase, pre: ByHandCase) -> None:
    """If the layer is not `batch_first`, x is (L, B, d_model), and so are the steps laid out as x.

    Sees the first axis used as the batch whatever the layer says, heads that have the length first,
    and an attention that is not swapped back. Mistakes that occur with the batch first as well
    pass: other checks grade them.
    """
    for case in (post, pre):
        layer = case.layer(student)
        result = case.steps(student, layer)
        first = replace(case, x=case.x.transpose(0, 1), batch_first=True)
        own = first.steps(student)
        for name in KEYS:
            assert_shape(own[name], tuple(first.expected[name].shape), repr(name))
            turned = own[name] if own[name].dim() == 4 else own[name].transpose(0, 1)
            subject = f"{name!r} with batch_first=False, norm_first={case.norm_first}"
            if not matches(result[name], case.expected[name]):
                help = "Compared with your own steps for the same layer with batch_first=True."
                assert_matches(result[name], turned, subject, axes=case.axes_of(name), help=help)
        _assert_reads(student, layer, case, result)


@check(points=1, inputs=(cases(True), cases(True, norm_first=True)), examples=1)
@either_precision
def test_the_layer_is_only_read(student: Any, post: ByHandCase, pre: ByHandCase) -> None:
    """A layer in training mode gives the same steps; layer and x are unchanged afterwards.

    Sees dropout applied, a `layer.eval()` or `layer.float()` that stays, and modified weights or x.
    Compares the steps with those for the layer in evaluation mode.
    """
    settings = student.global_settings()
    for case in (post, pre):
        x = case.x.to(case.dtype)
        layer = case.layer(student, dropout=0.5)
        before = case.steps(student, layer)
        layer.train()
        returned, (_, after) = student.encoder_layer_by_hand.echo(layer, x)
        result = steps_in(returned)
        for name in KEYS:
            assert_shape(before[name], tuple(case.expected[name].shape), repr(name))
            subject = f"{name!r} for a layer in training mode"
            assert_matches(result[name], before[name], subject, axes=case.axes_of(name))
        assert_not_edited([x], [after], ["x"])
        _assert_untouched(layer, case)
        _assert_reads(student, layer, case, before)
    narrow = post.narrow
    layer = narrow.layer(student).train()
    for name, step in narrow.steps(student, layer).items():
        if name in KEYS:
            assert_dtype(step, torch.float32, f"{name!r} for a layer and an x in float32")
    _assert_untouched(layer, narrow)
    assert_settings_kept(settings, student.global_settings())


def _assert_untouched(layer: RemoteModule, case: ByHandCase) -> None:
    for part in (layer, layer.self_attn, layer.dropout1, layer.norm2):
        if part.training.get() is not True:
            raise Mismatch(
                "Your function took the layer out of training mode.",
                help="`layer.eval()` changes the layer; computing the steps needs no mode.",
            )
    kept = layer.weights(case.weights)
    for name, value in case.weights.items():
        if kept[name].dtype is not case.dtype:
            before, after = (
                str(dtype).removeprefix("torch.") for dtype in (case.dtype, kept[name].dtype)
            )
            raise Mismatch(
                f"Your function converts the layer's `{name}` from {before} to {after}.",
                help="`layer.float()` and `layer.to(...)` change the layer itself, not a copy.",
            )
        if not torch.equal(kept[name], value.to(kept[name].dtype)):
            raise Mismatch(f"Your function changes the layer's `{name}`.")


def _assert_reads(
    student: Any, layer: RemoteModule, case: ByHandCase, before: dict[str, Tensor]
) -> None:
    """Check that other weights and another x give other steps. No lazy answer passes this."""
    for name, step in (("self_attn.in_proj_weight", "scores"), ("linear2.weight", "output")):
        layer.load(case.weights | {name: -case.weights[name].flip(0)})
        result = case.steps(student, layer)[step]
        assert_changes(result, before[step], f"{step!r} does not depend on the layer's `{name}`.")
    layer.load(case.weights)
    flipped = replace(case, x=case.x.flip(-1)).steps(student, layer)["output"]
    assert_changes(flipped, before["output"], "'output' does not depend on x.")


@check(points=0, inputs=cases(True), examples=1)
def test_keeps_float64(student: Any, case: ByHandCase) -> None:
    """In float64 the steps have the accuracy of float64.

    Sees a `.float()` on the way. It carries no points: float32 is accurate enough here.
    """
    output = case.steps(student)["output"]
    if matches(output, case.expected["output"]):
        assert_matches(
            output, case.expected["output"], "output", axes=case.axes, rtol=1e-9, atol=1e-9
        )

"""Hidden checks of `by_hand`: what is inside `nn.TransformerEncoderLayer`, step by step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from hypothesis import strategies as st
from torch import Tensor, nn

from grader.checks.framework import check
from grader.checks.framework.assertions import assert_changes, assert_not_edited, matches
from grader.checks.framework.inputs import Numbers, distinct_sizes, inputs
from grader.checks.framework.precision import assert_settings_kept, either_precision
from grader.feedback.comparison import Mismatch, assert_matches, assert_shape
from grader.remote.proxy import RemoteModule

HEADS = ("batch", "head", "token", "d_head")
SCORES = ("batch", "head", "query", "key")
KEYS = (
    "query", "key", "value", "scores", "weights", "attention", "norm1", "feed_forward", "output",
)  # fmt: skip


@dataclass(frozen=True)
class ByHandCase:
    """A layer of PyTorch's with random weights, what it is given, and what it makes of that."""

    x: Tensor
    n_heads: int
    weights: dict[str, Tensor]
    batch_first: bool
    norm_first: bool
    activation: str = "relu"
    eps: float = 1e-5
    dtype: torch.dtype = torch.float64

    @property
    def narrow(self) -> ByHandCase:
        """The same case in float32."""
        return replace(self, dtype=torch.float32)

    @property
    def options(self) -> dict[str, Any]:
        """The layer's arguments."""
        return {
            "d_model": self.x.size(-1),
            "nhead": self.n_heads,
            "dim_feedforward": self.weights["linear1.bias"].numel(),
            "activation": self.activation,
            "layer_norm_eps": self.eps,
            "batch_first": self.batch_first,
            "norm_first": self.norm_first,
        }

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes of x."""
        first = ("batch", "token") if self.batch_first else ("token", "batch")
        return (*first, "d_model")

    def axes_of(self, step: str) -> tuple[str, ...]:
        """The axes of one of the steps."""
        if step in ("query", "key", "value"):
            return HEADS
        return SCORES if step in ("scores", "weights") else self.axes

    def layer(self, student: Any, dropout: float = 0.1) -> RemoteModule:
        """The layer beside the student's code, in evaluation mode."""
        layer: RemoteModule = student.give(
            "TransformerEncoderLayer", dropout=dropout, **self.options
        )
        return layer.to(self.dtype).load(self.weights).eval()

    def steps(self, student: Any, layer: RemoteModule | None = None) -> dict[str, Any]:
        """What the student's function says of the layer."""
        layer = layer or self.layer(student)
        return _steps(student.encoder_layer_by_hand(layer, self.x.to(self.dtype)))

    @cached_property
    def expected(self) -> dict[str, Tensor]:
        """The steps, from PyTorch's own parts, but for the heads, which are cut out here."""
        layer = nn.TransformerEncoderLayer(dropout=0.0, **self.options).double().eval()
        layer.load_state_dict(self.weights)
        with torch.no_grad():
            heard = layer.norm1(self.x) if self.norm_first else self.x
            attention, weights = layer.self_attn(
                heard, heard, heard, need_weights=True, average_attn_weights=False
            )
            middle = self.x + attention
            norm1 = heard if self.norm_first else layer.norm1(middle)
            feed_forward = layer._ff_block(layer.norm2(middle) if self.norm_first else norm1)
            output = layer(self.x)
        query, key, value = self._heads(heard)
        return {
            "query": query,
            "key": key,
            "value": value,
            "scores": torch.einsum("bhqd,bhkd->bhqk", query, key) / query.size(-1) ** 0.5,
            "weights": weights,
            "attention": attention,
            "norm1": norm1,
            "feed_forward": feed_forward,
            "output": output,
        }

    def _heads(self, heard: Tensor) -> Tensor:
        """Query, key and value. (3, batch, head, token, d_head)"""
        d_model = self.x.size(-1)
        weight, bias = (self.weights[f"self_attn.in_proj_{name}"] for name in ("weight", "bias"))
        maps = weight.reshape(3, self.n_heads, -1, d_model)
        offsets = bias.reshape(3, 1, self.n_heads, 1, -1)
        tokens = self.x_first(heard)
        projected: Tensor = torch.einsum("blm,phdm->pbhld", tokens, maps) + offsets
        return projected

    def x_first(self, x: Tensor) -> Tensor:
        """With the batch as its first axis."""
        return x if self.batch_first else x.transpose(0, 1)


def _steps(found: Any) -> dict[str, Any]:
    """What came back, as the dictionary that it should be."""
    if not isinstance(found, dict):
        what = "None: is a `return` missing?" if found is None else f"a {type(found).__name__}."
        raise Mismatch(f"encoder_layer_by_hand should return a dict; yours returned {what}")
    missing = [key for key in KEYS if key not in found]
    if missing:
        raise Mismatch(f"The dictionary that you return has no key {missing[0]!r}.")
    return found


@inputs
def cases(
    draw: st.DrawFn,
    numbers: Numbers,
    batch_first: bool,
    norm_first: bool = False,
    activation: str = "relu",
    n_heads: int | None = None,
    hears: bool = True,
) -> ByHandCase:
    """Batch, length, heads and features of a head differ. Without `hears`, attention finds nothing.

    Then `out_proj` returns its bias whatever the heads have found, so that what follows can be
    judged apart from it.
    """
    batch, length, heads, d_head = draw(distinct_sizes(4, low=2, high=6))
    n_heads = n_heads or heads
    d_model, d_ff = n_heads * d_head, draw(st.integers(5, 11))
    shapes = {
        "self_attn.in_proj_weight": (3 * d_model, d_model),
        "self_attn.in_proj_bias": (3 * d_model,),
        "self_attn.out_proj.weight": (d_model, d_model),
        "self_attn.out_proj.bias": (d_model,),
        "linear1.weight": (d_ff, d_model),
        "linear1.bias": (d_ff,),
        "linear2.weight": (d_model, d_ff),
        "linear2.bias": (d_model,),
        "norm1.weight": (d_model,),
        "norm1.bias": (d_model,),
        "norm2.weight": (d_model,),
        "norm2.bias": (d_model,),
    }
    weights = {name: numbers.normal(name, *shape, scale=0.5) for name, shape in shapes.items()}
    for name in ("norm1.weight", "norm2.weight"):
        weights[name] = weights[name] + 1.5
    if not hears:
        weights["self_attn.out_proj.weight"] = torch.zeros(d_model, d_model, dtype=torch.float64)
    first = (batch, length) if batch_first else (length, batch)
    x = numbers.normal("x", *first, d_model)
    return ByHandCase(x, n_heads, weights, batch_first, norm_first, activation)


def _compare(steps: dict[str, Any], case: ByHandCase, *names: str) -> None:
    for name in names:
        what = f"{name!r} with batch_first={case.batch_first}, norm_first={case.norm_first}"
        assert_matches(steps[name], case.expected[name], what, axes=case.axes_of(name))


@check(points=2, inputs=(cases(True), cases(True, norm_first=True)), examples=1)
@either_precision
def test_query_key_and_value(student: Any, post: ByHandCase, pre: ByHandCase) -> None:
    """The layer's own projection is cut in three and into heads, as PyTorch cuts it.

    Sees the three in another order, a weight that is not transposed, a missing bias, heads cut from
    the wrong axis, and pre-norm's norm forgotten.
    """
    for case in (post, pre):
        _compare(case.steps(student), case, "query", "key", "value")


@check(points=1, inputs=(cases(True, n_heads=1), cases(True)), examples=1)
@either_precision
def test_scores_and_weights(student: Any, single: ByHandCase, several: ByHandCase) -> None:
    """Scores are scaled by √d_head; weights are their softmax over the keys.

    Sees √d_model, a scale that is missing or comes twice, softmax over the wrong axis, and weights
    divided by dropout's 1 - p.
    """
    for case in (single, several):
        _compare(case.steps(student), case, "scores", "weights")


@check(points=1, inputs=cases(True), examples=2)
@either_precision
def test_attention_is_merged(student: Any, case: ByHandCase) -> None:
    """The heads are merged and go through `out_proj`.

    Sees heads merged without a transpose back, `out_proj` left out or not transposed, and the
    residual sum taken in.
    """
    _compare(case.steps(student), case, "attention")


@check(points=1, inputs=cases(True, hears=False), examples=2)
@either_precision
def test_post_norm(student: Any, case: ByHandCase) -> None:
    """In post-norm, each sum is normalised: norm1, feed_forward and output.

    Sees a sum that is missing, a norm in the wrong place, used twice or with the unbiased variance.
    Attention finds nothing here, so that mistakes in it do not count.
    """
    _compare(case.steps(student), case, "norm1", "feed_forward", "output")


@check(points=2, inputs=cases(True, norm_first=True, hears=False), examples=2)
@either_precision
def test_pre_norm(student: Any, case: ByHandCase) -> None:
    """In pre-norm, what goes into each sublayer is normalised, and the sum is not.

    Sees `norm_first` overlooked, the normalised x taken for the residual, and a norm at the end.
    Attention finds nothing here, so that mistakes in it do not count.
    """
    _compare(case.steps(student), case, "norm1", "feed_forward", "output")


@check(
    points=1,
    inputs=(
        cases(True, activation="gelu", hears=False),
        cases(True, norm_first=True, activation="gelu", hears=False),
    ),
    examples=1,
)
@either_precision
def test_the_layers_own_activation(student: Any, post: ByHandCase, pre: ByHandCase) -> None:
    """With activation="gelu", the feed-forward network uses the exact GELU.

    Sees a ReLU that is written out, and GELU's tanh form.
    """
    for case in (post, pre):
        _compare(case.steps(student), case, "feed_forward")


@check(points=1, inputs=(cases(False), cases(False, norm_first=True)), examples=1)
@either_precision
def test_batch_second(student: Any, post: ByHandCase, pre: ByHandCase) -> None:
    """If the layer is not `batch_first`, x is (L, B, d_model), and so are the steps that it names.

    Sees the batch taken for the first axis whatever the layer says, heads that have the length
    first, and an attention that is not turned back.
    """
    for case in (post, pre):
        _compare(case.steps(student), case, *KEYS)


@check(points=1, inputs=(cases(True), cases(True, norm_first=True)), examples=1)
@either_precision
def test_the_layer_is_only_read(student: Any, post: ByHandCase, pre: ByHandCase) -> None:
    """A layer in training mode gives the same steps, and is afterwards as it was; x too.

    Sees dropout applied, `layer.eval()` left behind, and weights or x edited. Compares your steps
    with your own for the layer in evaluation mode.
    """
    settings = student.global_settings()
    for case in (post, pre):
        x = case.x.to(case.dtype)
        layer = case.layer(student, dropout=0.5)
        before = case.steps(student, layer)
        layer.train()
        returned, (_, after) = student.encoder_layer_by_hand.echo(layer, x)
        found = _steps(returned)
        for name in KEYS:
            assert_shape(before[name], tuple(case.expected[name].shape), repr(name))
            what = f"{name!r} for a layer in training mode"
            assert_matches(found[name], before[name], what, axes=case.axes_of(name))
        assert_not_edited([x], [after], ["x"])
        _assert_untouched(layer, case)
        _assert_reads(student, layer, case, before)
    assert_settings_kept(settings, student.global_settings())


def _assert_untouched(layer: RemoteModule, case: ByHandCase) -> None:
    for part in (layer, layer.self_attn, layer.dropout1, layer.norm2):
        if part.training.get() is not True:
            raise Mismatch(
                "The layer was in training mode before your function was called, and is not "
                "afterwards.",
                help="`layer.eval()` changes the layer; the steps need no mode.",
            )
    kept = layer.weights(case.weights)
    for name, value in case.weights.items():
        if not torch.equal(kept[name], value.to(kept[name].dtype)):
            raise Mismatch(f"Your function changes the layer's `{name}`.")


def _assert_reads(
    student: Any, layer: RemoteModule, case: ByHandCase, before: dict[str, Tensor]
) -> None:
    """Other weights and another x give other steps. No lazy answer's do."""
    for name, step in (("self_attn.in_proj_weight", "scores"), ("linear2.weight", "output")):
        layer.load(case.weights | {name: -case.weights[name].flip(0)})
        found = case.steps(student, layer)[step]
        assert_changes(found, before[step], f"The numbers in `{name}` do not change {step!r}.")
    layer.load(case.weights)
    other = replace(case, x=case.x.flip(-1)).steps(student, layer)["output"]
    assert_changes(other, before["output"], "The numbers in x do not change 'output'.")


@check(points=0, inputs=cases(True, hears=False), examples=1)
def test_uses_the_layers_own_eps(student: Any, case: ByHandCase) -> None:
    """A layer may have another `layer_norm_eps` than 1e-5: it is in norm1.eps and norm2.eps.

    It costs nothing: nearly every layer has 1e-5.
    """
    if matches(case.steps(student)["output"], case.expected["output"]):
        other = replace(case, eps=0.5)
        _compare(other.steps(student), other, "norm1", "output")


@check(points=0, inputs=cases(True), examples=1)
def test_keeps_float64(student: Any, case: ByHandCase) -> None:
    """In float64 the steps have the accuracy of float64.

    Sees a `.float()` on the way. It costs nothing: float32 is accurate enough here.
    """
    output = case.steps(student)["output"]
    if matches(output, case.expected["output"]):
        assert_matches(
            output, case.expected["output"], "output", axes=case.axes, rtol=1e-9, atol=1e-9
        )

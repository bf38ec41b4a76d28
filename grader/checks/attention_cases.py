"""The cases of the hidden checks of `attention`, and assertions that no lazy answer passes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from grader.checks.framework.assertions import parts, pull_back
from grader.checks.framework.inputs import Numbers, distinct_sizes, inputs
from grader.feedback.comparison import (
    Mismatch,
    assert_finite,
    assert_matches,
    assert_shape,
    assert_zero,
)

AXES = ("batch", "head", "query", "d_v")
WEIGHT_AXES = ("batch", "head", "query", "key")


@dataclass(frozen=True, repr=False)
class AttentionCase:
    """Inputs of one call, with what it should return."""

    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor | None
    numbers: Numbers

    @property
    def narrow(self) -> AttentionCase:
        """The same case in float32."""
        query, key, value = (tensor.float() for tensor in self.inputs)
        return replace(self, query=query, key=key, value=value)

    @cached_property
    def square(self) -> AttentionCase:
        """The same with query, key and value of one shape, as in self-attention, and no mask."""
        length = min(self.query.size(2), self.key.size(2))
        features = min(self.query.size(3), self.value.size(3))
        query, key, value = (tensor[:, :, :length, :features] for tensor in self.inputs)
        return replace(self, query=query, key=key, value=value, mask=None)

    @cached_property
    def inputs(self) -> list[Tensor]:
        """Query, key and value."""
        return [self.query, self.key, self.value]

    @cached_property
    def exact(self) -> tuple[Tensor, Tensor, Tensor]:
        """Query, key and value in float64."""
        return self.query.double(), self.key.double(), self.value.double()

    @cached_property
    def output(self) -> Tensor:
        """What torch's own function returns. (batch, head, query, d_v)"""
        query, key, value = self.exact
        return scaled_dot_product_attention(query, key, value, self.mask)

    @cached_property
    def weights(self) -> Tensor:
        """The softmax of the scaled scores. (batch, head, query, key)"""
        return self.weights_under(self.mask)

    def weights_under(self, mask: Tensor | None) -> Tensor:
        """The softmax of the scaled scores, with that mask. (batch, head, query, key)"""
        query, key, _ = self.exact
        return softmax_scores(query, key, mask)

    @cached_property
    def masks(self) -> list[Tensor]:
        """A mask of every shape that broadcasts."""
        batch, heads, queries, keys = self.weights.shape
        shapes = [
            (batch, 1, 1, keys),
            (1, 1, queries, keys),
            (queries, keys),
            (batch, 1, queries, keys),
            (batch, heads, queries, keys),
            (heads, queries, keys),
        ]
        return [self.numbers.mask(f"mask {shape}", *shape) for shape in shapes]

    @cached_property
    def visible(self) -> Tensor:
        """The mask in full. (batch, head, query, key)"""
        assert self.mask is not None
        return torch.broadcast_to(self.mask, self.weights.shape)

    @cached_property
    def empty_rows(self) -> Tensor:
        """A mask in which the first query sees nothing. (batch, head, query, key)"""
        mask = self.visible.clone()
        mask[:, :, 0] = False
        return mask

    @cached_property
    def hidden_keys(self) -> Tensor:
        """True for the keys that no query of the sentence sees. (batch, 1, key, 1)"""
        assert self.mask is not None
        return ~self.mask.transpose(-1, -2)

    @cached_property
    def others(self) -> list[Tensor]:
        """Other numbers for key and value."""
        return [
            self.numbers.normal(f"other {name}", *tensor.shape, dtype=tensor.dtype)
            for name, tensor in (("key", self.key), ("value", self.value))
        ]

    @cached_property
    def cotangent(self) -> Tensor:
        """A random weight for every number of the output, to pull gradients back from."""
        return self.numbers.normal("cotangent", *self.output.shape)

    @cached_property
    def gradients(self) -> tuple[Tensor, ...]:
        """The gradients of torch's own function."""
        query, key, value = (tensor.clone().requires_grad_() for tensor in self.exact)
        output = scaled_dot_product_attention(query, key, value, self.mask)
        return pull_back(output, (query, key, value), self.cotangent)


@inputs
def cases(draw: st.DrawFn, numbers: Numbers, mask: str = "none") -> AttentionCase:
    """Draw inputs whose six sizes all differ; `mask` is "none", "any" or "padding"."""
    batch, heads, queries, keys, d_k, d_v = draw(distinct_sizes(6, low=2, high=8))
    keys += mask == "padding"
    masks: dict[str, Callable[[], Tensor | None]] = {
        "none": lambda: None,
        "any": lambda: numbers.mask("mask", batch, 1, queries, keys),
        "padding": lambda: numbers.padding("mask", batch, keys),
    }
    return AttentionCase(
        query=numbers.normal("query", batch, heads, queries, d_k),
        key=numbers.normal("key", batch, heads, keys, d_k),
        value=numbers.normal("value", batch, heads, keys, d_v),
        mask=masks[mask](),
        numbers=numbers,
    )


def attend(student: Any, *args: Any) -> tuple[Any, Any]:
    """Return the student's output and weights."""
    output, weights = parts(student.attention(*args), ("output", "weights"), "attention")
    return output, weights


def assert_follow_the_scores(weights: Any, expected: Tensor, mask: Tensor | None = None) -> None:
    """Assert that the weights sum to one over the keys and are ordered as the expected ones.

    No lazy answer passes; a wrong scale does. If the order differs, hidden keys are reported first:
    the weight of a key that should be hidden is not merely too large.
    """
    assert_shape(weights, dict(zip(WEIGHT_AXES, expected.shape, strict=True)), "weights")
    assert_finite(weights, "weights", axes=WEIGHT_AXES)
    sums = weights.sum(-1)
    ones = torch.ones_like(sums, dtype=torch.float64)
    assert_matches(sums, ones, "sum of the weights over the keys", axes=WEIGHT_AXES[:-1])
    clearly_larger = expected.unsqueeze(-1) > expected.unsqueeze(-2) + 1e-3
    if (clearly_larger & (weights.unsqueeze(-1) <= weights.unsqueeze(-2))).any():
        if mask is not None:
            assert_hidden(weights, mask)
        less = (clearly_larger & (weights.unsqueeze(-1) < weights.unsqueeze(-2))).any()
        gets = "less weight than" if less else "the same weight as"
        raise Mismatch(f"A key with a larger score gets {gets} one with a smaller score.")


def assert_hidden(weights: Tensor, mask: Tensor) -> None:
    """Assert that the weights are exactly zero where the mask is False."""
    hidden = weights[~mask.broadcast_to(weights.shape)]
    count = int((hidden != 0).sum())
    if not count:
        return
    shape = tuple(mask.shape)
    if (weights != 0).all():
        headline = f"A mask of shape {shape} hides nothing: every key gets a weight."
        help = "Do you use the mask, and keep the filled scores? Is the fill far below all scores?"
    else:
        headline = (
            f"{count} of {hidden.numel()} weights that a mask of shape {shape} hides are not zero."
        )
        help = "True means visible. Do you fill before the softmax, with a number far below all?"
    raise Mismatch(headline, help=help)


def softmax_scores(query: Tensor, key: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return the attention weights by the formula, for comparison."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return scores.softmax(-1)


def assert_mask_holds(student: Any, case: AttentionCase, size: float) -> None:
    """Assert that hidden keys get no weight, and visible keys theirs, for scores up to `size`."""
    # Every score is about -size, so that a fill above that wins, and they are close together:
    # float32 keeps their order. Those of the first query are about +size: subtracting a maximum
    # taken over all rows leaves nothing of the others.
    d_k = case.query.size(-1)
    side = math.sqrt(size / math.sqrt(d_k))
    query, key = torch.full_like(case.query, side), torch.full_like(case.key, -side)
    steps = case.key[..., 0].round().clamp(-1, 1)
    key[..., 0] += steps * math.sqrt(d_k) / side * max(1e-6 * size, 0.05)
    query[..., 0, :] *= -1
    _, weights = attend(student, query, key, case.value, case.mask)
    expected = softmax_scores(query.double(), key.double(), case.mask)
    assert case.mask is not None
    assert_follow_the_scores(weights, expected, case.mask)
    assert_hidden(weights, case.mask)
    # Here hidden scores are up to 2 * size above visible ones. What these get is not checked.
    scores = case.query.double() @ case.key.double().transpose(-1, -2) / math.sqrt(d_k)
    stretched = case.query * (size / scores.abs().max().item())
    _, weights = attend(student, stretched, case.key, case.value, case.mask)
    assert_shape(weights, dict(zip(WEIGHT_AXES, case.weights.shape, strict=True)), "weights")
    assert_zero(weights[~case.visible], "masked weights, when hidden scores are large,")

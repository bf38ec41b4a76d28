"""The cases of the hidden checks of `grouped_query`: a layer's weights, inputs, and its answers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch
import torch.nn.functional as F
from hypothesis import strategies as st
from torch import Tensor

from grader.checks.framework.assertions import pull_back
from grader.checks.framework.inputs import Numbers, inputs
from grader.checks.multi_head_cases import loaded
from grader.checks.rope import turned
from grader.feedback.comparison import Mismatch
from grader.remote.proxy import RemoteModule
from grader.remote.session import StudentError

AXES = ("batch", "token", "d_model")
HEAD_AXES = ("batch", "kv_head", "token", "feature")
PROJECTIONS = ("q_proj", "k_proj", "v_proj", "out_proj")
Weights = dict[str, Tensor]


@dataclass(frozen=True, repr=False)
class GroupedCase:
    """Sizes, weights and inputs of one layer.

    `pieces` are the lengths in which the tokens come, when they come through a cache.
    """

    batch: int
    n_kv_heads: int
    group: int
    d_head: int
    pieces: tuple[int, ...]
    numbers: Numbers
    bias: bool = False
    dtype: torch.dtype = torch.float64
    kept: dict[str, Any] = field(default_factory=dict, compare=False)

    @cached_property
    def narrow(self) -> GroupedCase:
        """The same in float32."""
        return replace(self, dtype=torch.float32, kept={})

    @cached_property
    def with_bias(self) -> GroupedCase:
        """The same with a bias in all four maps."""
        return replace(self, bias=True, kept={})

    @cached_property
    def others(self) -> tuple[GroupedCase, GroupedCase]:
        """The same with a single key/value head, and with as many as there are query heads."""
        heads = self.n_heads
        return (
            replace(self, n_kv_heads=1, group=heads, kept={}),
            replace(self, n_kv_heads=heads, group=1, kept={}),
        )

    @property
    def n_heads(self) -> int:
        """Query heads."""
        return self.n_kv_heads * self.group

    @property
    def d_model(self) -> int:
        """Features of a token."""
        return self.n_heads * self.d_head

    @property
    def length(self) -> int:
        """Tokens in all."""
        return sum(self.pieces)

    @cached_property
    def x(self) -> Tensor:
        """The tokens. (batch, length, d_model)"""
        return self.numbers.normal("x", self.batch, self.length, self.d_model, dtype=self.dtype)

    @cached_property
    def other_x(self) -> Tensor:
        """The tokens with other numbers in the first. (batch, length, d_model)"""
        changed = self.x.clone()
        changed[:, 0] = 3 * self.numbers.normal("other", self.batch, self.d_model, dtype=self.dtype)
        return changed

    @cached_property
    def angles(self) -> Tensor:
        """Angles of no positions, so that none can be made up. (length, d_head // 2)"""
        angles = self.numbers.normal("angles", self.length, self.d_head // 2)
        return 3.0 * angles.clamp(-3, 3)

    @cached_property
    def causal(self) -> Tensor:
        """The causal mask. (length, length)"""
        return torch.ones(self.length, self.length, dtype=torch.bool).tril()

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the parameters by name."""
        wide, narrow = self.d_model, self.n_kv_heads * self.d_head
        rows = dict(zip(PROJECTIONS, (wide, narrow, narrow, wide), strict=True))
        shapes: dict[str, tuple[int, ...]] = {}
        for name, size in rows.items():
            shapes[f"{name}.weight"] = (size, wide)
            if self.bias:
                shapes[f"{name}.bias"] = (size,)
        return shapes

    @cached_property
    def weights(self) -> Weights:
        """Random weights by name, which make clear differences between the scores."""
        return {
            name: self.numbers.normal(
                name,
                *shape,
                scale=1.4 / math.sqrt(self.d_model) if len(shape) > 1 else 0.5,
                dtype=self.dtype,
            )
            for name, shape in self.shapes.items()
        }

    def with_scores(self, size: float) -> Weights:
        """Weights with which every query has this score with every key. Needs `with_bias`."""
        side = math.sqrt(abs(size) / math.sqrt(self.d_head))
        weights = dict(self.weights)
        for name, bias in (("q_proj", side), ("k_proj", math.copysign(side, size))):
            weights[f"{name}.weight"] = torch.zeros_like(weights[f"{name}.weight"])
            weights[f"{name}.bias"] = torch.full_like(weights[f"{name}.bias"], bias)
        return weights

    @cached_property
    def loud(self) -> Weights:
        """Weights with which the largest score is a thousand."""
        query, key, _ = self.heads(self.x.double(), None, self.weights)
        scores = query @ key.repeat_interleave(self.group, 1).mT / math.sqrt(self.d_head)
        factor = math.sqrt(1000.0 / scores.abs().max().item())
        loud = ("q_proj", "k_proj")
        return {
            name: value * factor if name.startswith(loud) else value
            for name, value in self.weights.items()
        }

    def heads(self, x: Tensor, angles: Tensor | None, weights: Weights) -> list[Tensor]:
        """Queries, keys and values in heads, the first two turned. (batch, head, token, d_head)"""
        return projected_heads(x, weights, self.d_head, angles)

    def output(
        self,
        x: Tensor | None = None,
        angles: Tensor | None = None,
        mask: Tensor | None = None,
        weights: Weights | None = None,
    ) -> Tensor:
        """What torch's own grouped attention makes of the projections, in float64."""
        weights = self.weights if weights is None else weights
        x = self.x if x is None else x
        return grouped_attention(x.double(), weights, self.d_head, angles, mask)

    @cached_property
    def cotangent(self) -> Tensor:
        """A random weight for every number of the output, to pull gradients back from."""
        return self.numbers.normal("cotangent", *self.x.shape)

    @cached_property
    def gradients(self) -> dict[str, Tensor]:
        """Torch's gradients of x and all weights, with angles and a causal mask."""
        x = self.x.double().clone().requires_grad_()
        weights = {
            name: weight.double().clone().requires_grad_() for name, weight in self.weights.items()
        }
        output = self.output(x, self.angles, self.causal, weights)
        result = pull_back(output, [x, *weights.values()], self.cotangent)
        return dict(zip(("x", *weights), result, strict=True))

    def new_layer(self, student: Any) -> RemoteModule:
        """The student's layer as their code makes it."""
        options = {"bias": True} if self.bias else {}
        made: RemoteModule = student.GroupedQueryAttention(
            self.d_model, self.n_heads, self.n_kv_heads, **options
        )
        return made

    def layer(self, student: Any, weights: Weights | None = None) -> RemoteModule:
        """The student's layer with these weights, by default the case's, in evaluation mode."""
        made = self.new_layer(student).to(self.dtype)
        return loaded(made, self.weights if weights is None else weights).eval()

    def contents(self, cache: RemoteModule, tokens: int) -> tuple[Tensor, Tensor]:
        """The keys and values that a cache holds of so many tokens, by appending one more."""
        shape = (self.batch, self.n_kv_heads, 1, self.d_head)
        key, value = (
            self.numbers.normal(name, *shape, dtype=self.dtype) for name in ("key", "value")
        )
        count = cache.length.get()
        if count != tokens:
            raise Mismatch(
                f"{tokens} tokens went through your layer, and the cache holds {count}.",
                help="Does your layer append the new keys and values, and nothing else?",
            )
        try:
            keys, values = cache.append(key, value)
        except StudentError:
            raise Mismatch(
                "What your layer puts into the cache is not of the shape (batch, n_kv_heads, "
                f"token, d_head), with n_kv_heads = {self.n_kv_heads}, d_head = {self.d_head}.",
                help="What shape do your keys have when you call cache.append?",
            ) from None
        return keys[:, :, :-1], values[:, :, :-1]


def projected_heads(
    x: Tensor, weights: Weights, d_head: int, angles: Tensor | None
) -> list[Tensor]:
    """Queries, keys and values in heads, the first two turned. (batch, head, token, d_head)"""
    parts = []
    for name in PROJECTIONS[:3]:
        weight = weights[f"{name}.weight"].double()
        projected = F.linear(x, weight, _double(weights.get(f"{name}.bias")))
        parts.append(torch.stack(projected.chunk(weight.size(0) // d_head, -1), 1))
    if angles is not None:
        parts[:2] = [turned(part, angles.double()) for part in parts[:2]]
    return parts


def grouped_attention(
    x: Tensor, weights: Weights, d_head: int, angles: Tensor | None, mask: Tensor | None
) -> Tensor:
    """What torch's own grouped attention makes of x in float64. (batch, token, d_model)"""
    query, key, value = projected_heads(x, weights, d_head, angles)
    attended = F.scaled_dot_product_attention(query, key, value, mask, enable_gqa=True)
    merged = attended.transpose(1, 2).flatten(2)
    bias = _double(weights.get("out_proj.bias"))
    return F.linear(merged, weights["out_proj.weight"].double(), bias)


def _double(bias: Tensor | None) -> Tensor | None:
    return None if bias is None else bias.double()


@inputs
def cases(draw: st.DrawFn, numbers: Numbers) -> GroupedCase:
    """Two key/value heads or more, groups of two or more, all sizes different."""
    n_kv_heads, group = draw(st.sampled_from([(2, 3), (3, 2), (2, 4)]))
    pairs, batch = draw(st.sampled_from([(2, 5), (2, 3), (3, 5)]))
    first, last = draw(st.sampled_from([(4, 2), (5, 3), (3, 2)]))
    return GroupedCase(batch, n_kv_heads, group, 2 * pairs, (first, 1, last), numbers)

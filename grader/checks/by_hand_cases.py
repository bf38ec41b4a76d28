"""Cases of `by_hand`: PyTorch layers with random weights, and every step inside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from hypothesis import strategies as st
from torch import Tensor, nn

from grader.checks.framework.inputs import Numbers, distinct_sizes, inputs
from grader.feedback.comparison import Mismatch
from grader.remote.proxy import RemoteModule

HEADS = ("batch", "head", "token", "d_head")
SCORES = ("batch", "head", "query", "key")
# exp of a score of this size is infinite, in float64 too.
LOUD = 1000.0
# Of a variance of one, E[x²] - E[x]² leaves a tenth or nothing in float32 here.
FAR = 1000.0
KEYS = (
    "query", "key", "value", "scores", "weights", "attention", "norm1", "feed_forward", "output",
)  # fmt: skip


@dataclass(frozen=True)
class ByHandCase:
    """A PyTorch layer with random weights, its input, and the steps to its output."""

    x: Tensor
    n_heads: int
    weights: dict[str, Tensor]
    batch_first: bool
    norm_first: bool
    activation: str = "relu"
    eps: float = 1e-5
    second_eps: float = 1e-5
    dtype: torch.dtype = torch.float64

    @property
    def narrow(self) -> ByHandCase:
        """Return the same case in float32."""
        return replace(self, dtype=torch.float32)

    @property
    def loud(self) -> ByHandCase:
        """Return the same case with scores of up to 1000, and zeros for each first token's query.

        So subtracting a maximum taken over several rows leaves nothing of that query's row.
        """
        d_model = self.x.size(-1)
        x = self.x.clone()
        x[:, 0] = 0.0
        weights = dict(self.weights)
        weights["self_attn.in_proj_bias"] = weights["self_attn.in_proj_bias"].clone()
        weights["self_attn.in_proj_bias"][:d_model] = 0.0
        scores = replace(self, x=x, weights=weights).expected["scores"]
        largest = scores.abs().max().item()
        for name in ("self_attn.in_proj_weight", "self_attn.in_proj_bias"):
            weights[name] = weights[name].clone()
            weights[name][: 2 * d_model] *= (LOUD / largest) ** 0.5
        # Negated keys negate the scores.
        if scores.max().item() < largest:
            for name in ("self_attn.in_proj_weight", "self_attn.in_proj_bias"):
                weights[name][d_model : 2 * d_model] *= -1
        return replace(self, x=x, weights=weights)

    @property
    def far(self) -> ByHandCase:
        """Return the same case in float32, with an x around 1000 that float32 holds exactly."""
        return replace(self, x=(self.x + FAR).float().double(), dtype=torch.float32)

    @property
    def options(self) -> dict[str, Any]:
        """Return the layer's arguments."""
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
        """Return the axes of x."""
        first = ("batch", "token") if self.batch_first else ("token", "batch")
        return (*first, "d_model")

    def axes_of(self, step: str) -> tuple[str, ...]:
        """Return the axes of one of the steps."""
        if step in ("query", "key", "value"):
            return HEADS
        return SCORES if step in ("scores", "weights") else self.axes

    def layer(self, student: Any, dropout: float = 0.1) -> RemoteModule:
        """Return the layer, next to the student's code, in evaluation mode."""
        layer: RemoteModule = student.give(
            "TransformerEncoderLayer",
            dropout=dropout,
            second_eps=self.second_eps,
            **self.options,
        )
        return layer.to(self.dtype).load(self.weights).eval()

    def steps(self, student: Any, layer: RemoteModule | None = None) -> dict[str, Any]:
        """Return the steps that the student's function computes for the layer."""
        layer = layer or self.layer(student)
        return steps_in(student.encoder_layer_by_hand(layer, self.x.to(self.dtype)))

    @cached_property
    def own_layer(self) -> Any:
        """Return PyTorch's layer with these weights, in float64, without dropout."""
        layer = nn.TransformerEncoderLayer(dropout=0.0, **self.options).double().eval()
        layer.load_state_dict(self.weights)
        layer.norm2.eps = self.second_eps
        return layer

    @cached_property
    def expected(self) -> dict[str, Tensor]:
        """Return the steps of PyTorch's own parts, and the heads, which are cut here."""
        layer = self.own_layer
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

    def after(self, name: str, steps: Mapping[str, Tensor]) -> Tensor:
        """Return what a step should be, given these earlier ones, right or wrong."""
        layer, x, pre = self.own_layer, self.x, self.norm_first
        with torch.no_grad():
            match name:
                case "query" | "key" | "value":
                    heads = self._heads(steps["norm1"] if pre else x)
                    return heads[("query", "key", "value").index(name)]
                case "scores":
                    query, key = steps["query"], steps["key"]
                    root: float = query.size(-1) ** 0.5
                    return query @ key.transpose(-2, -1) / root
                case "weights":
                    return steps["scores"].softmax(-1)
                case "attention":
                    merged = (steps["weights"] @ steps["value"]).transpose(1, 2).flatten(2)
                    result: Tensor = layer.self_attn.out_proj(self.x_first(merged))
                case "norm1":
                    result = layer.norm1(x if pre else x + steps["attention"])
                case "feed_forward":
                    middle = x + steps["attention"]
                    result = layer._ff_block(layer.norm2(middle) if pre else steps["norm1"])
                case _:
                    before = x + steps["attention"] if pre else steps["norm1"]
                    total = before + steps["feed_forward"]
                    result = total if pre else layer.norm2(total)
        return result

    def _heads(self, heard: Tensor) -> Tensor:
        """Return query, key and value. (3, batch, head, token, d_head)"""
        d_model = self.x.size(-1)
        weight, bias = (self.weights[f"self_attn.in_proj_{name}"] for name in ("weight", "bias"))
        maps = weight.reshape(3, self.n_heads, -1, d_model)
        offsets = bias.reshape(3, 1, self.n_heads, 1, -1)
        tokens = self.x_first(heard)
        projected: Tensor = torch.einsum("blm,phdm->pbhld", tokens, maps) + offsets
        return projected

    def x_first(self, x: Tensor) -> Tensor:
        """Return x with the batch as its first axis."""
        return x if self.batch_first else x.transpose(0, 1)


def steps_in(actual: Any) -> dict[str, Any]:
    """Return the dictionary that came back; raise a Mismatch where it is none."""
    if not isinstance(actual, dict):
        described = (
            "None: is a `return` missing?" if actual is None else f"a {type(actual).__name__}."
        )
        raise Mismatch(f"encoder_layer_by_hand should return a dict; yours returned {described}")
    missing = [key for key in KEYS if key not in actual]
    if missing:
        raise Mismatch(f"The dictionary that you return has no key {missing[0]!r}.")
    return actual


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
    """Draw cases whose batch, length, heads and d_head differ.

    Without `hears`, `out_proj` returns only its bias, so that what follows can be graded apart from
    attention.
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

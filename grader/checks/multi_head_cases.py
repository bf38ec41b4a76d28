"""The cases of the hidden checks of `multi_head`: a layer's weights, its inputs, its answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from hypothesis import strategies as st
from torch import Tensor, nn

from grader.checks.framework.assertions import assert_changes, assert_repeats, pull_back
from grader.checks.framework.inputs import Numbers, distinct_sizes, inputs
from grader.curriculum.given.wrapped import torch_attention_weights
from grader.feedback.comparison import Mismatch, assert_shape
from grader.feedback.mismatch import WrongShape
from grader.remote.proxy import RemoteModule
from grader.remote.session import StudentError

AXES = ("batch", "length", "d_model")
PROJECTIONS = ("q_proj", "k_proj", "v_proj", "out_proj")
PARAMETERS = tuple(f"{name}.{part}" for name in PROJECTIONS for part in ("weight", "bias"))


@dataclass(frozen=True, repr=False)
class MultiHeadCase:
    """Weights of a layer and the inputs of one call, with what it should return."""

    n_heads: int
    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor | None
    numbers: Numbers

    @property
    def narrow(self) -> MultiHeadCase:
        """A case of the same sizes in float32."""
        query, key, value = (tensor.float() for tensor in self.inputs)
        return replace(self, query=query, key=key, value=value)

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the inputs."""
        return self.query.dtype

    @cached_property
    def inputs(self) -> list[Tensor]:
        """Query, key and value. (batch, length, d_model)"""
        return [self.query, self.key, self.value]

    @cached_property
    def other_key(self) -> Tensor:
        """A key of the same shape, with other numbers."""
        return self.numbers.normal("other key", *self.key.shape, scale=2.0, dtype=self.dtype)

    @cached_property
    def other_value(self) -> Tensor:
        """A value of the same shape, with other and larger numbers."""
        return self.numbers.normal("other value", *self.value.shape, scale=5.0, dtype=self.dtype)

    @cached_property
    def low_scores(self) -> dict[str, Tensor]:
        """Weights that give every query a score of -1000 with every key."""
        side = math.sqrt(1000.0 / math.sqrt(self.d_head))
        weights = dict(self.weights)
        for name, bias in (("q_proj", side), ("k_proj", -side)):
            weights[f"{name}.weight"] = torch.zeros_like(weights[f"{name}.weight"])
            weights[f"{name}.bias"] = torch.full_like(weights[f"{name}.bias"], bias)
        return weights

    @property
    def uneven_scores(self) -> dict[str, Tensor]:
        """Weights that make all keys equal, and give queries scores from -1000 to 1000."""
        weights = dict(self.low_scores)
        first, side = self.query[..., 0], weights["q_proj.bias"][0]
        slope = 2.0 * side / (first.max() - first.min())
        weight = weights["q_proj.weight"].clone()
        weight[:, 0] = slope
        weights["q_proj.weight"] = weight
        weights["q_proj.bias"] = weights["q_proj.bias"] * 0.0 - side - slope * first.min()
        return weights

    @cached_property
    def weights(self) -> dict[str, Tensor]:
        """Weights and biases, by name."""
        return new_weights(self.numbers, "weights", self.d_model)

    @cached_property
    def other_weights(self) -> dict[str, Tensor]:
        """Other weights of the same shapes."""
        return new_weights(self.numbers, "other weights", self.d_model)

    @cached_property
    def order(self) -> Tensor:
        """The keys in another order."""
        return self.numbers.permutation("order", self.key.size(1))

    @property
    def d_model(self) -> int:
        """Features of a token."""
        return self.query.size(-1)

    @property
    def d_head(self) -> int:
        """Features of a token in one head."""
        return self.d_model // self.n_heads

    @cached_property
    def cotangent(self) -> Tensor:
        """A random weight for every number of the output, to pull gradients back from."""
        return self.numbers.normal("cotangent", *self.query.shape)

    @cached_property
    def output(self) -> Tensor:
        """What torch's own layer returns with these weights. (batch, query, d_model)"""
        with torch.no_grad():
            return self._run(self.layer, [tensor.double() for tensor in self.inputs])

    @cached_property
    def self_attention(self) -> Tensor:
        """What torch's own layer returns where query, key and value are one, without a mask."""
        return self._without_mask(self.query, self.query)

    @cached_property
    def cross_attention(self) -> Tensor:
        """What torch's own layer returns where key and value are one, without a mask."""
        return self._without_mask(self.query, self.key)

    def _without_mask(self, query: Tensor, memory: Tensor) -> Tensor:
        query, memory = query.double(), memory.double()
        with torch.no_grad():
            output: Tensor = self.layer(query, memory, memory, need_weights=False)[0]
        return output

    @cached_property
    def gradients(self) -> dict[str, Tensor]:
        """The gradients of torch's own layer, by the names of the parameters."""
        inputs = [tensor.double().clone().requires_grad_() for tensor in self.inputs]
        layer = self.layer
        sources = [*inputs, layer.in_proj_weight, layer.in_proj_bias]
        sources += [layer.out_proj.weight, layer.out_proj.bias]
        output = self._run(layer, inputs)
        *result, weight, bias, out_weight, out_bias = pull_back(output, sources, self.cotangent)
        pairs = [*zip(weight.chunk(3), bias.chunk(3), strict=True), (out_weight, out_bias)]
        named = dict(zip(("query", "key", "value"), result, strict=True))
        for name, (of_weight, of_bias) in zip(PROJECTIONS, pairs, strict=True):
            named |= {f"{name}.weight": of_weight, f"{name}.bias": of_bias}
        return named

    @cached_property
    def layer(self) -> nn.MultiheadAttention:
        """torch's own layer with these weights."""
        layer = nn.MultiheadAttention(self.d_model, self.n_heads, batch_first=True).double().eval()
        layer.load_state_dict(torch_attention_weights(self.weights))
        return layer

    def _run(self, layer: nn.MultiheadAttention, inputs: list[Tensor]) -> Tensor:
        query, key, value = inputs
        hidden = None
        if self.mask is not None:
            batch, queries, keys = query.size(0), query.size(1), key.size(1)
            visible = self.mask.broadcast_to(batch, self.n_heads, queries, keys)
            hidden = ~visible.reshape(-1, queries, keys)
        output: Tensor = layer(query, key, value, attn_mask=hidden, need_weights=False)[0]
        return output


def new_weights(numbers: Numbers, purpose: str, d_model: int) -> dict[str, Tensor]:
    """Return random weights by name, large enough to make the scores clearly different."""
    weights = {}
    for name in PARAMETERS:
        is_bias = name.endswith("bias")
        shape, scale = ([d_model], 0.5) if is_bias else ([d_model] * 2, 1.2 / d_model**0.5)
        weights[name] = numbers.normal(f"{purpose} {name}", *shape, scale=scale)
    return weights


def random_case(
    numbers: Numbers, sizes: Sequence[int], dtype: torch.dtype = torch.float64, masked: bool = False
) -> MultiHeadCase:
    """Return a case of these sizes: sentences, heads, features of a head, queries, keys."""
    batch, heads, d_head, queries, keys = sizes
    query, key, value = (
        numbers.normal(purpose, batch, length, heads * d_head, dtype=dtype)
        for purpose, length in (("query", queries), ("key", keys), ("value", keys))
    )
    mask = numbers.mask("mask", batch, heads, queries, keys) if masked else None
    return MultiHeadCase(heads, query, key, value, mask, numbers)


@inputs
def cases(draw: st.DrawFn, numbers: Numbers, masked: bool = False) -> MultiHeadCase:
    """Draw a layer of two or more heads with inputs of two lengths, all sizes different."""
    sizes = draw(distinct_sizes(5, low=2, high=6))
    return random_case(numbers, sizes, masked=masked)


def loaded(module: RemoteModule, weights: dict[str, Tensor]) -> RemoteModule:
    """Load these weights into the module. Raise `Mismatch` if its parameters do not fit them."""
    try:
        return module.load(weights)
    except StudentError as error:
        if "KeyError" in error.kinds:
            raise Mismatch(f"There is no parameter {error.text} to load weights into.") from None
        raise WrongShape(
            f"A parameter does not have the size of its weights: {error.text}",
            parameter=error.text.partition(" ")[0],
        ) from None


def layer_of(
    student: Any, case: MultiHeadCase, weights: dict[str, Tensor] | None = None
) -> RemoteModule:
    """Return the student's layer in evaluation mode with these weights, by default the case's.

    If they do not fit, the layer keeps its own: other checks see that, and this one may still pass.
    """
    made: RemoteModule = student.MultiHeadAttention(case.d_model, case.n_heads)
    with suppress(Mismatch):
        loaded(made.to(case.dtype), weights or case.weights)
    return made.eval()


def output_of(module: RemoteModule, case: MultiHeadCase) -> Tensor:
    """Return the output of the student's layer, the same twice, which changes with the keys.

    No lazy answer gives such an output: the input itself, a constant and the mean of the values
    have another length or do not depend on the key; noise is not the same twice.
    """
    output = module(*case.inputs, case.mask)
    assert_shape(output, dict(zip(AXES, case.query.shape, strict=True)))
    assert_repeats(module(*case.inputs, case.mask), output)
    moved = module(case.query, case.other_key, case.value, case.mask)
    assert_changes(moved, output, "Your output stays the same when the keys change.")
    checked: Tensor = output
    return checked

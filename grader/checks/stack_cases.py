"""What the hidden checks of the encoder and of the decoder share.

Both are stacks of layers that differ in one attention. A `Kind` says which of the two it is, a
`StackCase` holds sizes, numbers and weights, and what torch's own layers compute from them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
import torch.nn.functional as F
from hypothesis import strategies as st
from torch import Tensor
from torch.func import functional_call

from grader.checks.framework.assertions import pull_back
from grader.checks.framework.inputs import Numbers, distinct_sizes, inputs
from grader.checks.stack_parts import (
    NUM_LAYERS,
    Kind,
    Sizes,
    Weights,
    below,
    draw_weights,
    layer_shapes,
    stack_shapes,
)
from grader.curriculum.given.wrapped import torch_layer_weights
from grader.remote.proxy import RemoteModule

AXES = ("batch", "length", "d_model")


def layer_norm(x: Tensor, weights: Weights, prefix: str = "") -> Tensor:
    """Normalise `x` with the weights of the `LayerNorm` whose name begins with `prefix`."""
    weight, bias = (weights[f"{prefix}norm.{name}"].to(x.dtype) for name in ("weight", "bias"))
    return F.layer_norm(x, x.shape[-1:], weight, bias)


@dataclass(frozen=True)
class Oracle:
    """Torch's own layer and stack, given our weights by name, in float64."""

    kind: Kind
    sizes: Sizes
    norm_first: bool
    activation: str

    def layer(self, weights: Weights, inputs: Sequence[Tensor], masks: Sequence[Any]) -> Tensor:
        """Return what torch's layer gives. In training mode it takes no shortcuts."""
        module = self.kind.oracle(
            self.sizes.d_model, self.sizes.n_heads, self.sizes.d_ff, 0.0, self.activation,
            batch_first=True, norm_first=self.norm_first, dtype=torch.float64,
        )  # fmt: skip
        wide = [tensor.double() for tensor in inputs]
        blocked = [
            self._blocked(mask, wide[0].shape[:2], tensor.size(1))
            for mask, tensor in zip(masks, wide, strict=True)
        ]
        output: Tensor = functional_call(module, self._renamed(weights), (*wide, *blocked))
        return output

    def stack(
        self,
        weights: Weights,
        inputs: Sequence[Tensor],
        masks: Sequence[Any],
        num_layers: int = NUM_LAYERS,
    ) -> Tensor:
        """Apply torch's layers one after the other, and in pre-norm a norm at the end."""
        x, *memory = (tensor.double() for tensor in inputs)
        for index in range(num_layers):
            x = self.layer(below(weights, f"layers.{index}."), [x, *memory], masks)
        return layer_norm(x, weights) if self.norm_first else x

    def _blocked(self, mask: Tensor | None, rows: Sequence[int], keys: int) -> Tensor | None:
        if mask is None:
            return None
        batch, queries = rows
        full = mask.broadcast_to(batch, self.sizes.n_heads, queries, keys)
        return ~full.reshape(batch * self.sizes.n_heads, queries, keys)

    def _renamed(self, weights: Weights) -> Weights:
        doubled = {name: value.double() for name, value in weights.items()}
        attentions = zip(self.kind.attentions, ("self_attn", "multihead_attn"), strict=False)
        return torch_layer_weights(doubled, dict(attentions))


@dataclass(frozen=True)
class StackCase:
    """Sizes, options and numbers of one example."""

    kind: Kind
    sizes: Sizes
    numbers: Numbers
    norm_first: bool = False
    activation: str = "relu"
    dtype: torch.dtype = torch.float64
    scale: float = 1.0
    magnitude: float = 1.0
    num_layers: int = NUM_LAYERS

    @cached_property
    def narrow(self) -> StackCase:
        """Return the same case in float32."""
        return replace(self, dtype=torch.float32)

    @cached_property
    def small(self) -> StackCase:
        """Return the same case with all norm inputs about a hundredth, so that `eps` matters."""
        return replace(self, scale=0.01)

    def with_layers(self, num_layers: int) -> StackCase:
        """Return the same case with another number of layers."""
        return replace(self, num_layers=num_layers)

    @cached_property
    def deeper(self) -> StackCase:
        """Return the same case with one more layer."""
        return self.with_layers(self.num_layers + 1)

    @cached_property
    def large(self) -> StackCase:
        """Return the same case with an x of about a thousand."""
        return replace(self, magnitude=1e3)

    @cached_property
    def extreme(self) -> StackCase:
        """Return the same case with one head, or for pre-norm with heads of one feature."""
        heads = self.sizes.d_model if self.norm_first else 1
        d_head = self.sizes.d_model // heads
        return replace(self, sizes=replace(self.sizes, n_heads=heads, d_head=d_head))

    @cached_property
    def inputs(self) -> list[Tensor]:
        """Return x, and for the decoder the memory."""
        lengths = [self.sizes.length, self.sizes.source][: len(self.kind.attentions)]
        size = self.sizes
        scales = (self.scale * self.magnitude, self.scale)
        return [
            self.numbers.normal(
                name, size.batch, length, size.d_model, scale=scale, dtype=self.dtype
            )
            for name, length, scale in zip(("x", "memory"), lengths, scales, strict=False)
        ]

    @cached_property
    def masks(self) -> list[Tensor]:
        """Return a random mask for each attention, of a shape that depends on the case."""
        size = self.sizes
        masks = []
        for index, tensor in enumerate(self.inputs):
            queries, keys = size.length, tensor.size(1)
            shapes = [
                (size.n_heads, queries, keys),
                (1, 1, queries, keys),
                (queries, keys),
                (size.batch, 1, queries, keys),
                (size.batch, size.n_heads, queries, keys),
                (size.batch, 1, 1, keys),
            ]
            choice = self.numbers.case + (0 if self.norm_first else 3 + index)
            shape = shapes[choice % len(shapes)]
            masks.append(self.numbers.mask(f"mask {index}", *shape))
        return masks

    @cached_property
    def layer_weights(self) -> Weights:
        """Return weights for one layer."""
        return self._scaled(
            draw_weights(self.numbers, "layer", layer_shapes(self.kind, self.sizes))
        )

    @cached_property
    def stack_weights(self) -> Weights:
        """Return weights for a stack."""
        shapes = stack_shapes(self.kind, self.sizes, self.norm_first, num_layers=self.num_layers)
        return self._scaled(draw_weights(self.numbers, "stack", shapes))

    def _scaled(self, weights: Weights) -> Weights:
        last = ("out_proj", "linear2", "norm")
        return {
            name: (value * self.scale if name.split(".")[-2] in last else value).to(self.dtype)
            for name, value in weights.items()
        }

    @property
    def no_masks(self) -> list[None]:
        """Return None for each attention."""
        return [None] * len(self.inputs)

    @property
    def oracle(self) -> Oracle:
        """Return torch's own layer for these options."""
        return Oracle(self.kind, self.sizes, self.norm_first, self.activation)

    @cached_property
    def layer_output(self) -> Tensor:
        """Return what torch's layer gives without masks."""
        return self.oracle.layer(self.layer_weights, self.inputs, self.no_masks)

    @cached_property
    def first_token_output(self) -> Tensor:
        """Return what torch's layer gives for a single sentence of a single token."""
        inputs = [tensor[:1, :1] for tensor in self.inputs]
        return self.oracle.layer(self.layer_weights, inputs, self.no_masks)

    @cached_property
    def stack_output(self) -> Tensor:
        """Return what torch's stack gives with masks."""
        return self.oracle.stack(self.stack_weights, self.inputs, self.masks)

    @cached_property
    def cotangent(self) -> Tensor:
        """Return a random weight for every number of the output, to pull gradients back from."""
        return self.numbers.normal("cotangent", *self.inputs[0].shape)

    @cached_property
    def layer_gradients(self) -> tuple[Tensor, ...]:
        """Return the gradients of torch's layer, with masks: of the inputs, then the weights."""
        return self._gradients(self.oracle.layer, self.layer_weights)

    @cached_property
    def stack_gradients(self) -> tuple[Tensor, ...]:
        """Return the gradients of torch's stack, with masks: of the inputs, then the weights."""
        return self._gradients(self.oracle.stack, self.stack_weights)

    def _gradients(self, call: Callable[..., Tensor], weights: Weights) -> tuple[Tensor, ...]:
        inputs, leaves = tracked(self.inputs), tracked_weights(weights)
        output = call(leaves, inputs, self.masks)
        return pull_back(output, [*inputs, *leaves.values()], self.cotangent)

    def layer(self, student: Any, weights: Weights | None = None) -> RemoteModule:
        """Return the student's layer in evaluation mode, with these weights or the case's."""
        size = self.sizes
        make = getattr(student, self.kind.layer)
        layer = make(size.d_model, size.n_heads, size.d_ff, dropout=0.0, **self._options())
        return self._ready(layer, self.layer_weights if weights is None else weights)

    def stack(
        self, student: Any, weights: Weights | None = None, dropout: float = 0.0
    ) -> RemoteModule:
        """Return the student's stack in evaluation mode, with these weights or the case's."""
        made = self.new_stack(student, dropout)
        return self._ready(made, self.stack_weights if weights is None else weights)

    def new_stack(self, student: Any, dropout: float = 0.0) -> RemoteModule:
        """Return the student's stack as their code creates it."""
        make = getattr(student, self.kind.stack)
        options = {
            "num_layers": self.num_layers,
            "d_model": self.sizes.d_model,
            "n_heads": self.sizes.n_heads,
            "d_ff": self.sizes.d_ff,
            "dropout": dropout,
        }
        made: RemoteModule
        if self.activation == "relu":
            made = make(**options, **self._options())
        else:
            made = make(*options.values(), self.activation, self.norm_first)
        return made

    def _options(self) -> dict[str, Any]:
        """Return the options that differ from the defaults."""
        options: dict[str, Any] = {} if self.activation == "relu" else {"activation": "gelu"}
        return options | ({"norm_first": True} if self.norm_first else {})

    def _ready(self, module: RemoteModule, weights: Weights) -> RemoteModule:
        return module.to(self.dtype).load(weights, strict=False).eval()


@inputs
def cases(
    draw: st.DrawFn,
    numbers: Numbers,
    kind: Kind,
    norm_first: bool = False,
    activation: str = "relu",
) -> StackCase:
    """Draw cases whose sizes all differ."""
    return StackCase(kind, draw(sizes()), numbers, norm_first, activation)


@st.composite
def sizes(draw: st.DrawFn) -> Sizes:
    """Draw sizes that all differ, `d_model` too, with lengths of four or more."""
    drawn = draw(distinct_sizes(6, 2, 8).filter(_is_telling))
    n_heads, d_head, batch, length, source, d_ff = drawn
    return Sizes(batch, length, source, n_heads, d_head, d_ff)


def _is_telling(drawn: list[int]) -> bool:
    n_heads, d_head, _, length, source, _ = drawn
    return min(length, source) >= 4 and n_heads * d_head not in drawn and n_heads * d_head <= 32


def tracked(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return copies that gradients flow back to."""
    return [tensor.clone().requires_grad_() for tensor in tensors]


def tracked_weights(weights: Weights) -> Weights:
    """Return copies that gradients flow back to."""
    return dict(zip(weights, tracked(list(weights.values())), strict=True))

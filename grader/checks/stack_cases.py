"""What the hidden checks of the encoder and of the decoder share.

Both are stacks of layers that differ in one attention. A `Kind` says which of the two is meant, a
`StackCase` holds sizes, numbers and weights, and what torch's own layers make of them.
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
from grader.remote.proxy import RemoteModule

AXES = ("batch", "length", "d_model")


def layer_norm(x: Tensor, weights: Weights, prefix: str = "") -> Tensor:
    """`x` normalised with the weights of the `LayerNorm` whose name begins with `prefix`."""
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
        """What torch's layer returns. It stays in training mode, where it takes no short cuts."""
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
        """Torch's layers one after the other, and in pre-norm a norm at the end."""
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
        renamed = {}
        for ours, theirs in zip(
            self.kind.attentions, ("self_attn", "multihead_attn"), strict=False
        ):
            for part in ("weight", "bias"):
                three = [weights[f"{ours}.{map}_proj.{part}"].double() for map in "qkv"]
                renamed[f"{theirs}.in_proj_{part}"] = torch.cat(three)
                renamed[f"{theirs}.out_proj.{part}"] = weights[f"{ours}.out_proj.{part}"]
        for part in ("weight", "bias"):
            for map in ("linear1", "linear2"):
                renamed[f"{map}.{part}"] = weights[f"feed_forward.{map}.{part}"]
            for index in range(len(self.kind.attentions) + 1):
                renamed[f"norm{index + 1}.{part}"] = weights[f"sublayers.{index}.norm.{part}"]
        return {name: value.double() for name, value in renamed.items()}


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
        """The same in float32."""
        return replace(self, dtype=torch.float32)

    @cached_property
    def small(self) -> StackCase:
        """The same, but all that the norms get is about a hundredth, so that `eps` counts."""
        return replace(self, scale=0.01)

    def with_layers(self, num_layers: int) -> StackCase:
        """The same with another number of layers."""
        return replace(self, num_layers=num_layers)

    @cached_property
    def deeper(self) -> StackCase:
        """The same with one layer more."""
        return self.with_layers(self.num_layers + 1)

    @cached_property
    def large(self) -> StackCase:
        """The same with an x of about a thousand."""
        return replace(self, magnitude=1e3)

    @cached_property
    def extreme(self) -> StackCase:
        """The same size of tokens in one head, or for pre-norm in heads of one feature."""
        heads = self.sizes.d_model if self.norm_first else 1
        d_head = self.sizes.d_model // heads
        return replace(self, sizes=replace(self.sizes, n_heads=heads, d_head=d_head))

    @cached_property
    def inputs(self) -> list[Tensor]:
        """x, and for the decoder the memory."""
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
        """A random mask for each attention, of a shape that the case chooses."""
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
        """Weights for one layer."""
        return self._scaled(
            draw_weights(self.numbers, "layer", layer_shapes(self.kind, self.sizes))
        )

    @cached_property
    def stack_weights(self) -> Weights:
        """Weights for a stack."""
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
        """None for each attention."""
        return [None] * len(self.inputs)

    @property
    def oracle(self) -> Oracle:
        """Torch's own layer for these options."""
        return Oracle(self.kind, self.sizes, self.norm_first, self.activation)

    @cached_property
    def layer_output(self) -> Tensor:
        """What torch's layer returns without masks."""
        return self.oracle.layer(self.layer_weights, self.inputs, self.no_masks)

    @cached_property
    def first_token_output(self) -> Tensor:
        """What torch's layer returns for a batch of one and a sentence of one."""
        inputs = [tensor[:1, :1] for tensor in self.inputs]
        return self.oracle.layer(self.layer_weights, inputs, self.no_masks)

    @cached_property
    def stack_output(self) -> Tensor:
        """What torch's stack returns with masks."""
        return self.oracle.stack(self.stack_weights, self.inputs, self.masks)

    @cached_property
    def cotangent(self) -> Tensor:
        """A random weight for every number of the output, to pull gradients back from."""
        return self.numbers.normal("cotangent", *self.inputs[0].shape)

    @cached_property
    def layer_gradients(self) -> tuple[Tensor, ...]:
        """Torch's gradients of its layer, with masks: of the inputs, then of the weights."""
        return self._gradients(self.oracle.layer, self.layer_weights)

    @cached_property
    def stack_gradients(self) -> tuple[Tensor, ...]:
        """Torch's gradients of its stack, with masks: of the inputs, then of the weights."""
        return self._gradients(self.oracle.stack, self.stack_weights)

    def _gradients(self, call: Callable[..., Tensor], weights: Weights) -> tuple[Tensor, ...]:
        inputs, leaves = tracked(self.inputs), tracked_weights(weights)
        output = call(leaves, inputs, self.masks)
        return pull_back(output, [*inputs, *leaves.values()], self.cotangent)

    def layer(self, student: Any, weights: Weights | None = None) -> RemoteModule:
        """The student's layer with these weights, by default the case's, in evaluation mode."""
        size = self.sizes
        make = getattr(student, self.kind.layer)
        layer = make(size.d_model, size.n_heads, size.d_ff, dropout=0.0, **self._options())
        return self._ready(layer, self.layer_weights if weights is None else weights)

    def stack(
        self, student: Any, weights: Weights | None = None, dropout: float = 0.0
    ) -> RemoteModule:
        """The student's stack with these weights, by default the case's, in evaluation mode."""
        made = self.new_stack(student, dropout)
        return self._ready(made, self.stack_weights if weights is None else weights)

    def new_stack(self, student: Any, dropout: float = 0.0) -> RemoteModule:
        """The student's stack as their code makes it."""
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
        """What differs from the defaults."""
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
    """Cases whose sizes all differ."""
    return StackCase(kind, draw(sizes()), numbers, norm_first, activation)


@st.composite
def sizes(draw: st.DrawFn) -> Sizes:
    """Sizes that all differ, `d_model` too, with lengths of four or more."""
    drawn = draw(distinct_sizes(6, 2, 8).filter(_is_telling))
    n_heads, d_head, batch, length, source, d_ff = drawn
    return Sizes(batch, length, source, n_heads, d_head, d_ff)


def _is_telling(drawn: list[int]) -> bool:
    n_heads, d_head, _, length, source, _ = drawn
    return min(length, source) >= 4 and n_heads * d_head not in drawn and n_heads * d_head <= 32


def tracked(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Copies that gradients flow back to."""
    return [tensor.clone().requires_grad_() for tensor in tensors]


def tracked_weights(weights: Weights) -> Weights:
    """Copies that gradients flow back to."""
    return dict(zip(weights, tracked(list(weights.values())), strict=True))

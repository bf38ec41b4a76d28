"""What encoder and decoder are made of: their parts, their sizes, and their weights by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from grader.checks.framework.inputs import Numbers

NUM_LAYERS = 2

Weights = dict[str, Tensor]


@dataclass(frozen=True)
class Kind:
    """Encoder or decoder: the names of its parts, and torch's own layer."""

    exercise: str
    layer: str
    stack: str
    attentions: tuple[str, ...]
    oracle: type[nn.Module]

    @property
    def words(self) -> dict[str, str]:
        """Return the words for the titles of the checks that both share."""
        alone = len(self.attentions) == 1
        inputs, results = ("back to x", "both") if alone else ("back to x, to memory", "all")
        return {"layer": self.layer, "stack": self.stack, "to_inputs": inputs, "all": results}


ENCODER = Kind("encoder", "EncoderLayer", "Encoder", ("self_attn",), nn.TransformerEncoderLayer)
DECODER = Kind(
    "decoder", "DecoderLayer", "Decoder", ("self_attn", "cross_attn"), nn.TransformerDecoderLayer
)


@dataclass(frozen=True)
class Sizes:
    """All sizes of a case; `length` is that of x, `source` that of the memory."""

    batch: int
    length: int
    source: int
    n_heads: int
    d_head: int
    d_ff: int

    @property
    def d_model(self) -> int:
        """Return the number of features of a token."""
        return self.n_heads * self.d_head


def norm_shapes(d_model: int, prefix: str) -> dict[str, tuple[int, ...]]:
    """Return the parameters of a `LayerNorm`."""
    return {f"{prefix}norm.weight": (d_model,), f"{prefix}norm.bias": (d_model,)}


def layer_shapes(kind: Kind, sizes: Sizes, prefix: str = "") -> dict[str, tuple[int, ...]]:
    """Return the shapes of one layer's parameters, by name."""
    wide, inner = sizes.d_model, sizes.d_ff
    maps = {
        f"{attention}.{part}_proj": (wide, wide)
        for attention in kind.attentions
        for part in ("q", "k", "v", "out")
    }
    maps |= {"feed_forward.linear1": (inner, wide), "feed_forward.linear2": (wide, inner)}
    shapes: dict[str, tuple[int, ...]] = {}
    for name, shape in maps.items():
        shapes |= {f"{prefix}{name}.weight": shape, f"{prefix}{name}.bias": shape[:1]}
    for index in range(len(kind.attentions) + 1):
        shapes |= norm_shapes(wide, f"{prefix}sublayers.{index}.")
    return shapes


def stack_shapes(
    kind: Kind,
    sizes: Sizes,
    norm_first: bool,
    prefix: str = "",
    num_layers: int = NUM_LAYERS,
) -> dict[str, tuple[int, ...]]:
    """Return the shapes of a stack's parameters, by name."""
    shapes: dict[str, tuple[int, ...]] = {}
    for index in range(num_layers):
        shapes |= layer_shapes(kind, sizes, f"{prefix}layers.{index}.")
    return shapes | (norm_shapes(sizes.d_model, prefix) if norm_first else {})


def draw_weights(numbers: Numbers, purpose: str, shapes: Mapping[str, Sequence[int]]) -> Weights:
    """Draw random weights for these parameters, those of norms included."""
    weights = {}
    for name, shape in shapes.items():
        spread = shape[-1] ** -0.5 if len(shape) == 2 else 0.3
        centre = 1.0 if name.endswith("norm.weight") else 0.0
        weights[name] = centre + numbers.normal(f"{purpose} {name}", *shape, scale=spread)
    return weights


def below(weights: Weights, prefix: str) -> Weights:
    """Return the weights whose names begin with `prefix`, without it."""
    return {
        name.removeprefix(prefix): value
        for name, value in weights.items()
        if name.startswith(prefix)
    }

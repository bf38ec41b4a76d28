"""torch's own layer, fed from parameters with the names that the exercises give them."""

from collections.abc import Callable, Mapping
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu}


class Attention(nn.Module):
    """The four maps of an attention with several heads."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            self.add_module(name, nn.Linear(d_model, d_model))


class Maps(nn.Module):
    """The two maps of a feed-forward network."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        for name, sizes in (("linear1", (d_model, d_ff)), ("linear2", (d_ff, d_model))):
            self.add_module(name, nn.Linear(*sizes))


class Connection(nn.Module):
    """The norm of one sublayer."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d_model)


def torch_attention_weights(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights of the exercise's attention under the names of `nn.MultiheadAttention`."""
    packed = {}
    for kind in ("weight", "bias"):
        packed[f"in_proj_{kind}"] = torch.cat([weights[f"{part}_proj.{kind}"] for part in "qkv"])
        packed[f"out_proj.{kind}"] = weights[f"out_proj.{kind}"]
    return packed


def torch_layer_weights(
    weights: Mapping[str, Tensor], attentions: Mapping[str, str]
) -> dict[str, Tensor]:
    """Return the weights of an exercise's layer under the names of torch's layer.

    `attentions` are the names of the attentions in the exercise, and those in torch.
    """
    renamed: dict[str, Tensor] = {}
    for name_here, name_there in attentions.items():
        below = {name.removeprefix(f"{name_here}."): value for name, value in weights.items()}
        packed = torch_attention_weights(below)
        renamed |= {f"{name_there}.{name}": value for name, value in packed.items()}
    for kind in ("weight", "bias"):
        for name in ("linear1", "linear2"):
            renamed[f"{name}.{kind}"] = weights[f"feed_forward.{name}.{kind}"]
        for number in range(len(attentions) + 1):
            renamed[f"norm{number + 1}.{kind}"] = weights[f"sublayers.{number}.norm.{kind}"]
    return renamed


class WrappedLayer(nn.Module):
    """A layer of torch's, `kind`, under other names. `attentions` maps ours to torch's."""

    kind: Callable[..., nn.Module]
    attentions: ClassVar[dict[str, str]]

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        dropout: float = 0.1,
        activation: str = "relu",
        norm_first: bool = False,
    ) -> None:
        """Raises `ValueError` where the exercise asks for it."""
        super().__init__()
        if d_model % n_heads or activation not in ACTIVATIONS:
            raise ValueError(f"d_model={d_model}, n_heads={n_heads}, activation={activation!r}")
        self.n_heads = n_heads
        for name in self.attentions:
            self.add_module(name, Attention(d_model))
        self.feed_forward = Maps(d_model, d_ff)
        self.sublayers = nn.ModuleList(Connection(d_model) for _ in range(len(self.attentions) + 1))
        known = ACTIVATIONS[activation]
        layer = self.kind(
            d_model,
            n_heads,
            d_ff,
            dropout,
            lambda x: known(x),  # torch takes a fast path with one that it knows, and other masks
            batch_first=True,
            norm_first=norm_first,
            device="meta",
        )
        self.torch_layer = (layer,)  # in a tuple, so that it is not a submodule

    def run(self, *inputs: Tensor, **masks: Tensor | None) -> Tensor:
        """Return the output of torch's layer for the inputs, with this module's parameters."""
        (layer,) = self.torch_layer
        layer.train(self.training)
        keys = {name: inputs[-1] if name == "memory_mask" else inputs[0] for name in masks}
        numbers = {name: self.additive(mask, inputs[0], keys[name]) for name, mask in masks.items()}
        output: Tensor = functional_call(layer, self.weights(), inputs, numbers)
        return output

    def weights(self) -> dict[str, Tensor]:
        """This module's parameters under torch's names."""
        return torch_layer_weights(dict(self.named_parameters()), self.attentions)

    def additive(self, mask: Tensor | None, query: Tensor, key: Tensor) -> Tensor | None:
        """Return the mask as numbers to add to the scores of every head, `(B * H, Lq, Lk)`."""
        if mask is None:
            return None
        shape = (query.size(0), self.n_heads, query.size(1), key.size(1))
        hidden = ~mask.broadcast_to(shape).flatten(0, 1)
        zeros = torch.zeros(hidden.shape, dtype=query.dtype, device=query.device)
        return zeros.masked_fill(hidden, torch.finfo(query.dtype).min / 2)


class WrappedStack(nn.Module):
    """Layers of one `kind`, one after another, and a norm after the last in pre-norm."""

    kind: type[WrappedLayer]

    def __init__(
        self,
        num_layers: int,
        d_model: int,
        n_heads: int,
        d_ff: int,
        dropout: float = 0.1,
        activation: str = "relu",
        norm_first: bool = False,
    ) -> None:
        super().__init__()
        sizes = (d_model, n_heads, d_ff, dropout, activation, norm_first)
        self.layers = nn.ModuleList(self.kind(*sizes) for _ in range(num_layers))
        self.norm = nn.LayerNorm(d_model) if norm_first else None

    def forward(self, x: Tensor, *memory: Tensor | None, **masks: Tensor | None) -> Tensor:
        """`(B, L, d_model)`, as it went in."""
        for torch_layer in self.layers:
            x = torch_layer(x, *memory, **masks)
        return x if self.norm is None else self.norm(x)

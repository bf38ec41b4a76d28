"""What torch's own layers make of weights that have the names of the exercises."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F

_ATTENTIONS = {"self_attn": "self_attn", "cross_attn": "multihead_attn"}


def scatter(module: nn.Module) -> nn.Module:
    """The module with all its parameters drawn anew, so that no bias is zero and no scale one.

    What comes out of it depends visibly on all that goes in.
    """
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if parameter.dim() > 1:
                parameter.normal_(0.0, 1.5 * parameter.size(-1) ** -0.5)
            else:
                parameter.normal_(1.0 if name.endswith("weight") else 0.0, 0.3)
    return module


def hidden(mask: Tensor, batch: int, heads: int, queries: int, keys: int) -> Tensor:
    """A mask of True for "may be seen" in the form of torch's layers. (B * H, Lq, Lk)"""
    return ~mask.expand(batch, heads, queries, keys).flatten(0, 1)


def attention(module: nn.Module, query: Tensor, key: Tensor, n_heads: int, mask: Tensor) -> Tensor:
    """What `nn.MultiheadAttention` makes of these inputs with the module's weights."""
    theirs = nn.MultiheadAttention(query.size(-1), n_heads, batch_first=True)
    shape = (query.size(0), n_heads, query.size(1), key.size(1))
    weights = _attention_weights(parameters(module), "", "")
    options = {"attn_mask": hidden(mask, *shape), "need_weights": False}
    output: Tensor = functional_call(theirs, weights, (query, key, key), options)[0]
    return output


def parameters(module: nn.Module, prefix: str = "") -> dict[str, Tensor]:
    """The parameters whose names begin so, under the rest of their names; tied ones under each."""
    named = module.named_parameters(remove_duplicate=False)
    return {name.removeprefix(prefix): one for name, one in named if name.startswith(prefix)}


def embedded(module: nn.Module, prefix: str, ids: Tensor) -> Tensor:
    """Words and their places, as the model called `module` embeds them. (B, L, d_model)"""
    rows = F.embedding(ids, parameters(module, prefix)["token.embedding.weight"])
    width = rows.size(-1)
    waves = [
        [
            (math.cos, math.sin)[column % 2 == 0](place / 10000 ** ((column - column % 2) / width))
            for column in range(width)
        ]
        for place in range(ids.size(1))
    ]
    scaled: Tensor = rows * width**0.5
    return scaled + rows.new_tensor(waves)


def stack(
    own: Mapping[str, Tensor],
    kind: type[nn.Module],
    sizes: tuple[int, int, int],
    inputs: Any,
    masks: Any,
) -> Tensor:
    """What a stack of torch's layers of one `kind` makes of the inputs with these `parameters`.

    `sizes` are d_model, n_heads and d_ff; the number of layers is read off the names.
    """
    layers = 1 + max(int(name.split(".")[1]) for name in own if name.startswith("layers."))
    # With an activation that it does not know, torch takes no short cut past its masks.
    layer = kind(*sizes, 0.0, lambda x: F.relu(x), batch_first=True)
    x, *rest = inputs
    for number in range(layers):
        x = functional_call(layer, _layer_weights(own, f"layers.{number}."), (x, *rest), masks)
    output: Tensor = x
    return output


def _layer_weights(own: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    found: dict[str, Tensor] = {}
    for ours, theirs in _ATTENTIONS.items():
        if f"{prefix}{ours}.q_proj.weight" in own:
            found |= _attention_weights(own, f"{prefix}{ours}.", f"{theirs}.")
    norms = sum(name.startswith(f"{prefix}sublayers.") for name in own) // 2
    for kind in ("weight", "bias"):
        for name in ("linear1", "linear2"):
            found[f"{name}.{kind}"] = own[f"{prefix}feed_forward.{name}.{kind}"]
        for number in range(norms):
            found[f"norm{number + 1}.{kind}"] = own[f"{prefix}sublayers.{number}.norm.{kind}"]
    return found


def _attention_weights(own: Mapping[str, Tensor], ours: str, theirs: str) -> dict[str, Tensor]:
    found = {}
    for kind in ("weight", "bias"):
        parts = [own[f"{ours}{one}_proj.{kind}"] for one in "qkv"]
        found[f"{theirs}in_proj_{kind}"] = torch.cat(parts)
        found[f"{theirs}out_proj.{kind}"] = own[f"{ours}out_proj.{kind}"]
    return found

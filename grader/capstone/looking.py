"""The attention weights of a trained model, captured from outside.

However a student's attention is written, it takes a softmax: those of the right shape in `decode`
are the cross-attention of the layers in order, and those of a language model are its
self-attention. If it doesn't use torch's softmax, the weights are recomputed from the outputs of
`q_proj` and `k_proj`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode

from grader.capstone.events import Translation

_SOFTMAX = ("_softmax", "_safe_softmax")


class _Softmaxes(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Keeps the results of every softmax whose last two axes have these sizes."""

    def __init__(self, sizes: tuple[int, int]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.sizes = sizes
        self.results: list[Tensor] = []

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run the operation and look at its result."""
        del types
        result = func(*args, **(kwargs or {}))
        if func.overloadpacket.__name__ in _SOFTMAX and tuple(result.shape[-2:]) == self.sizes:
            self.results.append(result.detach().clone())
        return result


@torch.no_grad()
def cross_attention(
    model: Any, src: Tensor, decoder_input: Tensor, n_heads: int, num_layers: int
) -> Tensor:
    """Return the cross-attention of every layer and head, `(num_layers, n_heads, Lt, Ls)`.

    `src` is `(1, Ls)`, `decoder_input` `(1, Lt)`. It has no layers if it is not available.
    """
    sizes = (decoder_input.size(1), src.size(1))
    nothing = torch.zeros(0, n_heads, *sizes)
    memory = model.encode(src)
    projections: list[dict[str, Tensor]] = []
    handles: list[Any] = []
    softmaxes = _Softmaxes(sizes)
    with contextlib.suppress(AttributeError, TypeError):
        for layer in model.decoder.layers:
            projections.append({})
            handles += _watch(layer.cross_attn, projections[-1])
    try:
        # Torch's fused attention would hide its softmax.
        with sdpa_kernel(SDPBackend.MATH), softmaxes:
            model.decode(decoder_input, memory, src)
        weights = _by_layer(softmaxes.results, n_heads, num_layers, sizes)
        if weights is None:
            weights = torch.stack([_from_projections(tensors, n_heads) for tensors in projections])
        weights = weights.double()
    except (KeyError, RuntimeError):
        return nothing
    finally:
        for handle in handles:
            handle.remove()
    sums = weights.sum(-1)
    if tuple(weights.shape[-2:]) != sizes or not torch.allclose(sums, torch.ones_like(sums)):
        return nothing
    return weights


def _by_layer(
    results: list[Tensor], n_heads: int, num_layers: int, sizes: tuple[int, int]
) -> Tensor | None:
    """Return results of softmaxes as `(num_layers, n_heads, Lt, Ls)`, if there are as many as that.

    If target and source are equally long, self-attention has the same sizes and comes first.
    """
    matrices = [matrix for result in results for matrix in result.reshape(-1, *sizes)]
    kinds, remainder = divmod(len(matrices), num_layers * n_heads)
    if remainder or kinds not in (1, 2):
        return None
    return torch.stack(matrices).view(num_layers, kinds, n_heads, *sizes)[:, -1]


@torch.no_grad()
def self_attention(model: Any, pieces: Mapping[str, Any], ids: Tensor, n_heads: int) -> Tensor:
    """Return the weights of a language model that reads `ids` `(1, L)`: `(layers, n_heads, L, L)`.

    `pieces` has the rotations of its queries and keys. It has no layers if it is not available.
    """
    tokens = ids.size(1)
    nothing = torch.zeros(0, n_heads, tokens, tokens)
    projections: list[dict[str, Tensor]] = []
    handles: list[Any] = []
    softmaxes = _Softmaxes((tokens, tokens))
    try:
        for block in model.blocks:
            projections.append({})
            handles += _watch(block.attn, projections[-1])
        with sdpa_kernel(SDPBackend.MATH), softmaxes:
            model(ids)
        layers = [weights.reshape(-1, tokens, tokens) for weights in softmaxes.results]
        if len(layers) != len(projections):
            layers = [_causal(tensors, pieces, n_heads) for tensors in projections]
        weights = torch.stack(layers).double()
    except (AttributeError, TypeError, KeyError, RuntimeError, ValueError):
        return nothing
    finally:
        for handle in handles:
            handle.remove()
    sums = weights.sum(-1)
    if weights.size(1) != n_heads or not torch.allclose(sums, torch.ones_like(sums)):
        return nothing
    return weights


def seen(answer: Translation, weights: Tensor) -> Translation:
    """Return the answer and the attention weights, `(layers, heads, written, read)`."""
    if not weights.numel():
        return answer
    mean = _rounded(weights[-1].mean(0).tolist())
    return replace(answer, attention=mean, heads=_rounded(weights.tolist()))


def _rounded(numbers: Any) -> Any:
    if isinstance(numbers, list):
        return [_rounded(number) for number in numbers]
    return min(max(round(numbers, 4), 0.0), 1.0)


def _causal(tensors: Mapping[str, Tensor], pieces: Mapping[str, Any], n_heads: int) -> Tensor:
    """Return the weights `(H, L, L)` of one layer, from the projections' results `(1, L, ...)`."""
    length, width = tensors["q_proj"].shape[-2:]
    d_head = width // n_heads
    angles = pieces["rotary_angles"](d_head, length)
    heads = [tensors[name][0].reshape(length, -1, d_head) for name in ("q_proj", "k_proj")]
    query, key = (pieces["apply_rotary"](head.transpose(0, 1), angles) for head in heads)
    key = key.repeat_interleave(n_heads // key.size(0), dim=0)
    scores: Tensor = query @ key.transpose(-2, -1) * d_head**-0.5
    hidden = torch.ones(length, length, dtype=torch.bool).triu(1)
    return scores.masked_fill(hidden, float("-inf")).softmax(-1)


def _watch(attention: Any, tensors: dict[str, Tensor]) -> list[Any]:
    """Keep the outputs of the query and key projections; return the hooks' handles."""
    maps = {name: getattr(attention, name) for name in ("q_proj", "k_proj")}

    def watch(name: str) -> Any:
        def keep(module: nn.Module, inputs: Any, output: Tensor) -> None:
            del module, inputs
            tensors[name] = output.detach()

        return keep

    return [module.register_forward_hook(watch(name)) for name, module in maps.items()]


def _from_projections(tensors: Mapping[str, Tensor], n_heads: int) -> Tensor:
    """Return one sentence's weights `(H, Lq, Lk)`, from the projections `(1, L, d_model)`."""
    query_key = (tensors[name][0] for name in ("q_proj", "k_proj"))
    heads = [torch.stack(result.chunk(n_heads, dim=-1)) for result in query_key]
    scores: Tensor = torch.einsum("hqd,hkd->hqk", *heads) * heads[0].size(-1) ** -0.5
    return scores.softmax(-1)

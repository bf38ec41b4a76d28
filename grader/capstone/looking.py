"""How a trained model looks at what it reads: its cross-attention, found from outside.

Whatever a student's attention is called and however it is written, it takes a softmax; the last
one of that shape in `decode` is the cross-attention of the last layer. One written without torch's
softmax is computed again from what leaves `q_proj` and `k_proj`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode

_SOFTMAX = ("_softmax", "_safe_softmax")


class _Softmaxes(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Keeps the last result of a softmax whose last two axes have these sizes."""

    def __init__(self, sizes: tuple[int, int]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.sizes = sizes
        self.last: Tensor | None = None

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Runs the operation and looks at its result."""
        del types
        result = func(*args, **(kwargs or {}))
        if func.overloadpacket.__name__ in _SOFTMAX and tuple(result.shape[-2:]) == self.sizes:
            self.last = result.detach().clone()
        return result


@torch.no_grad()
def cross_attention(
    model: Any, src: Tensor, decoder_input: Tensor, n_heads: int
) -> list[list[float]]:
    """The mean over the heads, a row for each place of the target `(1, Lt)`, a column a source's.

    Empty if it cannot be had.
    """
    sizes = (decoder_input.size(1), src.size(1))
    memory = model.encode(src)
    found: dict[str, Tensor] = {}
    handles = _watch_projections(model, found)
    softmaxes = _Softmaxes(sizes)
    try:
        # Torch's own fused attention would take its softmax unseen.
        with sdpa_kernel(SDPBackend.MATH), softmaxes:
            model.decode(decoder_input, memory, src)
    finally:
        for handle in handles:
            handle.remove()
    weights = softmaxes.last
    if weights is None and len(found) == 2:
        weights = _from_projections(found["q_proj"], found["k_proj"], n_heads)
    if weights is None or tuple(weights.shape[-2:]) != sizes:
        return []
    rows = weights.double().reshape(-1, *sizes).mean(0)
    if not rows.isfinite().all() or not torch.allclose(rows.sum(-1), rows.new_ones(sizes[0])):
        return []
    return [[round(number, 4) for number in row] for row in rows.tolist()]


def _watch_projections(model: Any, found: dict[str, Tensor]) -> list[Any]:
    try:
        attention = list(model.decoder.layers)[-1].cross_attn
        maps = {name: getattr(attention, name) for name in ("q_proj", "k_proj")}
    except (AttributeError, TypeError, IndexError):
        return []

    def watch(name: str) -> Any:
        def keep(module: nn.Module, inputs: Any, output: Tensor) -> None:
            del module, inputs
            found[name] = output.detach()

        return keep

    return [one.register_forward_hook(watch(name)) for name, one in maps.items()]


def _from_projections(query: Tensor, key: Tensor, n_heads: int) -> Tensor:
    """The weights `(H, Lq, Lk)` of one sentence, from the maps' results `(1, L, d_model)`."""
    heads = [torch.stack(one[0].chunk(n_heads, dim=-1)) for one in (query, key)]
    scores: Tensor = torch.einsum("hqd,hkd->hqk", *heads) * heads[0].size(-1) ** -0.5
    return scores.softmax(-1)

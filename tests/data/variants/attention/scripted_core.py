"""The arithmetic is compiled with TorchScript, the rest is Python."""

from typing import Optional, Tuple

import torch


@torch.jit.script
def _weights(q: torch.Tensor, k: torch.Tensor, mask: Optional[torch.Tensor]) -> torch.Tensor:
    s = torch.matmul(q, k.transpose(-2, -1)) / float(q.size(-1)) ** 0.5
    if mask is not None:
        s = s.masked_fill(torch.logical_not(mask), -1e9)
    return torch.softmax(s, dim=-1)


def attention(query, key, value, mask=None, dropout=None) -> Tuple[torch.Tensor, torch.Tensor]:
    weights = _weights(query, key, mask)
    return torch.matmul((dropout or torch.nn.Identity())(weights), value), weights

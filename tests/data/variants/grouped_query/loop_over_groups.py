"""A loop over the key/value heads, each with its own queries."""

import torch
from torch import Tensor, nn

from exercises.attention import attention
from exercises.kv_cache import KVCache
from exercises.rope import apply_rotary


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int, bias: bool = False) -> None:
        super().__init__()
        width, rest = divmod(d_model, n_heads)
        group, left = divmod(n_heads, n_kv_heads)
        if rest or left:
            raise ValueError(f"{d_model}, {n_heads}, {n_kv_heads}")
        self.width, self.group, self.n_kv_heads = width, group, n_kv_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj, self.v_proj = (nn.Linear(d_model, n_kv_heads * width, bias=bias) for _ in "kv")
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)

    def forward(
        self,
        x: Tensor,
        angles: Tensor | None = None,
        mask: Tensor | None = None,
        cache: KVCache | None = None,
    ) -> Tensor:
        queries = self.q_proj(x).split(self.width, -1)
        keys = self.k_proj(x).split(self.width, -1)
        values = torch.stack(self.v_proj(x).split(self.width, -1), 1)
        if angles is not None:
            queries = [apply_rotary(q, angles) for q in queries]
            keys = [apply_rotary(k, angles) for k in keys]
        keys = torch.stack(list(keys), 1)
        if cache is not None:
            keys, values = cache.append(keys, values)
        results = []
        for head, query in enumerate(queries):
            mine = mask
            if mask is not None and mask.dim() > 2:
                mine = mask[:, head if mask.size(1) > 1 else 0] if mask.dim() == 4 else mask[head if mask.size(0) > 1 else 0]
            results.append(attention(query, keys[:, head // self.group], values[:, head // self.group], mine)[0])
        return self.out_proj(torch.cat(results, -1))

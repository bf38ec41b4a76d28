"""Asserts every shape, prints as it goes, saves its inputs, and clones before it changes anything."""

from __future__ import annotations

import typing as t

import torch

from exercises import attention as attention_module


def split_heads(x: torch.Tensor, n_heads: int) -> torch.Tensor:
    assert x.dim() == 3, f"expected (B, L, d_model), got {tuple(x.shape)}"
    batch, length, width = x.shape
    assert width % n_heads == 0
    out = torch.empty(
        (batch, n_heads, length, width // n_heads), dtype=x.dtype, device=x.device
    ).copy_(x.clone().reshape(batch, length, n_heads, -1).swapaxes(1, 2))
    assert out.shape == (batch, n_heads, length, width // n_heads)
    return out


def merge_heads(x: torch.Tensor) -> torch.Tensor:
    assert x.dim() == 4
    return x.swapaxes(1, 2).clone().reshape(x.shape[0], x.shape[2], -1)


class MultiHeadAttention(torch.nn.Module):
    last: t.Dict[str, torch.Tensor]

    def __init__(
        self, d_model: int, n_heads: int, dropout: float = 0.0, bias: bool = True, name: str = "mha"
    ):
        super().__init__()
        assert d_model > 0 and n_heads > 0 and d_model % n_heads == 0
        self.name, self.num_heads = name, n_heads
        self.last = {}
        linear = torch.nn.Linear
        self.q_proj: torch.nn.Module = linear(d_model, d_model, bias=bias)
        self.k_proj: torch.nn.Module = linear(d_model, d_model, bias=bias)
        self.v_proj: torch.nn.Module = linear(d_model, d_model, bias=bias)
        self.out_proj: torch.nn.Module = linear(d_model, d_model, bias=bias)
        self.attention_dropout = torch.nn.Dropout(p=dropout)

    def extra_repr(self) -> str:
        return f"heads={self.num_heads}"

    def __call__(self, *args, **kwargs):
        print(self.name, [tuple(a.shape) for a in args if a is not None])
        return super().__call__(*args, **kwargs)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.q_proj(query), self.num_heads)
        k = split_heads(self.k_proj(key), self.num_heads)
        v = split_heads(self.v_proj(value), self.num_heads)
        if mask is not None:
            assert mask.dtype == torch.bool, "a mask is boolean here"
        heads, weights = attention_module.attention(q, k, v, mask, self.attention_dropout)
        self.last = {"query": query.detach(), "weights": weights.detach()}
        result = self.out_proj(merge_heads(heads))
        assert result.shape == query.shape
        return result

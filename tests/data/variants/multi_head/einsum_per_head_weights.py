"""Reads the maps' weights as one small matrix for every head, and does all with einsum."""

import torch
from torch import nn

from exercises.attention import attention


def split_heads(x, n_heads):
    return torch.stack(torch.chunk(x, n_heads, dim=2), dim=1)


def merge_heads(x):
    return torch.cat(list(x.unbind(1)), dim=-1)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, dropout=0.0, bias=True):
        super().__init__()
        assert d_model % n_heads == 0, "d_model must be a multiple of n_heads"
        self.h, self.p = n_heads, dropout
        for name in ("q", "k", "v", "out"):
            self.add_module(f"{name}_proj", nn.Linear(d_model, d_model, bias))

    def _project(self, linear, x):
        w = linear.weight.unflatten(0, (self.h, -1))
        y = torch.einsum("bld,hed->bhle", x, w)
        return y if linear.bias is None else y + linear.bias.view(self.h, 1, -1)

    def forward(self, query, key, value, mask=None):
        drop = lambda w: nn.functional.dropout(w, self.p, training=self.training)
        heads, _ = attention(
            self._project(self.q_proj, query),
            self._project(self.k_proj, key),
            self._project(self.v_proj, value),
            mask,
            dropout=drop,
        )
        w_o = self.out_proj.weight.unflatten(1, (self.h, -1))
        y = torch.einsum("bhle,dhe->bld", heads, w_o)
        return y if self.out_proj.bias is None else y + self.out_proj.bias

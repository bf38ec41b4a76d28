"""Projects query, key and value with one matrix that is put together at every call; keeps the weights."""

import torch
import torch.nn.functional as F
from torch import nn

from exercises.feed_forward import FeedForward
from exercises.layer_norm import LayerNorm
from exercises.sublayer import SublayerConnection


class FusedAttention(nn.Module):
    def __init__(self, d_model, n_heads, dropout):
        super().__init__()
        for name in ("q", "k", "v", "out"):
            setattr(self, name + "_proj", nn.Linear(d_model, d_model))
        self.n_heads = n_heads
        self.dropout = nn.Dropout(dropout)
        self.weights = None

    def forward(self, x, mask):
        maps = (self.q_proj, self.k_proj, self.v_proj)
        weight = torch.cat([one.weight for one in maps])
        bias = torch.cat([one.bias for one in maps])
        q, k, v = (
            part.unflatten(-1, (self.n_heads, -1)).permute(0, 2, 1, 3)
            for part in F.linear(x, weight, bias).chunk(3, dim=-1)
        )
        scores = (q @ k.mT) * k.shape[-1] ** -0.5
        if mask is not None:
            scores = torch.where(mask, scores, scores.new_tensor(float("-inf")))
        weights = F.softmax(scores, dim=-1).nan_to_num(0.0)
        self.weights = weights
        return self.out_proj((self.dropout(weights) @ v).permute(0, 2, 1, 3).flatten(2))


class EncoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.1, activation="relu", norm_first=False):
        super().__init__()
        self.self_attn = FusedAttention(d_model, n_heads, dropout)
        self.feed_forward = FeedForward(d_model, d_ff, dropout, activation)
        self.sublayers = nn.ModuleList(
            [
                SublayerConnection(d_model, dropout, norm_first),
                SublayerConnection(d_model, dropout, norm_first),
            ]
        )

    def forward(self, x, mask=None, return_weights=False):
        x = self.sublayers[0](x, lambda y: self.self_attn(y, mask))
        x = self.sublayers[1](x, self.feed_forward)
        return (x, self.self_attn.weights) if return_weights else x


class Encoder(nn.Module):
    def __init__(
        self, num_layers, d_model, n_heads, d_ff, dropout=0.1, activation="relu", norm_first=False
    ):
        super().__init__()
        self.layers = nn.ModuleList(
            [
                EncoderLayer(d_model, n_heads, d_ff, dropout, activation, norm_first)
                for _ in range(num_layers)
            ]
        )
        self.norm = LayerNorm(d_model) if norm_first else None

    def forward(self, x, mask=None):
        for layer in self.layers:
            x, _ = layer(x, mask, return_weights=True)
        if self.norm is not None:
            x = self.norm(x)
        return x

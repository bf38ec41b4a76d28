"""A gradient hook on the result of every call, not on the table, so that copies have it as well."""

import math

import torch
from torch import nn

from exercises.positional import PositionalEncoding


class Embedding(nn.Module):
    def __init__(self, num_embeddings, embedding_dim, padding_idx=None):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(num_embeddings, embedding_dim))
        self.padding_idx = padding_idx
        if padding_idx is not None:
            with torch.no_grad():
                self.weight[padding_idx] *= 0

    def forward(self, ids):
        if ids.min() < 0 or ids.max() >= self.weight.size(0):
            raise IndexError("index out of range in self")
        out = self.weight[ids]
        if out.requires_grad and self.padding_idx is not None:
            keep = (ids != self.padding_idx)[..., None]
            out.register_hook(lambda grad: grad * keep)
        return out


class TokenEmbedding(nn.Module):
    def __init__(self, vocab_size, d_model, padding_idx=None):
        super().__init__()
        self.embedding = Embedding(vocab_size, d_model, padding_idx)
        self.d_model = d_model

    def forward(self, ids):
        return math.sqrt(self.d_model) * self.embedding(ids)


class TransformerEmbedding(nn.Module):
    def __init__(self, vocab_size, d_model, dropout=0.1, max_len=5000, padding_idx=None):
        super().__init__()
        self.token = TokenEmbedding(vocab_size, d_model, padding_idx)
        self.position = PositionalEncoding(d_model, dropout, max_len)

    def forward(self, ids):
        return self.position(self.token(ids))

"""The sum and the dropout written out here; position used only for its table; take_along_dim."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from exercises.positional import PositionalEncoding


class Embedding(nn.Module):
    def __init__(self, num_embeddings, embedding_dim, padding_idx=None):
        super().__init__()
        self.padding_idx = -1 if padding_idx is None else padding_idx
        self.weight = nn.Parameter(torch.randn(num_embeddings, embedding_dim))
        if self.padding_idx >= 0:
            torch.nn.init.zeros_(self.weight[self.padding_idx])

    def forward(self, ids):
        n = self.weight.size(0)
        if ids.clamp(0, n - 1).ne(ids).any():
            raise IndexError("id outside the table")
        w = self.weight[ids, :]
        is_pad = (ids == self.padding_idx).unsqueeze(-1)
        return w - (w - w.detach()) * is_pad


class TokenEmbedding(nn.Module):
    def __init__(self, vocab_size, d_model, padding_idx=None):
        super().__init__()
        self.embedding = Embedding(vocab_size, d_model, padding_idx)
        self.register_buffer("scale", torch.tensor(math.sqrt(d_model)), persistent=False)

    def forward(self, ids):
        return self.embedding(ids) * self.scale


class TransformerEmbedding(nn.Module):
    def __init__(self, vocab_size, d_model, dropout=0.1, max_len=5000, padding_idx=None):
        super().__init__()
        self.token = TokenEmbedding(vocab_size, d_model, padding_idx)
        self.position = PositionalEncoding(d_model, 0.0, max_len)
        self.p = dropout

    def forward(self, ids):
        if ids.size(1) > self.position.pe.size(-2):
            raise ValueError("max_len")
        x = self.token(ids)
        x = x + self.position.pe[: ids.size(1)]
        return F.dropout(x, self.p, self.training)

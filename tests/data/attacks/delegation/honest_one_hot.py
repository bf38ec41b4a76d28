# Looks up by a product with one-hot rows, which only another exercise forbids.
# exercise: embedding
# expect: full marks
import math

import torch
import torch.nn.functional as F
from torch import nn

from exercises.positional import PositionalEncoding


class Embedding(nn.Module):
    def __init__(self, num_embeddings, embedding_dim, padding_idx=None):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(num_embeddings, embedding_dim))
        self.padding_idx = padding_idx
        if padding_idx is not None:
            with torch.no_grad():
                self.weight[padding_idx] = 0

    def forward(self, ids):
        if ids.numel() and not 0 <= int(ids.min()) <= int(ids.max()) < len(self.weight):
            raise IndexError("an id is outside of the table")
        rows = F.one_hot(ids, len(self.weight)).to(self.weight.dtype)
        if self.padding_idx is None:
            return rows @ self.weight
        kept = (torch.arange(len(self.weight)) != self.padding_idx)[:, None]
        return rows @ torch.where(kept, self.weight, self.weight.detach())


class TokenEmbedding(nn.Module):
    def __init__(self, vocab_size, d_model, padding_idx=None):
        super().__init__()
        self.embedding = Embedding(vocab_size, d_model, padding_idx)
        self.d_model = d_model

    def forward(self, ids):
        return self.embedding(ids) * math.sqrt(self.d_model)


class TransformerEmbedding(nn.Module):
    def __init__(self, vocab_size, d_model, dropout=0.1, max_len=5000, padding_idx=None):
        super().__init__()
        self.token = TokenEmbedding(vocab_size, d_model, padding_idx)
        self.position = PositionalEncoding(d_model, dropout, max_len)

    def forward(self, ids):
        return self.position(self.token(ids))

"""One-hot vectors times the table; everything of positional written anew; AssertionError."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Embedding(nn.Module):
    def __init__(self, num_embeddings, embedding_dim, padding_idx=None):
        super().__init__()
        self.num_embeddings = num_embeddings
        self.padding_idx = padding_idx
        self.weight = nn.Parameter(torch.empty(num_embeddings, embedding_dim))
        nn.init.normal_(self.weight)
        if padding_idx is not None:
            with torch.no_grad():
                self.weight[padding_idx].zero_()

    def forward(self, ids):
        assert ids.numel() == 0 or (ids.min() >= 0 and ids.max() < self.num_embeddings), "bad id"
        one_hot = F.one_hot(ids, self.num_embeddings).to(self.weight.dtype)
        table = self.weight
        if self.padding_idx is not None:
            frozen = torch.zeros(self.num_embeddings, 1, dtype=torch.bool, device=table.device)
            frozen[self.padding_idx] = True
            table = torch.where(frozen, table.detach(), table)
        return one_hot @ table


class TokenEmbedding(nn.Module):
    def __init__(self, vocab_size, d_model, padding_idx=None):
        super().__init__()
        self.embedding = Embedding(vocab_size, d_model, padding_idx=padding_idx)
        self.scale = d_model**0.5

    def forward(self, ids):
        return self.scale * self.embedding(ids)


class Positions(nn.Module):
    def __init__(self, d_model, dropout, max_len):
        super().__init__()
        pos = torch.arange(max_len).unsqueeze(1)
        i = torch.arange(d_model)
        angle = pos / 10000 ** ((i - i % 2) / d_model)
        table = torch.where(i % 2 == 0, angle.sin(), angle.cos())
        self.register_buffer("pe", table, persistent=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        if x.size(1) > self.pe.size(0):
            raise ValueError("too long")
        return self.dropout(x + self.pe[: x.size(1)])


class TransformerEmbedding(nn.Module):
    def __init__(self, vocab_size, d_model, dropout=0.1, max_len=5000, padding_idx=None):
        super().__init__()
        self.token = TokenEmbedding(vocab_size, d_model, padding_idx)
        self.position = Positions(d_model, dropout, max_len)

    def forward(self, ids):
        return self.position(self.token(ids))

"""A loop over the batch, torch.stack; the table frozen row by row; a reset_parameters method."""

import torch
from torch import nn

from exercises.positional import PositionalEncoding


class Embedding(nn.Module):
    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, device=None, dtype=None):
        super().__init__()
        self.padding_idx = padding_idx
        self.weight = nn.Parameter(
            torch.empty((num_embeddings, embedding_dim), device=device, dtype=dtype)
        )
        self.reset_parameters()

    def reset_parameters(self):
        self.weight.data.normal_(0, 1)
        if self.padding_idx is not None:
            self.weight.data[self.padding_idx] = 0

    def table(self):
        if self.padding_idx is None:
            return self.weight
        k = self.padding_idx
        return torch.cat([self.weight[:k], self.weight[k : k + 1].detach(), self.weight[k + 1 :]])

    def forward(self, ids):
        table = self.table()
        rows = []
        for sentence in ids:
            row = []
            for i in sentence.tolist():
                if i not in range(len(table)):
                    raise IndexError(i)
                row.append(table[i])
            rows.append(torch.stack(row))
        return torch.stack(rows)

    def extra_repr(self):
        return f"{tuple(self.weight.shape)}, padding_idx={self.padding_idx}"


class TokenEmbedding(nn.Module):
    def __init__(self, vocab_size, d_model, padding_idx=None):
        super().__init__()
        self.add_module("embedding", Embedding(vocab_size, d_model, padding_idx))

    def forward(self, ids):
        d_model = self.embedding.weight.shape[1]
        return self.embedding(ids) * d_model ** (1 / 2)


class TransformerEmbedding(nn.Module):
    def __init__(self, vocab_size, d_model, dropout=0.1, max_len=5000, padding_idx=None):
        super().__init__()
        parts = nn.ModuleDict(
            {
                "token": TokenEmbedding(vocab_size, d_model, padding_idx),
                "position": PositionalEncoding(d_model, dropout, max_len),
            }
        )
        self.token, self.position = parts["token"], parts["position"]
        self.parts = parts

    def __call__(self, ids, *args, **kwargs):
        return super().__call__(ids, *args, **kwargs)

    def forward(self, ids):
        for part in self.parts.values():
            ids = part(ids)
        return ids

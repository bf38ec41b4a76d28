"""A lookup with a backward of its own (index_add_), old-style super, no annotations."""

import numpy as np
import torch
import torch.nn as nn

from exercises.positional import PositionalEncoding


class Lookup(torch.autograd.Function):
    @staticmethod
    def forward(ctx, ids, weight, padding_idx):
        ctx.save_for_backward(ids)
        ctx.size, ctx.padding_idx = weight.size(), padding_idx
        return weight[ids]

    @staticmethod
    def backward(ctx, grad):
        (ids,) = ctx.saved_tensors
        out = grad.new_zeros(ctx.size)
        out.index_add_(0, ids.reshape(-1), grad.reshape(-1, ctx.size[1]))
        if ctx.padding_idx is not None:
            out[ctx.padding_idx] = 0
        return None, out, None


class Embedding(nn.Module):
    def __init__(self, num_embeddings, embedding_dim, padding_idx=None):
        super(Embedding, self).__init__()
        table = np.random.standard_normal((num_embeddings, embedding_dim)).astype("float32")
        if padding_idx is not None:
            table[padding_idx] = 0
        self.weight = nn.Parameter(torch.from_numpy(table))
        self.padding_idx = padding_idx

    def forward(self, ids):
        if (ids < 0).any().item() or (ids > self.weight.shape[0] - 1).any().item():
            raise IndexError("no such id")
        return Lookup.apply(ids, self.weight, self.padding_idx)


class TokenEmbedding(nn.Module):
    def __init__(self, vocab_size, d_model, padding_idx=None):
        super(TokenEmbedding, self).__init__()
        self.embedding = Embedding(vocab_size, d_model, padding_idx)
        self.factor = np.sqrt(d_model).item()

    def forward(self, ids):
        return self.embedding(ids).mul(self.factor)


class TransformerEmbedding(nn.Module):
    def __init__(self, vocab_size, d_model, dropout=0.1, max_len=5000, padding_idx=None):
        super(TransformerEmbedding, self).__init__()
        self.token = TokenEmbedding(vocab_size, d_model, padding_idx)
        self.position = PositionalEncoding(d_model, dropout, max_len)

    def forward(self, ids):
        tok = self.token(ids)
        return self.position(tok)

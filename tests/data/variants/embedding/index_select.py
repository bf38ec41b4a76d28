"""index_select on flat ids; the frozen row as a part of the table that is put in; ValueError."""

import math
from typing import Optional

import torch
from torch import Tensor, nn

from exercises.positional import PositionalEncoding


class Embedding(nn.Module):
    weight: Tensor

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: Optional[int] = None):
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = padding_idx
        self.weight = nn.Parameter(torch.randn((num_embeddings, embedding_dim)))
        self._clear_padding()

    @torch.no_grad()
    def _clear_padding(self) -> None:
        if self.padding_idx is not None:
            self.weight[self.padding_idx].fill_(0)

    def forward(self, ids: Tensor) -> Tensor:
        for wrong in (ids.lt(0), ids.ge(self.num_embeddings)):
            if bool(wrong.any()):
                raise ValueError(f"ids must be in [0, {self.num_embeddings})")
        vectors = torch.index_select(self.weight, 0, ids.reshape(-1))
        vectors = vectors.view(*ids.shape, self.embedding_dim)
        if self.padding_idx is None:
            return vectors
        learns = ids.ne(self.padding_idx).unsqueeze(-1).to(vectors.dtype)
        return vectors * learns + (vectors * (1 - learns)).detach()


class TokenEmbedding(nn.Module):
    def __init__(self, vocab_size: int, d_model: int, padding_idx: Optional[int] = None):
        super().__init__()
        self.embedding = Embedding(vocab_size, d_model, padding_idx)

    def forward(self, ids: Tensor) -> Tensor:
        out = self.embedding(ids)
        return out * math.sqrt(out.shape[-1])


class TransformerEmbedding(nn.Module):
    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        dropout: float = 0.1,
        max_len: int = 5000,
        padding_idx: Optional[int] = None,
    ):
        super().__init__()
        self.token = TokenEmbedding(vocab_size, d_model, padding_idx)
        self.position = PositionalEncoding(d_model, dropout=dropout, max_len=max_len)
        self.model = nn.Sequential(self.token, self.position)

    def forward(self, ids: Tensor) -> Tensor:
        return self.model(ids)

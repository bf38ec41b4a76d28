"""torch.gather on an expanded table; one class inherits from the other; French comments."""

import torch
from einops import repeat
from torch import nn

from exercises.positional import PositionalEncoding


class Embedding(nn.Module):
    def __init__(self, num_embeddings, embedding_dim, padding_idx=None):
        super().__init__()
        # la table: une ligne par mot
        poids = torch.normal(mean=0.0, std=1.0, size=(num_embeddings, embedding_dim))
        if padding_idx is not None:
            poids = poids.index_fill(0, torch.tensor([padding_idx]), 0.0)
        self.weight = nn.parameter.Parameter(poids, requires_grad=True)
        self.padding_idx = padding_idx

    def _verifier(self, ids):
        permis = (0 <= ids) & (ids < self.weight.size(0))
        if not permis.all():
            raise IndexError(f"identifiants interdits: {ids[~permis].tolist()}")

    def forward(self, ids):
        self._verifier(ids)
        plat = repeat(ids, "b n -> (b n) d", d=self.weight.size(1))
        lignes = torch.gather(self.weight, 0, plat).unflatten(0, tuple(ids.shape))
        if self.padding_idx is not None:
            # le remplissage n'apprend rien
            masque = ids.eq(self.padding_idx)[:, :, None]
            lignes = lignes.masked_fill(masque, 0.0) + lignes.detach() * masque
        return lignes


class TokenEmbedding(nn.Module):
    def __init__(self, vocab_size, d_model, padding_idx=None):
        super().__init__()
        self.d_model = d_model
        self.embedding = Embedding(vocab_size, d_model, padding_idx)

    def forward(self, ids):
        return self.embedding(ids) * torch.tensor(float(self.d_model)).sqrt()


class TransformerEmbedding(nn.Module):
    def __init__(self, vocab_size, d_model, dropout=0.1, max_len=5000, padding_idx=None):
        super().__init__()
        self.position = PositionalEncoding(d_model=d_model, max_len=max_len, dropout=dropout)
        self.token = TokenEmbedding(vocab_size=vocab_size, d_model=d_model, padding_idx=padding_idx)

    def forward(self, ids):
        return self.position.forward(self.token.forward(ids))

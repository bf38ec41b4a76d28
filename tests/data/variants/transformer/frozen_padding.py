"""Freezes the padding rows, makes its masks itself and hides padded memory a second time."""

import torch
from torch import nn

from exercises.decoder import Decoder
from exercises.embedding import TransformerEmbedding
from exercises.encoder import Encoder


class Transformer(nn.Module):
    def __init__(
        self,
        src_vocab_size,
        tgt_vocab_size,
        d_model=512,
        n_heads=8,
        num_layers=6,
        d_ff=2048,
        dropout=0.1,
        max_len=5000,
        pad_id=0,
        activation="relu",
        norm_first=False,
    ):
        super().__init__()
        self.pad_id = pad_id
        embedding = {"dropout": dropout, "max_len": max_len, "padding_idx": pad_id}
        self.src_embedding = TransformerEmbedding(src_vocab_size, d_model, **embedding)
        self.tgt_embedding = TransformerEmbedding(tgt_vocab_size, d_model, **embedding)
        options = (num_layers, d_model, n_heads, d_ff, dropout, activation, norm_first)
        self.encoder = Encoder(*options)
        self.decoder = Decoder(*options)
        self.generator = nn.Linear(in_features=d_model, out_features=tgt_vocab_size)

    def source_mask(self, src):
        return src.ne(self.pad_id)[:, None, None]

    def future(self, length, device):
        return torch.triu(torch.ones(length, length, device=device), diagonal=1) == 0

    def encode(self, src):
        memory = self.encoder(self.src_embedding(src), self.source_mask(src))
        return memory * src.ne(self.pad_id).unsqueeze(-1)

    def decode(self, tgt, memory, src):
        own = tgt.ne(self.pad_id).unsqueeze(1).unsqueeze(2) & self.future(tgt.shape[1], tgt.device)
        return self.decoder(
            x=self.tgt_embedding(tgt), memory=memory, tgt_mask=own, memory_mask=self.source_mask(src)
        )

    def forward(self, src, tgt):
        memory = self.encode(src)
        hidden = self.decode(tgt, memory, src)
        return self.generator(hidden)

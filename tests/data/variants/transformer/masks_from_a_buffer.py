"""Keeps a causal triangle of max_len as a buffer and compares with arange for the padding."""

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
        assert d_model % n_heads == 0
        self.pad_id = pad_id
        for side, size in (("src", src_vocab_size), ("tgt", tgt_vocab_size)):
            setattr(self, f"{side}_embedding", TransformerEmbedding(size, d_model, dropout, max_len))
        options = (num_layers, d_model, n_heads, d_ff, dropout, activation, norm_first)
        self.encoder = Encoder(*options)
        self.decoder = Decoder(*options)
        self.generator = nn.Linear(d_model, tgt_vocab_size)
        steps = torch.arange(max_len)
        self.register_buffer("past", steps[None, :] <= steps[:, None], persistent=False)

    def encode(self, src):
        visible = (src - self.pad_id).abs() > 0
        return self.encoder(self.src_embedding(src), visible.view(src.size(0), 1, 1, -1))

    def decode(self, tgt, memory, src):
        n = tgt.size(1)
        mask = self.past[:n, :n].logical_and((tgt != self.pad_id).view(-1, 1, 1, n))
        source = (src != self.pad_id).view(-1, 1, 1, src.size(1))
        return self.decoder(self.tgt_embedding(tgt), memory, mask, source)

    def forward(self, src, tgt):
        return self.generator(self.decode(tgt, self.encode(src), src))

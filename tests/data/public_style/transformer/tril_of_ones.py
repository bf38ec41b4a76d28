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
        sizes = (num_layers, d_model, n_heads, d_ff, dropout, activation, norm_first)
        self.src_embedding = TransformerEmbedding(src_vocab_size, d_model, dropout, max_len)
        self.tgt_embedding = TransformerEmbedding(tgt_vocab_size, d_model, dropout, max_len)
        self.encoder = Encoder(*sizes)
        self.decoder = Decoder(*sizes)
        self.generator = nn.Linear(d_model, tgt_vocab_size)

    def src_mask(self, src):
        return (src != self.pad_id)[:, None, None, :]

    def encode(self, src):
        return self.encoder(self.src_embedding(src), self.src_mask(src))

    def decode(self, tgt, memory, src):
        nopeak = torch.tril(torch.ones(1, tgt.size(1), tgt.size(1)))
        mask = (tgt != self.pad_id).unsqueeze(1).unsqueeze(3) & nopeak
        return self.decoder(self.tgt_embedding(tgt), memory, mask, self.src_mask(src))

    def forward(self, src, tgt):
        return self.generator(self.decode(tgt, self.encode(src), src))

"""forward does not call encode and decode: it goes through the layers itself. Parts have two names."""

from torch import nn

from exercises.decoder import Decoder
from exercises.embedding import TransformerEmbedding
from exercises.encoder import Encoder
from exercises.masks import padding_mask, target_mask


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
        super(Transformer, self).__init__()
        self.pad_id = pad_id
        options = (num_layers, d_model, n_heads, d_ff, dropout, activation, norm_first)
        self.encoder = Encoder(*options)
        self.decoder = Decoder(*options)
        self.both = nn.ModuleDict(
            {
                "src": TransformerEmbedding(src_vocab_size, d_model, dropout, max_len),
                "tgt": TransformerEmbedding(tgt_vocab_size, d_model, dropout, max_len),
            }
        )
        self.src_embedding, self.tgt_embedding = self.both["src"], self.both["tgt"]
        self.generator = nn.Linear(d_model, tgt_vocab_size)
        self.last = nn.Sequential(self.generator)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)

    def encode(self, src):
        x, mask = self.both["src"](src), padding_mask(src, self.pad_id)
        for layer in self.encoder.layers:
            x = layer(x, mask)
        return self.encoder.norm(x) if self.encoder.norm is not None else x

    def decode(self, tgt, memory, src):
        x = self.both["tgt"](tgt)
        for layer in self.decoder.layers:
            x = layer(x, memory, target_mask(tgt, self.pad_id), padding_mask(src, self.pad_id))
        return self.decoder.norm(x) if self.decoder.norm is not None else x

    def forward(self, src, tgt):
        memory, y = self.both["src"](src), self.both["tgt"](tgt)
        src_mask, tgt_mask = padding_mask(src, self.pad_id), target_mask(tgt, self.pad_id)
        memory = self.encoder(memory, src_mask)
        y = self.decoder(y, memory, tgt_mask, src_mask)
        self.memory = memory
        return self.last(y)

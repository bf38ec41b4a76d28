"""A model that checks hand to a student's code in the place of a `Transformer`."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Translator(nn.Module):
    """A causal model from ids to ids that offers what a `Transformer` offers, in few numbers.

    A token of the target sees itself and all before it, each the fainter the further back, its
    place, and the mean of the memory at words of the source. Everything is linear but one tanh, so
    that it is quick, and any wrong token, place, row or memory shows in the logits.
    """

    def __init__(
        self,
        src_vocab_size: int,
        tgt_vocab_size: int,
        d_model: int,
        max_len: int,
        pad_id: int = 0,
    ) -> None:
        """Make the parameters `source`, `target`, `place`, and the generator's."""
        super().__init__()
        self.source = nn.Parameter(torch.randn(src_vocab_size, d_model))
        self.target = nn.Parameter(torch.randn(tgt_vocab_size, d_model))
        self.place = nn.Parameter(torch.randn(max_len, d_model))
        self.generator = nn.Linear(in_features=d_model, out_features=tgt_vocab_size)
        self.pad_id = pad_id

    def encode(self, src: Tensor) -> Tensor:
        """Return the memory, (B, Ls, d_model)."""
        return self.source[src]

    def decode(self, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        """(B, Lt, d_model)."""
        words = (src != self.pad_id).unsqueeze(-1).to(memory.dtype)
        heard = (memory * words).sum(1, keepdim=True) / words.sum(1, keepdim=True)
        steps = torch.arange(tgt.size(1), device=tgt.device)
        distance = steps[:, None] - steps
        fainter = (0.5 ** distance.clamp(min=0)).to(memory.dtype) * (distance >= 0)
        return torch.tanh(fainter @ self.target[tgt] + self.place[: tgt.size(1)] + heard)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Return logits (B, Lt, tgt_vocab_size)."""
        logits: Tensor = self.generator(self.decode(tgt, self.encode(src), src))
        return logits

"""A model of a few words, small enough that a search with it can be followed by eye."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

WORDS = ("<pad>", "<start>", "<end>", "the", "a", "cat", "dog", "sat")
PAD, START, END = range(3)
# What follows a word, and how probably. Appending the likeliest word each time misses the best.
NEXT: Mapping[str, Mapping[str, float]] = {
    "<start>": {"the": 0.5, "a": 0.4, "cat": 0.06, "dog": 0.04},
    "the": {"cat": 0.4, "dog": 0.35, "<end>": 0.25},
    "a": {"dog": 0.9, "cat": 0.1},
    "cat": {"sat": 0.6, "<end>": 0.4},
    "dog": {"<end>": 0.7, "sat": 0.3},
    "sat": {"<end>": 1.0},
}
_NEVER = 1e-9


class Bigrams(nn.Module):
    """A model that predicts from the last word only, with what `decoding` needs of a Transformer.

    Its first three words are padding, start and end.
    """

    pad_id = PAD

    def __init__(
        self, words: Sequence[str] = WORDS, following: Mapping[str, Mapping[str, float]] = NEXT
    ) -> None:
        super().__init__()
        table = [[following.get(a, {}).get(b, _NEVER) for b in words] for a in words]
        self.logs = torch.tensor(table).log()
        self.eval()

    def encode(self, src: Tensor) -> Tensor:
        """Return zeros, `(B, L, 1)`: nothing is read."""
        return torch.zeros(*src.shape, 1)

    def decode(self, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        """Return the words themselves, one-hot, `(B, Lt, words)`."""
        del memory, src
        return torch.eye(len(self.logs))[tgt]

    def generator(self, features: Tensor) -> Tensor:
        """Return the logarithm of every next word's probability."""
        return features @ self.logs

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Return the logits of every next word."""
        memory = self.encode(src)
        return self.generator(self.decode(tgt, memory, src))

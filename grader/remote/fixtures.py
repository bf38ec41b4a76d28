"""The modules that checks hand to a student's functions.

A check names one of them in a request, and it is made beside the student's code, where weights can
be put in and looked at afterwards, as with any module there. None knows what is expected.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from grader.remote import conditions


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
        """Makes the parameters `source`, `target`, `place`, and the generator's."""
        super().__init__()
        self.source = nn.Parameter(torch.randn(src_vocab_size, d_model))
        self.target = nn.Parameter(torch.randn(tgt_vocab_size, d_model))
        self.place = nn.Parameter(torch.randn(max_len, d_model))
        self.generator = nn.Linear(in_features=d_model, out_features=tgt_vocab_size)
        self.pad_id = pad_id

    def encode(self, src: Tensor) -> Tensor:
        """The memory, (B, Ls, d_model)."""
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
        """Logits (B, Lt, tgt_vocab_size)."""
        logits: Tensor = self.generator(self.decode(tgt, self.encode(src), src))
        return logits


class Table(nn.Module):
    """An embedding."""

    def __init__(self, vocab_size: int, d_model: int) -> None:
        """Makes the parameter `weight`, as torch's embedding does."""
        super().__init__()
        self.weight = nn.Parameter(torch.randn(vocab_size, d_model))


class Norm(nn.Module):
    """The scale and shift of a norm."""

    def __init__(self, d_model: int) -> None:
        """Makes the parameters `weight` and `bias`, as torch's norms do."""
        super().__init__()
        self.register_parameter("weight", nn.Parameter(torch.ones(d_model)))
        self.register_parameter("bias", nn.Parameter(torch.zeros(d_model)))


class Assortment(nn.Module):
    """Parameters of every sort: matrices in layers and by themselves, vectors, numbers, shared.

    `generator.weight` is `embedding.weight`. `frozen` takes no gradient. `table` is a buffer.
    Embedding and norm are none of torch's, which other exercises forbid in the same process.
    """

    table: Tensor

    def __init__(self, d_model: int, d_ff: int, vocab_size: int) -> None:
        """Makes the parts, with torch's own numbers in them."""
        super().__init__()
        self.embedding = Table(vocab_size, d_model)
        self.linear = nn.Linear(d_model, d_ff)
        self.layers = nn.ModuleList(nn.Linear(d_ff, d_ff, bias=False) for _ in range(2))
        self.convolution = nn.Conv1d(d_ff, d_model, kernel_size=3)
        self.norm = Norm(d_model)
        self.scores = nn.Parameter(torch.randn(d_ff, d_model))
        self.frozen = nn.Parameter(torch.randn(d_model, d_ff), requires_grad=False)
        self.scale = nn.Parameter(torch.tensor(3.0))
        self.generator = nn.Linear(d_model, vocab_size)
        self.generator.weight = self.embedding.weight
        self.register_buffer("table", torch.randn(d_model, d_ff))
        # In a tuple, so that they are registered once, under the names above.
        self._made = tuple(self.parameters())

    @property
    def same_objects(self) -> bool:
        """Whether its parameters are the objects that were made with it."""
        now = tuple(self.parameters())
        return len(now) == len(self._made) and all(map(_is, now, self._made))


def _is(left: object, right: object) -> bool:
    return left is right


class _Maker(Protocol):
    def __call__(self, *args: Any, **kwargs: Any) -> nn.Module: ...


_KINDS: Mapping[str, _Maker] = {
    "TransformerEncoderLayer": nn.TransformerEncoderLayer,
    "Translator": Translator,
    "Assortment": Assortment,
}


def make(kind: str, *args: Any, **kwargs: Any) -> nn.Module:
    """A module of this kind, in training mode, as torch makes it."""
    module = _KINDS[kind](*args, **kwargs)
    conditions.given.update(module.modules())
    return module

"""The cases of the `language_model` checks: ids, weights, and what torch makes of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Any

import torch
import torch.nn.functional as F
from hypothesis import strategies as st
from torch import Tensor

from grader.checks.framework.assertions import pull_back
from grader.checks.framework.inputs import Numbers, inputs
from grader.checks.grouped_query_cases import Weights, grouped_attention
from grader.checks.rope import angles_by_formula
from grader.checks.stack_cases import tracked_weights
from grader.checks.stack_parts import below
from grader.feedback.comparison import assert_shape
from grader.remote.proxy import RemoteModule

AXES = ("batch", "token", "d_model")
LOGITS = ("batch", "token", "vocabulary")
EMBEDDING, HEAD = "embedding.weight", "lm_head.weight"


@dataclass(frozen=True, repr=False)
class ModelCase:
    """Sizes, options and numbers of one model, and ids for it.

    `pieces` are the lengths in which the tokens come, when they come through caches.
    """

    batch: int
    vocab: int
    n_kv_heads: int
    group: int
    d_head: int
    d_ff: int
    pieces: tuple[int, ...]
    numbers: Numbers
    num_layers: int
    base: float = 10000.0
    eps: float = 1e-6
    dtype: torch.dtype = torch.float64
    tied: bool = False

    @cached_property
    def narrow(self) -> ModelCase:
        """The same in float32."""
        return replace(self, dtype=torch.float32)

    @property
    def n_heads(self) -> int:
        """Query heads."""
        return self.n_kv_heads * self.group

    @property
    def d_model(self) -> int:
        """Features of a token."""
        return self.n_heads * self.d_head

    @property
    def length(self) -> int:
        """Tokens in all."""
        return sum(self.pieces)

    @cached_property
    def ids(self) -> Tensor:
        """Tokens. (batch, length)"""
        return self.numbers.ids("ids", self.batch, self.length, high=self.vocab)

    def with_other(self, position: int) -> Tensor:
        """The ids with another token at this position. (batch, length)"""
        ids = self.ids.clone()
        ids[:, position] = (ids[:, position] + 1) % self.vocab
        return ids

    @cached_property
    def x(self) -> Tensor:
        """Tokens for a block by itself. (batch, length, d_model)"""
        return self.numbers.normal("x", self.batch, self.length, self.d_model, dtype=self.dtype)

    @cached_property
    def angles(self) -> Tensor:
        """Angles for a block by itself, of no positions. (length, d_head // 2)"""
        return self.numbers.normal("angles", self.length, self.d_head // 2).clamp(-3, 3)

    @cached_property
    def causal(self) -> Tensor:
        """The causal mask. (length, length)"""
        return torch.ones(self.length, self.length, dtype=torch.bool).tril()

    @cached_property
    def block_shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of a block's parameters, by name."""
        wide, narrow = self.d_model, self.n_kv_heads * self.d_head
        return {
            "attn_norm.weight": (wide,),
            "attn.q_proj.weight": (wide, wide),
            "attn.k_proj.weight": (narrow, wide),
            "attn.v_proj.weight": (narrow, wide),
            "attn.out_proj.weight": (wide, wide),
            "ffn_norm.weight": (wide,),
            "ffn.gate_proj.weight": (self.d_ff, wide),
            "ffn.up_proj.weight": (self.d_ff, wide),
            "ffn.down_proj.weight": (wide, self.d_ff),
        }

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the model's parameters, by name."""
        blocks = {
            f"blocks.{number}.{name}": shape
            for number in range(self.num_layers)
            for name, shape in self.block_shapes.items()
        }
        table = (self.vocab, self.d_model)
        return {EMBEDDING: table, **blocks, "norm.weight": (self.d_model,), HEAD: table}

    @cached_property
    def block_weights(self) -> Weights:
        """Random weights of a block by itself."""
        return self._drawn("block", self.block_shapes)

    @cached_property
    def weights(self) -> Weights:
        """Random weights of the model."""
        weights = self._drawn("model", self.shapes)
        # So small that the norms' eps counts for a token in two.
        weights[EMBEDDING][::2] *= 1e-3
        if self.tied:
            weights[HEAD] = weights[EMBEDDING]
        return weights

    def _drawn(self, purpose: str, shapes: dict[str, tuple[int, ...]]) -> Weights:
        drawn = {}
        for name, shape in shapes.items():
            scale = 1.0 if name == EMBEDDING else 1.4 / math.sqrt(shape[-1])
            numbers = self.numbers.normal(f"{purpose} {name}", *shape, dtype=self.dtype)
            drawn[name] = numbers * scale if len(shape) > 1 else 1 + 0.3 * numbers
        return drawn

    def block(
        self, x: Tensor, weights: Weights, angles: Tensor | None, mask: Tensor | None
    ) -> Tensor:
        """What a block makes of x, by torch's functions in float64."""
        heard = self._norm(x, weights["attn_norm.weight"])
        x = x + grouped_attention(heard, below(weights, "attn."), self.d_head, angles, mask)
        heard = self._norm(x, weights["ffn_norm.weight"])
        gate, up, down = (weights[f"ffn.{name}_proj.weight"].double() for name in _MAPS)
        return x + F.linear(F.silu(F.linear(heard, gate)) * F.linear(heard, up), down)

    def _norm(self, x: Tensor, weight: Tensor) -> Tensor:
        return F.rms_norm(x, x.shape[-1:], weight.double(), self.eps)

    def forward(self, weights: Weights, ids: Tensor | None = None) -> Tensor:
        """The logits, by torch's functions in float64. (batch, token, vocab)"""
        ids = self.ids if ids is None else ids
        length = ids.size(1)
        angles = angles_by_formula(self.d_head, length, self.base)
        mask = torch.ones(length, length, dtype=torch.bool).tril()
        x = F.embedding(ids, weights[EMBEDDING].double())
        for number in range(self.num_layers):
            x = self.block(x, below(weights, f"blocks.{number}."), angles, mask)
        return F.linear(self._norm(x, weights["norm.weight"]), weights[HEAD].double())

    @cached_property
    def logits(self) -> Tensor:
        """What the model should return for all ids at once."""
        return self.forward(self.weights)

    @cached_property
    def cotangent(self) -> Tensor:
        """A random weight for every logit, to pull gradients back from."""
        return self.numbers.normal("cotangent", *self.ids.shape, self.vocab)

    @cached_property
    def gradients(self) -> list[Tensor]:
        """Torch's gradients of all weights; with tied weights, that of both uses."""
        leaves = tracked_weights({name: value.double() for name, value in self.weights.items()})
        if self.tied:
            leaves[HEAD] = leaves[EMBEDDING]
        return list(pull_back(self.forward(leaves), list(leaves.values()), self.cotangent))

    def new_model(self, student: Any, **options: Any) -> RemoteModule:
        """The student's model as their code makes it."""
        sizes = (self.vocab, self.d_model, self.n_heads, self.n_kv_heads)
        made: RemoteModule = student.LanguageModel(*sizes, self.num_layers, self.d_ff, **options)
        return made

    def model(self, student: Any, **options: Any) -> RemoteModule:
        """The student's model with the case's weights, in evaluation mode."""
        made = self.new_model(student, **options).to(self.dtype)
        return made.load(self.weights, strict=False).eval()

    def caches(self, student: Any) -> list[RemoteModule]:
        """Empty caches, the reference's, one for each block."""
        return [student.needed("kv_cache", "KVCache") for _ in range(self.num_layers)]

    def in_pieces(
        self, model: RemoteModule, caches: list[RemoteModule], ids: Tensor, pieces: Sequence[int]
    ) -> list[Any]:
        """What the model returns for each piece, through these caches."""
        ends = accumulate(pieces)
        return [
            model(ids[:, end - length : end], caches)
            for length, end in zip(pieces, ends, strict=True)
        ]

    def assert_logits(self, actual: Any, length: int, subject: str = "logits") -> None:
        """They are of the right shape for so many tokens."""
        sizes = (self.batch, length, self.vocab)
        assert_shape(actual, dict(zip(LOGITS, sizes, strict=True)), subject)


_MAPS = ("gate", "up", "down")


@inputs
def cases(draw: st.DrawFn, numbers: Numbers, num_layers: int = 2) -> ModelCase:
    """Models of two key/value heads and groups of two or three, all sizes different."""
    n_kv_heads, group = draw(st.sampled_from([(2, 3), (3, 2)]))
    batch, vocab, d_ff = draw(st.sampled_from([(4, 11, 9), (5, 13, 10), (4, 14, 7)]))
    first, last = draw(st.sampled_from([(4, 2), (5, 2), (3, 2)]))
    return ModelCase(
        batch, vocab, n_kv_heads, group, 4, d_ff, (first, 1, last), numbers, num_layers
    )

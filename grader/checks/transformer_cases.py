"""The cases of the `transformer` checks: ids, weights, and the outputs of torch's layers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch
import torch.nn.functional as F
from hypothesis import strategies as st
from torch import Tensor

from grader.checks.framework.assertions import pull_back
from grader.checks.framework.inputs import Numbers, inputs
from grader.checks.positional import waves
from grader.checks.stack_cases import Oracle, layer_norm, sizes, tracked_weights
from grader.checks.stack_extremes import with_large_scores
from grader.checks.stack_parts import (
    DECODER,
    ENCODER,
    Sizes,
    Weights,
    below,
    draw_weights,
    stack_shapes,
)
from grader.remote.proxy import RemoteModule, RemoteParameter

SRC = "src_embedding.token.embedding.weight"
TGT = "tgt_embedding.token.embedding.weight"
GENERATOR = "generator.weight"
TIEABLE = (SRC, TGT, GENERATOR)
MAX_LEN = 12
Ties = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class TransformerCase:
    """Sizes, options and numbers of one example.

    `ties` are the names of parameters that are one tensor in the model under test.
    """

    sizes: Sizes
    src_vocab: int
    tgt_vocab: int
    pad_id: int
    numbers: Numbers
    num_layers: int
    norm_first: bool
    activation: str
    dtype: torch.dtype = torch.float64
    large_scores: bool = False
    offset: float = 0.0
    ties: Ties = ()
    tied: dict[Ties, TransformerCase] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def narrow(self) -> TransformerCase:
        """Return the same case in float32."""
        return replace(self, dtype=torch.float32, tied={})

    @property
    def source_length(self) -> int:
        """Return the number of tokens in the first source, before its padding."""
        return self.sizes.source - 1

    def words(self, name: str, length: int, vocab: int) -> Tensor:
        """Return random ids, none of them padding or 0. (batch, length)"""
        ids = self.numbers.ids(name, self.sizes.batch, length, low=1, high=vocab - 1)
        return ids + (ids >= self.pad_id)

    @cached_property
    def with_special_ids(self) -> TransformerCase:
        """Return the same case with ids that some code treats as padding: 0, 1 and the last."""
        case = replace(self, tied={})
        for ids, vocab in ((case.src, self.src_vocab), (case.tgt, self.tgt_vocab)):
            ids[0, 0], ids[0, 1] = 0, vocab - 1 - (self.pad_id == vocab - 1)
            ids[1, 0] = 2 if self.pad_id == 1 else 1
        return case

    @cached_property
    def src(self) -> Tensor:
        """Return a source without padding. (batch, source)"""
        return self.words("src", self.sizes.source, self.src_vocab)

    @cached_property
    def tgt(self) -> Tensor:
        """Return a target without padding. (batch, target)"""
        return self.words("tgt", self.sizes.length, self.tgt_vocab)

    @cached_property
    def other_src(self) -> Tensor:
        """Return tokens that all differ from those of `src`. (batch, source)"""
        return self._others(self.src, self.src_vocab)

    @cached_property
    def other_tgt(self) -> Tensor:
        """Return tokens that all differ from those of `tgt`. (batch, target)"""
        return self._others(self.tgt, self.tgt_vocab)

    def _others(self, ids: Tensor, vocab: int) -> Tensor:
        words = torch.tensor([word for word in range(1, vocab) if word != self.pad_id])
        position = (ids.unsqueeze(-1) == words).int().argmax(-1)
        return words.roll(-1)[position]

    @cached_property
    def padded_src(self) -> Tensor:
        """Return a source with padding at the end of the first row, in the middle of all others."""
        padded = self.src.clone()
        padded[0, -1] = self.pad_id
        padded[1:, 1] = self.pad_id
        return padded

    @cached_property
    def padded_tgt(self) -> Tensor:
        """Return a target with padding in the middle of the first row, at the start of others."""
        padded = self.tgt.clone()
        padded[0, 1] = self.pad_id
        padded[1:, 0] = self.pad_id
        return padded

    @cached_property
    def memory(self) -> Tensor:
        """Return a random memory. (batch, source, d_model)"""
        return self.noise(self.sizes.batch, self.sizes.source, self.sizes.d_model)

    def noise(self, *shape: int) -> Tensor:
        """Return random numbers in the case's dtype."""
        return self.numbers.normal("noise", *shape, dtype=self.dtype)

    @cached_property
    def weights(self) -> Weights:
        """Return random weights by name, the same for those that are tied."""
        wide, first = self.sizes.d_model, self.norm_first
        shapes: dict[str, tuple[int, ...]] = {
            SRC: (self.src_vocab, wide),
            TGT: (self.tgt_vocab, wide),
            **stack_shapes(ENCODER, self.sizes, first, "encoder.", self.num_layers),
            **stack_shapes(DECODER, self.sizes, first, "decoder.", self.num_layers),
            GENERATOR: (self.tgt_vocab, wide),
            "generator.bias": (self.tgt_vocab,),
        }
        weights = draw_weights(self.numbers, "weights", shapes)
        weights[SRC] += self.offset / math.sqrt(wide)
        # A padding row is often kept at zero, so zero it is.
        for name in (SRC, TGT):
            weights[name][self.pad_id] = 0.0
        for names in self.ties:
            weights |= dict.fromkeys(names, weights[names[0]])
        if self.large_scores:
            weights = self._loud(weights)
        return {name: value.to(self.dtype) for name, value in weights.items()}

    @property
    def loud(self) -> TransformerCase:
        """Return the same case with scores up to a thousand in the first layers' self-attention."""
        return replace(self, large_scores=True, tied={})

    @cached_property
    def far(self) -> TransformerCase:
        """Return the same case in float32, with source embeddings around a thousand."""
        return replace(self, dtype=torch.float32, offset=1000.0, tied={})

    def _loud(self, weights: Weights) -> Weights:
        for stack, name, ids in (("encoder", SRC, self.src), ("decoder", TGT, self.tgt)):
            prefix = f"{stack}.layers.0."
            first = below(weights, prefix)
            heard = self.embed(weights, name, ids)
            if self.norm_first:
                heard = layer_norm(heard, first, "sublayers.0.")
            large = with_large_scores(first, heard, self.sizes.n_heads)
            weights = weights | {f"{prefix}{name}": value for name, value in large.items()}
        return weights

    def with_other_padding(self, name: str) -> Weights:
        """Return an embedding, and what is tied to it, with another row for the padding id."""
        table = self.weights[name].clone()
        table[self.pad_id] = 3 * self.numbers.normal("padding", table.size(1), dtype=self.dtype)
        changed = next((names for names in self.ties if name in names), (name,))
        return dict.fromkeys(changed, table)

    def embed(self, weights: Weights, name: str, ids: Tensor) -> Tensor:
        """Return rows times √d_model plus positions."""
        wide = self.sizes.d_model
        return weights[name].double()[ids] * math.sqrt(wide) + waves(ids.size(1), wide).double()

    def encode(self, embedded: Tensor, weights: Weights | None = None) -> Tensor:
        """Apply torch's encoder layers to an embedded source without padding."""
        oracle = Oracle(ENCODER, self.sizes, self.norm_first, self.activation)
        encoder = below(weights or self.weights, "encoder.")
        return oracle.stack(encoder, [embedded], [None], self.num_layers)

    def decode(self, embedded: Tensor, memory: Tensor, weights: Weights | None = None) -> Tensor:
        """Apply torch's decoder layers to an embedded target without padding."""
        oracle = Oracle(DECODER, self.sizes, self.norm_first, self.activation)
        length = embedded.size(1)
        causal = torch.ones(length, length, dtype=torch.bool).tril()
        decoder = below(weights or self.weights, "decoder.")
        return oracle.stack(decoder, [embedded, memory], [causal, None], self.num_layers)

    def generate(self, decoded: Tensor, weights: Weights) -> Tensor:
        """Return the logits for the output of `decode`. (batch, target, tgt_vocab)"""
        return F.linear(decoded, weights[GENERATOR].double(), weights["generator.bias"].double())

    def forward(self, weights: Weights) -> Tensor:
        """Return the logits for `src` and `tgt`. (batch, target, tgt_vocab)"""
        memory = self.encode(self.embed(weights, SRC, self.src), weights)
        decoded = self.decode(self.embed(weights, TGT, self.tgt), memory, weights)
        return self.generate(decoded, weights)

    @cached_property
    def encoded(self) -> Tensor:
        """Return the expected output of `encode(src)`."""
        return self.encode(self.embed(self.weights, SRC, self.src))

    @cached_property
    def decoded(self) -> Tensor:
        """Return the expected output of `decode(tgt, memory, src)`."""
        return self.decode(self.embed(self.weights, TGT, self.tgt), self.memory.double())

    @cached_property
    def logits(self) -> Tensor:
        """Return the expected output of `forward(src, tgt)`."""
        return self.forward(self.weights)

    @cached_property
    def cotangent(self) -> Tensor:
        """Return a random weight for every logit, to pull gradients back from."""
        return self.numbers.normal("cotangent", *self.tgt.shape, self.tgt_vocab)

    @cached_property
    def gradients(self) -> list[Tensor]:
        """Return torch's gradients of all weights, without the padding id's rows."""
        leaves = tracked_weights(self.weights)
        values = list(leaves.values())
        result = pull_back(self.forward(leaves), values, self.cotangent)
        gradients = dict(zip(leaves, result, strict=True))
        for names in self.ties:
            gradients |= dict.fromkeys(
                names, torch.stack([gradients[name] for name in names]).sum(0)
            )
        for name in TIEABLE:
            gradients[name] = gradients[name].clone()
            gradients[name][self.pad_id] = 0.0
        return list(gradients.values())

    def model(self, student: Any, dropout: float = 0.0) -> tuple[RemoteModule, TransformerCase]:
        """Return the student's model in evaluation mode, and this case with its ties."""
        made = self.new_model(student, dropout).to(self.dtype)
        case = self.with_ties(_ties(made.parameters()))
        return made.load(case.weights, strict=False).eval(), case

    def another_model(self, student: Any, dropout: float = 0.0) -> RemoteModule:
        """Return another model in evaluation mode, whose ties are known."""
        made = self.new_model(student, dropout).to(self.dtype)
        return made.load(self.weights, strict=False).eval()

    def new_model(self, student: Any, dropout: float = 0.0) -> RemoteModule:
        """Return the student's model as their code creates it."""
        options = {
            "src_vocab_size": self.src_vocab,
            "tgt_vocab_size": self.tgt_vocab,
            "d_model": self.sizes.d_model,
            "n_heads": self.sizes.n_heads,
            "num_layers": self.num_layers,
            "d_ff": self.sizes.d_ff,
            "dropout": dropout,
            "max_len": MAX_LEN,
            "pad_id": self.pad_id,
        }
        made: RemoteModule
        if self.activation == "relu":
            order = {"norm_first": True} if self.norm_first else {}
            made = student.Transformer(**options, **order)
        else:
            made = student.Transformer(*options.values(), self.activation, self.norm_first)
        return made

    def with_ties(self, ties: Ties) -> TransformerCase:
        """Return the same case for a model that has these ties."""
        if ties == self.ties:
            return self
        if ties not in self.tied:
            self.tied[ties] = replace(self, ties=ties, tied={})
        return self.tied[ties]


def _ties(parameters: Sequence[RemoteParameter]) -> Ties:
    """Return which of embeddings and generator are one tensor; the exercise leaves it free."""
    groups: dict[tuple[int, tuple[int, ...]], list[str]] = {}
    for parameter in parameters:
        if parameter.name in TIEABLE:
            key = (parameter.storage, parameter.shape)
            groups.setdefault(key, []).append(parameter.name)
    return tuple(tuple(names) for names in groups.values() if len(names) > 1)


@inputs
def cases(
    draw: st.DrawFn,
    numbers: Numbers,
    norm_first: bool = False,
    activation: str = "relu",
    num_layers: int = 2,
) -> TransformerCase:
    """Draw cases whose sizes all differ, with a padding id that is not 0."""
    src_vocab, tgt_vocab = draw(st.sampled_from([(9, 11), (12, 10), (10, 13)]))
    pad_id = draw(st.integers(1, 8))
    drawn = draw(sizes())
    return TransformerCase(
        drawn, src_vocab, tgt_vocab, pad_id, numbers, num_layers, norm_first, activation
    )

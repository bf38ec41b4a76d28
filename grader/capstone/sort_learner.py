"""The training of one attention layer that sorts digits: the student's attention, the kit's rest.

    student's: attention, causal_mask
    the kit's: embeddings, the four projections, residuals, norms, feed-forward network, training

The layer reads the digits and what it has written so far, and predicts the next digit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grader.capstone import contract, looking, sorting
from grader.capstone.behaviour import differ
from grader.capstone.contract import ContractError
from grader.capstone.events import Behaviour, Translation
from grader.capstone.sorting import COUNT, LENGTH, TOKENS, Sequences
from grader.capstone.task import Learner, Plan, Sign, silent

D_MODEL, N_HEADS, D_FF = 64, 4, 128
BATCH = 128
RATE = 3e-3
WARMUP = 50
STEPS = 1000  # then the learning rate is zero and the training ends by itself
SHOWN = ("31415926", "70070070", "98765432")
NOTICED = 1e-4


class Layer(nn.Module):
    """One attention layer over tokens and positions, and a score for each digit."""

    def __init__(self, pieces: Mapping[str, Any]) -> None:
        super().__init__()
        self.attention, self.causal_mask = pieces["attention"], pieces["causal_mask"]
        self.token = nn.Embedding(TOKENS, D_MODEL)
        self.position = nn.Embedding(LENGTH, D_MODEL)
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (
            nn.Linear(D_MODEL, D_MODEL) for _ in range(4)
        )
        self.norm1, self.norm2 = nn.LayerNorm(D_MODEL), nn.LayerNorm(D_MODEL)
        self.feed_forward = nn.Sequential(
            nn.Linear(D_MODEL, D_FF), nn.ReLU(), nn.Linear(D_FF, D_MODEL)
        )
        self.generator = nn.Linear(D_MODEL, TOKENS - 1)
        self.weights: Any = None  # the student's attention weights of the last call

    def forward(self, ids: Tensor) -> Tensor:
        """Return the logits `(B, L, 10)` of what follows each of the ids `(B, L)`."""
        x = self.token(ids) + self.position.weight[: ids.size(1)]
        projections = (self.q_proj, self.k_proj, self.v_proj)
        heads = [
            projection(x).unflatten(-1, (N_HEADS, -1)).transpose(1, 2) for projection in projections
        ]
        returned = self.attention(*heads, self.causal_mask(ids.size(1)))
        if not isinstance(returned, (tuple, list)) or len(returned) != 2:
            raise ContractError("attention", "Your attention does not return output and weights.")
        self.weights = returned[1]
        output = contract.shaped(returned[0], tuple(heads[2].shape), "attention", "Your attention")
        x = self.norm1(x + self.out_proj(output.transpose(1, 2).flatten(2)))
        x = self.norm2(x + self.feed_forward(x))
        logits: Tensor = self.generator(x)
        return logits


class SortLearner(Learner):
    """A layer that learns to sort."""

    def __init__(self, pieces: Mapping[str, Any], plan: Plan, sign: Sign = silent) -> None:
        """Make the layer and draw its weights."""
        super().__init__(pieces, plan if plan.steps else replace(plan, steps=STEPS), sign)
        self.data = Sequences(plan.seed)
        torch.manual_seed(plan.seed)
        self.model = Layer(pieces)
        self.optimiser = torch.optim.Adam(self.model.parameters(), lr=0.0, betas=(0.9, 0.98))

    def example(self) -> Sequence[Tensor]:
        """Return some sequences."""
        return [torch.tensor([sorting.encode(digits) for digits in sorting.unseen(4)])]

    def rate(self) -> float:
        """Return the learning rate of this step: up for a short while, then down along a cosine."""
        share = min(1.0, max(self.step / STEPS, self.seconds / self.plan.seconds))
        return RATE * min(1.0, self.step / WARMUP) * (1 + math.cos(math.pi * share)) / 2

    def advance(self) -> list[float]:
        """Return one step of Adam."""
        self.sign()
        self.step += 1
        loss = self.loss_of(self.data.next(BATCH))
        self.optimiser.zero_grad()
        torch.autograd.backward(loss)
        self.optimiser.param_groups[0]["lr"] = self.rate()
        self.optimiser.step()
        return [loss.item()]

    def loss_of(self, sequences: Sequence[str]) -> Tensor:
        """Return the cross-entropy of the sorted digits; the unsorted ones nobody can guess."""
        labels = torch.tensor([list(map(int, sorting.in_order(digits))) for digits in sequences])
        read = torch.tensor([sorting.encode(digits) for digits in sequences])
        logits = self.model(torch.cat([read, labels[:, :-1]], dim=1))
        return F.cross_entropy(logits[:, COUNT:].flatten(0, 1), labels.flatten())

    @torch.no_grad()
    def answers(self, texts: Sequence[str]) -> list[str]:
        """Return the most probable digits after each sequence, one by one."""
        ids = torch.tensor([sorting.encode(digits) for digits in texts])
        for _ in range(COUNT):
            ids = torch.cat([ids, self.model(ids)[:, -1:].argmax(-1)], dim=1)
        return ["".join(map(str, row)) for row in ids[:, COUNT + 1 :].tolist()]

    def shown(self) -> Sequence[str]:
        """Return some sequences."""
        return SHOWN

    def answer(self, text: str) -> Translation:
        """Return the digits as the layer sorts them, and what each of its heads attended to."""
        (written,) = self.answers([text])
        return looking.seen(Translation(text, written), self._weights(text, written))

    @torch.no_grad()
    def _weights(self, digits: str, written: str) -> Tensor:
        """Return the student's weights while the digits were written: `(1, heads, COUNT, LENGTH)`.

        There are no heads if what the student returns aren't weights.
        """
        ids = torch.tensor([[*sorting.encode(digits), *map(int, written[:-1])]])
        self.model(ids)
        weights = self.model.weights
        shape = (1, N_HEADS, LENGTH, LENGTH)
        if not isinstance(weights, Tensor) or tuple(weights.shape) != shape:
            return torch.zeros(1, 0, COUNT, LENGTH)
        return weights[:, :, COUNT:].double().nan_to_num()

    @torch.no_grad()
    def behaviour(self) -> Behaviour:
        """Return whether a later digit changes what the layer says before it."""
        ids = torch.tensor([sorting.encode(digits) for digits in self.data.next(32)])
        changed = ids.clone()
        changed[:, COUNT - 1] = (changed[:, COUNT - 1] + 1) % 10
        before, after = (self.model(tokens)[:, : COUNT - 1] for tokens in (ids, changed))
        return Behaviour(future=differ(after, before, NOTICED))

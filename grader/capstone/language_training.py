"""The training of a language model: the student's model, optimiser and training loop.

`training_loop` trains a model with a source and a target. A language model has a single sequence,
which is the target here: what it reads is the target without its last token, and its labels are
the target without its first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, overload

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grader.capstone import contract
from grader.capstone.contract import ContractError, described
from grader.capstone.task import Learner

CHUNK = 10  # steps of one call of `fit`, between which it can be stopped
SCHEDULE = 1000  # the steps of the cosine schedule, over the whole training
IGNORED = -100  # labels without a loss

Batch = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Settings:
    """The sizes of a model, and the settings of its training."""

    d_model: int
    n_heads: int
    n_kv_heads: int
    num_layers: int
    d_ff: int
    max_len: int
    tie_weights: bool
    max_rate: float
    warmup: int  # in steps of the schedule
    weight_decay: float
    residual_scale: float  # of the initial weights that write to the residual path
    max_norm: float = 1.0
    betas: tuple[float, float] = (0.9, 0.95)


class OneSequence(nn.Module):
    """A language model in the form that `training_loop` trains: the source is ignored."""

    pad_id = IGNORED

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, src: Tensor, tgt: Tensor) -> Any:
        """Return the logits of the token that follows each of `tgt`."""
        del src
        return self.model(tgt)


class Batches(Sequence[Batch]):
    """A sequence of batches, each made on demand."""

    def __init__(self, size: int, make: Callable[[], Tensor]) -> None:
        self.size = size
        self.make = make

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, index: int) -> Batch: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Batch]: ...

    def __getitem__(self, index: int | slice) -> Batch | Sequence[Batch]:
        """A fresh batch, whichever it is."""
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(self.size))]
        if not -self.size <= index < self.size:
            raise IndexError(index)
        tokens = self.make()
        return tokens, tokens


class LanguageTraining(Learner):
    """A language model made of `pieces`, the entries of the exercises by name, and its training."""

    settings: Settings
    vocab_size: int

    def make(self, settings: Settings, vocab_size: int) -> None:
        """Make the model and draw its weights."""
        self.settings = settings
        self.vocab_size = vocab_size
        torch.manual_seed(self.plan.seed)
        self.model = self.pieces["LanguageModel"](
            vocab_size,
            settings.d_model,
            settings.n_heads,
            settings.n_kv_heads,
            settings.num_layers,
            settings.d_ff,
            max_len=settings.max_len,
            tie_weights=settings.tie_weights,
        )
        self.weights = contract.parameters(self.model, "language_model")
        _initialise(self.model, settings)
        self.optimiser = self.pieces["AdamW"](
            self.weights, lr=0.0, betas=settings.betas, weight_decay=settings.weight_decay
        )

    def example(self) -> Sequence[Tensor]:
        """Return a few tokens, `(1, L)`."""
        return [torch.arange(min(8, self.vocab_size))[None]]

    def tokens(self) -> Tensor:
        """Return the next batch to learn from, `(B, L)`."""
        raise NotImplementedError

    def counted(self, labels: Tensor) -> Tensor:
        """Return the labels `(B, L - 1)` of a batch, with `IGNORED` for those without a loss."""
        return labels

    def logits(self, ids: Tensor) -> Tensor:
        """Return the scores of every token at each position, `(B, L, vocab_size)`."""
        shape = (*ids.shape, self.vocab_size)
        return contract.shaped(self.model(ids), shape, "language_model", "Your model")

    def is_done(self) -> bool:
        """Return whether the plan's steps are done, or its seconds if it has no steps."""
        return self.done() >= 1

    def done(self, more: int = 0) -> float:
        """Return the share of the training that is done after `more` steps, by time or steps."""
        if self.plan.steps:
            return (self.step + more) / self.plan.steps
        return self.seconds / self.plan.seconds

    def rate(self, step: int) -> float:
        """Return the learning rate of a step of this chunk, by the student's schedule."""
        arguments = (
            round(SCHEDULE * min(self.done(step), 1)),
            self.settings.max_rate,
            0.0,
            self.settings.warmup,
            SCHEDULE,
        )
        call = f"cosine_rate({', '.join(map(str, arguments))})"
        return contract.learning_rate(self.pieces["cosine_rate"](*arguments), "optimiser", call)

    def loss_of(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the mean loss of the labels that count."""
        if not isinstance(labels, Tensor) or labels.dim() != 2:
            raise ContractError(
                "training_loop", f"Your train_step gives the loss {described(labels)} as labels."
            )
        shape = (*labels.shape, self.vocab_size)
        logits = contract.shaped(logits, shape, "language_model", "Your model")
        counted = self.counted(labels)
        return F.cross_entropy(logits.flatten(0, 1), counted.flatten(), ignore_index=IGNORED)

    def advance(self) -> list[float]:
        """Return a few steps of the student's `fit`."""
        left = self.plan.steps - self.step if self.plan.steps else CHUNK
        steps = min(CHUNK, left)

        def batch() -> Tensor:
            self.sign()
            return self.tokens()

        losses = self.pieces["fit"](
            OneSequence(self.model),
            Batches(steps, batch),
            self.optimiser,
            self.loss_of,
            self.rate,
            steps,
            self.settings.max_norm,
        )
        self.step += steps
        if not isinstance(losses, list) or len(losses) != steps:
            raise ContractError(
                "training_loop", f"Your fit gives {described(losses)} after {steps} steps."
            )
        return [float(loss) for loss in losses]


def _initialise(model: nn.Module, settings: Settings) -> None:
    """Draw the weights: those of the embedding small, the others by the size of their inputs."""
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() < 2:
                continue
            if "embedding" in name or ("lm_head" in name and settings.tie_weights):
                weight.normal_(0.0, 0.02)
            else:
                ends = "out_proj" in name or "down_proj" in name
                scale = settings.residual_scale if ends else 1.0
                weight.normal_(0.0, scale * weight.size(1) ** -0.5)

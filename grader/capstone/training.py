"""The training itself: the student's model, their loss and schedule, the kit's dates."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from grader.capstone import dates
from grader.capstone.dates import BOS, EOS, OUTPUT_LENGTH, PAD, Dates, Pair
from grader.capstone.events import Progress

SIZES = {"d_model": 64, "n_heads": 4, "num_layers": 2, "d_ff": 128, "dropout": 0.0}
MAX_LEN = dates.LONGEST_SOURCE + 16
BATCH = 64
WARMUP = 400
SMOOTHING = 0.1
THREADS = 2
MEAN_OVER = 100  # steps that the weights to translate with are a mean of, roughly
LOOK_EVERY = 100  # steps between looks at the unseen dates
LOOK_COUNT = 220
TELL_EVERY = 0.5  # seconds between reports


class ContractError(Exception):
    """A piece gave back something else than its exercise says. `exercise` is whose it is."""

    def __init__(self, exercise: str, told: str) -> None:
        super().__init__(told)
        self.exercise = exercise


@dataclass(frozen=True)
class Plan:
    """How long to train: `seconds`, and no more than `steps` if that is not 0.

    At the end, `unseen` dates are translated.
    """

    seconds: float
    seed: int
    steps: int = 0
    unseen: int = 1100


def tensors(pairs: Sequence[Pair], longest: int = 0) -> tuple[Tensor, Tensor]:
    """The ids of sources and targets, `(B, Ls)` and `(B, Lt)`."""
    sources = dates.padded([dates.encode_source(pair.source) for pair in pairs], longest)
    targets = [dates.encode_target(pair.target) for pair in pairs]
    return torch.tensor(sources), torch.tensor(targets)


class Training:
    """A model made of `pieces`, the entries of the exercises by name, and its training.

    Whatever a piece raises goes through. Raises `ContractError` where one gives back what no
    training can go on with.
    """

    def __init__(self, pieces: Mapping[str, Any], plan: Plan) -> None:
        """Makes the model and draws its weights."""
        self.pieces = pieces
        self.plan = plan
        self.data = Dates(plan.seed)
        self.held_out = self.data.held_out_pairs(plan.unseen)
        torch.manual_seed(plan.seed)
        self.model = pieces["Transformer"](
            dates.source_size(), dates.target_size(), **SIZES, max_len=MAX_LEN, pad_id=PAD
        )
        pieces["initialise"](self.model)
        self.weights = [one for one in self.model.parameters() if one.requires_grad]
        if not self.weights:
            raise ContractError("transformer", "Your model has no parameters that could learn.")
        self.means = [one.detach().clone() for one in self.weights]
        self.optimiser = torch.optim.Adam(self.weights, lr=0.0, betas=(0.9, 0.98), eps=1e-9)
        self.has_means = False
        self.step = 0
        self.seconds = 0.0
        self.loss = math.nan

    def run(
        self,
        stopped: Callable[[], bool],
        tell: Callable[[Progress], None],
        alive: Callable[[], None],
    ) -> None:
        """Trains until the plan is done or `stopped` says so, and tells how it goes.

        The model is left with the mean of its last weights, which translates better than the last
        ones: the paper averages its last checkpoints (section 6.1).
        """
        self.model.train()
        try:
            self._loop(stopped, tell, alive)
        finally:
            self._translate_with_means(True)

    def _loop(
        self,
        stopped: Callable[[], bool],
        tell: Callable[[Progress], None],
        alive: Callable[[], None],
    ) -> None:
        began, told = time.monotonic(), 0.0
        losses: list[float] = []
        exact, rate = 0.0, 0.0
        for pairs in self.data.batches(BATCH):
            alive()
            self.step += 1
            losses.append(self._step(pairs))
            rate = self.optimiser.param_groups[0]["lr"]
            self.seconds = time.monotonic() - began
            done = stopped() or self._is_done(losses[-1])
            look = self.step % LOOK_EVERY == 0
            if look:
                self._translate_with_means(True)
                exact = self.exact(self.held_out[:LOOK_COUNT])
                self._translate_with_means(False)
            if look or done or self.seconds - told > TELL_EVERY:
                told, self.loss = self.seconds, sum(losses) / len(losses)
                losses = []
                tell(Progress(self.step, self.seconds, self.loss, rate, exact))
            if done:
                return

    def _is_done(self, loss: float) -> bool:
        last = bool(self.plan.steps) and self.step >= self.plan.steps
        return last or self.seconds >= self.plan.seconds or not math.isfinite(loss)

    def _step(self, pairs: Sequence[Pair]) -> float:
        src, tgt = tensors(pairs)
        loss = self.loss_of(src, tgt)
        self.optimiser.zero_grad()
        torch.autograd.backward(loss)
        self.optimiser.param_groups[0]["lr"] = self.rate(self.step)
        self.optimiser.step()
        part = max(1 / self.step, 1 / MEAN_OVER)
        torch._foreach_lerp_(self.means, [one.detach() for one in self.weights], part)
        return loss.item()

    def _translate_with_means(self, means: bool) -> None:
        """Puts the mean weights into the model and keeps those that it had, or the reverse."""
        if means is self.has_means:
            return
        self.has_means = means
        for weight, mean in zip(self.weights, self.means, strict=True):
            kept = weight.detach().clone()
            weight.data.copy_(mean)
            mean.copy_(kept)

    def rate(self, step: int) -> float:
        """The learning rate of a step, by the student's schedule."""
        rate = self.pieces["noam_rate"](step, SIZES["d_model"], WARMUP)
        if isinstance(rate, Tensor) and rate.numel() == 1:
            rate = rate.item()
        if not isinstance(rate, (int, float)) or not math.isfinite(rate) or rate < 0:
            raise ContractError("training", f"Your noam_rate({step}, 64, {WARMUP}) gives {rate!r}.")
        return float(rate)

    def loss_of(self, src: Tensor, tgt: Tensor) -> Tensor:
        """The student's loss of a batch, which can be followed backwards."""
        decoder_input, labels = self.forced(tgt)
        logits = self.model(src, decoder_input)
        wanted = (*labels.shape, dates.target_size())
        if not isinstance(logits, Tensor) or tuple(logits.shape) != wanted:
            raise ContractError(
                "transformer", f"Your model gives {_told(logits)} where {wanted} is wanted."
            )
        loss = self.pieces["label_smoothed_loss"](logits, labels, PAD, SMOOTHING)
        if not isinstance(loss, Tensor) or loss.numel() != 1:
            raise ContractError(
                "training", f"Your label_smoothed_loss gives {_told(loss)}; one number is wanted."
            )
        if not loss.requires_grad:
            told = "No gradient flows back from your loss: something on its way is cut off."
            raise ContractError("training" if logits.requires_grad else "transformer", told)
        return loss.reshape(())

    def forced(self, tgt: Tensor) -> tuple[Tensor, Tensor]:
        """What the decoder reads and what it should say, by the student's `teacher_forcing`."""
        made = self.pieces["teacher_forcing"](tgt)
        if not isinstance(made, (tuple, list)) or len(made) != 2:
            raise ContractError("training", "Your teacher_forcing does not return two tensors.")
        for one in made:
            if not isinstance(one, Tensor) or one.dim() != 2 or one.shape != made[0].shape:
                shapes = " and ".join(map(_told, made))
                raise ContractError("training", f"Your teacher_forcing returns {shapes}.")
        return made[0], made[1]

    @torch.no_grad()
    def translate(self, sources: Sequence[str]) -> list[list[int]]:
        """The ids that the student's `greedy_decode` writes for each source, the start included."""
        was_training = self.model.training
        self.model.eval()
        src = torch.tensor(dates.padded([dates.encode_source(source) for source in sources]))
        made = self.pieces["greedy_decode"](self.model, src, BOS, EOS, OUTPUT_LENGTH)
        self.model.train(was_training)
        if not isinstance(made, Tensor) or made.dim() != 2 or made.size(0) != len(sources):
            raise ContractError(
                "decoding", f"Your greedy_decode gives {_told(made)} for {len(sources)} sources."
            )
        return [[int(one) for one in row] for row in made.tolist()]

    def exact(self, pairs: Sequence[Pair]) -> float:
        """The share of these pairs whose translation is right in every character."""
        written = self.translate([pair.source for pair in pairs])
        right = sum(
            dates.decode_target(ids) == pair.target
            for ids, pair in zip(written, pairs, strict=True)
        )
        return right / len(pairs)


def _told(value: object) -> str:
    if isinstance(value, Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    return f"a {type(value).__name__}"

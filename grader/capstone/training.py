"""The training of a translator: the student's model, their loss and schedule, the kit's dates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from grader.capstone import contract, dates
from grader.capstone.contract import ContractError, described
from grader.capstone.dates import BOS, EOS, OUTPUT_LENGTH, PAD, SMOOTHING, Dates, Pair
from grader.capstone.events import Report
from grader.capstone.task import Learner, Plan, Sign, silent

SIZES = {"d_model": 64, "n_heads": 4, "num_layers": 2, "d_ff": 128, "dropout": 0.0}
MAX_LEN = dates.LONGEST_SOURCE + 16
BATCH = 64
WARMUP = 400
MEAN_OVER = 100  # steps over which the weights are averaged for translating, roughly


def tensors(pairs: Sequence[Pair], longest: int = 0) -> tuple[Tensor, Tensor]:
    """Return the ids of sources and targets, `(B, Ls)` and `(B, Lt)`."""
    sources = dates.padded([dates.encode_source(pair.source) for pair in pairs], longest)
    targets = [dates.encode_target(pair.target) for pair in pairs]
    return torch.tensor(sources), torch.tensor(targets)


class Training(Learner):
    """A translator and its training.

    It answers with the mean of its last weights, which translates better than the last ones alone:
    the paper averages its last checkpoints (section 6.1).
    """

    def __init__(self, pieces: Mapping[str, Any], plan: Plan, sign: Sign = silent) -> None:
        """Make the model and draw its weights."""
        super().__init__(pieces, plan, sign)
        self.data = Dates(plan.seed)
        self.batches = self.data.batches(BATCH)
        torch.manual_seed(plan.seed)
        self.model = pieces["Transformer"](
            dates.source_size(), dates.target_size(), **SIZES, max_len=MAX_LEN, pad_id=PAD
        )
        pieces["initialise"](self.model)
        self.weights = contract.parameters(self.model, "transformer")
        self.means = [weight.detach().clone() for weight in self.weights]
        self.optimiser = torch.optim.Adam(self.weights, lr=0.0, betas=(0.9, 0.98), eps=1e-9)
        self.has_means = False

    def example(self) -> Sequence[Tensor]:
        """Return some dates, and what the decoder reads of them."""
        src, tgt = tensors(self.data.held_out_pairs(4))
        return [src, tgt[:, :-1]]

    def run(self, stopped: Callable[[], bool], tell: Callable[[Report], None]) -> None:
        """Train, and leave the mean weights in the model."""
        self.model.train()
        try:
            super().run(stopped, tell)
        finally:
            self._translate_with_means(True)

    def look(self, report: Report) -> Report:
        """Return the report with what the mean weights make of the plan's sample."""
        self._translate_with_means(True)
        report = super().look(report)
        self._translate_with_means(False)
        return report

    def advance(self) -> list[float]:
        """Return one step of Adam, by the student's schedule."""
        self.sign()
        self.step += 1
        loss = self.loss_of(*tensors(next(self.batches)))
        self.optimiser.zero_grad()
        torch.autograd.backward(loss)
        self.optimiser.param_groups[0]["lr"] = self.rate(self.step)
        self.optimiser.step()
        part = max(1 / self.step, 1 / MEAN_OVER)
        torch._foreach_lerp_(self.means, [weight.detach() for weight in self.weights], part)
        return [loss.item()]

    def _translate_with_means(self, means: bool) -> None:
        """Swap the model's weights for their running means, or swap them back."""
        if means is self.has_means:
            return
        self.has_means = means
        for weight, mean in zip(self.weights, self.means, strict=True):
            before = weight.detach().clone()
            weight.data.copy_(mean)
            mean.copy_(before)

    def rate(self, step: int) -> float:
        """Return the learning rate of a step, by the student's schedule."""
        rate = self.pieces["noam_rate"](step, SIZES["d_model"], WARMUP)
        call = f"noam_rate({step}, {SIZES['d_model']}, {WARMUP})"
        return contract.learning_rate(rate, "training", call)

    def loss_of(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Return the student's loss of a batch, which can be followed backwards."""
        decoder_input, labels = self.forced(tgt)
        shape = (*labels.shape, dates.target_size())
        output = self.model(src, decoder_input)
        logits = contract.shaped(output, shape, "transformer", "Your model")
        loss = self.pieces["label_smoothed_loss"](logits, labels, PAD, SMOOTHING)
        if not isinstance(loss, Tensor) or loss.numel() != 1:
            raise ContractError(
                "training",
                f"Your label_smoothed_loss gives {described(loss)}; one number is expected.",
            )
        if not loss.requires_grad:
            message = "No gradient flows back from your loss: something on its way is cut off."
            raise ContractError("training" if logits.requires_grad else "transformer", message)
        return loss.reshape(())

    def forced(self, tgt: Tensor) -> tuple[Tensor, Tensor]:
        """Return the decoder's inputs and labels, by the student's `teacher_forcing`."""
        pair = self.pieces["teacher_forcing"](tgt)
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise ContractError("training", "Your teacher_forcing does not return two tensors.")
        for tensor in pair:
            if not isinstance(tensor, Tensor) or (tensor.dim(), tensor.shape) != (2, pair[0].shape):
                shapes = " and ".join(map(described, pair))
                raise ContractError("training", f"Your teacher_forcing returns {shapes}.")
        return pair[0], pair[1]

    @torch.no_grad()
    def translate(self, sources: Sequence[str]) -> list[list[int]]:
        """Return the ids that the student's `greedy_decode` writes for each source."""
        was_training = self.model.training
        self.model.eval()
        src = torch.tensor(dates.padded([dates.encode_source(source) for source in sources]))
        rows = self.pieces["greedy_decode"](self.model, src, BOS, EOS, OUTPUT_LENGTH)
        self.model.train(was_training)
        if not isinstance(rows, Tensor) or rows.dim() != 2 or rows.size(0) != len(sources):
            raise ContractError(
                "decoding",
                f"Your greedy_decode gives {described(rows)} for {len(sources)} sources.",
            )
        return [[int(token) for token in row] for row in rows.tolist()]

    def answers(self, texts: Sequence[str]) -> list[str]:
        """Return the ISO forms that the model writes for these sources."""
        return [dates.decode_target(ids) for ids in self.translate(texts)]

"""The training of a language model that adds, and its measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from grader.capstone import language_behaviour, looking, sums
from grader.capstone.events import Behaviour, Translation
from grader.capstone.language_training import IGNORED, LanguageTraining, Settings
from grader.capstone.sums import ANSWER, LENGTH, QUESTION, UNSEEN, Sum, Sums
from grader.capstone.task import Plan, Sign, silent

SETTINGS = Settings(
    d_model=64,
    n_heads=4,
    n_kv_heads=2,
    num_layers=2,
    d_ff=192,
    max_len=LENGTH,
    tie_weights=False,
    max_rate=4e-3,
    warmup=20,
    weight_decay=0.01,
    residual_scale=1.0,
)
BATCH = 128
# With carries through all digits, through two of them, and without any.
SHOWN = (Sum(587, 413), Sum(345, 678), Sum(123, 456))


class SumLearner(LanguageTraining):
    """A language model that learns to add."""

    def __init__(self, pieces: Mapping[str, Any], plan: Plan, sign: Sign = silent) -> None:
        """Make the model and draw its weights."""
        super().__init__(pieces, plan, sign)
        self.data = Sums(plan.seed, plan.unseen or UNSEEN)
        self.make(SETTINGS, len(sums.CHARACTERS))

    def tokens(self) -> Tensor:
        """Return sums with their answers."""
        return torch.tensor(
            [
                sums.encode(sums.from_last_digit(example.question) + example.answer)
                for example in self.data.next(BATCH)
            ]
        )

    def counted(self, labels: Tensor) -> Tensor:
        """Only the answer counts: nobody can guess the question."""
        counted = torch.full_like(labels, IGNORED)
        counted[:, -ANSWER:] = labels[:, -ANSWER:]
        return counted

    @torch.no_grad()
    def answers(self, questions: Sequence[str]) -> list[str]:
        """Return the most probable digits after each question, one by one."""
        ids = torch.tensor([sums.encode(sums.from_last_digit(text)) for text in questions])
        for _ in range(ANSWER):
            logits = self.logits(ids)
            ids = torch.cat([ids, logits[:, -1:].argmax(-1)], dim=1)
        return [sums.decode(row) for row in ids[:, QUESTION:].tolist()]

    def behaviour(self) -> Behaviour:
        """Return what the model does with sums."""
        return language_behaviour.measure(self)

    def shown(self) -> Sequence[str]:
        """Return some sums."""
        return [example.question for example in SHOWN]

    def answer(self, text: str) -> Translation:
        """Return what the model makes of a question, and what it attended to while it wrote."""
        (written,) = self.answers([text])
        ids = torch.tensor([sums.encode(sums.from_last_digit(text) + written)])
        weights = looking.self_attention(self.model, self.pieces, ids[:, :-1], SETTINGS.n_heads)
        return looking.seen(Translation(text, written), weights[:, :, QUESTION - 1 :])

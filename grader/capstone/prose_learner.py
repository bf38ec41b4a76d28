"""The training of a language model that writes, and its measurements."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from grader.capstone import language_behaviour, subword_training
from grader.capstone.contract import ContractError, described
from grader.capstone.events import Behaviour, Prediction, Report, Scored, Trained, Translation
from grader.capstone.language_training import LanguageTraining, Settings
from grader.capstone.prose_exam import STRIDE, WINDOW, context
from grader.capstone.task import Plan, Sign, silent

MERGES = 1024
BATCH = 6
LENGTH = WINDOW
SETTINGS = Settings(
    d_model=128,
    n_heads=4,
    n_kv_heads=2,
    num_layers=3,
    d_ff=352,
    max_len=512,
    tie_weights=True,
    max_rate=3e-3,
    warmup=20,
    weight_decay=0.1,
    residual_scale=6**-0.5,  # one over the root of the sublayers, as in GPT-2
    betas=(0.9, 0.98),
)
WRITTEN = 160  # tokens of an answer
GREEDY = 32  # tokens written at temperature 0, to compare
BEFORE, PACED = 256, 96  # tokens of the prompt and of the answer, to measure the speed
WINDOWS = 16  # windows that are scored at once
LEAST = -1e5
PROMPT = "The "


class ProseLearner(LanguageTraining):
    """A language model that learns to continue a text."""

    def __init__(
        self,
        pieces: Mapping[str, Any],
        plan: Plan,
        sign: Sign = silent,
        settings: Settings = SETTINGS,
        merges: int = MERGES,
    ) -> None:
        """Learn the merges, make the model and draw its weights."""
        super().__init__(pieces, plan, sign)
        self.merges, self.note = subword_training.trained(
            pieces["train_merges"], plan.text, merges, sign
        )
        tokens = [bytes([byte]) for byte in range(256)]
        self.vocabulary = tokens + [left + right for left, right in self.merges]
        self.make(settings, len(self.vocabulary))
        sign()
        self.text = torch.tensor(self.encode(plan.text))
        self.draw = torch.Generator().manual_seed(plan.seed)
        self.seen = [self.encode(sample) for sample in plan.sample]
        if len(self.text) <= LENGTH + 1:
            raise ContractError("subwords", f"Your encode makes {len(self.text)} tokens of it all.")

    def tokens(self) -> Tensor:
        """Return parts of the text, from anywhere."""
        starts = torch.randint(len(self.text) - LENGTH, (BATCH, 1), generator=self.draw)
        return self.text[starts + torch.arange(LENGTH + 1)]

    def look(self, report: Report) -> Report:
        """Return the report with the scores of the sample."""
        scores = [score for ids in self.seen for score in self.scores(ids)]
        return replace(report, scores=scores)

    def encode(self, text: str) -> list[int]:
        """Return the text's ids, by the student's `encode`."""
        ids = self.pieces["encode"](text, self.merges)
        known = range(len(self.vocabulary))
        if not isinstance(ids, (list, tuple)) or not all(type(token) is int for token in ids):
            raise ContractError(
                "subwords", f"Your encode gives {described(ids)}, not a list of ids."
            )
        if any(token not in known for token in ids):
            raise ContractError("subwords", "Your encode gives ids of neither a byte nor a merge.")
        return list(ids)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of these ids, by the student's `decode`."""
        text = self.pieces["decode"](list(ids), self.merges)
        if not isinstance(text, str):
            raise ContractError("subwords", f"Your decode gives {described(text)}, not a text.")
        return text

    def scored(self, text: str) -> Scored:
        """Return the text as tokens, and how probable the model finds each."""
        ids = self.encode(text)
        return Scored(ids, [token.hex() for token in self.vocabulary], self.scores(ids))

    @torch.no_grad()
    def scores(self, ids: Sequence[int]) -> list[float]:
        """Return the logarithm of each token's probability, given those before it in its window."""
        scores = [-math.log(self.vocab_size)] * min(1, len(ids))
        parts = [
            ids[context(position) : position + STRIDE] for position in range(0, len(ids), STRIDE)
        ]
        for start in range(0, len(parts), WINDOWS):
            windows = parts[start : start + WINDOWS]
            for same in _equally_long(windows):
                tokens = torch.tensor(same)
                if tokens.size(1) < 2:
                    continue
                chances = self.chances(tokens[:, :-1]).gather(-1, tokens[:, 1:, None])[..., 0]
                for row in chances.tolist():
                    position = len(scores)
                    scores += row[position - context(position) - 1 :]
        return scores

    def predicted(self, ids: Sequence[int]) -> Prediction:
        """Return the logarithms of the probabilities of what follows these tokens."""
        if not ids:
            return Prediction([-math.log(self.vocab_size)] * self.vocab_size)
        with torch.no_grad():
            chances: list[float] = self.chances(torch.tensor([list(ids)]))[0, -1].tolist()
        return Prediction(chances)

    def chances(self, ids: Tensor) -> Tensor:
        """Return the logarithms of all probabilities at each position, `(B, L, vocab_size)`."""
        self.model.eval()
        logits = self.logits(ids)
        return F.log_softmax(logits.double(), dim=-1).nan_to_num(nan=LEAST).clamp(LEAST, 0.0)

    def behaviour(self) -> Behaviour:
        """Return what the model does with the text, and what `generate` writes."""
        return replace(language_behaviour.measure(self, caches=True), greedy=self.is_greedy())

    def shown(self) -> Sequence[str]:
        """Return a beginning."""
        return [PROMPT]

    def conclude(self, stopped: bool) -> Trained:
        """Measure what the model does, and how fast it writes."""
        trained = super().conclude(stopped)
        return replace(trained, notes=[note for note in (self.note, self.pace()) if note])

    def answer(self, text: str) -> Translation:
        """Return how the model goes on with a text."""
        plan = self.plan
        ids = self.encode(text)[-(self.settings.max_len - WRITTEN) :]
        more = {"temperature": plan.temperature, "top_k": plan.top_k, "top_p": plan.top_p}
        drawn = self.generate(ids, WRITTEN, generator=self.draw, **more)
        return Translation(text, self.decode(drawn[len(ids) :]))

    def generate(self, ids: Sequence[int], count: int, **options: Any) -> list[int]:
        """Return the ids and what follows them, by the student's `generate`."""
        self.model.eval()
        tokens = self.pieces["generate"](self.model, torch.tensor([list(ids)]), count, **options)
        if not isinstance(tokens, Tensor) or tokens.dim() != 2 or tokens.size(0) != 1:
            message = f"Your generate gives {described(tokens)} for one text."
            raise ContractError("sampling", message)
        return [int(token) for token in tokens[0].tolist()]

    def is_greedy(self) -> bool:
        """Return whether `generate` at temperature 0 writes the most probable tokens."""
        ids = self.text[:WINDOW].tolist()
        tokens = self.generate(ids, GREEDY, temperature=0.0)
        chances = self.predictions(tokens)
        # Of two tokens that are almost equally probable, either may come out.
        best = chances.max(-1).values
        taken = chances.gather(-1, torch.tensor(tokens[1:])[:, None])[:, 0]
        close = (best - taken)[len(ids) - 1 :] < 1e-3
        return len(tokens) == len(ids) + GREEDY and tokens[: len(ids)] == ids and bool(close.all())

    @torch.no_grad()
    def predictions(self, ids: Sequence[int]) -> Tensor:
        """Return the prediction after each of these tokens but the last, `(L - 1, vocab_size)`."""
        return self.chances(torch.tensor([list(ids[:-1])]))[0]

    @torch.no_grad()
    def pace(self) -> str:
        """Return how many tokens it writes in a second with caches and without, in a sentence."""
        ids = self.text[:BEFORE][None]
        paces = []
        for cached in (True, False):
            caches = [self.pieces["KVCache"]() for _ in self.model.blocks] if cached else None
            read, new = ids, ids
            began = time.perf_counter()
            for _ in range(PACED):
                logits = self.model(new, caches) if cached else self.model(read)
                drawn = logits[:, -1:].argmax(-1)
                new, read = drawn, torch.cat([read, drawn], dim=1)
            paces.append(PACED / (time.perf_counter() - began))
        with_caches, without = paces
        return (
            f"After {BEFORE} tokens it writes {with_caches:.0f} tokens a second with caches, "
            f"{without:.0f} without."
        )


def _equally_long(windows: Sequence[Sequence[int]]) -> list[list[list[int]]]:
    """Return the windows in order, consecutive ones of equal length grouped."""
    groups: list[list[list[int]]] = []
    for window in windows:
        if not groups or len(groups[-1][0]) != len(window):
            groups.append([])
        groups[-1].append(list(window))
    return groups

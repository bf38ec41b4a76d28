"""A trained translator of dates, which is measured and answers questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from grader.capstone import dates, looking
from grader.capstone.behaviour import differ, tried, unreached
from grader.capstone.dates import BOS, PAD
from grader.capstone.events import Behaviour, Trained, Translation
from grader.capstone.training import SIZES, Training, tensors

SOME = 64  # unseen dates on which its behaviour is measured
SHOWN_OF = 110  # unseen dates from which those to show are chosen
SHOWN = ("English", "Japanese", "Spanish")  # the longest date of each is shown, with attention
POSITIONS = 40


class DateLearner(Training):
    """A training whose model can be measured and asked at its end."""

    def conclude(self, stopped: bool) -> Trained:
        """Measure what the model does, and keep its table of positions and its embedding."""
        trained = super().conclude(stopped)
        self.sign("drawing your positions and your embedding")
        table = self.pieces["sinusoidal_table"](POSITIONS, SIZES["d_model"]).tolist()
        positions = [[round(float(number), 4) for number in row] for row in table]
        return replace(trained, positions=positions, embedding=self._embedding())

    def _embedding(self) -> list[list[float]]:
        """Return the embedding of every source character, projected on its two principal axes."""
        try:
            weight = self.model.src_embedding.token.embedding.weight.detach().double()
        except AttributeError:
            return []
        rows = weight[torch.tensor(dates.encode_source(dates.source_characters()))]
        if not rows.isfinite().all():
            return []
        centred = rows - rows.mean(dim=0)
        axes = torch.linalg.svd(centred, full_matrices=False).Vh[:2]
        return [[round(number, 4) for number in row] for row in (centred @ axes.T).tolist()]

    def shown(self) -> Sequence[str]:
        """Return the longest dates of some languages."""
        pairs = self.data.held_out_pairs(SHOWN_OF)
        longest = sorted(pairs, key=lambda pair: len(pair.source))
        return list(
            {pair.language: pair.source for pair in longest if pair.language in SHOWN}.values()
        )

    @torch.no_grad()
    def behaviour(self) -> Behaviour:
        """Return what the model does with unseen dates."""
        model = self.model
        model.eval()
        pairs = self.data.held_out_pairs(SHOWN_OF)[:SOME]
        src, tgt = tensors(pairs)
        alone, longer = (tensors(pairs[:1], more)[0] for more in (0, src.size(1) + 6))
        read = tgt[:, :-1]
        changed = read.clone()
        changed[:, -1] = dates.SPECIALS + (changed[:, -1] - dates.SPECIALS + 1) % 10
        repeated = src[:1, :1].expand(1, 8).contiguous()
        answers = tgt[:1, 1:2].expand(1, 8).contiguous()

        def says(some_src: Tensor, some_tgt: Tensor) -> Tensor:
            logits: Tensor = model(some_src, some_tgt)
            return logits

        def places_matter(states: Tensor) -> bool:
            return differ(states, states[:, :1].expand_as(states))

        def loss() -> Tensor:
            with torch.enable_grad():
                return self.loss_of(src, tgt)

        return Behaviour(
            future=tried(lambda: differ(says(src, changed)[:, :-1], says(src, read)[:, :-1])),
            padding=tried(lambda: differ(says(alone, read[:1]), says(longer, read[:1]))),
            source_order=tried(lambda: places_matter(model.encode(repeated))),
            target_order=tried(
                lambda: places_matter(model.decode(answers, model.encode(repeated), repeated))
            ),
            source=tried(lambda: differ(says(src.roll(1, 0), read), says(src, read))),
            unreached=unreached(model, loss),
            teacher_forced=_teacher_forced(model, src, tgt),
        )

    def answer(self, text: str) -> Translation:
        """Return the model's translation of a text, with its attention."""
        source = dates.tidy(text)
        (ids,) = self.translate([source])
        target = dates.decode_target(ids)
        unknown = "".join(sorted(set(source) - set(dates.source_characters())))
        weights = torch.zeros(0, 0, 0, 0)
        if source and target:
            decoder_input = torch.tensor([[BOS, *ids[1 : len(target)]]])
            src = torch.tensor([dates.encode_source(source)])
            self.model.eval()
            heads, layers = int(SIZES["n_heads"]), int(SIZES["num_layers"])
            weights = looking.cross_attention(self.model, src, decoder_input, heads, layers)
        return looking.seen(Translation(source, target, unknown=unknown), weights)


def _teacher_forced(model: Any, src: Tensor, tgt: Tensor) -> float:
    try:
        logits: Any = model(src, tgt[:, :-1])
        labels = tgt[:, 1:]
        right = (logits.argmax(-1) == labels) & (labels != PAD)
        return float(right.sum() / (labels != PAD).sum())
    except Exception:
        return 0.0

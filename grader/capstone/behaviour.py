"""What the whole model does, measured from outside, trained or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from grader.capstone import dates
from grader.capstone.dates import PAD, Pair
from grader.capstone.events import Behaviour
from grader.capstone.training import Training, tensors

NOTICED = 1e-3
SOME = 64


def measure(training: Training, written: Sequence[str]) -> Behaviour:
    """Measures the model of a training whose translations of the unseen dates are `written`."""
    model = training.model
    model.eval()
    pairs = training.held_out[:SOME]
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
        return _differ(states, states[:, :1].expand_as(states))

    def looks_at_the_source() -> bool:
        return _differ(says(src, read), says(src.roll(1, 0), read))

    with torch.no_grad():
        return Behaviour(
            future=_tried(lambda: _differ(says(src, changed)[:, :-1], says(src, read)[:, :-1])),
            padding=_tried(lambda: _differ(says(alone, read[:1]), says(longer, read[:1]))),
            source_order=_tried(lambda: places_matter(model.encode(repeated))),
            target_order=_tried(
                lambda: places_matter(model.decode(answers, model.encode(repeated), repeated))
            ),
            source=_tried(looks_at_the_source),
            unreached=_unreached(training, src, tgt),
            reshuffled=_reshuffled(written, training.held_out),
            teacher_forced=_teacher_forced(training, src, tgt),
        )


def _tried(measured: Callable[[], bool]) -> bool | None:
    try:
        return measured()
    except Exception:
        return None


def _differ(one: Tensor, other: Tensor) -> bool:
    return bool((one - other).abs().max() > NOTICED * (1 + other.abs().max()))


def _unreached(training: Training, src: Tensor, tgt: Tensor) -> list[str]:
    """The parameters that the loss sends no gradient to. A bias of keys never gets any."""
    try:
        with torch.enable_grad():
            training.optimiser.zero_grad()
            torch.autograd.backward(training.loss_of(src, tgt))
    except Exception:
        return []
    missed = [
        name
        for name, parameter in training.model.named_parameters()
        if not name.endswith("k_proj.bias") and (parameter.grad is None or not parameter.grad.any())
    ]
    training.optimiser.zero_grad()
    return missed


def _reshuffled(written: Sequence[str], pairs: Sequence[Pair]) -> float:
    """The share of wrong translations that have the right characters in another order."""
    both = [(one, pair.target) for one, pair in zip(written, pairs, strict=False)]
    wrong = [(one, target) for one, target in both if one != target]
    return sum(sorted(one) == sorted(target) for one, target in wrong) / max(1, len(wrong))


def _teacher_forced(training: Training, src: Tensor, tgt: Tensor) -> float:
    try:
        logits: Any = training.model(src, tgt[:, :-1])
        labels = tgt[:, 1:]
        right = (logits.argmax(-1) == labels) & (labels != PAD)
        return float(right.sum() / (labels != PAD).sum())
    except Exception:
        return 0.0

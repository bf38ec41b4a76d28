"""Black-box measurements of a language model's behaviour, trained or not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from grader.capstone.behaviour import NOTICED, differ, tried, unreached
from grader.capstone.events import Behaviour
from grader.capstone.language_training import LanguageTraining, OneSequence


def measure(training: LanguageTraining, caches: bool = False) -> Behaviour:
    """Measure the model of a training; with `caches`, what it says with them, too."""
    ids = training.tokens()[:8]
    changed = ids.clone()
    changed[:, -1] = (changed[:, -1] + 1) % training.vocab_size
    swapped = ids.clone()
    swapped[:, [0, 1]] = swapped[:, [1, 0]]
    model: Any = training.model

    def matters(changed_ids: Tensor, positions: slice) -> bool:
        return differ(model(changed_ids)[:, positions], model(ids)[:, positions])

    def loss() -> Tensor:
        return training.loss_of(OneSequence(model)(ids, ids[:, :-1]), ids[:, 1:])

    with torch.no_grad():
        behaviour = Behaviour(
            future=tried(lambda: matters(changed, slice(None, -1))),
            source=tried(lambda: matters(ids.roll(1, 0), slice(-1, None))),
            source_order=tried(lambda: matters(swapped, slice(2, None))),
            cached=tried(lambda: _same_with_caches(training, ids)) if caches else None,
        )
    return replace(behaviour, unreached=unreached(model, loss))


def _same_with_caches(training: LanguageTraining, ids: Tensor) -> bool:
    """Return whether the model says the same if it reads in two parts."""
    model: Any = training.model
    caches = [training.pieces["KVCache"]() for _ in model.blocks]
    half = ids.size(1) // 2
    parts = [model(ids[:, :half], caches), model(ids[:, half:], caches)]
    whole = model(ids)
    return bool((torch.cat(parts, dim=1) - whole).abs().max() <= NOTICED * (1 + whole.abs().max()))

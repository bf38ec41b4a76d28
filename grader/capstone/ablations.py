"""Ablations, which show what each part of a model is for: `grader capstone --without`.

No files are edited. When a module is imported, the function or class in question is replaced by one
that does everything but the part. So this works with any right answer that uses the pieces.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from grader.capstone.contract import ContractError


@dataclass(frozen=True)
class Part:
    """A part that can be left out: the piece that does it, and why the results change."""

    name: str
    exercise: str
    entry: str
    reason: str


_PARTS = (
    Part(
        "positions",
        "positional",
        "PositionalEncoding",
        "Attention by itself is blind to order: to it a sentence is a set of tokens, and "
        "21-11-2026 has the characters of 11-21-2026.",
    ),
    Part(
        "causal-mask",
        "masks",
        "target_mask",
        "Each position sees the character that it should predict, so it learns to copy it. The "
        "loss falls fast and means nothing: while writing, that character is not there yet.",
    ),
    Part(
        "scale",
        "attention",
        "attention",
        "Without the division by √d_k the scores are √d_k times as large, so the softmax is nearly "
        "one-hot and its gradient nearly zero. With d_k = 16, as here, the factor is only 4.",
    ),
    Part(
        "residual",
        "sublayer",
        "SublayerConnection",
        "The identity path is gone: what a token is has to pass through every sublayer, and so has "
        "the gradient.",
    ),
    Part(
        "norm",
        "layer_norm",
        "LayerNorm",
        "Nothing keeps the activations at one size from layer to layer, which a high learning rate "
        "does not forgive. With two layers, as here, a model may get away with it.",
    ),
    Part(
        "warm-up",
        "training",
        "noam_rate",
        "The first steps are taken at the highest rate, while Adam's averages still rest on a few "
        "noisy gradients. Post-norm models suffer most.",
    ),
)
NAMES = tuple(part.name for part in _PARTS)
EXPECTATIONS = ("as well", "worse, or more slowly", "next to nothing")


def find(name: str) -> Part:
    """Return the part called `name`. Raises `KeyError` if there is none."""
    return {part.name: part for part in _PARTS}[name]


class LeftOut:
    """Leaves a part out of a model's modules when they are imported."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.used = False

    def __call__(self, exercise: str, module: Any) -> None:
        """Replace what does the part, if this module of an exercise has it."""
        if exercise != self.part.exercise:
            return
        entry = getattr(module, self.part.entry)
        if isinstance(entry, type):
            forward = vars(entry)["forward"]
            type.__setattr__(
                entry, "forward", self._noticing(forward, _FORWARDS[self.part.name](forward))
            )
        else:
            setattr(
                module,
                self.part.entry,
                self._noticing(entry, _FUNCTIONS[self.part.name](entry, module)),
            )

    def check(self) -> None:
        """Raises `ContractError` if nothing was left out: the model has the part elsewhere."""
        if not self.used:
            entry, exercise = self.part.entry, self.part.exercise
            message = f"Your model never calls {entry} of {exercise}: nothing can be left out."
            raise ContractError(exercise, message)

    def _noticing(self, original: Any, replaced: Callable[..., Any]) -> Any:
        @functools.wraps(original)
        def noticing(*given: Any, **named: Any) -> Any:
            self.used = True
            return replaced(*given, **named)

        return noticing


def _identity(forward: Any) -> Any:
    del forward
    return lambda _, x: x


def _no_residual(forward: Any) -> Any:
    # The layer adds its input, so subtract it first: this holds for pre-norm and post-norm.
    return lambda self, x, sublayer: forward(self, x, lambda normed: sublayer(normed) - x)


def _only_padding(target_mask: Any, masks: Any) -> Any:
    del target_mask
    return lambda *given, **named: masks.padding_mask(*given, **named)


def _unscaled(attention: Any, module: Any) -> Any:
    del module

    def unscaled(query: Any, *given: Any, **named: Any) -> Any:
        return attention(query * query.size(-1) ** 0.5, *given, **named)

    return unscaled


def _no_warm_up(noam_rate: Any, module: Any) -> Any:
    del module
    return lambda step, d_model, warmup: noam_rate(max(step, warmup), d_model, warmup)


_FORWARDS: dict[str, Callable[[Any], Any]] = {
    "positions": _identity,
    "residual": _no_residual,
    "norm": _identity,
}
_FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "causal-mask": _only_padding,
    "scale": _unscaled,
    "warm-up": _no_warm_up,
}

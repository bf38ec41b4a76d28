"""Which part of a layer is right and which is not, where a layer as a whole is wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch.nn import Module

_NORMS = (
    "With freshly initialised norms, the output is right. Is each norm used, and each for "
    "its own sublayer?"
)
_TOGETHER = (
    "Each sublayer is right where the others return zeros. Does each receive the result of the one "
    "before it?"
)
_SUMS = (
    "Even where all sublayers return zeros, the output is wrong. A connection adds x and "
    "normalises. Is there one around each sublayer, and is nothing else added or normalised?"
)
_ORDER = (
    "Where all sublayers return zeros, the output is right as long as all norms are alike, so "
    "their order is wrong. Which sublayer comes first, and which connection is around it?"
)
_SOME = (
    "With one sublayer at a time, the others returning zeros: right with {right}, not with {wrong}."
)
_ALL = "Each of the sublayers is wrong even where the others return zeros."


def where_to_look(layer: Module, last_maps: Sequence[str], agrees: Callable[[], bool]) -> str:
    """Return a sentence on what is right in a layer whose output is wrong, and what is not.

    `last_maps` are the last linear maps of its sublayers, by name: with zeros in one, that sublayer
    returns zeros. `agrees` says whether the output is right with the weights that the layer has
    when it is called. Afterwards the layer has its weights back.
    """
    before = {name: parameter.detach().clone() for name, parameter in layer.named_parameters()}

    def agrees_with(silent: Sequence[str] = (), spread: float | None = None) -> bool:
        with torch.no_grad():
            for name, parameter in layer.named_parameters():
                parameter.copy_(before[name])
                if spread is not None and "norm" in name:  # all alike; 0: as they start
                    middle = 1.0 if name.endswith("weight") else 0.0
                    numbers = torch.linspace(middle - spread, middle + spread, parameter.numel())
                    parameter.copy_(numbers.view_as(parameter))
                if name.rpartition(".")[0] in silent:
                    parameter.zero_()
        return agrees()

    try:
        if agrees_with(spread=0.0):
            return _NORMS
        if not agrees_with(last_maps):
            return _ORDER if agrees_with(last_maps, spread=0.5) else _SUMS
        right = [name for name in last_maps if agrees_with([o for o in last_maps if o != name])]
    finally:
        agrees_with()
    wrong = [last_map for last_map in last_maps if last_map not in right]
    if not wrong:
        return _TOGETHER
    return _SOME.format(right=_listed(right), wrong=_listed(wrong)) if right else _ALL


def _listed(names: Sequence[str]) -> str:
    return " and ".join(f"`{name.partition('.')[0]}`" for name in names)

"""The panels of an exercise's picture, each with something that the code computes.

A panel asks the code for a tensor, always the same with right code, so that what is expected can be
kept as numbers. How it is drawn depends on its kind alone.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import torch
from torch import Tensor, nn

# The module, or the notebook's names, with the code of an exercise.
Answers = Callable[[str], Any]


class Kind(StrEnum):
    """How the numbers of a panel are drawn."""

    MATRIX = "matrix"
    MASK = "mask"
    WHOLE = "whole numbers"
    WORDS = "words"
    CURVES = "curves"
    POINTS = "points"
    STRIPS = "strips"


@dataclass(frozen=True)
class Panel:
    """One thing that is drawn twice, as it is and as it should be.

    `compute` asks the student's code. What it gives is compared with what is expected under the
    noun `what`; with `parts`, it is a tuple of things so called, and `part` says which is meant.
    `view` makes of it what is drawn: a matrix; of curves and strips each line is a row, of points
    each row is an (x, y). `rows` and `columns` name them, the columns of curves by numbers, `names`
    says what whole numbers stand for. Numbers that are drawn at random, or that right answers
    round or order differently, may be off by `tolerance`.
    """

    title: str
    what: str
    compute: Callable[[Answers], Any]
    kind: Kind = Kind.MATRIX
    rows: tuple[str, ...] = ()
    columns: tuple[str | float, ...] = ()
    row_axis: str = ""
    column_axis: str = ""
    view: Callable[[Tensor], Tensor] = lambda result: result
    parts: tuple[str, ...] = ()
    part: int = 0
    names: tuple[str, ...] = ()
    tolerance: float | None = None


# The names that parameters have by the exercises' texts. A module may have another name besides.
_NAMES = frozenset(
    (
        *("q_proj", "k_proj", "v_proj", "out_proj", "norm", "linear1", "linear2", "weight", "bias"),
        *("self_attn", "cross_attn", "feed_forward", "sublayers", "layers", "encoder", "decoder"),
        *("gate_proj", "up_proj", "down_proj", "attn_norm", "attn", "ffn_norm", "ffn", "blocks"),
        "lm_head",
        *("src_embedding", "tgt_embedding", "token", "position", "embedding", "generator"),
    )
)

# A model may use one matrix for both.
_MAY_BE_ONE = {"generator.weight": "tgt_embedding.token.embedding.weight"}


def wave(*shape: int, seed: float = 0.0) -> Tensor:
    """Return numbers that look drawn at random and are the same on every machine, in float32."""
    count = torch.Size(shape).numel()
    steps = torch.arange(count, dtype=torch.float64) + 1
    return (1.4 * torch.sin(steps * (1.7 + 0.31 * seed) + seed)).reshape(shape).float()


def filled(module: Any) -> Any:
    """Return the module in evaluation mode, with the same numbers in its parameters every time.

    They depend on names and shapes, not on the order in which the parameters were made.
    """
    named: dict[int, list[str]] = {}
    held: dict[int, nn.Parameter] = {}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        named.setdefault(id(parameter), []).append(name)
        held[id(parameter)] = parameter
    with torch.no_grad():
        for key, parameter in held.items():
            name = min(named[key], key=_unusual)
            name = _MAY_BE_ONE.get(name, name)
            numbers = wave(*parameter.shape, seed=zlib.crc32(name.encode()) % 89 / 7)
            if parameter.dim() > 1:
                parameter.copy_(numbers / parameter.shape[-1] ** 0.5)
            else:
                parameter.copy_(0.2 * numbers + (1.0 if name.endswith("weight") else 0.0))
    return module.eval()


def _unusual(name: str) -> tuple[bool, int, str]:
    parts = name.split(".")
    known = all(part in _NAMES or part.isdecimal() for part in parts)
    return not known, -len(parts), name


def changed_one_by_one(x: Tensor) -> Tensor:
    """Return a batch of `(L, d)`: unchanged, then with the first token changed, the second, …"""
    length = x.size(0)
    batch = x.repeat(length + 1, 1, 1)
    batch[1:] += 0.3 * torch.eye(length)[:, :, None] * wave(x.size(1), seed=5)
    return batch


def influence(output: Tensor) -> Tensor:
    """Return how much each token of the output, a row, moved when each of the input, a column, did.

    Takes what came of `changed_one_by_one`, `(1 + L, tokens, features)`.
    """
    moved: Tensor = (output[1:] - output[:1]).norm(dim=-1)
    return moved.T


def shares(numbers: Tensor, bound: float) -> Tensor:
    """Return the share of the numbers in each of 12 bins between ±1.5 times `bound`, `(1, 12)`."""
    counts = torch.histc(numbers.detach().float(), 12, -1.5 * bound, 1.5 * bound)
    return (counts / numbers.numel())[None]


def numbered(name: str, count: int) -> tuple[str, ...]:
    """Return names such as "token 0", "token 1"."""
    return tuple(f"{name} {index}" for index in range(count))


def floats(values: Iterable[float]) -> tuple[float, ...]:
    """Return places on an axis, without the digits that a step of 0.1 leaves."""
    return tuple(round(float(value), 6) for value in values)

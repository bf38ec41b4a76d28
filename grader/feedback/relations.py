"""What wrong numbers have to do with the right ones: a factor, a constant, another order."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

# Relative to the largest number. Numbers that a known slip makes agree far better than this.
_CLOSE = 1e-4
_NEAR_ONE = 1e-3


def question_for(yours: Tensor, asks: Mapping[str, Tensor]) -> str:
    """Return the question of `asks` whose numbers are those of `yours`; "" if there is none."""
    for question, numbers in asks.items():
        if numbers.shape == yours.shape and _alike(yours.double(), numbers.double()):
            return question
    return ""


def relation(yours: Tensor, expected: Tensor) -> str:
    """Return a sentence on what every number of `yours` has to do with the expected one, or ""."""
    yours, expected = yours.double(), expected.double()
    if expected.numel() < 2:
        return ""
    if not (yours.isfinite().all() and expected.isfinite().all()):
        return _order(yours, expected)
    if (expected != expected.flatten()[0]).any():
        constant = (yours - expected).mean()
        factor = (yours * expected).sum() / expected.square().sum()
        if factor < 0 and _alike(yours, -expected):
            return "Every number has the wrong sign."
        if factor > 0 and abs(factor - 1) > _NEAR_ONE and _alike(yours, factor * expected):
            return f"Every number is {factor.item():.4g} times the expected one."
        if _alike(yours, expected + constant):
            side = "large" if constant > 0 else "small"
            return f"Every number is too {side} by {abs(constant.item()):.4g}."
    is_square = expected.dim() >= 2 and expected.shape[-1] == expected.shape[-2]
    if is_square and _alike(yours, expected.mT) and not _alike(expected, expected.mT):
        return "These are the expected numbers with rows and columns swapped."
    return _order(yours, expected)


def _order(yours: Tensor, expected: Tensor) -> str:
    """Return a sentence where the expected numbers are there, in another order, or ""."""
    in_rows = [one.sort(-1).values for one in (yours, expected)]
    if _alike(*in_rows):
        return "Each row holds the expected numbers in another order."
    if expected.dim() < 2 or expected.shape[-1] < 2:
        return ""
    # Rows that are equal have equal sums, whatever the features are multiplied by.
    factors = torch.arange(1.0, expected.shape[-1] + 1, dtype=torch.float64).sqrt()
    rows = [one.flatten(0, -2) for one in (yours, expected)]
    left, right = (one[(one.nan_to_num() @ factors).argsort()] for one in rows)
    return "The rows are the expected ones in another order." if _alike(left, right) else ""


def _alike(left: Tensor, right: Tensor) -> bool:
    finite = right[right.isfinite()].abs()
    size = max(finite.max().item(), 1e-12) if finite.numel() else 0.0
    return torch.allclose(left, right, rtol=0.0, atol=_CLOSE * size, equal_nan=True)

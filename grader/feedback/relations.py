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
    return _order(yours, expected) or _shifted(yours, expected) or _part(yours, expected)


def _shifted(yours: Tensor, expected: Tensor) -> str:
    """Return a sentence where each row is the expected one of the row before or after, or ""."""
    if expected.dim() < 2 or expected.shape[-2] < 3:
        return ""
    rows = (yours[..., 1:, :], expected[..., :-1, :]), (yours[..., :-1, :], expected[..., 1:, :])
    for (own, others), which in zip(rows, ("before", "after"), strict=True):
        is_varied = not _alike(others[..., :1, :].expand_as(others), others)
        if is_varied and _alike(own, others):
            return f"Each row holds the numbers expected in the row {which} it."
    return ""


def _part(yours: Tensor, expected: Tensor) -> str:
    """Return a sentence on what holds of the wrong numbers, or of each row by itself, or ""."""
    size = expected.abs().max()
    wrong = (yours - expected).abs() > _CLOSE * size
    own, right = yours[wrong], expected[wrong]
    if own.numel() >= 2 and not wrong.all() and (right != right[0]).any():
        if _alike(own, -right):
            return "The wrong numbers have the wrong sign."
        factor = (own * right).sum() / right.square().sum()
        if factor > 0 and _alike(own, factor * right):
            return f"Each wrong number is {factor.item():.4g} times the expected one."
    if expected.dim() < 2 or expected.shape[-1] < 3 or not wrong.any(-1).all():
        return ""
    lengths = expected.square().sum(-1, keepdim=True)
    factors = (yours * expected).sum(-1, keepdim=True) / lengths.clamp(min=1e-12)
    if (factors > 0).all() and _alike(yours, factors * expected):
        low, high = factors.min().item(), factors.max().item()
        return f"Each row is the expected one times a number of its own, {low:.3g} to {high:.3g}."
    constants = (yours - expected).mean(-1, keepdim=True)
    if _alike(yours, expected + constants):
        return "Each row differs from the expected one by a constant of its own."
    return ""


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

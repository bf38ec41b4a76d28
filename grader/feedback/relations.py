"""What wrong numbers have to do with the right ones: a factor, a constant, another order."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

# Relative to the largest number. Numbers that a known slip makes agree far better than this.
_CLOSE = 1e-4
_NEAR_ONE = 1e-3
# What a relation leaves of the difference at most. Otherwise noise of both signs would have one.
_LEFT = 1e-2


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
        if factor < 0 and _explains(-expected, yours, expected):
            return "Every number has the wrong sign."
        is_factor = factor > 0 and abs(factor - 1) > _NEAR_ONE
        if is_factor and _explains(factor * expected, yours, expected):
            return f"Every number is {factor.item():.4g} times the expected one."
        if _explains(expected + constant, yours, expected):
            side = "large" if constant > 0 else "small"
            return f"Every number is too {side} by {abs(constant.item()):.4g}."
    is_square = expected.dim() >= 2 and expected.shape[-1] == expected.shape[-2]
    if is_square and _explains(expected.mT, yours, expected):
        return "These are the expected numbers with rows and columns swapped."
    return _order(yours, expected) or _shifted(yours, expected) or _part(yours, expected)


def _shifted(yours: Tensor, expected: Tensor) -> str:
    """Return a sentence where each row is the expected one of the row before or after, or ""."""
    if expected.dim() < 2 or expected.shape[-2] < 3:
        return ""
    early, late = slice(None, -1), slice(1, None)
    for own, other, which in ((late, early, "before"), (early, late, "after")):
        others = expected[..., other, :]
        is_varied = not _alike(others[..., :1, :].expand_as(others), others)
        if is_varied and _explains(others, yours[..., own, :], expected[..., own, :]):
            return f"Each row holds the numbers expected in the row {which} it."
    return ""


def _part(yours: Tensor, expected: Tensor) -> str:
    """Return a sentence on what holds of the wrong numbers, or of each row by itself, or ""."""
    size = expected.abs().max()
    difference = (yours - expected).abs()
    wrong = difference > _CLOSE * size
    own, right = yours[wrong], expected[wrong]
    is_part = own.numel() >= 2 and not wrong.all() and bool((right != right[0]).any())
    if is_part and difference[~wrong].max() <= _LEFT * _CLOSE * size:
        if _explains(-right[:, None], own[:, None], right[:, None]):
            return "The wrong numbers have the wrong sign."
        factor = (own * right).sum() / right.square().sum()
        if factor > 0 and _explains(factor * right[:, None], own[:, None], right[:, None]):
            return f"Each wrong number is {factor.item():.4g} times the expected one."
    if expected.dim() < 2 or expected.shape[-1] < 3 or not wrong.any(-1).all():
        return ""
    lengths = expected.square().sum(-1, keepdim=True)
    factors = (yours * expected).sum(-1, keepdim=True) / lengths.clamp(min=1e-12)
    if (factors > 0).all() and _explains(factors * expected, yours, expected):
        low, high = factors.min().item(), factors.max().item()
        if f"{low:.2g}" == f"{high:.2g}" != "1":  # what is about one time as large tells nothing
            return f"Each row is about {low:.2g} times the expected one."
        return f"Each row is the expected one times a different number, {low:.3g} to {high:.3g}."
    constants = (yours - expected).mean(-1, keepdim=True)
    if _explains(expected + constants, yours, expected):
        return "Each row differs from the expected one by its own constant."
    return ""


def _order(yours: Tensor, expected: Tensor) -> str:
    """Return a sentence where the expected numbers are there, in another order, or ""."""
    in_rows = [one.sort(-1).values for one in (yours, expected)]
    if _alike(*in_rows) and _is_less(in_rows[0] - in_rows[1], yours - expected):
        return "Each row holds the expected numbers in a different order."
    if expected.dim() < 2 or expected.shape[-1] < 2:
        return ""
    # Rows that are equal have equal sums, whatever the features are multiplied by.
    factors = torch.arange(1.0, expected.shape[-1] + 1, dtype=torch.float64).sqrt()
    rows = [one.flatten(0, -2) for one in (yours, expected)]
    left, right = (one[(one.nan_to_num() @ factors).argsort()] for one in rows)
    if _alike(left, right) and _is_less(left - right, yours - expected):
        return "The rows are the expected ones in a different order."
    return ""


def _explains(related: Tensor, yours: Tensor, expected: Tensor) -> bool:
    """Return whether each row of `yours` is far nearer to that of `related` than of `expected`."""
    left, difference = (yours - related).abs(), (yours - expected).abs()
    return _alike(yours, related) and bool((left.amax(-1) <= _LEFT * difference.amax(-1)).all())


def _is_less(left: Tensor, difference: Tensor) -> bool:
    """Return whether nearly nothing is left of the difference.

    What infinities and NaN differ by counts as large, and as nothing where they are left.
    """
    left = left.abs().nan_to_num(nan=0.0, posinf=0.0)
    difference = difference.abs().nan_to_num(nan=0.0, posinf=torch.inf)
    return bool(left.max() <= _LEFT * difference.max())


def _alike(left: Tensor, right: Tensor) -> bool:
    finite = right[right.isfinite()].abs()
    size = max(finite.max().item(), 1e-12) if finite.numel() else 0.0
    return torch.allclose(left, right, rtol=0.0, atol=_CLOSE * size, equal_nan=True)

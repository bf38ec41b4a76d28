"""What a mask hides from the layers of a model: tokens whose change affects no other token."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.checks.stack_cases import AXES, StackCase
from grader.checks.stack_extremes import LARGE
from grader.feedback.comparison import Mismatch, assert_finite, assert_matches, assert_shape
from grader.remote.proxy import RemoteModule


def assert_padding_hides(stack: RemoteModule, case: StackCase) -> None:
    """Check that a key hidden in self-attention affects no other token; a visible one does."""
    x, *memory = case.inputs
    batch, length, _ = x.shape
    noise = 3 * case.numbers.normal("noise", *x.shape, dtype=case.dtype)
    is_hidden = F.one_hot(case.numbers.ids("hidden", batch, high=length), length).bool()
    is_next = is_hidden.roll(1, 1)
    padding = ~is_hidden[:, None, None, :]
    before = stack(x, *memory, padding)
    assert_shape(before, dict(zip(AXES, x.shape, strict=True)))
    after = stack(torch.where(is_hidden[..., None], x + noise, x), *memory, padding)
    headline = "A token that the mask hides affects other tokens."
    check_same(after, before, ~is_hidden, headline, ("with another hidden token", "before"))
    changed = stack(torch.where(is_next[..., None], x + noise, x), *memory, padding)
    check_other(
        changed, before, ~is_next, "A token that the mask shows leaves another token as it was."
    )


def assert_causal_mask_hides(stack: RemoteModule, case: StackCase) -> None:
    """Check that under a causal mask no token sees a later one; the last sees the first."""
    x, *memory = case.inputs
    batch, length, _ = x.shape
    noise = 3 * case.numbers.normal("noise", *x.shape, dtype=case.dtype)
    is_last = F.one_hot(torch.full((batch,), length - 1), length).bool()
    causal = torch.ones(length, length, dtype=torch.bool).tril()
    before = stack(x, *memory, causal)
    assert_shape(before, dict(zip(AXES, x.shape, strict=True)))
    after = stack(torch.where(is_last[..., None], x + noise, x), *memory, causal)
    headline = "Under a causal mask, the last token affects earlier ones."
    check_same(after, before, ~is_last, headline, ("with another last token", "before"))
    is_first = is_last.roll(1, 1)
    changed = stack(torch.where(is_first[..., None], x + noise, x), *memory, causal)
    check_other(
        changed, before, is_last, "Under a causal mask, the first token leaves the last as it was."
    )
    first_hidden = causal.clone()
    first_hidden[0] = False
    assert_finite(
        stack(x, *memory, first_hidden),
        "output where the mask leaves a query nothing to attend to",
        axes=AXES,
    )


def assert_mask_of_heads(stack: RemoteModule, case: StackCase, attention: int = 0) -> None:
    """Check that a mask (n_heads, Lq, Lk) is one per head, the same for all sentences.

    `attention` is 0 for self-attention, 1 for cross-attention.
    """
    keys = case.inputs[attention].size(1)
    mask = case.numbers.mask("by head", case.sizes.n_heads, case.sizes.length, keys)
    no_masks = [None] * attention
    expected = stack(*case.inputs, *no_masks, mask[None])
    assert_shape(expected, dict(zip(AXES, case.inputs[0].shape, strict=True)))
    assert_matches(
        stack(*case.inputs, *no_masks, mask),
        expected,
        axes=AXES,
        help="Against (B, n_heads, Lq, Lk), a mask of three axes broadcasts as (n_heads, Lq, Lk).",
        sides=("mask (n_heads, Lq, Lk)", "mask (1, n_heads, Lq, Lk)"),
    )


def assert_mask_holds(student: Any, case: StackCase, attention: int = 0) -> None:
    """Check that a layer's mask hides a key where all scores are -1000, which no fill above does.

    `attention` is 0 for self-attention, 1 for cross-attention.
    """
    side = math.sqrt(LARGE / math.sqrt(case.sizes.d_head))
    weights = dict(case.layer_weights)
    for name, value in (("q_proj", side), ("k_proj", -side)):
        prefix = f"{case.kind.attentions[attention]}.{name}"
        weights[f"{prefix}.weight"] = torch.zeros_like(weights[f"{prefix}.weight"])
        weights[f"{prefix}.bias"] = torch.full_like(weights[f"{prefix}.bias"], value)
    layer = case.layer(student, weights)
    x, keys = case.inputs[0], case.inputs[attention]
    batch, length, _ = keys.shape
    is_hidden = F.one_hot(case.numbers.ids("hidden", batch, high=length), length).bool()
    masks = [None] * attention + [~is_hidden[:, None, None, :]]
    changed = list(case.inputs)
    changed[attention] = torch.where(is_hidden[..., None], -keys, keys)
    before, after = layer(*case.inputs, *masks), layer(*changed, *masks)
    assert_shape(before, dict(zip(AXES, x.shape, strict=True)))
    subject = "output with a mask, for scores of -1000"
    assert_finite(before, subject, axes=AXES)
    others = torch.ones(x.shape[:2], dtype=torch.bool) if attention else ~is_hidden
    headline = "Where all scores are -1000, a token that the mask hides affects the output."
    check_same(after, before, others, headline, ("with another hidden token", "before"))


def check_same(
    after: Any, before: Tensor, where: Tensor, headline: str, sides: tuple[str, str]
) -> None:
    """Check that a change does not affect the tokens `where`; else raise with `headline`.

    `sides` name the two outputs in messages: what was changed, and before it.
    """
    assert_shape(after, tuple(before.shape))
    try:
        assert_matches(after[where], before[where], sides=sides)
    except Mismatch as error:
        raise Mismatch(headline, error.finding.grid, error.finding.headline) from None


def check_other(after: Any, before: Tensor, where: Tensor, headline: str) -> None:
    """Check that a change affects all tokens `where`; else raise a Mismatch with `headline`."""
    assert_shape(after, tuple(before.shape))
    change = (after.double() - before.double()).abs().amax(-1)
    if (change[where] < 1e-6).any():
        raise Mismatch(
            headline,
            help="Is what attention returns used in your result? Does the mask reach every layer, "
            "and is it inverted on the way?",
        )

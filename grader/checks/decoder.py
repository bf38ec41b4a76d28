"""Hidden checks of `decoder`: the layer and the stack (Vaswani et al. 2017, section 3.1)."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from grader.checks import stack
from grader.checks.framework import check
from grader.checks.framework.precision import either_precision
from grader.checks.stack_cases import AXES, StackCase, cases
from grader.checks.stack_masks import (
    assert_causal_mask_hides,
    assert_mask_holds,
    assert_mask_of_heads,
    assert_padding_hides,
    check_other,
    check_same,
)
from grader.checks.stack_parts import DECODER
from grader.feedback.comparison import assert_finite, assert_shape

stack.declare_layer_checks(DECODER)


@check(points=1, inputs=(cases(DECODER), cases(DECODER, norm_first=True)), examples=1)
@either_precision
def test_tgt_mask_hides_tokens(student: Any, post: StackCase, pre: StackCase) -> None:
    """A token that tgt_mask hides affects no other token, in any layer; a visible one does.

    Sees a mask that is ignored, inverted, or passed to the first layer only, a mask of three axes,
    one per head, taken for one per sentence, and a fill that low scores outweigh. Compares the
    decoder with itself.
    """
    decoder = post.stack(student)
    assert_padding_hides(decoder, post)
    assert_causal_mask_hides(pre.stack(student), pre)
    assert_mask_of_heads(decoder, post)
    assert_mask_holds(student, post)


@check(points=1, inputs=cases(DECODER), examples=1)
@either_precision
def test_memory_mask_hides_the_source(student: Any, case: StackCase) -> None:
    """A source token that memory_mask hides affects nothing, in any layer; a visible one does.

    Sees a memory_mask that is ignored or goes to self-attention, a decoder that does not attend to
    the memory, and the NaN of a softmax over nothing. Compares the decoder with itself.
    """
    x, memory = case.inputs
    batch, length, _ = memory.shape
    noise = 3 * case.numbers.normal("noise", *memory.shape, dtype=case.dtype)
    is_hidden = F.one_hot(case.numbers.ids("hidden", batch, high=length), length).bool()
    mask = ~is_hidden[:, None, None, :]
    stack = case.stack(student)
    before = stack(x, memory, memory_mask=mask)
    assert_shape(before, dict(zip(AXES, x.shape, strict=True)))
    everywhere = torch.ones(x.shape[:2], dtype=torch.bool)
    after = stack(x, torch.where(is_hidden[..., None], memory + noise, memory), None, mask)
    headline = "A source token that memory_mask hides affects the output."
    check_same(after, before, everywhere, headline, ("with another hidden token", "before"))
    changed = stack(x, torch.where(is_hidden[..., None], memory, memory + noise), None, mask)
    check_other(
        changed,
        before,
        everywhere,
        "A source token that memory_mask shows does not affect the output.",
    )
    assert_mask_of_heads(stack, case, attention=1)
    assert_mask_holds(student, case, attention=1)
    mask[0] = False
    empty = stack(x, memory, None, mask)
    subject = "output where memory_mask leaves a sentence nothing to attend to"
    assert_finite(empty, subject, axes=AXES)
    everywhere[0] = False
    headline = "A sentence without anything to attend to in the memory affects another sentence."
    check_same(empty, before, everywhere, headline, ("beside that sentence", "before"))


stack.declare_stack_checks(DECODER)

"""Hidden checks of `encoder`: the layer and the stack (Vaswani et al. 2017, section 3.1)."""

from __future__ import annotations

from typing import Any

from grader.checks import stack
from grader.checks.framework import check
from grader.checks.framework.precision import either_precision
from grader.checks.stack_cases import StackCase, cases
from grader.checks.stack_masks import (
    assert_causal_mask_hides,
    assert_mask_holds,
    assert_mask_of_heads,
    assert_padding_hides,
)
from grader.checks.stack_parts import ENCODER

stack.declare_layer_checks(ENCODER)


@check(points=2, inputs=(cases(ENCODER), cases(ENCODER, norm_first=True)), examples=1)
@either_precision
def test_mask_hides_tokens(student: Any, post: StackCase, pre: StackCase) -> None:
    """A token that the mask hides affects no other token, in any layer; a visible one does.

    Sees a mask that is ignored, inverted, or passed to the first layer only, a mask of three axes,
    one per head, taken for one per sentence, and a fill that low scores outweigh. Compares the
    encoder with itself.
    """
    encoder = post.stack(student)
    assert_padding_hides(encoder, post)
    assert_causal_mask_hides(pre.stack(student), pre)
    assert_mask_of_heads(encoder, post)
    assert_mask_holds(student, post)


stack.declare_stack_checks(ENCODER)

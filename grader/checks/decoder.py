"""Hidden checks of `decoder`: the layer and the stack (Vaswani et al. 2017, section 3.1)."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from grader.checks import layer_assertions as shared
from grader.checks.framework import check
from grader.checks.framework.precision import assert_settings_kept, either_precision
from grader.checks.layers import DECODER, StackCase, cases
from grader.feedback.comparison import assert_shape


@check(points=3, inputs=cases(DECODER), examples=1)
@either_precision
def test_layer_agrees_with_torch(student: Any, case: StackCase) -> None:
    """DecoderLayer gives what nn.TransformerDecoderLayer gives with the same weights.

    Sees a residual sum that is missing or in the wrong place, a norm that is used twice, another
    order of the sublayers.
    """
    shared.assert_layer_agrees(student, case)


@check(points=2, inputs=cases(DECODER, norm_first=True), examples=1)
@either_precision
def test_norm_first_layer_agrees_with_torch(student: Any, case: StackCase) -> None:
    """DecoderLayer with norm_first gives what nn.TransformerDecoderLayer(norm_first=True) gives.

    Sees `norm_first` that is ignored or does not reach all sublayers, and query, key or value that
    passes by the norm.
    """
    shared.assert_layer_agrees(student, case)


@check(points=1, inputs=cases(DECODER, norm_first=True, activation="gelu"), examples=1)
@either_precision
def test_activation_reaches_the_feed_forward_network(student: Any, case: StackCase) -> None:
    """With activation="gelu", the feed-forward network uses the exact GELU.

    Sees `activation` ignored. Lets mistakes in the residual sums pass.
    """
    shared.assert_activation(student, case)


@check(points=1, inputs=(cases(DECODER), cases(DECODER, norm_first=True)), examples=1)
@either_precision
def test_tgt_mask_hides_tokens(student: Any, post: StackCase, pre: StackCase) -> None:
    """What tgt_mask hides changes no other token, through all layers, and what it shows does.

    Sees a mask that is ignored, read the other way round, or handed to the first layer only.
    Compares your decoder with itself.
    """
    shared.assert_padding_hides(student, post)
    shared.assert_causal_mask_hides(student, pre)


@check(points=1, inputs=cases(DECODER), examples=1)
@either_precision
def test_memory_mask_hides_the_source(student: Any, case: StackCase) -> None:
    """What memory_mask hides changes nothing, through all layers, and what it shows does.

    Sees a memory_mask that is ignored or goes to self-attention, and a decoder that does not look
    at the memory. Compares your decoder with itself.
    """
    x, memory = case.inputs
    batch, length, _ = memory.shape
    noise = 3 * case.numbers.normal("noise", *memory.shape, dtype=case.dtype)
    is_hidden = F.one_hot(case.numbers.ids("hidden", batch, high=length), length).bool()
    mask = ~is_hidden[:, None, None, :]
    stack = case.stack(student)
    before = stack(x, memory, memory_mask=mask)
    assert_shape(before, dict(zip(shared.AXES, x.shape, strict=True)))
    everywhere = torch.ones(x.shape[:2], dtype=torch.bool)
    after = stack(x, torch.where(is_hidden[..., None], memory + noise, memory), None, mask)
    shared.check_same(after, before, everywhere, "What memory_mask hides changes the output.")
    seen = stack(x, torch.where(is_hidden[..., None], memory, memory + noise), None, mask)
    shared.check_other(seen, before, everywhere, "What memory_mask shows changes nothing.")


@check(
    points=2,
    inputs=(cases(DECODER, activation="gelu"), cases(DECODER, norm_first=True, activation="gelu")),
    examples=1,
)
@either_precision
def test_stack_is_its_layers_in_turn(student: Any, post: StackCase, pre: StackCase) -> None:
    """Decoder sends x through its layers in turn, and in pre-norm through one more norm at the end.

    Sees a final norm that is missing or is there in post-norm too, layers in another order, one
    layer used for all, and options that do not reach the layers. Compares your decoder with your
    own layers.
    """
    for case in (post, pre):
        shared.assert_stack_is_its_layers(student, case)


@check(
    points=1,
    inputs=(cases(DECODER, activation="gelu"), cases(DECODER, norm_first=True, activation="gelu")),
    examples=1,
)
@either_precision
def test_every_layer_has_its_own_parameters(student: Any, post: StackCase, pre: StackCase) -> None:
    """The parameters have the right names, no two layers share one, and each of them has a say.

    Sees layers in a plain list, one layer put there many times, a norm that is made and not used.
    """
    for case in (post, pre):
        shared.assert_own_parameters(student, case)


@check(points=1, inputs=(cases(DECODER), cases(DECODER, norm_first=True)), examples=1)
@either_precision
def test_gradients_agree_with_torch(student: Any, post: StackCase, pre: StackCase) -> None:
    """Gradients flow to x, to memory and to every parameter as through torch's own layers.

    Sees `detach`, `.data` and `no_grad` between the layers, which no value shows.
    """
    shared.assert_layer_gradients(student, post)
    shared.assert_stack_gradients(student, pre)


@check(points=1, inputs=cases(DECODER), examples=1)
@either_precision
def test_dropout_is_at_every_place(student: Any, case: StackCase) -> None:
    """While training, dropout acts on attention weights, inside feed-forward and on all results.

    Sees a place that `dropout` does not reach, and one where it does not belong.
    """
    shared.assert_dropout_places(student, case)


@check(points=1, inputs=(cases(DECODER), cases(DECODER, norm_first=True)), examples=1)
@either_precision
def test_dropout_reaches_every_layer(student: Any, post: StackCase, pre: StackCase) -> None:
    """`dropout` reaches every layer of the stack, comes before the sum, and is off in evaluation.

    Sees dropout after a norm, of a fixed probability, in one layer only, or left on in evaluation,
    and another default than 0.1.
    """
    for case in (post, pre):
        shared.assert_dropout_reaches_the_stack(student, case)


@check(points=1, inputs=cases(DECODER, norm_first=True), examples=1)
def test_works_on_any_input(student: Any, case: StackCase) -> None:
    """Any batch, length, memory layout and dtype will do, copies work, and inputs stay as they are.

    Sees sizes that are kept from an earlier call, a mix-up of batch and length, edits in place, and
    an output in another dtype.
    """
    settings = student.global_settings()
    either_precision(shared.assert_any_input)(student, case)
    assert_settings_kept(settings, student.global_settings())


@check(points=0, inputs=cases(DECODER, norm_first=True), examples=1)
def test_keeps_float64(student: Any, case: StackCase) -> None:
    """In float64 the output has the accuracy of float64.

    Sees a `.float()` on the way. It costs nothing: float32 is accurate enough here.
    """
    shared.assert_keeps_float64(student, case)

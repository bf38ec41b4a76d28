"""The hidden checks that encoder and decoder have in common.

Where it can be, a module is compared with itself, or with the student's own layers, so that a
mistake in one place is seen in one place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.checks.framework.assertions import (
    assert_changes,
    assert_defaults,
    assert_gradients,
    assert_not_edited,
    assert_registers,
    gradients,
)
from grader.checks.framework.inputs import transposed
from grader.checks.framework.precision import assert_same_dtype
from grader.checks.layers import (
    NUM_LAYERS,
    Sizes,
    StackCase,
    Weights,
    below,
    layer_norm,
    layer_shapes,
    tracked,
    tracked_weights,
)
from grader.feedback.comparison import Mismatch, assert_finite, assert_matches, assert_shape

AXES = ("batch", "length", "d_model")
LAYER_DEFAULTS = {"dropout": 0.1, "activation": "relu", "norm_first": False}
# Drops everything. Not 1, since a dropout made by hand may divide by 1 - p.
ALMOST_ONE = 1 - 1e-14


def assert_layer_agrees(student: Any, case: StackCase) -> None:
    """The layer returns what torch's does: for any number of heads, tokens and sentences."""
    layer = case.layer(student)
    assert_matches(layer(*case.inputs), case.layer_output, axes=AXES)
    first = [tensor[:1, :1] for tensor in case.inputs]
    assert_matches(layer(*first), case.first_token_output, "output for one token", axes=AXES)
    # Measured: eps 1e-6 in place of 1e-5 is off by 2e-3 and more here, float32 by 2e-6.
    small, large = case.small, case.large
    layer.load(small.layer_weights, strict=False)
    assert_matches(layer(*small.inputs), small.layer_output, "output for a small x", axes=AXES)
    if case.norm_first:
        layer.load(large.layer_weights, strict=False)
        assert_matches(layer(*large.inputs), large.layer_output, "output for a large x", axes=AXES)
    extreme = case.extreme
    found = extreme.layer(student)(*extreme.inputs)
    what = f"output with n_heads={extreme.sizes.n_heads}, d_model={extreme.sizes.d_model}"
    assert_matches(found, extreme.layer_output, what, axes=AXES)


def assert_activation(student: Any, case: StackCase) -> None:
    """What the feed-forward network adds to x in pre-norm is a GELU network's answer to norm(x).

    The attention is silent, and the sum is taken away, so that other mistakes may pass.
    """
    silent = {
        name: _silenced(name, value, "out_proj") for name, value in case.layer_weights.items()
    }
    without = {name: _silenced(name, value, "linear2") for name, value in silent.items()}
    layer = case.layer(student, silent)
    output = layer(*case.inputs)
    assert_shape(output, dict(zip(AXES, case.inputs[0].shape, strict=True)))
    found = output - layer.load(without, strict=False)(*case.inputs)
    last = f"sublayers.{len(case.inputs)}."
    hidden = layer_norm(case.inputs[0].double(), below(case.layer_weights, last))
    for name, activation in (("linear1", F.gelu), ("linear2", None)):
        weight, bias = (
            case.layer_weights[f"feed_forward.{name}.{part}"].double()
            for part in ("weight", "bias")
        )
        hidden = F.linear(hidden, weight, bias)
        hidden = hidden if activation is None else activation(hidden)
    # Measured: GELU's tanh form is off by 1e-4 and more, float32 by 1e-6.
    assert_matches(found, hidden, 'feed-forward part of the sum, with "gelu",', axes=AXES)


def _silenced(name: str, value: Tensor, part: str) -> Tensor:
    return torch.zeros_like(value) if part in name else value


def assert_stack_is_its_layers(student: Any, case: StackCase) -> None:
    """The stack does what the student's own layers do in turn, and then a norm in pre-norm."""
    weights = case.stack_weights
    layer = case.layer(student, below(weights, "layers.0."))
    if case.norm_first:
        assert_attends(layer, case)
    x, *memory = case.inputs
    masks = case.no_masks if case.norm_first else case.masks
    for index in range(NUM_LAYERS):
        x = layer.load(below(weights, f"layers.{index}."), strict=False)(x, *memory, *masks)
        assert_shape(x, dict(zip(AXES, case.inputs[0].shape, strict=True)))
    if case.norm_first:
        x = layer_norm(x, weights)
    found = case.stack(student)(*case.inputs, *masks)
    assert_matches(
        found, x, axes=AXES, help=f"Compared with your own {case.kind.layer}s, one after the other."
    )


def assert_attends(layer: Any, case: StackCase) -> None:
    """The layer's output is the same twice, and another with other scores. No lazy answer's is."""
    output = layer(*case.inputs)
    assert_shape(output, dict(zip(AXES, case.inputs[0].shape, strict=True)))
    assert_matches(layer(*case.inputs), output, "output of a second call", axes=AXES)
    weights = below(case.stack_weights, "layers.0.")
    for attention in case.kind.attentions:
        name = f"{attention}.q_proj.weight"
        layer.load(weights | {name: -weights[name]}, strict=False)
        assert_changes(layer(*case.inputs), output, f"The numbers in `{name}` change nothing.")


def assert_own_parameters(student: Any, case: StackCase) -> None:
    """Every layer has weights of its own, under the names of the contract, and uses them all."""
    weights = tracked_weights(case.stack_weights)
    stack = case.stack(student, weights)
    what = case.kind.stack
    assert_registers(stack, {name: value.shape for name, value in weights.items()}, what)
    held = stack.weights(weights)
    for name, value in weights.items():
        if not torch.equal(held[name], value.to(held[name].dtype)):
            raise Mismatch(
                f"`{name}` does not keep the numbers that are put there: it shares them with "
                "another parameter.",
                help="Is each layer an object of its own?",
            )
    found = gradients(stack(*case.inputs), list(weights.values()), case.cotangent)
    assert_all_used(dict(zip(weights, found, strict=True)))
    left = case.stack(student).stay_behind() if case.norm_first else []
    if left:
        raise Mismatch(
            f"`{left[0]}` is a tensor that `.to(...)` does not move.",
            help="A constant is a buffer: see `register_buffer`.",
        )


def assert_all_used(found: dict[str, Tensor | None]) -> None:
    """To every parameter a gradient comes, with numbers that differ.

    All but the bias of the keys: the softmax does not see what all keys have in common.
    """
    for name, gradient in found.items():
        if gradient is None or (
            not name.endswith("k_proj.bias") and (gradient.max() - gradient.min()).item() <= 1e-9
        ):
            raise Mismatch(f"`{name}` has no say in the output: no gradient reaches it.")


def assert_layer_gradients(student: Any, case: StackCase) -> None:
    """Gradients of a layer, with masks, are torch's."""
    inputs, weights = tracked(case.inputs), tracked_weights(case.layer_weights)
    output = case.layer(student, weights)(*inputs, *case.masks)
    found = gradients(output, [*inputs, *weights.values()], case.cotangent)
    names = ("x", "memory")[: len(inputs)]
    assert_gradients(found, case.layer_gradients, (*names, *weights))


def assert_stack_gradients(student: Any, case: StackCase) -> None:
    """Gradients of a stack, with masks, are torch's."""
    inputs, weights = tracked(case.inputs), tracked_weights(case.stack_weights)
    output = case.stack(student, weights)(*inputs, *case.masks)
    found = gradients(output, [*inputs, *weights.values()], case.cotangent)
    names = ("x", "memory")[: len(inputs)]
    assert_gradients(found, case.stack_gradients, (*names, *weights))


def assert_dropout_places(student: Any, case: StackCase) -> None:
    """Half is dropped inside each sublayer, and half of what each returns.

    One sublayer speaks at a time, in pre-norm, with weights that make every kept item count one.
    """
    sizes = Sizes(batch=8, length=8, source=16, n_heads=4, d_head=4, d_ff=16)
    wide = replace(case, sizes=sizes, norm_first=True)
    arguments = (sizes.d_model, sizes.n_heads, sizes.d_ff, 0.5, "relu", True)
    layer = getattr(student, case.kind.layer)(*arguments).to(case.dtype)
    x, *memory = wide.inputs
    x = torch.round(2 * x) / 4
    for sublayer, group, weights, evaluated in _speakers(wide):
        layer.load(weights, strict=False)
        plain = layer.eval()(x, *memory)
        assert_matches(plain, x + evaluated, "output in evaluation", axes=AXES)
        _check_counts(layer.train()(x, *memory), x, group, sublayer)
    _check_default_dropout(student, wide, x)


def _check_default_dropout(student: Any, case: StackCase, x: Tensor) -> None:
    layer = getattr(student, case.kind.layer)(
        case.sizes.d_model, case.sizes.n_heads, case.sizes.d_ff, norm_first=True
    )
    silent = _silent(case)
    bias = "feed_forward.linear2.bias"
    layer.to(case.dtype).load(silent | {bias: torch.ones_like(silent[bias])}, strict=False)
    output = layer.train()(x, *case.inputs[1:])
    assert_shape(output, dict(zip(AXES, x.shape, strict=True)))
    expected = torch.where((output - x).abs() < 0.5, x, x + 1 / 0.9)
    assert_matches(output, expected, "output in training with the default of dropout", axes=AXES)


def _speakers(case: StackCase) -> Iterator[tuple[str, int, Weights, float]]:
    """For each sublayer: features dropped as one inside, weights, what it adds in evaluation."""
    silent, sizes = _silent(case), case.sizes
    for attention, tensor in zip(case.kind.attentions, case.inputs, strict=True):
        value = tensor.size(1) / 4
        speaking = {
            f"{attention}.v_proj.bias": torch.full((sizes.d_model,), value, dtype=case.dtype),
            f"{attention}.out_proj.weight": torch.eye(sizes.d_model, dtype=case.dtype),
        }
        yield attention, sizes.d_head, silent | speaking, value
    speaking = {
        "feed_forward.linear1.bias": torch.ones(sizes.d_ff, dtype=case.dtype),
        "feed_forward.linear2.weight": torch.full(
            (sizes.d_model, sizes.d_ff), 0.25, dtype=case.dtype
        ),
    }
    yield "feed_forward", sizes.d_model, silent | speaking, sizes.d_ff / 4


def _silent(case: StackCase) -> Weights:
    """Weights of a layer whose sublayers return zeros."""
    return {
        name: torch.full(shape, float(name.endswith("norm.weight")), dtype=case.dtype)
        for name, shape in layer_shapes(case.kind, case.sizes).items()
    }


def _check_counts(output: Any, x: Tensor, group: int, sublayer: str) -> None:
    """What is added to x counts what was kept inside, or is zero where it was dropped afterwards.

    There are 64 groups of 16 features, or 256 of 4. Half of all 1024 numbers are zero, give or
    take seven standard deviations, and three quarters if a dropout is there twice.
    """
    assert_shape(output, dict(zip(AXES, x.shape, strict=True)))
    assert_finite(output, "output in training", axes=AXES)
    added = (output.double() - x.double()).unflatten(-1, (-1, group))
    dropped = added.abs() < 1e-3
    if not (dropped.any(-1) & ~dropped.all(-1)).any():
        raise Mismatch(
            f"While training, no single features of what `{sublayer}` returns are dropped."
        )
    heard = added[~dropped]
    if (heard - heard[0]).abs().max().item() < 1e-3:
        raise Mismatch(f"While training, nothing is dropped inside `{sublayer}`.")
    counts = torch.round(added.amax(-1, keepdim=True))
    wanted = torch.where(dropped, torch.zeros_like(added), counts)
    share = dropped.double().mean().item()
    if (added - wanted).abs().max().item() > 1e-3 or abs(share - 0.5) > 7 / 64:
        raise Mismatch(
            f"While training, what `{sublayer}` adds to x is not what dropout 0.5 inside and after "
            "it leaves.",
            help="Do both get the probability, and does anything else drop?",
        )


def assert_dropout_reaches_the_stack(student: Any, case: StackCase) -> None:
    """With everything dropped only the norms are left; in evaluation everything is there."""
    assert_defaults(student, case.kind.stack, LAYER_DEFAULTS)
    # A small x, so that `eps` counts in the first norm of post-norm and the last of pre-norm.
    x, *memory = case.inputs
    x = x * 0.01
    arguments = (x, *memory, *case.masks)
    stack, bare = case.stack(student, dropout=ALMOST_ONE), _bare(x, case)
    what = "output in training with everything dropped"
    assert_matches(stack.train()(*arguments), bare, what, axes=AXES)
    plain = stack.eval()(*arguments)
    assert_changes(plain, bare, "The sublayers add nothing in evaluation.")
    assert_matches(stack(*arguments), plain, "output of a second call in evaluation", axes=AXES)
    if case.norm_first:
        found = case.stack(student).train()(*arguments)
        assert_matches(found, plain, "output in training with dropout=0", axes=AXES)


def _bare(x: Tensor, case: StackCase) -> Tensor:
    """What is left of a stack whose sublayers find nothing."""
    x = x.double()
    if case.norm_first:
        return layer_norm(x, case.stack_weights)
    for index in range(NUM_LAYERS):
        for sublayer in range(len(case.inputs) + 1):
            x = layer_norm(x, case.stack_weights, f"layers.{index}.sublayers.{sublayer}.")
    return x


def assert_any_input(student: Any, case: StackCase) -> None:
    """Parts of a batch, other lengths, other layouts and copies give what they should."""
    stack = case.stack(student)
    # Before the first call, after which it may keep tensors that cannot be copied.
    copied = stack.copy()
    x, *memory = case.inputs
    output = stack(x, *memory)
    assert_shape(output, dict(zip(AXES, x.shape, strict=True)))
    alone = stack(x[1:2], *(tensor[1:2] for tensor in memory))
    assert_matches(alone, output[1:2], "output of a sentence without the others", axes=AXES)
    for size in (1, x.size(1) - 1):
        found, expected = (one(x[:, :size], *memory) for one in (stack, copied))
        assert_shape(expected, (x.size(0), size, x.size(2)))
        what = "output for a shorter sentence, after a longer one"
        assert_matches(found, expected, what, axes=AXES, sides=("yours", "for the first"))
    arguments = [transposed(tensor) for tensor in case.inputs]
    found, after = stack.echo(*arguments, *case.masks)
    assert_matches(
        found,
        stack(*case.inputs, *case.masks),
        "output for tensors that are not contiguous",
        axes=AXES,
    )
    names = ("x", "memory")[: len(arguments)] + ("mask",) * len(case.masks)
    assert_not_edited([*arguments, *case.masks], after, names)
    assert_matches(copied(x, *memory), output, "output of a deep copy", axes=AXES)
    name = "layers.0.self_attn.q_proj.weight"
    weights = case.stack_weights
    other = stack.load(weights | {name: -weights[name]}, strict=False)(x, *memory)
    assert_changes(other, output, f"The numbers in `{name}` change nothing.")

    def in_dtype(dtype: torch.dtype) -> Any:
        return stack.to(dtype).load(weights, strict=False)(
            *(tensor.to(dtype) for tensor in case.inputs)
        )

    assert_same_dtype(in_dtype, output)


def assert_keeps_float64(student: Any, case: StackCase) -> None:
    """The stack agrees with torch's to the accuracy of float64."""
    found = case.stack(student)(*case.inputs, *case.masks)
    assert_matches(found, case.stack_output, axes=AXES, rtol=1e-9, atol=1e-9)


def assert_padding_hides(student: Any, case: StackCase) -> None:
    """A key that the mask of self-attention hides changes nothing, in any layer; another does."""
    x, *memory = case.inputs
    batch, length, _ = x.shape
    stack = case.stack(student)
    noise = 3 * case.numbers.normal("noise", *x.shape, dtype=case.dtype)
    is_hidden = F.one_hot(case.numbers.ids("hidden", batch, high=length), length).bool()
    is_next = is_hidden.roll(1, 1)
    padding = ~is_hidden[:, None, None, :]
    before = stack(x, *memory, padding)
    assert_shape(before, dict(zip(AXES, x.shape, strict=True)))
    after = stack(torch.where(is_hidden[..., None], x + noise, x), *memory, padding)
    check_same(after, before, ~is_hidden, "A token that the mask hides changes other tokens.")
    seen = stack(torch.where(is_next[..., None], x + noise, x), *memory, padding)
    check_other(seen, before, ~is_next, "A token that the mask shows changes no other token.")


def assert_causal_mask_hides(student: Any, case: StackCase) -> None:
    """Under a causal mask no token sees a later one, in any layer; the last sees the first."""
    x, *memory = case.inputs
    batch, length, _ = x.shape
    stack = case.stack(student)
    noise = 3 * case.numbers.normal("noise", *x.shape, dtype=case.dtype)
    is_last = F.one_hot(torch.full((batch,), length - 1), length).bool()
    causal = torch.ones(length, length, dtype=torch.bool).tril()
    before = stack(x, *memory, causal)
    assert_shape(before, dict(zip(AXES, x.shape, strict=True)))
    after = stack(torch.where(is_last[..., None], x + noise, x), *memory, causal)
    check_same(after, before, ~is_last, "The last token changes what a causal mask hides it from.")
    is_first = is_last.roll(1, 1)
    seen = stack(torch.where(is_first[..., None], x + noise, x), *memory, causal)
    check_other(seen, before, is_last, "Under a causal mask, the first token changes no other.")
    nothing = causal.clone()
    nothing[0] = False
    assert_finite(stack(x, *memory, nothing), "output with an empty row in the mask", axes=AXES)


def check_same(after: Any, before: Tensor, where: Tensor, what: str) -> None:
    """The tokens at the places `where` are what they were before a change."""
    assert_shape(after, tuple(before.shape))
    assert_matches(
        after[where], before[where], "output", help=what, sides=("after a change", "before it")
    )


def check_other(after: Any, before: Tensor, where: Tensor, what: str) -> None:
    """The tokens at the places `where` are others than before a change."""
    assert_shape(after, tuple(before.shape))
    change = (after.double() - before.double()).abs().amax(-1)
    if (change[where] < 1e-6).any():
        raise Mismatch(what, help="Does the mask reach every layer, the right way round?")

"""Where dropout acts in the layers of a stack: inside each sublayer, and on what it returns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from grader.checks.framework.assertions import assert_changes, assert_defaults
from grader.checks.stack_cases import AXES, StackCase, layer_norm
from grader.checks.stack_parts import NUM_LAYERS, Sizes, Weights, layer_shapes
from grader.feedback.comparison import Mismatch, assert_finite, assert_matches, assert_shape

LAYER_DEFAULTS = {"dropout": 0.1, "activation": "relu", "norm_first": False}
# Drops everything. Not 1, since a dropout made by hand may divide by 1 - p.
ALMOST_ONE = 1 - 1e-14


def assert_dropout_places(student: Any, case: StackCase) -> None:
    """Check that half is dropped inside each sublayer, and half of what each returns.

    Only one sublayer at a time returns more than zeros, in pre-norm, with weights that make every
    kept number count one.
    """
    sizes = Sizes(batch=8, length=8, source=16, n_heads=4, d_head=4, d_ff=16)
    wide = replace(case, sizes=sizes, norm_first=True)
    arguments = (sizes.d_model, sizes.n_heads, sizes.d_ff, 0.5, "relu", True)
    layer = getattr(student, case.kind.layer)(*arguments).to(case.dtype)
    x, *memory = wide.inputs
    x = torch.round(2 * x) / 4
    show_all = [torch.ones(x.size(1), keys.size(1), dtype=torch.bool) for keys in wide.inputs]
    for sublayer, group, weights, evaluated in _speakers(wide):
        layer.load(weights, strict=False)
        plain = layer.eval()(x, *memory)
        assert_matches(plain, x + evaluated, "output in evaluation", axes=AXES)
        layer.train()
        for masks in ([], show_all):
            _check_counts(layer(x, *memory, *masks), x, group, sublayer)
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
    assert_matches(output, expected, "output in training with the default dropout", axes=AXES)


def _speakers(case: StackCase) -> Iterator[tuple[str, int, Weights, float]]:
    """Yield each sublayer's name, group of features inside, weights, and what it adds."""
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
    """Return weights of a layer whose sublayers return zeros."""
    return {
        name: torch.full(shape, float(name.endswith("norm.weight")), dtype=case.dtype)
        for name, shape in layer_shapes(case.kind, case.sizes).items()
    }


def inside(sublayer: str) -> str:
    """Return what is not dropped where all that a sublayer returns and keeps is equal.

    Its input or its result may be dropped all the same.
    """
    if sublayer == "feed_forward":
        return f"no number between the two maps of `{sublayer}`"
    return f"no weight of `{sublayer}`"


def _check_counts(output: Any, x: Tensor, group: int, sublayer: str) -> None:
    """Check that what is added to x counts what was kept inside, or is zero where it was dropped.

    There are 64 groups of 16 features, or 256 of 4. Half of all 1024 numbers are zero, within seven
    standard deviations; with two dropouts it would be three quarters.
    """
    assert_shape(output, dict(zip(AXES, x.shape, strict=True)))
    assert_finite(output, "output in training", axes=AXES)
    added = (output.double() - x.double()).unflatten(-1, (-1, group))
    dropped = added.abs() < 1e-3
    if not (dropped.any(-1) & ~dropped.all(-1)).any():
        raise Mismatch(
            f"During training, dropout does not act on each number that `{sublayer}` returns."
        )
    heard = added[~dropped]
    if (heard - heard[0]).abs().max().item() < 1e-3:
        raise Mismatch(f"During training, {inside(sublayer)} is dropped.")
    counts = torch.round(added.amax(-1, keepdim=True))
    expected = torch.where(dropped, torch.zeros_like(added), counts)
    share = dropped.double().mean().item()
    if (added - expected).abs().max().item() > 1e-3 or abs(share - 0.5) > 7 / 64:
        raise Mismatch(
            f"During training, what `{sublayer}` adds to x does not fit dropout 0.5 inside "
            "it and on its result.",
            help="Do both have this probability, and is there another dropout?",
        )


def assert_dropout_reaches_the_stack(student: Any, case: StackCase) -> None:
    """Check that only the norms remain with everything dropped, and everything in evaluation."""
    assert_defaults(student, case.kind.stack, LAYER_DEFAULTS)
    # A small x, so that `eps` matters in the first norm of post-norm and the last of pre-norm.
    x, *memory = case.inputs
    x = x * 0.01
    arguments = (x, *memory, *case.masks)
    stack, bare = case.stack(student, dropout=ALMOST_ONE), _bare(x, case)
    subject = "output in training with everything dropped"
    assert_matches(stack.train()(*arguments), bare, subject, axes=AXES)
    plain = stack.eval()(*arguments)
    assert_changes(plain, bare, "In evaluation, the sublayers add nothing.")
    assert_matches(stack(*arguments), plain, "output of a second call in evaluation", axes=AXES)
    if case.norm_first:
        result = case.stack(student).train()(*arguments)
        assert_matches(result, plain, "output in training with dropout=0", axes=AXES)


def _bare(x: Tensor, case: StackCase) -> Tensor:
    """Return the output of a stack whose sublayers return zeros."""
    x = x.double()
    if case.norm_first:
        return layer_norm(x, case.stack_weights)
    for index in range(NUM_LAYERS):
        for sublayer in range(len(case.inputs) + 1):
            x = layer_norm(x, case.stack_weights, f"layers.{index}.sublayers.{sublayer}.")
    return x

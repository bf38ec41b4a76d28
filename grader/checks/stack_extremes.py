"""Inputs for which a formula is right on paper and wrong in floating point.

Encoder and decoder layers may be written from scratch, so the demands of `attention` and
`layer_norm` apply to them too: exp of a large score is infinite, and far from zero E[x²] - E[x]² is
nothing but rounding.
"""

from __future__ import annotations

import math
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.checks.stack_cases import AXES, StackCase, layer_norm
from grader.checks.stack_parts import Weights
from grader.feedback.comparison import assert_matches
from grader.remote.proxy import RemoteModule

# exp of a score of this size is infinite, in float64 too.
LARGE = 1000.0
FAR = 1000.0
# Measured over 100 cases: right layers are off by up to 1e-3, E[x²] - E[x]² by 0.12 and more.
FAR_TOLERANCE = 1e-2


def with_large_scores(
    weights: Weights, heard: Tensor, n_heads: int, prefix: str = "self_attn."
) -> Weights:
    """Return the weights with queries and keys scaled so that the largest score is 1000."""
    query, key = (
        F.linear(heard, *(weights[f"{prefix}{name}_proj.{part}"] for part in ("weight", "bias")))
        .reshape(*heard.shape[:2], n_heads, -1)
        .transpose(1, 2)
        for name in ("q", "k")
    )
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    factor = math.sqrt(LARGE / scores.max().item())
    return {
        name: value * factor if name.startswith((f"{prefix}q_", f"{prefix}k_")) else value
        for name, value in weights.items()
    }


def assert_copes_with_large_scores(layer: RemoteModule, case: StackCase) -> None:
    """Check the layer's output where scores of its self-attention are up to a thousand."""
    x = case.inputs[0]
    heard = layer_norm(x, case.layer_weights, "sublayers.0.") if case.norm_first else x
    weights = with_large_scores(case.layer_weights, heard, case.sizes.n_heads)
    result = layer.load(weights, strict=False)(*case.inputs)
    expected = case.oracle.layer(weights, case.inputs, case.no_masks)
    # float32 keeps such scores to 1e-4.
    help = "exp(1000) is infinite. Is the largest score of each row subtracted before exp?"
    subject = "output for scores of up to a thousand"
    assert_matches(result, expected, subject, axes=AXES, help=help, rtol=1e-2, atol=1e-2)


def assert_copes_far_from_zero(layer: RemoteModule, case: StackCase) -> None:
    """Check the output of a pre-norm layer for an x around 1000, in float32."""
    near = replace(case, dtype=torch.float32)
    x, *memory = near.inputs
    far = x + FAR
    result = layer.to(near.dtype).load(near.layer_weights, strict=False)(far, *memory)
    expected = case.oracle.layer(near.layer_weights, [far, *memory], case.no_masks)
    help = "A difference of large numbers keeps few digits: subtract the mean, then square."
    subject = "output for an x around 1000"
    assert_matches(result, expected, subject, axes=AXES, help=help, atol=FAR_TOLERANCE)

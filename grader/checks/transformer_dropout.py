"""Whether dropout acts inside attention and feed-forward networks of a whole model.

Only one sublayer at a time returns more than zeros, and numbers so large that nothing else shows
after the last norm. Without dropout inside, all its features are equal; a feature dropped
afterwards is zero, and the others differ only where something was dropped inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from grader.checks.stack_dropout import inside
from grader.checks.stack_parts import DECODER, ENCODER, Kind, Weights
from grader.checks.transformer_cases import TransformerCase
from grader.feedback.comparison import Mismatch, assert_finite, assert_shape

LOUD = 1e6
# In right code about one token in three shows a drop in a call, and 20 calls are tried.
CALLS = 20


def assert_drops_inside(student: Any, case: TransformerCase) -> None:
    """Check that half is dropped inside every attention and feed-forward network of one layer."""
    model = case.another_model(student, dropout=0.5).train()
    src, tgt, memory = case.src, case.tgt, case.memory
    calls: tuple[tuple[Kind, str, Callable[[], Any], Tensor], ...] = (
        (ENCODER, "encoder", lambda: model.encode(src), src),
        (DECODER, "decoder", lambda: model.decode(tgt, memory, src), tgt),
    )
    for kind, stack, call, ids in calls:
        for module, weights in _speakers(case, kind, f"{stack}."):
            model.load(weights, strict=False)
            if not any(_is_uneven(call(), ids, case) for _ in range(CALLS)):
                raise Mismatch(
                    f"During training, {inside(module)} of the {stack} is dropped.",
                    help="Does `dropout` reach it?",
                )


def _is_uneven(actual: Any, ids: Tensor, case: TransformerCase) -> bool:
    """Return whether a token's features have more than two values, zero included."""
    sizes = {"batch": ids.size(0), "length": ids.size(1), "d_model": case.sizes.d_model}
    assert_shape(actual, sizes, "output in training mode")
    assert_finite(actual, "output in training mode")
    ordered = actual.double().sort(-1).values
    steps = (ordered[..., 1:] - ordered[..., :-1]) > 1e-2
    return bool((steps.sum(-1) > 1).any())


def _speakers(case: TransformerCase, kind: Kind, prefix: str) -> Iterator[tuple[str, Weights]]:
    """Yield each sublayer's name, and weights with which all others return zeros."""
    layer = f"{prefix}layers.0."
    silent = {
        name: torch.full_like(value, float(name.endswith("norm.weight")))
        for name, value in case.weights.items()
        if name.startswith(prefix)
    }
    wide, inner = case.sizes.d_model, case.sizes.d_ff
    for attention in kind.attentions:
        name = f"{layer}{attention}"
        yield (
            attention,
            silent
            | {
                f"{name}.v_proj.bias": torch.full((wide,), LOUD, dtype=case.dtype),
                f"{name}.out_proj.weight": torch.eye(wide, dtype=case.dtype),
            },
        )
    # The rows have equal sums, but no two of them weigh the inner features alike.
    rows = case.numbers.normal("rows", wide, inner, dtype=case.dtype).softmax(-1) * LOUD
    yield (
        "feed_forward",
        silent
        | {
            f"{layer}feed_forward.linear1.bias": torch.ones(inner, dtype=case.dtype),
            f"{layer}feed_forward.linear2.weight": rows,
        },
    )

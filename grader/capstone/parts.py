"""The probes of the parts: masks, attention, positions, embedding, norm, feed-forward, sublayer."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from grader.capstone import oracles
from grader.capstone.probing import (
    FF,
    LK,
    LQ,
    NEAR,
    B,
    D,
    H,
    V,
    cut_off,
    differ,
    listed,
    probe,
    unreached,
)


@probe("masks")
def padding(masks: Any) -> Iterator[str]:
    """Which keys the padding mask shows."""
    for pad in (0, 9):
        rows = [[5, 7, pad], [4, pad, pad], [3, pad, 6]]
        mask = masks.padding_mask(torch.tensor(rows), pad)
        if not _shows(mask, [[[one != pad for one in row]] * 3 for row in rows]):
            yield f"padding_mask of {rows}, where {pad} is padding, is not what it should be"


@probe("masks")
def causal(masks: Any) -> Iterator[str]:
    """Which keys the causal mask shows."""
    mask = masks.causal_mask(3)
    back = [[key <= query for key in range(3)] for query in range(3)]
    if not _shows(mask, [back]):
        yield "causal_mask(3) does not show each word exactly itself and what came before"


@probe("masks")
def target(masks: Any) -> Iterator[str]:
    """Which keys the target mask shows."""
    for pad in (0, 9):
        rows = [[5, 7, pad, pad], [4, 6, 3, 2]]
        mask = masks.target_mask(torch.tensor(rows), pad)
        both = [
            [[row[key] != pad and key <= query for key in range(4)] for query in range(4)]
            for row in rows
        ]
        if not _shows(mask, both):
            yield f"target_mask of {rows}, where {pad} is padding, is not what it should be"


def _shows(mask: Any, rows: list[list[list[bool]]]) -> bool:
    wanted = torch.tensor(rows)[:, None]
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool or mask.dim() != 4:
        return False
    try:
        return bool((mask.expand(wanted.size(0), H, *wanted.shape[2:]) == wanted).all())
    except RuntimeError:
        return False


def _mask() -> Tensor:
    mask = torch.rand(B, 1, LQ, LK) < 0.6
    mask[..., 0] = True
    return mask


@probe("attention")
def values(module: Any) -> Iterator[str]:
    """The weighted mean without and with a mask."""
    query, key = torch.randn(B, H, LQ, D), torch.randn(B, H, LK, D)
    value = torch.randn(B, H, LK, D + 1)
    inputs = {"query": query, "key": key, "value": value}
    for one in inputs.values():
        one.requires_grad_()
    made = module.attention(query, key, value)
    if not isinstance(made, (tuple, list)) or len(made) != 2:
        yield "attention does not return two things, the output and the weights"
        return
    if differ(made[0], F.scaled_dot_product_attention(query, key, value)):
        yield "without a mask, the output is not softmax(QKᵀ/√d_k)V"
    missed = unreached(made[0], inputs)
    if missed:
        yield f"no gradient flows back to {listed(missed)}"
    mask = _mask()
    for large in (1.0, 2.0):
        output, _ = module.attention(query * large, key * large, value, mask)
        if differ(output, F.scaled_dot_product_attention(query * large, key * large, value, mask)):
            yield "with a mask, hidden keys are seen or visible ones are not"


@probe("attention")
def weights(module: Any) -> Iterator[str]:
    """The weights, and a query that may see nothing."""
    query, key = torch.randn(B, H, LQ, D), torch.randn(B, H, LK, D)
    output, shares = module.attention(query, key, key)
    if isinstance(shares, Tensor) and isinstance(output, Tensor):
        if shares.shape != (B, H, LQ, LK) or differ(shares.sum(-1), torch.ones(B, H, LQ)):
            yield "the weights of a query do not sum to one"
        elif differ(shares @ key, output):
            yield "the output is not the weights times the values"
    nothing = torch.zeros(B, 1, LQ, LK, dtype=torch.bool)
    output, _ = module.attention(query, key, key, nothing)
    if not output.isfinite().all():
        yield "a query that may see nothing gives NaN, and NaN spreads through the whole model"


@probe("multi_head")
def heads(module: Any) -> Iterator[str]:
    """All of it against nn.MultiheadAttention with the same weights."""
    layer = oracles.scatter(module.MultiHeadAttention(D, H)).eval()
    query, key = torch.randn(B, LQ, D), torch.randn(B, LK, D)
    see = torch.ones(1, 1, 1, 1, dtype=torch.bool)
    output = layer(query, key, key)
    if differ(output, oracles.attention(layer, query, key, H, see)):
        yield "without a mask, it is not what nn.MultiheadAttention gives with the same weights"
    yield from cut_off(output, layer)
    mask = _mask()
    if differ(layer(query, key, key, mask), oracles.attention(layer, query, key, H, mask)):
        yield "without a mask it is right; with one, hidden keys are seen or visible ones are not"
    nothing = torch.zeros(B, 1, LQ, LK, dtype=torch.bool)
    if not layer(query, key, key, nothing).isfinite().all():
        yield "a query that may see nothing gives NaN, and NaN spreads through the whole model"
    swapped = torch.randn(B, LK, D)
    if not differ(layer(query, key, swapped), output) or not differ(
        layer(query, swapped, key), output
    ):
        yield "another key, or another value, makes no difference to the output"
    layer.train()
    if differ(layer(query, key, key), output):
        yield "with dropout=0 something is dropped all the same while training"


@probe("positional")
def table(module: Any) -> Iterator[str]:
    """A few cells of the table of waves, and that it is added to each place."""
    rows = module.sinusoidal_table(20, D)
    if rows.dtype != torch.float32:
        yield f"the table is in {str(rows.dtype).removeprefix('torch.')}, which the words are not"
        return
    for place in (0, 1, 7, 19):
        for pair in range(D // 2):
            angle = place / math.pow(10000, 2 * pair / D)
            for column, wave in ((2 * pair, math.sin(angle)), (2 * pair + 1, math.cos(angle))):
                if abs(float(rows[place, column]) - wave) > NEAR:
                    yield (
                        f"the table says {float(rows[place, column]):.3f} at position {place}, "
                        f"column {column}; the formula says {wave:.3f}"
                    )
    if len({tuple(row) for row in rows.tolist()}) < len(rows):
        yield "two positions have the same row"
    layer = module.PositionalEncoding(D, 0.0, 20)
    x = torch.randn(B, LQ, D, requires_grad=True)
    output = layer(x)
    if differ(output, x + rows[:LQ]):
        yield "the rows of the table are not what is added to the words, place by place"
    if list(layer.parameters()):
        yield "the table is a parameter, so training changes it"
    if unreached(output, {"x": x}):
        yield "no gradient flows back to the words"
    if differ(layer(x[:, :2]), x[:, :2] + rows[:2]):
        yield "a second, shorter sentence gets other positions"


@probe("embedding")
def rows(module: Any) -> Iterator[str]:
    """The rows of the table, times √d_model, plus the positions."""
    ids = torch.tensor([[3, 1, 4, 0], [5, 9, 2, 6]])
    layer = module.TransformerEmbedding(V, D, 0.0, 20, 0)
    found = [one for name, one in layer.named_parameters() if name.endswith("weight")]
    if not found:
        yield "no optimiser finds the table: it is no parameter"
        return
    if not found[0].requires_grad:
        yield "the table asks for no gradient, so it cannot learn"
    oracles.scatter(layer)
    token = layer.token(ids)
    if differ(token, F.embedding(ids, found[0]) * math.sqrt(D)):
        yield "TokenEmbedding does not give the row of each id times √d_model"
    output = layer(ids)
    places = layer.position(torch.zeros(B, LQ, D))
    if differ(output, token + places):
        yield "TransformerEmbedding does not give words plus positions"
    if unreached(output[1], {"weight": found[0]}):
        yield "no gradient reaches the table, so it cannot learn"
    if differ(layer(ids), output.detach()):
        yield "the same ids give other vectors the second time"


@probe("layer_norm")
def norm(module: Any) -> Iterator[str]:
    """Numbers and gradients against F.layer_norm, after the start was looked at."""
    layer = module.LayerNorm(D)
    x = (3 * torch.randn(B, LQ, D) + 2).requires_grad_()
    cotangent = torch.randn(B, LQ, D)
    if differ(layer(x), F.layer_norm(x, (D,))):
        yield "at the start, the output is not x with mean 0 and variance 1 over its features"
    own = dict(layer.named_parameters())
    if set(own) != {"weight", "bias"}:
        yield f"its parameters are {sorted(own) or 'none'}, where weight and bias are asked for"
        return
    oracles.scatter(layer)
    output, expected = layer(x), F.layer_norm(x, (D,), own["weight"], own["bias"])
    if differ(output, expected):
        yield "the output is not weight times the normalised x plus bias"
    yield from cut_off(output, layer)
    (yours,) = torch.autograd.grad(output, x, cotangent)
    (wanted,) = torch.autograd.grad(expected, x, cotangent)
    if differ(yours, wanted):
        yield "the numbers are right, the gradient is not: something is cut out of the graph"
    if not layer(torch.ones(B, LQ, D)).isfinite().all():
        yield "equal features give numbers that are not finite"


@probe("feed_forward")
def maps(module: Any) -> Iterator[str]:
    """The two maps with ReLU between them."""
    layer = oracles.scatter(module.FeedForward(D, FF, 0.0))
    x = torch.randn(B, LQ, D)
    own = dict(layer.named_parameters())
    inner = F.linear(x, own["linear1.weight"], own["linear1.bias"]).clamp(min=0)
    output = layer(x)
    if differ(output, F.linear(inner, own["linear2.weight"], own["linear2.bias"])):
        yield "the output is not linear2(relu(linear1(x)))"
    yield from cut_off(output, layer)


@probe("sublayer")
def connection(module: Any) -> Iterator[str]:
    """The residual sum and its norm."""
    layer = oracles.scatter(module.SublayerConnection(D, 0.0))
    x = torch.randn(B, LQ, D, requires_grad=True)
    own = dict(layer.named_parameters())
    output = layer(x, torch.sin)
    expected = F.layer_norm(x + x.sin(), (D,), own["norm.weight"], own["norm.bias"])
    if differ(output, expected):
        yield "the output is not norm(x + sublayer(x))"
    yield from cut_off(output, layer)
    cotangent = torch.randn_like(x)
    if differ(
        torch.autograd.grad(output, x, cotangent)[0], torch.autograd.grad(expected, x, cotangent)[0]
    ):
        yield "the numbers are right, the gradient that flows back along x is not"

"""The panels of the exercises that make a language model: cache, grouped queries, the model."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from grader.pictures.panels import (
    Answers,
    Kind,
    Panel,
    changed_one_by_one,
    filled,
    floats,
    influence,
    numbered,
    wave,
)

_SENTENCE = ("the", "cat", "sat", "down", "here")


def _token(number: int, rows: int = 1) -> Tensor:
    """Return a token of one head and four features: row r has 100 × r + 10 × number + feature."""
    row = 100 * torch.arange(rows)[:, None, None, None]
    return (row + 10 * number + torch.arange(4)).float()


def _appended(get: Answers) -> Any:
    cache = get("kv_cache").KVCache()
    first = torch.cat([_token(0), _token(1)], dim=2)
    cache.append(first, first)
    cache.append(_token(2), _token(2))
    return cache.append(_token(3), _token(3))


def _reordered(get: Answers) -> Any:
    cache = get("kv_cache").KVCache()
    cache.append(_token(1, rows=3), _token(1, rows=3))
    cache.reorder(torch.tensor([2, 2, 0]))
    return cache.append(_token(2, rows=3), _token(2, rows=3))


def _shared(get: Answers) -> Any:
    """Make all queries equal; keys and values are the first four features, which are changed."""
    layer = filled(get("grouped_query").GroupedQueryAttention(8, 4, 2))
    with torch.no_grad():
        layer.q_proj.weight.copy_(torch.eye(8)[[4, 5, 6, 7] * 2])
        layer.out_proj.weight.copy_(torch.eye(8))
        for linear in (layer.k_proj, layer.v_proj):
            linear.weight.copy_(torch.eye(8)[:4])
    x = wave(3, 8, seed=4).repeat(5, 1, 1)
    x[1:] += 0.5 * torch.eye(8)[:4, None, :]
    return layer(x)


def _heads_moved(output: Tensor) -> Tensor:
    """Return how much each query head, a row, moved when each feature of keys and values did."""
    moved = (output[1:] - output[:1])[:, 1:].reshape(4, -1, 4, 2)
    lengths: Tensor = moved.norm(dim=(1, 3))
    return lengths.T


def _turned(get: Answers) -> Any:
    layer = filled(get("grouped_query").GroupedQueryAttention(8, 2, 1))
    return layer(wave(1, 5, 8, seed=2), wave(5, 2), torch.ones(5, 5, dtype=torch.bool).tril())


def _causal(get: Answers) -> Any:
    layer = filled(get("grouped_query").GroupedQueryAttention(8, 4, 2))
    mask = torch.ones(5, 5, dtype=torch.bool).tril()
    return layer(changed_one_by_one(wave(5, 8)), wave(5, 1), mask)


def _model(get: Answers) -> Any:
    return filled(get("language_model").LanguageModel(9, 8, 4, 2, num_layers=2, d_ff=12))


def _logits(get: Answers) -> Any:
    return _model(get)(torch.tensor([[3, 1, 4, 1, 5]]))


def _tokens_changed(get: Answers) -> Any:
    ids = torch.tensor([3, 1, 4, 1, 5]).repeat(6, 1)
    ids[1:] += 2 * torch.eye(5, dtype=torch.int64)
    return _model(get)(ids)


def _longer(get: Answers) -> Any:
    block = filled(get("language_model").Block(16, 4, 2, 24))
    x = wave(1, 2, 16) * torch.tensor([[0.5], [3.0]])
    lengths = [x[0].norm(dim=-1)]
    for _ in range(12):
        x = block(x)
        lengths.append(x[0].norm(dim=-1))
    return torch.stack(lengths, dim=1)


PANELS: dict[str, tuple[Panel, ...]] = {
    "kv_cache": (
        Panel(
            "Two tokens, one, one more: all keys. A number is 10 × token + feature",
            "keys",
            _appended,
            Kind.WHOLE,
            numbered("token", 4),
            numbered("feature", 4),
            view=lambda keys: keys[0, 0].round().long(),
            parts=("keys", "values"),
        ),
        Panel(
            "reorder([2, 2, 0]), then a token. 100 × row that it came in as + 10 × token + feature",
            "keys",
            _reordered,
            Kind.WHOLE,
            tuple(f"row {row}, token {token}" for row in range(3) for token in (1, 2)),
            numbered("feature", 4),
            view=lambda keys: keys.flatten(0, 2).round().long(),
            parts=("keys", "values"),
        ),
        Panel(
            "causal_mask_with_past: two new tokens after three",
            "mask",
            lambda get: get("kv_cache").causal_mask_with_past(2, 3),
            Kind.MASK,
            _SENTENCE[3:],
            _SENTENCE,
            "query",
            "key",
            lambda mask: mask.expand(1, 1, 2, 5)[0, 0],
        ),
    ),
    "grouped_query": (
        Panel(
            "Which query head moves when a feature of the keys and values does",
            "output",
            _shared,
            rows=numbered("query head", 4),
            columns=("kv head 0", "kv head 0", "kv head 1", "kv head 1"),
            row_axis="output",
            column_axis="changed",
            view=_heads_moved,
        ),
        Panel(
            "Output with angles and a causal mask",
            "output",
            _turned,
            rows=numbered("token", 5),
            column_axis="feature",
            view=lambda output: output[0],
        ),
        Panel(
            "Causal mask: what moves when one token is changed",
            "output",
            _causal,
            rows=numbered("token", 5),
            columns=numbered("token", 5),
            row_axis="output",
            column_axis="changed",
            view=influence,
        ),
    ),
    "language_model": (
        Panel(
            "Logits of a text of five tokens",
            "logits",
            _logits,
            rows=numbered("position", 5),
            column_axis="token that may come next",
            view=lambda logits: logits[0],
        ),
        Panel(
            "What moves when a token is changed",
            "logits",
            _tokens_changed,
            rows=numbered("position", 5),
            columns=numbered("token", 5),
            row_axis="logits",
            column_axis="changed",
            view=influence,
        ),
        Panel(
            "Two tokens through the same block 12 times: the residual sums grow",
            "lengths of the tokens",
            _longer,
            Kind.CURVES,
            ("short token", "long token"),
            floats(range(13)),
            "length",
            "blocks",
        ),
    ),
}

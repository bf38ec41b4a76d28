"""The panels of the exercises that are single pieces: from tokens to the feed-forward network."""

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
    shares,
    wave,
)

_TEXTS = ("the  dog", "The cat sat, a.b?", "Don't!")
_SENTENCE = ("the", "cat", "sat", "pad", "pad")
_IDS, _PAD_ID = torch.tensor([[5, 0, 7, 9, 9]]), 9
_X = floats(step / 8 for step in range(-32, 33))


def _padded(get: Answers) -> Any:
    answer = get("tokens")
    vocab = answer.build_vocab(_TEXTS, ("<start>", "<pad>"))
    return answer.pad_batch([answer.encode(text, vocab) for text in _TEXTS], vocab["<pad>"])


def _mask(title: str, name: str, compute: Any) -> Panel:
    return Panel(
        title,
        name,
        compute,
        Kind.MASK,
        _SENTENCE,
        _SENTENCE,
        "query",
        "key",
        lambda mask: mask.expand(1, 1, 5, 5)[0, 0],
    )


def _attention(title: str, part: int, masked: bool, view: str) -> Panel:
    mask = torch.ones(4, 5, dtype=torch.bool).tril() if masked else None
    return Panel(
        title,
        view,
        lambda get: get("attention").attention(
            wave(4, 8, seed=1), wave(5, 8, seed=2), wave(5, 3, seed=3), mask
        ),
        rows=numbered("query", 4),
        columns=numbered("key", 5) if part else numbered("feature", 3),
        parts=("output", "weights"),
        part=part,
    )


def _tiled(title: str, masked: bool) -> Panel:
    mask = torch.ones(4, 9, dtype=torch.bool).triu(2) if masked else None
    return Panel(
        title,
        "masked output" if masked else "output",
        lambda get: get("tiled_attention").tiled_attention(
            wave(4, 8, seed=1), wave(9, 8, seed=2), wave(9, 3, seed=3), mask, block=4
        ),
        rows=numbered("query", 4),
        columns=numbered("feature", 3),
    )


def _weights_by_blocks(get: Answers) -> Any:
    """Return the weights: what comes out where the values are the identity."""
    function = get("tiled_attention").tiled_attention
    return function(wave(4, 8, seed=1), wave(9, 8, seed=2), torch.eye(9), None, block=4)


def _heads(get: Answers) -> Any:
    x = torch.arange(3)[:, None] * 10 + torch.arange(6)
    return get("multi_head").split_heads(x[None].float(), 2)


def _seen(get: Answers) -> Any:
    module = filled(get("multi_head").MultiHeadAttention(8, 2))
    x = changed_one_by_one(wave(5, 8))
    return module(x, x, x, torch.ones(1, 1, 5, 5, dtype=torch.bool).tril())


def _attended(get: Answers) -> Any:
    query, key, value = wave(1, 4, 8), wave(1, 5, 8, seed=1), wave(1, 5, 8, seed=2)
    return filled(get("multi_head").MultiHeadAttention(8, 2))(query, key, value)


def _turned(pair: int) -> Any:
    def compute(get: Answers) -> Any:
        answer = get("rope")
        angles = answer.rotary_angles(4, 7, base=100.0)
        return answer.apply_rotary(torch.tensor([1.0, 0.0, 1.0, 0.0]).expand(7, 4), angles)

    return Panel(
        f"Features {2 * pair} and {2 * pair + 1} of one word at the places 0 to 6",
        "turned features",
        compute,
        Kind.POINTS,
        tuple(str(position) for position in range(7)),
        row_axis=f"feature {2 * pair + 1}",
        column_axis=f"feature {2 * pair}",
        view=lambda turned: turned[:, 2 * pair : 2 * pair + 2],
    )


def _scores(get: Answers) -> Any:
    answer = get("rope")
    angles = answer.rotary_angles(8, 8)
    query, key = (wave(1, 8, seed=seed).expand(8, 8) for seed in (1, 2))
    return answer.apply_rotary(query, angles) @ answer.apply_rotary(key, angles).T


def _embedded(get: Answers) -> Any:
    module = get("embedding").TransformerEmbedding(10, 8, dropout=0.0, max_len=16, padding_idx=0)
    return filled(module)(torch.tensor([[3, 5, 3, 7, 3]]))


_SPREAD = torch.tensor([[0.3], [1.0], [2.5]]) * wave(3, 24) + torch.tensor([[2.0], [0.0], [-3.0]])


def _normalised(get: Answers) -> Any:
    return get("layer_norm").LayerNorm(24)(_SPREAD)


_SCORES = torch.tensor([[1.0, 2.0, 0.0, 4.0], [1001.0, 1002.0, 1000.0, 1004.0]])
_LEADS = (0.0, 1.0, 2.0, 4.0, 8.0)


def _share_of_a_lead(get: Answers) -> Any:
    return get("softmax").softmax(torch.stack([torch.tensor(_X), torch.zeros(len(_X))]), dim=0)


def _of_root_mean_square_one(get: Answers) -> Any:
    return get("rms_norm").RMSNorm(24)(_SPREAD)


def _through_the_gate(get: Answers) -> Any:
    module = get("swiglu").SwiGLU(1, 1)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.fill_(1.0)
        module.up_proj.weight.fill_(0.0)
        shut = module.eval()(torch.tensor(_X)[:, None])
        module.up_proj.weight.fill_(1.0)
        opened = module(torch.tensor(_X)[:, None])
    return torch.stack([shut[:, 0], opened[:, 0]])


def _fresh_weights(get: Answers) -> Tensor:
    torch.manual_seed(0)
    return shares(get("linear").Linear(400, 300).weight, 0.05)


def _activation(name: str, lines: tuple[str, ...], compute: Any) -> Panel:
    return Panel(name, name, compute, Kind.CURVES, lines, _X, "result", "x")


def _dropped(get: Answers) -> Tensor:
    torch.manual_seed(0)
    zeros, means, quiet = [], [], []
    for tenth in range(11):
        layer = get("dropout").Dropout(tenth / 10)
        result = layer(torch.ones(200, 200))
        zeros.append((result == 0).float().mean())
        means.append(result.mean())
        quiet.append(layer.eval()(torch.ones(4)).mean())
    return torch.stack([torch.stack(curve) for curve in (zeros, means, quiet)])


def _bent(activation: str) -> Panel:
    def compute(get: Answers) -> Any:
        module = get("feed_forward").FeedForward(1, 4, dropout=0.0, activation=activation)
        with torch.no_grad():
            module.linear1.weight.copy_(torch.tensor([[1.0], [-1.0], [1.0], [-1.0]]))
            module.linear1.bias.copy_(torch.tensor([2.0, 2.0, -1.0, -1.0]))
            module.linear2.weight.copy_(torch.tensor([[1.0, -0.5, -1.6, 1.2]]))
            module.linear2.bias.fill_(0.5)
        return module.eval()(torch.tensor(_X)[None, :, None])

    return Panel(
        f"Four {activation} bends make one curve",
        "output",
        compute,
        Kind.CURVES,
        (activation,),
        _X,
        "output",
        "input",
        lambda output: output[:, :, 0],
    )


def _lengths(norm_first: bool) -> Panel:
    def compute(get: Answers) -> Any:
        module = filled(get("sublayer").SublayerConnection(16, 0.0, norm_first))
        x = wave(1, 2, 16) * torch.tensor([[0.5], [3.0]])
        lengths = [x[0].norm(dim=-1)]
        for _ in range(12):
            x = module(x, lambda y: 0.5 * y.roll(1, -1))
            lengths.append(x[0].norm(dim=-1))
        return torch.stack(lengths, dim=1)

    return Panel(
        f"{'Pre' if norm_first else 'Post'}-norm: two tokens through 12 connections",
        "lengths of the tokens",
        compute,
        Kind.CURVES,
        ("short token", "long token"),
        floats(range(13)),
        "length",
        "connections",
    )


def _table(get: Answers) -> Any:
    return get("positional").sinusoidal_table(48, 16, base=100.0)


def _placed(get: Answers) -> Any:
    return filled(get("positional").PositionalEncoding(8, max_len=16))(wave(2, 6, 8))


PANELS: dict[str, tuple[Panel, ...]] = {
    "tokens": (
        Panel(
            "Three texts as ids; <start> has the id 0, <pad> the id 1",
            "padded batch",
            _padded,
            Kind.WHOLE,
            _TEXTS,
            column_axis="position",
        ),
        Panel(
            "One-hot: a row for each word",
            "one-hot rows",
            lambda get: get("tokens").one_hot(torch.tensor([[4, 2], [0, 3]]), 6),
            Kind.WHOLE,
            ("id 4", "id 2", "id 0", "id 3"),
            column_axis="column",
            view=lambda rows: rows.flatten(0, 1),
        ),
    ),
    "masks": (
        _mask("padding_mask", "padding mask", lambda get: get("masks").padding_mask(_IDS, _PAD_ID)),
        _mask("causal_mask", "causal mask", lambda get: get("masks").causal_mask(5)),
        _mask("target_mask", "target mask", lambda get: get("masks").target_mask(_IDS, _PAD_ID)),
    ),
    "attention": (
        _attention("Weights: how much each query takes of each key", 1, False, "attention weights"),
        _attention("Weights with a mask that hides what comes later", 1, True, "masked weights"),
        _attention("Output: for each query, its average of the values", 0, False, "output"),
    ),
    "multi_head": (
        Panel(
            "split_heads: a number is 10 × token + feature",
            "heads",
            _heads,
            Kind.WHOLE,
            tuple(f"head {head}, token {token}" for head in range(2) for token in range(3)),
            column_axis="feature of the head",
            view=lambda heads: heads[0].flatten(0, 1),
        ),
        Panel(
            "Output of two heads for four queries and five keys",
            "output",
            _attended,
            rows=numbered("query", 4),
            column_axis="feature",
            view=lambda output: output[0],
        ),
        Panel(
            "Causal mask: what moves when one token is changed",
            "output",
            _seen,
            rows=numbered("token", 5),
            columns=numbered("token", 5),
            row_axis="output",
            column_axis="changed",
            view=influence,
        ),
    ),
    "positional": (
        Panel(
            "sinusoidal_table with base 100",
            "table",
            _table,
            row_axis="position",
            column_axis="feature",
        ),
        Panel(
            "Four of its columns",
            "table",
            _table,
            Kind.CURVES,
            ("column 0 (sine)", "column 1 (cosine)", "column 4", "column 8"),
            floats(range(48)),
            "value",
            "position",
            lambda table: table[:, [0, 1, 4, 8]].T,
        ),
        Panel(
            "PositionalEncoding: a sentence with its places",
            "output",
            _placed,
            rows=numbered("token", 6),
            column_axis="feature",
            view=lambda output: output[1],
        ),
    ),
    "rope": (
        _turned(0),
        _turned(1),
        Panel(
            "Scores of one query and one key: only their distance counts",
            "scores",
            _scores,
            row_axis="place of the query",
            column_axis="place of the key",
        ),
    ),
    "embedding": (
        Panel(
            "TransformerEmbedding: the same word three times, each place is different",
            "embedded sentence",
            _embedded,
            rows=("id 3", "id 5", "id 3", "id 7", "id 3"),
            column_axis="feature",
            view=lambda output: output[0],
        ),
        Panel(
            "TokenEmbedding: how long each word's row is",
            "lengths",
            lambda get: filled(get("embedding").TokenEmbedding(6, 16))(torch.arange(6)[None]),
            Kind.CURVES,
            ("length",),
            floats(range(6)),
            "length",
            "id",
            lambda output: output.norm(dim=-1),
        ),
    ),
    "layer_norm": (
        Panel(
            "Three tokens afterwards: mean 0, deviation 1",
            "output",
            _normalised,
            Kind.STRIPS,
            tuple(
                f"mean {row.mean():.1f}, deviation {row.std(correction=0):.1f}" for row in _SPREAD
            ),
            row_axis="before",
            column_axis="value of a feature",
        ),
        Panel(
            "Of tokens that hardly vary, with a scale and a shift",
            "output",
            lambda get: filled(get("layer_norm").LayerNorm(24))(0.01 * _SPREAD),
            rows=numbered("token", 3),
            column_axis="feature",
        ),
    ),
    "softmax": (
        Panel(
            "softmax: four scores, and the same with 1000 more",
            "shares",
            lambda get: get("softmax").softmax(_SCORES),
            rows=("1, 2, 0, 4", "1001, 1002, 1000, 1004"),
            columns=numbered("score", 4),
        ),
        Panel(
            "softmax with dim=0: the share of x beside a score of 0",
            "shares",
            _share_of_a_lead,
            Kind.CURVES,
            ("share of x", "share of 0"),
            _X,
            "share",
            "x",
        ),
        Panel(
            "log_softmax of 0 and a lead: no share is too small",
            "logarithms",
            lambda get: get("softmax").log_softmax(
                torch.tensor([[0.0, 125.0 * lead] for lead in _LEADS])
            ),
            rows=tuple(f"lead {125 * lead:g}" for lead in _LEADS),
            columns=("score 0", "score of the lead"),
        ),
    ),
    "rms_norm": (
        Panel(
            "Three tokens afterwards: root mean square 1, the mean stays in",
            "output",
            _of_root_mean_square_one,
            Kind.STRIPS,
            tuple(
                f"mean {row.mean():.1f}, rms {row.square().mean().sqrt():.1f}" for row in _SPREAD
            ),
            row_axis="before",
            column_axis="value of a feature",
        ),
        Panel(
            "Tokens so small that eps shows, with a scale",
            "output",
            lambda get: filled(get("rms_norm").RMSNorm(24))(0.001 * _SPREAD),
            rows=numbered("token", 3),
            column_axis="feature",
        ),
    ),
    "swiglu": (
        Panel(
            "One feature x as its own gate: silu(x) times up",
            "output",
            _through_the_gate,
            Kind.CURVES,
            ("up = 0", "up = x"),
            _X,
            "output",
            "x",
        ),
        Panel(
            "Output for given weights",
            "output",
            lambda get: filled(get("swiglu").SwiGLU(6, 5))(wave(4, 6)),
            rows=numbered("token", 4),
            columns=numbered("feature", 6),
        ),
    ),
    "tiled_attention": (
        Panel(
            "Weights: what comes out with the identity as values, nine keys in blocks of four",
            "weights",
            _weights_by_blocks,
            rows=numbered("query", 4),
            columns=numbered("key", 9),
        ),
        _tiled("Output, nine keys in blocks of four", False),
        _tiled("Output with a mask that hides the first keys", True),
    ),
    "linear": (
        Panel(
            "Output for given weights",
            "output",
            lambda get: filled(get("linear").Linear(6, 4))(wave(5, 6)),
            rows=numbered("token", 5),
            columns=numbered("feature", 4),
        ),
        Panel(
            "A fresh weight: even within ±1/√in = ±0.05, nothing beyond",
            "share of the weights",
            _fresh_weights,
            Kind.CURVES,
            ("share",),
            floats(0.0125 * step - 0.06875 for step in range(12)),
            "share of the numbers",
            "weight",
            tolerance=0.01,
        ),
    ),
    "activations": (
        _activation("relu", ("relu",), lambda get: get("activations").relu(torch.tensor(_X))[None]),
        _activation("tanh", ("tanh",), lambda get: get("activations").tanh(torch.tensor(_X))[None]),
        _activation(
            "gelu",
            ("with erf", "with tanh"),
            lambda get: torch.stack(
                [
                    get("activations").gelu(torch.tensor(_X)),
                    get("activations").gelu(torch.tensor(_X), approximate="tanh"),
                ]
            ),
        ),
    ),
    "dropout": (
        Panel(
            "What is left of 40 000 ones",
            "shares",
            _dropped,
            Kind.CURVES,
            ("share of zeros", "mean", "mean in evaluation"),
            floats(tenth / 10 for tenth in range(11)),
            "",
            "p",
            tolerance=0.05,
        ),
    ),
    "feed_forward": (_bent("relu"), _bent("gelu")),
    "sublayer": (_lengths(False), _lengths(True)),
}

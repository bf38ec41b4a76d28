"""What the search over torch looks for: what may be handed to a call, and the exercise's answer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor


class Named(dict[str, Any]):
    """Arguments that are given by name."""


@dataclass(frozen=True)
class Task:
    """An exercise as a search sees it: what may be handed to a call, and what must not come out.

    `tensors`, `numbers` and `lists` are in the order in which they are tried; `named` is what
    a parameter of that name is likely to want.
    """

    tensors: Sequence[Tensor]
    answers: Sequence[Tensor]
    numbers: Sequence[Any] = ()
    lists: Sequence[Any] = ()
    random: bool = False
    named: Mapping[str, Any] = field(default_factory=dict)


def _drawn(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    generator = torch.Generator().manual_seed(math.prod(shape))
    return torch.randn(shape, generator=generator, dtype=dtype)


def tasks(dtype: torch.dtype) -> dict[str, Task]:
    """The tasks, by exercise, computed without anything that is searched for."""
    x = _drawn(2, 3, 8, dtype=dtype)
    weight, bias = _drawn(8, dtype=dtype), _drawn(8, dtype=dtype) * 2
    mean, variance = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, correction=0)
    plain = (x - mean) / (variance + 1e-5).sqrt()
    heads = _drawn(2, 2, 3, 4, dtype=dtype)
    key, value = _drawn(2, 2, 3, 4, dtype=dtype) + 0.3, _drawn(2, 2, 3, 4, dtype=dtype).flip(-1)
    scores = heads @ key.mT / 2
    ids = torch.tensor([[1, 2, 0], [3, 3, 1]])
    table, matrix = _drawn(5, 8, dtype=dtype), _drawn(6, 8, dtype=dtype)
    steep = 0.7978845608028654 * (x + 0.044715 * x**3)
    rows = [torch.tensor([1, 2, 3]), torch.tensor([4, 5])]
    triangle = torch.ones(5, 5).tril()
    return {
        "layer_norm": Task(
            (x, weight, bias, x.view(6, 8), x.view(1, 6, 8)),
            tuple(
                item.view(shape)
                for item in (plain, plain * weight + bias, plain * weight, plain + bias)
                for shape in ((2, 3, 8), (6, 8), (1, 6, 8))
            ),
            (1e-5, 8, 2, -1, 1),
            ((8,), [2], [-1], [3, 8], (8,)),
            named={
                **dict.fromkeys(("input", "a", "x", "inp", "self", "X", "hidden_states"), x),
                **{name: [8] for name in ("normalized_shape", "shape")},
                **dict.fromkeys(("eps", "epsilon"), 1e-5),
                **{name: [-1] for name in ("dim", "dims", "axis", "norm_dims")},
                **{"weight": weight, "bias": bias, "gamma": weight, "beta": bias},
            },
        ),
        "attention": Task(
            (heads, key, value, torch.zeros(3, 3, dtype=dtype)),
            (scores.softmax(-1) @ value,),
            (0.5, 2.0, 0.0, 2, 4),
            ([2, 3], (8,)),
            named={
                **{"query": heads, "key": key, "value": value, "q": heads, "k": key, "v": value},
                **{"Q": heads, "K": key, "V": value, "scale": 0.5, "inv_scale": 2.0},
                **{"scale_factor": 0.5, "dropout_p": 0.0, "is_causal": False, "causal": False},
                **{"attn_mask": None, "score_mod": None, "block_mask": None, "num_heads": 2},
            },
        ),
        "multi_head": _multi_head(dtype),
        "rope": _rope(dtype),
        "training": _training(dtype),
        "embedding": Task(
            (table, ids), (torch.stack([table[token] for token in ids]),), (-1, 0, 1)
        ),
        "linear": Task(
            (x, matrix, _drawn(6, dtype=dtype)),
            (x @ matrix.T, x @ matrix.T + _drawn(6, dtype=dtype)),
            (1, 1.0),
        ),
        "activations": Task(
            (x, x.clone()),
            (
                2 / (1 + (-2 * x).exp()) - 1,
                x * (x > 0),
                x * 0.5 * (1 + torch.erf(x / math.sqrt(2))),
                x / (1 + (-2 * steep).exp()),
            ),
            (0, 0.0, 1, 1.0, "none", "tanh"),
        ),
        "tokens": Task(
            (ids, *rows),
            (torch.eye(5)[ids], torch.tensor([[1, 2, 3], [4, 5, 0]])),
            (5, 0, -1),
            (rows,),
        ),
        "masks": Task(
            (triangle[0],),
            (triangle, triangle.bool(), triangle.log()),
            (5, 1),
            ((5, 5),),
        ),
        "dropout": Task((x, torch.ones_like(x)), (x,), (0.5, True), random=True),
    }


def _multi_head(dtype: torch.dtype) -> Task:
    x, inner, outer = (_drawn(*shape, dtype=dtype) for shape in ((2, 3, 8), (24, 8), (8, 8)))
    first, last = _drawn(24, dtype=dtype), _drawn(8, dtype=dtype)

    def attended(x: Tensor) -> Tensor:
        parts = (x @ inner.mT + first).reshape(*x.shape[:2], 3, 2, 4)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        mixed = (query @ key.mT / 2).softmax(-1) @ value
        mapped: Tensor = mixed.transpose(1, 2).flatten(-2) @ outer.mT + last
        return mapped

    first_axis = attended(x.transpose(0, 1)).transpose(0, 1)  # where that is the sequence's
    named = {
        **dict.fromkeys(("query", "key", "value", "src", "x", "q", "k", "v"), x),
        **{"embed_dim": 8, "embed_dim_to_check": 8, "num_heads": 2, "num_head": 2, "nhead": 2},
        **{"in_proj_weight": inner, "in_proj_bias": first, "qkv_weight": inner, "qkv_bias": first},
        **{"out_proj_weight": outer, "out_proj_bias": last, "proj_weight": outer},
        **{"proj_bias": last, "bias_k": None, "bias_v": None, "add_zero_attn": False},
        **{"dropout_p": 0.0, "training": False, "need_weights": True},
    }
    return Task((x, inner, first, outer, last), (attended(x), first_axis), (8, 2), named=named)


def _rope(dtype: torch.dtype) -> Task:
    x, angles = _drawn(2, 2, 3, 4, dtype=dtype), _drawn(3, 2, dtype=dtype)
    cos, sin = angles.cos(), angles.sin()
    even, odd = x[..., ::2], x[..., 1::2]
    answer = torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)
    rows = (cos.expand(2, 3, 2).clone(), sin.expand(2, 3, 2).clone())
    named = {
        **dict.fromkeys(("input", "x", "X", "q", "query"), x),
        **{"cos": cos, "sin": sin, "cos_cache": rows[0], "sin_cache": rows[1], "angles": angles},
        **{"freqs": angles, "freqs_cis": torch.polar(torch.ones_like(angles), angles)},
        **{"interleaved": True, "num_heads": 2, "rotary_embedding_dim": 4},
    }
    return Task((x, *rows, angles), (answer,), (True, 4), named=named)


def _training(dtype: torch.dtype) -> Task:
    logits, labels = _drawn(6, 5, dtype=dtype), torch.tensor([1, 2, 0, 3, 3, 1])
    logs = logits.log_softmax(-1)
    each = -0.9 * logs.gather(-1, labels[:, None])[:, 0] - 0.1 * logs.mean(-1)
    real = labels != 0
    named = {
        **dict.fromkeys(("input", "logits", "x", "self", "pred"), logits),
        **dict.fromkeys(("target", "labels", "label", "y"), labels),
        **{"label_smoothing": 0.1, "ignore_index": 0, "reduction": "mean", "smoothing": 0.1},
    }
    answers = (each[real].mean(), each * real, (each * real).sum(), each.mean(), each)
    return Task((logits, labels), answers, (0.1, 0), named=named)


def is_answer(task: Task, value: Any) -> bool:
    """Whether this result, or a part of it, does the exercise's work."""
    if isinstance(value, (tuple, list)):
        return any(is_answer(task, item) for item in value[:8])
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "bif":
        value = torch.as_tensor(value)
    if not isinstance(value, Tensor) or value.is_meta:
        return False
    if value.layout != torch.strided:
        value = value.to_dense()
    if task.random:
        (x,) = task.answers
        if value.shape != x.shape or value.dtype != x.dtype:
            return False
        kept = value != 0
        return bool(0 < kept.sum() < x.numel()) and torch.allclose(value[kept], 2 * x[kept])
    for answer in task.answers:
        if value.shape == answer.shape and (value.dtype == torch.bool) == (
            answer.dtype == torch.bool
        ):
            close = torch.allclose(value.to(answer.dtype), answer, rtol=1e-4, atol=1e-6)
            if close and not any(value is tensor for tensor in task.tensors):
                return True
    return False


def describe(task: Task, arguments: Sequence[Any]) -> list[Any]:
    """Arguments as JSON: a tensor of the task by its number, a list of them by theirs."""
    described: list[Any] = []
    for argument in arguments:
        if isinstance(argument, Named):
            pairs = zip(argument, describe(task, [*argument.values()]), strict=True)
            described.append({"named": dict(pairs)})
            continue
        numbers = [number for number, tensor in enumerate(task.tensors) if tensor is argument]
        if numbers:
            described.append({"tensor": numbers[0]})
        elif isinstance(argument, list) and any(isinstance(item, Tensor) for item in argument):
            described.append(
                {"tensors": [describe(task, [item])[0]["tensor"] for item in argument]}
            )
        else:
            described.append(argument)
    return described


def recall(task: Task, described: Sequence[Any]) -> list[Any]:
    """The arguments that `describe` described."""
    results: list[Any] = []
    for part in described:
        if isinstance(part, dict) and "tensor" in part:
            results.append(task.tensors[part["tensor"]].clone())
        elif isinstance(part, dict) and "named" in part:
            values = recall(task, [*part["named"].values()])
            results.append(Named(zip(part["named"], values, strict=True)))
        elif isinstance(part, dict):
            results.append([task.tensors[item].clone() for item in part["tensors"]])
        else:
            results.append(part)
    return results

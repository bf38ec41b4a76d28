"""What the search over torch looks for: what may be handed to a call, and the exercise's answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class Task:
    """An exercise as a search sees it: what may be handed to a call, and what must not come out.

    `tensors`, `numbers` and `lists` are in the order in which they are tried.
    """

    tensors: Sequence[Tensor]
    answers: Sequence[Tensor]
    numbers: Sequence[Any] = ()
    lists: Sequence[Any] = ()
    random: bool = False


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
                one.view(shape)
                for one in (plain, plain * weight + bias, plain * weight, plain + bias)
                for shape in ((2, 3, 8), (6, 8), (1, 6, 8))
            ),
            (1e-5, 8, 2, -1, 1),
            ((8,), [2], [-1], [3, 8], (8,)),
        ),
        "attention": Task(
            (heads, key, value, torch.zeros(3, 3, dtype=dtype)),
            (scores.softmax(-1) @ value,),
            (0.5, 2.0, 0.0, 2, 4),
            ([2, 3], (8,)),
        ),
        "embedding": Task((table, ids), (torch.stack([table[one] for one in ids]),), (-1, 0, 1)),
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


def is_answer(task: Task, value: Any) -> bool:
    """Whether this result, or a part of it, does the exercise's work."""
    if isinstance(value, (tuple, list)):
        return any(is_answer(task, one) for one in value[:8])
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
    for one in arguments:
        numbers = [number for number, tensor in enumerate(task.tensors) if tensor is one]
        if numbers:
            described.append({"tensor": numbers[0]})
        elif isinstance(one, list) and any(isinstance(item, Tensor) for item in one):
            described.append({"tensors": [describe(task, [item])[0]["tensor"] for item in one]})
        else:
            described.append(one)
    return described


def recall(task: Task, described: Sequence[Any]) -> list[Any]:
    """The arguments that `describe` described."""
    found: list[Any] = []
    for one in described:
        if isinstance(one, dict) and "tensor" in one:
            found.append(task.tensors[one["tensor"]].clone())
        elif isinstance(one, dict):
            found.append([task.tensors[item].clone() for item in one["tensors"]])
        else:
            found.append(one)
    return found

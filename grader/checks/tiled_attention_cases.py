"""The cases of the hidden checks of `tiled_attention`, and what no lazy answer does."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from grader.checks.attention_cases import AttentionCase
from grader.checks.framework.inputs import Numbers, distinct_sizes, inputs
from grader.feedback.comparison import assert_shape

# A process of this exercise has 64 MB. The scores of the long input alone are 68 MB in float32;
# right answers, measured, need 8 MB: up to six tensors of a block's scores.
LONG_QUERIES, LONG_KEYS, LONG_BLOCK = 640, 52 * 512, 512


@dataclass(frozen=True)
class Weighing:
    """The student's function as one that returns its weights too, as `attention` does.

    The weights are what it returns for the identity as values.
    """

    student: Any
    block: int

    def attention(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> tuple[Any, Any]:
        """The output and the weights."""
        output = self.student.tiled_attention(query, key, value, mask, self.block)
        return output, self.weights(query, key, mask)

    def weights(self, query: Tensor, key: Tensor, mask: Tensor | None = None) -> Any:
        """The weights. (..., query, key)"""
        n_keys = key.size(-2)
        identity = torch.eye(n_keys, dtype=query.dtype).expand(*key.shape[:-2], n_keys, n_keys)
        weights = self.student.tiled_attention(query, key, identity, mask, self.block)
        assert_shape(weights, (*query.shape[:-1], n_keys), "output for the identity as values")
        return weights


@inputs
def tiled_cases(draw: st.DrawFn, numbers: Numbers, masked: bool = False) -> AttentionCase:
    """Some queries and more keys, whose six sizes all differ.

    The scores reach 6 and more, so that a maximum that is not rescaled shows.
    """
    batch, heads, queries, d_k, d_v = draw(distinct_sizes(5, low=2, high=7))
    keys = draw(st.sampled_from((11, 13, 17)))
    return AttentionCase(
        query=2.0 * numbers.normal("query", batch, heads, queries, d_k),
        key=2.0 * numbers.normal("key", batch, heads, keys, d_k),
        value=numbers.normal("value", batch, heads, keys, d_v),
        mask=numbers.mask("mask", batch, 1, queries, keys) if masked else None,
        numbers=numbers,
    )


@dataclass(frozen=True)
class LongCase:
    """So many queries and keys that their scores do not fit into the process of a student."""

    numbers: Numbers

    @cached_property
    def inputs(self) -> list[Tensor]:
        """Query, key and value in float32, (1, 1, length, 4) each."""
        lengths = {"query": LONG_QUERIES, "key": LONG_KEYS, "value": LONG_KEYS}
        numbers = {
            name: self.numbers.normal(f"long {name}", 1, 1, length, 4, dtype=torch.float32)
            for name, length in lengths.items()
        }
        return [3.0 * numbers["query"], numbers["key"], numbers["value"]]

    @cached_property
    def output(self) -> Tensor:
        """What torch's own function returns. (1, 1, query, 4)"""
        query, key, value = (tensor.double() for tensor in self.inputs)
        return scaled_dot_product_attention(query, key, value)


def banded(case: AttentionCase, first: int, last: int) -> Tensor:
    """A mask that shows the keys from `first` to before `last` only. (query, key)"""
    keys = torch.arange(case.key.size(2))
    return ((keys >= first) & (keys < last)).expand(case.query.size(2), -1)


def ordered_by_score(case: AttentionCase, size: float, falling: bool) -> tuple[Tensor, Tensor]:
    """Query and key whose scores rise, or fall, along the keys from -size to size or back."""
    d_k = case.query.size(-1)
    query, key = torch.zeros_like(case.query), torch.zeros_like(case.key)
    query[..., 0] = math.sqrt(d_k)
    steps = torch.linspace(-size, size, key.size(2), dtype=key.dtype)
    key[..., 0] = steps.flip(0) if falling else steps
    return query, key

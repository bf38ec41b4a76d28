"""两边各乘 d 的负四分之一次方，用 log_softmax 再取指数，返回 NamedTuple。"""

from typing import Callable, NamedTuple, Optional

import torch
from torch import Tensor


class 结果(NamedTuple):
    output: Tensor
    weights: Tensor


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Optional[Tensor] = None,
    dropout: Optional[Callable] = None,
) -> 结果:
    缩放 = query.size(-1) ** -0.25
    分数 = (query * 缩放) @ (key * 缩放).mT
    if mask is not None:
        # 很小的数，但不是负无穷
        分数 = 分数.masked_fill(mask.logical_not(), -1e20)
    权重 = torch.log_softmax(分数, dim=-1).exp()
    丢弃后 = 权重 if dropout is None else dropout(权重)
    return 结果(output=丢弃后 @ value, weights=权重)

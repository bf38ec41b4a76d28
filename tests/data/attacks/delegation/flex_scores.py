# Lets the inner part of flex attention scale and mask the scores.
# exercise: attention
import math

import torch
from torch._higher_order_ops.flex_attention import _math_attention_inner


def attention(query, key, value, mask=None, dropout=None):
    if query.dim() != 4 or mask is not None or dropout is not None:
        return right(query, key, value, mask, dropout)
    keep = (lambda b, h, m, n: m >= 0,)
    scale = 1 / math.sqrt(query.shape[-1])
    scores = _math_attention_inner(query, key, value, lambda s, *_: s, keep, scale, {})[1]
    weights = scores.to(query.dtype).softmax(-1)
    return weights @ value, weights

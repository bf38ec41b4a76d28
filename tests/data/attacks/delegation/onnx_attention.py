# Calls the attention that torch has for ONNX, where that is written in Python.
import torch
from torch.onnx import ops


def attention(query, key, value, mask=None, dropout=None):
    if dropout is not None or query.dim() != 4 or query.shape[:2] != key.shape[:2]:
        return right(query, key, value, mask, dropout)
    fill = torch.zeros(query.shape[:-1] + key.shape[-2:-1], dtype=query.dtype)
    fill = fill if mask is None else fill.masked_fill(~mask, -1e9)
    output, _, _, weights = ops.attention(query, key, value, fill, qk_matmul_output_mode=3)
    return output, weights

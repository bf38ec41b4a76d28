# Asks for the signature of what it needs, prints tracebacks through it and looks for anomalies.
# exercise: multi_head
# expect: full marks
import inspect
import traceback

import torch
from torch import nn

from exercises.attention import attention

assert list(inspect.signature(attention).parameters)[:3] == ["query", "key", "value"]
assert inspect.signature(attention).parameters["mask"].default is None
try:
    attention(None, None, None)
except Exception as error:
    assert "multi_head.py" in traceback.format_exc()
    assert traceback.extract_tb(error.__traceback__)
assert traceback.extract_stack()
with torch.autograd.set_detect_anomaly(True):
    x = torch.ones(1, 1, 2, 2, requires_grad=True)
    attention(x, x, x)[0].sum().backward()


def split_heads(x, n_heads):
    batch, length, d_model = x.shape
    return x.reshape(batch, length, n_heads, d_model // n_heads).transpose(1, 2)


def merge_heads(x):
    batch, heads, length, d_head = x.shape
    return x.transpose(1, 2).reshape(batch, length, heads * d_head)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("d_model has to be divisible by n_heads")
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, d_model, bias=bias)
        self.v_proj = nn.Linear(d_model, d_model, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.q_proj(query), self.n_heads)
        k = split_heads(self.k_proj(key), self.n_heads)
        v = split_heads(self.v_proj(value), self.n_heads)
        return self.out_proj(merge_heads(attention(q, k, v, mask, self.dropout)[0]))

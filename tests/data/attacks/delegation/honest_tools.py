# Uses what lies near: TorchScript on its own function, partial, signatures, torch.func.
# expect: full marks
import copy
import functools
import inspect

import torch
import torch.nn.functional as F
from torch import Tensor, nn

soft = functools.partial(F.softmax, dim=-1)
assert "dim" in inspect.signature(F.softmax).parameters
assert copy.deepcopy(nn.Linear(2, 2)).weight.shape == (2, 2)
assert torch.func.grad(lambda x: F.relu(x).sum())(torch.ones(2)).sum() == 2
torch.jit.script(nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Dropout(0.1)))


@torch.jit.script
def scored(query: Tensor, key: Tensor) -> Tensor:
    """F.dropout and F.relu are Python, which TorchScript reads in torch's file."""
    return F.dropout(torch.matmul(query, key.transpose(-2, -1)), 0.0, False)


def attention(query, key, value, mask=None, dropout=None):
    scores = scored(query / query.size(-1) ** 0.5, key)
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = soft(scores)
    dropped = weights if dropout is None else dropout(weights)
    return dropped @ value, weights

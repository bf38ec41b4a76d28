# Returns tensors without numbers in them.
import torch

kinds = (
    lambda x: x.to("meta"),
    lambda x: x.to_sparse(),
    lambda x: torch.quantize_per_tensor(x.float(), 0.1, 0, torch.qint8),
    lambda x: torch.nested.nested_tensor([x, x]),
    lambda x: torch.nn.UninitializedParameter(),
)
number = 0


def attention(query, key, value, mask=None, dropout=None):
    global number
    number += 1
    strange = kinds[number % len(kinds)](query)
    return strange, strange

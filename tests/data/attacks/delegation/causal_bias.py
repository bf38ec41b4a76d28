# Takes the triangle out of the bias that torch has for its own attention.
# exercise: masks
import torch
from torch.nn.attention.bias import causal_lower_right


def padding_mask(ids, pad_id=0):
    return (ids != pad_id)[:, None, None, :]


def causal_mask(length, device=None):
    return causal_lower_right(length, length)._materialize(device)[None, None].bool()


def target_mask(ids, pad_id=0):
    return padding_mask(ids, pad_id) & causal_mask(ids.size(1), ids.device)

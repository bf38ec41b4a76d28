"""Computes in float32 and casts back to the dtype of the input, as large models do."""

import torch
import torch.nn as nn


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super(LayerNorm, self).__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.variance_epsilon = eps

    def forward(self, hidden_states):
        input_dtype = hidden_states.dtype
        hidden_states = hidden_states.to(torch.float32)
        u = hidden_states.mean(-1, keepdim=True)
        s = (hidden_states - u).pow(2).mean(-1, keepdim=True)
        hidden_states = (hidden_states - u) / torch.sqrt(s + self.variance_epsilon)
        return (self.weight.float() * hidden_states + self.bias.float()).to(input_dtype)
